#pragma once
// Where an instance starts, and when the searches for such a point end.
#include "../lane/qualifiers.hpp"

namespace manyfold {

template <class Real>
struct InitialPoint {
  MaskOf<Real> consistent;
  MaskOf<Real> singular;  ///< a matrix of the search was singular
  Real residual_norm;     ///< max-norm of F where the search failed, else 0
  Real worst_equation;    ///< number of the equation that has it
  Real first_step;        ///< |h| that suits y and y'
  MaskOf<Real> moved;     ///< the search began off the constraints
  MaskOf<Real> close;     ///< it took full steps that contracted: no other solution is nearer
};

/// Of the searches for consistent values, in tolerances unless another unit is named.
struct SearchLimits {
  /// A correction below this is the last: the error after it is far smaller still.
  static constexpr double small_correction = 1e-3;
  /// A correction below this that cannot be made smaller is one of rounding errors.
  static constexpr double rounding_correction = 0.1;
  /// Derivatives that change by less, relative to themselves, are found.
  static constexpr double small_change = 1e-6;
  /// Exponentials of diodes bring Newton's method closer by one thermal voltage per iteration: a guess that is too high
  /// by a volt needs 40 or 80.
  static constexpr int most_iterations = 100;
  /// The first step relative to the characteristic time, and the auxiliary implicit Euler steps relative to that.
  static constexpr double first_step_fraction = 0.01;
  static constexpr double euler_fraction = 1e-3;
};

}  // namespace manyfold
