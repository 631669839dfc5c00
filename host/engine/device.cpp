#include "host/engine/device.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "build_config.hpp"
#include "host/engine/installation.hpp"
#include "host/text/loader_error.hpp"

namespace manyfold {
namespace {

struct Found {
  const DeviceBackend* backend = nullptr;
  std::string reason;
};

Found find_backend(const std::string& name) {
  if (name == "cuda" && !build::has_cuda) {
    return {nullptr, "this build has no CUDA backend: no CUDA toolkit was found"};
  }
  const std::filesystem::path folder = executable_folder();
  const std::string library = "libmanyfold_" + name + ".so";
  std::string reason = library + " is not beside the command";
  const std::string entry_name = "manyfold_" + name + "_backend";
  for (const auto& place : {folder, folder / ".." / "lib" / "manyfold", std::filesystem::path(build::binary_root)}) {
    const auto path = place / library;
    if (!std::filesystem::is_regular_file(path)) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = loader_error(path.string() + " cannot be loaded");
      continue;
    }
    const auto entry = reinterpret_cast<const DeviceBackend* (*)()>(dlsym(handle, entry_name.c_str()));
    if (entry != nullptr) return {entry(), ""};
  }
  return {nullptr, reason};
}

}  // namespace

const DeviceBackend* device_backend(std::string& reason, const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Found> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(name);
  if (found == known.end()) found = known.emplace(name, find_backend(name)).first;
  reason = found->second.reason;
  return found->second.backend;
}

}  // namespace manyfold
