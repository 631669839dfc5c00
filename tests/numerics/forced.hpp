#pragma once
// Models whose solutions hide between the steps: an algebraic variable follows a source, and what it drives happens in
// short pulses. No event tells of them.
#include <numbers>

#include <manyfold/model.hpp>

namespace manyfold::test {

/// A source s of two sines and a jump, z = s, and x that grows in the peaks of s and follows z.
struct Forced {
  static constexpr const char* name = "forced";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr Variable variables[] = {
      {.name = "x"}, {.name = "s", .algebraic = true}, {.name = "z", .algebraic = true}};
  enum { slow, slow_frequency, fast, fast_frequency, high, low, grows, peaked, follows };
  static constexpr Parameter parameters[] = {
      {.name = "slow"}, {.name = "slow_frequency"}, {.name = "fast"},   {.name = "fast_frequency"}, {.name = "high"},
      {.name = "low"},  {.name = "grows"},          {.name = "peaked"}, {.name = "follows"}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto jump = select(sin(2.0 * t + 1.0) > 0.0, p[high], p[low]);
    f[0] = p[grows] * exp(p[peaked] * (y[1] - 1.0)) + p[follows] * (y[2] - y[0]);
    f[1] = y[1] - p[slow] * sin(p[slow_frequency] * t) - p[fast] * sin(p[fast_frequency] * t) - jump;
    f[2] = y[2] - y[1];
  }
};

/// Half-wave rectifier: source, resistor, diode, capacitor parallel to the load.
struct SupplyParameters {
  static constexpr double t_span[] = {0.0, 0.2};
  static constexpr Variable variables[] = {{.name = "uC", .unit = "V", .description = "output voltage"},
                                           {.name = "uD", .unit = "V", .algebraic = true},
                                           {.name = "i", .unit = "A", .algebraic = true}};
  enum { Rs, C, RL, Is, nUT, amplitude, frequency };
  static constexpr Parameter parameters[] = {
      {.name = "Rs", .unit = "ohm", .value = 1.0},   {.name = "C", .unit = "F", .value = 1e-3},
      {.name = "RL", .unit = "ohm", .value = 100.0}, {.name = "Is", .unit = "A", .value = 1e-9},
      {.name = "nUT", .unit = "V", .value = 0.045},  {.name = "amplitude", .unit = "V", .value = 12.0},
      {.name = "f", .unit = "Hz", .value = 50.0}};
};

struct Supply : SupplyParameters {
  static constexpr const char* name = "supply";
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    const auto source = p[amplitude] * sin(2.0 * std::numbers::pi * p[frequency] * t);
    F[0] = p[C] * dy[0] - y[2] + y[0] / p[RL];
    F[1] = y[2] - p[Is] * (exp(y[1] / p[nUT]) - 1.0);
    F[2] = source - p[Rs] * y[2] - y[1] - y[0];
  }
};

struct SupplyRhs : SupplyParameters {
  static constexpr const char* name = "supply_rhs";
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto source = p[amplitude] * sin(2.0 * std::numbers::pi * p[frequency] * t);
    f[0] = (y[2] - y[0] / p[RL]) / p[C];
    f[1] = y[2] - p[Is] * (exp(y[1] / p[nUT]) - 1.0);
    f[2] = source - p[Rs] * y[2] - y[1] - y[0];
  }
};

/// The same with a bridge of four diodes, each parallel to a small conductance: the source lies between the nodes a and
/// b, and charges twice per period.
struct Bridge : SupplyParameters {
  static constexpr const char* name = "bridge";
  static constexpr Variable variables[] = {{.name = "uC", .unit = "V"},
                                           {.name = "ua", .unit = "V", .algebraic = true},
                                           {.name = "ub", .unit = "V", .algebraic = true}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto source = p[amplitude] * sin(2.0 * std::numbers::pi * p[frequency] * t);
    const auto diode = [&](const auto& u) { return p[Is] * (exp(u / p[nUT]) - 1.0) + 1e-6 * u; };
    const auto from_source = (source - y[1] + y[2]) / p[Rs];
    const auto from_a = diode(y[1] - y[0]);
    const auto from_b = diode(y[2] - y[0]);
    f[0] = (from_a + from_b - y[0] / p[RL]) / p[C];
    f[1] = from_source + diode(-y[1]) - from_a;
    f[2] = -from_source + diode(-y[2]) - from_b;
  }
};

}  // namespace manyfold::test
