#pragma once
// Algebraic variables between the steps, where they do not follow well from the differential ones. Example: the voltage
// at a node that only leakage currents determine moves by volts for an error of the tolerance in the current of a coil.
// There the solution is stiff, and brings such an error back to rest. The same is done with the error of the polynomial
// P: Y meets the constraints, and M (Y - P)/h = f(t, Y) - f(t, P), an implicit Euler step for the distance from P, of
// the length h of the step itself. The algebraic variables of Y are taken. The differential ones move by less than
// their errors, and stay those of P. An output time costs a residual, and one to eight times a residual, the Jacobians
// and a factorisation.
#include "../stage/linearisation.hpp"

namespace manyfold {

template <class System, class Real>
class RelaxedOutput {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;

  /// Makes the algebraic variables of y those of the Y that belongs to P, of which `slope` is the derivative, in the
  /// lanes of `lanes` in which Newton's method converges.
  MANYFOLD_OUTLINE void relax(const Mask& lanes, const Real& t, const Real& h, const Real (&P)[n],
                              const Real (&slope)[n], const Real (&p)[System::constants_size],
                              const Tolerances<n>& tolerances, Real (&y)[n]) {
    constexpr int most_iterations = 8;
    // What a correction leaves is a fraction of it.
    constexpr double small = 0.03;

    factors_.use(workspace_);
    const Real shift = Real(1.0) / h;
    Real weight[n];
    error_weights(tolerances, P, weight);
    Real at_P[n];
    System::residual(t, P, slope, p, at_P);
    Real Y[n];
    for (int i = 0; i < n; ++i) Y[i] = P[i];
    Mask searching = lanes;
    Mask found(false);
    for (int iteration = 0; iteration < most_iterations && any(searching); ++iteration) {
      Real dY[n];
      for (int i = 0; i < n; ++i) dY[i] = slope[i] + (Y[i] - P[i]) * shift;
      matrices_.evaluate(searching, LinearisationPoint<System, Real>{t, Y, dY, p, weight, tolerances.rtol, h});
      searching = searching & factors_.template factor<false>(
                                  searching, [&](auto k) { return matrices_.template shifted<Real>(k, shift); });
      Real delta[n];
      System::residual(t, Y, dY, p, delta);
      for_each_index<n>([&](auto i) {
        if (!System::algebraic_equation(i)) delta[i] -= at_P[i];
      });
      factors_.solve(delta);
      const Real size = weighted_norm(delta, weight);
      for (int i = 0; i < n; ++i) Y[i] -= select(searching, delta[i], Real(0.0));
      const Mask done = searching & (size <= Real(small));
      found = found | done;
      searching = searching & !done & is_finite(size);
    }
    for_each_index<n>([&](auto j) {
      if (!System::derivative_occurs(j)) y[j] = select(found, Y[j], y[j]);
    });
  }

 private:
  using Matrices = Linearisation<System, Real>;
  using MatrixFactors = Factors<Real, typename Matrices::Structure>;
  Matrices matrices_;
  MatrixFactors factors_;
  typename MatrixFactors::Workspace workspace_;
};

}  // namespace manyfold
