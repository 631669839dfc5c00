#include "host/engine/installation.hpp"

#include <sys/auxv.h>

#include <system_error>

namespace manyfold {

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return executable.parent_path();
  // Without /proc, the path it was started by.
  const auto* started_by = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return started_by != nullptr ? std::filesystem::absolute(started_by, error).parent_path() : std::filesystem::path();
}

}  // namespace manyfold
