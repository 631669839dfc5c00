// `run`: from a sweep file to a result file.
#include <atomic>
#include <csignal>

#include "build_config.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/cli/progress.hpp"
#include "host/cli/references.hpp"
#include "host/compiler/catalog.hpp"
#include "host/io/result_file.hpp"
#include "host/io/sweep_file.hpp"

namespace manyfold::cli {
namespace {

std::atomic<bool> stop_requested = false;

/// The first signal ends the run in good order, a second one at once.
void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

void print_summary(const RunSummary& summary, const std::vector<EventDescription>& events, const ChosenBackend& backend,
                   const ChosenTier& tier, const std::string& shape, const std::string& output) {
  const auto total = static_cast<double>(summary.instances);
  std::cout << fmt::format("{} instances in {:.3g} s ({:.4g} per second, {} threads)\n", summary.instances,
                           summary.wall_seconds, total / summary.wall_seconds, summary.threads);
  for (std::size_t i = 0; i < summary.by_status.size(); ++i) {
    if (summary.by_status[i] == 0) continue;
    const auto status = static_cast<Status>(i);
    std::cout << fmt::format("  {:>10}  {}{}\n", summary.by_status[i], status_name(status),
                             succeeded(status) ? "" : fmt::format(": {}", status_messages[i]));
  }
  std::cout << fmt::format(
      "steps per instance {:.1f}, rejected {:.1f}, Newton iterations {:.1f}; lanes used {:.1f} %\n",
      static_cast<double>(summary.totals.steps) / total, static_cast<double>(summary.totals.rejected) / total,
      static_cast<double>(summary.totals.newton_iterations) / total, 100.0 * summary.lane_utilisation);
  if (!events.empty()) {
    std::cout << fmt::format("events per instance {:.1f}\n", static_cast<double>(summary.totals.events) / total);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventSummary& event = summary.events[i];
    std::cout << fmt::format(
        "  {:>10}  {}{}\n", event.instances, events[i].name,
        event.instances == 0 ? "" : fmt::format(": first from t = {:.6g} to {:.6g}", event.earliest, event.latest));
  }
  const auto because = [](const std::string& reason) {
    return reason.empty() ? "" : fmt::format(" (auto: {})", reason);
  };
  std::cout << fmt::format(
      "backend: {}{}{}\n", backend.name, because(backend.reason),
      shape.empty() ? "" : fmt::format(", tier {}{}, {}", tier_name(tier.tier), because(tier.reason), shape));
  std::cout << fmt::format("result: {}\n", output);
}

nlohmann::ordered_json summary_json(const RunSummary& summary, const ModelDescription& model, const std::string& method,
                                    const ChosenBackend& backend, const ChosenTier& tier, const std::string& shape,
                                    const std::string& output) {
  nlohmann::ordered_json by_status = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < summary.by_status.size(); ++i) {
    if (summary.by_status[i] > 0) by_status[std::string(status_names[i])] = summary.by_status[i];
  }
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < model.events.size(); ++i) {
    const EventSummary& event = summary.events[i];
    events.push_back({{"name", model.events[i].name}, {"instances", event.instances}});
    if (event.instances == 0) continue;
    events.back()["earliest"] = event.earliest;
    events.back()["latest"] = event.latest;
  }
  return {{"model", model.name},
          {"instances", summary.instances},
          {"by_status", by_status},
          {"wall_seconds", summary.wall_seconds},
          {"instances_per_second", static_cast<double>(summary.instances) / summary.wall_seconds},
          {"lane_utilisation", summary.lane_utilisation},
          {"newton_utilisation", summary.newton_utilisation},
          {"threads", summary.threads},
          {"backend", backend.name},
          {"backend_reason", backend.reason},
          {"tier", tier_name(tier.tier)},
          {"tier_reason", tier.reason},
          {"device_shape", shape},
          {"method", method},
          {"output", output},
          {"steps_total", summary.totals.steps},
          {"stats", counters_json(summary.totals)},
          {"events", events},
          {"interrupted", summary.interrupted}};
}

/// Writes chunks, and keeps the solutions of some instances.
class SampledSink : public ResultSink {
 public:
  /// `instances`: ascending.
  SampledSink(ResultSink& next, const std::vector<std::int64_t>& instances)
      : next_(next), wanted_(instances.begin()), end_(instances.end()) {}

  void write(const Chunk& chunk) override {
    next_.write(chunk);
    for (; wanted_ != end_ && *wanted_ < chunk.first + chunk.count; ++wanted_) {
      sample_.add(chunk, *wanted_ - chunk.first);
    }
  }

  const Solutions& sample() const { return sample_; }

 private:
  ResultSink& next_;
  std::vector<std::int64_t>::const_iterator wanted_;
  std::vector<std::int64_t>::const_iterator end_;
  Solutions sample_;
};

/// `bytes`: at most, of what is written at `path`.
void warn_of_size(std::uintmax_t bytes, const std::filesystem::path& path) {
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), error);
  if (error || bytes <= space.available) return;
  const auto gibibytes = [](std::uintmax_t number) { return static_cast<double>(number) / (1 << 30); };
  announce(fmt::format("warning: {} may need {:.3g} GiB, before compression, but {:.3g} GiB are free there",
                       path.string(), gibibytes(bytes), gibibytes(space.available)));
}

/// Three solutions of a sample are kept in memory: 3 GiB.
constexpr double most_numbers_to_verify = 134'217'728.0;

}  // namespace

int run(const RunArguments& arguments) {
  Sweep sweep = parse_sweep_file(arguments.sweep, method_names());
  if (arguments.backend) sweep.options.backend = *arguments.backend;
  if (arguments.threads) sweep.options.threads = *arguments.threads;
  const double share = arguments.verify.value_or(sweep.verify);
  if (!(share >= 0.0 && share <= 1.0)) {
    throw UsageError(fmt::format("--verify {}: needs the share of the instances to verify, from 0 to 1", share));
  }
  // Before anything takes time.
  OutputFile output(arguments.output ? std::filesystem::path(*arguments.output) : sweep.output_file, arguments.force,
                    {sweep.path, sweep.table, sweep.model});
  const std::string output_name = output.path().string();
  KernelRequest request;
  request.model = sweep.model;
  request.method = sweep.options.method;
  request.precision = sweep.options.precision;
  request.rtol = sweep.options.rtol;
  request.projection = sweep.options.projection;
  request.jacobian = sweep.options.jacobian;
  request.jacobian_reuse = sweep.options.jacobian_reuse;
  request.error_test = sweep.options.error_test;
  if (arguments.backend) sweep.solver_positions.erase("backend");
  const auto in_file = [&](auto&& work) {
    try {
      return work();
    } catch (const UsageError& error) {
      throw UsageError(placed(sweep, error.what()));
    }
  };
  LoadedKernel loaded = in_file([&] {
    return load_as_asked(
        request, [&](const std::string& name) { return constant_integer_parameter(sweep, name); },
        [&](const ModelDescription& model) { return given_at_start(sweep, model); });
  });
  const ResolvedSweep resolved = resolve(sweep, loaded.model);
  const ChosenBackend backend = in_file([&] { return choose_backend(sweep.options, resolved.inputs.instances()); });
  const ChosenTier tier = in_file([&] { return choose_tier(sweep.options, request.method, backend, loaded); });
  if (tier.tier == Tier::lockstep && request.method == "auto") {
    request.method = "radau5";
    loaded = load_kernel(request, announce);
  }
  ResultFileSettings settings;
  settings.model = loaded.model;
  settings.instances = resolved.inputs.instances();
  settings.saved = resolved.saved;
  settings.times = resolved.times;
  settings.t_span = resolved.t_span;
  settings.sampled_parameters = resolved.inputs.sampled_parameters();
  settings.sampled_initial = resolved.inputs.sampled_initial();
  settings.sampled_times = resolved.inputs.sampled_times();
  settings.trajectories = resolved.trajectories;
  settings.statistics = resolved.statistics;
  settings.options = resolved.options;
  settings.options.method = loaded.kernel->method;
  settings.sweep_file = sweep.text;
  settings.seed = sweep.sampling.seed;
  settings.sampler = sweep.sampling.sampler;
  settings.version = build::version;
  settings.backend = backend.name;
  settings.tier = tier_name(tier.tier);
  settings.history = arguments.command_line;
  const std::vector<std::int64_t> verified = instances_to_verify(settings.instances, share, sweep.sampling.seed);
  std::optional<References> references;
  if (!verified.empty()) {
    const auto numbers =
        static_cast<double>(verified.size()) * settings.times.count() * static_cast<double>(settings.saved.size());
    if (numbers > most_numbers_to_verify) {
      throw UsageError(
          fmt::format("verify is {}: {} instances with {} numbers each are more than fit the memory that "
                      "is meant for them: take a smaller share",
                      share, verified.size(), numbers / static_cast<double>(verified.size())));
    }
    references.emplace(request, loaded.model, loaded.kernel->method, sweep.options.rtol);
    settings.verification = VerificationPlan{verified, references->methods(), references->rtol(), share};
  }
  warn_of_size(largest_size(settings), output.path());
  ResultFile file(settings, std::move(output));

  ProgressBar bar;
  EnsembleRun ensemble;
  ensemble.kernel = loaded.kernel;
  ensemble.shape = shape_of(loaded.model);
  ensemble.instances = resolved.inputs.instances();
  ensemble.fill_instance = [&](std::int64_t instance, double* parameters, double* initial, double* t_span) {
    resolved.inputs.fill(instance, parameters, initial, t_span);
  };
  ensemble.shape.times = resolved.times.count();
  ensemble.fill_times = [&](double t_begin, double t_end, double* times) {
    resolved.times.fill(t_begin, t_end, times);
  };
  ensemble.plan = resolved.inputs.plan();
  if (ensemble.plan) {
    ensemble.plan->times = resolved.times.absolute() ? resolved.times.absolute_times().data() : nullptr;
    ensemble.plan->time_count = resolved.times.count();
  }
  ensemble.saved = resolved.saved;
  ensemble.options = resolved.options;
  const std::unique_ptr<DeviceProgram> device = load_device_program(backend, tier.tier, request, ensemble);
  ensemble.device = device.get();
  const std::string shape = device ? device->shape() : "";
  ensemble.stop = &stop_requested;
  ensemble.progress = [&](const Progress& progress) { bar.show(progress); };

  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  SampledSink sink(file, verified);
  const RunSummary summary = run_ensemble(ensemble, sink);
  bar.clear();
  std::optional<Verification> verification;
  if (references && !summary.interrupted) {
    EnsembleRun again = ensemble;
    again.instances = std::ssize(verified);
    again.fill_instance = [&](std::int64_t instance, double* parameters, double* initial, double* t_span) {
      resolved.inputs.fill(verified[static_cast<std::size_t>(instance)], parameters, initial, t_span);
    };
    const std::array<Solutions, 2> found = references->integrate(again, sink.sample());
    if (!stop_requested) {
      verification = verify(verification_settings(loaded.model, resolved.saved, resolved.options), sink.sample(),
                            {&found[0], &found[1]});
      file.write_verification(*verification);
    }
  }
  file.finish(summary.interrupted);

  if (arguments.json) {
    auto result = summary_json(summary, loaded.model, loaded.kernel->method, backend, tier, shape, output_name);
    if (verification) {
      result["verification"] =
          verification_json(*verification, loaded.model, resolved.saved, verified, resolved.options.rtol);
    }
    print(result);
  } else {
    print_summary(summary, loaded.model.events, backend, tier, shape, output_name);
    if (verification) {
      std::cout << fmt::format("\n{} instances verified with {} and {} at rtol {:.3g}\n", verified.size(),
                               references->methods()[0], references->methods()[1], references->rtol());
      print_verification(*verification, loaded.model, resolved.saved, verified, resolved.options.rtol);
    }
  }
  if (summary.interrupted || stop_requested) return interrupted;
  if (verification && verification->verdict != Verdict::verified) return some_failed;
  const auto good = summary.by_status[static_cast<std::size_t>(Status::success)] +
                    summary.by_status[static_cast<std::size_t>(Status::terminated_by_event)];
  return good == summary.instances ? all_succeeded : some_failed;
}

}  // namespace manyfold::cli
