// What runs say of their ensemble: statistics, reductions, yields, probabilities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/netcdf_content.hpp"

namespace {

using manyfold::test::Content;
using manyfold::test::content_of;
using manyfold::test::doubles_of;
using manyfold::test::Outcome;

class Summaries : public manyfold::test::CommandTest {
 protected:
  /// The tank overflows, which ends an instance, when it is filled for long enough.
  Content run(int instances, const std::string& output, const std::string& options, Outcome* outcome = nullptr) const {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"overflow_tank\"\n[solver]\nmethod = \"radau5\"\n[ensemble]\ninstances = " << instances
        << "\nseed = 3\n[parameters]\ninflow = { distribution = \"uniform\", min = 0.02, max = 0.05 }\n"
           "[output]\nfile = \"result.nc\"\ntimes = 21\n"
        << output;
    const Outcome ended = call("run sweep.toml --force " + options);
    EXPECT_EQ(ended.code, 0) << ended.err;
    if (outcome != nullptr) *outcome = ended;
    return content_of(folder_ / "result.nc");
  }
};

// Whatever threads do it, and however instances are cut into chunks, which follows from their number.
TEST_F(Summaries, DoNotDependOnThreads) {
  const std::string output =
      "statistics = [\"mean\", \"std\", \"min\", \"max\", \"quantile(0.1)\", \"quantile(0.5)\"]\n"
      "reduce = [\"mean(level)\", \"max(level) < 1.999\"]\nafter_end = \"hold\"\n";
  const Content one = run(3001, output, "--threads 1");
  ASSERT_FALSE(one.empty());
  for (const char* threads : {"2", "3", "16"}) {
    const Content other = run(3001, output, std::string("--threads ") + threads);
    for (const auto& [name, bytes] : one) EXPECT_EQ(other.at(name), bytes) << name << " with " << threads << " threads";
  }
}

TEST_F(Summaries, ApproximateQuantilesSayThatTheyAreAndDoNotDependOnThreads) {
  const std::string output = "trajectories = false\nstatistics = [\"quantile(0.1)\"]\nafter_end = \"hold\"\n";
  const std::string approximate = output + "quantiles = \"approximate\"\n";
  Outcome outcome;
  const Content one = run(9000, approximate, "--threads 1 --json", &outcome);
  const auto quantiles = nlohmann::json::parse(outcome.out)["quantiles"];
  EXPECT_EQ(quantiles["accuracy"], "approximate");
  EXPECT_GT(quantiles["rank_error"], 0.0);
  EXPECT_LT(quantiles["rank_error"], 0.001);
  EXPECT_EQ(run(9000, approximate, "--threads 3").at("level_quantile"), one.at("level_quantile"));
  const Content exact = run(9000, output, "--threads 2 --json", &outcome);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["quantiles"]["accuracy"], "exact");
  EXPECT_NE(exact.at("level_quantile"), one.at("level_quantile"));
  // The level grows by less than 2 from the smallest inflow to the largest, nearly evenly.
  EXPECT_NEAR(doubles_of(exact, "level_quantile")[20], doubles_of(one, "level_quantile")[20], 0.005);
}

/// When the level reaches `height`; infinite: never. The exact solution is in the model's file.
double time_of_level(double height, double inflow) {
  constexpr double k = 0.02;
  const auto t = [&](double level) {
    const double w = std::sqrt(level);
    return -2.0 / (k * k) * (k * w + inflow * std::log(1.0 - k * w / inflow));
  };
  const bool never = inflow <= k * std::sqrt(height);
  return never ? std::numeric_limits<double>::infinity() : t(height) - t(0.25);
}

TEST_F(Summaries, AYieldIsThatOfTheExactSolution) {
  Outcome outcome;
  const Content result = run(2000,
                             "trajectories = false\nreduce = [\"final(level)\", \"max(level) < 1.999\"]\n"
                             "after_end = \"hold\"\n",
                             "--json", &outcome);
  int good = 0;
  for (const double inflow : doubles_of(result, "param_inflow")) good += time_of_level(1.999, inflow) > 200.0 ? 1 : 0;
  EXPECT_GT(good, 200);
  EXPECT_LT(good, 1800);
  const auto reductions = nlohmann::json::parse(outcome.out)["reductions"];
  EXPECT_EQ(reductions[1]["text"], "max(level) < 1.999");
  EXPECT_EQ(reductions[1]["instances"], 2000);
  EXPECT_EQ(reductions[1]["yield"], good / 2000.0);
  EXPECT_LT(reductions[1]["interval"][0], good / 2000.0);
  EXPECT_GT(reductions[1]["interval"][1], good / 2000.0);
  EXPECT_NEAR(reductions[0]["max"], 2.0, 1e-5);  // the rim, where an overflow ends the instance
  EXPECT_EQ(result.count("level"), 0U);
  const std::vector<double> finals = doubles_of(result, "reduce_1");
  EXPECT_EQ(*std::max_element(finals.begin(), finals.end()), reductions[0]["max"]);
}

TEST_F(Summaries, StatisticsCoverThoseThatEndedIfTheirValuesAreHeld) {
  const std::string mean = "statistics = [\"mean\"]\n";
  const Content missing = run(500, mean, "");
  const Content held = run(500, mean + "after_end = \"hold\"\n", "");
  const auto count = [](const Content& content) {
    return reinterpret_cast<const long long*>(content.at("level_count").data())[20];
  };
  const std::vector<double> inflows = doubles_of(held, "param_inflow");
  const auto overflown =
      std::count_if(inflows.begin(), inflows.end(), [](double inflow) { return time_of_level(2.0, inflow) < 200.0; });
  EXPECT_EQ(count(missing), 500 - overflown);
  EXPECT_EQ(count(held), 500);
  double sum = 0.0;
  const std::vector<double> levels = doubles_of(held, "level");
  for (std::size_t i = 0; i < 500; ++i) {
    sum += levels[21 * i + 20];
    const bool overflows = time_of_level(2.0, inflows[i]) < 200.0;
    EXPECT_TRUE(!overflows || std::abs(levels[21 * i + 20] - 2.0) < 1e-5);
  }
  EXPECT_NEAR(doubles_of(held, "level_mean")[20], sum / 500.0, 1e-12);
  EXPECT_LT(doubles_of(missing, "level_mean")[20], doubles_of(held, "level_mean")[20]);
}

TEST_F(Summaries, ProbabilitiesHaveIntervals) {
  const Content result = run(500, "trajectories = false\n", "");
  const std::vector<double> share = doubles_of(result, "event_probability");
  const std::vector<double> low = doubles_of(result, "event_probability_low");
  const std::vector<double> high = doubles_of(result, "event_probability_high");
  for (std::size_t t = 0; t < share.size(); ++t) {
    // The ends solve (p - share)^2 = z^2 p (1 - p) / n.
    for (const double p : {low[t], high[t]}) {
      const double distance = p - share[t];
      EXPECT_NEAR(distance * distance, 1.959963984540054 * 1.959963984540054 * p * (1.0 - p) / 500.0, 1e-14);
    }
    EXPECT_LE(low[t], share[t]);
    EXPECT_GE(high[t], share[t]);
  }
}

// The root of x = 1 - t is undefined from t = 1 on.
TEST_F(Summaries, ReductionsThatAreNotKnownAreTold) {
  std::ofstream(folder_ / "root.mo") << "model R\n  Real x(start = 1, fixed = true);\n  Real s;\nequation\n"
                                        "  der(x) = -1;\n  s = noEvent(sqrt(x));\nend R;\n";
  std::ofstream(folder_ / "sweep.toml") << "model = \"root.mo\"\nt_span = [0.0, 2.0]\n[ensemble]\ninstances = 3\n"
                                           "[output]\ntimes = 5\nreduce = [\"mean(s) < 2\", \"max(x)\"]\n";
  const Outcome outcome = call("run sweep.toml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string text :
       {"mean(s) < 2: known of no instance\n", "max(x): mean 1, from 1 to 1, of 3 instances\n",
        "\"mean(s) < 2\" is not known of 3 instances that succeeded: a value is not a finite number\n"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
  }
}

TEST_F(Summaries, WhatCannotBeReducedIsTold) {
  const auto message = [&](const std::string& output) {
    std::ofstream(folder_ / "sweep.toml") << "model = \"robertson\"\n[ensemble]\ninstances = 2\n[output]\n" << output;
    const Outcome outcome = call("run sweep.toml");
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const auto expect = [&](const std::string& output, const std::string& text) {
    const std::string found = message(output);
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  expect("reduce = [\"max(y7)\"]\n", "sweep.toml:5:11: error: reduce: model \"robertson\" has no variable \"y7\"");
  expect("variables = [\"y1\"]\nreduce = [\"max(y2) < 1\"]\n", "\"y2\" is not saved: add it to output.variables");
  expect("reduce = [\"median(y1)\"]\n", "has the unknown reduction \"median\"");
  expect("compression = 10\n", "sweep.toml:5:15: error: compression");
  expect("after_end = \"keep\"\n", "sweep.toml:5:13: error: unknown value of after_end \"keep\"");
}

}  // namespace
