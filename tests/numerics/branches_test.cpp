// Algebraic equations with several solutions: an instance stays on its branch, and goes on where that leads if it ends.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// A drug that binds to its target, in quasi-equilibrium: C^2 - C (L - R - K) - K L = 0 for the drug that is free. It
/// is given as doses at times 0.5 and 2. Mager & Krzyzanski, Pharm. Res. 22 (2005), equations 12-15.
struct BindingDrug {
  static constexpr const char* name = "binding_drug";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {
      {.name = "drug"}, {.name = "target", .initial = 4.0}, {.name = "free_drug", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "dose", .value = 20.0}, {.name = "K", .value = 0.5}};
  static constexpr Event events[] = {{.name = "dose", .scheduled = 2}};
  static constexpr Discrete discrete[] = {{.name = "doses"}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto bound = y[0] - y[2];
    f[0] = -0.3 * y[2] - 1.0 * bound;
    f[1] = 0.8 - 0.2 * (y[1] - bound) - 1.0 * bound;
    f[2] = y[2] * y[2] - y[2] * (y[0] - y[1] - p[1]) - p[1] * y[0];
  }
  static constexpr void event_times(const auto&, auto& times) {
    times[0] = 0.5;
    times[1] = 2.0;
  }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    y[0] = y[0] + p[0];
    d[0] = d[0] + 1.0;
  }
};

/// The positive solution.
double free_drug(double drug, double target, double K) {
  const double half = 0.5 * (drug - target - K);
  const double root = std::sqrt(half * half + K * drug);
  return half > 0.0 ? half + root : K * drug / (root - half);
}

std::vector<std::vector<double>> doses() {
  test::Uniform uniform(3);
  std::vector<std::vector<double>> rows = {{20.0, 0.5}};
  while (rows.size() < 60)
    rows.push_back({std::pow(10.0, 3.0 * uniform() - 0.5), std::pow(10.0, 3.0 * uniform() - 2.0)});
  return rows;
}

// Newton's method from the values before a dose finds the negative solution if the dose exceeds the target.
TEST(BindingDrug, StaysOnItsBranchBehindDoses) {
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 4.0;
    for (const auto& row : doses()) ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
    ensemble.times = {0.5000001, 1.0, 2.0, 2.0000001, 4.0};
    for (const double rtol : {1e-4, 1e-8}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(3, rtol);
      const test::Results results = ensemble.solve();
      double worst = 0.0;
      for (std::size_t i = 0; i < doses().size(); ++i) {
        ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
        for (std::size_t k = 0; k < ensemble.times.size(); ++k) {
          const double* y = &results.values[(i * ensemble.times.size() + k) * 3];
          const double exact = free_drug(y[0], y[1], doses()[i][1]);
          worst = std::max(worst, std::abs(y[2] - exact) / (rtol + rtol * exact));
        }
      }
      std::cout << kernel.kernel->method << " rtol " << rtol << ": error/tolerance " << worst << "\n";
      // Up to 0.7 of the tolerance: what Newton's method leaves.
      EXPECT_LE(worst, 1.0) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<BindingDrug, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

TEST(BindingDrug, DoesNotDependOnItsNeighbours) {
  test::expect_independence<BindingDrug>(doses(), 4.0);
}

/// The same equation with a drug that a source gives, without an event: in one step of its value, or by a ramp that is
/// shorter than steps of the method.
template <bool at_once>
struct SuddenDrug {
  static constexpr const char* name = "sudden_drug";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "effect"}, {.name = "free_drug", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "dose", .value = 20.0},
                                             {.name = "K", .value = 0.5},
                                             {.name = "time", .value = 1.0},
                                             {.name = "width", .value = 1e-3}};
  static constexpr auto drug(const auto& t, const auto& p) {
    if constexpr (at_once) {
      return select(t < p[2], 0.0 * p[0], p[0]);
    } else {
      return 0.5 * p[0] * (1.0 + tanh((t - p[2]) / p[3]));
    }
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = y[1] - y[0];
    f[1] = y[1] * y[1] - y[1] * (drug(t, p) - 4.0 - p[1]) - p[1] * drug(t, p);
  }
};

std::vector<std::vector<double>> sudden_doses(std::size_t count) {
  test::Uniform uniform(3);
  std::vector<std::vector<double>> rows(count);
  for (auto& row : rows) {
    const auto power_of_ten = [&](double lowest, double highest) {
      row.push_back(std::pow(10.0, lowest + (highest - lowest) * uniform()));
    };
    power_of_ten(-0.5, 2.5);
    power_of_ten(-2.0, 1.0);
    row.push_back(0.8 + 0.5 * uniform());
    power_of_ten(-5.5, -1.0);
  }
  return rows;
}

/// `bound`: of the error, in tolerances.
void expect_positive_solution(const LoadedKernel& kernel, const std::vector<double>& tolerances, double bound) {
  constexpr std::size_t count = 500;
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = 2.0;
  for (const auto& row : sudden_doses(count)) {
    ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
  }
  for (const double rtol : tolerances) {
    ensemble.rtol = rtol;
    ensemble.atol.assign(2, rtol);
    const test::Results results = ensemble.solve();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << rtol << " " << i;
      const double exact = free_drug(ensemble.parameters[4 * i], 4.0, ensemble.parameters[4 * i + 1]);
      EXPECT_NEAR(results.values[2 * i + 1], exact, bound * rtol * (1.0 + exact))
          << kernel.kernel->method << " " << rtol << " " << i;
    }
  }
}

// After the step of the source nothing changes: what is left are rounding errors, 2e-16.
NIGHTLY_TEST(SuddenDrug, StaysOnItsBranchBehindAStep) {
  const auto expect = [](const LoadedKernel& kernel) { expect_positive_solution(kernel, {1e-6}, 1e-6); };
  test::for_each_kernel<SuddenDrug<true>, Radau5, Rodas5p>(expect);
}

// Newton's method found the negative solution behind the ramp, by up to 10,000 tolerances from the positive one: with
// `esdirk54` in 59 of 2,000 runs, with `radau5` in 19, with `bdf` in 7. It leaves less than a tenth of a tolerance.
TEST(SuddenDrug, StaysOnItsBranchInStepsLongerThanTheRamp) {
  const auto expect = [](const LoadedKernel& kernel) {
    expect_positive_solution(kernel, {1e-2, 1.8e-3, 6e-4, 1e-4}, 0.1);
  };
  expect(test::own_kernel<SuddenDrug<false>, Esdirk54>());
  test::for_each_kernel<SuddenDrug<false>, Radau5, Bdf>(expect);
}

NIGHTLY_TEST(SuddenDrug, DoesNotDependOnItsNeighbours) {
  test::expect_independence<SuddenDrug<false>>(sudden_doses(100), 2.0);
}

/// z^3 - 3 z = x + input has three solutions for |x + input| < 2, of which the middle one is no branch that anything
/// stays on. Actions change x, the input or both.
struct Folded {
  static constexpr const char* name = "folded";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = -1.0},
                                           {.name = "z", .initial = -1.532088886237956, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "first"}, {.name = "second"}, {.name = "share"}};
  static constexpr Event events[] = {{.name = "first", .scheduled = 1}, {.name = "second", .scheduled = 1}};
  static constexpr Discrete discrete[] = {{.name = "input"}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = 0.0 * y[0];
    f[1] = y[1] * y[1] * y[1] - 3.0 * y[1] - y[0] - p[3];
  }
  static constexpr void event_times(const auto&, auto& times) {
    times[0] = 1.0;
    times[1] = 2.0;
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto& p, auto& d) {
    const auto sum = event == 0 ? p[0] : p[1];
    y[0] = p[2] * sum;
    d[0] = sum - y[0];
  }
};

/// Where a jump of x + input takes z from the lower or the upper branch.
double behind_jump(double sum, double z) {
  const bool upper = sum > 2.0 || (sum > -2.0 && z > 0.0);
  const double side = upper ? 1.0 : -1.0;
  const double scaled = 0.5 * side * sum;
  return side * 2.0 * (scaled > 1.0 ? std::cosh(std::acosh(scaled) / 3.0) : std::cos(std::acos(scaled) / 3.0));
}

// Newton's method from the values before comes to rest where z^3 - 3 z has an extremum: 64 of these instances ended
// with `inconsistent_initial_conditions`. Both folds are passed, and jumps end as close as 1e-3 to them.
TEST(Folded, GoesOnWhereItsBranchLeads) {
  std::vector<std::vector<double>> rows;
  test::Uniform uniform(17);
  for (const double sum : {1.999, 2.001, 29.0}) rows.push_back({sum, -sum, 1.0});
  while (rows.size() < 200)
    rows.push_back({12.0 * uniform() - 6.0, 12.0 * uniform() - 6.0, std::round(2.0 * uniform()) / 2.0});
  test::Ensemble ensemble;
  for (const auto& row : rows) ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
  ensemble.t_end = 3.0;
  ensemble.times = {1.5, 3.0};
  const auto expect = [&](const LoadedKernel& kernel) {
    ensemble.loaded = &kernel;
    const test::Results results = ensemble.solve();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
      const double first = behind_jump(rows[i][0], -1.5);
      const double second = behind_jump(rows[i][1], first);
      // Nothing moves between the jumps: what is left are rounding errors, 2e-15.
      EXPECT_NEAR(results.values[4 * i + 1], first, 1e-12) << kernel.kernel->method << " " << i;
      EXPECT_NEAR(results.values[4 * i + 3], second, 1e-12) << kernel.kernel->method << " " << i;
    }
  };
  test::for_each_kernel<Folded, Radau5, Rodas5p>(expect);
  test::expect_independence<Folded>(rows, 3.0);
}

/// z^3 - 3 z = x with an x that goes from -1 to a first value and on to a second in a short time.
struct RampedFold {
  static constexpr const char* name = "ramped_fold";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "mean"},
                                           {.name = "z", .initial = -1.532088886237956, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "first"}, {.name = "second"}, {.name = "width"}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto ramp = [&](double at) { return 0.5 * (1.0 + tanh((t - at) / p[2])); };
    f[0] = y[1] - y[0];
    f[1] = y[1] * y[1] * y[1] - 3.0 * y[1] - (-1.0 + (p[0] + 1.0) * ramp(1.0) + (p[1] - p[0]) * ramp(2.0));
  }
};

// 84 of these 2,400 runs ended at a fold, most of them at rtol 1e-8, and with `bdf` after steps that t did not see. An
// instance that is put back on its branch shortly before the end of it needs help again.
TEST(RampedFold, GoesOnWhereItsBranchLeads) {
  test::Ensemble ensemble;
  test::Uniform uniform(17);
  for (int i = 0; i < 200; ++i) {
    ensemble.parameters.push_back(12.0 * uniform() - 6.0);
    ensemble.parameters.push_back(12.0 * uniform() - 6.0);
    ensemble.parameters.push_back(std::pow(10.0, -4.5 * uniform() - 1.2));
  }
  ensemble.t_end = 3.0;
  ensemble.times = {1.5, 3.0};
  ensemble.max_steps = 20'000;
  const auto expect = [&](const LoadedKernel& kernel) {
    ensemble.loaded = &kernel;
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(2, rtol);
      const test::Results results = ensemble.solve();
      for (std::size_t i = 0; i < 200; ++i) {
        ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << rtol << " " << i;
        const double first = behind_jump(ensemble.parameters[3 * i], -1.5);
        const double second = behind_jump(ensemble.parameters[3 * i + 1], first);
        // Up to 1.5: what Newton's method leaves is magnified beside a fold.
        EXPECT_NEAR(results.values[4 * i + 1], first, 4.0 * rtol) << kernel.kernel->method << " " << rtol << " " << i;
        EXPECT_NEAR(results.values[4 * i + 3], second, 4.0 * rtol) << kernel.kernel->method << " " << rtol << " " << i;
      }
    }
  };
  test::for_each_kernel<RampedFold, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < 100; ++i) {
    const auto row = ensemble.parameters.begin() + static_cast<std::ptrdiff_t>(3 * i);
    rows.emplace_back(row, row + 3);
  }
  test::expect_independence<RampedFold>(rows, 3.0);
}

/// A weak acid to which a base is given: the charges balance, and h, of hydrogen ions, is positive. Beyond the pole at
/// h = 0 there is a second solution.
struct WeakAcid {
  static constexpr const char* name = "weak_acid";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "base"},
                                           {.name = "h", .initial = 1e-2, .algebraic = true, .min = 0.0, .max = 1e3}};
  enum { acid, K, begin };
  static constexpr Parameter parameters[] = {
      {.name = "acid", .value = 0.02}, {.name = "K", .value = 0.0176}, {.name = "begin", .value = 0.01}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = 0.01;
    f[1] = p[begin] + y[0] + y[1] - 1e-8 / y[1] - p[acid] * p[K] / (p[K] + y[1]);
  }
};

// Without bounds, Newton's method from h = 0.01 ends at the negative solution in 129 of these.
TEST(WeakAcid, StartsWithinItsBounds) {
  constexpr std::size_t count = 200;
  std::vector<double> parameters;
  std::vector<double> expected;
  test::Uniform uniform(5);
  for (std::size_t i = 0; i < count; ++i) {
    const double acid = std::pow(10.0, -3.0 + 2.0 * uniform());
    const double K = std::pow(10.0, -4.0 + 3.0 * uniform());
    const double begin = 2.0 * acid * uniform();
    parameters.insert(parameters.end(), {acid, K, begin});
    for (const double base : {begin, begin + 0.01}) {
      // The balance rises with h: bisection of its logarithm.
      double low = -40.0;
      double high = 10.0;
      while (high - low > 1e-13) {
        const double middle = 0.5 * (low + high);
        const double h = std::exp(middle);
        (base + h - 1e-8 / h - acid * K / (K + h) > 0.0 ? high : low) = middle;
      }
      expected.push_back(std::exp(low));
    }
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 1.0;
    ensemble.parameters = parameters;
    ensemble.times = {0.0, 1.0};
    ensemble.rtol = 1e-6;
    ensemble.atol.assign(2, 1e-10);
    const test::Results results = ensemble.solve();
    double worst = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
      for (std::size_t time = 0; time < 2; ++time) {
        const double h = expected[2 * i + time];
        worst = std::max(worst, std::abs(results.values[(2 * i + time) * 2 + 1] - h) / (1e-10 + 1e-6 * h));
      }
    }
    std::cout << kernel.kernel->method << ": error/tolerance " << worst << "\n";
    // The error that is asked for; 0.07 was seen.
    EXPECT_LE(worst, 1.0) << kernel.kernel->method;
  };
  expect(test::own_kernel<WeakAcid, Bdf>());
  if constexpr (test::nightly) test::for_each_kernel<WeakAcid, Radau5, Rodas5p, Esdirk54>(expect);
}

/// Ignition by branching chains: the radical R is quasi-steady, 0 = 2 k1 F + (k2 F - k3) R - k4 R^2 with the fuel F at
/// the temperature T. At first both of its solutions are far below atol, and the positive one grows at ignition alone.
struct Ignition {
  static constexpr const char* name = "ignition";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "F", .initial = 1.0},
                                           {.name = "T", .initial = 900.0},
                                           {.name = "R", .initial = 1e-6, .algebraic = true}};
  enum { A1, a, wall, k3 };
  static constexpr Parameter parameters[] = {{.name = "A1", .value = 1e3},
                                             {.name = "a", .value = 3.0},
                                             {.name = "wall", .value = 1050.0},
                                             {.name = "k3", .value = 2000.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto k1 = p[A1] * exp(-22000.0 / y[1]);
    const auto k2 = 3e7 * exp(-9000.0 / y[1]);
    const auto burnt = k1 * y[0] + k2 * y[0] * y[2];
    f[0] = -burnt;
    f[1] = 1500.0 * burnt + p[a] * (p[wall] - y[1]);
    f[2] = 2.0 * k1 * y[0] + (k2 * y[0] - p[k3]) * y[2] - 1e6 * y[2] * y[2];
  }
};

/// The fuel at the end, from the formula of Runge and Kutta in 100,000 steps with the positive solution for R.
double fuel_after_ignition(const double* p) {
  struct Slope {
    double F;
    double T;
  };
  const auto slope = [p](double F, double T) {
    const double k1 = p[0] * std::exp(-22000.0 / T);
    const double k2 = 3e7 * std::exp(-9000.0 / T);
    const double b = k2 * F - p[3];
    const double root = std::sqrt(b * b + 8e6 * k1 * F);
    const double R = b > 0.0 ? (b + root) / 2e6 : 4.0 * k1 * F / (root - b);
    const double burnt = k1 * F + k2 * F * R;
    return Slope{-burnt, 1500.0 * burnt + p[1] * (p[2] - T)};
  };
  constexpr int steps = 100000;
  const double h = 2.0 / steps;
  double F = 1.0;
  double T = 900.0;
  for (int k = 0; k < steps; ++k) {
    const Slope s1 = slope(F, T);
    const Slope s2 = slope(F + 0.5 * h * s1.F, T + 0.5 * h * s1.T);
    const Slope s3 = slope(F + 0.5 * h * s2.F, T + 0.5 * h * s2.T);
    const Slope s4 = slope(F + h * s3.F, T + h * s3.T);
    F += h / 6.0 * (s1.F + 2.0 * s2.F + 2.0 * s3.F + s4.F);
    T += h / 6.0 * (s1.T + 2.0 * s2.T + 2.0 * s3.T + s4.T);
  }
  return F;
}

TEST(Ignition, IsNotMissedOnTheOtherBranch) {
  constexpr std::size_t count = 100;
  std::vector<double> parameters;
  std::vector<double> expected;
  test::Uniform uniform(11);
  for (std::size_t i = 0; i < count; ++i) {
    const double row[] = {std::pow(10.0, 2.0 + 3.0 * uniform()), 1.0 + 9.0 * uniform(), 1000.0 + 100.0 * uniform(),
                          1500.0 + 1000.0 * uniform()};
    parameters.insert(parameters.end(), std::begin(row), std::end(row));
    expected.push_back(fuel_after_ignition(row));
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 2.0;
    ensemble.parameters = parameters;
    ensemble.rtol = 1e-6;
    ensemble.atol.assign(3, 1e-9);
    const test::Results results = ensemble.solve();
    double worst = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
      worst = std::max(worst, std::abs(results.values[3 * i] - expected[i]));
    }
    std::cout << kernel.kernel->method << ": fuel wrong by at most " << worst << "\n";
    // Ten tolerances of the fuel at the start; 5.1e-8 was seen. What never ignites is wrong by nearly one.
    EXPECT_LE(worst, 1e-5) << kernel.kernel->method;
  };
  expect(test::own_kernel<Ignition, Rodas5p>());
  if constexpr (test::nightly) test::for_each_kernel<Ignition, Radau5, Esdirk54, Bdf>(expect);
}

/// A rectifier whose diode is the function of Fischer and Burmeister: the current i and the voltage d across it are at
/// least zero, and one of them is zero. Fischer, Optimization 24 (1992).
struct ComplementaryDiode {
  static constexpr const char* name = "complementary_diode";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr Variable variables[] = {
      {.name = "v"}, {.name = "i", .algebraic = true}, {.name = "d", .algebraic = true}};
  enum { R, L, A, w };
  static constexpr Parameter parameters[] = {{.name = "R", .value = 0.5},
                                             {.name = "L", .value = 3.0},
                                             {.name = "A", .value = 5.0},
                                             {.name = "w", .value = 3.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = y[1] - y[0] / p[L];
    f[1] = p[A] * sin(p[w] * t) - p[R] * y[1] - y[0] + y[2];
    f[2] = y[1] + y[2] - sqrt(y[1] * y[1] + y[2] * y[2]);
  }
};

/// Its voltage at the end, from the formula of Runge and Kutta in 50,000 steps with i = max(0, (A sin wt - v) / R):
/// the kinks leave errors below 1e-7.
double voltage_behind_diode(const double* p) {
  const auto slope = [p](double t, double v) {
    return std::max(0.0, (p[2] * std::sin(p[3] * t) - v) / p[0]) - v / p[1];
  };
  constexpr int steps = 50000;
  const double h = 10.0 / steps;
  double v = 0.0;
  for (int k = 0; k < steps; ++k) {
    const double t = k * h;
    const double k1 = slope(t, v);
    const double k2 = slope(t + 0.5 * h, v + 0.5 * h * k1);
    const double k3 = slope(t + 0.5 * h, v + 0.5 * h * k2);
    const double k4 = slope(t + h, v + h * k3);
    v += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  return v;
}

// States beside both branches that are within the tolerance kept h at 1e-15: of 200 diodes at 1e-4 one took 1,000,000
// steps with `esdirk54`, and `bdf` gave up 14.
TEST(ComplementaryDiode, GetsOnWhereItChangesItsBranch) {
  constexpr std::size_t count = 200;
  std::vector<double> parameters;
  test::Uniform uniform(3);
  std::vector<double> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const double row[] = {0.2 + 0.8 * uniform(), 1.0 + 5.0 * uniform(), 2.0 + 8.0 * uniform(), 1.0 + 5.0 * uniform()};
    parameters.insert(parameters.end(), std::begin(row), std::end(row));
    expected.push_back(voltage_behind_diode(row));
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 10.0;
    ensemble.parameters = parameters;
    for (const double rtol : {1e-4, 1e-6}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(3, 1e-2 * rtol);
      const test::Results results = ensemble.solve();
      double worst = 0.0;
      std::uint64_t most_steps = 0;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << rtol << " " << i;
        most_steps = std::max(most_steps, std::uint64_t(results.outcomes[i].counters.steps));
        const double tolerance = rtol * (1e-2 + std::abs(expected[i]));
        worst = std::max(worst, std::abs(results.values[3 * i] - expected[i]) / tolerance);
      }
      std::cout << kernel.kernel->method << " rtol " << rtol << ": error/tolerance " << worst << ", at most "
                << most_steps << " steps\n";
      // Up to 0.14, and 2,208 by `bdf` at 1e-6, with two to six changes of branch in each period.
      EXPECT_LE(worst, 1.0) << kernel.kernel->method << " " << rtol;
      EXPECT_LE(most_steps, 4000u) << kernel.kernel->method << " " << rtol;
    }
  };
  expect(test::own_kernel<ComplementaryDiode, Bdf>());
  if constexpr (test::nightly) test::for_each_kernel<ComplementaryDiode, Radau5, Rodas5p, Esdirk54>(expect);
}

/// An oscillator with a nonlinear spring, z^3 + z = 2 x, at a late time: its steps are negligible beside that.
struct LateOscillator {
  static constexpr const char* name = "late_oscillator";
  static constexpr double t_span[] = {1.0e6, 1000000.002};
  static constexpr Variable variables[] = {
      {.name = "x", .initial = 1.0}, {.name = "v"}, {.name = "z", .initial = 1.0, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "w", .value = 6.0e4}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = p[0] * y[1];
    f[1] = -p[0] * y[2] * y[2] * y[2];
    f[2] = y[2] * y[2] * y[2] + y[2] - 2.0 * y[0];
  }
};

// Steps that get nowhere are made longer. These get somewhere: made longer too, 45,000 of 89,000 were rejected, and the
// run ended. `bdf` takes 7,806. SciPy's DOP853 at 1e-11. It is off by 5e-5, and t is known to 1.2e-10, a phase of 7e-6.
TEST(LateOscillator, TakesItsShortSteps) {
  const LoadedKernel kernel = test::own_kernel<LateOscillator, Bdf>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.repeat_defaults(1);
  ensemble.t_begin = 1e6;
  ensemble.t_end = LateOscillator::t_span[1];
  ensemble.rtol = 1e-6;
  ensemble.atol.assign(3, 1e-8);
  const test::Results result = ensemble.solve();
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_LE(result.outcomes[0].counters.steps, 10000);
  EXPECT_NEAR(result.values[0], 0.91321112, 1e-4);
  EXPECT_NEAR(result.values[1], -0.40294448, 1e-4);
}

/// A car whose brake lets a wheel go where its slip is large, and takes it again: the force follows from the slip.
struct Brake {
  static constexpr const char* name = "brake";
  static constexpr double t_span[] = {0.0, 6.0};
  static constexpr Variable variables[] = {{.name = "v", .initial = 30.0},
                                           {.name = "w", .initial = 100.0},
                                           {.name = "torque"},
                                           {.name = "slip", .algebraic = true},
                                           {.name = "force", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "grip", .value = 0.9}};
  static constexpr Event events[] = {{.name = "let_go", .direction = 1},
                                     {.name = "take", .direction = -1},
                                     {.name = "stop", .direction = -1, .terminal = true}};
  static constexpr Discrete discrete[] = {{.name = "takes", .initial = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = -y[4] * 9.81;
    f[1] = 0.3 * y[4] * 400.0 * 9.81 - y[2];
    f[2] = 4000.0 * p[1];
    f[3] = y[3] * y[0] - (y[0] - 0.3 * y[1]);
    f[4] = y[4] - p[0] * sin(1.5 * atan(8.0 * y[3]));
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    const auto one = 1.0 + 0.0 * y[0];
    g[0] = select(p[1] == 1.0, y[3] - 0.25, -one);
    g[1] = select(p[1] == 1.0, one, y[3] - 0.1);
    g[2] = y[0] - 3.0;
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    if constexpr (event == 0) d[0] = -1.0;
    if constexpr (event == 1) d[0] = 1.0;
  }
};

// From seconds since 1970 on, every step was negligible beside the time: the car stopped 0.09 s late with `radau5`,
// 0.23 with `esdirk54`, with success. SciPy's DOP853 at 1e-12, anew from every event. Such times are known to 2.4e-7 s,
// and each of the 23 events before occurs up to 1e-5 late.
TEST(Brake, StopsInTimeWheneverItBegins) {
  const auto expect = [](const LoadedKernel& kernel) {
    for (const double begin : {0.0, 1.7e9}) {
      test::Ensemble ensemble;
      ensemble.loaded = &kernel;
      ensemble.repeat_defaults(1);
      ensemble.t_begin = begin;
      ensemble.t_end = begin + 6.0;
      ensemble.rtol = 1e-6;
      ensemble.atol.assign(5, 1e-6);
      const test::Results result = ensemble.solve();
      EXPECT_EQ(result.outcomes[0].status, Status::terminated_by_event);
      EXPECT_EQ(result.events[0].size(), 24u);
      EXPECT_NEAR(result.outcomes[0].t_reached - begin, 3.4773212, begin == 0.0 ? 1e-6 : 3e-4);
    }
  };
  test::for_each_kernel<Brake, Radau5, Bdf>(expect);
}

/// A ball that bounces, from seconds since 1970 on.
struct LateBall {
  static constexpr const char* name = "late_ball";
  static constexpr double t_span[] = {1.7e9, 1700000004.0};
  static constexpr Variable variables[] = {{.name = "h", .initial = 1.0}, {.name = "v"}};
  static constexpr Parameter parameters[] = {{.name = "restitution", .value = 0.9}};
  static constexpr Event events[] = {{.name = "bounce", .direction = -1}};
  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = y[1];
    f[1] = 0.0 * y[1] - 9.81;
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0]; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto&) { y[1] *= -p[0]; }
};

// Bounces are found up to 1e-6 s late, when the ball is below the ground. It rose from there in the first step of
// `bdf`, which ended below the ground too and was taken for a second bounce: the ball fell to -74, with success.
TEST(LateBall, RisesFromBelowTheGround) {
  const double g = 9.81;
  double bounce = std::sqrt(2.0 / g);
  double speed = 0.9 * g * bounce;
  std::size_t bounces = 1;
  for (; bounce + 2.0 * speed / g < 4.0; ++bounces) {
    bounce += 2.0 * speed / g;
    speed *= 0.9;
  }
  const double exact = speed * (4.0 - bounce) - 0.5 * g * (4.0 - bounce) * (4.0 - bounce);
  const LoadedKernel kernel = test::own_kernel<LateBall, Bdf>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.repeat_defaults(1);
  ensemble.t_begin = LateBall::t_span[0];
  ensemble.t_end = LateBall::t_span[1];
  ensemble.rtol = 1e-10;
  ensemble.atol.assign(2, 1e-10);
  const test::Results result = ensemble.solve();
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_EQ(result.events[0].size(), bounces);
  // Six bounces at up to 4 m/s, each off by 1e-6 s.
  EXPECT_NEAR(result.values[0], exact, 2e-5);
}

/// A ball that bounces for ever lower, with no mode of rest, in air whose drag is an algebraic variable.
struct RestlessBall {
  static constexpr const char* name = "restless_ball";
  static constexpr double t_span[] = {0.0, 20.0};
  static constexpr Variable variables[] = {
      {.name = "h", .initial = 1.0}, {.name = "v"}, {.name = "d", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "restitution", .value = 0.9}, {.name = "drag", .value = 0.05}};
  static constexpr Event events[] = {{.name = "bounce", .direction = -1}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = -9.81 - y[2];
    f[2] = y[2] + 0.01 * y[2] * y[2] * y[2] - p[1] * y[1] * abs(y[1]);
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0]; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto&) { y[1] = -p[0] * y[1]; }
};

/// The same in a vacuum, where polynomials follow the flight exactly.
struct BallInVacuum : RestlessBall {
  static constexpr const char* name = "ball_in_vacuum";
  static constexpr Variable variables[] = {{.name = "h", .initial = 1.0}, {.name = "v"}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = 0.0 * p[1] - 9.81;
  }
};

// The last bounces are as low as errors or rounding, which put the ball below the ground while it rises: its action
// sent it down then, and three of four fell to the end of the span, with success. `bdf` does it still, in one of ten.
template <class Model>
void expect_no_fall() {
  const auto expect = [](const LoadedKernel& kernel) {
    constexpr std::size_t count = 60;
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 20.0;
    test::Uniform uniform(3);
    for (std::size_t i = 0; i < count; ++i) {
      ensemble.parameters.insert(ensemble.parameters.end(), {0.5 + 0.4 * uniform(), 0.1 * uniform()});
    }
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(std::size(Model::variables), rtol);
      const test::Results results = ensemble.solve();
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(results.outcomes[i].status, Status::event_storm) << kernel.kernel->method << " " << rtol << " " << i;
        EXPECT_LE(results.outcomes[i].counters.steps, 10000) << kernel.kernel->method << " " << rtol << " " << i;
      }
    }
  };
  expect(test::own_kernel<Model, Esdirk54>());
  if constexpr (test::nightly) test::for_each_kernel<Model, Radau5, Rodas5p>(expect);
}
TEST(RestlessBall, EndsInAnEventStorm) {
  expect_no_fall<RestlessBall>();
  expect_no_fall<BallInVacuum>();
}

/// A source that is switched by the time, with an equation that bends.
struct Switched {
  static constexpr const char* name = "switched";
  static constexpr double t_span[] = {1.7e9, 1700000002.0};
  static constexpr Variable variables[] = {{.name = "v"}, {.name = "i", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "on", .value = 3.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto source = select(t - 1.7e9 < 0.7, 1.0, p[0]);
    f[0] = y[1] - y[0];
    f[1] = source - y[0] - y[1] - y[1] * y[1] * y[1];
  }
};

// The step across was taken for negligible beside the time: `radau5` was off by 280 tolerances, with success. SciPy, in
// two parts. `bdf` is off by half a tolerance, since its step across is as long as 1000 units in the last place of t.
TEST(Switched, IsSwitchedInTime) {
  const auto expect = [](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.repeat_defaults(1);
    ensemble.t_begin = Switched::t_span[0];
    ensemble.t_end = Switched::t_span[1];
    ensemble.rtol = 1e-6;
    ensemble.atol.assign(2, 1e-6);
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    EXPECT_EQ(result.outcomes[0].t_reached, ensemble.t_end);
    EXPECT_NEAR(result.values[0], 0.85940159, 2e-6);
    EXPECT_NEAR(result.values[1], 1.03425928, 2e-6);
  };
  test::for_each_kernel<Switched, Radau5, Bdf>(expect);
}

/// x' stands in its equation with its cube, whose slope is small where x' changes its sign.
struct CubedSlope {
  static constexpr const char* name = "cubed_slope";
  static constexpr double t_span[] = {0.0, 10.0};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "s", .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "force", .value = 3.0}};
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] * dy[0] * dy[0] + 0.01 * dy[0] - p[0] * sin(t) - 0.2 * y[1];
    F[1] = y[1] * y[1] * y[1] + y[1] - y[0];
  }
};

// Steps of 2e-14 accept any slope: it grew to 1e8, and lanes that went on by it for 1e-9 t were off by up to 2e5
// tolerances. 18 of these 60 runs called that a success. Reference: x' by bisection, SciPy's DOP853 at 1e-12.
TEST(CubedSlope, LeadsNowhereWhereItIsWrong) {
  const LoadedKernel kernel = test::own_kernel<CubedSlope, Esdirk54>();
  for (int k = 0; k < 60; ++k) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.repeat_defaults(1);
    ensemble.t_end = 10.0;
    ensemble.rtol = 1e-4 * std::pow(10.0, -k / 15.0);
    ensemble.atol.assign(2, ensemble.rtol);
    const test::Results result = ensemble.solve();
    if (result.outcomes[0].status != Status::success) continue;
    EXPECT_NEAR(result.values[0], 3.94485946954, 100.0 * ensemble.rtol) << ensemble.rtol;
    EXPECT_NEAR(result.values[1], 1.37052865018, 100.0 * ensemble.rtol) << ensemble.rtol;
  }
}

/// A drum in which three components with K = K_1 / pressure come to equilibrium. The vapour fraction of its feed, one
/// of two solutions of Rachford & Rice, lies between poles that move with the pressure, which steps.
struct FlashDrum {
  static constexpr const char* name = "flash_drum";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "share", .initial = 0.4},
                                           {.name = "vapour", .initial = 0.75, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "low", .value = 0.62}, {.name = "high", .value = 1.9}};
  static constexpr Event events[] = {{.name = "raise", .scheduled = 1}, {.name = "lower", .scheduled = 1}};
  static constexpr Discrete discrete[] = {{.name = "pressure", .initial = 1.0}, {.name = "steps"}};
  static constexpr double K[] = {3.2, 1.1, 0.25};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto term = [&](const auto& feed, double K_1) {
      const auto gain = K_1 / p[2] - 1.0;
      return feed * gain / (1.0 + y[1] * gain);
    };
    f[0] = 0.0 * y[0];
    f[1] = term(y[0], K[0]) + term(0.65 - y[0], K[1]) + term(0.0 * y[0] + 0.35, K[2]);
  }
  static constexpr void event_times(const auto&, auto& times) {
    times[0] = 0.5;
    times[1] = 1.0;
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto& p, auto& d) {
    d[0] = event == 0 ? p[1] : p[0];
    d[1] = d[1] + 1.0;
  }
};

// With the old vapour fraction the new equation is behind a pole.
TEST(FlashDrum, StaysBetweenItsPoles) {
  const auto expect = [](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 2.0;
    ensemble.times = {0.75, 2.0};
    test::Uniform uniform(23);
    for (int i = 0; i < 100; ++i) {
      ensemble.parameters.push_back(0.4 + 0.5 * uniform());
      ensemble.parameters.push_back(1.1 + 1.2 * uniform());
    }
    const test::Results results = ensemble.solve();
    for (std::size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(results.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
      for (std::size_t k = 0; k < 2; ++k) {
        const double pressure = ensemble.parameters[2 * i + 1 - k];
        const double vapour = results.values[4 * i + 2 * k + 1];
        // All parts of the liquid are positive there, and nowhere else.
        for (const double K : FlashDrum::K) {
          EXPECT_GT(1.0 + vapour * (K / pressure - 1.0), 0.0) << kernel.kernel->method << " " << i << " " << k;
        }
      }
    }
  };
  test::for_each_kernel<FlashDrum, Radau5, Rodas5p>(expect);
}

}  // namespace
}  // namespace manyfold
