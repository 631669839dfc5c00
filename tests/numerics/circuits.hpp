#pragma once
// Two circuits of the Test Set for IVP Solvers whose sources have corners and whose transistors switch.
#include <manyfold/model.hpp>

namespace manyfold::test {

/// Charge pump: index 2 beside index 1. The sums of charges a = YS + U2's and b = YD + U3's are variables, so that the
/// mass matrix is diagonal. Corners of the source are scheduled events, the threshold of the transistor a state event.
struct ChargePump {
  static constexpr const char* name = "chargepump";
  static constexpr const char* time_unit = "ns";
  static constexpr double t_span[] = {0.0, 1200.0};
  static constexpr Variable variables[] = {{.name = "YT1", .unit = "pC"},
                                           {.name = "YS", .unit = "pC", .algebraic = true},
                                           {.name = "a", .unit = "pC"},
                                           {.name = "YD", .unit = "pC", .algebraic = true},
                                           {.name = "b", .unit = "pC"},
                                           {.name = "U1", .unit = "V", .algebraic = true},
                                           {.name = "U2", .unit = "V", .algebraic = true},
                                           {.name = "U3", .unit = "V", .algebraic = true},
                                           {.name = "I", .unit = "mA", .algebraic = true, .index = 2}};
  enum { CD, CS, Cox, UT0, gam, Phi, begin, level, slope, conducts };
  static constexpr Parameter parameters[] = {{.name = "CD", .value = 0.4},      {.name = "CS", .value = 1.6},
                                             {.name = "Cox", .value = 4.0},     {.name = "UT0", .value = 0.2},
                                             {.name = "gamma", .value = 0.035}, {.name = "Phi", .value = 1.01}};
  static constexpr Discrete discrete[] = {
      {.name = "begin"}, {.name = "level"}, {.name = "slope"}, {.name = "conducts"}};
  static constexpr Event events[] = {{.name = "rise", .scheduled = 10},
                                     {.name = "high", .scheduled = 10},
                                     {.name = "fall", .scheduled = 10},
                                     {.name = "low", .scheduled = 9},
                                     {.name = "threshold"}};
  enum { rise, high, fall, low, threshold };
  static constexpr void event_times(const auto&, auto& times) {
    for (int i = 0; i < 10; ++i) {
      times[i] = (120.0 * i + 50.0);
      times[10 + i] = (120.0 * i + 60.0);
      times[20 + i] = (120.0 * i + 110.0);
      if (i < 9) times[30 + i] = (120.0 * i + 120.0);
    }
  }
  static constexpr void action(auto event, const auto& t, auto& y, const auto&, const auto& p, auto& d) {
    if constexpr (event == threshold) {
      d[3] = select(over_threshold(y, p) > 0.0, 1.0 + 0.0 * y[5], 0.0 * y[5]);
    } else {
      d[0] = t;
      d[1] = 0.0 * t + (event == high || event == fall ? 20.0 : 0.0);
      d[2] = 0.0 * t + (event == rise ? 2.0 : event == fall ? -2.0 : 0.0);
    }
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[threshold] = over_threshold(y, p);
  }
  /// v2 - UTE
  static constexpr auto over_threshold(const auto& y, const auto& p) {
    const auto v2 = max(y[5] - y[6], y[5] - y[7]);
    return v2 - p[UT0] - p[gam] * (sqrt(p[Phi] - (v2 - y[5])) - sqrt(p[Phi]));
  }
  static constexpr void initial(const auto& p, auto& y) {
    for (int i = 0; i < 9; ++i) y[i] = 0.0;
    const auto VFB = p[UT0] - p[gam] * sqrt(p[Phi]) - p[Phi];
    y[0] = p[Cox] * p[gam] * (sqrt(p[gam] * p[gam] / 4.0 - VFB) - p[gam] / 2.0);
  }

  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto V_in = p[level] + p[slope] * (t - p[begin]);
    const auto v1 = y[5];
    const auto v2 = max(y[5] - y[6], y[5] - y[7]);
    const auto v3 = min(y[5] - y[6], y[5] - y[7]);
    const auto VFB = p[UT0] - p[gam] * sqrt(p[Phi]) - p[Phi];
    const auto root = sqrt(max(p[Phi] - (v2 - v1), 1e-9 + 0.0 * v1));
    const auto UTE = p[UT0] + p[gam] * (root - sqrt(p[Phi]));
    const auto accumulates = v1 <= VFB;
    const auto depleted = p[conducts] == 0.0;
    const auto zero = 0.0 * v1;
    const auto S = select(depleted, zero + 1.0, v2 - UTE);
    const auto D = max(v3 - UTE, zero);
    const auto X = S + D - S * D / (S + D);
    const auto half = 0.5 * p[gam];
    const auto over = select(accumulates, zero + 1.0, v1 - VFB);
    const auto QG = select(accumulates, p[Cox] * (v1 - VFB),
                           select(depleted, p[Cox] * p[gam] * (sqrt(half * half + over) - half),
                                  p[Cox] * (2.0 / 3.0 * X + p[gam] * root)));
    const auto QS = select(accumulates || depleted, zero, -p[Cox] / 3.0 * X);
    f[0] = -y[8];
    f[1] = y[1] - p[CS] * y[6];
    f[2] = zero;
    f[3] = y[3] - p[CD] * y[7];
    f[4] = zero;
    f[5] = y[5] - V_in;
    f[6] = y[2] - y[1] - QS;
    f[7] = y[4] - y[3] - QS;
    f[8] = y[0] - QG;
  }
};

/// NAND gate: capacitances depend on voltages, C(y) y' = f(t, y). Corners of the inputs are scheduled events.
struct NandGate {
  static constexpr const char* name = "nand";
  static constexpr const char* time_unit = "ns";
  static constexpr double t_span[] = {0.0, 80.0};
  static constexpr Variable variables[] = {{.name = "y1", .initial = 5.0},
                                           {.name = "y2", .initial = 5.0},
                                           {.name = "y3", .initial = -2.5},
                                           {.name = "y4", .initial = -2.5},
                                           {.name = "y5", .initial = 5.0},
                                           {.name = "y6", .initial = 3.62385},
                                           {.name = "y7", .initial = 5.0},
                                           {.name = "y8", .initial = -2.5},
                                           {.name = "y9", .initial = -2.5},
                                           {.name = "y10", .initial = 3.62385},
                                           {.name = "y11"},
                                           {.name = "y12", .initial = 3.62385},
                                           {.name = "y13", .initial = -2.5},
                                           {.name = "y14", .initial = -2.5}};
  enum { RGS, RGD, RBS, RBD, CGS, CGD, CBS, CBD, C9, VDD, VBB, corner, begin1, slope1, begin2, slope2 };
  static constexpr Parameter parameters[] = {
      {.name = "RGS", .value = 4.0},    {.name = "RGD", .value = 4.0},    {.name = "RBS", .value = 10.0},
      {.name = "RBD", .value = 10.0},   {.name = "CGS", .value = 0.6e-4}, {.name = "CGD", .value = 0.6e-4},
      {.name = "CBS", .value = 2.4e-5}, {.name = "CBD", .value = 2.4e-5}, {.name = "C9", .value = 0.5e-4},
      {.name = "VDD", .value = 5.0},    {.name = "VBB", .value = -2.5}};
  // Both inputs start at 0 V with slope 0. V1: period 20, up from 5, level from 10, down from 15. V2: period 40, up
  // from 15, level from 20, down from 35.
  static constexpr Discrete discrete[] = {
      {.name = "corner"}, {.name = "begin1"}, {.name = "slope1"}, {.name = "begin2"}, {.name = "slope2"}};
  static constexpr Event events[] = {{.name = "corner", .scheduled = 15}};
  static constexpr void event_times(const auto&, auto& times) {
    for (int i = 0; i < 15; ++i) times[i] = 5.0 * (i + 1);
  }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto& d) {
    const auto number = d[0] + 1.0;  // of the interval that begins
    d[1] += 5.0 * d[2];
    d[3] += 5.0 * d[4];
    const auto is = [&](int a, int b) {  // number = a modulo b
      auto any = number == 1.0 * a;
      for (int i = a + b; i < 16; i += b) any = any || number == 1.0 * i;
      return any;
    };
    d[2] = select(is(1, 4), d[0] * 0.0 + 1.0, select(is(3, 4), d[0] * 0.0 - 1.0, d[0] * 0.0));
    d[4] = select(is(3, 8), d[0] * 0.0 + 1.0, select(is(7, 8), d[0] * 0.0 - 1.0, d[0] * 0.0));
    d[0] = number;
  }

  static constexpr auto drain_current(bool depletion, const auto& vds, const auto& vgs, const auto& vbs,
                                      const auto& vgd, const auto& vbd) {
    const double VT0 = depletion ? -2.43 : 0.2, gam = depletion ? 0.2 : 0.035, Phi = depletion ? 1.28 : 1.01;
    const double plus = depletion ? 5.35e-4 : 1.748e-3, minus = depletion ? 5.35e-4 : 1.748e-4, delta = 0.02;
    const auto forward = vds > 0.0;
    // One formula for both signs: with v = |vds| and the overdrive e, the current is -+ beta q (1 + delta v).
    const auto v = abs(vds);
    const auto e = select(forward, vgs, vgd) - VT0 - gam * (sqrt(Phi - select(forward, vbs, vbd)) - sqrt(Phi));
    const auto q = select(e <= 0.0, 0.0 * e, select(e <= v, e * e, v * (2.0 * e - v)));
    return select(forward, -plus * q, minus * q) * (1.0 + delta * v);
  }
  static constexpr auto diode(const auto& v) {
    return select(v <= 0.0, -1e-14 * (exp(min(v, 0.0 * v) / 25.85) - 1.0), 0.0 * v);
  }
  static constexpr auto capacity(const auto& c, const auto& v) {
    return c * select(v <= 0.0, 1.0 / sqrt(1.0 - min(v, 0.0 * v) / 0.87), 1.0 + v / 1.74);
  }

  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    const auto since = t - 5.0 * p[corner];
    const auto V1 = p[begin1] + p[slope1] * since;
    const auto V2 = p[begin2] + p[slope2] * since;
    const auto i1 = drain_current(true, y[1] - y[0], y[4] - y[0], y[2] - y[4], y[4] - y[1], y[3] - p[VDD]);
    const auto i2 = drain_current(false, y[6] - y[5], V1 - y[5], y[7] - y[9], V1 - y[6], y[8] - y[4]);
    const auto i3 = drain_current(false, y[11] - y[10], V2 - y[10], y[12], V2 - y[11], y[13] - y[9]);
    const auto q3 = capacity(p[CBS], y[2] - y[4]) * (dy[2] - dy[4]);
    const auto q4 = capacity(p[CBD], y[3] - p[VDD]) * dy[3];
    const auto q8 = capacity(p[CBS], y[7] - y[9]) * (dy[7] - dy[9]);
    const auto q9 = capacity(p[CBD], y[8] - y[4]) * (dy[8] - dy[4]);
    const auto q13 = capacity(p[CBS], y[12]) * dy[12];
    const auto q14 = capacity(p[CBD], y[13] - y[9]) * (dy[13] - dy[9]);
    const auto d3 = diode(y[2] - y[4]);
    const auto d8 = diode(y[7] - y[9]);
    const auto d9 = diode(y[8] - y[4]);
    const auto d14 = diode(y[13] - y[9]);
    F[0] = p[CGS] * (dy[0] - dy[4]) + (y[0] - y[4]) / p[RGS] + i1;
    F[1] = p[CGD] * (dy[1] - dy[4]) + (y[1] - p[VDD]) / p[RGD] - i1;
    F[2] = q3 + (y[2] - p[VBB]) / p[RBS] - d3;
    F[3] = q4 + (y[3] - p[VBB]) / p[RBD] - diode(y[3] - p[VDD]);
    F[4] = p[CGS] * (dy[4] - dy[0]) + p[CGD] * (dy[4] - dy[1]) - q3 - q9 + p[C9] * dy[4] + (y[4] - y[0]) / p[RGS] + d3 +
           (y[4] - y[6]) / p[RGD] + d9;
    F[5] = p[CGS] * (dy[5] - p[slope1]) + (y[5] - y[9]) / p[RGS] + i2;
    F[6] = p[CGD] * (dy[6] - p[slope1]) + (y[6] - y[4]) / p[RGD] - i2;
    F[7] = q8 + (y[7] - p[VBB]) / p[RBS] - d8;
    F[8] = q9 + (y[8] - p[VBB]) / p[RBD] - d9;
    F[9] = -q8 - q14 + p[C9] * dy[9] + (y[9] - y[5]) / p[RGS] + d8 + (y[9] - y[11]) / p[RGD] + d14;
    F[10] = p[CGS] * (dy[10] - p[slope2]) + y[10] / p[RGS] + i3;
    F[11] = p[CGD] * (dy[11] - p[slope2]) + (y[11] - y[9]) / p[RGD] - i3;
    F[12] = q13 + (y[12] - p[VBB]) / p[RBS] - diode(y[12]);
    F[13] = q14 + (y[13] - p[VBB]) / p[RBD] - d14;
  }
};

}  // namespace manyfold::test
