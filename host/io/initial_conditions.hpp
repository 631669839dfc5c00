#pragma once
// What a user says is given where integration starts.
#include <string>
#include <vector>

#include <manyfold/description.hpp>

namespace manyfold {

/// The numbers of `Given` [variables of the model] for `names`: variables and derivatives, `der(variable)`, that keep
/// the values they are given; or one of the names "steady_state", for all derivatives, and "projected", for values of
/// the differential variables that are moved to where they meet constraints. Throws UsageError for unknown and repeated
/// names, for another number of them than the model has differential variables, and for "projected" with models without
/// constraints. With models of index 2 and 3 the names are those of differential variables, at most as many as are
/// free; the values of the others are guesses.
std::vector<int> given_at_start(const ModelDescription& model, const std::vector<std::string>& names);

}  // namespace manyfold
