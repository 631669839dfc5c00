#pragma once
// Problems of the Test Set for IVP Solvers that are not built in, and a circuit, each for what it showed.
#include <manyfold/model.hpp>

namespace manyfold::test {

/// Car axis: index 3 with a mass matrix that is not the identity.
struct CarAxis {
  static constexpr const char* name = "car_axis";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Parameter parameters[] = {{.name = "omega", .value = 10.0}};
  static constexpr Variable variables[] = {{.name = "xl"},
                                           {.name = "yl", .initial = 0.5},
                                           {.name = "xr", .initial = 1.0},
                                           {.name = "yr", .initial = 0.5},
                                           {.name = "vxl", .initial = -0.5, .index = 2},
                                           {.name = "vyl", .index = 2},
                                           {.name = "vxr", .initial = -0.5, .index = 2},
                                           {.name = "vyr", .index = 2},
                                           {.name = "lambda", .algebraic = true, .count = 2, .index = 3}};
  static constexpr double inertia = 10.0 * 1e-2 * 1e-2 / 2.0;
  static constexpr void mass_matrix(const auto&, auto& M) {
    for (int i = 0; i < 8; ++i) M(i, i) = i < 4 ? 1.0 : inertia;
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto yb = 0.1 * sin(p[0] * t);
    const auto xb = sqrt(1.0 - yb * yb);
    for (int i = 0; i < 4; ++i) f[i] = y[4 + i];
    const auto dx = y[0] - y[2], dy = y[1] - y[3];
    const auto left = sqrt(y[0] * y[0] + y[1] * y[1]);
    const auto ex = y[2] - xb, ey = y[3] - yb;
    const auto right = sqrt(ex * ex + ey * ey);
    f[4] = (0.5 - left) * y[0] / left + y[8] * xb + 2.0 * y[9] * dx;
    f[5] = (0.5 - left) * y[1] / left + y[8] * yb + 2.0 * y[9] * dy - inertia;
    f[6] = (0.5 - right) * (y[2] - xb) / right - 2.0 * y[9] * dx;
    f[7] = (0.5 - right) * (y[3] - yb) / right - 2.0 * y[9] * dy - inertia;
    f[8] = xb * y[0] + yb * y[1];
    f[9] = dx * dx + dy * dy - 1.0;
  }
};

/// Fekete points on the sphere in the stabilised form of index 2, three in place of twenty.
struct Fekete {
  static constexpr const char* name = "fekete";
  static constexpr int n = 3;
  static constexpr double t_span[] = {0.0, 1000.0};
  static constexpr Parameter parameters[] = {{.name = "friction", .value = 0.5}};
  static constexpr Variable variables[] = {{.name = "p", .count = 3 * n},
                                           {.name = "q", .count = 3 * n},
                                           {.name = "lambda", .algebraic = true, .count = n, .index = 2},
                                           {.name = "mu", .algebraic = true, .count = n, .index = 2}};
  static constexpr void initial(const auto&, auto& y) {
    for (int i = 0; i < 8 * n; ++i) y[i] = 0.0;
    for (int i = 0; i < n; ++i) {
      constexpr double pi = 3.141592653589793238462643383;
      const double longitude = i == 0 ? 2 * pi / 3 + pi / 13 : 2 * pi * (i - 2) / 7 + pi / 29;
      const double latitude = 3 * pi / 8;
      y[3 * i] = cos(longitude) * cos(latitude);
      y[3 * i + 1] = sin(longitude) * cos(latitude);
      y[3 * i + 2] = sin(latitude);
    }
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    using Number = NumberOf<decltype(f)>;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < 3; ++k) {
        f[3 * i + k] = y[3 * (n + i) + k] + 2.0 * y[3 * i + k] * y[7 * n + i];
        f[3 * (n + i) + k] = -p[0] * y[3 * (n + i) + k] + 2.0 * y[3 * i + k] * y[6 * n + i];
      }
      for (int j = 0; j < n; ++j) {
        if (i == j) continue;
        Number distance = 0.0;
        for (int k = 0; k < 3; ++k) {
          const auto between = y[3 * i + k] - y[3 * j + k];
          distance = distance + between * between;
        }
        for (int k = 0; k < 3; ++k) {
          f[3 * (n + i) + k] = f[3 * (n + i) + k] + (y[3 * i + k] - y[3 * j + k]) / distance;
        }
      }
      Number position = -1.0;
      Number velocity = 0.0;
      for (int k = 0; k < 3; ++k) {
        position = position + y[3 * i + k] * y[3 * i + k];
        velocity = velocity + 2.0 * y[3 * i + k] * y[3 * (n + i) + k];
      }
      f[6 * n + i] = position;
      f[7 * n + i] = velocity;
    }
  }
};

/// Pleiades: seven bodies in a plane that pass close to each other.
struct Pleiades {
  static constexpr const char* name = "pleiades";
  static constexpr int n = 7;
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Parameter parameters[] = {{.name = "gravity", .value = 1.0}};
  static constexpr Variable variables[] = {
      {.name = "x", .count = n}, {.name = "y", .count = n}, {.name = "u", .count = n}, {.name = "v", .count = n}};
  static constexpr void initial(const auto&, auto& y) {
    constexpr double start[4 * n] = {3, 3, -1, -3, 2, -2,   2,    3, -3, 2, 0,     0, -4, 4,
                                     0, 0, 0,  0,  0, 1.75, -1.5, 0, 0,  0, -1.25, 1, 0,  0};
    for (int i = 0; i < 4 * n; ++i) y[i] = start[i];
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < 2 * n; ++i) f[i] = y[2 * n + i];
    for (int i = 0; i < n; ++i) {
      f[2 * n + i] = 0.0;
      f[3 * n + i] = 0.0;
      for (int j = 0; j < n; ++j) {
        if (i == j) continue;
        const auto dx = y[j] - y[i], dy = y[n + j] - y[n + i];
        const auto square_of_distance = dx * dx + dy * dy;
        const auto pull = p[0] * (j + 1.0) / (square_of_distance * sqrt(square_of_distance));
        f[2 * n + i] = f[2 * n + i] + pull * dx;
        f[3 * n + i] = f[3 * n + i] + pull * dy;
      }
    }
  }
};

/// A rectifier whose voltage a Zener diode and a transistor regulate. The load draws a current with a sine in it.
struct Regulator {
  static constexpr const char* name = "regulator";
  static constexpr double t_span[] = {0.0, 0.1};
  static constexpr Parameter parameters[] = {{.name = "amplitude", .value = 15.0}};
  static constexpr Variable variables[] = {{.name = "uC", .unit = "V"},
                                           {.name = "uO", .unit = "V"},
                                           {.name = "uD", .unit = "V", .algebraic = true},
                                           {.name = "uZ", .unit = "V", .algebraic = true},
                                           {.name = "iB", .unit = "A", .algebraic = true}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto source = p[0] * sin(314.15926535897932 * t);
    const auto diode = 1e-9 * (exp(y[2] / 0.045) - 1.0);
    const auto zener = 1e-12 * exp((y[3] - 5.6) / 0.025 + 20.0) - 1e-12 * exp(-y[3] / 0.026);
    f[0] = (diode - (y[0] - y[3]) / 470.0 - 50.0 * y[4]) / 4.7e-4;
    f[1] = (51.0 * y[4] - y[1] / (100.0 + 50.0 * sin(800.0 * t))) / 1e-6;
    f[2] = source - 0.5 * diode - y[2] - y[0];
    f[3] = (y[0] - y[3]) / 470.0 - zener - y[4];
    f[4] = y[4] - 1e-14 / 50.0 * (exp((y[3] - y[1]) / 0.026) - 1.0);
  }
};

/// Two reactions in a row that ignite: the energy determines the temperature, and rate constants are unknowns.
struct Ignition {
  static constexpr const char* name = "ignition";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Parameter parameters[] = {{.name = "loss", .value = 0.38}};
  static constexpr Variable variables[] = {
      {.name = "a", .initial = 1.0},     {.name = "b"},
      {.name = "U", .initial = 1.0},     {.name = "T", .initial = 1.0, .algebraic = true},
      {.name = "k1", .algebraic = true}, {.name = "k2", .algebraic = true}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = -y[4] * y[0];
    f[1] = y[4] * y[0] - y[5] * y[1];
    f[2] = 2.215 * y[4] * y[0] + 4.37 * y[5] * y[1] - p[0] * (y[3] - 1.2);
    f[3] = y[2] - y[3] * (1.0 + 0.1 * y[3]) + 0.1;
    f[4] = y[4] - 2.55 * exp(18.9 * (1.0 - 1.0 / y[3]));
    f[5] = y[5] - 0.51 * exp(43.3 * (1.0 - 1.0 / y[3]));
  }
};

/// A radical that lives for a nanosecond and follows what decays in seconds. The clock shows four in the morning at the
/// start, as in the Test Set's EMEP problem.
struct LateStart {
  static constexpr const char* name = "late_start";
  static constexpr double t_span[] = {14400.0, 14401.0};
  static constexpr Parameter parameters[] = {{.name = "loss", .value = 1e9}};
  static constexpr Variable variables[] = {{.name = "radical", .initial = 0.3}, {.name = "source", .initial = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[0] * (y[1] - y[0]);
    f[1] = -y[1];
  }
};

/// A tank that runs empty by Torricelli's law. The root of the level has an infinite slope at zero.
struct EmptyingTank {
  static constexpr const char* name = "emptying_tank";
  static constexpr double t_span[] = {0.0, 20.0};
  static constexpr Parameter parameters[] = {{.name = "k", .value = 0.3}};
  static constexpr Variable variables[] = {{.name = "h", .initial = 1.0}, {.name = "q", .algebraic = true}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = -y[1];
    f[1] = y[1] - p[0] * sqrt(max(y[0], 0.0));
  }
};

/// A diode behind a resistance, whose voltage is sought from a guess 53 thermal voltages too high.
struct Diode {
  static constexpr const char* name = "diode";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Parameter parameters[] = {{.name = "R", .value = 1000.0}};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "v", .initial = 1.2, .algebraic = true}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1] - y[0];
    f[1] = (2.0 - y[1]) / p[0] - 1e-15 * (exp(y[1] / 0.015) - 1.0);
  }
};

/// A source, two resistors and a capacitor between them, by charges and voltages as in the Test Set's adding unit: no
/// capacitor joins the nodes to the ground, so that their charges add up to a constant, and the charges alone do not
/// tell the voltages.
struct FloatingNodes {
  static constexpr const char* name = "floating_nodes";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Parameter parameters[] = {{.name = "rise", .value = 1000.0}};
  static constexpr Variable variables[] = {{.name = "q1", .initial = 0.3},
                                           {.name = "q2", .initial = -0.3},
                                           {.name = "u1", .algebraic = true},
                                           {.name = "u2", .algebraic = true}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = (1.0 - exp(-p[0] * t) - y[2]) / 0.3;
    f[1] = -y[3] / 0.2;
    f[2] = y[0] - (y[2] - y[3]);
    f[3] = y[1] - (y[3] - y[2]);
  }
};

/// The same with a diode beside the second resistor.
struct FloatingDiode : FloatingNodes {
  static constexpr const char* name = "floating_diode";
  static constexpr Parameter parameters[] = {{.name = "rise", .value = 1000.0}, {.name = "thermal", .value = 0.05}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    FloatingNodes::rhs(t, y, p, f);
    f[1] += 0.1 * (exp(-y[3] / p[1]) - 1.0);
  }
};

/// The same with the index that the voltages have.
struct StatedFloatingNodes : FloatingNodes {
  static constexpr const char* name = "stated_floating_nodes";
  static constexpr Variable variables[] = {{.name = "q1", .initial = 0.3},
                                           {.name = "q2", .initial = -0.3},
                                           {.name = "u1", .initial = 0.18, .algebraic = true, .index = 2},
                                           {.name = "u2", .initial = -0.12, .algebraic = true, .index = 2}};
};

/// Diodes in both directions join a capacitor to the current that keeps its voltage a fast sine: their voltage has
/// index 2, and an exponential contains it.
struct ForcedDiodes {
  static constexpr const char* name = "forced_diodes";
  static constexpr double t_span[] = {0.0, 5.13e-6};
  static constexpr Parameter parameters[] = {{.name = "frequency", .value = 1e6}};
  static constexpr Variable variables[] = {{.name = "u"}, {.name = "v", .algebraic = true, .index = 2}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = 2e3 * sinh(y[1] / 0.026);
    f[1] = y[0] - sin(6.283185307179586 * p[0] * t);
  }
};

}  // namespace manyfold::test
