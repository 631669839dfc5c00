#include "host/compiler/toolchain.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "build_config.hpp"
#include "host/engine/installation.hpp"
#include "host/text/number.hpp"

namespace manyfold {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string instruction_set_flags(const std::string& name) {
  if (name == "avx512") return build::flags_avx512;
  if (name == "avx2") return build::flags_avx2;
  if (name == "baseline" || name == "scalar") return build::flags_baseline;
  throw UsageError(fmt::format("unknown instruction set '{}': one of avx512, avx2, baseline, scalar", name));
}

namespace {

bool processor_has(const std::string& instruction_set) {
#if defined(__x86_64__)
  if (instruction_set == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  }
  if (instruction_set == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return instruction_set == "baseline" || instruction_set == "scalar";
}

}  // namespace

std::string default_instruction_set() {
  const std::string forced = environment("MANYFOLD_ISA");
  if (!forced.empty()) {
    instruction_set_flags(forced);
    if (!processor_has(forced)) {
      throw UsageError(
          fmt::format("MANYFOLD_ISA is '{}', which this processor does not have: leave it out for the "
                      "widest that it has, or take 'baseline' or 'scalar'",
                      forced));
    }
    return forced;
  }
  return processor_has("avx512") ? "avx512" : processor_has("avx2") ? "avx2" : "baseline";
}

fs::path header_root() {
  const fs::path installed = executable_folder() / ".." / "include" / "manyfold-kit";
  if (fs::is_directory(installed / "kernels")) return installed.lexically_normal();
  return build::source_root;
}

fs::path kernel_cache() {
  const std::string own = environment("MANYFOLD_CACHE");
  if (!own.empty()) return own;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty()) return fs::path(xdg) / "manyfold";
  const std::string home = environment("HOME");
  if (!home.empty()) return fs::path(home) / ".cache" / "manyfold";
  std::error_code ignored;
  return fs::temp_directory_path(ignored) / fmt::format("manyfold-cache-{}", geteuid());
}

std::uintmax_t kernel_cache_limit() {
  constexpr std::int64_t mebibyte = 1 << 20;
  constexpr std::int64_t least = 16;  // what one run uses
  std::int64_t number = 2048;
  const std::string own = environment("MANYFOLD_CACHE_LIMIT");
  const std::string need = own.empty() ? "" : read_integer(own, least, INT64_MAX / mebibyte, number);
  if (!need.empty()) {
    throw UsageError(
        fmt::format("the environment variable MANYFOLD_CACHE_LIMIT is '{}', but must be {}, in MiB", own, need));
  }
  return static_cast<std::uintmax_t>(number * mebibyte);
}

fs::path kernel_compiler() {
  const auto on_path = [](const std::string& name) -> fs::path {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? fs::path(name) : fs::path();
    std::istringstream folders(environment("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder) / name;
      if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
    }
    return {};
  };
  const std::string chosen = environment("CXX");
  if (!chosen.empty()) return on_path(chosen);
  for (const char* name : {build::compiler, "g++", "clang++"}) {
    const fs::path found = on_path(name);
    if (!found.empty()) return found;
  }
  return {};
}

fs::path needed_compiler() {
  const fs::path compiler = kernel_compiler();
  if (!compiler.empty()) return compiler;
  const std::string chosen = environment("CXX");
  throw UsageError(
      chosen.empty()
          ? "no C++ compiler found to compile the kernel with: install g++, or name one with the environment "
            "variable CXX"
          : fmt::format("the environment variable CXX is '{}', but must name a program, without options: "
                        "there is none of this name",
                        chosen));
}

std::vector<std::string> compiler_flags(const std::string& flags, const fs::path& compiler) {
  std::istringstream words(flags);
  std::vector<std::string> result(std::istream_iterator<std::string>(words), {});
  std::error_code ignored;
  const bool is_clang =
      (compiler.filename().string() + fs::canonical(compiler, ignored).string()).find("clang") != std::string::npos;
  // Models with hundreds of variables reach the usual limits.
  const std::vector<std::string> limits =
      is_clang ? std::vector<std::string>{"-fbracket-depth=65536", "-fconstexpr-steps=2147483647"}
               : std::vector<std::string>{"-fconstexpr-ops-limit=2147483647"};
  result.insert(result.end(), limits.begin(), limits.end());
  result.push_back("-I" + (header_root() / "include").string());
  result.push_back("-I" + header_root().string());
  return result;
}

}  // namespace manyfold
