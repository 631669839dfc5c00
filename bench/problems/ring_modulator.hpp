#pragma once
// A ring modulator mixes a signal of low frequency with one of high frequency: fifteen voltages and currents. Horneber,
// Analyse nichtlinearer RLCU-Netzwerke mit Hilfe der gemischten Potentialfunktion (1976); Test Set for IVP Solvers.
#include <manyfold/model.hpp>

struct RingModulator {
  static constexpr const char* name = "ring_modulator";
  static constexpr double t_span[] = {0.0, 1e-3};
  static constexpr manyfold::Variable variables[] = {{.name = "y1"},  {.name = "y2"},  {.name = "y3"},  {.name = "y4"},
                                                     {.name = "y5"},  {.name = "y6"},  {.name = "y7"},  {.name = "y8"},
                                                     {.name = "y9"},  {.name = "y10"}, {.name = "y11"}, {.name = "y12"},
                                                     {.name = "y13"}, {.name = "y14"}, {.name = "y15"}};
  enum { C, Cs, Cp, Lh, Ls1, Ls2, Ls3, gamma, R, Rp, Rg1, Rg2, Rg3, Ri, Rc, delta };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "C", .value = 1.6e-8},  {.name = "Cs", .value = 2e-12},
      {.name = "Cp", .value = 1e-8},   {.name = "Lh", .value = 4.45},
      {.name = "Ls1", .value = 0.002}, {.name = "Ls2", .value = 5e-4},
      {.name = "Ls3", .value = 5e-4},  {.name = "gamma", .value = 40.67286402e-9},
      {.name = "R", .value = 25000},   {.name = "Rp", .value = 50},
      {.name = "Rg1", .value = 36.3},  {.name = "Rg2", .value = 17.3},
      {.name = "Rg3", .value = 17.3},  {.name = "Ri", .value = 50},
      {.name = "Rc", .value = 600},    {.name = "delta", .value = 17.7493332}};

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto low = 0.5 * sin(6283.185307179586 * t);
    const auto high = 2.0 * sin(62831.85307179586 * t);
    const auto diode = [&](const auto& U) { return p[gamma] * (exp(p[delta] * U) - 1.0); };
    const auto q1 = diode(y[2] - y[4] - y[6] - high);
    const auto q2 = diode(-y[3] + y[5] - y[6] - high);
    const auto q3 = diode(y[3] + y[4] + y[6] + high);
    const auto q4 = diode(-y[2] - y[5] + y[6] + high);
    f[0] = (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / p[R]) / p[C];
    f[1] = (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / p[R]) / p[C];
    f[2] = (y[9] - q1 + q4) / p[Cs];
    f[3] = (-y[10] + q2 - q3) / p[Cs];
    f[4] = (y[11] + q1 - q3) / p[Cs];
    f[5] = (-y[12] - q2 + q4) / p[Cs];
    f[6] = (-y[6] / p[Rp] + q1 + q2 - q3 - q4) / p[Cp];
    f[7] = -y[0] / p[Lh];
    f[8] = -y[1] / p[Lh];
    f[9] = (0.5 * y[0] - y[2] - p[Rg2] * y[9]) / p[Ls2];
    f[10] = (-0.5 * y[0] + y[3] - p[Rg3] * y[10]) / p[Ls3];
    f[11] = (0.5 * y[1] - y[4] - p[Rg2] * y[11]) / p[Ls2];
    f[12] = (-0.5 * y[1] + y[5] - p[Rg3] * y[12]) / p[Ls3];
    f[13] = (-y[0] + low - (p[Ri] + p[Rg1]) * y[13]) / p[Ls1];
    f[14] = (-y[1] - (p[Rc] + p[Rg1]) * y[14]) / p[Ls1];
  }
};
MANYFOLD_MODEL(RingModulator);
