// Systems of index 2 and 3 with index-1 variables beside, in every form: their structure, consistent values from
// guesses, solutions against reduced equations, which SciPy integrates (Radau and DOP853 at rtol 1e-12), closed forms,
// and the Test Set for IVP Solvers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <manyfold/ensemble.hpp>

#include "problems/cstr/cstr.hpp"
#include "problems/pendulum_ggl/pendulum_ggl.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rlc_index2/rlc_index2.hpp"
#include "problems/slider_crank/slider_crank.hpp"
#include "tests/numerics/index_models.hpp"
#include "tests/support/accuracy.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// The slider crank of the Test Set with M(p) p'' = F - G^T lambda: the equations of the built-in model without its
/// accelerations. Positions, and elastic velocities, are given as published, the velocities of the rigid bodies from 5
/// % off, the others zero.
struct Crank {
  static constexpr const char* name = "crank";
  static constexpr double t_span[] = {0.0, 0.1};
  static constexpr Variable variables[] = {{.name = "phi1"},
                                           {.name = "phi2"},
                                           {.name = "x3", .initial = 0.450016933},
                                           {.name = "q1"},
                                           {.name = "q2"},
                                           {.name = "q3", .initial = 1.03339863e-05},
                                           {.name = "q4", .initial = 1.69327969e-05},
                                           {.name = "v1", .initial = 155.0, .given = Given::nothing},
                                           {.name = "v2", .initial = -70.0, .given = Given::nothing},
                                           {.name = "v3", .initial = 1.0, .given = Given::nothing},
                                           {.name = "dq1", .initial = 0.444896105},
                                           {.name = "dq2", .initial = 0.00463434311},
                                           {.name = "dq3", .initial = -1.78591076e-06},
                                           {.name = "dq4", .initial = -2.68938672e-06},
                                           {.name = "lambda", .algebraic = true, .count = 3, .index = 2}};
  static constexpr auto& parameters = SliderCrank::parameters;
  static constexpr int derived = SliderCrank::derived;
  static constexpr void derive(auto& p) { SliderCrank::derive(p); }
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    using Number = decltype(y[0] + dy[0]);
    Number full[24];
    Number f[24];
    for (int i = 0; i < 14; ++i) full[i] = Number(y[i]);
    for (int i = 0; i < 7; ++i) full[14 + i] = Number(dy[7 + i]);
    for (int i = 0; i < 3; ++i) full[21 + i] = Number(y[14 + i]);
    SliderCrank::rhs(t, full, p, f);
    for (int i = 0; i < 7; ++i) F[i] = dy[i] - y[7 + i];
    for (int i = 0; i < 10; ++i) F[7 + i] = f[14 + i];
  }
};

// Offsets as published: Pantelides (1988) for the pendulum, the others by enumeration of all assignments.
template <int n>
constexpr bool has_offsets(const Offsets<n>& found, const short (&equation)[n], const short (&variable)[n]) {
  for (int i = 0; i < n; ++i) {
    if (found.equation[i] != equation[i] || found.variable[i] != variable[i]) return false;
  }
  return found.regular;
}
template <class Model>
constexpr auto offsets = Structure<System<Model>>::offsets;
static_assert(has_offsets(offsets<PendulumIndex3>, {1, 1, 0, 0, 2}, {2, 2, 1, 1, 0}));
static_assert(offsets<PendulumIndex3>.freedoms() == 2 && offsets<PendulumIndex3>.index() == 3);
static_assert(has_offsets(offsets<Cstr>, {0, 0, 0, 0, 1, 0}, {1, 1, 1, 1, 0, 0}));
static_assert(offsets<Cstr>.freedoms() == 3 && offsets<Cstr>.index() == 2);
static_assert(offsets<RlcIndex2>.freedoms() == 1 && offsets<RlcIndex2>.index() == 2);
static_assert(offsets<PendulumGgl>.freedoms() == 2 && offsets<PendulumGgl>.index() == 2);
static_assert(offsets<test::Andrews>.freedoms() == 2 && offsets<test::Andrews>.index() == 3);
static_assert(offsets<test::BeadOnWire>.variable[4] == 2, "the place of contact is differentiated twice");

/// A x' + x = 0 of index 1 whose structural index is 3: rank A = rank A^2. Nothing may be concluded from the latter.
constexpr Offsets<5> of_mixed_rows() {
  Pattern<5> by_y;
  Pattern<5> by_dy;
  for (int i = 0; i < 5; ++i) by_y.insert(i, i);
  for (int i = 0; i < 4; ++i) {
    by_dy.insert(i, i < 2 ? 1 : 3);
    by_dy.insert(i, i < 2 ? 2 : 4);
  }
  return find_offsets(by_y, by_dy);
}
static_assert(has_offsets(of_mixed_rows(), {0, 0, 1, 1, 2}, {0, 1, 1, 2, 2}));

/// Consistent values at the start.
template <class Model>
struct Start {
  using S = System<Model>;
  double y[S::n];
  double dy[S::n];
  InitialPoint<double> point;
  ModelDescription model;

  explicit Start(const std::vector<std::pair<int, double>>& changes = {}, double tolerance = 1e-8) {
    double p[S::constants_size] = {};
    describe_model<Model>(model);
    for (int i = 0; i < S::parameters; ++i) p[i] = model.parameters[static_cast<std::size_t>(i)].value;
    S::derive(p);
    for (int i = 0; i < S::n; ++i) y[i] = model.variables[static_cast<std::size_t>(i)].initial;
    for (const auto& [i, value] : changes) y[i] = value;
    Tolerances<S::n> tolerances{tolerance, {}};
    for (double& atol : tolerances.atol) atol = tolerance;
    auto conditions = std::make_unique<InitialConditions<S, double, true>>();
    point = conditions->solve(true, Model::t_span[0], Model::t_span[1], y, dy, p, tolerances);
  }
  std::string worst_equation() const { return model.equation_label(static_cast<int>(point.worst_equation)); }
};

// The start of the Test Set from the angle of the crank alone; what is given stays.
TEST(ConsistentStart, OfAndrewsMechanismFromGuesses) {
  const Start<test::Andrews> start;
  ASSERT_TRUE(start.point.consistent);
  const double angles[] = {-0.0617138900142764496, 0.0,
                           0.455279819163070380,   0.222668390165885885,
                           0.487364979543842551,   -0.222668390165885885,
                           1.23054744454982119};
  EXPECT_EQ(start.y[0], angles[0]);
  for (int i = 1; i < 7; ++i) EXPECT_NEAR(start.y[i], angles[i], 1e-14) << i;
  for (int i = 7; i < 14; ++i) EXPECT_NEAR(start.y[i], 0.0, 1e-14) << i;
  EXPECT_NEAR(start.dy[7], 14222.4439199541138705, 1e-8);
  EXPECT_NEAR(start.dy[8], -10666.8329399655854029, 1e-8);
  for (int i = 9; i < 14; ++i) EXPECT_NEAR(start.dy[i], 0.0, 1e-8) << i;
  EXPECT_NEAR(start.y[14], 98.5668703962410896, 1e-10);
  EXPECT_NEAR(start.y[15], -6.12268834425566265, 1e-10);
  for (int i = 16; i < 20; ++i) EXPECT_NEAR(start.y[i], 0.0, 1e-10) << i;
}

// Published to nine digits.
TEST(ConsistentStart, OfTheSliderCrankFromGuesses) {
  const Start<Crank> start;
  ASSERT_TRUE(start.point.consistent);
  const std::vector<double> published = test::reference_of("slider_crank").initial;
  for (std::size_t i = 0; i < 14; ++i) EXPECT_NEAR(start.y[i], published[i], 1e-7) << i;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(start.dy[7 + i], published[14 + i], 4e-6 + 1e-9 * std::abs(published[14 + i])) << i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(start.y[14 + i], published[21 + i], 4e-6 + 1e-9 * std::abs(published[21 + i])) << i;
  }
}

TEST(ConsistentStart, DifferentiatesTheContactParameter) {
  // x = 0.2, u = 0.6 determine the rest: with Z = s^2 + a sin 3s, lambda = Z'' u^2 + Z' s'' + g and s'' = -Z' (Z'' u^2
  // + g)/(1 + Z'^2).
  const Start<test::BeadOnWire> start;
  ASSERT_TRUE(start.point.consistent);
  const double a = 0.4;
  const double slope = 0.4 + 3.0 * a * std::cos(0.6);
  const double bend = (2.0 - 9.0 * a * std::sin(0.6)) * 0.36 + 9.81;
  EXPECT_EQ(start.y[0], 0.2);
  EXPECT_EQ(start.y[2], 0.6);
  EXPECT_NEAR(start.y[1], 0.04 + a * std::sin(0.6), 1e-14);
  EXPECT_NEAR(start.y[3], slope * 0.6, 1e-14);
  EXPECT_NEAR(start.y[4], 0.2, 1e-14);
  EXPECT_NEAR(start.dy[4], 0.6, 1e-14);
  EXPECT_NEAR(start.y[5], bend - slope * slope * bend / (1.0 + slope * slope), 1e-12);
}

TEST(ConsistentStart, NamesTheHiddenConstraintThatIsViolated) {
  // Velocities along the rod: the derivative of the constraint is 2 (x u + z w).
  const Start<PendulumIndex3> leaving({{2, 0.25}});
  EXPECT_FALSE(leaving.point.consistent);
  EXPECT_EQ(leaving.worst_equation(), "derivative of equation 5 (of variable \"lambda\")");
  EXPECT_NEAR(leaving.point.residual_norm, 0.5, 1e-12);
  const Start<PendulumIndex3> outside({{0, 1.1}, {2, 0.25}});
  EXPECT_EQ(outside.worst_equation(), "equation 5 (of variable \"lambda\")");
  EXPECT_NEAR(outside.point.residual_norm, 0.21, 1e-12);
  EXPECT_FALSE(leaving.point.singular || outside.point.singular);
}

TEST(ConsistentStart, KeepsWhatMeetsTheConstraints) {
  const Start<PendulumIndex3> start({{0, 0.6}, {1, -0.8}, {2, 4.0}, {3, 3.0}, {4, -7.0}});
  ASSERT_TRUE(start.point.consistent);
  const double expected[] = {0.6, -0.8, 4.0, 3.0};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(start.y[i], expected[i]);
  EXPECT_NEAR(start.y[4], 25.0 + 0.8 * 13.7503716360407456, 1e-12);
}

/// Its centre of mass is further from the pin than the rod allows.
struct Impossible : test::CompoundPendulum {
  static constexpr Variable variables[] = {{.name = "x", .initial = 0.7},
                                           {.name = "z", .given = Given::nothing},
                                           {.name = "theta", .initial = 1.0, .given = Given::nothing},
                                           {.name = "u", .index = 2, .given = Given::nothing},
                                           {.name = "w", .index = 2, .given = Given::nothing},
                                           {.name = "omega", .index = 2, .given = Given::nothing},
                                           {.name = "lambda", .algebraic = true, .count = 2, .index = 3}};
};

TEST(ConsistentStart, GivesUpWhereNoGuessHelps) {
  const Start<Impossible> start;
  EXPECT_FALSE(start.point.consistent);
  EXPECT_EQ(start.worst_equation(), "equation 7 (of variable \"lambda1\")");
}

/// The pendulum with equations that no constant expression may contain: there is no pattern to differentiate by.
struct NotConstexpr : PendulumIndex3 {
  static constexpr const char* name = "not_constexpr";
  static void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    static int calls = 0;
    ++calls;
    PendulumIndex3::rhs(t, y, p, f);
  }
};

TEST(ConsistentStart, TakesValuesAsTheyAreWithoutAPattern) {
  const Start<NotConstexpr> start;
  EXPECT_TRUE(start.point.consistent);
  EXPECT_EQ(start.dy[3], -13.7503716360407456549801915596);
  EXPECT_FALSE(Start<NotConstexpr>({{0, 1.1}}).point.consistent);
}

/// Errors at the end relative to 1 + |reference|, for variables of index `index` at most.
template <class Model, template <class, class> class Method = Radau5>
double error_at_end(const std::vector<double>& reference, double tolerance, int index) {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = Model::t_span[1];
  ensemble.rtol = tolerance;
  ensemble.repeat_defaults(1);
  const test::Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success) << Model::name;
  double largest = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (System<Model>::index(static_cast<int>(i)) > index) continue;
    largest = std::max(largest, std::abs(result.values[i] - reference[i]) / (1.0 + std::abs(reference[i])));
  }
  std::cout << Model::name << " " << tolerance << " index " << index << ": " << largest << ", "
            << result.outcomes[0].counters.steps << " steps\n";
  return largest;
}

/// Index 1: thirty tolerances; index 2, whose errors count times h in the error test, ten times the power 3/5, as for
/// the built-in problems; index 3, which are divided by the square of the last step, which may be short: a tenth.
template <class Model>
void expect_solution(const std::vector<double>& reference, double allowance = 30.0) {
  for (const double tolerance : {1e-5, 1e-8}) {
    EXPECT_LE(error_at_end<Model>(reference, tolerance, 1), allowance * tolerance) << Model::name;
    EXPECT_LE(error_at_end<Model>(reference, tolerance, 2), 10.0 * std::pow(tolerance, 0.6)) << Model::name;
    EXPECT_LE(error_at_end<Model>(reference, tolerance, 3), 0.1) << Model::name;
  }
}

TEST(MixedIndex, FrictionPendulum) {
  expect_solution<test::FrictionPendulum>({-0.05866942116230362, -0.9982774659484608, 0.03122914753708188,
                                           -0.0018353574751404501, 9.794080569147354, 0.5935404119604138,
                                           -9.7931019409544});
}
NIGHTLY_TEST(MixedIndex, RollingDisc) {
  // x'' = (push - k x)/(m + J), T = -J x''.
  const double omega = std::sqrt(30.0 / 2.7);
  const double rest = 8.0 / 30.0;
  const double x = rest * (1.0 - std::cos(3.0 * omega)) + 0.5 / omega * std::sin(3.0 * omega);
  const double v = rest * omega * std::sin(3.0 * omega) + 0.5 * std::cos(3.0 * omega);
  const double force = -0.7 * (8.0 - 30.0 * x) / 2.7;
  expect_solution<test::RollingDisc>({x, 0.0, v, 0.0, force, force * v});
}
NIGHTLY_TEST(MixedIndex, CapacitorLoop) {
  expect_solution<test::CapacitorLoop>(
      {-1.0731458360008699, -1.084407295670129, -1.8888074580632699, -9.99999999618971e-07});
}
NIGHTLY_TEST(MixedIndex, ControlledReactor) {
  expect_solution<test::ControlledReactor>(
      {0.3251520256958225, 3.6300575680314235, 1.2724638047352663, 0.4137441837342854, -0.9052665743650095});
}
NIGHTLY_TEST(MixedIndex, CompoundPendulum) {
  expect_solution<test::CompoundPendulum>({0.49973274475902213, -0.016345758337074138, 1.53809898422235,
                                           -0.016033108797806065, -0.4901742275471468, -0.9808727418562805,
                                           0.8654373694116749, -2.971307590896608});
}
NIGHTLY_TEST(MixedIndex, BeadOnWire) {
  expect_solution<test::BeadOnWire>({-0.026949988689482684, -0.031578463160680685, 1.7292823598428604,
                                     1.9751519477724628, -0.026949988689482684, 7.229217684464066},
                                    300.0);
}

// Reference: equal levels have equal slopes, so that the level gives the flow. With the dense output, flows were off by
// 4 to 300 tolerances. Three are for what Newton's method leaves.
TEST(MixedIndex, OutputOfMultipliersBesideVariablesOfIndexOne) {
  const auto expect = [](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = 60.0;
    for (int k = 1; k <= 50; ++k) ensemble.times.push_back(1.2 * k);
    ensemble.repeat_defaults(1);
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      ensemble.rtol = rtol;
      ensemble.atol.assign(4, 1e-9);
      const test::Results result = ensemble.solve();
      ASSERT_EQ(result.outcomes[0].status, Status::success) << kernel.kernel->method;
      double largest = 0.0;
      for (std::size_t k = 0; k < ensemble.times.size(); ++k) {
        const double* y = &result.values[4 * k];
        const double outflow = 0.1 * std::sqrt(y[1]);
        const double flow = (2.0 * 0.1 * (1.0 + 0.5 * std::sin(ensemble.times[k])) + outflow) / 3.0;
        largest = std::max(largest, std::abs(y[2] - flow) / (1e-9 + rtol * flow));
        largest = std::max(largest, std::abs(y[3] - outflow) / (1e-9 + rtol * outflow));
      }
      std::cout << kernel.kernel->method << " " << rtol << ": " << largest << " tolerances\n";
      EXPECT_LT(largest, 3.0) << kernel.kernel->method << " " << rtol;
    }
  };
  test::for_each_kernel<test::CoupledTanks, Radau5, Esdirk54, Bdf>(expect);
}

// The reference of the Test Set. Angles and their velocities; accelerations are no variables of this form.
NIGHTLY_TEST(MixedIndex, AndrewsMechanismWithItsMassMatrix) {
  const std::vector<double> reference = {15.81077119629904,   -15.75637105984298, 0.04082224013073101,
                                         -0.5347301163226948, 0.5244099658805303, 0.5347301163226948,
                                         1.048080741042263};
  for (const double tolerance : {1e-6, 1e-8}) {
    EXPECT_LE(error_at_end<test::Andrews>(reference, tolerance, 1), 30.0 * tolerance);
  }
}
NIGHTLY_TEST(MixedIndex, SliderCrankWithItsMassMatrix) {
  std::vector<double> reference = test::reference_of("slider_crank").values;
  // Positions. Elastic velocities are a thousand times the coordinates that the tolerance is for.
  reference.resize(7);
  EXPECT_LE(error_at_end<Crank>(reference, 1e-8, 1), 3e-7);
}

/// The pendulum with the energy as an invariant beside its constraints.
struct Conserving : PendulumIndex3 {
  static constexpr int invariants = 1;
  static constexpr void invariant(const auto&, const auto& y, const auto& p, auto& g) {
    g[0] = 0.5 * (y[2] * y[2] + y[3] * y[3]) + p[0] * y[1];
  }
};

/// Largest violation at times that fall into the steps.
template <class Model>
double largest_violation(double tolerance, auto&& violation) {
  Ensemble<Model, Radau5, KernelSpec<>{.projection = true}> ensemble(1);
  std::vector<double> times;
  for (int k = 1; k <= 201; ++k) times.push_back(Model::t_span[1] * k / 201.0);
  const EnsembleResult result = ensemble.solve({.rtol = tolerance, .atol = {tolerance}}, times);
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  double largest = 0.0;
  for (int k = 0; k < 201; ++k) {
    largest = std::max(largest, violation([&](int i) { return result.value(0, k, i); }));
  }
  return largest;
}

TEST(ProjectionOfMixedIndex, KeepsHiddenConstraints) {
  const double rod = largest_violation<test::CompoundPendulum>(1e-5, [](auto y) {
    const double place = std::hypot(y(0) - 0.5 * std::sin(y(2)), y(1) + 0.5 * std::cos(y(2)));
    const double speed = std::hypot(y(3) - 0.5 * std::cos(y(2)) * y(5), y(4) - 0.5 * std::sin(y(2)) * y(5));
    return std::max(place, speed);
  });
  EXPECT_LE(rod, 1e-9);
  const double wire = largest_violation<test::BeadOnWire>(1e-5, [](auto y) {
    const double slope = 2.0 * y(4) + 1.2 * std::cos(3.0 * y(4));
    return std::max({std::abs(y(0) - y(4)), std::abs(y(1) - y(4) * y(4) - 0.4 * std::sin(3.0 * y(4))),
                     std::abs(y(3) - slope * y(2))});
  });
  EXPECT_LE(wire, 1e-9);
}

NIGHTLY_TEST(ProjectionOfMixedIndex, KeepsInvariantsBesideConstraints) {
  const double violation = largest_violation<Conserving>(1e-5, [](auto y) {
    return std::max({std::abs(y(0) * y(0) + y(1) * y(1) - 1.0), std::abs(y(0) * y(2) + y(1) * y(3)),
                     std::abs(0.5 * (y(2) * y(2) + y(3) * y(3)) + 13.7503716360407456 * y(1))});
  });
  EXPECT_LE(violation, 1e-8);
}

/// What the compiler's message says of a model with the pendulum's equations and these variables.
std::string refusal(const std::string& name, const std::string& lambda, const std::string& constraint) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("manyfold_" + name + ".hpp");
  std::ofstream(path)
      << "#include <manyfold/model.hpp>\nstruct Stated {\n"
         "  static constexpr const char* name = \"stated\";\n"
         "  static constexpr double t_span[] = {0.0, 1.0};\n"
         "  static constexpr manyfold::Variable variables[] = {{.name = \"x\", .initial = 1.0}, {.name = "
         "\"z\"}, {.name = \"u\"}, {.name = \"w\"}, {.name = \"lambda\", .algebraic = true"
      << lambda
      << "}};\n"
         "  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {\n"
         "    f[0] = y[2];\n    f[1] = y[3];\n    f[2] = -y[4] * y[0];\n"
         "    f[3] = -y[4] * y[1] - 9.81;\n    f[4] = "
      << constraint << ";\n  }\n};\nMANYFOLD_MODEL(Stated);\n";
  KernelRequest request;
  request.model = path.string();
  request.options.method = "radau5";
  request.instruction_set = "scalar";
  std::string message;
  try {
    load_kernel(request);
  } catch (const UsageError& error) {
    message = error.what();
  }
  std::filesystem::remove(path);
  return message;
}

TEST(StatedIndex, IsRefusedWhereTheStructureForbidsIt) {
  const auto expect = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find("error: manyfold: " + words), std::string::npos) << message;
  };
  const std::string circle = "y[0] * y[0] + y[1] * y[1] - 1.0";
  expect(refusal("default", "", circle), "all variables state index 1");
  expect(refusal("two", ", .index = 2", circle), "variables state index 2 at most, but the equations have index 3");
  expect(refusal("singular", ", .index = 2", "0.0"), "the equations do not determine the variables");
}

}  // namespace
}  // namespace manyfold
