#pragma once
// The command in a process of its own.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/environment.hpp"

namespace manyfold::test {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
  std::int64_t peak = 0;  ///< bytes of memory, at most
};

inline std::string slurp(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own for each test, which is also where the command runs.
class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(test.begin(), test.end(), '/', '-');
    folder_ = fs::temp_directory_path() / ("manyfold-test-" + std::to_string(getpid()) + "-" + test);
    fs::create_directories(folder_);
  }
  ~CommandTest() override { fs::remove_all(folder_); }

  /// `environment`: NAME=VALUE words; `before`: what the shell does first, for instance set limits.
  pid_t start(const std::string& arguments, const std::string& environment = "",
              const std::string& before = "true") const {
    const std::string line = "cd '" + folder_.string() + "' && " + before + "; exec env " + environment + " '" +
                             from_environment("MANYFOLD_COMMAND") + "' " + arguments + " >out.txt 2>err.txt";
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }
  Outcome finish(pid_t child) const {
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(folder_ / "out.txt"),
            slurp(folder_ / "err.txt"), 1024 * std::int64_t{used.ru_maxrss}};
  }
  Outcome call(const std::string& arguments, const std::string& environment = "",
               const std::string& before = "true") const {
    return finish(start(arguments, environment, before));
  }
  /// Exit code 2, and a message with all `fragments`.
  void expect_misuse(const std::string& arguments, const std::vector<std::string>& fragments) const {
    const Outcome outcome = call(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    for (const std::string& fragment : fragments) {
      EXPECT_NE(outcome.err.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << outcome.err;
    }
  }

  fs::path folder_;
};

}  // namespace manyfold::test
