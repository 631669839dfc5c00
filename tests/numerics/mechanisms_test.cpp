// Mechanisms of index 3: one that begins where its constraints bend most, and one whose constraint moves.
#include <algorithm>

#include "tests/numerics/testset.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// A crank of length 1 and a rod of length 2, in line at the start; masses at the pin and at the slider, which is
/// damped.
struct CrankAndRod {
  static constexpr const char* name = "crank_and_rod";
  static constexpr double t_span[] = {0.0, 5.0};
  static constexpr Variable variables[] = {{.name = "x1", .initial = 1.0},
                                           {.name = "y1"},
                                           {.name = "x2", .initial = 3.0},
                                           {.name = "u1"},
                                           {.name = "v1", .initial = 3.0},
                                           {.name = "u2"},
                                           {.name = "lambda", .algebraic = true, .count = 2, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "g", .value = 9.81}, {.name = "damping", .value = 0.2}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto dx = y[0] - y[2];
    for (int i = 0; i < 3; ++i) f[i] = y[3 + i];
    f[3] = -2.0 * y[0] * y[6] - 2.0 * dx * y[7];
    f[4] = -p[0] - 2.0 * y[1] * (y[6] + y[7]);
    f[5] = (-p[1] * y[5] + 2.0 * dx * y[7]) / 2.0;
    f[6] = y[0] * y[0] + y[1] * y[1] - 1.0;
    f[7] = dx * dx + y[1] * y[1] - 4.0;
  }
};

/// A four-bar linkage: a driven crank of length 1 turns over, the rocker does not.
struct FourBar {
  static constexpr const char* name = "four_bar";
  static constexpr double t_span[] = {0.0, 5.0};
  static constexpr Variable variables[] = {{.name = "x1"},
                                           {.name = "y1", .initial = 1.0},
                                           {.name = "x2", .initial = 2.0},
                                           {.name = "y2", .initial = 2.0},
                                           {.name = "v", .count = 4},
                                           {.name = "lambda", .algebraic = true, .count = 3, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "g", .value = 9.81}, {.name = "drive", .value = 30.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto dx = y[2] - y[0];
    const auto dy = y[3] - y[1];
    const auto torque = p[1] * sin(3.0 * t);
    for (int i = 0; i < 4; ++i) f[i] = y[4 + i];
    f[4] = -torque * y[1] - 2.0 * y[8] * y[0] + 2.0 * y[9] * dx;
    f[5] = torque * y[0] - 2.0 * y[8] * y[1] + 2.0 * y[9] * dy - p[0];
    f[6] = -y[9] * dx - y[10] * (y[2] - 2.5);
    f[7] = -y[9] * dy - y[10] * y[3] - p[0];
    f[8] = y[0] * y[0] + y[1] * y[1] - 1.0;
    f[9] = dx * dx + dy * dy - 5.0;
    f[10] = square(y[2] - 2.5) + y[3] * y[3] - 4.25;
  }
};

/// A point mass on a rod of length 1 that turns about a fixed point in space.
struct SphericalPendulum {
  static constexpr const char* name = "spherical_pendulum";
  static constexpr double t_span[] = {0.0, 8.79};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0},
                                           {.name = "y"},
                                           {.name = "z"},
                                           {.name = "u", .index = 2},
                                           {.name = "v", .initial = 1.5, .index = 2},
                                           {.name = "w", .index = 2},
                                           {.name = "lambda", .algebraic = true, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "g", .value = 9.81}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < 3; ++i) {
      f[i] = y[3 + i];
      f[3 + i] = -2.0 * y[i] * y[6];
    }
    f[5] -= p[0];
    f[6] = square(y[0]) + square(y[1]) + square(y[2]) - 1.0;
  }
};

/// Positions and velocities at the end against `exact`, in tolerances.
template <class Model, template <class, class> class Method>
void expect_end(const std::vector<double>& exact, double tolerance) {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = kernel.model.t_end;
  ensemble.rtol = tolerance;
  ensemble.atol.assign(kernel.model.variables.size(), tolerance);
  ensemble.repeat_defaults(1);
  const test::Results result = ensemble.solve();
  const InstanceOutcome& outcome = result.outcomes[0];
  ASSERT_EQ(outcome.status, Status::success)
      << Model::name << " " << kernel.kernel->method << " " << tolerance << " at " << outcome.t_reached;
  double error = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(result.values[i] - exact[i]) / (tolerance * (1.0 + std::abs(exact[i]))));
  }
  std::cout << Model::name << " " << kernel.kernel->method << " " << tolerance << ": error/tolerance " << error << ", "
            << outcome.counters.steps << " steps, " << outcome.counters.newton_failures << " Newton failures\n";
  // Local errors of a tolerance each add up; the largest sum seen is 6.
  EXPECT_LE(error, 20.0);
}

template <class Model>
void expect_end_with_every_order(const std::vector<double>& exact) {
  for (const double tolerance : {1e-3, 1e-4, 1e-6, 1e-7}) {
    expect_end<Model, Radau5>(exact, tolerance);
    expect_end<Model, Radau9>(exact, tolerance);
    expect_end<Model, Radau>(exact, tolerance);
  }
}

// The equation of motion of the crank's angle, by DOP853 at rtol 1e-13. At the start the second correction of Newton's
// method is larger than the first, however short the step.
TEST(Mechanisms, ACrankThatBeginsAtItsDeadCentre) {
  expect_end_with_every_order<CrankAndRod>(
      {-0.9998196988355, -0.01898867611332, 1.000090156678, -0.03554373933221, 1.871501232763, -0.01777427304519});
}

// The reference solution of the Test Set. With the factor h for all of their errors, as in RADAU5, velocities of radau5
// are off by 490 tolerances at 1e-6.
TEST(Mechanisms, AnAxisOverWaves) {
  expect_end_with_every_order<test::CarAxis>({0.0493455784275402809, 0.496989460230171153861, 1.04174252488542151681,
                                              0.373911027265361256927, -0.077058368404097235797, 0.00744686658723778553,
                                              0.0175568157537232222, 0.770341043779251976});
}

// The equations of index 1 by DOP853 at rtol 1e-12. At these tolerances the rounding errors of the multipliers are
// above what Newton's method leaves elsewhere.
TEST(Mechanisms, MultipliersEndInTheirRoundingErrors) {
  const std::vector<double> exact = {0.986729841422,  0.1623706254314, 2.201328045511, 2.039802702121,
                                     -1.493520676734, 9.076157812345,  10.22214701137, 1.496747025476};
  for (const double tolerance : {1e-7, 1e-8}) {
    expect_end<FourBar, Radau5>(exact, tolerance);
    expect_end<FourBar, Radau9>(exact, tolerance);
  }
}

// Reference: SciPy's DOP853 at rtol 3e-14 and Radau at 1e-12 for positions and velocities, which agree to 2e-11; lambda
// follows from them. The velocities of radau5 lie beside their constraint by an error of order 3, within the steps and
// at their ends: 223 and 526 tolerances before they were put on it.
TEST(Mechanisms, VelocitiesThatAreSavedMeetTheirConstraint) {
  const LoadedKernel kernel = test::own_kernel<SphericalPendulum, Radau5>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = kernel.model.t_end;
  ensemble.times = {2.55, 5.79, 6.42, 8.79};
  ensemble.repeat_defaults(1);
  const std::vector<double> exact = {
      -0.472345876009, 0.853334372545, -0.220703017765, -1.12610569609, -1.14123003881, -2.00241683181,   4.37264490641,
      0.395994589812,  0.918172849406, -0.01212037345,  -1.37512256142, 0.599502633635, 0.487274317433,   1.30335129532,
      -0.328955261351, -0.01786471849, -0.94417651309,  0.443053464746, -4.53582948771, -0.0685395690970, 15.0185573901,
      0.224092935226,  -0.27229141208, -0.935756241383, 4.227685637,    1.55666446028,  0.559470614705,   14.894653092};
  for (const double rtol : {1e-6, 1e-8}) {
    ensemble.rtol = rtol;
    ensemble.atol.assign(7, rtol);
    const test::Results result = ensemble.solve();
    ASSERT_EQ(result.outcomes[0].status, Status::success) << rtol;
    const double error = test::largest_error(result.values, exact, rtol);
    std::cout << "rtol " << rtol << ": error/tolerance " << error << "\n";
    // Errors of local tolerances add up over 400 and 1000 steps: 14 and 19.
    EXPECT_LE(error, 40.0) << rtol;
  }
}

}  // namespace
}  // namespace manyfold
