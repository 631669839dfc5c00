#pragma once
// A room with a heater that a thermostat switches with hysteresis. Between the switchings the temperature is an
// exponential, so that every switching time is known.
#include <manyfold/model.hpp>

struct Thermostat {
  static constexpr const char* name = "thermostat";
  static constexpr const char* description = "A heated room whose thermostat has a hysteresis";
  static constexpr const char* time_unit = "min";
  static constexpr double t_span[] = {0.0, 100.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "T", .unit = "degC", .description = "temperature of the room", .initial = 15.0}};
  enum Constants { outside, tau, heating, lower, upper, on };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "outside", .unit = "degC", .description = "temperature outside", .value = 5.0},
      {.name = "tau", .unit = "min", .description = "time constant of the room", .value = 30.0},
      {.name = "heating", .unit = "K min-1", .description = "heating rate", .value = 1.0},
      {.name = "lower", .unit = "degC", .description = "the heater starts below", .value = 19.0},
      {.name = "upper", .unit = "degC", .description = "the heater stops above", .value = 21.0}};
  enum Switching { off, start };
  static constexpr manyfold::Event events[] = {{.name = "off", .description = "the heater stops", .direction = 1},
                                               {.name = "on", .description = "the heater starts", .direction = -1}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "heater", .description = "1 on, 0 off", .initial = 1.0}};

  static constexpr void initial_discrete(const auto& y, const auto& p, auto& d) {
    d[0] = select(y[0] > p[upper], 0.0 * p[upper], d[0]);
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = (p[outside] - y[0]) / p[tau] + p[heating] * p[on];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[off] = y[0] - p[upper];
    g[start] = y[0] - p[lower];
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    d[0] = event == start ? 1.0 : 0.0;
  }
};
MANYFOLD_MODEL(Thermostat);
