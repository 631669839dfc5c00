// What only a device can show: its arithmetic. Accuracy of every problem that a thread can hold, agreement with the
// processor, independence of instances, statuses, and ten million instances. Without a device these tests are skipped.
// With the emulated driver (MANYFOLD_CUDA_DRIVER), which knows a few problems, they check themselves; where that
// executes PTX (MANYFOLD_EMULATED_PTX), the code for the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "host/compiler/catalog.hpp"
#include "host/io/output_times.hpp"
#include "host/io/reduction.hpp"
#include "host/io/result_file.hpp"
#include "host/io/statistics.hpp"
#include "host/sampling/ensemble_inputs.hpp"
#include "kernels/algebra/sparsity.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"
#include "tests/support/netcdf_content.hpp"
#include "tests/support/reference.hpp"

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

/// Does the emulated driver execute what NVRTC writes, instead of kernels of its own?
bool executes_ptx() {
  return emulated() && std::getenv("MANYFOLD_EMULATED_PTX") != nullptr;
}

struct Case {
  std::string model;
  std::string method;
  Tier tier = Tier::fused;
  std::string precision = "float64";
  int tile = 0;
  LinearSolver solver = LinearSolver::cublas;

  KernelRequest request() const { return {model, {.method = method, .precision = precision}}; }
  DeviceSource source() const { return device_source(request(), {tile, 0, tier}); }
  /// The smallest rtol at which rounding leaves Newton's method room: the amplifier's exponentials magnify it.
  double least_rtol() const { return precision != "float32" ? 1e-8 : model == "transistor_amplifier" ? 1e-3 : 1e-4; }
};

std::string name_of(const Case& tested) {
  std::string name = tested.model + "_" + tested.method;
  if (tested.tier == Tier::phased) name += "_phased";
  if (tested.precision != "float64") name += "_" + tested.precision;
  if (tested.tile != 0) name += "_tile" + std::to_string(tested.tile);
  if (tested.solver == LinearSolver::cusolver) name += "_cusolver";
  return name;
}

void PrintTo(const Case& tested, std::ostream* out) {
  *out << name_of(tested);
}

int highest_index(const ModelDescription& model) {
  int highest = 1;
  for (const VariableDescription& variable : model.variables) highest = std::max(highest, variable.index);
  return highest;
}

/// What the error of a variable may be, as for the processor: a multiple of rtol in systems of index 1; else, of
/// variables of index 2 and 3, of its powers 3/5 and 2/5 (numerics/higher_index_test).
double allowed_error(const ModelDescription& model, std::size_t variable, double rtol) {
  if (highest_index(model) == 1) return test::error_allowance(model.name) * rtol;
  const double powers[] = {1.0, 0.6, 0.4};
  const double multiple = model.name == "slider_crank" ? 3000.0 : 100.0;
  return multiple * std::pow(rtol, powers[model.variables[variable].index - 1]);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ModelDescription& model : builtin_models()) {
    cases.push_back({model.name, "radau5", Tier::phased});
    // Of larger systems a thread would spill all but everything.
    if (model.variables.size() > 12) continue;
    cases.push_back({model.name, "radau5"});
    // Diagonally implicit methods lose their order beyond; the processor promises no accuracy either.
    if (highest_index(model) == 1) cases.push_back({model.name, "esdirk54"});
  }
  for (const char* method : {"lobatto4", "esdirk54"}) {
    cases.push_back({"transistor_amplifier", method, Tier::phased});
  }
  for (const char* method : {"rodas4", "bdf", "dirka", "dirks", "radau", "radau9"}) cases.push_back({"das1", method});
  for (const Tier tier : {Tier::fused, Tier::phased}) {
    for (const char* model : {"robertson", "pendulum", "van_der_pol", "transistor_amplifier"}) {
      for (const char* precision : {"mixed", "float32"}) cases.push_back({model, "radau5", tier, precision});
    }
  }
  for (const char* precision : {"float64", "mixed"}) {
    cases.push_back({"robertson", "radau5", Tier::phased, precision, 0, LinearSolver::cusolver});
  }
  cases.push_back({"transistor_amplifier", "radau5", Tier::phased, "float64", 0, LinearSolver::cusolver});
  for (const char* model : {"das1", "rectifier"}) cases.push_back({model, "radau5", Tier::fused, "mixed"});
  cases.push_back({"diffusion", "radau5", Tier::phased, "mixed"});
  cases.push_back({"slider_crank", "radau5"});
  cases.push_back({"robertson", "radau5", Tier::fused, "float64", 2});
  cases.push_back({"rectifier", "radau5", Tier::fused, "float64", 4});
  cases.push_back({"transistor_amplifier", "radau5", Tier::fused, "float64", 8});
  cases.push_back({"transistor_amplifier", "esdirk54", Tier::fused, "mixed", 16});
  cases.push_back({"pendulum_index2", "radau5", Tier::fused, "float64", 32});
  return cases;
}

class Device : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string reason;
    devices_ = devices_or_null(reason);
    if (devices_ == nullptr) GTEST_SKIP() << reason;
    const bool phased = GetParam().tier == Tier::phased;
    if (executes_ptx()) {
      if (GetParam().model == "medical_akzo_nobel") GTEST_SKIP() << "400 variables take minutes";
      if (GetParam().precision == "mixed" && (GetParam().model == "rectifier" || GetParam().tile == 16)) {
        GTEST_SKIP() << "takes long, and other models in mixed precision and other tiles are executed";
      }
    } else if (emulated()) {
      choose_module(phased);
    } else if (phased && !devices_->unavailable(GetParam().solver).empty()) {
      const LoadedKernel& loaded = test::kernel_of(GetParam().model, GetParam().method);
      const bool sparse = is_sparse(static_cast<int>(loaded.model.variables.size()), loaded.kernel->factor_work);
      if (!sparse) GTEST_SKIP() << devices_->unavailable(GetParam().solver);
    }
  }

  /// Of the emulated driver.
  void choose_module(bool phased) const {
    std::set<std::string> known = {"robertson", "rectifier", "das2"};
    if (phased) known.insert({"transistor_amplifier", "pendulum_index2", "diffusion"});
    std::string module = GetParam().model;
    if (GetParam().method != "radau5") module += "-" + GetParam().method;
    if (phased) known.insert("transistor_amplifier-esdirk54");
    if (!known.contains(module) || GetParam().precision != "float64" || GetParam().tile != 0) {
      GTEST_SKIP() << "the emulated driver does not know the problem";
    }
    setenv("MANYFOLD_EMULATED_PROBLEM", module.c_str(), 1);
  }

  /// As many instances as a device can be asked for, as the emulated one can, and as the machine for PTX can.
  int instances(int on_device, int on_emulated, int on_machine) const {
    const std::size_t n = ensemble(1e-6).variable_count();
    if (executes_ptx()) return n > 12 ? 4 : on_machine;
    // cuSOLVER takes their matrices one by one.
    const bool slow = n > 100 || GetParam().solver == LinearSolver::cusolver;
    return slow ? on_device / 20 : emulated() ? on_emulated : on_device;
  }

  /// An ensemble of the problem on the processor; `on_device` moves it.
  test::Ensemble ensemble(double rtol) const {
    test::Ensemble ensemble;
    ensemble.loaded = &test::kernel_of(GetParam().model, GetParam().method, "", GetParam().precision);
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
    ensemble.device_request = GetParam().request();
    ensemble.device_shape = {GetParam().tile, 0, GetParam().tier};
    ensemble.linear_solver = GetParam().solver;
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
  const test::Reference reference = test::reference_of(GetParam().model);
  const std::vector<double>& exact = reference.values;
  const auto scale = test::error_scales(GetParam().model, exact.size());
  for (const double rtol : {1e-3, 1e-4, 1e-6, 1e-8}) {
    if (rtol < GetParam().least_rtol() || (rtol == 1e-3 && GetParam().precision != "float32")) continue;
    // One instance in phases is thousands of tasks that wait for each other.
    if (rtol < 1e-6 && emulated() && GetParam().tier == Tier::phased) continue;
    test::Ensemble nominal = on_device(ensemble(rtol));
    nominal.t_end = reference.t_end;
    nominal.repeat_defaults(1);
    const test::Results result = nominal.solve();
    ASSERT_TRUE(succeeded(result.outcomes[0].status));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double error = std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i]));
      EXPECT_LE(error, allowed_error(nominal.loaded->model, i, rtol)) << "variable " << i << " at rtol " << rtol;
    }
  }
}

TEST_P(Device, AgreesWithTheProcessorToAFewUnitsOfTheTolerance) {
  const double rtol = std::max(1e-6, GetParam().least_rtol());
  test::Ensemble processor = ensemble(rtol);
  if (GetParam().model == "transistor_amplifier") processor.t_end = 0.02;
  perturb(processor, instances(1000, 100, 40));
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
      EXPECT_NEAR(a.events[k][e].time, b.events[k][e].time, 300.0 * rtol * a.events[k][e].time) << "instance " << k;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double x = a.values[k * n + i];
      if (std::isnan(x) && std::isnan(b.values[k * n + i])) continue;  // ended by an event
      // Both may be off, since roundings lead to other steps: by 300 times rtol, as perturbed instances may on the
      // processor; variables of systems of higher index by three times what they may be off at all, which is as much.
      const ModelDescription& model = processor.loaded->model;
      const double allowed = highest_index(model) == 1 ? 300.0 * rtol : 3.0 * allowed_error(model, i, rtol);
      EXPECT_LE(std::abs(x - b.values[k * n + i]) / (scale[i] + std::abs(x)), allowed)
          << "instance " << k << ", variable " << i;
    }
  }
}

TEST_P(Device, AnInstanceDoesNotDependOnItsEnsemble) {
  test::Ensemble whole = on_device(ensemble(std::max(1e-6, GetParam().least_rtol())));
  if (GetParam().model == "transistor_amplifier") whole.t_end = 0.02;
  whole.event_log = 16;
  const auto count = static_cast<std::size_t>(instances(1000, 1000, 40));
  perturb(whole, static_cast<int>(count));
  const test::Results a = whole.solve();
  const std::size_t n = whole.variable_count();
  const std::size_t np = whole.parameter_count();
  // In reverse order, and in batches that memory for few instances cuts small.
  test::Ensemble reversed = whole;
  for (std::size_t k = 0; k < count; ++k) {
    std::copy_n(whole.parameters.begin() + static_cast<std::ptrdiff_t>(k * np), np,
                reversed.parameters.begin() + static_cast<std::ptrdiff_t>((count - 1 - k) * np));
  }
  reversed.device_memory = whole.loaded->model.events.empty() ? 0.5 : 2.0;
  // Of which the library, and instances in flight, take their share.
  if (GetParam().tier == Tier::phased) reversed.device_memory += 12.0;
  const test::Results b = reversed.solve();
  for (std::size_t k = 0; k < count; ++k) {
    EXPECT_EQ(std::memcmp(a.values.data() + k * n, b.values.data() + (count - 1 - k) * n, n * sizeof(double)), 0) << k;
    EXPECT_EQ(a.outcomes[k].counters.residuals, b.outcomes[count - 1 - k].counters.residuals);
    EXPECT_EQ(a.event_values[k], b.event_values[count - 1 - k]) << "instance " << k;
    for (std::size_t e = 0; e < a.events[k].size(); ++e) {
      EXPECT_EQ(a.events[k][e].time, b.events[count - 1 - k][e].time) << "instance " << k;
    }
  }
}

TEST_P(Device, AFailingInstanceLeavesTheOthersAlone) {
  test::Ensemble healthy = on_device(ensemble(std::max(1e-6, GetParam().least_rtol())));
  healthy.t_end = healthy.t_begin + 0.01 * (healthy.t_end - healthy.t_begin);
  const auto count = static_cast<std::size_t>(instances(200, 200, 40));
  const std::size_t every = std::max<std::size_t>(count / 4, 2);
  perturb(healthy, static_cast<int>(count));
  const test::Results a = healthy.solve();
  test::Ensemble sick = healthy;
  const std::size_t np = sick.parameter_count();
  for (std::size_t k = 0; k < count; k += every) sick.parameters[k * np] = std::nan("");
  const test::Results b = sick.solve();
  const std::size_t n = sick.variable_count();
  for (std::size_t k = 0; k < count; ++k) {
    if (k % every == 0) {
      EXPECT_FALSE(succeeded(b.outcomes[k].status));
    } else {
      EXPECT_EQ(std::memcmp(a.values.data() + k * n, b.values.data() + k * n, n * sizeof(double)), 0) << k;
    }
  }
}

/// Compiles the kernels of all cases side by side, for the device and the processor: one after another they would take
/// longer than the tests.
class CompiledAhead : public testing::Environment {
 public:
  void SetUp() override {
    std::string reason;
    const DeviceBackend* devices = devices_or_null(reason);
    if (devices == nullptr || emulated() || GTEST_FLAG_GET(filter) != "*") return;
    const std::vector<Case> cases = all_cases();
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned k = 0; k < std::max(1U, std::thread::hardware_concurrency()); ++k) {
      workers.emplace_back([&] {
        for (std::size_t i = next++; i < cases.size(); i = next++) {
          // A case that does not compile fails by itself.
          try {
            devices->compile(cases[i].source(), devices->devices().front().architecture);
            load_kernel(cases[i].request());
          } catch (const std::exception& error) {
            std::cout << cases[i].model << ": " << error.what() << "\n";
          }
        }
      });
    }
  }
};
const auto* const compiled_ahead = testing::AddGlobalTestEnvironment(new CompiledAhead);

INSTANTIATE_TEST_SUITE_P(Problems, Device, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return name_of(test.param); });

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
  const auto inputs = EnsembleInputs::sampled(model,
                                              {GetParam(),
                                               grid             ? 0
                                               : executes_ptx() ? 500
                                                                : 10'000,
                                               12345},
                                              quantities);

  InMemoryResult memory;
  EnsembleRun run;
  run.kernel = loaded.kernel;
  run.shape = shape_of(model);
  run.instances = inputs.instances();
  run.fill_instance = [](std::int64_t, double*, double*, double*) { FAIL() << "the host filled an instance"; };
  const OutputTimes output_times = OutputTimes::equal_steps(5);
  run.fill_times = [&](double from, double to, double* times) { output_times.fill(from, to, times); };
  run.plan = inputs.plan();
  ASSERT_TRUE(run.plan);
  run.plan->time_count = run.shape.times = 5;
  run.saved = {0};
  run.options.rtol = 1e-3;
  run.options.atol.assign(model.variables.size(), 1e-3);
  DeviceDemand demand{run.instances, run.instance_shape()};
  demand.sampling = DeviceSampling{sampling_source(), *run.plan};
  const auto program = devices->load(device_source({"rectifier", {.method = "radau5"}}), demand);
  run.device = program.get();
  run_ensemble(run, memory);
  const Chunk& sampled = memory.results();

  const std::size_t np = model.parameters.size();
  const std::size_t n = model.variables.size();
  ASSERT_EQ(sampled.parameters.size(), static_cast<std::size_t>(run.instances) * np);
  std::vector<double> p(np);
  std::vector<double> y(n);
  double t_span[2];
  const auto same = [](const std::vector<double>& a, std::int64_t i, const double* b, std::size_t count) {
    return std::memcmp(a.data() + static_cast<std::size_t>(i) * count, b, count * sizeof(double)) == 0;
  };
  for (std::int64_t i = 0; i < run.instances; ++i) {
    inputs.fill(i, p.data(), y.data(), t_span);
    ASSERT_TRUE(same(sampled.parameters, i, p.data(), np)) << "instance " << i;
    ASSERT_TRUE(same(sampled.t_span, i, t_span, 2)) << "instance " << i;
    ASSERT_EQ(sampled.initial[static_cast<std::size_t>(i) * n], y[0]) << "instance " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, DeviceSamples, testing::Values("monte_carlo", "latin_hypercube", "sobol", "grid"),
                         [](const auto& test) { return test.param; });

/// Adds up rows, or takes the sums that a device has in place of them.
class Summing : public ResultSink {
 public:
  Summing(std::size_t columns, const std::vector<Reduction>& reductions)
      : values(columns), reduced(reductions.size()), reductions_(reductions) {}
  void write(const Chunk& chunk) override {
    if (const GroupSums* sums = GroupSums::of(chunk)) {
      values.add_groups(chunk.first, chunk.count, sums->values);
      reduced.add_groups(chunk.first, chunk.count, sums->reductions);
      return;
    }
    ++chunks_of_rows;
    values.add(chunk.first, chunk.values);
    const auto times = static_cast<std::size_t>(chunk.shape.times);
    const auto saved = static_cast<std::size_t>(chunk.shape.saved);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
      for (const Reduction& reduction : reductions_) {
        numbers.push_back(
            succeeded(chunk.outcomes[i].status)
                ? reduction.of({chunk.times.data() + i * times, times}, chunk.values.data() + i * times * saved, saved)
                : std::nan(""));
      }
    }
    reduced.add(chunk.first, numbers);
  }
  Statistics values;
  Statistics reduced;
  int chunks_of_rows = 0;

 private:
  const std::vector<Reduction>& reductions_;
};

TEST(DeviceSums, AreThoseOfTheHostToTheLastBit) {
  std::string reason;
  const DeviceBackend* devices = devices_or_null(reason);
  if (devices == nullptr) GTEST_SKIP() << reason;
  if (emulated()) setenv("MANYFOLD_EMULATED_PROBLEM", "robertson", 1);
  const LoadedKernel& loaded = test::kernel_of("robertson", "radau5");
  const int instances = executes_ptx() ? 70 : emulated() ? 500 : 10'000;
  const auto inputs =
      EnsembleInputs::sampled(loaded.model, {"monte_carlo", instances, 7},
                              {{SampledQuantity::Kind::parameter, "k1", Distribution::uniform(0.02, 0.06), 0}});
  const OutputTimes times = OutputTimes::equal_steps(9);
  EnsembleRun run;
  run.kernel = loaded.kernel;
  run.shape = shape_of(loaded.model);
  run.instances = instances;
  run.fill_times = [&](double from, double to, double* out) { times.fill(from, to, out); };
  run.plan = inputs.plan();
  run.plan->time_count = run.shape.times = times.count();
  run.saved = {0, 1};
  run.options.rtol = 1e-6;
  run.options.atol = {1e-6, 1e-10, 1e-6};
  run.options.max_steps = 88;  // too few for half of them

  std::vector<Reduction> reductions;
  SumRequest request;
  request.values = true;
  for (const char* text : {"mean(y1)", "max(y2)", "time_of_max(y2)", "min(y1) < 0.03 and final(y2) > 1e-7"}) {
    reductions.push_back(Reduction::parse(text));
    for (Reduction::Term& term : reductions.back().terms()) {
      term.place = term.variable == "y2" ? 1 : 0;
      request.terms.push_back(term);
    }
    request.term_end.push_back(static_cast<int>(request.terms.size()));
  }
  const auto columns = static_cast<std::size_t>(times.count()) * run.saved.size();
  std::array<Summing, 2> sinks = {Summing(columns, reductions), Summing(columns, reductions)};
  std::array<RunSummary, 2> summaries;
  for (const std::size_t on_device : {std::size_t{0}, std::size_t{1}}) {
    DeviceDemand demand{run.instances, run.instance_shape()};
    demand.sampling = DeviceSampling{sampling_source(), *run.plan};
    if (on_device == 1) demand.sums = DeviceSumming{sums_source(), request};
    const auto program = devices->load(device_source({"robertson", {.method = "radau5"}}), demand);
    run.device = program.get();
    summaries[on_device] = run_ensemble(run, sinks[on_device]);
  }
  EXPECT_GT(sinks[0].chunks_of_rows, 0);
  EXPECT_EQ(sinks[1].chunks_of_rows, 0);
  EXPECT_GT(summaries[0].by_status[0], 0);
  EXPECT_LT(summaries[0].by_status[0], instances);
  EXPECT_EQ(summaries[1].by_status, summaries[0].by_status);
  EXPECT_EQ(summaries[1].totals.residuals, summaries[0].totals.residuals);
  EXPECT_EQ(summaries[1].first_failure.instance, summaries[0].first_failure.instance);
  EXPECT_EQ(summaries[1].first_failure.outcome.t_reached, summaries[0].first_failure.outcome.t_reached);
  for (Statistics Summing::*statistics : {&Summing::values, &Summing::reduced}) {
    const Moments expected = (sinks[0].*statistics).moments();
    const Moments found = (sinks[1].*statistics).moments();
    for (std::size_t column = 0; column < expected.columns(); ++column) {
      ASSERT_GT(expected.count(column), 1);
      EXPECT_EQ(found.count(column), expected.count(column));
      EXPECT_EQ(found.mean(column), expected.mean(column));
      EXPECT_EQ(found.standard_deviation(column), expected.standard_deviation(column));
      EXPECT_EQ(found.min(column), expected.min(column));
      EXPECT_EQ(found.max(column), expected.max(column));
    }
  }
}

/// Tanks of which some overflow, some are full in the end, and some take too many steps.
class DeviceStatistics : public testing::TestWithParam<QuantileAccuracy> {
 protected:
  void SetUp() override {
    std::string reason;
    devices_ = devices_or_null(reason);
    if (devices_ == nullptr) GTEST_SKIP() << reason;
    if (emulated()) setenv("MANYFOLD_EMULATED_PROBLEM", "overflow_tank", 1);
    std::filesystem::create_directory(folder_);
    // Several batches, the last of which is no whole group.
    instances_ = emulated() ? 4200 : 300'000;
    inputs_.emplace(
        EnsembleInputs::sampled(loaded_.model, {"monte_carlo", instances_, 7},
                                {{SampledQuantity::Kind::parameter, "inflow", Distribution::uniform(0.02, 0.05), 0}}));
    run_.kernel = loaded_.kernel;
    run_.shape = shape_of(loaded_.model);
    run_.shape.has_end_states = true;
    run_.instances = instances_;
    run_.fill_times = [&](double from, double to, double* out) { times_.fill(from, to, out); };
    run_.plan = inputs_->plan();
    run_.plan->time_count = run_.shape.times = times_.count();
    run_.saved = {0};
    run_.options.rtol = 1e-6;
    run_.options.atol = {1e-6};
    run_.options.max_steps = 18;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<DeviceProgram> load(bool sums) const {
    DeviceDemand demand{run_.instances, run_.instance_shape()};
    demand.sampling = DeviceSampling{sampling_source(), *run_.plan};
    SumRequest request;
    request.values = true;
    request.keeps_values = GetParam() == QuantileAccuracy::exact;
    request.summary_values = request.keeps_values ? 0 : 4096;
    request.end_places = places_at_end(run_.saved, loaded_.model.variables.size());
    if (sums) demand.sums = DeviceSumming{sums_source(), request};
    return devices_->load(device_source({"overflow_tank", {.method = "radau5"}}), demand);
  }

  ResultFile file(const std::string& name, bool sums) const {
    ResultFileSettings settings;
    settings.model = loaded_.model;
    settings.instances = instances_;
    settings.saved = run_.saved;
    settings.times = times_;
    settings.t_span = {0.0, 200.0};
    settings.instance_rows = settings.trajectories = false;
    settings.sums_only = sums;
    settings.hold = true;
    settings.quantiles = GetParam();
    for (const char* statistic : {"mean", "std", "min", "max", "quantile(0)", "quantile(0.1)", "quantile(0.5)",
                                  "quantile(0.999)", "quantile(1)"}) {
      settings.statistics.push_back(StatisticRequest::parse(statistic).value());
    }
    return {settings, OutputFile(folder_ / name, true)};
  }

  const DeviceBackend* devices_ = nullptr;
  const LoadedKernel& loaded_ = test::kernel_of("overflow_tank", "radau5");
  const OutputTimes times_ = OutputTimes::equal_steps(9);
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("manyfold-device-statistics-" + std::to_string(getpid()));
  std::int64_t instances_ = 0;
  std::optional<EnsembleInputs> inputs_;
  EnsembleRun run_;
};
INSTANTIATE_TEST_SUITE_P(Quantiles, DeviceStatistics,
                         testing::Values(QuantileAccuracy::exact, QuantileAccuracy::approximate), [](const auto& test) {
                           return test.param == QuantileAccuracy::exact ? "exact" : "approximate";
                         });

TEST_P(DeviceStatistics, AreThoseOfTheHostToTheLastBit) {
  std::array<RunSummary, 2> summaries;
  for (const bool sums : {false, true}) {
    const auto program = load(sums);
    EXPECT_EQ(program->adds_up(), sums);
    run_.device = program.get();
    ResultFile result = file(sums ? "sums.nc" : "rows.nc", sums);
    summaries[sums] = run_ensemble(run_, result);
    result.finish();
    // Of each device 1 KiB for each rank of a column; or a summary of it, of as many values as a group has instances.
    const std::int64_t most = GetParam() == QuantileAccuracy::exact ? 400'000 : 100 * instances_;
    if (sums) {
      EXPECT_LT(program->bytes_copied_back(), most);
    }
  }
  const test::Content of_device = test::content_of(folder_ / "sums.nc");
  for (const auto& [name, bytes] : test::content_of(folder_ / "rows.nc")) {
    EXPECT_TRUE(of_device.at(name) == bytes) << name;
  }
  for (const Status status : {Status::success, Status::terminated_by_event, Status::max_steps}) {
    EXPECT_GT(summaries[0].by_status[static_cast<std::size_t>(status)], 100);
  }
  EXPECT_EQ(summaries[1].by_status, summaries[0].by_status);
  EXPECT_EQ(summaries[1].events[0].instances, summaries[0].events[0].instances);
  EXPECT_EQ(summaries[1].events[0].earliest, summaries[0].events[0].earliest);
  EXPECT_EQ(summaries[1].events[0].latest, summaries[0].events[0].latest);
}

// What the devices have by then counts, and nothing else.
TEST_P(DeviceStatistics, OfAStoppedRunAreOverWhatIsThere) {
  std::atomic<bool> stop = false;
  run_.stop = &stop;
  run_.instances = instances_ = 10 * instances_;
  run_.progress = [&](const Progress& progress) { stop = stop || progress.finished > 0; };
  const auto program = load(true);
  run_.device = program.get();
  ResultFile result = file("sums.nc", true);
  const RunSummary summary = run_ensemble(run_, result);
  result.finish(summary.interrupted);
  const test::Content content = test::content_of(folder_ / "sums.nc");
  const auto count = reinterpret_cast<const long long*>(content.at("level_count").data())[8];
  EXPECT_EQ(count, summary.by_status[0] + summary.by_status[1]);
  const std::vector<double> quantiles = test::doubles_of(content, "level_quantile");
  EXPECT_EQ(quantiles[8], test::doubles_of(content, "level_min")[8]);
  EXPECT_EQ(quantiles[4 * 9 + 8], test::doubles_of(content, "level_max")[8]);
  EXPECT_LT(quantiles[8], quantiles[2 * 9 + 8]);
}

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
  run.shape = shape_of(loaded.model);
  run.instances = executes_ptx() ? 200 : emulated() ? 20'000 : 10'000'000;
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
      devices->load(device_source({"robertson", {.method = "radau5"}}), {run.instances, run.instance_shape()});
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
