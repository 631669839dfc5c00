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

TEST(EnsembleOfCpp, RefusesWhatItCannotUse) {
  EXPECT_THROW(Ensemble<Pendulum>(0), UsageError);
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
        "Ensemble: rtol is 1e-16, but must be at least 2.2e-15, ten times the rounding error, and less than 1");
  }
  EXPECT_THROW(ensemble.solve({.atol = {1.0, 2.0}}), UsageError);
}

}  // namespace
}  // namespace manyfold
