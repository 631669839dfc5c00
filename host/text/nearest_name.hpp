#pragma once
// "Did you mean ...?" for misspelt names.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace manyfold {

/// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours; case is ignored) to
/// `name`, if that is at most a third of the longer name's length and at least 1; ties go to the first.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates);

/// `; did you mean "..."?` or, when nothing is near, `; known: a, b, c` (nothing for more than 32 candidates).
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace manyfold
