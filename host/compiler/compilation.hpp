#pragma once
// Compiles a text to a library that can be loaded, and tells what the compiler read for it.
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/kernel_cache.hpp"

namespace manyfold {

/// What is compiled and what comes of it, in a temporary folder that ends with this object.
struct CompiledUnit {
  TemporaryFolder folder;
  std::filesystem::path source = folder.path() / "kernel.cpp";
  std::filesystem::path object = folder.path() / "kernel.so";
  std::filesystem::path rule = folder.path() / "kernel.d";  ///< for make: what the compiler read
};

/// Compiles `text`, which includes the file `model`, into `unit`; `name` is what the user calls the model. A signal
/// that ends this process ends the compiler too. Throws UsageError with the errors of the model, or if the compiler
/// cannot be started or the disk is full.
void compile(const std::string& text, const std::vector<std::string>& flags, const std::filesystem::path& compiler,
             const std::filesystem::path& model, const std::string& name, CompiledUnit& unit);

/// The files that the compiler read, but for the unit and the model. Nothing, and a note: one of them changed since
/// `start`, so that nobody knows what the compiler saw.
std::optional<std::vector<CacheDependency>> dependencies(const CompiledUnit& unit, const std::filesystem::path& model,
                                                         const std::timespec& start, const KernelCache::Note& note);

}  // namespace manyfold
