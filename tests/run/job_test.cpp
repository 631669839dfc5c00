// Jobs: what the command can choose, a program can; parts of an ensemble are those of the whole; sinks get chunks as
// they ask for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include <manyfold/error.hpp>

#include "host/engine/chunk_queue.hpp"
#include "host/run/job.hpp"

namespace manyfold {
namespace {

/// Instances of Robertson's problem that all differ.
Job robertson(std::int64_t instances) {
  Job job;
  job.model = "robertson";
  job.options.method = "radau5";
  job.options.threads = 2;
  job.instances = instances;
  job.chunk_size = 8;
  job.fill_instance = [](std::int64_t instance, double* parameters, double* initial, double* t_span) {
    parameters[0] = 0.04 + 1e-5 * static_cast<double>(instance);
    parameters[1] = 1e4;
    parameters[2] = 3e7;
    for (int i = 0; i < 3; ++i) initial[i] = std::numeric_limits<double>::quiet_NaN();
    t_span[0] = 0.0;
    t_span[1] = 10.0;
  };
  return job;
}

Chunk results_of(const Job& job) {
  InMemoryResult memory;
  run(job, memory);
  return memory.results();
}

TEST(Jobs, NeedNoMoreThanAModel) {
  Job job;
  job.model = "robertson";
  job.options.method = "radau5";
  job.instances = 2;
  const Chunk results = results_of(job);
  ASSERT_EQ(results.count, 2);
  EXPECT_EQ(results.outcomes[1].status, Status::success);
  EXPECT_EQ(results.times[0], results.t_span[1]);
  EXPECT_NEAR(results.values[0] + results.values[1] + results.values[2], 1.0, 1e-9);
}

TEST(Jobs, ChooseWhatTheCommandDoes) {
  Job job;
  job.model = "pendulum_index2";
  job.instances = 1;
  job.options.method = "auto";
  job.options.projection = true;
  job.options.jacobian = "finite_differences";
  job.options.tier = "phased";
  job.options.backend = "cpu";
  EXPECT_THROW(PreparedJob{job}, UsageError) << "exact Jacobians are a part of auto, and the tier is a device's";
  job.options.tier = "auto";
  job.options.method = "radau5";
  const PreparedJob prepared(job);
  EXPECT_EQ(prepared.placement().backend, "cpu");
  EXPECT_EQ(prepared.method(), "radau5");
  InMemoryResult memory;
  EXPECT_EQ(prepared.run(memory).by_status[0], 1);
}

TEST(Jobs, DescribeTheirModelAsItIsCompiled) {
  Job job;
  job.model = "diffusion";
  choose_structural_value(job,
                          [](const std::string& name) { return name == "points" ? std::optional(11L) : std::nullopt; });
  EXPECT_EQ(describe(job).variables.size(), 13U);
  job.options.initial_conditions = {"steady_state"};
  EXPECT_EQ(describe(job).given_derivatives.size(), 11U);
  job.options.initial_conditions = {"nothing"};
  EXPECT_THROW(describe(job), UsageError);
  job.structural_value = 1;
  EXPECT_THROW(describe(job), UsageError);
}

TEST(Jobs, ShowEveryAcceptedStep) {
  Job job = robertson(20);
  struct Seen {
    std::int64_t steps = 0;
    double t = 0.0;
    std::array<double, 3> y = {};
  };
  std::array<Seen, 20> seen;
  job.observe = [&](const AcceptedStep& step) {
    Seen& instance = seen.at(static_cast<std::size_t>(step.instance));
    EXPECT_GT(step.t, instance.t);
    instance = {instance.steps + 1, step.t, {step.y[0], step.y[1], step.y[2]}};
  };
  const Chunk results = results_of(job);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].steps, results.outcomes[i].counters.steps);
    EXPECT_EQ(seen[i].t, 10.0);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(seen[i].y[j], results.values[3 * i + j]);
  }
  EXPECT_EQ(PreparedJob(job).placement().backend_reason, "accepted steps are observed");
  job.options.backend = "cuda";
  try {
    PreparedJob{job};
    FAIL() << "devices do not show steps";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "backend is 'cuda', but accepted steps are observed: needs 'cpu' or 'auto'");
  }
}

TEST(Jobs, ARangeOfInstancesIsThatOfTheWhole) {
  Job job = robertson(60);
  const Chunk whole = results_of(job);
  job.first = 21;
  job.instances = 30;
  const Chunk part = results_of(job);
  EXPECT_EQ(part.first, 21);
  ASSERT_EQ(part.count, 30);
  for (std::size_t i = 0; i < part.values.size(); ++i) EXPECT_EQ(part.values[i], whole.values[21 * 3 + i]);
}

TEST(Jobs, ChosenInstancesAreThoseOfTheWhole) {
  Job job = robertson(60);
  const Chunk whole = results_of(job);
  choose_instances(job, {3, 59, 17});
  const Chunk part = results_of(job);
  ASSERT_EQ(part.count, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t number = std::array<std::size_t, 3>{3, 59, 17}[i];
    EXPECT_EQ(part.values[3 * i], whole.values[3 * number]);
    EXPECT_EQ(part.parameters[3 * i], whole.parameters[3 * number]);
  }
}

/// Counts chunks and remembers their order.
class Order : public ResultSink {
 public:
  explicit Order(bool in_order) : in_order_(in_order) {}
  void write(const Chunk& chunk) override {
    first.push_back(chunk.first);
    written = static_cast<int>(first.size());
  }
  bool in_order() const override { return in_order_; }
  std::vector<std::int64_t> first;
  std::atomic<int> written = 0;

 private:
  bool in_order_;
};

/// 50 chunks, of which the first waits until `written` reaches `enough`, or two seconds.
void run_with_a_slow_instance(Order& order, int enough) {
  Job job = robertson(400);
  job.fill_instance = [&order, enough, fill = job.fill_instance](std::int64_t instance, double* parameters,
                                                                 double* initial, double* t_span) {
    fill(instance, parameters, initial, t_span);
    for (int i = 0; instance == 0 && order.written < enough && i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  EXPECT_EQ(run(job, order).by_status[0], 400);
  EXPECT_EQ(order.first.size(), 50U);
}

TEST(Chunks, TakeABoundedMemory) {
  constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
  for (const int workers : {1, 2, 8, 64, 256, 4096}) {
    for (std::int64_t bytes = 8; bytes < 8 * gibibyte; bytes = bytes * 3 / 2) {
      const ChunkSizes sizes = chunk_sizes(bytes, workers);
      const auto open = static_cast<std::int64_t>(sizes.most_open);
      const std::int64_t least = 8 * (2 * std::int64_t{workers} + 2) * bytes;
      EXPECT_LE(sizes.largest * open * bytes, std::max(gibibyte, least)) << workers << " workers, " << bytes;
      EXPECT_GE(sizes.largest, 8);
      EXPECT_GE(open, 2 * workers + 2);
      EXPECT_TRUE(sizes.largest <= 16 || sizes.largest * bytes <= std::int64_t{1} << 21) << bytes;
    }
  }
}

TEST(Chunks, AreEnoughForAllWorkersWhereInstancesAreLarge) {
  // 2.4 MB each: chunks of 8 instances, of which a pack may have several in work.
  Job job = robertson(100);
  job.chunk_size = 0;
  job.options.threads = 40;
  job.saved = {0};
  job.shape.times = 150001;
  job.fill_times = [](double begin, double end, double* times) {
    for (int i = 0; i <= 150000; ++i) times[i] = begin + (end - begin) * i / 150000.0;
  };
  job.options.max_steps = 3;  // for time: most instances fail
  struct Count : ResultSink {
    void write(const Chunk& chunk) override {
      EXPECT_EQ(chunk.first, instances);
      EXPECT_LE(chunk.count, 8);
      instances += chunk.count;
    }
    std::int64_t instances = 0;
  } count;
  run(job, count);
  EXPECT_EQ(count.instances, 100);
}

TEST(Sinks, ThatTakeChunksInAnyOrderDoNotWaitForASlowOne) {
  // More than chunks may be open at a time.
  Order order(false);
  run_with_a_slow_instance(order, 40);
  ASSERT_EQ(order.first.size(), 50U);
  const auto slow = std::find(order.first.begin(), order.first.end(), 0) - order.first.begin();
  EXPECT_GE(slow, 40);
}

TEST(Sinks, GetChunksInOrderUnlessTheySayOtherwise) {
  Order order(true);
  run_with_a_slow_instance(order, 1);
  EXPECT_TRUE(std::is_sorted(order.first.begin(), order.first.end()));
}

TEST(Sinks, InMemoryPutPartsInTheirPlaces) {
  InstanceShape shape;
  shape.saved = 2;
  InMemoryResult memory;
  for (const std::int64_t first : {6, 2, 9}) {
    Chunk part(shape, first, 2);
    for (std::int64_t i = 0; i < 4; ++i) part.values[static_cast<std::size_t>(i)] = static_cast<double>(10 * first + i);
    memory.write(part);
  }
  const Chunk& all = memory.results();
  EXPECT_EQ(all.first, 2);
  ASSERT_EQ(all.count, 9);
  EXPECT_EQ(all.values[0], 20.0);
  EXPECT_EQ(all.values[2 * 4 + 3], 63.0);
  EXPECT_EQ(all.values[2 * 7], 90.0);
  EXPECT_TRUE(std::isnan(all.values[2 * 2]));
  EXPECT_EQ(all.outcomes[2].status, Status::cancelled);
}

}  // namespace
}  // namespace manyfold
