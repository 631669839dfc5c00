#include "host/io/reduction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <manyfold/error.hpp>

#include "host/io/wilson.hpp"
#include "kernels/statistics/ends.hpp"

namespace manyfold {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double reduce(const char* text, const std::vector<double>& times, const std::vector<double>& values) {
  Reduction reduction = Reduction::parse(text);
  for (Reduction::Term& term : reduction.terms()) term.place = term.variable == "b" ? 1 : 0;
  return reduction.of(times, values.data(), 2);
}

TEST(Reduction, OfKnownValues) {
  const std::vector<double> times = {0.0, 1.0, 4.0, 5.0};
  const std::vector<double> values = {1.0, 10.0, 3.0, 20.0, 3.0, -30.0, 2.0, 40.0};
  EXPECT_EQ(reduce("max(a)", times, values), 3.0);
  EXPECT_EQ(reduce("min(b)", times, values), -30.0);
  EXPECT_EQ(reduce("final( b )", times, values), 40.0);
  EXPECT_EQ(reduce("time_of_max(a)", times, values), 1.0);  // the first of equal ones
  EXPECT_EQ(reduce("time_of_min(b)", times, values), 4.0);
  // Trapezoids: 2 + 9 + 2.5 over 5.
  EXPECT_EQ(reduce("mean(a)", times, values), 2.7);
  EXPECT_EQ(reduce("max(a) < 3", times, values), 0.0);
  EXPECT_EQ(reduce("max(a) <= 3", times, values), 1.0);
  EXPECT_EQ(reduce("min(b) > -30 and max(a) <= 3", times, values), 0.0);
  EXPECT_EQ(reduce("min(b)>=-3e1 and max(a) <= 3", times, values), 1.0);
}

TEST(Reduction, BackwardsInTime) {
  const std::vector<double> values = {1.0, 0.0, 3.0, 0.0};
  EXPECT_EQ(reduce("mean(a)", {2.0, 0.0}, values), 2.0);
  EXPECT_EQ(reduce("final(a)", {2.0, 0.0}, values), 3.0);
}

// An observable may be undefined, or infinite, where the solution is not: then a limit is not kept.
TEST(Reduction, IsUnknownWhereAValueIs) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> times = {0.0, 1.0, 2.0};
  const std::vector<double> values = {1.0, nan, infinite, 1.0, 3.0, 1.0};
  EXPECT_EQ(reduce("max(a)", times, values), infinite);
  EXPECT_EQ(reduce("max(a) < 5", times, values), 0.0);
  EXPECT_EQ(reduce("time_of_max(a)", times, values), 1.0);
  EXPECT_EQ(reduce("final(a)", times, values), 3.0);
  EXPECT_EQ(reduce("min(a)", times, values), 1.0);
  for (const char* text : {"max(b)", "final(b)", "mean(b)", "max(b) < 5", "time_of_min(b)"}) {
    EXPECT_TRUE(std::isnan(reduce(text, times, values))) << text;
  }
  EXPECT_EQ(reduce("mean(a)", {0.0}, {4.0, nan}), 4.0);  // a single time
  EXPECT_TRUE(std::isnan(reduce("final(a)", {}, {})));
}

// Values end where the instance does, unless they are held.
TEST(Reduction, IsOverTheTimesThatAreReached) {
  const double forwards[] = {0.0, 5.0};
  const double backwards[] = {5.0, 0.0};
  const double times[] = {1.0, 2.0, 4.0};
  const double down[] = {4.0, 2.0, 1.0};
  InstanceOutcome outcome;
  outcome.status = Status::terminated_by_event;
  outcome.t_reached = 2.0;
  EXPECT_EQ(times_reached(outcome, forwards, times, 3, false), 2);
  EXPECT_EQ(times_reached(outcome, backwards, down, 3, false), 2);
  EXPECT_EQ(times_reached(outcome, forwards, times, 3, true), 3);
  outcome.t_reached = 0.5;
  EXPECT_EQ(times_reached(outcome, forwards, times, 3, false), 0);
  outcome.status = Status::success;
  EXPECT_EQ(times_reached(outcome, forwards, times, 3, false), 3);
}

TEST(Reduction, SaysWhatIsWrong) {
  const auto message = [](const char* text) {
    try {
      Reduction::parse(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("maxi(a)").find("did you mean \"max\""), std::string::npos) << message("maxi(a)");
  EXPECT_NE(message("max a").find("such as \"max(y1)\""), std::string::npos);
  EXPECT_NE(message("max(a) < two").find("must compare with a decimal number, not with \"two\""), std::string::npos);
  EXPECT_NE(message("max(a) < nan").find("must compare with a finite number"), std::string::npos);
  EXPECT_NE(message("max(a) and min(a) > 1").find("not a comparison"), std::string::npos);
  EXPECT_NE(message("").find("must be a number of an instance"), std::string::npos);
  EXPECT_NE(message(" < 1").find("must be a number of an instance"), std::string::npos);
}

// Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1
// of 29, to four digits.
TEST(WilsonInterval, IsThatOfTheLiterature) {
  const auto expect = [](double hits, double count, double low, double high) {
    const Interval interval = wilson_interval(hits, count);
    EXPECT_NEAR(interval.low, low, 5e-5);
    EXPECT_NEAR(interval.high, high, 5e-5);
  };
  expect(81.0, 263.0, 0.2553, 0.3662);
  expect(15.0, 148.0, 0.0624, 0.1605);
  expect(0.0, 20.0, 0.0, 0.1611);
  expect(1.0, 29.0, 0.0061, 0.1718);
  EXPECT_EQ(wilson_interval(20.0, 20.0).high, 1.0);
  EXPECT_TRUE(std::isnan(wilson_interval(0.0, 0.0).low));
}

}  // namespace
}  // namespace manyfold
