// What only a device can show: its arithmetic. Accuracy of every problem that a thread can hold, agreement with the
// processor, independence of instances, statuses, and ten million instances. Without a device these tests are skipped.
// With the emulated driver (MANYFOLD_CUDA_DRIVER), which knows a few problems, they check themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "host/compiler/catalog.hpp"
#include "host/io/output_times.hpp"
#include "host/sampling/ensemble_inputs.hpp"
#include "kernels/sparsity.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"

namespace manyfold {
namespace {

const DeviceBackend* devices_or_null(std::string& reason) {
  const DeviceBackend* backend = device_backend(reason);
  if (backend == nullptr) return nullptr;
  reason = backend->unavailable();
  return reason.empty() ? backend : nullptr;
}

bool emulated() {
  return std::getenv("MANYFOLD_CUDA_DRIVER") != nullptr;
}

struct Case {
  std::string model;
  std::string method;
  Tier tier = Tier::fused;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ModelDescription& model : builtin_models()) {
    cases.push_back({model.name, "radau5", Tier::lockstep});
    // Of larger systems a thread would spill all but everything.
    if (model.variables.size() > 12) continue;
    for (const char* method : {"radau5", "esdirk54"}) cases.push_back({model.name, method});
  }
  for (const char* method : {"lobatto4", "esdirk54"}) {
    cases.push_back({"transistor_amplifier", method, Tier::lockstep});
  }
  return cases;
}

class Device : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string reason;
    devices_ = devices_or_null(reason);
    if (devices_ == nullptr) GTEST_SKIP() << reason;
    const bool lockstep = GetParam().tier == Tier::lockstep;
    if (emulated()) {
      choose_module(lockstep);
    } else if (lockstep && !devices_->cublas_unavailable().empty()) {
      const LoadedKernel& loaded = test::kernel_of(GetParam().model, GetParam().method);
      const bool sparse = is_sparse(static_cast<int>(loaded.model.variables.size()), loaded.kernel->factor_work);
      if (!sparse) GTEST_SKIP() << devices_->cublas_unavailable();
    }
  }

  /// Of the emulated driver.
  void choose_module(bool lockstep) const {
    std::set<std::string> known = {"robertson", "rectifier", "das2"};
    if (lockstep) known.insert({"transistor_amplifier", "pendulum_index2", "diffusion"});
    std::string module = GetParam().model;
    if (GetParam().method != "radau5") module += "-" + GetParam().method;
    if (lockstep) known.insert("transistor_amplifier-esdirk54");
    if (!known.contains(module)) GTEST_SKIP() << "the emulated driver does not know the problem";
    setenv("MANYFOLD_EMULATED_PROBLEM", module.c_str(), 1);
  }

  /// An ensemble of the problem on the processor; `on_device` moves it.
  test::Ensemble ensemble(double rtol) const {
    test::Ensemble ensemble;
    ensemble.loaded = &test::kernel_of(GetParam().model, GetParam().method);
    ensemble.t_begin = ensemble.loaded->model.t_begin;
    ensemble.t_end = ensemble.loaded->model.t_end;
    ensemble.rtol = rtol;
    for (const double scale : test::error_scales(GetParam().model, ensemble.variable_count())) {
      ensemble.atol.push_back(rtol * scale);
    }
    return ensemble;
  }
  test::Ensemble on_device(test::Ensemble ensemble) const {
    ensemble.devices = devices_;
    ensemble.device_request = {GetParam().model, GetParam().method, std::nullopt, ""};
    ensemble.tier = GetParam().tier;
    return ensemble;
  }
  static void perturb(test::Ensemble& ensemble, int count) {
    test::Uniform uniform(17);
    for (int i = 0; i < count; ++i) {
      for (const ParameterDescription& parameter : ensemble.loaded->model.parameters) {
        // A current gain above one would make the transistors sources of energy.
        const double spread = parameter.name == "alpha" ? 0.0 : 0.1;
        ensemble.parameters.push_back(parameter.value * (1.0 + spread * (uniform() - 0.5)));
      }
    }
  }

  const DeviceBackend* devices_ = nullptr;
};

TEST_P(Device, ErrorOfTheNominalInstanceFollowsTheTolerance) {
  std::ifstream file(test::source_folder() + "/problems/" + GetParam().model + "/reference.json");
  const auto reference = nlohmann::json::parse(file);
  const auto exact = reference["values"].get<std::vector<double>>();
  const auto scale = test::error_scales(GetParam().model, exact.size());
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    test::Ensemble nominal = on_device(ensemble(rtol));
    nominal.t_end = reference["t_end"];
    nominal.repeat_defaults(1);
    const test::Results result = nominal.solve();
    ASSERT_TRUE(succeeded(result.outcomes[0].status));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double error = std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i]));
      EXPECT_LE(error, test::error_allowance(GetParam().model) * rtol) << "variable " << i << " at rtol " << rtol;
    }
  }
}

TEST_P(Device, AgreesWithTheProcessorToAFewUnitsOfTheTolerance) {
  test::Ensemble processor = ensemble(1e-6);
  if (GetParam().model == "transistor_amplifier") processor.t_end = 0.02;
  perturb(processor, emulated() ? 100 : 1000);
  const test::Results a = processor.solve();
  const test::Results b = on_device(processor).solve();
  const std::size_t n = processor.variable_count();
  const auto scale = test::error_scales(GetParam().model, n);
  ASSERT_EQ(a.outcomes.size(), b.outcomes.size());
  for (std::size_t k = 0; k < a.outcomes.size(); ++k) {
    ASSERT_EQ(b.outcomes[k].status, a.outcomes[k].status) << "instance " << k;
    ASSERT_TRUE(succeeded(b.outcomes[k].status));
    ASSERT_EQ(a.events[k].size(), b.events[k].size()) << "instance " << k;
    for (std::size_t e = 0; e < a.events[k].size(); ++e) {
      EXPECT_EQ(a.events[k][e].event, b.events[k][e].event);
      EXPECT_EQ(a.events[k][e].direction, b.events[k][e].direction);
      EXPECT_NEAR(a.events[k][e].time, b.events[k][e].time, 300.0 * 1e-6 * a.events[k][e].time) << "instance " << k;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double x = a.values[k * n + i];
      if (std::isnan(x) && std::isnan(b.values[k * n + i])) continue;  // ended by an event
      // Both may be off by the allowance, since roundings lead to other steps.
      EXPECT_LE(std::abs(x - b.values[k * n + i]) / (scale[i] + std::abs(x)), 300.0 * 1e-6) << "instance " << k;
    }
  }
}

TEST_P(Device, AnInstanceDoesNotDependOnItsEnsemble) {
  test::Ensemble whole = on_device(ensemble(1e-6));
  if (GetParam().model == "transistor_amplifier") whole.t_end = 0.02;
  whole.event_log = 16;
  perturb(whole, 1000);
  const test::Results a = whole.solve();
  const std::size_t n = whole.variable_count();
  const std::size_t np = whole.parameter_count();
  // In reverse order, and in batches that memory for few instances cuts small.
  test::Ensemble reversed = whole;
  for (std::size_t k = 0; k < 1000; ++k) {
    std::copy_n(whole.parameters.begin() + static_cast<std::ptrdiff_t>(k * np), np,
                reversed.parameters.begin() + static_cast<std::ptrdiff_t>((999 - k) * np));
  }
  reversed.device_memory = whole.loaded->model.events.empty() ? 0.5 : 2.0;
  // Of which cuBLAS, and instances in flight, take their share.
  if (GetParam().tier == Tier::lockstep) reversed.device_memory += 12.0;
  const test::Results b = reversed.solve();
  for (std::size_t k = 0; k < 1000; ++k) {
    EXPECT_EQ(std::memcmp(a.values.data() + k * n, b.values.data() + (999 - k) * n, n * sizeof(double)), 0) << k;
    EXPECT_EQ(a.outcomes[k].counters.residuals, b.outcomes[999 - k].counters.residuals);
    EXPECT_EQ(a.event_values[k], b.event_values[999 - k]) << "instance " << k;
    for (std::size_t e = 0; e < a.events[k].size(); ++e) {
      EXPECT_EQ(a.events[k][e].time, b.events[999 - k][e].time) << "instance " << k;
    }
  }
}

TEST_P(Device, AFailingInstanceLeavesTheOthersAlone) {
  test::Ensemble healthy = on_device(ensemble(1e-6));
  healthy.t_end = healthy.t_begin + 0.01 * (healthy.t_end - healthy.t_begin);
  perturb(healthy, 200);
  const test::Results a = healthy.solve();
  test::Ensemble sick = healthy;
  const std::size_t np = sick.parameter_count();
  for (std::size_t k = 0; k < 200; k += 50) sick.parameters[k * np] = std::nan("");
  const test::Results b = sick.solve();
  const std::size_t n = sick.variable_count();
  for (std::size_t k = 0; k < 200; ++k) {
    if (k % 50 == 0) {
      EXPECT_FALSE(succeeded(b.outcomes[k].status));
    } else {
      EXPECT_EQ(std::memcmp(a.values.data() + k * n, b.values.data() + k * n, n * sizeof(double)), 0) << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, Device, testing::ValuesIn(all_cases()), [](const auto& test) {
  return test.param.model + "_" + test.param.method + (test.param.tier == Tier::lockstep ? "_lockstep" : "");
});

class DeviceSamples : public testing::TestWithParam<std::string> {};

TEST_P(DeviceSamples, AreThoseOfTheHostToTheLastBit) {
  std::string reason;
  const DeviceBackend* devices = devices_or_null(reason);
  if (devices == nullptr) GTEST_SKIP() << reason;
  if (emulated()) setenv("MANYFOLD_EMULATED_PROBLEM", "rectifier", 1);
  const LoadedKernel& loaded = test::kernel_of("rectifier", "radau5");
  const ModelDescription& model = loaded.model;
  // Every law in turn, around the model's values.
  std::vector<SampledQuantity> quantities;
  for (std::size_t k = 0; k < model.parameters.size(); ++k) {
    const double x = std::abs(model.parameters[k].value) + 1e-3;
    const Distribution laws[] = {Distribution::uniform(0.9 * x, 1.1 * x),
                                 Distribution::loguniform(0.5 * x, 2.0 * x),
                                 Distribution::normal(x, 0.01 * x),
                                 Distribution::lognormal(x, 0.1),
                                 Distribution::truncated_normal(x, 0.1 * x, 0.95 * x, 1.3 * x),
                                 Distribution::triangular(0.9 * x, x, 1.2 * x),
                                 Distribution::choice({0.9 * x, x, 1.1 * x}, {1.0, 2.0, 1.0})};
    const Distribution& law = laws[k % std::size(laws)];
    quantities.push_back(
        {SampledQuantity::Kind::parameter, model.parameters[k].name, law, law.table().empty() ? 2 : 0});
  }
  quantities.push_back({SampledQuantity::Kind::initial, model.variables[0].name, Distribution::normal(0.0, 1e-3), 2});
  quantities.push_back({SampledQuantity::Kind::time, "t_end", Distribution::uniform(1e-4, 2e-4), 2});
  const bool grid = GetParam() == "grid";
  const auto inputs = EnsembleInputs::sampled(model, {GetParam(), grid ? 0 : 10'000, 12345}, quantities);

  class Inputs : public ResultSink {
   public:
    void write(const Chunk& chunk) override {
      parameters.insert(parameters.end(), chunk.parameters.begin(), chunk.parameters.end());
      initial.insert(initial.end(), chunk.initial.begin(), chunk.initial.end());
      t_span.insert(t_span.end(), chunk.t_span.begin(), chunk.t_span.end());
      times.insert(times.end(), chunk.times.begin(), chunk.times.end());
    }
    std::vector<double> parameters, initial, t_span, times;
  } sampled;
  EnsembleRun run;
  run.kernel = loaded.kernel;
  run.parameter_count = static_cast<int>(model.parameters.size());
  run.variable_count = static_cast<int>(model.variables.size());
  run.event_count = static_cast<int>(model.events.size());
  run.discrete_count = static_cast<int>(model.discrete.size());
  run.instances = inputs.instances();
  run.fill_instance = [](std::int64_t, double*, double*, double*) { FAIL() << "the host filled an instance"; };
  run.plan = inputs.plan();
  ASSERT_TRUE(run.plan);
  run.plan->time_count = run.time_count = 5;
  run.saved = {0};
  run.options.rtol = 1e-3;
  run.options.atol.assign(model.variables.size(), 1e-3);
  DeviceDemand demand{run.instances, run.time_count, 1, false, 0.0, run.options.event_log};
  demand.sampling = DeviceSampling{sampling_source(), *run.plan};
  const auto program = devices->load(device_source({"rectifier", "radau5", std::nullopt, ""}), demand);
  run.device = program.get();
  run_ensemble(run, sampled);

  const std::size_t np = model.parameters.size();
  const std::size_t n = model.variables.size();
  ASSERT_EQ(sampled.parameters.size(), static_cast<std::size_t>(run.instances) * np);
  std::vector<double> p(np);
  std::vector<double> y(n);
  std::vector<double> times(5);
  double t_span[2];
  const auto same = [](const std::vector<double>& a, std::int64_t i, const double* b, std::size_t count) {
    return std::memcmp(a.data() + static_cast<std::size_t>(i) * count, b, count * sizeof(double)) == 0;
  };
  for (std::int64_t i = 0; i < run.instances; ++i) {
    inputs.fill(i, p.data(), y.data(), t_span);
    OutputTimes::equal_steps(5).fill(t_span[0], t_span[1], times.data());
    ASSERT_TRUE(same(sampled.parameters, i, p.data(), np)) << "instance " << i;
    ASSERT_TRUE(same(sampled.t_span, i, t_span, 2)) << "instance " << i;
    ASSERT_TRUE(same(sampled.times, i, times.data(), 5)) << "instance " << i;
    ASSERT_EQ(sampled.initial[static_cast<std::size_t>(i) * n], y[0]) << "instance " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, DeviceSamples, testing::Values("monte_carlo", "latin_hypercube", "sobol", "grid"),
                         [](const auto& test) { return test.param; });

TEST(DeviceScale, TenMillionInstancesOfRobertsonInOneRun) {
  std::string reason;
  const DeviceBackend* devices = devices_or_null(reason);
  if (devices == nullptr) GTEST_SKIP() << reason;
  class Tally : public ResultSink {
   public:
    void write(const Chunk& chunk) override {
      for (const double y : chunk.values) largest_defect = std::max(largest_defect, std::abs(y));
      instances += chunk.count;
    }
    double largest_defect = 0.0;
    std::int64_t instances = 0;
  } tally;
  const LoadedKernel& loaded = test::kernel_of("robertson", "radau5");
  EnsembleRun run;
  run.kernel = loaded.kernel;
  run.parameter_count = 3;
  run.variable_count = 3;
  run.instances = emulated() ? 20'000 : 10'000'000;
  run.fill_instance = [](std::int64_t i, double* p, double* y, double* t_span) {
    p[0] = 0.02 + 4e-9 * static_cast<double>(i);
    p[1] = 1e4;
    p[2] = 3e7;
    y[0] = y[1] = y[2] = std::nan("");
    t_span[0] = 0.0;
    t_span[1] = 1e5;
  };
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  run.saved = {0};
  run.options.rtol = 1e-6;
  run.options.atol = {1e-6, 1e-10, 1e-6};
  if (emulated()) setenv("MANYFOLD_EMULATED_PROBLEM", "robertson", 1);
  const auto program =
      devices->load(device_source({"robertson", "radau5", std::nullopt, ""}), {run.instances, 1, 1, false, 0.0});
  run.device = program.get();
  const RunSummary summary = run_ensemble(run, tally);
  EXPECT_EQ(summary.by_status[0], run.instances);
  EXPECT_EQ(tally.instances, run.instances);
  EXPECT_LE(tally.largest_defect, 1.0);
  std::cout << run.instances << " instances in " << summary.wall_seconds << " s, lanes used "
            << summary.lane_utilisation << ", Newton " << summary.newton_utilisation << "\n";
}

}  // namespace
}  // namespace manyfold
