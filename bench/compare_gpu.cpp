// The CUDA backend against the CPU backend of the same machine: instances per second on the same ensembles, and the
// share of the device's roofline (bench/roofline.cpp). Needs a device; writes JSON for bench/results.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>

#include "build_config.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "host/engine/installation.hpp"
#include "host/sampling/ensemble_inputs.hpp"

namespace manyfold::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Case {
  const char* model;
  double rtol;
  double atol;
  double t_end;
  std::int64_t instances;
};

/// Large enough to refill every thread of a large device several times, small enough for minutes in all.
constexpr Case cases[] = {{"robertson", 1e-6, 1e-9, 1e5, 4'000'000},
                          {"pendulum", 1e-6, 1e-6, 10.0, 1'000'000},
                          {"transistor_amplifier", 1e-4, 1e-4, 0.2, 100'000},
                          {"van_der_pol", 1e-6, 1e-6, 2.0, 1'000'000}};

class LastValues : public ResultSink {
 public:
  void write(const Chunk& chunk) override { values.insert(values.end(), chunk.values.begin(), chunk.values.end()); }
  std::vector<double> values;
};

struct Timing {
  std::vector<double> seconds;
  RunSummary summary;
  std::vector<double> values;
  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Floating-point operations of a step attempt by model and method, from the committed table.
std::map<std::string, double> read_roofline() {
  std::map<std::string, double> result;
  const std::filesystem::path table = "bench/results/roofline.tsv";
  // A bundle has it beside its programs.
  const auto of_bundle = executable_folder().parent_path() / table;
  std::ifstream file(std::filesystem::exists(of_bundle) ? of_bundle : build::source_root / table);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
    result[columns[0] + " " + columns[1]] = std::stod(columns[10]);
  }
  return result;
}

/// Floating-point operations per second that a device has at most, as bench/roofline.cpp has them; NaN of others.
double peak_of(const std::string& device) {
  const std::pair<const char*, double> peaks[] = {
      {"H200", 34e12}, {"H100", 34e12}, {"A100", 9.7e12}, {"RTX 4090", 1.29e12}};
  for (const auto& [name, peak] : peaks) {
    if (device.find(name) != std::string::npos) return peak;
  }
  return std::nan("");
}

/// Every parameter within ten percent of its default. Instance numbers mean the same in a part of the ensemble.
EnsembleInputs perturbed(const ModelDescription& model, double t_end, std::int64_t instances) {
  std::vector<SampledQuantity> quantities;
  for (const ParameterDescription& parameter : model.parameters) {
    // A transistor's alpha is a current gain just below one.
    if (parameter.value == 0.0 || parameter.name == "alpha") continue;
    const auto [low, high] = std::minmax({0.9 * parameter.value, 1.1 * parameter.value});
    quantities.push_back({SampledQuantity::Kind::parameter, parameter.name, Distribution::uniform(low, high), 0});
  }
  EnsembleInputs inputs = EnsembleInputs::sampled(model, {"sobol", instances, 1}, quantities);
  inputs.set_t_span(model.t_begin, t_end);
  return inputs;
}

Timing time_run(EnsembleRun run, int rounds) {
  Timing timing;
  for (int round = 0; round < rounds; ++round) {
    LastValues sink;
    timing.summary = run_ensemble(run, sink);
    timing.seconds.push_back(timing.summary.wall_seconds);
    timing.values = std::move(sink.values);
  }
  return timing;
}

int compare(double scale, int rounds, const std::string& only, const std::string& file) {
  std::string reason;
  const DeviceBackend* backend = device_backend(reason);
  if (backend != nullptr) reason = backend->unavailable();
  if (!reason.empty()) throw UsageError("no device to measure: " + reason);
  const DeviceDescription& device = backend->devices().front();
  const auto roofline = read_roofline();
  Json report = {{"device", device.name},
                 {"architecture", device.architecture},
                 {"devices", backend->devices().size()},
                 {"compiler", backend->compiler()},
                 {"date", fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))},
                 {"cpu_threads", std::thread::hardware_concurrency()},
                 {"cpu_instruction_set", default_instruction_set()},
                 {"rows", Json::array()}};
  std::cout << fmt::format(
      "{} ({}), {} CPU threads\n{:<22}{:<10}{:>10}{:>14}{:>14}{:>8}{:>12}{:>10}{:>12}{:>10}{:>12}\n", device.name,
      device.architecture, std::thread::hardware_concurrency(), "problem", "method", "instances", "GPU inst/s",
      "CPU inst/s", "ratio", "GFLOP/s", "of peak", "lanes used", "Newton", "difference");
  for (const Case& problem : cases) {
    if (!only.empty() && only != problem.model) continue;
    for (const char* method : {"radau5", "esdirk54"}) {
      const KernelRequest request{problem.model, {.method = method}};
      const LoadedKernel loaded = load_kernel(request);
      EnsembleRun run;
      run.kernel = loaded.kernel;
      run.shape = shape_of(loaded.model);
      run.instances =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(scale * static_cast<double>(problem.instances)));
      const EnsembleInputs inputs = perturbed(loaded.model, problem.t_end, run.instances);
      run.fill_instance = [&](std::int64_t i, double* p, double* y, double* t_span) { inputs.fill(i, p, y, t_span); };
      run.plan = inputs.plan();
      run.fill_times = [](double, double end, double* times) { times[0] = end; };
      run.saved = {0};
      run.options.rtol = problem.rtol;
      run.options.atol.assign(loaded.model.variables.size(), problem.atol);
      DeviceDemand demand{run.instances, run.instance_shape()};
      demand.sampling = DeviceSampling{sampling_source(), *run.plan};
      const auto program = backend->load(device_source(request), demand);
      EnsembleRun on_device = run;
      on_device.device = program.get();
      const Timing gpu = time_run(on_device, rounds);
      // A part suffices for the processor's rate.
      EnsembleRun part = run;
      part.instances = std::max<std::int64_t>(1, run.instances / 16);
      const Timing cpu = time_run(part, rounds);
      double difference = 0.0;
      for (std::size_t i = 0; i < cpu.values.size(); ++i) {
        difference = std::max(difference, std::abs(cpu.values[i] - gpu.values[i]));
      }
      const double gpu_rate = static_cast<double>(run.instances) / gpu.median();
      const double cpu_rate = static_cast<double>(part.instances) / cpu.median();
      const Counters& totals = gpu.summary.totals;
      const auto attempts = static_cast<double>(totals.steps + totals.rejected + totals.newton_failures);
      const auto flops = roofline.find(std::string(problem.model) + " " + method);
      const double rate = flops == roofline.end() ? std::nan("") : flops->second * attempts / gpu.median();
      std::cout << fmt::format(
                       "{:<22}{:<10}{:>10}{:>14.4g}{:>14.4g}{:>8.1f}{:>12.4g}{:>9.1f}%{:>11.1f}%{:>9.1f}%{:>12.1e}\n",
                       problem.model, method, run.instances, gpu_rate, cpu_rate, gpu_rate / cpu_rate, rate / 1e9,
                       100.0 * rate / peak_of(device.name), 100.0 * gpu.summary.lane_utilisation,
                       100.0 * gpu.summary.newton_utilisation, difference)
                << std::flush;
      report["rows"].push_back({{"problem", problem.model},
                                {"method", method},
                                {"rtol", problem.rtol},
                                {"instances", run.instances},
                                {"failed", run.instances - gpu.summary.by_status[0]},
                                {"gpu_instances_per_second", gpu_rate},
                                {"cpu_instances_per_second", cpu_rate},
                                {"flops_per_second", rate},
                                {"share_of_peak", rate / peak_of(device.name)},
                                {"lane_utilisation", gpu.summary.lane_utilisation},
                                {"newton_utilisation", gpu.summary.newton_utilisation},
                                {"largest_difference", difference},
                                {"gpu_seconds", gpu.seconds}});
    }
  }
  if (!file.empty()) std::ofstream(file) << report.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace manyfold::bench

int main(int argc, char** argv) {
  CLI::App app{"Compares the CUDA backend with the CPU backend of the same machine."};
  double scale = 1.0;
  int rounds = 3;
  std::string json;
  std::string problem;
  app.add_option("--scale", scale, "Factor on the numbers of instances")->capture_default_str();
  app.add_option("--rounds", rounds, "Rounds; the median counts")->capture_default_str();
  app.add_option("--problem", problem, "Only this problem");
  app.add_option("--json", json, "Write the table as JSON to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return manyfold::bench::compare(scale, rounds, problem, json);
  } catch (const std::exception& error) {
    std::cerr << "compare_gpu: error: " << error.what() << '\n';
    return 1;
  }
}
