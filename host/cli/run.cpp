// `run`: from a sweep file to a result file.
#include <atomic>
#include <csignal>

#include "build_config.hpp"
#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/cli/progress.hpp"
#include "host/cli/references.hpp"
#include "host/compiler/catalog.hpp"
#include "host/compiler/model_source.hpp"
#include "host/io/result_file.hpp"
#include "host/io/result_names.hpp"
#include "host/io/result_statistics.hpp"
#include "host/io/sweep_file.hpp"
#include "host/io/unfinished_file.hpp"
#include "host/run/job.hpp"
#include "host/text/printable.hpp"
#include "host/text/time_text.hpp"

namespace manyfold::cli {
namespace {

std::atomic<bool> stop_requested = false;
constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

void end_at_once(int signal) {
  UnfinishedFile::remove_all();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// The first signal ends the run in good order, a second one at once. That the limit of processor time is reached
/// (`ulimit -St`) is signalled every second.
void request_stop(int) {
  stop_requested = true;
  std::signal(SIGXCPU, SIG_IGN);
  for (const int signal : stop_signals) std::signal(signal, end_at_once);
}

/// From here on signals stop the run. What is ignored, as SIGHUP is by nohup, stays so.
void handle_signals() {
  for (const int signal : stop_signals) {
    if (std::signal(signal, request_stop) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGXCPU, request_stop);
}

/// What an instance failed at, in words.
std::string failure_text(const FirstFailure& failure, const PreparedJob& job) {
  const ModelDescription& model = job.model();
  const InstanceOutcome& outcome = failure.outcome;
  const double t_begin = inputs_of(job.job(), model, failure.instance).t_span[0];
  std::string text = fmt::format("instance {}, {} at t = {}", failure.instance, status_name(outcome.status),
                                 time_text(outcome.t_reached, t_begin, 6));
  if (outcome.worst_equation >= 0) {
    text += fmt::format(", residual {:.3g} in {}", outcome.residual_norm,
                        printable(model.equation_label(outcome.worst_equation)));
  }
  return text;
}

nlohmann::ordered_json failure_json(const FirstFailure& failure, const ModelDescription& model) {
  const InstanceOutcome& outcome = failure.outcome;
  nlohmann::ordered_json result = {
      {"instance", failure.instance}, {"status", status_name(outcome.status)}, {"t", outcome.t_reached}};
  if (outcome.worst_equation >= 0) {
    result["residual_norm"] = outcome.residual_norm;
    result["worst_equation"] = model.equation_label(outcome.worst_equation);
  }
  return result;
}

/// Of a run that was interrupted, those that were integrated.
double instances_per_second(const RunSummary& summary) {
  const std::int64_t cancelled = summary.by_status[static_cast<std::size_t>(Status::cancelled)];
  return static_cast<double>(summary.instances - cancelled) / summary.wall_seconds;
}

void print_summary(const RunSummary& summary, const PreparedJob& job, const std::string& output) {
  const std::vector<EventDescription>& events = job.model().events;
  const Placement& placement = job.placement();
  const auto total = static_cast<double>(summary.instances);
  std::cout << fmt::format("{} instances in {:.3g} s ({:.4g} per second, {} threads)\n", summary.instances,
                           summary.wall_seconds, instances_per_second(summary), summary.threads);
  for (std::size_t i = 0; i < summary.by_status.size(); ++i) {
    if (summary.by_status[i] == 0) continue;
    const auto status = static_cast<Status>(i);
    std::cout << fmt::format("  {:>10}  {}{}\n", summary.by_status[i], status_name(status),
                             succeeded(status) ? "" : fmt::format(": {}", status_messages[i]));
  }
  if (summary.first_failure.instance >= 0) {
    std::cout << fmt::format("first failure: {}\n", failure_text(summary.first_failure, job));
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
      "backend: {}{}{}\n", placement.backend, because(placement.backend_reason),
      placement.device_shape.empty()
          ? ""
          : fmt::format(", tier {}{}, linear solver {}, {}", tier_name(placement.tier), because(placement.tier_reason),
                        placement.linear_solver_name(), placement.device_shape));
  std::cout << fmt::format("result: {}\n", printable(output));
}

nlohmann::ordered_json summary_json(const RunSummary& summary, const PreparedJob& job, const std::string& output) {
  const ModelDescription& model = job.model();
  const Placement& placement = job.placement();
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
  nlohmann::ordered_json result = {
      {"model", model.name},
      {"instances", summary.instances},
      {"by_status", by_status},
      {"wall_seconds", summary.wall_seconds},
      {"instances_per_second", instances_per_second(summary)},
      {"lane_utilisation", summary.lane_utilisation},
      {"newton_utilisation", summary.newton_utilisation},
      {"threads", summary.threads},
      {"backend", placement.backend},
      {"backend_reason", placement.backend_reason},
      {"tier", tier_name(placement.tier)},
      {"tier_reason", placement.tier_reason},
      {"linear_solver", placement.linear_solver_name()},
      {"device_shape", placement.device_shape},
      {"bytes_copied_back", job.job().device != nullptr ? job.job().device->bytes_copied_back() : 0},
      {"method", job.method()},
      {"output", output},
      {"steps_total", summary.totals.steps},
      {"stats", counters_json(summary.totals)},
      {"events", events},
      {"interrupted", summary.interrupted}};
  if (summary.first_failure.instance >= 0) result["first_failure"] = failure_json(summary.first_failure, model);
  return result;
}

/// `bytes`: at most, of what is written at `path`.
void warn_of_size(std::uintmax_t bytes, const std::filesystem::path& path) {
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), error);
  if (error || bytes <= space.available) return;
  const auto gibibytes = [](std::uintmax_t number) { return static_cast<double>(number) / (1 << 30); };
  announce(fmt::format("warning: {} may need {:.3g} GiB, before compression, but {:.3g} GiB are free there",
                       printable(path.string()), gibibytes(bytes), gibibytes(space.available)));
}

/// The sweep with what the command line says in its place.
Sweep read_sweep(const RunArguments& arguments) {
  SweepOverrides overrides = arguments.overrides;
  const ToleranceSettings atol = tolerance_settings(arguments.atol);
  overrides.atol = atol.all;
  overrides.atol_by_variable = atol.by_variable;
  overrides.parameters = parameter_settings(arguments.parameters);
  return parse_sweep_file(arguments.sweep, method_names(), overrides);
}

/// What `work` returns; messages about the model and the settings get their places in the sweep file.
template <class Work>
auto in_file(const Sweep& sweep, const Work& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    throw UsageError(placed(sweep, error.what()));
  }
}

/// What the result file needs of the instances, if that is nothing but sums over groups of them: then a device may add
/// them up. Rows and verified instances need each instance.
std::optional<SumRequest> sums_for(const Sweep& sweep, const ResolvedSweep& resolved, const ModelDescription& model) {
  if (sweep.instance_rows || sweep.verify > 0.0) return std::nullopt;
  SumRequest request;
  request.values = !resolved.statistics.empty();
  const bool quantiles =
      std::any_of(resolved.statistics.begin(), resolved.statistics.end(),
                  [](const StatisticRequest& statistic) { return statistic.kind == StatisticRequest::Kind::quantile; });
  if (quantiles) {
    const std::size_t columns = static_cast<std::size_t>(resolved.times.count()) * resolved.saved.size();
    const std::int64_t instances = resolved.inputs.instances();
    request.keeps_values = !sketches_quantiles(sweep.quantiles, columns, instances);
    if (!request.keeps_values) request.summary_values = static_cast<int>(summary_values(columns, instances));
  }
  if (sweep.hold) request.end_places = places_at_end(resolved.saved, model.variables.size());
  for (const Reduction& reduction : resolved.reductions) {
    request.terms.insert(request.terms.end(), reduction.terms().begin(), reduction.terms().end());
    request.term_end.push_back(static_cast<int>(request.terms.size()));
  }
  return request;
}

/// The sweep as a job, and `resolved` for what its result file needs.
PreparedJob prepare(const Sweep& sweep, std::optional<ResolvedSweep>& resolved) {
  Job job;
  job.announce = announce;
  job.model = sweep.model;
  job.options = sweep.options;
  const ModelDescription model = in_file(sweep, [&] {
    choose_structural_value(job, [&](const std::string& name) { return constant_integer_parameter(sweep, name); });
    return describe(job);
  });
  resolved = resolve(sweep, model);
  job.options = resolved->options;
  set_inputs(job, resolved->inputs, resolved->times);
  job.saved = resolved->saved;
  job.shape.has_end_states = sweep.hold;
  job.sums = sums_for(sweep, *resolved, model);
  return in_file(sweep, [&] { return PreparedJob(std::move(job)); });
}

/// Nothing if a signal came first, which also ends a compiler.
std::optional<PreparedJob> prepare_unless_stopped(const Sweep& sweep, std::optional<ResolvedSweep>& resolved) {
  try {
    std::optional<PreparedJob> prepared(prepare(sweep, resolved));
    if (!stop_requested) return prepared;
  } catch (const std::runtime_error&) {
    if (!stop_requested) throw;
  }
  announce("interrupted before the integration; there is no result");
  return std::nullopt;
}

/// Initial equations and clocks of a Modelica model know one time.
void warn_of_start(const Sweep& sweep, const ResolvedSweep& resolved, const ModelDescription& model) {
  if (!is_modelica(sweep.model) || resolved.t_span[0] == model.t_begin) return;
  announce(
      fmt::format("warning: t_span begins at {}, but start values and clocks of '{}' are those of its StartTime, {}",
                  resolved.t_span[0], model.name, model.t_begin));
}

ResultFileSettings file_settings(const Sweep& sweep, const ResolvedSweep& resolved, const PreparedJob& prepared) {
  ResultFileSettings settings;
  settings.model = prepared.model();
  settings.instances = prepared.job().instances;
  settings.saved = resolved.saved;
  settings.times = resolved.times;
  settings.t_span = resolved.t_span;
  settings.sampled_parameters = resolved.inputs.sampled_parameters();
  settings.sampled_initial = resolved.inputs.sampled_initial();
  settings.sampled_times = resolved.inputs.sampled_times();
  settings.instance_rows = sweep.instance_rows;
  settings.trajectories = resolved.trajectories;
  settings.sums_only = prepared.adds_up();
  settings.compression = sweep.compression;
  settings.hold = sweep.hold;
  settings.statistics = resolved.statistics;
  settings.quantiles = sweep.quantiles;
  settings.reductions = resolved.reductions;
  settings.options = resolved.options;
  settings.options.method = prepared.method();
  settings.sweep_file = sweep.text;
  settings.seed = sweep.sampling.seed;
  settings.sampler = sweep.sampling.sampler;
  settings.version = build::version;
  settings.backend = prepared.placement().backend;
  settings.tier = tier_name(prepared.placement().tier);
  settings.linear_solver = prepared.placement().linear_solver_name();
  return settings;
}

/// The references for a share of the instances, which go into `settings`; none for an empty share.
std::optional<References> prepare_references(const Sweep& sweep, const PreparedJob& prepared,
                                             ResultFileSettings& settings) {
  const std::vector<std::int64_t> which = instances_to_verify(settings.instances, sweep.verify, sweep.sampling.seed);
  if (which.empty()) return std::nullopt;
  const double numbers = static_cast<double>(settings.times.count()) * static_cast<double>(settings.saved.size());
  if (static_cast<double>(which.size()) * numbers > most_numbers_to_verify) {
    throw UsageError(
        fmt::format("verify is {}: {} instances with {} numbers each are more than fit the memory that "
                    "is meant for them: take a smaller share",
                    sweep.verify, which.size(), numbers));
  }
  References references(prepared, prepared.job().options);
  settings.verification = VerificationPlan{which, references.methods(), references.rtol(), sweep.verify};
  return references;
}

/// What the sweep asked to reduce.
void print_reductions(const std::vector<ReductionSummary>& reductions) {
  for (const ReductionSummary& reduction : reductions) {
    std::cout << reduction.text << ": ";
    if (reduction.instances == 0) {
      std::cout << "known of no instance\n";
    } else if (reduction.criterion) {
      std::cout << fmt::format("yield {:.4g}, 95 % interval {:.4g} to {:.4g}, of {} instances\n", reduction.mean,
                               reduction.interval.low, reduction.interval.high, reduction.instances);
    } else {
      std::cout << fmt::format("mean {:.6g}, from {:.6g} to {:.6g}, of {} instances\n", reduction.mean, reduction.min,
                               reduction.max, reduction.instances);
    }
  }
}

nlohmann::ordered_json reductions_json(const std::vector<ReductionSummary>& reductions) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ReductionSummary& reduction : reductions) {
    all.push_back({{"text", reduction.text}, {"instances", reduction.instances}});
    if (reduction.instances == 0) continue;
    if (reduction.criterion) {
      all.back()["yield"] = reduction.mean;
      all.back()["interval"] = {reduction.interval.low, reduction.interval.high};
    } else {
      all.back()["mean"] = reduction.mean;
      if (reduction.instances > 1) all.back()["std"] = reduction.std;
      all.back()["min"] = reduction.min;
      all.back()["max"] = reduction.max;
    }
  }
  return all;
}

/// Whom the reductions and the statistics do not cover, though they did not fail.
void print_coverage(const RunSummary& summary, const std::vector<ReductionSummary>& reductions, const Sweep& sweep) {
  const std::int64_t ended = summary.by_status[static_cast<std::size_t>(Status::terminated_by_event)];
  const std::int64_t successful = ended + summary.by_status[static_cast<std::size_t>(Status::success)];
  for (const ReductionSummary& reduction : reductions) {
    if (reduction.instances == successful) continue;
    std::cout << fmt::format("\"{}\" is not known of {} instances that succeeded: a value is not a finite number{}\n",
                             reduction.text, successful - reduction.instances,
                             ended == 0 || sweep.hold ? ""
                                                      : ", or they ended before the first output time; after_end = "
                                                        "\"hold\" keeps their last values");
  }
  if (sweep.statistics.empty() || sweep.hold || ended == 0) return;
  std::cout << fmt::format(
      "statistics leave out {} instances after their terminal events; after_end = \"hold\" keeps their last values\n",
      ended);
}

/// What was run and verified, for the user.
void print_result(const RunSummary& summary, const Sweep& sweep, const PreparedJob& prepared, const ResultFile& file,
                  const std::optional<VerificationPlan>& plan, const std::optional<Verification>& verification,
                  const std::string& output, bool json) {
  const Job& job = prepared.job();
  const std::vector<ReductionSummary> reductions = file.reductions();
  const std::optional<double> quantile_error = file.quantile_error();
  if (json) {
    auto result = summary_json(summary, prepared, output);
    if (quantile_error) {
      result["quantiles"] = {{"accuracy", *quantile_error > 0.0 ? "approximate" : "exact"},
                             {"rank_error", *quantile_error}};
    }
    if (!reductions.empty()) result["reductions"] = reductions_json(reductions);
    if (verification) {
      result["verification"] =
          verification_json(*verification, prepared.model(), job.saved, plan->instances, job.options.rtol);
    }
    return print(result);
  }
  print_reductions(reductions);
  print_coverage(summary, reductions, sweep);
  if (quantile_error && *quantile_error > 0.0) {
    std::cout << fmt::format("quantiles: approximate, ranks within {:.2g} % (with a probability of 99 %)\n",
                             100.0 * *quantile_error);
  }
  print_summary(summary, prepared, output);
  if (!verification) return;
  std::cout << fmt::format("\n{} instances verified with {} and {} at rtol {:.3g}\n", plan->instances.size(),
                           plan->references[0], plan->references[1], plan->rtol);
  print_verification(*verification, prepared.model(), job.saved, plan->instances, job.options.rtol);
}

}  // namespace

int run(const RunArguments& arguments) {
  const Sweep sweep = read_sweep(arguments);  // which may wait for a pipe: a signal ends that
  handle_signals();
  // Before anything takes time.
  OutputFile output(arguments.output ? std::filesystem::path(*arguments.output) : sweep.output_file, arguments.force,
                    {sweep.path, sweep.table, sweep.model});
  check_result_path(output.path());
  const std::string output_name = output.path().string();
  std::optional<ResolvedSweep> resolved;
  std::optional<PreparedJob> made = prepare_unless_stopped(sweep, resolved);
  if (!made) return interrupted;
  PreparedJob& prepared = *made;
  if (const std::string warning = prepared.warning(); !warning.empty()) announce("warning: " + warning);
  for (const std::string& warning : resolved->warnings) announce("warning: " + warning);
  warn_of_start(sweep, *resolved, prepared.model());
  prepared.job().stop = &stop_requested;
  ResultFileSettings settings = file_settings(sweep, *resolved, prepared);
  settings.history = arguments.command_line;
  std::optional<References> references = prepare_references(sweep, prepared, settings);
  const std::optional<VerificationPlan> plan = settings.verification;
  warn_of_size(largest_size(settings), output.path());
  ResultFile file(std::move(settings), std::move(output));

  ProgressBar bar;
  prepared.job().progress = [&](const Progress& progress) { bar.show(progress); };
  SolutionSink sink(plan ? plan->instances : std::vector<std::int64_t>(), file);
  const RunSummary summary = prepared.run(sink);
  bar.clear();
  std::optional<Verification> verification;
  if (references && !summary.interrupted) {
    const std::array<Solutions, 2> found = references->integrate(plan->instances, sink.solutions());
    if (!stop_requested) {
      verification = verify(verification_settings(prepared.model(), resolved->saved, resolved->options),
                            sink.solutions(), {&found[0], &found[1]});
      file.write_verification(*verification);
    }
  }
  file.finish(summary.interrupted);
  print_result(summary, sweep, prepared, file, plan, verification, output_name, arguments.json);
  if (summary.interrupted || stop_requested) return interrupted;
  if (verification && verification->verdict != Verdict::verified) return some_failed;
  return summary.failures() == 0 ? all_succeeded : some_failed;
}

}  // namespace manyfold::cli
