#pragma once
// Problem DAS 2 of I. T. Cameron, IMA J. Numer. Anal. 3 (1983), appendix: a tank with compressed gas above the liquid,
// filled through a control valve, with six scheduled changes of the valve's signal and of the pressures at both ends.
//
// The printed factor 200 of the gas temperature's equation is 1000 here, as its units ask. m_G is such that the gas
// begins at 100 kPa exactly: with the printed 8.397 the outflow would begin with the root of a negative number. The
// outflow's slope is infinite at the start; below `least` its square root is cut off.
#include <manyfold/model.hpp>

struct Das2 {
  static constexpr const char* name = "das2";
  static constexpr const char* description = "Cameron's problem DAS 2: a tank with six scheduled changes";
  static constexpr const char* time_unit = "h";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "y", .unit = "h-1", .description = "velocity of the valve's stem", .initial = 0.0},
      {.name = "s", .description = "position of the valve's stem", .initial = 1.0},
      {.name = "z", .unit = "m", .description = "height of the liquid", .initial = 0.0},
      {.name = "T_G", .unit = "K", .description = "temperature of the gas", .initial = 288.0},
      {.name = "A_v", .description = "flow area of the valve", .initial = 1.0, .algebraic = true},
      {.name = "F1", .unit = "m3 h-1", .description = "flow in", .initial = 59.154, .algebraic = true},
      {.name = "F2", .unit = "m3 h-1", .description = "flow out", .initial = 0.0, .algebraic = true},
      {.name = "P_G", .unit = "kPa", .description = "pressure of the gas", .initial = 100.0, .algebraic = true},
      {.name = "P2", .unit = "kPa", .description = "pressure at the bottom", .initial = 100.0, .algebraic = true},
      {.name = "V_G", .unit = "m3", .description = "volume of the gas", .initial = 201.0619, .algebraic = true}};
  enum Constants {
    tau,
    xi,
    A,
    rho,
    V0,
    R,
    C,
    m_G,
    C_v,
    g,
    P1_start,
    P1_raised,
    P3_start,
    P3_raised,
    t1,
    I = t1 + 6,
    P1,
    P3
  };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "tau", .unit = "h", .description = "time constant of the valve", .value = 2.77e-4},
      {.name = "xi", .description = "damping ratio of the valve", .value = 0.8},
      {.name = "A", .unit = "m2", .description = "cross-section of the tank", .value = 12.566},
      {.name = "rho", .unit = "kg m-3", .description = "density of the liquid", .value = 1000.0},
      {.name = "V0", .unit = "m3", .description = "volume of the tank", .value = 201.0619},
      {.name = "R", .unit = "J kmol-1 K-1", .description = "gas constant", .value = 8314.0},
      {.name = "C", .unit = "J kmol-1 K-1", .description = "heat capacity of the gas", .value = 30354.0},
      {.name = "m_G", .unit = "kmol", .description = "amount of gas", .value = 8.397060346670943255},
      {.name = "C_v", .unit = "m3 h-1 kPa-0.5", .description = "flow coefficient", .value = 3.4153},
      {.name = "g", .unit = "m s-2", .description = "gravity", .value = 9.81},
      {.name = "P1", .unit = "kPa", .description = "supply pressure", .value = 400.0},
      {.name = "P1_raised", .unit = "kPa", .description = "supply pressure between its changes", .value = 500.0},
      {.name = "P3", .unit = "kPa", .description = "back pressure", .value = 100.0},
      {.name = "P3_raised", .unit = "kPa", .description = "back pressure between its changes", .value = 110.0},
      {.name = "t1", .unit = "h", .description = "signal to 0.7", .value = 1.0},
      {.name = "t2", .unit = "h", .description = "signal to 0.6", .value = 1.5},
      {.name = "t3", .unit = "h", .description = "supply pressure up", .value = 2.0},
      {.name = "t4", .unit = "h", .description = "back pressure up", .value = 2.5},
      {.name = "t5", .unit = "h", .description = "signal back to 0.7", .value = 3.0},
      {.name = "t6", .unit = "h", .description = "both pressures down", .value = 3.5}};
  enum Change { signal_down, signal_down_again, supply_up, back_up, signal_up, pressures_down };
  static constexpr manyfold::Event events[] = {
      {.name = "signal_down", .scheduled = 1}, {.name = "signal_down_again", .scheduled = 1},
      {.name = "supply_up", .scheduled = 1},   {.name = "back_up", .scheduled = 1},
      {.name = "signal_up", .scheduled = 1},   {.name = "pressures_down", .scheduled = 1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "signal", .description = "signal to the valve", .initial = 1.0},
      {.name = "supply", .unit = "kPa", .description = "supply pressure"},
      {.name = "back", .unit = "kPa", .description = "back pressure"}};
  static constexpr double least = 1e-10;

  static constexpr void initial(const auto& p, auto& y) {
    y[4] = 0.03 * exp(y[1] * (1.0 / 0.28518));
    y[9] = p[V0] - p[A] * y[2];
    y[7] = p[m_G] * p[R] * y[3] / (1000.0 * y[9]);
    y[8] = y[7] + p[rho] * p[g] * y[2] / 1000.0;
    y[5] = y[4] * p[C_v] * sqrt(max(p[P1_start] - y[8], least));
    y[6] = p[C_v] * sqrt(max(y[8] - p[P3_start], least));
  }
  static constexpr void initial_discrete(const auto&, const auto& p, auto& d) {
    d[1] = p[P1_start];
    d[2] = p[P3_start];
  }

  static constexpr void event_times(const auto& p, auto& times) {
    for (int k = 0; k < 6; ++k) times[k] = p[t1 + k];
  }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto net = y[5] - y[6];
    f[0] = (p[I] - y[1]) / (p[tau] * p[tau]) - 2.0 * p[xi] * y[0] / p[tau];
    f[1] = y[0];
    f[2] = net / p[A];
    f[3] = net * y[7] * 1000.0 / (p[m_G] * p[C]);
    f[4] = y[4] - 0.03 * exp(y[1] * (1.0 / 0.28518));
    f[5] = y[5] - y[4] * p[C_v] * sqrt(max(p[P1] - y[8], least));
    f[6] = y[6] - p[C_v] * sqrt(max(y[8] - p[P3], least));
    f[7] = y[7] - p[m_G] * p[R] * y[3] / (1000.0 * y[9]);
    f[8] = y[8] - y[7] - p[rho] * p[g] * y[2] / 1000.0;
    f[9] = y[9] - p[V0] + p[A] * y[2];
  }

  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto& p, auto& d) {
    if constexpr (event == signal_down || event == signal_up) d[0] = 0.7;
    if constexpr (event == signal_down_again) d[0] = 0.6;
    if constexpr (event == supply_up) d[1] = p[P1_raised];
    if constexpr (event == back_up) d[2] = p[P3_raised];
    if constexpr (event == pressures_down) {
      d[1] = p[P1_start];
      d[2] = p[P3_start];
    }
  }
};
MANYFOLD_MODEL(Das2);
