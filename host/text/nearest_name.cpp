#include "host/text/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace manyfold {
namespace {

// Optimal string alignment distance: Levenshtein with swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] =
          std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0U : 1U)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate == name) continue;  // which is not for this place
    const std::size_t limit = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(name, candidate);
    // One edit makes another name of a short one, unless it begins alike: "gpu" is no "cpu".
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (distance > limit || (longer <= 3 && edit_distance(name.substr(0, 1), candidate.substr(0, 1)) > 0)) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  if (const auto nearest = nearest_name(name, candidates)) return fmt::format("; did you mean \"{}\"?", *nearest);
  constexpr std::size_t most_listed = 32;
  if (candidates.empty() || candidates.size() > most_listed) return "";
  return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace manyfold
