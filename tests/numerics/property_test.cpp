// Properties that need no reference solution: invariants, there and back, dense output on the way, independence of the
// instruction set.
#include <gtest/gtest.h>

#include <cmath>

#include <manyfold/ensemble.hpp>

#include "problems/pendulum/pendulum.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

constexpr double g = 13.7503716360407456549801915596;

std::vector<double> angles() {
  std::vector<double> result;
  for (int i = 0; i < 33; ++i) result.push_back(-1.4 + 2.8 * i / 32.0);
  return result;
}

TEST(Pendulum, KeepsLengthTangencyAndEnergy) {
  Ensemble<Pendulum> ensemble(33);
  ensemble.set("angle", angles());
  const auto result = ensemble.solve({.rtol = 1e-9, .atol = {1e-9}}, {0.3, 0.7, 1.1, 2.0});
  for (int i = 0; i < 33; ++i) {
    const double energy = -g * std::cos(angles()[static_cast<std::size_t>(i)]);
    for (int time = 0; time < 4; ++time) {
      const double x = result.value(i, time, 0);
      const double z = result.value(i, time, 1);
      const double u = result.value(i, time, 2);
      const double w = result.value(i, time, 3);
      // Invariants of the index-1 form, so they drift with the error: a hundred tolerances as for the end point. Dense
      // output is of order four where the step is of order five, which costs another factor of ten.
      EXPECT_NEAR(x * x + z * z, 1.0, 1e-6);
      EXPECT_NEAR(x * u + z * w, 0.0, 1e-5);
      EXPECT_NEAR(0.5 * (u * u + w * w) + g * z, energy, 1e-5);
    }
  }
}

TEST(Pendulum, SwingsThereAndBack) {
  Ensemble<Pendulum> forward(33);
  forward.set("angle", angles());
  forward.t_span(0.0, 1.0);
  const auto there = forward.solve({.rtol = 1e-9, .atol = {1e-9}});
  Ensemble<Pendulum> backward(33);
  for (int variable = 0; variable < 5; ++variable) {
    std::vector<double> end;
    for (int i = 0; i < 33; ++i) end.push_back(there.value(i, 0, variable));
    backward.set(backward.model().variables[static_cast<std::size_t>(variable)].name, end);
  }
  backward.t_span(1.0, 0.0);
  const auto back = backward.solve({.rtol = 1e-9, .atol = {1e-9}}, {0.5, 0.0});
  const auto half = forward.solve({.rtol = 1e-9, .atol = {1e-9}}, {0.5});
  for (int i = 0; i < 33; ++i) {
    ASSERT_EQ(back.outcomes[static_cast<std::size_t>(i)].status, Status::success);
    const double angle = angles()[static_cast<std::size_t>(i)];
    EXPECT_NEAR(back.value(i, 1, 0), std::sin(angle), 1e-6);
    EXPECT_NEAR(back.value(i, 1, 1), -std::cos(angle), 1e-6);
    EXPECT_NEAR(back.value(i, 0, 0), half.value(i, 0, 0), 1e-6);
  }
}

// Seconds since 1970 are resolved to 2.4e-7. What rounding takes from them in each step is kept for the next, so that
// the steps and the solution stay as they are; without, the end was off by up to 8e-5.
TEST(Pendulum, SwingsAtALateTimeAsAtAnEarlyOne) {
  std::vector<EnsembleResult> results;
  for (const double begin : {0.0, 1.7e9}) {
    Ensemble<Pendulum> ensemble(33);
    ensemble.set("angle", angles());
    ensemble.t_span(begin, begin + 2.0);
    results.push_back(ensemble.solve({.rtol = 1e-9, .atol = {1e-9}}));
  }
  for (int i = 0; i < 33; ++i) {
    for (int variable = 0; variable < 5; ++variable) {
      EXPECT_NEAR(results[1].value(i, 0, variable), results[0].value(i, 0, variable), 1e-12) << i;
    }
  }
}

/// Two masses at the joints of a four-bar linkage with its three rods, at index 1: positions and velocities are on the
/// constraints by projection alone.
struct Linkage {
  static constexpr const char* name = "linkage";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {{.name = "position", .count = 4},
                                           {.name = "velocity", .count = 4},
                                           {.name = "force", .algebraic = true, .count = 3}};
  enum { gravity, angle, apart };
  static constexpr Parameter parameters[] = {
      {.name = "gravity", .value = 9.81}, {.name = "angle", .value = 0.6}, {.name = "apart", .value = 0.7}};
  static constexpr int invariants = 6;
  static constexpr bool projection = true;
  static constexpr double crank = 0.3;
  static constexpr double coupler = 0.8;
  static constexpr double rocker = 0.6;
  static constexpr void initial(const auto& p, auto& y) {
    y[0] = crank * cos(p[angle]);
    y[1] = crank * sin(p[angle]);
    const auto dx = p[apart] - y[0];
    const auto distance = sqrt(dx * dx + y[1] * y[1]);
    const auto along = (square(coupler) - square(rocker) + square(distance)) / (2.0 * distance);
    const auto across = sqrt(square(coupler) - along * along);
    y[2] = y[0] + (along * dx + across * y[1]) / distance;
    y[3] = y[1] + (across * dx - along * y[1]) / distance;
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto dx = y[2] - y[0], dy = y[3] - y[1];
    const auto ex = y[2] - p[apart];
    for (int i = 0; i < 4; ++i) f[i] = y[4 + i];
    f[4] = -y[8] * y[0] + y[9] * dx;
    f[5] = -y[8] * y[1] + y[9] * dy - p[gravity];
    f[6] = -y[9] * dx - y[10] * ex;
    f[7] = -y[9] * dy - y[10] * y[3] - p[gravity];
    f[8] = y[0] * f[4] + y[1] * f[5] + square(y[4]) + square(y[5]);
    f[9] = dx * (f[6] - f[4]) + dy * (f[7] - f[5]) + square(y[6] - y[4]) + square(y[7] - y[5]);
    f[10] = ex * f[6] + y[3] * f[7] + square(y[6]) + square(y[7]);
  }
  static constexpr void invariant(const auto&, const auto& y, const auto& p, auto& residual) {
    const auto dx = y[2] - y[0], dy = y[3] - y[1];
    const auto ex = y[2] - p[apart];
    residual[0] = square(y[0]) + square(y[1]) - square(crank);
    residual[1] = square(dx) + square(dy) - square(coupler);
    residual[2] = square(ex) + square(y[3]) - square(rocker);
    residual[3] = y[0] * y[4] + y[1] * y[5];
    residual[4] = dx * (y[6] - y[4]) + dy * (y[7] - y[5]);
    residual[5] = ex * y[6] + y[3] * y[7];
  }
};

double energy_of(const EnsembleResult& result, int instance, int time) {
  const auto y = [&](int j) { return result.value(instance, time, j); };
  return 0.5 * (square(y(4)) + square(y(5)) + square(y(6)) + square(y(7))) + 9.81 * (y(1) + y(3));
}

// The differences of the corrector's values show the error that the projection takes away, and what Newton's method
// leaves with the matrix of another step goes to and fro: with both, orders stayed low, and these took 6,277 steps in
// the mean instead of 4,341. A linkage with a motor and a spring took up to 121,000 steps of order 1 at 1e-8 and was
// off by thousands of tolerances.
TEST(Linkage, TakesNoMoreStepsForItsProjection) {
  constexpr int instances = 40;
  Ensemble<Linkage, Bdf> ensemble(instances);
  std::vector<double> angles;
  std::vector<double> distances;
  for (int i = 0; i < instances; ++i) {
    angles.push_back(0.2 + 0.02 * i);
    distances.push_back(0.65 + 0.002 * i);
  }
  ensemble.set("angle", angles);
  ensemble.set("apart", distances);
  const EnsembleResult result = ensemble.solve({.rtol = 1e-8, .atol = {1e-11}}, {0.0, 4.0});
  double steps = 0.0;
  for (int i = 0; i < instances; ++i) {
    ASSERT_EQ(result.outcomes[static_cast<std::size_t>(i)].status, Status::success) << i;
    steps += static_cast<double>(result.outcomes[static_cast<std::size_t>(i)].counters.steps) / instances;
    // Thirty tolerances.
    EXPECT_NEAR(energy_of(result, i, 1), energy_of(result, i, 0), 3e-7) << i;
  }
  EXPECT_LE(steps, 5000.0);
}

TEST(InstructionSets, AgreeToAFewTolerances) {
  std::vector<test::Results> results;
  for (const char* instruction_set : {"scalar", "baseline", ""}) {
    test::Ensemble ensemble;
    ensemble.loaded = &test::kernel_of("robertson", "radau5", instruction_set);
    ensemble.t_end = 1e4;
    ensemble.atol = {1e-7, 1e-11, 1e-7};
    // Not a multiple of any pack.
    test::Uniform uniform(8);
    for (int i = 0; i < 31; ++i) {
      for (const double rate : {0.04, 1e4, 3e7}) ensemble.parameters.push_back(rate * (0.5 + uniform()));
    }
    results.push_back(ensemble.solve());
  }
  for (std::size_t k = 0; k < results[0].values.size(); ++k) {
    for (std::size_t set = 1; set < results.size(); ++set) {
      EXPECT_NEAR(results[set].values[k], results[0].values[k], 3e-6 * (1e-5 + std::abs(results[0].values[k])));
    }
  }
}

struct BoundedDecay {
  static constexpr const char* name = "bounded_decay";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "y", .initial = 1.0, .min = 0.0}};
  static constexpr Parameter parameters[] = {{.name = "k", .value = -2.0, .min = 0.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) { f[0] = -p[0] * y[0]; }
};

TEST(EnsembleOfCpp, RefusesWhatItCannotUse) {
  EXPECT_THROW(Ensemble<Pendulum>(0), UsageError);
  EXPECT_THROW(Ensemble<Pendulum>(std::numeric_limits<std::int64_t>::max()), UsageError);
  Ensemble<Pendulum> ensemble(3);
  EXPECT_THROW(ensemble.set("nothing", 1.0), UsageError);
  EXPECT_THROW(ensemble.set("L", std::vector<double>{1.0, 2.0}), UsageError);
  EXPECT_THROW(ensemble.solve({.rtol = -1.0}), UsageError);
  EXPECT_THROW(ensemble.solve({.rtol = 1e-120, .atol = {1e-6}}), UsageError);
  EXPECT_THROW(ensemble.solve({.rtol = 0.0, .atol = {0.0}}), UsageError);
  EXPECT_THROW(ensemble.solve({.rtol = std::nan("")}), UsageError);
  EXPECT_THROW(ensemble.solve({.atol = {-1.0}}), UsageError);
  EXPECT_THROW(ensemble.solve({.atol = {std::numeric_limits<double>::infinity()}}), UsageError);
  try {
    ensemble.solve({.rtol = 1e-16});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "Ensemble: rtol is 1e-16, but must be at least 2.220446e-15, ten times the rounding error, and less than 1");
  }
  EXPECT_THROW(ensemble.solve({.atol = {1.0, 2.0}}), UsageError);
}

/// What the ensemble says when `call` asks it for what it cannot do.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(EnsembleOfCpp, InputsKeepToTheirBounds) {
  Ensemble<BoundedDecay> ensemble(2);
  const std::vector<double> values = {1.0, -1.0};
  EXPECT_EQ(refusal([&] { ensemble.set("k", values); }), "Ensemble: k of instance 1 is -1, below its minimum 0");
  EXPECT_EQ(refusal([&] { ensemble.set("y", values); }), "Ensemble: y of instance 1 is -1, below its minimum 0");
  EXPECT_EQ(refusal([&] { ensemble.solve(); }),
            "Ensemble: model bounded_decay: parameter k is -2, below its minimum 0");
  ensemble.set("k", 0.0);
  EXPECT_EQ(refusal([&] { ensemble.solve(); }), "not refused");
}

TEST(EnsembleOfCpp, SaysWhatItGotAndWhatItNeeds) {
  Ensemble<Pendulum> ensemble(2);
  ensemble.t_span(0.0, 1.0);
  const auto solve = [&](const SolverOptions& options, const std::vector<double>& times = {}) {
    return refusal([&] { ensemble.solve(options, times); });
  };
  EXPECT_EQ(solve({.method = "esdirk54"}),
            "Ensemble: method is 'esdirk54', but 'radau5' is compiled in: needs the method's class, as in "
            "Ensemble<Model, manyfold::Esdirk54>");
  EXPECT_NE(solve({.method = "nonsense"}).find("method is 'nonsense'"), std::string::npos);
  EXPECT_EQ(solve({.method = "radau5"}), "not refused");
  EXPECT_NE(solve({.backend = "cuda"}).find("backend is 'cuda'"), std::string::npos);
  EXPECT_NE(solve({.precision = "mixed"}).find("precision is 'mixed', but 'float64' is compiled in"),
            std::string::npos);
  EXPECT_NE(solve({.tier = "phased"}).find("tier is 'phased'"), std::string::npos);
  EXPECT_EQ(solve({.threads = -1}), "Ensemble: threads is -1, needs at least 0 (0: one per processor)");
  EXPECT_EQ(solve({.max_steps = 0}), "Ensemble: max_steps is 0, needs at least 1");
  EXPECT_EQ(solve({.first_step = -1e-9}), "Ensemble: first_step is -1e-09, needs at least 0 (0: chosen by the method)");
  EXPECT_EQ(solve({.event_log = -1}), "Ensemble: event_log is -1, needs at least 0");
  EXPECT_EQ(solve({.max_step = 0.0}), "Ensemble: max_step is 0, needs more than 0");
  EXPECT_EQ(solve({}, {1.0, 0.25, 0.5}), "Ensemble: times[1] is 0.25 after 1, but times need the order of integration");
  EXPECT_EQ(solve({}, {0.5, 1.5}), "Ensemble: times[1] is 1.5, needs to be within the time span from 0 to 1");
  EXPECT_NE(solve({}, {std::nan("")}).find("times[0] is nan"), std::string::npos);
  EXPECT_EQ(refusal([&] { ensemble.t_span(1.0, 1.0); }),
            "Ensemble: t_span is from 1 to 1, needs two different finite numbers");
  EXPECT_EQ(refusal([&] {
              ensemble.set("L", std::vector{1.0, std::nan("")});
            }),
            "Ensemble: L of instance 1 is nan, needs a finite number");
  EXPECT_EQ(refusal([&] { Ensemble<Pendulum, Esdirk54>(1).solve({.method = "radau5"}); }).find("Ensemble: method is"),
            0U);
}

TEST(EnsembleOfCpp, ValuesOutOfRangeThrow) {
  Ensemble<Pendulum> ensemble(2);
  ensemble.t_span(0.0, 0.1);
  const EnsembleResult result = ensemble.solve({}, {0.05, 0.1});
  EXPECT_NO_THROW(result.value(1, 1, result.variable_count - 1));
  EXPECT_THROW(result.value(0, 0, result.variable_count), std::out_of_range);
  EXPECT_THROW(result.value(0, 0, -1), std::out_of_range);
  EXPECT_THROW(result.value(0, 2, 0), std::out_of_range);
  EXPECT_THROW(result.value(2, 0, 0), std::out_of_range);
}

}  // namespace
}  // namespace manyfold
