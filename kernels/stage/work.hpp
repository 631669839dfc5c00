#pragma once
// What a method does, counted per lane.
#include "../lane/scalar.hpp"

namespace manyfold {

/// Work of the lanes.
template <class Real>
struct WorkCounters {
  CountOf<Real> newton_iterations;
  CountOf<Real> residuals;
  CountOf<Real> jacobians;
  CountOf<Real> factorizations;
  CountOf<Real> solves;
  double newton_passes;  ///< of the pack, for the utilisation of its lanes
};

/// Adds `amount` in the lanes of `mask`.
template <class Real>
MANYFOLD_INLINE void count_work(CountOf<Real>& counter, const MaskOf<Real>& mask, const Real& amount) {
  counter += static_cast<CountOf<Real>>(select(mask, amount, Real(0.0)));
}

}  // namespace manyfold
