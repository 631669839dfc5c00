#pragma once
// Air pollution: twenty species in 25 reactions. Verwer, Gauss-Seidel iteration for stiff ODEs from chemical kinetics,
// SIAM J. Sci. Comput. 15 (1994); Test Set for IVP Solvers, problem POLLUTION.
#include <manyfold/model.hpp>

struct Pollution {
  static constexpr const char* name = "pollution";
  static constexpr double t_span[] = {0.0, 60.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y1"},
                                                     {.name = "y2", .initial = 0.2},
                                                     {.name = "y3"},
                                                     {.name = "y4", .initial = 0.04},
                                                     {.name = "y5"},
                                                     {.name = "y6"},
                                                     {.name = "y7", .initial = 0.1},
                                                     {.name = "y8", .initial = 0.3},
                                                     {.name = "y9", .initial = 0.01},
                                                     {.name = "y10"},
                                                     {.name = "y11"},
                                                     {.name = "y12"},
                                                     {.name = "y13"},
                                                     {.name = "y14"},
                                                     {.name = "y15"},
                                                     {.name = "y16"},
                                                     {.name = "y17", .initial = 0.007},
                                                     {.name = "y18"},
                                                     {.name = "y19"},
                                                     {.name = "y20"}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k1", .value = 0.35},     {.name = "k2", .value = 26.6},    {.name = "k3", .value = 12300},
      {.name = "k4", .value = 8.6e-4},   {.name = "k5", .value = 8.2e-4},  {.name = "k6", .value = 15000},
      {.name = "k7", .value = 1.3e-4},   {.name = "k8", .value = 24000},   {.name = "k9", .value = 16500},
      {.name = "k10", .value = 9000},    {.name = "k11", .value = 0.022},  {.name = "k12", .value = 12000},
      {.name = "k13", .value = 1.88},    {.name = "k14", .value = 16300},  {.name = "k15", .value = 4.8e6},
      {.name = "k16", .value = 3.5e-4},  {.name = "k17", .value = 0.0175}, {.name = "k18", .value = 1e8},
      {.name = "k19", .value = 4.44e11}, {.name = "k20", .value = 1240},   {.name = "k21", .value = 2.1},
      {.name = "k22", .value = 5.78},    {.name = "k23", .value = 0.0474}, {.name = "k24", .value = 1780},
      {.name = "k25", .value = 3.12}};

  static constexpr void rhs(const auto& /*t*/, const auto& y, const auto& p, auto& f) {
    manyfold::NumberOf<decltype(f)> r[25];
    r[0] = p[0] * y[0];
    r[1] = p[1] * y[1] * y[3];
    r[2] = p[2] * y[4] * y[1];
    r[3] = p[3] * y[6];
    r[4] = p[4] * y[6];
    r[5] = p[5] * y[6] * y[5];
    r[6] = p[6] * y[8];
    r[7] = p[7] * y[8] * y[5];
    r[8] = p[8] * y[10] * y[1];
    r[9] = p[9] * y[10] * y[0];
    r[10] = p[10] * y[12];
    r[11] = p[11] * y[9] * y[1];
    r[12] = p[12] * y[13];
    r[13] = p[13] * y[0] * y[5];
    r[14] = p[14] * y[2];
    r[15] = p[15] * y[3];
    r[16] = p[16] * y[3];
    r[17] = p[17] * y[15];
    r[18] = p[18] * y[15];
    r[19] = p[19] * y[16] * y[5];
    r[20] = p[20] * y[18];
    r[21] = p[21] * y[18];
    r[22] = p[22] * y[0] * y[3];
    r[23] = p[23] * y[18] * y[0];
    r[24] = p[24] * y[19];
    f[0] = -r[0] - r[9] - r[13] - r[22] - r[23] + r[1] + r[2] + r[8] + r[10] + r[11] + r[21] + r[24];
    f[1] = -r[1] - r[2] - r[8] - r[11] + r[0] + r[20];
    f[2] = -r[14] + r[0] + r[16] + r[18] + r[21];
    f[3] = -r[1] - r[15] - r[16] - r[22] + r[14];
    f[4] = -r[2] + 2.0 * r[3] + r[5] + r[6] + r[12] + r[19];
    f[5] = -r[5] - r[7] - r[13] - r[19] + r[2] + 2.0 * r[17];
    f[6] = -r[3] - r[4] - r[5] + r[12];
    f[7] = r[3] + r[4] + r[5] + r[6];
    f[8] = -r[6] - r[7];
    f[9] = -r[11] + r[6] + r[8];
    f[10] = -r[8] - r[9] + r[7] + r[10];
    f[11] = r[8];
    f[12] = -r[10] + r[9];
    f[13] = -r[12] + r[11];
    f[14] = r[13];
    f[15] = -r[17] - r[18] + r[15];
    f[16] = -r[19];
    f[17] = r[19];
    f[18] = -r[20] - r[21] - r[23] + r[22] + r[24];
    f[19] = -r[24] + r[23];
  }
};
MANYFOLD_MODEL(Pollution);
