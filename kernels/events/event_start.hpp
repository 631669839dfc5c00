#pragma once
// What is known of the events of an instance at its start and where it restarts.
#include "root_functions.hpp"

namespace manyfold {

/// What the events of an instance begin with, made for all lanes at once.
template <class System, class Real>
struct EventStart {
  RootValues<System, Real> roots;
  Real side[System::remembers_sides ? System::events_size : 1];  ///< as the discrete state remembers it
  Real schedule[System::scheduled_size];
};

/// What is known at a consistent point; `forward` is +1 or -1, the direction of integration.
template <class System, class Real>
MANYFOLD_INLINE EventStart<System, Real> event_start(const Real& t, const Real& forward, const Real (&y)[System::n],
                                                     const Real (&dy)[System::n],
                                                     const Real (&p)[System::constants_size]) {
  EventStart<System, Real> start;
  if constexpr (System::has_state_events) {
    Real y_slope[System::n];
    Real dy_slope[System::n];
    for (int i = 0; i < System::n; ++i) {
      y_slope[i] = forward * dy[i];
      dy_slope[i] = Real(0.0);
    }
    start.roots = root_values<System>(t, forward, y, y_slope, dy, dy_slope, p);
  }
  if constexpr (System::remembers_sides) System::sides(p, start.side);
  System::event_times(p, start.schedule);
  return start;
}

}  // namespace manyfold
