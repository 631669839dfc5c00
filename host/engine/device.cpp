#include "host/engine/device.hpp"

#include <dlfcn.h>

#include "build_config.hpp"
#include "host/engine/installation.hpp"
#include "host/text/loader_error.hpp"

namespace manyfold {
namespace {

struct Found {
  const DeviceBackend* backend = nullptr;
  std::string reason;
};

Found find_backend() {
  if (!build::has_cuda) return {nullptr, "this build has no CUDA backend: no CUDA toolkit was found"};
  const std::filesystem::path folder = executable_folder();
  std::string reason = "libmanyfold_cuda.so is not beside the command";
  for (const auto& place : {folder, folder / ".." / "lib" / "manyfold", std::filesystem::path(build::binary_root)}) {
    const auto path = place / "libmanyfold_cuda.so";
    if (!std::filesystem::is_regular_file(path)) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = loader_error(path.string() + " cannot be loaded");
      continue;
    }
    const auto entry = reinterpret_cast<const DeviceBackend* (*)()>(dlsym(handle, "manyfold_cuda_backend"));
    if (entry != nullptr) return {entry(), ""};
  }
  return {nullptr, reason};
}

}  // namespace

const DeviceBackend* device_backend(std::string& reason) {
  static const Found found = find_backend();
  reason = found.reason;
  return found.backend;
}

}  // namespace manyfold
