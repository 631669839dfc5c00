#pragma once
// Why a library cannot be loaded.
#include <dlfcn.h>

#include <string>

namespace manyfold {

/// Of the last dlopen that failed; `otherwise` where the loader does not say.
inline std::string loader_error(const std::string& otherwise) {
  const char* reason = dlerror();
  return reason != nullptr ? reason : otherwise;
}

}  // namespace manyfold
