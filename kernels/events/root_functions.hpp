#pragma once
// The root functions of events and their derivatives along a curve.
#include "../algebra/dual.hpp"
#include "../model/system.hpp"

namespace manyfold {

/// Are algebraic variables made to meet their equations where an event is found, and their errors looked at? On devices
/// kernels would be longer.
#if defined(__CUDACC__)
inline constexpr bool looks_at_algebraic_errors = false;
#else
inline constexpr bool looks_at_algebraic_errors = true;
#endif

/// Root functions and their derivatives along a curve.
template <class System, class Real>
struct RootValues {
  Real value[System::events_size];
  Real slope[System::events_size];
};

/// The root functions along a curve through (t, y, y') with tangent (t_slope, y_slope, dy_slope).
template <class System, class Real>
MANYFOLD_INLINE RootValues<System, Real> root_values(const Real& t, const Real& t_slope, const Real (&y)[System::n],
                                                     const Real (&y_slope)[System::n], const Real (&dy)[System::n],
                                                     const Real (&dy_slope)[System::n],
                                                     const Real (&p)[System::constants_size]) {
  using Number = Dual<Real, 1>;
  const auto along = [](const Real& value, const Real& slope) {
    Number number(value);
    number.tangent[0] = slope;
    return number;
  };
  Number seeded_y[System::n];
  Number seeded_dy[System::n];
  Number g[System::events_size];
  for (int i = 0; i < System::n; ++i) {
    seeded_y[i] = along(y[i], y_slope[i]);
    seeded_dy[i] = along(dy[i], dy_slope[i]);
  }
  // Scheduled events have no root function: zero is no side, so they never cross.
  for (int i = 0; i < System::events; ++i) g[i] = Number(Real(0.0));
  System::root(along(t, t_slope), seeded_y, seeded_dy, p, g);
  RootValues<System, Real> result;
  for (int i = 0; i < System::events; ++i) {
    result.value[i] = g[i].value;
    result.slope[i] = g[i].tangent[0];
  }
  return result;
}

template <class Real>
MANYFOLD_INLINE Real sign(const Real& x) {
  return select(x > Real(0.0), Real(1.0), select(x < Real(0.0), Real(-1.0), Real(0.0)));
}

/// The tolerance of event times relative to |t| + |h|: a few units in the last place.
template <class Real>
inline constexpr double location_tolerance = 4.0 * epsilon<Real>;
/// Events that are closer than so many of these tolerances follow each other without progress in time.
inline constexpr double no_progress = 100.0;

}  // namespace manyfold
