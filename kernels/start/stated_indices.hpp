#pragma once
// What the structure of a model says of the indices that it states, told when it is compiled.
#include "../algebra/sparse_lu.hpp"
#include "../model/structure.hpp"
#include "initial_unknowns.hpp"

namespace manyfold {

/// Where M or F_y' may be singular in combinations of rows, the index by the structure may be above the true one, and
/// nothing is said.
template <class System, bool at_start>
struct StatedIndices {
  static constexpr bool determines_algebraic() {
    if constexpr (!System::gives_by_kind() || !System::known_pattern || System::highest_index() > 1 ||
                  System::singular_mass_matrix()) {
      return true;
    } else {
      return SymbolicLU<SearchStructure<System, at_start>>::ordering.nonsingular;
    }
  }
  static constexpr bool semi_explicit_structure =
      System::semi_explicit && System::known_pattern && System::highest_index() > 1;
  static constexpr int structural_index() {
    if constexpr (semi_explicit_structure) {
      return Structure<System>::offsets.index();
    } else {
      return 1;
    }
  }
  static constexpr bool determines_stated_index_1() {
    if constexpr (semi_explicit_structure) {
      return determines_index_1<System>();
    } else {
      return true;
    }
  }
  static_assert(
      determines_algebraic(),
      "manyfold: all variables state index 1 (the default), but the equations as they are do not determine the "
      "variables without derivatives: a constraint contains none of them, or several contain too few. State "
      ".index = 2 for variables that take a derivative of such a constraint to find (forces of constraints on "
      "velocities), .index = 3 for those that take two (of constraints on positions; .index = 2 for the "
      "velocities then), or singular_mass_matrix = true where rows hide algebraic relations in combinations");
  static_assert(determines_stated_index_1(),
                "manyfold: algebraic variables state index 1 (the default), but the algebraic equations as they are do "
                "not determine them: a constraint contains none of them, or several contain too few. State .index = 2 "
                "for the forces of constraints on velocities, .index = 3 for those of constraints on positions");
  static_assert(
      structural_index() < 3 || System::highest_index() > 2,
      "manyfold: variables state index 2 at most, but the equations have index 3: a constraint must be "
      "differentiated twice before it contains an algebraic variable. State .index = 3 for the variables that "
      "are found then (forces of constraints on positions), .index = 2 for those that are found from its first "
      "derivative (velocities)");
  static_assert(
      structural_index() < 4,
      "manyfold: the equations have index 4 or more: a constraint must be differentiated three times before it "
      "contains an algebraic variable. Methods here take index 3 at most: state a derivative of the constraint "
      "in its place");
  static constexpr bool possible = true;
};

}  // namespace manyfold
