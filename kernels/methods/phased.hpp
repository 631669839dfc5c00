#pragma once
// Methods whose step attempts are interrupted at every linear solve, for which they leave right-hand sides in their
// workspace, and resumed with the solutions.
#include "../lane/qualifiers.hpp"

namespace manyfold {

/// What a step attempt waits for.
enum class Wait {
  nothing,      ///< it is over
  corrections,  ///< the solutions of all systems, of an iteration of Newton's method
  filter,       ///< the solution of the first system, for the error estimate
};

/// `Method` in phases, for the methods that are specialised.
template <class Method>
struct Phased {
  static_assert(!is_same<Method, Method>, "manyfold: the phased tier does not have this method");
};

}  // namespace manyfold
