// An observer sees every accepted step of every instance, in order, up to its events and no further.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include <manyfold/ensemble.hpp>

#include "kernels/methods/all.hpp"
#include "problems/bouncing_ball/bouncing_ball.hpp"

namespace manyfold {
namespace {

struct Seen {
  double t;
  double height;
  double speed;
};

TEST(StepObserver, SeesEveryAcceptedStepUpToItsEvents) {
  constexpr int instances = 40;
  Ensemble<BouncingBall, Dopri54> ensemble(instances);
  std::vector<double> heights;
  for (int i = 0; i < instances; ++i) heights.push_back(1.0 + 0.05 * i);
  ensemble.set("height", heights);
  ensemble.t_span(0.0, 2.0);
  std::map<std::int64_t, std::vector<Seen>> seen;
  std::mutex mutex;
  const auto result = ensemble.solve({.rtol = 1e-9, .threads = 2}, {}, [&](const AcceptedStep& step) {
    const std::lock_guard lock(mutex);
    seen[step.instance].push_back({step.t, step.y[0], step.y[1]});
  });
  for (int i = 0; i < instances; ++i) {
    const std::vector<Seen>& steps = seen[i];
    ASSERT_EQ(std::ssize(steps), result.outcomes[i].counters.steps);
    EXPECT_EQ(steps.back().t, 2.0);
    // Before its first bounce the ball falls freely; bounces, and nothing else, are on the floor.
    const double first = std::sqrt(2.0 * (heights[i] - 0.1) / 10.0);
    double before = 0.0;
    std::size_t bounces = 0;
    for (const Seen& step : steps) {
      EXPECT_GT(step.t, before) << i;
      before = step.t;
      if (step.t < first + 1e-9) {
        EXPECT_NEAR(step.height, heights[i] - 5.0 * step.t * step.t, 1e-8) << step.t;
      }
      if (std::abs(step.height - 0.1) > 1e-8) continue;
      EXPECT_LT(step.speed, 0.0) << "before the action";
      ASSERT_LT(bounces, result.events[i].size());
      EXPECT_EQ(step.t, result.events[i][bounces++].time);
    }
    EXPECT_EQ(bounces, result.events[i].size());
  }
}

TEST(StepObserver, IsWhatCanBeCalledWithAStep) {
  const auto good = [](const AcceptedStep&) {};
  const auto bad = [](double) {};
  EXPECT_TRUE(StepObserver<decltype(good)>);
  EXPECT_FALSE(StepObserver<decltype(bad)>);
  EXPECT_FALSE(StepObserver<NoObserver>);
}

// Nothing is stored or called where nobody looks.
static_assert(__is_empty(ObserverLink<NoObserver>));

}  // namespace
}  // namespace manyfold
