#include "host/compiler/compilation.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/model_errors.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

/// Hands signals that end this process to a compiler and all that it started, and keeps them until `raise_again`.
class CompilerSignals {
 public:
  CompilerSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_handler = [](int signal) {
        caught_ = signal;
        if (const pid_t group = group_; group > 0) kill(-group, SIGTERM);
      };
      sigaction(signals[i], &action, nullptr);
    }
  }
  CompilerSignals(const CompilerSignals&) = delete;
  CompilerSignals& operator=(const CompilerSignals&) = delete;
  ~CompilerSignals() { restore(); }

  /// `group`: the compiler's; 0: it has ended.
  void watch(pid_t group) {
    group_ = group;
    if (caught_ != 0 && group > 0) kill(-group, SIGTERM);
  }
  bool caught() const { return caught_ != 0; }
  void raise_again() {
    restore();
    raise(caught_.exchange(0));
  }

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};

  void restore() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }

  static inline std::atomic<pid_t> group_ = 0;
  static inline std::atomic<int> caught_ = 0;
  std::array<struct sigaction, 3> before_{};
};

struct CompilerResult {
  int status = 0;
  std::string output;
};

/// Works in `folder`, which goes away if a signal ends this process.
CompilerResult run_compiler(const std::vector<std::string>& arguments, TemporaryFolder& folder) {
  const fs::path log = folder.path() / "log";
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  // In the language that `model_errors` reads.
  std::string language = "LC_ALL=C";
  std::vector<char*> variables = {language.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LC_ALL=")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  static std::mutex one_at_a_time;  // signals are the whole process's
  const std::lock_guard lock(one_at_a_time);
  CompilerSignals signals;
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, &attributes, pointers.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  int status = 0;
  if (error == 0) {
    signals.watch(child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    signals.watch(0);
  }
  if (signals.caught()) {
    folder.remove();
    signals.raise_again();
    throw std::runtime_error("interrupted while a kernel was compiled");
  }
  if (error != 0) {
    throw UsageError(
        fmt::format("cannot start the compiler '{}': {}", arguments[0], std::generic_category().message(error)));
  }
  return {status, file_content(log).value_or("")};
}

/// What the compiler says that it read, from its rule for make: blanks and some others are escaped.
std::vector<fs::path> files_of_rule(const std::string& rule) {
  std::vector<fs::path> files;
  std::string name;
  const std::size_t begin = rule.find(':') + 1;
  for (std::size_t i = begin; begin > 0 && i <= rule.size(); ++i) {
    const char c = i < rule.size() ? rule[i] : '\n';
    if (c == '\\' && i + 1 < rule.size() && std::string_view(" \t#\n").find(rule[i + 1]) != std::string_view::npos) {
      if (rule[++i] != '\n') name += rule[i];
    } else if (c == '$' && i + 1 < rule.size() && rule[i + 1] == '$') {
      name += rule[++i];
    } else if (c != ' ' && c != '\n') {
      name += c;
    } else if (!name.empty()) {
      files.emplace_back(std::exchange(name, ""));
    }
  }
  return files;
}

}  // namespace

void compile(const std::string& text, const std::vector<std::string>& flags, const fs::path& compiler,
             const fs::path& model, const std::string& name, CompiledUnit& unit) {
  std::ofstream stream(unit.source);
  stream << text;
  stream.close();
  std::vector<std::string> arguments = {compiler.string()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  for (const std::string& argument :
       {std::string("-shared"), std::string("-fPIC"), std::string("-fvisibility=hidden"), std::string("-MD"),
        std::string("-MT"), std::string("kernel"), std::string("-MF"), unit.rule.string(), std::string("-o"),
        unit.object.string(), unit.source.string(), std::string("-lmvec"), std::string("-lm")}) {
    arguments.push_back(argument);
  }
  const CompilerResult result = stream ? run_compiler(arguments, unit.folder) : CompilerResult{1, ""};
  if (result.status == 0 && fs::exists(unit.object)) return;
  constexpr std::uintmax_t next_to_nothing = 1 << 18;
  std::error_code error;
  const auto space = fs::space(unit.folder.path(), error);
  if (!stream || (!error && space.available < next_to_nothing)) {
    throw UsageError(
        fmt::format("no kernel can be compiled in the temporary folder '{}': no space is left there; the environment "
                    "variable TMPDIR names another",
                    unit.folder.path().parent_path().string()));
  }
  if (result.output.empty()) {
    throw UsageError(fmt::format(
        "the compiler '{}' {}, but wrote {}: does it compile C++? The environment variable CXX names another",
        compiler.string(),
        WIFSIGNALED(result.status) ? fmt::format("was ended by signal {}", WTERMSIG(result.status))
                                   : fmt::format("ended with exit code {}", WEXITSTATUS(result.status)),
        result.status == 0 ? "no kernel" : "no message"));
  }
  throw UsageError(
      fmt::format("{}\nmanyfold: error: the model '{}' does not compile", model_errors(result.output, model), name));
}

std::optional<std::vector<CacheDependency>> dependencies(const CompiledUnit& unit, const fs::path& model,
                                                         const std::timespec& start, const KernelCache::Note& note) {
  std::vector<CacheDependency> result;
  for (const fs::path& file : files_of_rule(file_content(unit.rule).value_or(""))) {
    if (file == unit.source) continue;
    struct stat status {};
    const auto content = file_content(file);
    const bool there = content && stat(file.c_str(), &status) == 0;
    if (!there || std::pair(status.st_mtim.tv_sec, status.st_mtim.tv_nsec) >= std::pair(start.tv_sec, start.tv_nsec)) {
      if (note) {
        note(fmt::format("note: this kernel is not kept: '{}' {}", file.string(),
                         there ? "was written after its compilation began" : "cannot be read"));
      }
      return std::nullopt;
    }
    if (file != model) result.push_back({fs::absolute(file), checksum(*content)});
  }
  if (result.empty()) return std::nullopt;  // compilers that do not say what they read
  return result;
}

}  // namespace manyfold
