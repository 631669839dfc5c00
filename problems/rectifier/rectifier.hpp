#pragma once
// A bridge of four ideal diodes between a source with a resistance and a capacitor with a load: two diodes conduct
// (mode +1 or -1, by the sign of the current), or none (mode 0). Index 1 in every mode, with other algebraic equations.
#include <manyfold/model.hpp>

struct Rectifier {
  static constexpr const char* name = "rectifier";
  static constexpr const char* description = "A bridge rectifier with ideal diodes";
  static constexpr double t_span[] = {0.0, 0.1};
  static constexpr manyfold::Variable variables[] = {
      {.name = "v_C", .unit = "V", .description = "voltage of the capacitor", .initial = 1.0},
      {.name = "i", .unit = "A", .description = "current of the source", .algebraic = true},
      {.name = "v_B", .unit = "V", .description = "voltage at the bridge", .algebraic = true}};
  enum Constants { amplitude, frequency, R_S, C, R, mode };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "amplitude", .unit = "V", .description = "of the source", .value = 10.0},
      {.name = "frequency", .unit = "s-1", .description = "of the source", .value = 50.0},
      {.name = "R_S", .unit = "ohm", .description = "resistance of the source", .value = 1.0},
      {.name = "C", .unit = "F", .description = "capacitance", .value = 1e-3},
      {.name = "R", .unit = "ohm", .description = "load", .value = 100.0}};
  enum Commutation { conduct_positive, conduct_negative, block };
  static constexpr manyfold::Event events[] = {
      {.name = "conduct_positive", .description = "two diodes begin to conduct", .direction = 1},
      {.name = "conduct_negative", .description = "the other two begin to conduct", .direction = 1},
      {.name = "block", .description = "the current has come to zero", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {
      {.name = "mode", .description = "+1 or -1: sign of the current that the bridge conducts; 0: none"}};

  static constexpr auto source_voltage(const auto& t, const auto& p) {
    return p[amplitude] * sin(6.283185307179586 * p[frequency] * t);
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto& m = p[mode];
    const auto source = source_voltage(t, p);
    f[0] = (m * y[1] - y[0] / p[R]) / p[C];
    f[1] = source - p[R_S] * y[1] - y[2];
    f[2] = (1.0 - m * m) * p[R_S] * y[1] + m * m * y[2] - m * y[0];
  }
  // In a mode that an event does not end, its root function is a constant that cannot cross. Voltages that diodes see
  // and currents are written with the source and the differential variable: between the ends of a step these are known
  // better than algebraic variables.
  static constexpr void root(const auto& t, const auto& y, const auto&, const auto& p, auto& g) {
    const auto blocks = p[mode] == 0.0;
    const auto never = 0.0 * y[0];
    const auto source = source_voltage(t, p);
    g[conduct_positive] = select(blocks, source - y[0], never - 1.0);
    g[conduct_negative] = select(blocks, -source - y[0], never - 1.0);
    g[block] = select(blocks, never + 1.0, p[mode] * source - y[0]);
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    d[0] = event == conduct_positive ? 1.0 : event == conduct_negative ? -1.0 : 0.0;
  }
};
MANYFOLD_MODEL(Rectifier);
