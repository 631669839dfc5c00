// Runs that write no rows of their instances: `instances = false` in [output].
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/netcdf_content.hpp"

namespace {

using manyfold::test::Content;
using manyfold::test::content_of;
using manyfold::test::doubles_of;
using manyfold::test::Outcome;

class StatisticsOnly : public manyfold::test::CommandTest {
 protected:
  /// Some tanks are full in the end, some overflow, which ends their instances, and some take too many steps.
  Outcome run(const std::string& file, int instances, const std::string& output, const std::string& span = "") const {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"overflow_tank\"\n"
        << span << "[solver]\nmax_steps = 21\n[ensemble]\ninstances = " << instances
        << "\nseed = 3\n[parameters]\ninflow = { distribution = \"uniform\", min = 0.02, max = 0.05 }\n"
        << "[output]\nfile = \"" << file << "\"\ntimes = 21\n"
        << output;
    return call("run sweep.toml --force --json");
  }
};

const std::string all_statistics =
    "statistics = [\"mean\", \"std\", \"min\", \"max\", \"quantile(0.1)\"]\n"
    "reduce = [\"mean(level)\", \"max(level) < 1.9\"]\n";

TEST_F(StatisticsOnly, TheStatisticsAreThoseOfAFileWithRows) {
  ASSERT_EQ(run("rows.nc", 2001, all_statistics).code, 3);
  ASSERT_EQ(run("none.nc", 2001, all_statistics + "instances = false\n").code, 3);
  const Content rows = content_of(folder_ / "rows.nc");
  const Content none = content_of(folder_ / "none.nc");
  int common = 0;
  for (const auto& [name, bytes] : none) {
    if (rows.count(name) == 0) continue;
    ++common;
    EXPECT_EQ(bytes, rows.at(name)) << name;
  }
  // time, quantile, six of the level, and of the event: kind, probabilities, quantiles, edges, histogram.
  EXPECT_EQ(common, 15);
  for (const char* of_instances : {"level", "status", "stat_steps", "param_inflow", "reduce_1", "event_instance",
                                   "events_not_logged", "event_first_time_overflow"}) {
    EXPECT_EQ(rows.count(of_instances), 1U) << of_instances;
    EXPECT_EQ(none.count(of_instances), 0U) << of_instances;
  }

  std::vector<long long> statuses(11);
  for (const unsigned char status : rows.at("status")) ++statuses[status];
  const auto* counts = reinterpret_cast<const long long*>(none.at("status_count").data());
  EXPECT_EQ(std::vector(counts, counts + 11), statuses);
  EXPECT_GT(*std::min_element(counts, counts + 3), 100);

  // Of those that did not fail. The sum of 2000 numbers below 2 is rounded by 2000 * 4000 * 2^-53 at most.
  std::vector<double> means = doubles_of(rows, "reduce_1");
  std::erase_if(means, [](double mean) { return std::isnan(mean); });
  const auto number = [&](const std::string& name) { return doubles_of(none, name)[0]; };
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  double squares = 0.0;
  for (const double one : means) squares += (one - mean) * (one - mean);
  EXPECT_NEAR(number("reduce_1_mean"), mean, 1e-12);
  EXPECT_NEAR(number("reduce_1_std"), std::sqrt(squares / static_cast<double>(means.size() - 1)), 1e-12);
  EXPECT_EQ(number("reduce_1_min"), *std::min_element(means.begin(), means.end()));
  EXPECT_EQ(number("reduce_1_max"), *std::max_element(means.begin(), means.end()));
  EXPECT_EQ(*reinterpret_cast<const long long*>(none.at("reduce_1_count").data()), std::ssize(means));
  std::vector<double> good = doubles_of(rows, "reduce_2");
  std::erase_if(good, [](double one) { return std::isnan(one); });
  EXPECT_EQ(number("reduce_2_mean"), std::accumulate(good.begin(), good.end(), 0.0) / static_cast<double>(good.size()));
}

TEST_F(StatisticsOnly, TheFileDoesNotGrowWithTheInstances) {
  const std::string output = "instances = false\n" + all_statistics;
  run("few.nc", 100, output);
  run("many.nc", 20000, output);
  // But for more bins of the histogram, 16 bytes each.
  EXPECT_LT(std::filesystem::file_size(folder_ / "many.nc"), std::filesystem::file_size(folder_ / "few.nc") + 8192);
  EXPECT_LT(std::filesystem::file_size(folder_ / "many.nc"), 65536U);
}

TEST_F(StatisticsOnly, TheSummaryTellsTheFirstFailure) {
  run("rows.nc", 200, "");
  const auto statuses = content_of(folder_ / "rows.nc").at("status");
  const auto first = std::find_if(statuses.begin(), statuses.end(), [](unsigned char status) { return status > 1; });
  const auto failure = nlohmann::json::parse(run("none.nc", 200, "instances = false\n").out)["first_failure"];
  EXPECT_EQ(failure["instance"], first - statuses.begin());
  EXPECT_EQ(failure["status"], "max_steps");
  EXPECT_GT(failure["t"], 0.0);
  EXPECT_LT(failure["t"], 200.0);
  EXPECT_NE(call("run sweep.toml --force").out.find("first failure: instance "), std::string::npos);
}

// Statistics are then over equal shares of time spans, not over equal times.
TEST_F(StatisticsOnly, WhereTimeSpansDifferTimesAreTheirShares) {
  const std::string span = "t_span = [0.0, { distribution = \"uniform\", min = 10.0, max = 20.0 }]\n";
  ASSERT_EQ(run("none.nc", 50, "instances = false\nstatistics = [\"mean\"]\n", span).code, 0);
  const Content none = content_of(folder_ / "none.nc");
  EXPECT_EQ(none.count("time"), 0U);
  const std::vector<double> shares = doubles_of(none, "time_fraction");
  ASSERT_EQ(shares.size(), 21U);
  for (int k = 0; k < 21; ++k) EXPECT_NEAR(shares[static_cast<std::size_t>(k)], k / 20.0, 1e-15);
}

TEST_F(StatisticsOnly, WhatNeedsRowsIsRefused) {
  const auto expect = [&](const std::string& output, const std::string& text) {
    const Outcome outcome = run("none.nc", 2, output);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  expect("instances = false\ntrajectories = true\n",
         "sweep.toml:13:16: error: trajectories is true, but needs instances = true");
  expect("instances = 1000\n", "instances in [output] is 1000");
}

}  // namespace
