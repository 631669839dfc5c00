// What problems of the Test Set for IVP Solvers, and circuits, showed with the settings that a user begins with.
#include "tests/numerics/testset.hpp"

#include <gtest/gtest.h>

#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// The default instance, with the atol of the command.
test::Results solve(const LoadedKernel& kernel, double rtol, const std::vector<double>& times, double atol = 1e-9) {
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_begin = kernel.model.t_begin;
  ensemble.t_end = times.back();
  ensemble.times = times;
  ensemble.rtol = rtol;
  ensemble.atol.assign(kernel.model.variables.size(), atol);
  ensemble.repeat_defaults(1);
  return ensemble.solve();
}

/// The largest |error| / (atol + rtol |y|) of the first values that `reference` has.
double largest_error(const test::Results& result, const std::vector<double>& reference, double rtol, double atol) {
  double largest = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double error = std::abs(result.values[i] - reference[i]);
    largest = std::max(largest, error / (atol + rtol * std::abs(reference[i])));
  }
  return largest;
}

// The end point is published. Multipliers of models with a mass matrix were of order 2, off by 14,000 tolerances.
TEST(CarAxis, MultipliersFollowFromPositionsAndVelocities) {
  const std::vector<double> reference = {0.4934557842755629e-01, 0.4969894602303324,      0.1041742524885400e+01,
                                         0.3739110272652214,     -0.7705836840321485e-01, 0.7446866596327776e-02,
                                         0.1755681574942899e-01, 0.7703410437794031,      -0.4736886750784630e-02,
                                         -0.1104680411345730e-02};
  const auto expect = [&](const LoadedKernel& kernel, double allowance) {
    const test::Results result = solve(kernel, 1e-6, {3.0});
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    for (int i = 8; i < 10; ++i) {
      const double error = std::abs(result.values[i] - reference[i]) / (1e-9 + 1e-6 * std::abs(reference[i]));
      std::cout << kernel.kernel->method << ": " << error << " tolerances\n";
      EXPECT_LT(error, allowance) << kernel.kernel->method;
    }
  };
  // An error of one tolerance in a position is one of 200 in the multipliers, which are differences of large forces.
  expect(test::own_kernel<test::CarAxis, Radau5>(), 20.0);
  expect(test::own_kernel<test::CarAxis, Radau9>(), 2.0);
}

// Corrections that are nothing but rounding errors do not fall, and the search gave up. Over a long span errors of
// derivatives count for more.
TEST(Fekete, ConsistentValuesAreFoundAtATolerance) {
  const LoadedKernel kernel = test::own_kernel<test::Fekete, Radau5>();
  for (const double atol : {1e-9, 1e-12}) {
    const test::Results result = solve(kernel, 1e-8, {1000.0}, atol);
    EXPECT_EQ(result.outcomes[0].status, Status::success) << atol;
  }
}

// The end point is published. 3.5 digits in the measure of the Test Set, |error| / (1 + |y|), at rtol 1e-6: encounters
// magnify errors by thousands. With rtol itself in its error test, `bdf` had 2.9.
TEST(Pleiades, AllMethodsHaveTheDigitsThatAreAskedFor) {
  const std::vector<double> reference = {
      0.3706139143970502,     0.3237284092057233e+1,  -0.3222559032418324e+1, 0.6597091455775310,
      0.3425581707156584,     0.1562172101400631e+1,  -0.7003092922212495,    -0.3943437585517392e+1,
      -0.3271380973972550e+1, 0.5225081843456543e+1,  -0.2590612434977470e+1, 0.1198213693392275e+1,
      -0.2429682344935824,    0.1091449240428980e+1,  0.3417003806314313e+1,  0.1354584501625501e+1,
      -0.2590065597810775e+1, 0.2025053734714242e+1,  -0.1155815100160448e+1, -0.8072988170223021,
      0.5952396354208710,     -0.3741244961234010e+1, 0.3773459685750630,     0.9386858869551073,
      0.3667922227200571,     -0.3474046353808490,    0.2344915448180937e+1,  -0.1947020434263292e+1};
  const auto expect = [&](const LoadedKernel& kernel) {
    const test::Results result = solve(kernel, 1e-6, {3.0});
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    const double digits = -std::log10(largest_error(result, reference, 1.0, 1.0));
    std::cout << kernel.kernel->method << ": " << digits << " digits, " << result.outcomes[0].counters.steps
              << " steps\n";
    EXPECT_GT(digits, 3.5) << kernel.kernel->method;
  };
  test::for_each_kernel<test::Pleiades, Bdf, Radau5, Rodas5p>(expect);
}

// Reference: radau9 and radau13 at rtol 1e-11, which agree to 1e-9 with rodas5p at 1e-9. Where the transistor turned
// off, a step of `esdirk54` passed with a base current that was off by a factor of 8, and the next one failed.
TEST(Regulator, StagesAreSolvedWhereTheTransistorTurnsOff) {
  const std::vector<double> at_08 = {11.820360419070, 4.9314835419556};
  const std::vector<double> at_10 = {11.917554768862, 4.9017579282215};
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-3, 1e-4, 1e-5, 1e-6}) {
      for (const auto& [time, reference] : {std::pair(0.08, at_08), std::pair(0.1, at_10)}) {
        const test::Results result = solve(kernel, rtol, {time});
        ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
        EXPECT_LT(largest_error(result, reference, rtol, 1e-9), 30.0) << kernel.kernel->method << " " << rtol;
      }
    }
  };
  test::for_each_kernel<test::Regulator, Esdirk54, Radau5, Bdf>(expect);
}

// Reference: SciPy's Radau, BDF and LSODA at rtol 1e-11 on the ordinary differential equations for a, b and U, which
// agree in all digits given. k2 reaches 7e14, its column of the matrix counted as zero, and every third attempt failed.
TEST(Ignition, RateConstantsOfAnySizeAreUnknownsLikeOthers) {
  const std::vector<double> times = {0.01, 0.05, 1.0, 2.0};
  const std::vector<double> U = {1.12996921, 7.52870009, 6.2542028, 5.15220411};
  const std::vector<double> T = {1.10734738, 5.06414432, 4.40967736, 3.80466019};
  const auto expect = [&](const LoadedKernel& kernel, int most_attempts) {
    const test::Results result = solve(kernel, 1e-6, times);
    ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method;
    for (std::size_t k = 0; k < times.size(); ++k) {
      // As elsewhere, for methods of order 4 and more; the reference has nine digits.
      EXPECT_NEAR(result.values[6 * k + 2], U[k], 30e-6 * U[k]) << kernel.kernel->method;
      EXPECT_NEAR(result.values[6 * k + 3], T[k], 30e-6 * T[k]) << kernel.kernel->method;
    }
    const Counters& counters = result.outcomes[0].counters;
    EXPECT_LT(counters.steps + counters.rejected + counters.newton_failures, most_attempts) << kernel.kernel->method;
  };
  // Twice what they take, 286, 312, 313 and 1184; SciPy's Radau takes 323 steps.
  expect(test::own_kernel<test::Ignition, Radau5>(), 600);
  expect(test::own_kernel<test::Ignition, Rodas5p>(), 600);
  expect(test::own_kernel<test::Ignition, Esdirk54>(), 800);
  expect(test::own_kernel<test::Ignition, Bdf>(), 2400);
}

// The first steps are shorter than the resolution of t, 2e-12: `bdf` ended with `step_too_small`, IDA does not.
TEST(LateStart, TransientsMayBeShorterThanTheResolutionOfTheTime) {
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      const test::Results result = solve(kernel, rtol, {14401.0});
      ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
      // As elsewhere, for methods of order 4 and more.
      EXPECT_LT(largest_error(result, {std::exp(-1.0), std::exp(-1.0)}, rtol, 1e-9), 30.0) << kernel.kernel->method;
    }
  };
  test::for_each_kernel<test::LateStart, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

// sqrt(h) falls linearly to zero, which is reached at t = 2 sqrt(h(0)) / k. The derivative of sqrt(max(h, 0)) was no
// number for h < 0, and every method ended there.
TEST(EmptyingTank, StaysEmpty) {
  const std::vector<double> times = {3.0, 6.5, 8.0, 20.0};
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-6}) {
      const test::Results result = solve(kernel, rtol, times);
      ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
      for (std::size_t k = 0; k < times.size(); ++k) {
        const double root = std::max(0.0, 1.0 - 0.15 * times[k]);
        // The flow of an empty tank is the root of what is left, 1e-9 and more.
        EXPECT_NEAR(result.values[2 * k], root * root, 10.0 * rtol) << kernel.kernel->method << " " << rtol;
        EXPECT_NEAR(result.values[2 * k + 1], 0.3 * root, 30.0 * rtol) << kernel.kernel->method << " " << rtol;
      }
    }
  };
  test::for_each_kernel<test::EmptyingTank, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

// Newton's method comes closer by one thermal voltage per iteration. The start gave up after 30.
TEST(Diode, IsFoundFromAGuessThatIsTooHigh) {
  const test::Results result = solve(test::own_kernel<test::Diode, Radau5>(), 1e-8, {0.0});
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  const double v = result.values[1];
  EXPECT_NEAR((2.0 - v) / 1000.0, 1e-15 * std::expm1(v / 0.015), 1e-10);
}

// Reference: w' = (1 - exp(-rise t) - w)/tau for the voltage w = u1 - u2 of the capacitor. It ended with
// singular_jacobian at the start. There q has no slope to speak of, and a step that suits it is long for the source:
// what it moved the charges by is seen at rtol 1e-8.
TEST(FloatingNodes, FollowFromCurrents) {
  const double tau = 0.5;
  const double rise = 1000.0;
  const auto reference = [&](double t) {
    const double of_source = 1.0 / (1.0 - rise * tau);
    const double w = 1.0 - of_source * std::exp(-rise * t) + (0.3 - 1.0 + of_source) * std::exp(-t / tau);
    const double current = (1.0 - std::exp(-rise * t) - w) / tau;
    return std::vector<double>{w, -w, 1.0 - std::exp(-rise * t) - 0.3 * current, 0.2 * current};
  };
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-4, 1e-8}) {
      for (const double t : {1e-3, 3.0}) {
        const test::Results result = solve(kernel, rtol, {t});
        ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
        EXPECT_LT(largest_error(result, reference(t), rtol, 1e-9), 10.0) << kernel.kernel->method << " " << rtol;
      }
    }
  };
  expect(test::own_kernel<test::FloatingNodes, Radau5>());
  expect(test::own_kernel<test::FloatingNodes, Rodas5p>());
  expect(test::own_kernel<test::StatedFloatingNodes, Radau5>());
}

// The diode between the nodes makes the search for the start of some lanes longer than that of others.
TEST(FloatingDiode, DoesNotDependOnItsNeighbours) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 12; ++i) rows.push_back({std::pow(10.0, i % 5), 0.02 + 0.05 * (5 * i % 12)});
  test::expect_independence<test::FloatingDiode>(rows, 3.0);
}

// Reference: u = sin(w t), u' = 2e3 sinh(v/0.026). Errors of v counted times h, 1e-8 here: Newton's method stopped
// while the exponential was far from its solution, and every method ended with singular_jacobian or nonfinite_residual.
TEST(ForcedDiodes, VoltagesInExponentialsAreSolvedFor) {
  const double t = test::ForcedDiodes::t_span[1];
  const double w = 6.283185307179586e6;
  const std::vector<double> reference = {std::sin(w * t), 0.026 * std::asinh(w * std::cos(w * t) / 2e3)};
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-6, 1e-8}) {
      for (const double atol : {1e-9, rtol}) {
        const test::Results result = solve(kernel, rtol, {t}, atol);
        ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method << " " << rtol;
        EXPECT_LT(largest_error(result, reference, rtol, atol), 10.0) << kernel.kernel->method << " " << rtol;
      }
    }
  };
  test::for_each_kernel<test::ForcedDiodes, Radau5, Bdf>(expect);
}

}  // namespace
}  // namespace manyfold
