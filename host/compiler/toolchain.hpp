#pragma once
// What kernels are compiled with: compiler, flags, headers, and where the results are kept.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace manyfold {

/// The value of an environment variable; empty if it is not set.
std::string environment(const char* name);

/// The instruction set that kernels use on this machine: the environment variable MANYFOLD_ISA, or the best there is.
std::string default_instruction_set();

/// Compiler flags of an instruction set. Throws UsageError for an unknown one.
std::string instruction_set_flags(const std::string& name);

/// `flags`, word by word, those that name the folders of the headers, and those that `compiler` needs besides.
std::vector<std::string> compiler_flags(const std::string& flags, const std::filesystem::path& compiler);

/// Root of the headers (`manyfold/`, `kernels/`, `problems/` are found from it).
std::filesystem::path header_root();

/// Where compiled kernels are kept: MANYFOLD_CACHE, else XDG_CACHE_HOME/manyfold, else ~/.cache/manyfold, else a folder
/// of the user below the temporary one. A `KernelCache` uses it only if it is private.
std::filesystem::path kernel_cache();

/// Bytes that it may have: MANYFOLD_CACHE_LIMIT in MiB, else 2 GiB. Throws UsageError for what is no such number.
std::uintmax_t kernel_cache_limit();

/// The compiler that kernels are compiled with: the environment variable CXX, else that of the build if it is still
/// there, else g++ or clang++ on the path; empty if there is none.
std::filesystem::path kernel_compiler();

/// The same; throws UsageError if there is none.
std::filesystem::path needed_compiler();

}  // namespace manyfold
