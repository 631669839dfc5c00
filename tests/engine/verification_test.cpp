// The comparison of solutions with references: what it calls verified, inaccurate, uncertain and failed.
#include "host/engine/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace manyfold {
namespace {

constexpr int times = 11;

/// One variable, one instance: `value(t)` at t = 0, 0.1, ... 1.
template <class Value>
Solutions solution(const Value& value, Status status = Status::success) {
  Solutions result;
  result.outcomes.resize(1);
  result.outcomes[0].status = status;
  result.outcomes[0].t_reached = 1.0;
  result.outcomes[0].counters.steps = 20;
  result.t_span.push_back({0.0, 1.0});
  for (int k = 0; k < times; ++k) {
    result.times.push_back(0.1 * k);
    result.values.push_back(value(0.1 * k));
  }
  result.events.emplace_back();
  return result;
}

/// A solution that is 2 everywhere, off by `error`.
Solutions two(double error = 0.0) {
  return solution([=](double) { return 2.0 + error; });
}

VerificationSettings settings(int index = 1, int event_kinds = 0) {
  return {1e-4, {1e-6}, {index}, event_kinds};
}

constexpr double tolerance = 1e-6 + 1e-4 * 2.0;

TEST(Verification, ASolutionWithinTheLimitIsVerified) {
  const Solutions reference = two();
  const Verification found = verify(settings(), two(90.0 * tolerance), {&reference, &reference});
  EXPECT_EQ(found.verdict, Verdict::verified);
  EXPECT_NEAR(found.variables[0].worst.error, 90.0, 1e-9);
  EXPECT_NEAR(found.variables[0].median, 90.0, 1e-9);
  EXPECT_EQ(found.variables[0].worst.instance, 0);
  EXPECT_FALSE(found.variables[0].exceeds);
  EXPECT_NEAR(found.instances[0].error[0], 90.0, 1e-9);
  EXPECT_EQ(found.instances[0].doubt[0], 0.0);
}

TEST(Verification, ASolutionBeyondTheLimitIsInaccurateWhereTheReferencesAgree) {
  const Solutions reference = two();
  const Solutions second = two(tolerance);
  const Solutions asked = solution([](double t) { return t > 0.45 && t < 0.55 ? 2.0 + 110.0 * tolerance : 2.0; });
  const Verification found = verify(settings(), asked, {&reference, &second});
  EXPECT_EQ(found.verdict, Verdict::inaccurate);
  EXPECT_TRUE(found.variables[0].exceeds);
  EXPECT_DOUBLE_EQ(found.variables[0].worst.time, 0.5);
  EXPECT_EQ(found.variables[0].median, 0.0);
  EXPECT_NEAR(found.variables[0].doubt, 1.0, 1e-9);
}

TEST(Verification, ReferencesThatDisagreeBlameNobody) {
  const Solutions reference = two();
  const Solutions second = two(50.0 * tolerance);
  EXPECT_EQ(verify(settings(), two(110.0 * tolerance), {&reference, &second}).verdict, Verdict::uncertain);
  EXPECT_EQ(verify(settings(), two(1000.0 * tolerance), {&reference, &second}).verdict, Verdict::inaccurate)
      << "an error twenty times as large as the doubt";
  const Solutions third = two(101.0 * tolerance);
  EXPECT_EQ(verify(settings(), two(), {&reference, &third}).verdict, Verdict::uncertain)
      << "agreement with one of two references that disagree";
}

TEST(Verification, FailuresAreToldApart) {
  const Solutions good = two();
  const Solutions failed = solution([](double t) { return t < 0.5 ? 2.0 : std::nan(""); }, Status::newton_failure);
  EXPECT_EQ(verify(settings(), failed, {&good, &good}).verdict, Verdict::failed);
  EXPECT_EQ(verify(settings(), failed, {&failed, &failed}).verdict, Verdict::failed);
  const Verification one = verify(settings(), two(), {&failed, &good});
  EXPECT_EQ(one.verdict, Verdict::verified) << "by the reference that is left";
  EXPECT_TRUE(one.instances[0].reference_failed[0]);
  EXPECT_TRUE(std::isnan(one.instances[0].doubt[0]));
  EXPECT_TRUE(std::isnan(one.variables[0].doubt));
  EXPECT_EQ(verify(settings(), two(110.0 * tolerance), {&failed, &good}).verdict, Verdict::uncertain);
  EXPECT_EQ(verify(settings(), two(), {&failed, &failed}).verdict, Verdict::uncertain);
}

TEST(Verification, AValueThatIsMissingIsAnError) {
  const Solutions good = two();
  const Solutions partly = solution([](double t) { return t < 0.95 ? 2.0 : std::nan(""); });
  EXPECT_EQ(verify(settings(), partly, {&good, &good}).verdict, Verdict::inaccurate);
}

TEST(Verification, ZerosThatAVariablePassesThroughDoNotCount) {
  const auto wave = [](double error) { return solution([=](double t) { return std::sin(20.0 * (t - 0.5)) + error; }); };
  const Solutions reference = wave(0.0);
  EXPECT_EQ(verify(settings(), wave(50e-4), {&reference, &reference}).verdict, Verdict::verified);
  EXPECT_EQ(verify(settings(), wave(150e-4), {&reference, &reference}).verdict, Verdict::inaccurate);
}

TEST(Verification, HigherIndexIsMeasuredInUnitsThatTheStepAllows) {
  const Solutions reference = two();
  // 20 steps: h = 1/20.
  EXPECT_EQ(verify(settings(1), two(1000.0 * tolerance), {&reference, &reference}).verdict, Verdict::inaccurate);
  const Verification found = verify(settings(2), two(1000.0 * tolerance), {&reference, &reference});
  EXPECT_EQ(found.verdict, Verdict::verified);
  EXPECT_DOUBLE_EQ(found.variables[0].allowance, 20.0);
  EXPECT_NEAR(found.variables[0].worst.error, 1000.0, 1e-9);
  EXPECT_NEAR(found.instances[0].scaled, 50.0, 1e-9);
  EXPECT_EQ(verify(settings(2), two(2100.0 * tolerance), {&reference, &reference}).verdict, Verdict::inaccurate);
  EXPECT_EQ(verify(settings(3), two(2100.0 * tolerance), {&reference, &reference}).verdict, Verdict::verified);
}

/// A jump from 2 to 5 at `time`, with an event there.
Solutions jump(double time, int event = 0) {
  Solutions result = solution([=](double t) { return t < time ? 2.0 : 5.0; });
  result.events[0].push_back({time, event, 1});
  result.outcomes[0].counters.events = 1;
  return result;
}

TEST(Verification, ValuesBetweenTheTimesOfAnEventAreLeftOut) {
  const Solutions reference = jump(0.5 - 1e-5);
  const Verification found = verify(settings(1, 1), jump(0.5 + 1e-5), {&reference, &reference});
  EXPECT_EQ(found.verdict, Verdict::verified);
  EXPECT_EQ(found.values_left_out, 1);
  EXPECT_EQ(found.events_compared, 1);
  EXPECT_NEAR(found.event_time.error, 2e-5 / 1e-4, 1e-6);
}

TEST(Verification, AnEventThatIsMissingOrLateIsFound) {
  const Solutions reference = jump(0.52);
  const Solutions without = two();
  Verification found = verify(settings(1, 1), without, {&reference, &reference});
  EXPECT_EQ(found.verdict, Verdict::inaccurate);
  EXPECT_TRUE(found.instances[0].events_differ);
  // Between two output times, so that the values alone do not show it.
  const Solutions late = jump(0.58);
  found = verify(settings(1, 1), late, {&reference, &reference});
  EXPECT_EQ(found.verdict, Verdict::inaccurate);
  EXPECT_EQ(verify(settings(1, 1), without, {&reference, &without}).verdict, Verdict::uncertain);
  // At the very end, on either side of which it may fall.
  const Solutions last = jump(1.0 + 1e-3);
  EXPECT_EQ(verify(settings(1, 1), without, {&last, &last}).verdict, Verdict::verified);
}

TEST(Verification, EventsOfTwoKindsMayChangePlaces) {
  Solutions a = two();
  a.events[0] = {{0.3, 0, 1}, {0.3 + 1e-9, 1, 1}};
  a.outcomes[0].counters.events = 2;
  Solutions b = two();
  b.events[0] = {{0.3, 1, 1}, {0.3 + 1e-9, 0, 1}};
  b.outcomes[0].counters.events = 2;
  EXPECT_EQ(verify(settings(1, 2), a, {&b, &b}).verdict, Verdict::verified);
}

TEST(Verification, TheSampleDependsOnSeedAndNumberAlone) {
  const auto of_thousand = instances_to_verify(1000, 0.1, 7);
  const auto of_more = instances_to_verify(100000, 0.1, 7);
  ASSERT_LT(of_thousand.size(), of_more.size());
  EXPECT_TRUE(std::equal(of_thousand.begin(), of_thousand.end(), of_more.begin()));
  EXPECT_NEAR(static_cast<double>(of_more.size()), 10000.0, 500.0);
  EXPECT_NE(of_more, instances_to_verify(100000, 0.1, 8));
  EXPECT_EQ(instances_to_verify(1000, 1.0, 7).size(), 1000U);
  EXPECT_EQ(instances_to_verify(1000, 1e-9, 7), std::vector<std::int64_t>{0});
  EXPECT_TRUE(instances_to_verify(1000, 0.0, 7).empty());
}

}  // namespace
}  // namespace manyfold
