// Where events are found, what they do, and the rules for the cases at the edge. docs/events.md states the rules.
#include <gtest/gtest.h>

#include <numbers>

#include <manyfold/error.hpp>

#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

const LoadedKernel& kernel(const std::string& model, const std::string& method = "radau5") {
  return test::kernel_of(test::source_folder() + "/tests/engine/" + model + ".hpp", method);
}

/// One instance with the defaults but for what `set` names.
test::Ensemble one(const LoadedKernel& loaded, const std::map<std::string, double>& set = {}) {
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.t_begin = loaded.model.t_begin;
  ensemble.t_end = loaded.model.t_end;
  for (const ParameterDescription& parameter : loaded.model.parameters) {
    const auto given = set.find(parameter.name);
    ensemble.parameters.push_back(given != set.end() ? given->second : parameter.value);
  }
  return ensemble;
}

/// Times of event `name` in the log of instance `instance`.
std::vector<double> times_of(const test::Ensemble& ensemble, const test::Results& results, const std::string& name,
                             std::size_t instance = 0) {
  std::vector<double> times;
  for (const EventRecord& record : results.events[instance]) {
    if (ensemble.loaded->model.events[static_cast<std::size_t>(record.event)].name == name)
      times.push_back(record.time);
  }
  return times;
}

class Rules : public testing::TestWithParam<std::string> {
 protected:
  test::Ensemble ensemble(const std::map<std::string, double>& set) { return one(kernel("rules", GetParam()), set); }
};

// Zeros of sin(3 t + 1) in (0, 10), upwards and downwards.
std::vector<double> zeros_of_sine(bool upwards) {
  std::vector<double> zeros;
  for (int k = upwards ? 2 : 1; (k * std::numbers::pi - 1.0) / 3.0 < 10.0; k += 2) {
    zeros.push_back((k * std::numbers::pi - 1.0) / 3.0);
  }
  return zeros;
}

void expect_times(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  // Root functions of t alone: nothing but the tolerance of the location, 4 units in the last place of |t| + |h|.
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 4e-14) << "event " << k;
}

TEST_P(Rules, DirectionsAreKept) {
  const test::Ensemble both_ways = ensemble({});
  const test::Results results = both_ways.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  expect_times(times_of(both_ways, results, "up"), zeros_of_sine(true));
  expect_times(times_of(both_ways, results, "down"), zeros_of_sine(false));
  for (const EventRecord& record : results.events[0]) EXPECT_EQ(record.direction, record.event == 6 ? 1 : -1);
  EXPECT_EQ(results.outcomes[0].counters.events, std::ssize(results.events[0]));
}

TEST_P(Rules, BackwardsTheDirectionIsThatOfTheIntegration) {
  test::Ensemble backwards = ensemble({});
  std::swap(backwards.t_begin, backwards.t_end);
  const test::Results results = backwards.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  std::vector<double> down = zeros_of_sine(false);
  std::reverse(down.begin(), down.end());
  expect_times(times_of(backwards, results, "up"), down);
}

TEST_P(Rules, AZeroAtTheStartIsNoEvent) {
  const test::Ensemble start = ensemble({});
  EXPECT_TRUE(times_of(start, start.solve(), "from_start").empty());
}

TEST_P(Rules, ATouchIsNoEvent) {
  // At 4.25 the square is exactly zero in floating point, wherever the steps end.
  const test::Ensemble touch = ensemble({{"touch", 4.25}});
  EXPECT_TRUE(times_of(touch, touch.solve(), "touches").empty());
}

TEST_P(Rules, AScheduledEventIsHitExactlyAndACrossingAtTheEndOfItsStepToo) {
  const test::Ensemble meet = ensemble({{"meet", 2.5}, {"late", 7.125}});
  const test::Results results = meet.solve();
  EXPECT_EQ(times_of(meet, results, "tick"), (std::vector<double>{2.5, 7.125}));
  EXPECT_EQ(times_of(meet, results, "meets"), std::vector<double>{2.5});
  EXPECT_EQ(results.values[1], 2.0);
}

TEST_P(Rules, ScheduledTimesOutsideTheSpanOrNotANumberNeverCome) {
  const test::Ensemble never = ensemble({{"meet", -1.0}, {"late", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_TRUE(times_of(never, never.solve(), "tick").empty());
  const test::Ensemble at_start = ensemble({{"meet", 0.0}});
  EXPECT_TRUE(times_of(at_start, at_start.solve(), "tick").empty());
}

TEST_P(Rules, AnEventAtTheEndOfTheSpanIsCarriedOut) {
  const test::Ensemble at_end = ensemble({{"meet", 10.0}});
  const test::Results results = at_end.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  EXPECT_EQ(times_of(at_end, results, "tick"), std::vector<double>{10.0});
  // Saved values are those before the event.
  EXPECT_EQ(results.values[1], 0.0);
}

TEST_P(Rules, SimultaneousEventsActInTheOrderOfTheirDeclaration) {
  const test::Ensemble both = ensemble({{"both", 3.3}});
  const test::Results results = both.solve();
  ASSERT_EQ(times_of(both, results, "first").size(), 1U);
  EXPECT_EQ(times_of(both, results, "first"), times_of(both, results, "second"));
  EXPECT_NEAR(times_of(both, results, "first")[0], 3.3, 4e-14);
  // Numbers 3 and 4 in this order; entries of the log are x, count, order, ticks, before and after.
  for (std::size_t k = 0; k < results.events[0].size(); ++k) {
    if (results.events[0][k].event != 3) continue;
    EXPECT_EQ(results.event_values[0][k * 8 + 2], 0.0);
    EXPECT_EQ(results.event_values[0][k * 8 + 6], 34.0);
  }
}

TEST_P(Rules, StopAfterCountsAndTerminalEventsEnd) {
  const test::Ensemble third = ensemble({{"kth", 1.0}});
  const test::Results results = third.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::terminated_by_event);
  EXPECT_NEAR(results.outcomes[0].t_reached, zeros_of_sine(true)[2], 4e-14);
  EXPECT_TRUE(std::isnan(results.values[0]));
  EXPECT_EQ(times_of(third, results, "third_up").size(), 3U);

  const test::Ensemble scheduled = ensemble({{"ends", 6.5}, {"meet", 6.5}});
  const test::Results ended = scheduled.solve();
  EXPECT_EQ(ended.outcomes[0].status, Status::terminated_by_event);
  EXPECT_EQ(ended.outcomes[0].t_reached, 6.5);
  // Both are logged; with a terminal event no action is carried out.
  EXPECT_EQ(times_of(scheduled, ended, "tick").size(), 1U);
  EXPECT_EQ(ended.event_values[0].back(), 0.0);
}

TEST_P(Rules, AFullLogCountsOn) {
  test::Ensemble small = ensemble({});
  small.event_log = 3;
  const test::Results results = small.solve();
  EXPECT_EQ(results.events[0].size(), 3U);
  EXPECT_EQ(results.outcomes[0].counters.events, std::ssize(zeros_of_sine(true)) + std::ssize(zeros_of_sine(false)));
  small.event_log = 0;
  EXPECT_EQ(small.solve().outcomes[0].counters.events, results.outcomes[0].counters.events);
}

TEST_P(Rules, FirstTimesAreKeptForEveryEvent) {
  test::Ensemble first = ensemble({{"meet", 2.5}, {"late", 7.125}});
  first.event_log = 0;
  const test::Results results = first.solve();
  EXPECT_EQ(results.first_event_times[2], 2.5);
  EXPECT_NEAR(results.first_event_times[6], zeros_of_sine(true)[0], 4e-14);
  EXPECT_TRUE(std::isnan(results.first_event_times[0]));
}

// A timer of no length is one that has run out, and what it schedules for the same time follows. Such events were lost,
// and the instance was called a success.
TEST_P(Rules, WhatAnActionSchedulesForNowOccurs) {
  const LoadedKernel& loaded = kernel("delayed", GetParam());
  for (const double delay : {0.0, 1e-17, 0.25}) {
    const test::Ensemble relay = one(loaded, {{"delay", delay}});
    const test::Results results = relay.solve();
    ASSERT_EQ(results.outcomes[0].status, Status::success) << delay;
    expect_times(times_of(relay, results, "high"), {0.5});
    expect_times(times_of(relay, results, "trip"), {0.5 + delay});
    expect_times(times_of(relay, results, "open"), {0.5 + delay});
    EXPECT_NEAR(results.values[0], 0.5 + delay, 1e-13) << delay;
  }
  // What is past does not come again.
  const test::Ensemble past = one(loaded, {{"delay", -0.1}});
  const test::Results results = past.solve();
  EXPECT_TRUE(times_of(past, results, "trip").empty());
  EXPECT_NEAR(results.values[0], 2.0, 1e-13);
}

// A mode that leads back as it begins contradicts itself at once. It went on to the end, with success.
TEST_P(Rules, AModeThatLeadsBackAtOnceIsAStorm) {
  const LoadedKernel& loaded = kernel("clamp", GetParam());
  for (const double kick : {0.0, 0.5}) {
    const test::Results back = one(loaded, {{"beyond", -0.7}, {"kick", kick}}).solve();
    EXPECT_EQ(back.outcomes[0].status, Status::event_storm) << kick;
    EXPECT_NEAR(back.outcomes[0].t_reached, 1.0, 1e-9) << kick;
    const test::Ensemble on = one(loaded, {{"beyond", 0.3}, {"kick", kick}});
    const test::Results beyond = on.solve();
    EXPECT_EQ(beyond.outcomes[0].status, Status::success) << kick;
    expect_times(times_of(on, beyond, "limit"), {1.0});
    EXPECT_TRUE(times_of(on, beyond, "back").empty()) << kick;
    EXPECT_NEAR(beyond.values[0], 1.3, 1e-12) << kick;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Rules, testing::Values("radau5", "esdirk54"));

TEST(Events, DoubleCrossingsNarrowerThanTheStepAreFound) {
  // Steps are up to a tenth of the span and more, their quarters contain one extremum of each function at most: within
  // the guarantee. Widths from 1e-6, above its resolution of 1e-8 of a step.
  test::Ensemble planted = one(kernel("planted"));
  planted.parameters.clear();
  test::Uniform uniform(3);
  const std::size_t count = 10000;
  for (std::size_t i = 0; i < count; ++i) {
    planted.parameters.push_back(0.05 + 0.9 * uniform());
    planted.parameters.push_back(std::pow(10.0, -6.0 + 4.0 * uniform()));
    planted.parameters.push_back(0.05 + 0.9 * uniform());
    planted.parameters.push_back(std::pow(10.0, -6.0 + 4.0 * uniform()));
  }
  const test::Results results = planted.solve();
  double steps = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    steps += static_cast<double>(results.outcomes[i].counters.steps);
    for (const std::size_t event : {std::size_t{0}, std::size_t{1}}) {
      const double centre = planted.parameters[4 * i + 2 * event];
      const double half_width = planted.parameters[4 * i + 2 * event + 1];
      const auto times = times_of(planted, results, planted.loaded->model.events[event].name, i);
      ASSERT_EQ(times.size(), 2U) << "instance " << i << ", centre " << centre << ", half width " << half_width;
      // Rounding of the square against the slope 2 w where it crosses.
      const double allowance = 1e-14 + 1e-15 / half_width;
      ASSERT_NEAR(times[0], centre - half_width, allowance);
      ASSERT_NEAR(times[1], centre + half_width, allowance);
    }
  }
  EXPECT_LT(steps / static_cast<double>(count), 15.0) << "the steps are wider than what is planted";
}

/// Places in (begin, end) where the sine is `level`; rising ones, or falling.
int crossings_of_sine(double begin, double end, double level, bool rising) {
  const double first = rising ? std::asin(level) : std::numbers::pi - std::asin(level);
  const double turn = 2.0 * std::numbers::pi;
  return static_cast<int>(std::ceil((end - first) / turn) - std::floor((begin - first) / turn)) - 1;
}

// Steps as long as the solution allows span many turns.
TEST(Events, PulsesFasterThanTheStepsAreCounted) {
  const std::size_t count = 100;
  for (const char* method : {"radau5", "rodas5p", "bdf"}) {
    test::Ensemble shafts = one(kernel("shaft", method));
    shafts.parameters.clear();
    shafts.event_log = 0;
    test::Uniform uniform(5);
    std::vector<int> expected;
    for (std::size_t i = 0; i < count; ++i) {
      const double speed = 10.0 * uniform();
      const double acceleration = 10.0 * uniform();
      const double rate = std::pow(10.0, 3.0 * uniform());
      const double level = 1.9 * uniform() - 0.95;
      const double clock_level = 1.9 * uniform() - 0.95;
      for (const double value : {speed, acceleration, level, rate, clock_level}) shafts.parameters.push_back(value);
      expected.push_back(crossings_of_sine(0.1, 0.1 + 10.0 * speed + 50.0 * acceleration, level, true) +
                         crossings_of_sine(0.0, 10.0 * rate, clock_level, true) +
                         crossings_of_sine(0.0, 10.0 * rate, clock_level, false));
    }
    const test::Results results = shafts.solve();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(results.outcomes[i].status, Status::success) << method << ", instance " << i;
      EXPECT_EQ(results.outcomes[i].counters.events, expected[i]) << method << ", instance " << i;
    }
  }
}

// Whatever the last bits of x are where it meets the surface: an instance that leaves it has lost an event.
TEST(Events, ChatteringEndsWithTheEventsName) {
  for (const char* method : {"radau5", "esdirk54", "rodas5p", "bdf"}) {
    test::Ensemble relay = one(kernel("relay", method));
    relay.repeat_defaults(64);
    const auto fall = [](std::size_t i) { return 0.7 + 0.037 * static_cast<double>(i); };
    for (std::size_t i = 1; i < 64; ++i) {
      relay.parameters[i * relay.parameter_count() + 1] = 0.5 + 0.041 * static_cast<double>(i);
      relay.parameters[i * relay.parameter_count() + 2] = fall(i);
    }
    const test::Results results = relay.solve();
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(results.outcomes[i].status, Status::event_storm) << method << ", instance " << i;
      EXPECT_NEAR(results.outcomes[i].t_reached, i == 0 ? 1.0 : 1.0 / fall(i), 1e-9) << method << ", instance " << i;
      EXPECT_GE(results.outcomes[i].last_event, 0);
    }
  }
}

TEST(Events, HysteresisKeepsARelayFromChattering) {
  // Between -d and d with slopes of 1: the first switch at 1 + d, then one every 2 d.
  const test::Ensemble relay = one(kernel("relay"), {{"dead_zone", 0.0625}});
  const test::Results results = relay.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  ASSERT_EQ(results.events[0].size(), 8U);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(results.events[0][k].time, 1.0625 + 0.125 * static_cast<double>(k), 1e-13);
  }
}

TEST(Events, AModeOfItsOwnSlidesAlongASurfaceThatAttracts) {
  const test::Ensemble sliding = one(kernel("sliding"));
  const test::Results results = sliding.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  // It meets the surface where 0.1 + 1.5 (1 - cos t) = t, leaves where 1.5 sin t = 1, meets it again where 1.5 (cos t_2
  // - cos t) = t - t_2, and leaves downwards half a period after it left upwards.
  const double t_2 = std::asin(2.0 / 3.0);
  const std::vector<std::pair<int, double>> expected = {
      {0, 0.10888282039520993}, {1, t_2}, {0, 3.3231163036778026}, {2, t_2 + std::numbers::pi}};
  ASSERT_EQ(results.events[0].size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(results.events[0][k].event, expected[k].first) << k;
    EXPECT_NEAR(results.events[0][k].time, expected[k].second, 30.0 * sliding.rtol) << k;
  }
  const double exact = 1.5 * (std::cos(t_2 + std::numbers::pi) - std::cos(6.0)) + 6.0 - t_2 - std::numbers::pi;
  EXPECT_NEAR(results.values[0], exact, 30.0 * sliding.rtol);
}

TEST(Events, AnActionThatEndsOnTheRootDoesNotTriggerItAgain) {
  test::Ensemble hopper = one(kernel("hopper"));
  hopper.t_end = 101.0;
  const test::Results results = hopper.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  EXPECT_EQ(results.outcomes[0].counters.events, 50);
  for (std::size_t k = 0; k < results.events[0].size(); ++k) {
    EXPECT_NEAR(results.events[0][k].time, 2.0 * static_cast<double>(k + 1), 1e-10);
    // Left and right limits of h, v, and z^2 = 1 + v^2, which is solved for again.
    const double* values = results.event_values[0].data() + k * 8;
    EXPECT_NEAR(values[1], -1.0, 1e-10);
    EXPECT_EQ(values[5], 1.0);
    EXPECT_NEAR(values[6], std::sqrt(2.0), 1e-9);
  }
}

TEST(Events, AnActionWithoutConsistentConditionsFailsWithTheResidual) {
  const test::Ensemble hopper = one(kernel("hopper"), {{"broken", 1.0}});
  const test::Results results = hopper.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::inconsistent_initial_conditions);
  EXPECT_NEAR(results.outcomes[0].t_reached, 2.0, 1e-10);
  EXPECT_GT(results.outcomes[0].residual_norm, 900.0);
}

TEST(Events, WrongDeclarationsSayWhatIsMissing) {
  const auto message = [](const std::string& members) {
    const std::string path = testing::TempDir() + "/declared_wrongly.hpp";
    std::ofstream(path)
        << "#include <manyfold/model.hpp>\n"
           "struct Wrong {\n"
           "  static constexpr const char* name = \"wrong\";\n"
           "  static constexpr double t_span[] = {0.0, 1.0};\n"
           "  static constexpr manyfold::Variable variables[] = {{.name = \"y\"}};\n"
           "  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) { f[0] = y[0]; }\n"
        << members << "};\nMANYFOLD_MODEL(Wrong);\n";
    try {
      load_kernel({path, {.method = "radau5"}});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("compiled");
  };
  EXPECT_NE(message("static constexpr manyfold::Event events[] = {{.name = \"hit\"}};")
                .find("need static constexpr void root"),
            std::string::npos);
  EXPECT_NE(message("static constexpr manyfold::Event events[] = {{.name = \"at\", .scheduled = 1}};")
                .find("scheduled events need static constexpr void event_times"),
            std::string::npos);
  EXPECT_NE(message("static constexpr manyfold::Discrete discrete[] = {{.name = \"mode\"}};")
                .find("discrete state changes at events only"),
            std::string::npos);
}

}  // namespace
}  // namespace manyfold
