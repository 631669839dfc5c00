#pragma once
// Models of index 2 and 3 with index-1 variables beside, in semi-explicit, mass-matrix and residual form.
#include <manyfold/model.hpp>

namespace manyfold::test {

/// Andrews' squeezing mechanism of the Test Set for IVP Solvers, q' = v, M(q) v' = f - G^T lambda, 0 = g(q), as it is
/// written down: no accelerations, no elimination. Given are the angle of the crank and its velocity; the other angles
/// are guesses, up to 0.1 rad off.
struct Andrews {
  static constexpr const char* name = "andrews";
  static constexpr double t_span[] = {0.0, 0.03};
  static constexpr Variable variables[] = {{.name = "beta", .initial = -0.0617138900142764496358948458001},
                                           {.name = "theta", .initial = 0.05, .given = Given::nothing},
                                           {.name = "gamma", .initial = 0.5, .given = Given::nothing},
                                           {.name = "phi", .initial = 0.2, .given = Given::nothing},
                                           {.name = "delta", .initial = 0.5, .given = Given::nothing},
                                           {.name = "omega", .initial = -0.2, .given = Given::nothing},
                                           {.name = "epsilon", .initial = 1.3, .given = Given::nothing},
                                           {.name = "dbeta", .index = 2},
                                           {.name = "v", .count = 6, .index = 2, .given = Given::nothing},
                                           {.name = "lambda", .algebraic = true, .count = 6, .index = 3}};
  enum { m1, m2, m3, m4, m5, m6, m7, I1, I2, I3, I4, I5, I6, I7, c0, l0, mom };
  static constexpr Parameter parameters[] = {
      {.name = "m1", .value = 0.04325},  {.name = "m2", .value = 0.00365},  {.name = "m3", .value = 0.02373},
      {.name = "m4", .value = 0.00706},  {.name = "m5", .value = 0.07050},  {.name = "m6", .value = 0.00706},
      {.name = "m7", .value = 0.05498},  {.name = "I1", .value = 2.194e-6}, {.name = "I2", .value = 4.410e-7},
      {.name = "I3", .value = 5.255e-6}, {.name = "I4", .value = 5.667e-7}, {.name = "I5", .value = 1.169e-5},
      {.name = "I6", .value = 5.667e-7}, {.name = "I7", .value = 1.912e-5}, {.name = "c0", .value = 4530.0},
      {.name = "l0", .value = 0.07785},  {.name = "mom", .value = 0.033}};
  // Geometry stays fixed: the initial positions belong to it.
  static constexpr double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072, d = 0.028,
                          da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092, ss = 0.035, sa = 0.01874,
                          sb = 0.01043, sc = 0.018, sd = 0.02, ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228,
                          ub = 0.00449, zf = 0.02, zt = 0.04, fa = 0.01421;

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    const auto& be = y[0];
    const auto& th = y[1];
    const auto& ga = y[2];
    const auto& ph = y[3];
    const auto& de = y[4];
    const auto& om = y[5];
    const auto& ep = y[6];
    const auto& dbe = y[7];
    const auto& dth = y[8];
    const auto& dph = y[10];
    const auto& dde = y[11];
    const auto& dom = y[12];
    const auto& dep = y[13];
    const auto w = [&](int i) { return dy[7 + i]; };
    const auto la = [&](int i) { return y[14 + i]; };
    for (int i = 0; i < 7; ++i) F[i] = dy[i] - y[7 + i];

    const auto sth = sin(th), cth = cos(th);
    const auto sga = sin(ga), cga = cos(ga);
    const auto sph = sin(ph), cph = cos(ph);
    const auto sde = sin(de), cde = cos(de);
    const auto som = sin(om), com = cos(om);
    const auto sep = sin(ep), cep = cos(ep);
    const auto sbe = sin(be), cbe = cos(be);
    const auto sbt = sin(be + th), cbt = cos(be + th);
    const auto spd = sin(ph + de), cpd = cos(ph + de);
    const auto soe = sin(om + ep), coe = cos(om + ep);

    constexpr double e1 = e - ea;
    constexpr double z1 = zf - fa;
    const auto M11 = p[m1] * ra * ra + p[m2] * (rr * rr - 2.0 * da * rr * cth + da * da) + p[I1] + p[I2];
    const auto M12 = p[m2] * (da * da - da * rr * cth) + p[I2];
    const auto M22 = p[m2] * da * da + p[I2];
    const auto M33 = p[m3] * (sa * sa + sb * sb) + p[I3];
    const auto M44 = p[m4] * e1 * e1 + p[I4];
    const auto M45 = p[m4] * (e1 * e1 + zt * e1 * sph) + p[I4];
    const auto M55 = p[m4] * (zt * zt + 2.0 * zt * e1 * sph + e1 * e1) + p[m5] * (ta * ta + tb * tb) + p[I4] + p[I5];
    const auto M66 = p[m6] * z1 * z1 + p[I6];
    const auto M67 = p[m6] * (z1 * z1 - u * z1 * som) + p[I6];
    const auto M77 = p[m6] * (z1 * z1 - 2.0 * u * z1 * som + u * u) + p[m7] * (ua * ua + ub * ub) + p[I6] + p[I7];

    const auto xd = sd * cga + sc * sga + xb - xc;
    const auto yd = sd * sga - sc * cga + yb - yc;
    const auto length = sqrt(xd * xd + yd * yd);
    const auto force = -p[c0] * (length - p[l0]) / length;
    const auto Fx = force * xd;
    const auto Fy = force * yd;
    const auto f1 = p[mom] - p[m2] * da * rr * dth * (dth + 2.0 * dbe) * sth;
    const auto f2 = p[m2] * da * rr * dbe * dbe * sth;
    const auto f3 = Fx * (sc * cga - sd * sga) + Fy * (sd * cga + sc * sga);
    const auto f4 = p[m4] * zt * e1 * dde * dde * cph;
    const auto f5 = -p[m4] * zt * e1 * dph * (dph + 2.0 * dde) * cph;
    const auto f6 = -p[m6] * u * z1 * dep * dep * com;
    const auto f7 = p[m6] * u * z1 * dom * (dom + 2.0 * dep) * com;

    const auto X_be = -rr * sbe + d * sbt;
    const auto X_th = d * sbt;
    const auto Y_be = rr * cbe - d * cbt;
    const auto Y_th = -d * cbt;
    const auto odd = la(0) + la(2) + la(4);
    const auto even = la(1) + la(3) + la(5);
    F[7] = M11 * w(0) + M12 * w(1) - f1 + X_be * odd + Y_be * even;
    F[8] = M12 * w(0) + M22 * w(1) - f2 + X_th * odd + Y_th * even;
    F[9] = M33 * w(2) - f3 - ss * cga * la(0) - ss * sga * la(1);
    F[10] = M44 * w(3) + M45 * w(4) - f4 - e * cpd * la(2) - e * spd * la(3);
    F[11] = M45 * w(3) + M55 * w(4) - f5 + (zt * sde - e * cpd) * la(2) - (zt * cde + e * spd) * la(3);
    F[12] = M66 * w(5) + M67 * w(6) - f6 + zf * soe * la(4) - zf * coe * la(5);
    F[13] = M67 * w(5) + M77 * w(6) - f7 + (zf * soe - u * cep) * la(4) - (zf * coe + u * sep) * la(5);

    const auto X = rr * cbe - d * cbt;
    const auto Y = rr * sbe - d * sbt;
    F[14] = X - ss * sga - xb;
    F[15] = Y + ss * cga - yb;
    F[16] = X - e * spd - zt * cde - xa;
    F[17] = Y + e * cpd - zt * sde - ya;
    F[18] = X - zf * coe - u * sep - xa;
    F[19] = Y - zf * soe + u * cep - ya;
  }
};

/// A pendulum with Coulomb friction in its bearing, which takes the rod's force: index 3, with the friction, and with a
/// variable of index 1 that follows from the position alone.
struct FrictionPendulum {
  static constexpr const char* name = "friction_pendulum";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0},
                                           {.name = "z"},
                                           {.name = "u", .index = 2},
                                           {.name = "w", .initial = -4.0, .index = 2},
                                           {.name = "lambda", .algebraic = true, .index = 3},
                                           {.name = "friction", .algebraic = true, .index = 3},
                                           {.name = "potential", .algebraic = true}};
  static constexpr Parameter parameters[] = {
      {.name = "g", .value = 9.81}, {.name = "mu", .value = 0.2}, {.name = "slip", .value = 0.1}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[4] * y[0] + y[5] * y[1];
    f[3] = -y[4] * y[1] - y[5] * y[0] - p[0];
    f[4] = y[0] * y[0] + y[1] * y[1] - 1.0;
    f[5] = y[5] - p[1] * y[4] * tanh((y[0] * y[3] - y[1] * y[2]) / p[2]);
    f[6] = y[6] - p[0] * y[1];
  }
};

/// A disc that rolls down a slope against a spring, by its position x and the slip b = x - r phi: a mass matrix that is
/// not diagonal, a constraint on the velocity of b, and the force T that enforces it, of index 2 as its power on x.
struct RollingDisc {
  static constexpr const char* name = "rolling_disc";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "x"},
                                           {.name = "b"},
                                           {.name = "v", .initial = 0.5},
                                           {.name = "vb"},
                                           {.name = "T", .algebraic = true, .index = 2},
                                           {.name = "power", .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "m", .value = 2.0},
                                             {.name = "J", .value = 0.7},
                                             {.name = "k", .value = 30.0},
                                             {.name = "push", .value = 8.0}};
  static constexpr void mass_matrix(const auto& p, auto& M) {
    M(0, 0) = 1.0;
    M(1, 1) = 1.0;
    M(2, 2) = p[0] + p[1];
    M(2, 3) = -p[1];
    M(3, 2) = -p[1];
    M(3, 3) = p[1];
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = p[3] - p[2] * y[0];
    f[3] = y[4];
    f[4] = y[3];
    f[5] = y[5] - y[4] * y[2];
  }
};

/// A source across two capacitors in series, with a resistor and a diode over the second: the source's current has
/// index 2, the diode's index 1. Nodal equations, whose derivatives stand in combinations.
struct CapacitorLoop {
  static constexpr const char* name = "capacitor_loop";
  static constexpr const char* time_unit = "ms";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {
      {.name = "e1"}, {.name = "e2"}, {.name = "iV", .algebraic = true, .index = 2}, {.name = "iD", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "C1", .value = 1.0},
                                             {.name = "C2", .value = 0.5},
                                             {.name = "R", .value = 2.0},
                                             {.name = "Is", .value = 1e-6},
                                             {.name = "UT", .value = 0.05}};
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = p[0] * (dy[0] - dy[1]) + y[2];
    F[1] = p[0] * (dy[1] - dy[0]) + p[1] * dy[1] + y[1] / p[2] + y[3];
    F[2] = y[0] - 2.0 * sin(4.0 * t);
    F[3] = y[3] - p[3] * (exp(y[1] / p[4]) - 1.0);
  }
};

/// A stirred tank whose temperature a perfect controller keeps on a set curve: its heat has index 2, the rate constant
/// and the rate index 1.
struct ControlledReactor {
  static constexpr const char* name = "controlled_reactor";
  static constexpr double t_span[] = {0.0, 5.0};
  static constexpr Variable variables[] = {{.name = "c", .initial = 0.8},
                                           {.name = "T", .initial = 3.5},
                                           {.name = "k", .algebraic = true},
                                           {.name = "rate", .algebraic = true},
                                           {.name = "heat", .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "feed", .value = 0.6}, {.name = "E", .value = 10.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = p[0] * (1.0 - y[0]) - y[3];
    f[1] = p[0] * (3.0 - y[1]) + 2.0 * y[3] + y[4];
    f[2] = y[2] - 20.0 * exp(-p[1] / y[1]);
    f[3] = y[3] - y[2] * y[0];
    f[4] = y[1] - 3.5 - 0.2 * sin(3.0 * t);
  }
};

/// Two tanks with one level: the flow between them has index 2, the outflow, by Torricelli's law, index 1.
struct CoupledTanks {
  static constexpr const char* name = "coupled_tanks";
  static constexpr double t_span[] = {0.0, 60.0};
  static constexpr Parameter parameters[] = {{.name = "inflow", .value = 0.1}};
  static constexpr Variable variables[] = {{.name = "h1", .initial = 1.0},
                                           {.name = "h2", .initial = 1.0},
                                           {.name = "flow", .algebraic = true, .index = 2},
                                           {.name = "outflow", .algebraic = true}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = p[0] * (1.0 + 0.5 * sin(t)) - y[2];
    f[1] = 0.5 * (y[2] - y[3]);
    f[2] = y[0] - y[1];
    f[3] = y[3] - 0.1 * sqrt(y[1]);
  }
};

/// A rod that swings about one end, as a free body with two constraints and a mass matrix: index 3.
struct CompoundPendulum {
  static constexpr const char* name = "compound_pendulum";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 0.45, .given = Given::nothing},
                                           {.name = "z", .given = Given::nothing},
                                           {.name = "theta", .initial = 1.57079632679489662},
                                           {.name = "u", .initial = 0.1, .index = 2, .given = Given::nothing},
                                           {.name = "w", .initial = 0.1, .index = 2, .given = Given::nothing},
                                           {.name = "omega", .index = 2},
                                           {.name = "lambda", .algebraic = true, .count = 2, .index = 3}};
  static constexpr Parameter parameters[] = {
      {.name = "m", .value = 1.2}, {.name = "g", .value = 9.81}, {.name = "l", .value = 0.5}};
  static constexpr void mass_matrix(const auto& p, auto& M) {
    for (int i = 0; i < 3; ++i) M(i, i) = 1.0;
    M(3, 3) = p[0];
    M(4, 4) = p[0];
    M(5, 5) = p[0] * p[2] * p[2] / 3.0;
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < 3; ++i) f[i] = y[3 + i];
    f[3] = -y[6];
    f[4] = -y[7] - p[0] * p[1];
    f[5] = p[2] * (cos(y[2]) * y[6] + sin(y[2]) * y[7]);
    f[6] = y[0] - p[2] * sin(y[2]);
    f[7] = y[1] + p[2] * cos(y[2]);
  }
};

/// A pendulum whose constraint is written with derivatives of positions, x x' + z z' = 0: index 2.
struct DerivativeConstraint {
  static constexpr const char* name = "derivative_constraint";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0},
                                           {.name = "z"},
                                           {.name = "u"},
                                           {.name = "w"},
                                           {.name = "lambda", .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "g", .value = 13.7503716360407456549801915596}};
  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] - y[2];
    F[1] = dy[1] - y[3];
    F[2] = dy[2] + y[4] * y[0];
    F[3] = dy[3] + y[4] * y[1] + p[0];
    F[4] = y[0] * dy[0] + y[1] * dy[1];
  }
};

/// A bead on a wire z = Z(s), x = s with the place s of contact as a variable: index 3, and s of index 1, whose
/// derivatives the hidden constraints contain.
struct BeadOnWire {
  static constexpr const char* name = "bead_on_wire";
  static constexpr double t_span[] = {0.0, 5.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 0.2},
                                           {.name = "z", .initial = 1.0, .given = Given::nothing},
                                           {.name = "u", .initial = 0.6, .index = 2},
                                           {.name = "w", .initial = 0.0, .index = 2, .given = Given::nothing},
                                           {.name = "s", .algebraic = true},
                                           {.name = "lambda", .algebraic = true, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "g", .value = 9.81}, {.name = "a", .value = 0.4}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto& s = y[4];
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[5] * (2.0 * s + 3.0 * p[1] * cos(3.0 * s));
    f[3] = y[5] - p[0];
    f[4] = y[0] - s - 0.1 * (y[1] - s * s - p[1] * sin(3.0 * s));
    f[5] = y[1] - s * s - p[1] * sin(3.0 * s);
  }
};

}  // namespace manyfold::test
