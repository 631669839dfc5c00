// `cache`: the compiled kernels that are kept.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>
#include <system_error>

#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/toolchain.hpp"

namespace manyfold::cli {
namespace {

constexpr double mebibyte = 1 << 20;

std::string local_time(std::filesystem::file_time_type time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::file_clock::to_sys(time)));
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace

int cache(const CacheArguments& arguments) {
  const std::filesystem::path folder = kernel_cache();
  if (const std::string problem = folder_problem(folder); !problem.empty()) {
    throw UsageError(fmt::format("the kernel cache '{}' is not used: {}", folder.string(), problem));
  }
  const bool deleting = arguments.clear || arguments.limit;
  if (deleting && access(folder.c_str(), W_OK) != 0 && errno != ENOENT) {
    throw UsageError(fmt::format("what the kernel cache '{}' keeps cannot be deleted: {}", folder.string(),
                                 std::generic_category().message(errno)));
  }
  const KernelCache kernels(folder);
  std::uintmax_t deleted = 0;
  if (arguments.clear) deleted = kernels.limit(0);
  if (arguments.limit) {
    if (!(*arguments.limit >= 0.0)) {
      throw UsageError(fmt::format("--limit {}: needs a number that is not negative", *arguments.limit));
    }
    constexpr auto most = static_cast<double>(std::numeric_limits<std::int64_t>::max());
    deleted = kernels.limit(static_cast<std::uintmax_t>(std::min(*arguments.limit * mebibyte, most)));
  }
  const std::vector<CacheUse> entries = kernels.list();
  std::uintmax_t bytes = 0;
  for (const CacheUse& entry : entries) bytes += entry.bytes;
  if (arguments.json) {
    nlohmann::ordered_json result = {{"kernel_cache", folder.string()},
                                     {"bytes", bytes},
                                     {"deleted_bytes", deleted},
                                     {"entries", nlohmann::ordered_json::array()}};
    for (const CacheUse& entry : entries) {
      result["entries"].push_back({{"model", entry.label.model},
                                   {"method", entry.label.method},
                                   {"target", entry.label.target},
                                   {"bytes", entry.bytes},
                                   {"last_use", local_time(entry.last_use)}});
    }
    print(result);
    return all_succeeded;
  }
  if (deleting) std::cout << fmt::format("{:.1f} MiB deleted\n", static_cast<double>(deleted) / mebibyte);
  for (const CacheUse& entry : entries) {
    if (deleting) break;
    std::cout << fmt::format("{}  {:>8.2f} MiB  {:<14} {:<24} {}\n", local_time(entry.last_use),
                             static_cast<double>(entry.bytes) / mebibyte, entry.label.method, entry.label.target,
                             entry.label.model);
  }
  std::cout << fmt::format("{} entries, {:.1f} MiB in {}\n", entries.size(), static_cast<double>(bytes) / mebibyte,
                           folder.string());
  return all_succeeded;
}

}  // namespace manyfold::cli
