// An instance's result is bit for bit the same whatever ensemble, order, chunk, thread or failing neighbour it met.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "host/compiler/catalog.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// One instance's saved values and outcome as bytes.
std::string bits(const test::Ensemble& ensemble, const test::Results& results, std::size_t instance) {
  const std::size_t width = results.values.size() / results.outcomes.size();
  std::string text(reinterpret_cast<const char*>(results.values.data() + instance * width), width * sizeof(double));
  const InstanceOutcome& outcome = results.outcomes[instance];
  const auto add = [&](const auto& value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(outcome.status);
  add(outcome.t_reached);
  add(outcome.counters);
  for (const EventRecord& record : results.events[instance]) {
    add(record.time);
    add(record.event);
    add(record.direction);
  }
  if (!results.event_values.empty()) {
    for (const double value : results.event_values[instance]) add(value);
  }
  static_cast<void>(ensemble);
  return text;
}

class Independence : public testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  Independence() {
    const auto& [model, method] = GetParam();
    ensemble_.loaded = &test::kernel_of(model, method);
    ensemble_.t_begin = ensemble_.loaded->model.t_begin;
    ensemble_.t_end = ensemble_.loaded->model.t_end;
    for (int k = 1; k <= 5; ++k)
      ensemble_.times.push_back(ensemble_.t_begin + (ensemble_.t_end - ensemble_.t_begin) * k / 5.0);
    ensemble_.rtol = 1e-5;
    test::Uniform uniform(5);
    for (int i = 0; i < instances(model); ++i) {
      for (const ParameterDescription& parameter : ensemble_.loaded->model.parameters) {
        const double spread = parameter.name == "alpha" ? 0.0 : 0.2;
        ensemble_.parameters.push_back(parameter.value * (1.0 + spread * (uniform() - 0.5)));
      }
    }
    static std::map<std::pair<std::string, std::string>, test::Results> references;
    const auto [entry, added] = references.try_emplace(GetParam());
    if (added) entry->second = ensemble_.solve();
    reference_ = entry->second;
  }

  /// So many that every lane is refilled some times.
  static int instances(const std::string& model) { return model == "transistor_amplifier" ? 60 : 1000; }

  void expect_same(const test::Ensemble& other, const std::vector<std::size_t>& order) {
    const test::Results results = other.solve();
    for (std::size_t k = 0; k < order.size(); ++k) {
      ASSERT_EQ(bits(other, results, k), bits(ensemble_, reference_, order[k])) << "instance " << order[k];
    }
  }

  std::vector<std::size_t> identity() const {
    std::vector<std::size_t> order(reference_.outcomes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  }

  test::Ensemble ensemble_;
  test::Results reference_;
};

TEST_P(Independence, TwoThreads) {
  test::Ensemble other = ensemble_;
  other.threads = 2;
  expect_same(other, identity());
}

TEST_P(Independence, ChunksOfSeven) {
  test::Ensemble other = ensemble_;
  other.chunk_size = 7;
  other.threads = 2;
  expect_same(other, identity());
}

TEST_P(Independence, ShuffledInstances) {
  std::vector<std::size_t> order = identity();
  test::Uniform uniform(99);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(uniform() * static_cast<double>(i))]);
  test::Ensemble other = ensemble_;
  const std::size_t np = other.parameter_count();
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(ensemble_.parameters.begin() + static_cast<std::ptrdiff_t>(order[i] * np), np,
                other.parameters.begin() + static_cast<std::ptrdiff_t>(i * np));
  }
  expect_same(other, order);
}

TEST_P(Independence, EachInstanceAlone) {
  const std::size_t np = ensemble_.parameter_count();
  // Steps that have no divisor in common with the numbers of lanes meet each of these.
  for (std::size_t i = 0; i < reference_.outcomes.size(); i += 7) {
    test::Ensemble other = ensemble_;
    other.parameters.assign(ensemble_.parameters.begin() + static_cast<std::ptrdiff_t>(i * np),
                            ensemble_.parameters.begin() + static_cast<std::ptrdiff_t>((i + 1) * np));
    expect_same(other, {i});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, Independence,
    testing::ValuesIn(test::sampled<std::pair<std::string, std::string>>({{"robertson", "radau5"},
                                                                          {"robertson", "esdirk54"},
                                                                          {"robertson", "bdf"},
                                                                          {"robertson", "radau"},
                                                                          {"pendulum", "rodas5p"},
                                                                          {"pendulum", "radau5"},
                                                                          {"cstr", "radau5"},
                                                                          {"das2", "dirka"},
                                                                          {"pendulum_index3", "radau5"},
                                                                          {"transistor_amplifier", "bdf"},
                                                                          {"bouncing_ball", "bdf"},
                                                                          {"bouncing_ball", "radau5"},
                                                                          {"stick_slip", "esdirk54"},
                                                                          {"rectifier", "radau5"}})),
    [](const auto& test) { return test.param.first + "_" + test.param.second; });

// Failures of each kind, and what they leave untouched.

struct Failure {
  Status status;
  int parameter;
  double value;
};

class Failures : public testing::TestWithParam<std::tuple<Failure, std::string>> {};

TEST_P(Failures, FiftyFailingInstancesLeaveTheOthersUntouched) {
  const auto& [failure, method] = GetParam();
  test::Ensemble healthy;
  healthy.loaded = &test::kernel_of(test::source_folder() + "/tests/engine/fragile.hpp", method);
  healthy.t_end = 2.0;
  healthy.max_steps = 20000;
  test::Uniform uniform(3);
  const std::size_t np = healthy.parameter_count();
  healthy.repeat_defaults(1000);
  for (std::size_t i = 0; i < 1000; ++i) healthy.parameters[i * np + np - 1] = 0.5 + uniform();
  const test::Results good = healthy.solve();

  test::Ensemble mixed = healthy;
  const auto fails = [](std::size_t i) { return i % 20 == 7; };
  for (std::size_t i = 0; i < 1000; ++i) {
    if (fails(i)) mixed.parameters[i * np + static_cast<std::size_t>(failure.parameter)] = failure.value;
  }
  RunSummary summary;
  const test::Results results = mixed.solve(&summary);
  EXPECT_EQ(summary.by_status[static_cast<std::size_t>(failure.status)], 50);
  for (std::size_t i = 0; i < 1000; ++i) {
    if (fails(i)) {
      ASSERT_EQ(results.outcomes[i].status, failure.status)
          << status_name(results.outcomes[i].status) << " at t " << results.outcomes[i].t_reached;
      EXPECT_TRUE(std::isnan(results.values[2 * i])) << "a value is saved where the instance did not arrive";
    } else {
      ASSERT_EQ(good.outcomes[i].status, Status::success);
      ASSERT_EQ(bits(mixed, results, i), bits(healthy, good, i)) << "instance " << i;
    }
  }
  if (failure.status == Status::inconsistent_initial_conditions) {
    // The smallest |z^2 + 1| is 1: a search that fails cannot report less.
    EXPECT_GE(results.outcomes[7].residual_norm, 1.0);
  }
}

// Parameters of Fragile by index.
INSTANTIATE_TEST_SUITE_P(EveryStatus, Failures,
                         testing::Combine(testing::Values(Failure{Status::step_too_small, 0, 1e12},
                                                          Failure{Status::newton_failure, 1, 1.0},
                                                          Failure{Status::singular_jacobian, 2, 0.0},
                                                          Failure{Status::nonfinite_residual, 3, 1.0},
                                                          Failure{Status::inconsistent_initial_conditions, 4, 2.0},
                                                          Failure{Status::max_steps, 5, 1e7}),
                                          testing::Values("radau5", "esdirk54")),
                         [](const auto& test) {
                           return std::string(status_name(std::get<0>(test.param).status)) + "_" +
                                  std::get<1>(test.param);
                         });

TEST(Cancellation, StopsSoonAndMarksWhatWasNotFinished) {
  test::Ensemble ensemble;
  ensemble.loaded = &test::kernel_of("robertson", "radau5");
  ensemble.t_end = 1e5;
  ensemble.rtol = 1e-9;
  ensemble.repeat_defaults(200000);
  std::atomic<bool> stop = false;
  EnsembleRun run = ensemble.request();
  run.stop = &stop;
  run.progress = [&](const Progress& progress) {
    if (progress.finished > 0) stop = true;
  };
  InMemoryResult memory;
  const RunSummary summary = run_ensemble(run, memory);
  EXPECT_TRUE(summary.interrupted);
  const auto finished = summary.by_status[static_cast<std::size_t>(Status::success)];
  const auto cancelled = summary.by_status[static_cast<std::size_t>(Status::cancelled)];
  EXPECT_GT(finished, 0);
  EXPECT_GT(cancelled, 0);
  EXPECT_EQ(finished + cancelled, 200000);
}

TEST(Failing, ASinkThatThrowsEndsTheRunWithItsError) {
  class Broken : public ResultSink {
   public:
    void write(const Chunk&) override { throw std::runtime_error("the disk is full"); }
  };
  test::Ensemble ensemble;
  ensemble.loaded = &test::kernel_of("robertson", "radau5");
  ensemble.t_end = 1e5;
  ensemble.repeat_defaults(5000);
  Broken sink;
  EXPECT_THROW(run_ensemble(ensemble.request(), sink), std::runtime_error);
}

}  // namespace
}  // namespace manyfold
