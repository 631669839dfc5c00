// What is given at the start, and what is found: against closed forms, and against solutions that have come to rest.
#include <gtest/gtest.h>

#include <cmath>

#include <manyfold/ensemble.hpp>

#include "host/io/initial_conditions.hpp"
#include "problems/robertson/robertson.hpp"
#include "tests/engine/pump.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

constexpr double unset = std::numeric_limits<double>::quiet_NaN();

/// An ensemble that keeps, of every instance, where it starts; `starts` [instances][initial quantities].
struct Start {
  LoadedKernel loaded;
  std::vector<double> starts;
  test::Results results;

  Start(const std::string& model, const std::vector<std::string>& names, const std::vector<std::vector<double>>& rows,
        const std::vector<double>& parameters = {}, const std::string& instruction_set = "scalar") {
    KernelRequest request;
    request.model = model;
    request.options.method = "radau5";
    request.instruction_set = instruction_set;
    if (!names.empty()) request.given = given_at_start(describe(request), names);
    loaded = load_kernel(request);
    test::Ensemble ensemble{};
    ensemble.loaded = &loaded;
    ensemble.repeat_defaults(rows.size());
    if (!parameters.empty()) ensemble.parameters = parameters;
    ensemble.t_end = 1e-3;
    ensemble.times = {0.0, 1e-3};
    ensemble.rtol = 1e-10;
    EnsembleRun run = ensemble.request();
    const auto fill = run.fill_instance;
    run.fill_instance = [&](std::int64_t instance, double* p, double* initial, double* t_span) {
      fill(instance, p, initial, t_span);
      const std::vector<double>& row = rows[static_cast<std::size_t>(instance)];
      std::copy(row.begin(), row.end(), initial);
    };
    InMemoryResult memory;
    run_ensemble(run, memory);
    results = test::results_of(memory.results());
  }
  double value(std::size_t instance, std::size_t variable) const {
    return results.values[instance * 2 * loaded.model.variables.size() + variable];
  }
};

TEST(InitialConditions, GivesAnAlgebraicVariableAndADerivative) {
  // 0 = k1 y1 - k2 y2 y3 - k3 y2^2 - y2' with y1 = 1 - y2 - y3 is a quadratic equation for y2. Twenty instances, so
  // that packs are not full.
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({unset, unset, 0.01 + 0.04 * i, 1e-4 * i});
  const Start start("robertson", {"y3", "der(y2)"}, rows, {}, "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(start.results.outcomes[i].status, Status::success) << i;
    const double y3 = rows[i][2];
    const double b = 1e4 * y3 + 0.04;
    const double c = 0.04 * (1.0 - y3) - rows[i][3];
    const double y2 = 2.0 * c / (b + std::sqrt(b * b + 4.0 * 3e7 * c));
    // atol is 1e-10 and the search stops at a thousandth of it; the last correction is squared.
    EXPECT_NEAR(start.value(i, 1), y2, 1e-12) << i;
    EXPECT_NEAR(start.value(i, 0), 1.0 - y2 - y3, 1e-12) << i;
    EXPECT_EQ(start.value(i, 2), y3) << "what is given is kept";
  }
}

TEST(InitialConditions, GivesAValueWithItsDerivative) {
  const Start start("robertson", {"y1", "der(y1)"}, {{0.9, unset, 0.1, -1e-3}});
  ASSERT_EQ(start.results.outcomes[0].status, Status::success);
  // -k1 y1 + k2 y2 y3 = y1' with y3 = 0.1 - y2; the root near y2 = 0, where the search starts (at
  // y3 = 0 its matrix would be singular).
  const double c = (0.04 * 0.9 - 1e-3) / 1e4;
  const double y2 = 2.0 * c / (0.1 + std::sqrt(0.01 - 4.0 * c));
  EXPECT_NEAR(start.value(0, 1), y2, 1e-12);
}

TEST(InitialConditions, KeepConsistentValues) {
  // The amplifier's values satisfy its equations exactly. Its mass matrix hides what is algebraic, and the start is
  // followed back along a line from two short steps: the line left the solution by 8e-9 at u4, and bdf found no step
  // at rtol 1e-9 and below. What is left is far below the tolerance of 1e-10.
  const Start start("transistor_amplifier", {}, {std::vector<double>(8, unset)});
  ASSERT_EQ(start.results.outcomes[0].status, Status::success);
  constexpr double consistent[] = {0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(start.value(0, i), consistent[i], 1e-11) << i;
}

TEST(InitialConditions, StartWhereEverythingIsZero) {
  // The first two short steps left voltages of 1e-24 V. The time that these take to change is so short that the matrix
  // of the next two steps was singular. Reference: SciPy's Radau at 1e-12 for the voltage of the capacitor.
  const Start start(test::source_folder() + "/tests/engine/coupled_diode.hpp", {}, {{unset, unset}, {1e-13, 0.0}});
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(start.results.outcomes[i].status, Status::success) << i;
    EXPECT_NEAR(start.value(i, 1), 0.0, 1e-11) << i;
    EXPECT_NEAR(start.results.values[4 * i + 3], -8.973443091555655, 1e-7) << i;
  }
}

TEST(InitialConditions, AreFoundFromAGuessWhoseMatrixIsSingular) {
  // The root of the difference of levels falls by the time in which the valve is open, times 1/2 m^(1/2)/s.
  const Start start(test::source_folder() + "/tests/engine/valve.hpp", {},
                    {{unset, unset, unset}, {unset, unset, unset}}, {0.5e-3, 0.0, 2.0, 1.0});
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(start.results.outcomes[i].status, Status::success) << i;
    EXPECT_NEAR(start.value(i, 2), i == 0 ? 0.0 : 0.5 * std::sqrt(2.0), 1e-10) << i;
    const double flow = 0.5 * (std::sqrt(2.0) - 0.5 * (i == 0 ? 0.5e-3 : 1e-3));
    EXPECT_NEAR(start.results.values[6 * i + 5], flow, 1e-10) << i;
  }
}

TEST(InitialConditions, AreFoundOnEitherSideOfASingularGuess) {
  // y = x at the guess, and no equation depends on b. By hand: x1 = 1/3, y1 = 2/3, and b = 1/5 gives z = 0.4.
  const Start start(test::source_folder() + "/tests/engine/drum.hpp", {},
                    {{unset, 0.0, unset, unset, unset, unset}, {unset, 0.9, unset, unset, unset, unset}});
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(start.results.outcomes[i].status, Status::success) << i;
    EXPECT_NEAR(start.value(i, 1), 0.2, 1e-9) << i;
    EXPECT_NEAR(start.value(i, 2), 1.0 / 3.0, 1e-9) << i;
  }
}

TEST(InitialConditions, StartsAtRest) {
  // Each transistor by itself, by bisection: u = voltage from base to emitter.
  const Start start("transistor_amplifier", {"steady_state"}, {{}, {0.1, 2.0, 2.5, 5.0, 2.0, 2.0, 4.0, -0.1}});
  const auto current = [](double u) { return 1e-6 * (std::exp(u / 0.026) - 1.0); };
  double low = 0.0;
  double high = 0.5;
  const auto emitter = [&](double u) { return 9000.0 * current(u); };
  const auto base = [&](double u) { return (6.0 / 9000.0 - 0.01 * current(u)) * 4500.0; };
  for (int k = 0; k < 100; ++k) {
    const double u = 0.5 * (low + high);
    (base(u) - emitter(u) > u ? low : high) = u;
  }
  const double expected[] = {0.0, base(low), emitter(low), 6.0 - 9000.0 * 0.99 * current(low)};
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(start.results.outcomes[i].status, Status::success) << i;
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(start.value(i, k), expected[k], 1e-10) << i << ", " << k;
    EXPECT_NEAR(start.value(i, 4), expected[1], 1e-10);
    EXPECT_NEAR(start.value(i, 7), 0.0, 1e-10);
  }
}

TEST(InitialConditions, FindsMultipliersOfHigherIndex) {
  // lambda = (u^2 + w^2 - g z)/L^2, from differentiating x^2 + z^2 = L^2 twice, whatever was given.
  const double g = 13.7503716360407456;
  const double c = std::cos(0.4);
  const double s = std::sin(0.4);
  const Start start("pendulum_index3", {}, {{s, -c, 2.0 * c, 2.0 * s, 99.0}, {s, -c, 0.0, 0.0, unset}});
  ASSERT_EQ(start.results.outcomes[0].status, Status::success);
  EXPECT_NEAR(start.value(0, 4), 4.0 + g * c, 1e-12);
  EXPECT_NEAR(start.value(1, 4), g * c, 1e-12);
  // The equilibrium of a reaction, CA = CB/Keq, gives R1 = (Keq Fa CA0/V + R2)/(1 + Keq) with R2 = k2 CB.
  const Start reactor("cstr", {}, {{5.0, 1.0, 0.5, 0.0, 99.0, 99.0}});
  EXPECT_NEAR(reactor.value(0, 5), 0.5, 1e-12);
  EXPECT_NEAR(reactor.value(0, 4), (0.5 * 1.0 * 2.0 / 5.0 + 0.5) / 1.5, 1e-12);
}

TEST(InitialConditions, ProjectsOnConstraints) {
  // The multiplier acts along the rod: positions go to the circle on their ray, velocities to its tangent.
  const std::vector<double> given = {1.1, 0.2, 0.3, -1.0, 0.0};
  const Start start("pendulum_index3", {"projected"}, {given, {1.0, 0.0, 0.0, -0.5, 0.0}});
  ASSERT_EQ(start.results.outcomes[0].status, Status::success);
  const double length = std::hypot(given[0], given[1]);
  const double x = given[0] / length;
  const double z = given[1] / length;
  const double outwards = given[2] * x + given[3] * z;
  const double u = given[2] - outwards * x;
  const double w = given[3] - outwards * z;
  const double expected[] = {x, z, u, w, u * u + w * w - 13.7503716360407456 * z};
  // Newton's method stops below 1e-4 of rtol = 1e-10, and its corrections are squared.
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(start.value(0, i), expected[i], 1e-12) << i;
  EXPECT_EQ(start.value(1, 3), -0.5) << "what meets the constraints stays";
  const Start outside("pendulum_index3", {}, {given});
  EXPECT_EQ(outside.results.outcomes[0].status, Status::inconsistent_initial_conditions);
}

// Of the pendulum two numbers are free; the others are guesses, and decide between the solutions.
TEST(InitialConditions, FindsTheRestOfWhatIsFree) {
  const Start start("pendulum_index3", {"x", "w"}, {{0.6, -0.7, 0.0, 3.0, 0.0}, {0.6, 0.9, 1.0, 3.0, 0.0}});
  const double g = 13.7503716360407456;
  const double expected[][5] = {{0.6, -0.8, 4.0, 3.0, 25.0 + 0.8 * g}, {0.6, 0.8, -4.0, 3.0, 25.0 - 0.8 * g}};
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_EQ(start.results.outcomes[k].status, Status::success);
    EXPECT_EQ(start.value(k, 0), 0.6);
    EXPECT_EQ(start.value(k, 3), 3.0);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(start.value(k, i), expected[k][i], 1e-11) << i;
  }
}

TEST(InitialConditions, AreAPartOfTheModel) {
  Ensemble<Pump> ensemble(2);
  const std::vector<double> rates = {-0.25, 0.5};
  ensemble.set("der(h)", rates);
  const EnsembleResult result = ensemble.solve({.rtol = 1e-9, .atol = {1e-9}}, {0.0, 1.0});
  for (int i = 0; i < 2; ++i) {
    const double q = 1.0 - rates[static_cast<std::size_t>(i)];
    EXPECT_NEAR(result.value(i, 0, 1), q, 1e-11);
    EXPECT_NEAR(result.value(i, 0, 0), 0.5 * q * q, 1e-11);
  }
  EXPECT_THROW(ensemble.solve({.initial_conditions = {"h"}}), UsageError);
  EXPECT_THROW(ensemble.set("der(q)", 1.0), UsageError);
}

TEST(InitialConditions, NamesTheEquationThatIsNotMet) {
  // The second instance has no solution: q = 1.25 but q^2 = 0. Its neighbours do not notice.
  const std::string path = test::source_folder() + "/tests/engine/pump.hpp";
  const Start start(path, {}, {{}, {}, {}}, {1.0, 2.0, 1.0, 0.0, 1.0, 4.0});
  EXPECT_EQ(start.results.outcomes[0].status, Status::success);
  EXPECT_EQ(start.results.outcomes[2].status, Status::success);
  EXPECT_NEAR(start.value(2, 0), 1.25 * 1.25 / 4.0, 1e-11);
  const InstanceOutcome& failure = start.results.outcomes[1];
  EXPECT_EQ(failure.status, Status::singular_jacobian);
  EXPECT_EQ(failure.residual_norm, 1.25);
  ASSERT_GE(failure.worst_equation, 0);
  EXPECT_EQ(start.loaded.model.equations[static_cast<std::size_t>(failure.worst_equation)], "balance");
  EXPECT_EQ(start.results.outcomes[0].worst_equation, -1);
}

TEST(InitialConditions, RefusesWhatCannotBeGiven) {
  const auto refused = [](const std::string& model, const std::vector<std::string>& names, const std::string& words) {
    try {
      given_at_start(describe({.model = model}), names);
      ADD_FAILURE() << words;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused("robertson", {"y1"}, "names 1, but model \"robertson\" needs 2: as many as it has differential variables");
  refused("robertson", {"y1", "y1"}, "\"y1\" is named twice");
  refused("robertson", {"y1", "der(y3)"}, "\"der(y3)\" is no variable of model \"robertson\"");
  refused("robertson", {"y1", "der(y9)"}, "did you mean");
  refused("pendulum_index2", {"steady_state"}, "which has constraints");
  refused("pendulum_index3", {"x", "z", "u"}, "names 3, but of model \"pendulum_index3\" 2 initial values are free");
  refused("pendulum_index3", {"x", "x"}, "\"x\" is named twice");
  refused("pendulum_index3", {"lambda"}, "is no variable whose derivative stands in the equations");
  refused("robertson", {"projected"}, "has nothing to project on");
}

}  // namespace
}  // namespace manyfold
