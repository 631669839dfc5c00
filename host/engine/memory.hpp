#pragma once
// The memory that this process may use.
#include <cstdint>
#include <filesystem>

namespace manyfold {

/// The bytes that control groups leave to a process, which are less than the machine has in most containers: the least
/// limit of its own groups and of those above them, of both versions. `groups` lists its groups as /proc/self/cgroup
/// does, and `folder` has them as /sys/fs/cgroup does. The largest number if there is no limit.
std::int64_t group_memory(const std::filesystem::path& groups, const std::filesystem::path& folder);

/// The bytes of this machine, or what its control groups leave of them.
std::int64_t available_memory();

}  // namespace manyfold
