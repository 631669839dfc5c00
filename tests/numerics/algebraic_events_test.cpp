// Events of algebraic variables, of derivatives and of multipliers, whose polynomials are off by the tolerance in every
// step; and multipliers behind events that make constraints. Each crossing has one event.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include <manyfold/ensemble.hpp>

#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

using test::solve;

/// u = 3 sin(2 pi t) integrated, and the node w behind a resistor, with a diode to the ground. One event looks at w,
/// the other one at the u that belongs to the same crossing.
struct Divider {
  static constexpr const char* name = "divider";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr Variable variables[] = {{.name = "u"}, {.name = "w", .algebraic = true}};
  enum { threshold };
  static constexpr Parameter parameters[] = {{.name = "threshold", .value = 0.3}};
  static constexpr Event events[] = {{.name = "by w", .direction = 1}, {.name = "by u", .direction = 1}};
  static constexpr auto diode(const auto& u) { return 1e-6 * (exp(20.0 * u) - 1.0); }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[1] - p[threshold];
    g[1] = y[0] - p[threshold] - diode(p[threshold]);
  }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto&) {}
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    f[0] = 3.0 * sin(2.0 * std::numbers::pi * t) - 0.2 * y[0];
    f[1] = y[0] - y[1] - diode(y[1]);
  }
};

/// x' = z, z^3 + z = 1 + t. z passes 1.2 at t = 1.928.
struct Cubic {
  static constexpr const char* name = "cubic_root";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "z", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "limit", .value = 1.2}};
  static constexpr Event events[] = {{.name = "fast", .direction = 1}};
  static constexpr void root(const auto&, const auto&, const auto& dy, const auto& p, auto& g) { g[0] = dy[0] - p[0]; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto&, auto&) { y[0] = y[0] + 100.0; }
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    f[0] = y[1];
    f[1] = y[1] * y[1] * y[1] + y[1] - 1.0 - t;
  }
};

/// A pendulum whose rod's force falls below a threshold twice a period.
struct Rod {
  static constexpr const char* name = "rod";
  static constexpr double t_span[] = {0.0, 20.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0},
                                           {.name = "y"},
                                           {.name = "u", .index = 2},
                                           {.name = "v", .index = 2},
                                           {.name = "force", .algebraic = true, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "limit", .value = 12.0}};
  static constexpr Event events[] = {{.name = "slack", .direction = -1}};
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) { g[0] = y[4] - p[0]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto&) {}
  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -(y[4] * y[0]);
    f[3] = -(y[4] * y[1]) - 9.81;
    f[4] = y[0] * y[0] + y[1] * y[1] - 1.0;
  }
};

/// Three phases with inductances and a floating star point, six diodes as conductances, a capacitor and a load.
struct ThreePhaseBridge {
  static constexpr const char* name = "three_phase_bridge";
  static constexpr double t_span[] = {0.0, 0.06};
  static constexpr Variable variables[] = {{.name = "ia"},
                                           {.name = "ib"},
                                           {.name = "uc", .initial = 200.0},
                                           {.name = "va", .algebraic = true},
                                           {.name = "vb", .algebraic = true},
                                           {.name = "vc", .algebraic = true},
                                           {.name = "star", .algebraic = true}};
  enum { f, A, L, r, R, C, on, conducts };
  static constexpr Parameter parameters[] = {{.name = "f", .value = 50.0},  {.name = "A", .value = 200.0},
                                             {.name = "L", .value = 2e-3},  {.name = "r", .value = 0.5},
                                             {.name = "R", .value = 40.0},  {.name = "C", .value = 5e-4},
                                             {.name = "on", .value = 100.0}};
  /// Upper and lower diode of every phase.
  static constexpr Discrete discrete[] = {{.name = "a_up"},   {.name = "a_down"}, {.name = "b_up"},
                                          {.name = "b_down"}, {.name = "c_up"},   {.name = "c_down"}};
  static constexpr Event events[] = {{.name = "x1"}, {.name = "x2"}, {.name = "x3"},
                                     {.name = "x4"}, {.name = "x5"}, {.name = "x6"}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& F) {
    const auto angle = 2.0 * std::numbers::pi * p[f] * t;
    const auto third = 2.0 * std::numbers::pi / 3.0;
    const auto ea = p[A] * sin(angle);
    const auto eb = p[A] * sin(angle - third);
    const auto ec = p[A] * sin(angle + third);
    const auto current = [&](int k, const auto& u) {
      return (p[conducts + k] * p[on] + (1.0 - p[conducts + k]) * 1e-3) * u;
    };
    const auto up_a = current(0, y[3] - y[2]);
    const auto up_b = current(2, y[4] - y[2]);
    const auto up_c = current(4, y[5] - y[2]);
    F[0] = (ea + y[6] - y[3] - p[r] * y[0]) / p[L];
    F[1] = (eb + y[6] - y[4] - p[r] * y[1]) / p[L];
    F[2] = (up_a + up_b + up_c - y[2] / p[R]) / p[C];
    F[3] = y[0] - up_a + current(1, -y[3]);
    F[4] = y[1] - up_b + current(3, -y[4]);
    F[5] = -y[0] - y[1] - up_c + current(5, -y[5]);
    F[6] = ea + eb + ec + 3.0 * y[6] - y[3] - y[4] - y[5];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) {
    for (int phase = 0; phase < 3; ++phase) {
      g[2 * phase] = y[3 + phase] - y[2];
      g[2 * phase + 1] = -y[3 + phase];
    }
  }
  static constexpr void sides(const auto& p, auto& side) {
    for (int k = 0; k < 6; ++k) side[k] = 2.0 * p[conducts + k] - 1.0;
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto& p, auto& d) {
    d[event] = 1.0 - p[conducts + event];
  }
};

/// Two rotors, which a dog clutch locks at t = 1 with their momentum: from then on the torque is of index 2.
struct DogClutch {
  static constexpr const char* name = "dog_clutch";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "w1", .initial = 1.0},
                                           {.name = "w2", .initial = 1.0},
                                           {.name = "torque", .algebraic = true, .index = 2}};
  enum { friction, locked };
  static constexpr Parameter parameters[] = {{.name = "friction", .value = 0.3}};
  static constexpr Discrete discrete[] = {{.name = "locked"}};
  static constexpr Event events[] = {{.name = "lock", .scheduled = 1}};
  static constexpr void event_times(const auto&, auto& t) { t[0] = 1.0; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto&, auto& d) {
    const auto w = (y[0] + 2.0 * y[1]) / 3.0;
    y[0] = w;
    y[1] = w;
    d[0] = 1.0;
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = 6.0 + 9.0 * sin(t) - y[2] - p[friction] * y[0];
    f[1] = (y[2] - y[1]) / 2.0;
    f[2] = select(p[locked] > 0.5, y[0] - y[1], y[2]);
  }
};

/// Two rotors that slip on each other, and stick where the clutch can take the torque: a constraint on velocities.
struct FrictionClutch {
  static constexpr const char* name = "friction_clutch";
  static constexpr double t_span[] = {0.0, 30.0};
  static constexpr Variable variables[] = {
      {.name = "w1", .initial = 2.0}, {.name = "w2"}, {.name = "torque", .algebraic = true, .index = 2}};
  enum { friction, sticks, sense };
  static constexpr Parameter parameters[] = {{.name = "friction", .value = 0.3}};
  static constexpr Discrete discrete[] = {{.name = "sticks"}, {.name = "sense", .initial = 1.0}};
  static constexpr Event events[] = {{.name = "stick"}, {.name = "slip", .direction = 1}};
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = select(p[sticks] > 0.5, 1.0, y[0] - y[1]);
    g[1] = select(p[sticks] > 0.5, abs(y[2]) - 8.0, -1.0);
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto&, auto& d) {
    if constexpr (event == 0) {
      d[0] = 1.0;
    } else {
      d[0] = 0.0;
      d[1] = select(y[2] > 0.0, 1.0, -1.0);
    }
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = 6.0 + 9.0 * sin(t) - y[2] - p[friction] * y[0];
    f[1] = (y[2] - y[1]) / 2.0;
    f[2] = select(p[sticks] > 0.5, y[0] - y[1], y[2] - 5.0 * p[sense]);
  }
};

// u rises through the threshold once in each of ten periods. By the polynomial the event was early, and consistent
// values seemed to be turned back by the action: 12 events with `rodas5p` at 1e-6, 19 with `bdf`, of w; of both, none
// to ten.
TEST(AlgebraicEvents, OccurOnceForEachCrossing) {
  const auto expect = [](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve<Divider>(kernel, rtol);
      ASSERT_EQ(result.outcomes[0].status, Status::success);
      int by_w = 0;
      int by_u = 0;
      for (const EventRecord& event : result.events[0]) (event.event == 0 ? by_w : by_u)++;
      EXPECT_EQ(by_w, 10) << kernel.kernel->method << " " << rtol;
      EXPECT_EQ(by_u, 10) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<Divider, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

NIGHTLY_TEST(AlgebraicEvents, DoNotDependOnTheirNeighbours) {
  std::vector<std::vector<double>> rows;
  for (int k = 0; k < 13; ++k) rows.push_back({0.21 + 0.015 * k});
  test::expect_independent_lanes<Divider>(rows, 3.0);
}

// x is the integral of z, of which z^3 + z - 1 = t makes (3 z^4 / 4 + z^2 / 2) from the root of t = 0 to that of t = 3.
// It was an `event_storm` with `radau5`, and two events with `esdirk54`. Ten tolerances: of what is integrated, and of
// the time at which a slope of 0.2 makes five of them.
TEST(AlgebraicEvents, OfDerivativesOccurOnce) {
  const auto integral = [](double z) { return 0.75 * z * z * z * z + 0.5 * z * z; };
  const double exact = 100.0 + integral(1.3787967001295513) - integral(0.6823278038280193);
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve<Cubic>(kernel, rtol);
      ASSERT_EQ(result.outcomes[0].status, Status::success);
      ASSERT_EQ(result.events[0].size(), 1U) << kernel.kernel->method << " " << rtol;
      EXPECT_NEAR(result.events[0][0].time, 1.928, 10.0 * rtol);
      EXPECT_NEAR(result.values[0], exact, 10.0 * rtol * exact) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<Cubic, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

// A diode that conducts has millivolts between ends of hundreds of volts, less than a tolerance of either: errors of
// both are nearly the same. Its zero was taken for rest, and 58 of 60 such bridges were off by more than 1 A with
// radau5 at 1e-4, with success. References: SciPy's LSODA at 1e-11 with steps of 2e-6, which takes the state of every
// diode from the currents, without events.
TEST(AlgebraicEvents, OfDiodesBetweenHighVoltages) {
  struct Case {
    std::vector<double> parameters;
    double exact[3];
  };
  const Case cases[] = {{{55.62661396550004, 217.84268714109885, 0.0014873157449991137, 0.7285739792695707,
                          63.063842134759824, 0.0002525210110557313, 129.42358001559194},
                         {-8.217668164501138, 8.209948753774816, 340.5867782752262}},
                        {{43.56431088089855, 164.45747626623114, 0.0025503500611893637, 0.39641656036277684,
                          51.20731234361123, 0.00039314715813568927, 143.7689214472078},
                         {3.405490150375404, -0.08239508652142162, 261.4358293077946}},
                        {{59.79872764918104, 246.09218070841226, 0.0029502418867393145, 0.46943451060172314,
                          26.31232673231367, 0.0006681312217127601, 82.64319205182471},
                         {-13.20715479085465, 6.963297427044729, 378.1598235249499}},
                        {{57.95040603250161, 171.45902518403832, 0.0012680280176858235, 0.33436327552552625,
                          60.37796402077552, 0.0007821049433747463, 135.26780756084963},
                         {-7.555143769262892, 7.33161736040155, 280.2128214993558}}};
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 0.03;
    for (const Case& one : cases) {
      ensemble.parameters.insert(ensemble.parameters.end(), one.parameters.begin(), one.parameters.end());
    }
    for (const double rtol : {1e-4, 1e-6}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(7, rtol);
      const test::Results result = ensemble.solve();
      double worst = 0.0;
      for (std::size_t i = 0; i < std::size(cases); ++i) {
        ASSERT_EQ(result.outcomes[i].status, Status::success);
        for (std::size_t v = 0; v < 3; ++v) {
          const double exact = cases[i].exact[v];
          worst = std::max(worst, std::abs(result.values[7 * i + v] - exact) / (rtol * (1.0 + std::abs(exact))));
        }
      }
      std::cout << kernel.kernel->method << " " << rtol << ": " << worst << " tolerances\n";
      EXPECT_LE(worst, 5.0) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<ThreePhaseBridge, Radau5>(expect);
  test::for_each_kernel<ThreePhaseBridge, Esdirk54, Bdf, Rodas5p>(expect);
}

// 17 by the equation of the angle, with SciPy's DOP853 at 1e-12. 24 to 102 were found. Multipliers are of lower order
// at the ends of steps, too, where an event that has not come yet is left to the next step.
TEST(AlgebraicEvents, OfMultipliersOccurOnce) {
  const auto expect = [](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve<Rod>(kernel, rtol);
      ASSERT_EQ(result.outcomes[0].status, Status::success);
      EXPECT_EQ(result.events[0].size(), 17U) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<Rod, Radau5, Radau9>(expect);
}

// By its pattern the torque is of index 1, whichever branch counts: nothing determines it behind the event but the
// next steps. As long as it kept its value from before, it was 0.4 in place of 9.5 at t = 1.001 with `radau5` at 1e-6.
// Reference: the rotors as one, w' = (6 + 9 sin t - 1.3 w) / 3, and the torque 2 w' + w, by SciPy's DOP853 at 1e-12.
// Errors of index 2 count times h, in proportion to rtol^(1/5), in the error test; thirty tolerances of that.
TEST(Multipliers, AreFoundBehindAnEventThatMakesTheirConstraint) {
  const std::vector<double> times = {1.001, 1.01, 1.1, 1.4, 3.0};
  constexpr double exact[] = {9.5359047063, 9.5683766259, 9.8702339191, 10.5534529668, 5.7854978959};
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve<DogClutch>(kernel, rtol, times);
      ASSERT_EQ(result.outcomes[0].status, Status::success);
      for (std::size_t k = 0; k < times.size(); ++k) {
        EXPECT_NEAR(result.values[3 * k + 2], exact[k], 1e-8 + 30.0 * std::pow(rtol, 0.8))
            << kernel.kernel->method << " " << rtol << " " << times[k];
      }
    }
  };
  test::for_each_kernel<DogClutch, Radau5, Radau9, Bdf>(expect);
}

// Where the clutch begins to slip, the difference of the velocities is zero but for rounding, and leaves zero on either
// side: no event. 17 were found in place of 9. References: SciPy's DOP853 at 1e-12 from event to event. Ten tolerances
// of the time, for the errors of nine modes add up.
TEST(Multipliers, TellWhenAClutchSlips) {
  constexpr double times[] = {4.4972652964,  6.9166360281, 10.7317041156, 13.198538513, 17.0159635151,
                              19.4816315768, 23.299226046, 25.7648102516, 29.5824169059};
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve<FrictionClutch>(kernel, rtol);
      ASSERT_EQ(result.outcomes[0].status, Status::success);
      ASSERT_EQ(result.events[0].size(), 9U) << kernel.kernel->method << " " << rtol;
      for (std::size_t k = 0; k < 9; ++k) {
        EXPECT_EQ(result.events[0][k].event, k % 2) << k;
        EXPECT_NEAR(result.events[0][k].time, times[k], 10.0 * rtol * times[k]) << kernel.kernel->method << " " << k;
      }
    }
  };
  test::for_each_kernel<FrictionClutch, Radau5, Radau9, Bdf>(expect);
}

}  // namespace
}  // namespace manyfold
