#include "host/engine/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace manyfold {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// The number that a file holds: none is there if nothing limits the group, and version 2 says "max".
std::int64_t limit_in(const std::filesystem::path& file) {
  std::int64_t bytes = 0;
  return std::ifstream(file) >> bytes && bytes > 0 ? bytes : no_limit;
}

/// The least limit of the groups from that of `mount` down to `group`. A container may see its own group as that of
/// `mount` and still have its path outside, where there is no such folder.
std::int64_t least_limit(std::filesystem::path mount, const std::filesystem::path& group, const char* name) {
  std::int64_t least = limit_in(mount / name);
  for (const std::filesystem::path& part : group.relative_path()) {
    mount /= part;
    least = std::min(least, limit_in(mount / name));
  }
  return least;
}

}  // namespace

std::int64_t group_memory(const std::filesystem::path& groups, const std::filesystem::path& folder) {
  std::int64_t least = no_limit;
  std::ifstream lines(groups);
  // Number of the hierarchy, its controllers with commas between, path of the group.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, least_limit(folder, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit(folder / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::int64_t available_memory() {
  const std::int64_t machine = std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)};
  return std::min(machine, group_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
}

}  // namespace manyfold
