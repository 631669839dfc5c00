// Lanes forget: identical instances are bit for bit identical, in whatever lane, after whatever refill and beside
// whatever neighbour, with every method and every way of choosing steps.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ensembles.hpp"
#include "tests/support/methods.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// What an instance is like, by the parameters of refill.hpp.
struct Kind {
  std::string_view name;
  int parameter;
  double value;
};
enum { threshold = 3, domain, frequency };
constexpr Kind plain = {"plain", frequency, 1.0};
constexpr Kind with_events = {"with events", threshold, 0.9985};
constexpr Kind nonfinite = {"nonfinite", domain, 20.0};
constexpr Kind endless = {"endless", frequency, 1e7};

/// Values and outcome of an instance as bytes.
std::string bits(const test::Results& results, std::size_t instance) {
  std::string text;
  const auto add = [&](const auto& value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const std::size_t width = results.values.size() / results.outcomes.size();
  for (std::size_t i = 0; i < width; ++i) add(results.values[instance * width + i]);
  const InstanceOutcome& outcome = results.outcomes[instance];
  add(outcome.status);
  add(outcome.t_reached);
  add(outcome.counters);
  for (const EventRecord& record : results.events[instance]) add(record.time);
  for (const double value : results.event_values[instance]) add(value);
  return text;
}

class Refill : public testing::TestWithParam<std::string> {
 protected:
  Refill() {
    const std::string& method = GetParam();
    const MethodDescription* known = described_method(method);
    const bool algebraic = known == nullptr || known->limits.algebraic;
    const std::string file = algebraic ? "refill.hpp" : "refill_ode.hpp";
    ensemble_.loaded = &test::kernel_of(test::source_folder() + "/tests/engine/" + file, method);
    ensemble_.t_end = ensemble_.loaded->model.t_end;
    ensemble_.times = {0.01, 0.07, 0.1};
    ensemble_.rtol = 1e-4;
    ensemble_.atol = {1e-4, 1e-8, 1e-4};
    ensemble_.max_steps = 1000;
  }

  /// 19 instances of each kind, by turns, against one of the kind alone.
  void expect_independence(const std::vector<Kind>& kinds) {
    ensemble_.repeat_defaults(19 * kinds.size());
    const auto make = [](test::Ensemble& ensemble, std::size_t instance, const Kind& kind) {
      ensemble.parameters[instance * ensemble.parameter_count() + static_cast<std::size_t>(kind.parameter)] =
          kind.value;
    };
    for (std::size_t i = 0; i < ensemble_.instances(); ++i) make(ensemble_, i, kinds[i % kinds.size()]);
    const test::Results together = ensemble_.solve();
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      test::Ensemble single = ensemble_;
      single.repeat_defaults(1);
      make(single, 0, kinds[k]);
      const test::Results alone = single.solve();
      const InstanceOutcome& outcome = alone.outcomes[0];
      if (ensemble_.fixed_step == 0.0) {
        // A matrix of what are no numbers is singular too.
        const bool as_expected =
            kinds[k].name == nonfinite.name
                ? outcome.status == Status::nonfinite_residual || outcome.status == Status::singular_jacobian
                : outcome.status == (kinds[k].name == endless.name ? Status::max_steps : Status::success);
        EXPECT_TRUE(as_expected) << kinds[k].name << ": " << status_name(outcome.status);
        EXPECT_EQ(outcome.counters.events > 0, kinds[k].name == with_events.name);
      }
      for (std::size_t i = k; i < together.outcomes.size(); i += kinds.size()) {
        ASSERT_EQ(bits(together, i), bits(alone, 0))
            << kinds[k].name << ", instance " << i << ": " << together.outcomes[i].counters.steps << " steps beside "
            << outcome.counters.steps;
      }
    }
  }

  void expect_independence_in_all_company() {
    expect_independence({plain});
    expect_independence({plain, nonfinite});
    expect_independence({plain, with_events});
    expect_independence({plain, endless, with_events, nonfinite});
  }

  test::Ensemble ensemble_;
};

TEST_P(Refill, WithAnAutomaticFirstStep) {
  expect_independence_in_all_company();
}

TEST_P(Refill, WithAGivenFirstStep) {
  ensemble_.first_step = 1e-3;
  expect_independence_in_all_company();
}

// With one step from the start to the end nothing hides what the lane remembers of the instance before.
TEST_P(Refill, WithAFirstStepOverTheWholeSpan) {
  ensemble_.t_end = 1e-4;
  ensemble_.times = {1e-4};
  ensemble_.first_step = 1e-4;
  ensemble_.rtol = 1e-6;
  ensemble_.atol = {1e-6, 1e-6, 1e-6};
  expect_independence({plain});
}

TEST_P(Refill, WithFixedSteps) {
  ensemble_.fixed_step = 5e-4;
  expect_independence_in_all_company();
}

INSTANTIATE_TEST_SUITE_P(Methods, Refill, testing::ValuesIn(test::sampled(test::methods_with_code_of_their_own(), 4)),
                         [](const auto& test) { return test.param; });

// The instances that showed it: the first eight gave one result, the others another.
TEST(RefillOfBdf, RobertsonWithAFirstStepOverTheWholeSpan) {
  test::Ensemble ensemble;
  ensemble.loaded = &test::kernel_of("robertson", "bdf");
  ensemble.t_end = 1e-4;
  ensemble.first_step = 1e-4;
  ensemble.rtol = 1e-6;
  ensemble.repeat_defaults(16);
  const test::Results results = ensemble.solve();
  ASSERT_EQ(results.outcomes[0].status, Status::success);
  for (std::size_t i = 1; i < 16; ++i) ASSERT_EQ(bits(results, i), bits(results, 0)) << "instance " << i;
}

}  // namespace
}  // namespace manyfold
