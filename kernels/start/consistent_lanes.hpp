#pragma once
// Consistent conditions in some lanes of a pack, at any time: after an event, and where an instance goes on that no
// step leads on.
#include <manyfold/status.hpp>

#include "initial_conditions.hpp"

namespace manyfold {

/// Status of a lane that is being integrated; finished lanes hold a `Status` as a number of the lane type.
inline constexpr double running = -1.0;

/// Why no consistent conditions were found.
template <class Real>
MANYFOLD_INLINE Real failure_of(const InitialPoint<Real>& point) {
  return select(point.singular, Real(static_cast<double>(Status::singular_jacobian)),
                Real(static_cast<double>(Status::inconsistent_initial_conditions)));
}

/// Consistent conditions in the lanes of a pack, and how they were found.
template <class System, class Real>
struct ConsistentLanes {
  Real y[System::n];
  Real dy[System::n];
  Real status = Real(running);
  Real residual_norm = Real(0.0);
  Real worst_equation = Real(-1.0);
  Real first_step = Real(0.0);
  MaskOf<Real> moved = MaskOf<Real>(false);
  MaskOf<Real> close = MaskOf<Real>(false);
};

/// Makes y and y' of `found` consistent at a time in the lanes of `lanes`. In double precision, like at the start,
/// whose packs may have fewer lanes.
template <class System, class Real>
MANYFOLD_OUTLINE void find_consistent(const MaskOf<Real>& lanes, const Real& time, const Real& span,
                                      const Real (&constants)[System::constants_size],
                                      const Tolerances<System::n>& tolerances, ConsistentLanes<System, Real>& found) {
  using Lanes = LaneTraits<Real>;
  using InitialReal = typename Lanes::Double;
  constexpr int n = System::n;
  using Wide = LaneTraits<InitialReal>;
  for (int first = 0; first < Lanes::width; first += Wide::width) {
    const auto widen = [first](InitialReal& to, const Real& from) {
      for (int k = 0; k < Wide::width; ++k) Wide::set(to, k, Lanes::get(from, first + k));
    };
    InitialReal t;
    InitialReal longest;
    InitialReal wanted;
    InitialReal y[n];
    InitialReal dy[n];
    InitialReal p[System::constants_size];
    widen(t, time);
    widen(longest, span);
    widen(wanted, select(lanes, Real(1.0), Real(0.0)));
    for (int i = 0; i < n; ++i) widen(y[i], found.y[i]);
    for (int i = 0; i < System::constants_size; ++i) widen(p[i], constants[i]);
    InitialConditions<Alone<System>, InitialReal, false> conditions;
    const auto point = conditions.solve(wanted != InitialReal(0.0), t, longest, y, dy, p, tolerances);
    const InitialReal status = select(point.consistent, InitialReal(running), failure_of(point));
    for (int k = 0; k < Wide::width; ++k) {
      if (!Lanes::test(lanes, first + k)) continue;
      const auto put = [&](Real& to, const InitialReal& from) { Lanes::set(to, first + k, Wide::get(from, k)); };
      put(found.status, status);
      put(found.residual_norm, point.residual_norm);
      put(found.worst_equation, point.worst_equation);
      put(found.first_step, point.first_step);
      if (Wide::test(point.moved, k)) found.moved = found.moved | Lanes::only(first + k);
      if (Wide::test(point.close, k)) found.close = found.close | Lanes::only(first + k);
      for (int i = 0; i < n; ++i) {
        put(found.y[i], y[i]);
        put(found.dy[i], dy[i]);
      }
    }
  }
}

}  // namespace manyfold
