#pragma once
// High irradiance responses of photomorphogenesis: eight reactants. Schaefer, A new approach to explain the "high
// irradiance responses" of photomorphogenesis on the basis of phytochrome, J. Math. Biology 2 (1975); Test Set for IVP
// Solvers, problem HIRES.
#include <manyfold/model.hpp>

struct Hires {
  static constexpr const char* name = "hires";
  static constexpr double t_span[] = {0.0, 321.8122};
  static constexpr manyfold::Variable variables[] = {{.name = "y1", .initial = 1.0},
                                                     {.name = "y2"},
                                                     {.name = "y3"},
                                                     {.name = "y4"},
                                                     {.name = "y5"},
                                                     {.name = "y6"},
                                                     {.name = "y7"},
                                                     {.name = "y8", .initial = 0.0057}};
  enum { k1, k2, k3, k4, k5, k6, k_plus, k_minus, k_star, o };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k1", .value = 1.71},    {.name = "k2", .value = 0.43},      {.name = "k3", .value = 8.32},
      {.name = "k4", .value = 0.69},    {.name = "k5", .value = 0.035},     {.name = "k6", .value = 8.32},
      {.name = "k_plus", .value = 280}, {.name = "k_minus", .value = 0.69}, {.name = "k_star", .value = 0.69},
      {.name = "o", .value = 0.0007}};

  static constexpr void rhs(const auto& /*t*/, const auto& y, const auto& p, auto& f) {
    const auto exchange = p[k_plus] * y[5] * y[7];
    f[0] = -p[k1] * y[0] + p[k2] * y[1] + p[k6] * y[2] + p[o];
    f[1] = p[k1] * y[0] - (p[k2] + p[k3]) * y[1];
    f[2] = -(p[k6] + p[k1]) * y[2] + p[k2] * y[3] + p[k5] * y[4];
    f[3] = p[k3] * y[1] + p[k1] * y[2] - (p[k4] + p[k2]) * y[3];
    f[4] = -(p[k5] + p[k1]) * y[4] + p[k2] * (y[5] + y[6]);
    f[5] = -exchange + p[k4] * y[3] + p[k1] * y[4] - p[k2] * y[5] + p[k_minus] * y[6];
    f[6] = exchange - (p[k2] + p[k_minus] + p[k_star]) * y[6];
    f[7] = -exchange + (p[k2] + p[k_minus] + p[k_star]) * y[6];
  }
};
MANYFOLD_MODEL(Hires);
