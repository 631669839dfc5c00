#pragma once
// Algebraic variables between the steps. The dense output of the differential variables is as accurate as the error
// test asks; that of the algebraic ones need not be, where they bend more sharply than a polynomial, and multipliers of
// index 2 and 3 are of lower order also at the ends of steps. They follow from the differential variables: at output
// times, which are few, the last stage of the consistent values is solved for them. That takes a Jacobian, a
// factorisation and one to three evaluations of the equations per output time.
#include "consistency.hpp"

namespace manyfold {

/// Are there algebraic variables that the equations, or their derivatives, determine from the others?
template <class System>
constexpr bool settles_output() {
  if constexpr (!System::known_pattern || System::singular_mass_matrix()) {
    return false;
  } else {
    bool has_algebraic = false;
    for (int j = 0; j < System::n; ++j) has_algebraic = has_algebraic || !System::derivative_occurs(j);
    if (!has_algebraic) return false;
    // At index 2 and 3 of multipliers in y' = f(t, y) alone: elsewhere derivatives of other variables belong to them.
    for (int j = 0; j < System::n; ++j) {
      const bool multiplier = System::semi_explicit && System::index(j) > 1;
      if (System::highest_index() > 1 && !System::derivative_occurs(j) && !multiplier) return false;
    }
    constexpr auto offsets = find_offsets(System::pattern_y, System::pattern_dy);
    // The index that is stated is what the methods rely on.
    return offsets.regular && offsets.index() <= System::highest_index();
  }
}

/// Replaces the algebraic variables of y at t, in the lanes of `lanes`, by those that belong to the others. `dy`: y',
/// as far as it is known. Lanes in which Newton's method does not converge keep theirs.
template <class System, class Real>
MANYFOLD_OUTLINE void settle_output(const MaskOf<Real>& lanes, const Real& t, Real (&y)[System::n],
                                    const Real (&dy)[System::n], const Real (&p)[System::constants_size],
                                    const Tolerances<System::n>& tolerances) {
  using Mask = MaskOf<Real>;
  using Stages = Consistency<System, Real>;
  constexpr int n = System::n;
  constexpr int most_iterations = 8;
  // The matrix of the first iterations serves while the corrections are as small as they are where the solution is
  // smooth.
  constexpr int iterations_with_one_matrix = 3;
  // What a correction leaves is a fraction of it.
  constexpr double small = 0.03;

  Stages stages;
  typename Stages::Workspace workspace;
  stages.use(workspace);
  typename Stages::template Derivatives<Real> x;
  Stages::begin(t, y, p, x);
  if constexpr (!System::semi_explicit) {
    for (int j = 0; j < n; ++j) x[1][j] = dy[j];
  }
  Real weight[n];
  error_weights(tolerances, y, weight);
  Mask searching = lanes;
  Mask found(false);
  Real previous(largest_number);
  for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
    if (iteration == 0 || iteration >= iterations_with_one_matrix) {
      searching = stages.linearise(searching, t, x, p, weight, tolerances.rtol);
    }
    Real delta[n];
    Stages::template residuals<0>(t, x, p, delta);
    stages.template solve<0>(delta);
    Real sum(0.0);
    for_each_index<n>([&](auto j) {
      delta[j] = select(searching, delta[j], Real(0.0));
      if (Stages::Form::of_variable(j) == 0) sum += square(delta[j] * weight[j]);
    });
    Stages::template move<0>(Real(1.0), delta, x);
    // A correction that does not fall any more is one of rounding errors.
    const Mask rounding = (sum <= Real(1.0)) & (sum >= Real(0.25) * previous);
    const Mask done = searching & ((sum <= Real(small * small)) | rounding);
    previous = sum;
    found = found | done;
    searching = searching & !done & is_finite(sum);
  }
  for_each_index<n>([&](auto j) {
    if (Stages::Form::of_variable(j) == 0) y[j] = select(found, x[0][j], y[j]);
  });
}

}  // namespace manyfold
