#pragma once
// What compiled code depends on, as a text that names it in the cache.
#include <filesystem>
#include <string>

namespace manyfold {

/// What a library depends on and no file says that the compiler reads: those are looked at when the library is found.
/// `unit`: the text that is compiled, without the path of the model.
std::string cache_key(const std::string& unit, const std::filesystem::path& model, const std::string& flags,
                      const std::filesystem::path& compiler);

/// Of code that NVRTC compiles, which does not list what it reads: the library's headers and those of the model. Empty:
/// they cannot be told.
std::string device_key(const std::string& unit, const std::filesystem::path& model);

}  // namespace manyfold
