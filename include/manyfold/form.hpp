#pragma once

namespace manyfold {

/// The form in which a model states its equations, the most general first.
enum class Form {
  residual,         ///< F(t, y, y') = 0
  linear_residual,  ///< the same, where it is M y' - f(t, y) in other words
  mass_matrix,      ///< M y' = f(t, y)
  semi_explicit,    ///< the same with a diagonal M of ones and zeros
};

}  // namespace manyfold
