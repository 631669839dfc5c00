#pragma once
// The command on devices that the emulated driver stands in for.
#include <gtest/gtest.h>
#include <netcdf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace manyfold::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder for the files of a test, and the command in it.
class EmulatedBackend : public testing::Test {
 protected:
  EmulatedBackend() {
    std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(test.begin(), test.end(), '/', '-');
    folder_ = fs::temp_directory_path() / ("manyfold-cuda-" + std::to_string(getpid()) + "-" + test);
    fs::create_directories(folder_);
  }
  ~EmulatedBackend() override { fs::remove_all(folder_); }

  pid_t start(const std::string& arguments, const std::string& environment = "") const {
    const std::string line = "cd '" + folder_.string() + "' && exec env MANYFOLD_CUDA_DRIVER='" +
                             std::getenv("MANYFOLD_EMULATED_DRIVER") + "' MANYFOLD_CUBLAS='" +
                             std::getenv("MANYFOLD_EMULATED_BLAS") + "' MANYFOLD_NVRTC='" +
                             std::getenv("MANYFOLD_EMULATED_COMPILER") + "' " + environment + " '" +
                             std::getenv("MANYFOLD_COMMAND") + "' " + arguments + " >out.txt 2>err.txt";
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }
  Outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(folder_ / "out.txt"), slurp(folder_ / "err.txt")};
  }
  Outcome call(const std::string& arguments, const std::string& environment = "") const {
    return finish(start(arguments, environment));
  }

  std::vector<double> values(const std::string& file, const std::string& variable) const {
    int id = 0;
    int var = 0;
    EXPECT_EQ(nc_open((folder_ / file).c_str(), NC_NOWRITE, &id), NC_NOERR);
    EXPECT_EQ(nc_inq_varid(id, variable.c_str(), &var), NC_NOERR);
    int dimensions = 0;
    int ids[NC_MAX_VAR_DIMS] = {};
    nc_inq_var(id, var, nullptr, nullptr, &dimensions, ids, nullptr);
    std::size_t total = 1;
    for (int d = 0; d < dimensions; ++d) {
      std::size_t length = 0;
      nc_inq_dimlen(id, ids[d], &length);
      total *= length;
    }
    std::vector<double> result(total);
    EXPECT_EQ(nc_get_var_double(id, var, result.data()), NC_NOERR);
    nc_close(id);
    return result;
  }

  fs::path folder_;
};

}  // namespace manyfold::test
