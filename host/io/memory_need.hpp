#pragma once
// Whether what is asked for fits the memory of this machine.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace manyfold {

/// What is wrong with so many numbers per instance, of which a run holds those of 64 instances at least; empty:
/// nothing.
inline std::string memory_problem(double numbers_per_instance, std::int64_t instances) {
  const auto together = static_cast<double>(std::clamp<std::int64_t>(instances, 1, 64));
  const double need = 8.0 * numbers_per_instance * together;
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (need <= there) return "";
  return fmt::format("takes {:.1f} GB for the {:.0f} instances that are in memory at once, but this machine has {:.1f}",
                     need / 1e9, together, there / 1e9);
}

}  // namespace manyfold
