#pragma once
// A slider crank with an elastic connecting rod, of index 2: Test Set for IVP Solvers, problem "slider crank" (Simeon,
// 1998). The rod's elastic coordinates q come from two sine modes of bending and a quadratic of elongation; stiffness
// is linear, damping there is none. pi is what the published program has: the reference solution belongs to it.
#include <manyfold/model.hpp>

struct SliderCrank {
  static constexpr const char* name = "slider_crank";
  static constexpr const char* description =
      "slider crank with an elastic rod driven at constant speed, constraints on velocities (index 2)";
  static constexpr double t_span[] = {0.0, 0.1};
  enum { phi1, phi2, x3, q, v = 7, dq = 10, w = 14, ddq = 17, lambda = 21 };
  static constexpr manyfold::Variable variables[] = {
      {.name = "phi1", .unit = "rad", .description = "angle of the crank"},
      {.name = "phi2", .unit = "rad", .description = "angle of the rod"},
      {.name = "x3", .unit = "m", .description = "position of the sliding block"},
      {.name = "q", .unit = "m", .description = "elastic coordinate of the rod", .count = 4},
      {.name = "omega1", .unit = "rad s-1", .description = "angular velocity of the crank"},
      {.name = "omega2", .unit = "rad s-1", .description = "angular velocity of the rod"},
      {.name = "v3", .unit = "m s-1", .description = "velocity of the sliding block"},
      {.name = "dq", .unit = "m s-1", .description = "elastic velocity of the rod", .count = 4},
      {.name = "alpha1",
       .unit = "rad s-2",
       .description = "angular acceleration of the crank",
       .algebraic = true,
       .index = 2},
      {.name = "alpha2",
       .unit = "rad s-2",
       .description = "angular acceleration of the rod",
       .algebraic = true,
       .index = 2},
      {.name = "a3",
       .unit = "m s-2",
       .description = "acceleration of the sliding block",
       .algebraic = true,
       .index = 2},
      {.name = "ddq",
       .unit = "m s-2",
       .description = "elastic acceleration of the rod",
       .algebraic = true,
       .count = 4,
       .index = 2},
      {.name = "lambda", .description = "multiplier of a constraint", .algebraic = true, .count = 3, .index = 2}};
  enum { M2, M3, L1, L2, J1, J2, E, rho, thickness, Omega, membrane, bending1, bending2, axial, area };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "M2", .unit = "kg", .description = "mass of the rod", .value = 0.151104},
      {.name = "M3", .unit = "kg", .description = "mass of the sliding block", .value = 0.075552},
      {.name = "L1", .unit = "m", .description = "length of the crank", .value = 0.15},
      {.name = "L2", .unit = "m", .description = "length of the rod", .value = 0.30},
      {.name = "J1", .unit = "kg m2", .description = "moment of inertia of the crank", .value = 0.002727},
      {.name = "J2", .unit = "kg m2", .description = "moment of inertia of the rod", .value = 0.0045339259},
      {.name = "E", .unit = "N m-2", .description = "Young's modulus of the rod", .value = 0.2e12},
      {.name = "rho", .unit = "kg m-3", .description = "density of the rod", .value = 7870.0},
      {.name = "thickness", .unit = "m", .description = "height and width of the rod", .value = 0.008},
      {.name = "Omega", .unit = "rad s-1", .description = "speed of the crank", .value = 150.0}};
  static constexpr double pi = 3.1415927;
  // Entries of BQ, and c1, c2, c12, c21, but for factors of the section and lengths.
  static constexpr double a = 16.0 / (pi * pi * pi);
  static constexpr double b = 8.0 / (pi * pi * pi) - 1.0 / pi;
  static constexpr double c = 1.0 / (2.0 * pi);
  static constexpr double of_c1[] = {0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0};
  static constexpr double of_c2[] = {2.0 / pi, 0.0, 0.0, 0.0};
  static constexpr double of_c12[] = {0.0, 0.0, 1.0 / 3.0, 1.0 / 6.0};
  static constexpr double of_c21[] = {1.0 / pi, -1.0 / (2.0 * pi), 0.0, 0.0};

  // Factors of the mass matrix of the elastic coordinates, of their stiffness, and of the coupling to the rod.
  static constexpr int derived = 5;
  static constexpr void derive(auto& p) {
    const auto section = p[thickness] * p[thickness];
    const auto stiffness = p[E] * section / p[L2];
    const auto slenderness = section / (p[L2] * p[L2]);
    p[membrane] = p[rho] * section * p[L2];
    p[bending1] = stiffness * (pi * pi * pi * pi / 24.0) * slenderness;
    p[bending2] = stiffness * (pi * pi * pi * pi * 2.0 / 3.0) * slenderness;
    p[axial] = stiffness / 3.0;
    p[area] = section * p[L2];
  }

  /// The start that is published, with angles of zero: velocities that meet the constraints for lengths and speeds of
  /// the user, and the accelerations and multipliers that belong to them.
  static constexpr void initial(const auto& p, auto& y) {
    for (int i = 0; i < 24; ++i) y[i] = 0.0;
    y[q + 2] = 1.03339863e-05;
    y[q + 3] = 1.69327969e-05;
    y[dq] = 0.444896105;
    y[dq + 1] = 0.00463434311;
    y[dq + 2] = -1.78591076e-06;
    y[dq + 3] = -2.68938672e-06;
    y[x3] = p[L1] + p[L2] + y[q + 3];
    y[v] = p[Omega];
    y[v + 1] = -p[L1] * p[Omega] / (p[L2] + y[q + 3]);
    y[v + 2] = y[dq + 3];
    // The equations are linear in what is left: their columns by one evaluation each, then elimination.
    constexpr int m = 10;
    double row[m][m + 1];
    double f[24];
    rhs(0.0, y, p, f);
    for (int i = 0; i < 7; ++i) row[i][m] = -f[14 + i];
    double rate[3];
    constraint_rates(y, p, rate);
    for (int i = 0; i < 3; ++i) row[7 + i][m] = -rate[i];
    for (int j = 0; j < m; ++j) {
      y[14 + j] = 1.0;
      rhs(0.0, y, p, f);
      for (int i = 0; i < 7; ++i) row[i][j] = f[14 + i] + row[i][m];
      constraint_rates(y, p, rate);
      for (int i = 0; i < 3; ++i) row[7 + i][j] = rate[i] + row[7 + i][m];
      y[14 + j] = 0.0;
    }
    for (int k = 0; k < m; ++k) {
      for (int i = k + 1; i < m; ++i) {
        const double multiplier = row[i][k] / row[k][k];
        for (int j = k; j <= m; ++j) row[i][j] -= multiplier * row[k][j];
      }
    }
    for (int k = m - 1; k >= 0; --k) {
      y[14 + k] = row[k][m];
      for (int j = k + 1; j < m; ++j) y[14 + k] -= row[k][j] * y[14 + j];
      y[14 + k] = y[14 + k] / row[k][k];
    }
  }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto s = sin(y[phi1] - y[phi2]);
    const auto k = cos(y[phi1] - y[phi2]);
    const auto sin1 = sin(y[phi1]);
    const auto cos1 = cos(y[phi1]);
    const auto sin2 = sin(y[phi2]);
    const auto cos2 = cos(y[phi2]);
    const auto speed1 = y[v] * y[v];
    const auto speed2 = y[v + 1] * y[v + 1];
    const auto half = 0.5 * p[L1] * p[L2] * p[M2];
    const auto length = p[L2] + y[q + 3];

    // Products with the mass matrix MQ, the gyroscopic matrix BQ (antisymmetric: x.BQ x = 0) and the vectors c1, c2,
    // c12.
    const auto MQ = [&](int at, int i) {
      return p[membrane] * (i < 2    ? 0.5 * y[at + i]
                            : i == 2 ? 8.0 * y[at + 2] + y[at + 3]
                                     : y[at + 2] + 2.0 * y[at + 3]);
    };
    const auto BQ = [&](int at, int i) {
      const auto x = [&](int j) { return y[at + j]; };
      return p[area] * (i == 0 ? b * x(3) - a * x(2) : i == 1 ? c * x(3) : i == 2 ? a * x(0) : -(b * x(0) + c * x(1)));
    };
    const auto c1 = [&](int at) { return p[area] * (2.0 / 3.0 * y[at + 2] + 1.0 / 6.0 * y[at + 3]); };
    const auto c2 = [&](int at) { return p[area] * (2.0 / pi) * y[at]; };
    const auto c12 = [&](int at) { return p[L2] * p[area] * (1.0 / 3.0 * y[at + 2] + 1.0 / 6.0 * y[at + 3]); };

    // Rows of A that couple the angles to each other and to the elastic coordinates.
    const auto coupling = half * k + p[rho] * p[L1] * (s * c2(q) + k * c1(q));
    const auto row1 = [&](int i) { return p[rho] * p[L1] * p[area] * (of_c2[i] * k - of_c1[i] * s); };
    const auto row2 = [&](int i) { return p[rho] * (p[L2] * p[area] * of_c21[i] - BQ(q, i)); };
    auto qMQq = y[q] * MQ(q, 0);
    auto vMQq = y[dq] * MQ(q, 0);
    auto elastic1 = row1(0) * y[ddq];
    auto elastic2 = row2(0) * y[ddq];
    for (int i = 1; i < 4; ++i) {
      qMQq += y[q + i] * MQ(q, i);
      vMQq += y[dq + i] * MQ(q, i);
      elastic1 += row1(i) * y[ddq + i];
      elastic2 += row2(i) * y[ddq + i];
    }

    for (int i = 0; i < 14; ++i) f[i] = y[7 + i];
    // A w - F + G^T lambda
    f[14] = (p[J1] + p[M2] * p[L1] * p[L1]) * y[w] + coupling * y[w + 1] + elastic1 + half * speed2 * s -
            p[rho] * p[L1] * speed2 * (k * c2(q) - s * c1(q)) +
            2.0 * p[rho] * p[L1] * y[v + 1] * (k * c1(dq) + s * c2(dq)) +
            p[L1] * (cos1 * y[lambda] + sin1 * y[lambda + 1]) + y[lambda + 2];
    f[15] = coupling * y[w] + (p[J2] + qMQq + 2.0 * p[rho] * c12(q)) * y[w + 1] + elastic2 - half * speed1 * s -
            p[rho] * p[L1] * speed1 * (s * c1(q) - k * c2(q)) + 2.0 * p[rho] * y[v + 1] * c12(dq) +
            2.0 * y[v + 1] * vMQq + length * (cos2 * y[lambda] + sin2 * y[lambda + 1]);
    f[16] = p[M3] * y[w + 2] + y[lambda + 1];
    for (int i = 0; i < 4; ++i) {
      f[17 + i] = row1(i) * y[w] + row2(i) * y[w + 1] + MQ(ddq, i) - speed2 * MQ(q, i) -
                  p[rho] * (speed2 * p[L2] * p[area] * of_c12[i] +
                            p[L1] * speed1 * p[area] * (k * of_c1[i] + s * of_c2[i]) + 2.0 * y[v + 1] * BQ(dq, i));
    }
    f[17] += p[bending1] * y[q];
    f[18] += p[bending2] * y[q + 1];
    f[19] += p[axial] * (16.0 * y[q + 2] - 8.0 * y[q + 3]);
    f[20] += p[axial] * (7.0 * y[q + 3] - 8.0 * y[q + 2]) + sin2 * y[lambda] - cos2 * y[lambda + 1];
    // G v = (0, 0, Omega)
    f[21] = p[L1] * cos1 * y[v] + length * cos2 * y[v + 1] + sin2 * y[dq + 3];
    f[22] = p[L1] * sin1 * y[v] + length * sin2 * y[v + 1] + y[v + 2] - cos2 * y[dq + 3];
    f[23] = y[v] - p[Omega];
  }

 private:
  /// d/dt (G v) where both angles are zero.
  static constexpr void constraint_rates(const auto& y, const auto& p, auto& rate) {
    const auto length = p[L2] + y[q + 3];
    rate[0] = p[L1] * y[w] + length * y[w + 1] + 2.0 * y[dq + 3] * y[v + 1];
    rate[1] = p[L1] * y[v] * y[v] + length * y[v + 1] * y[v + 1] + y[w + 2] - y[ddq + 3];
    rate[2] = y[w];
  }
};
MANYFOLD_MODEL(SliderCrank);
