// `solve`: one instance, to a table, a CSV file or JSON.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/engine/ensemble_run.hpp"
#include "host/io/initial_conditions.hpp"
#include "host/io/output_times.hpp"

namespace manyfold::cli {
namespace {

OutputTimes output_times(const SolveArguments& arguments) {
  if (arguments.times.empty()) return arguments.json ? OutputTimes::end() : OutputTimes::equal_steps(11);
  if (arguments.times == "end") return OutputTimes::end();
  if (arguments.times.find(',') == std::string::npos) {
    const double count = number(arguments.times, "--times");
    if (count != std::floor(count) || count < 2 || count > 1e7) {
      throw UsageError(
          fmt::format("--times {}: needs a whole number of at least 2, or a list t1,t2,...", arguments.times));
    }
    return OutputTimes::equal_steps(static_cast<int>(count));
  }
  std::vector<double> times;
  std::istringstream stream(arguments.times);
  for (std::string item; std::getline(stream, item, ',');) times.push_back(number(item, "--times"));
  return OutputTimes::list(times);
}

/// Keeps the single instance's results.
class Memory : public ResultSink {
 public:
  void write(const Chunk& written) override { chunk = written; }
  Chunk chunk;
};

}  // namespace

int solve(const SolveArguments& arguments) {
  SolverOptions options;
  options.backend = arguments.backend;
  options.precision = arguments.precision;
  options.projection = arguments.projection;
  options.threads = 1;
  options.rtol = arguments.rtol;
  if (const std::string problem = rtol_problem(arguments.rtol, arguments.precision); !problem.empty()) {
    throw UsageError("--rtol " + problem);
  }
  if (const std::string problem = atol_problem(arguments.atol); !problem.empty()) {
    throw UsageError("--atol " + problem);
  }
  std::error_code not_there;
  if (arguments.csv && std::filesystem::equivalent(*arguments.csv, arguments.model, not_there)) {
    throw UsageError(fmt::format("--csv {} is the model's file", *arguments.csv));
  }
  const ChosenBackend backend = choose_backend(options, 1);
  const OutputTimes times = output_times(arguments);
  if (arguments.t_end && !std::isfinite(*arguments.t_end)) throw UsageError("--t-end: needs a finite number");
  const ParameterSettings settings = parameter_settings(arguments.parameters);
  KernelRequest request;
  request.model = arguments.model;
  request.method = arguments.method;
  request.precision = arguments.precision;
  request.rtol = arguments.rtol;
  request.projection = arguments.projection;
  request.jacobian = arguments.jacobian;
  request.jacobian_reuse = arguments.jacobian_reuse;
  request.error_test = arguments.error_test;
  const auto structural_value = [&](const std::string& name) { return structural_setting(settings, name); };
  const LoadedKernel loaded = load_as_asked(request, structural_value, [&](const ModelDescription& model) {
    return arguments.initial_conditions.empty() ? std::vector<int>()
                                                : given_at_start(model, arguments.initial_conditions);
  });
  const ModelDescription& model = loaded.model;
  const std::vector<double> parameters = parameters_as_set(model, settings);
  const std::vector<VariableDescription> initial_quantities = model.initial_quantities();
  std::vector<double> initial(initial_quantities.size(), std::numeric_limits<double>::quiet_NaN());
  for (const std::string& text : arguments.initial) {
    const auto [name, value] = assignment(text, "--initial");
    initial[static_cast<std::size_t>(index_of(name, initial_quantities, "variable", model.name))] = value;
  }
  const double t_end = arguments.t_end.value_or(model.t_end);
  if (t_end == model.t_begin) {
    throw UsageError(fmt::format("--t-end {}: model '{}' starts there, needs another time", t_end, model.name));
  }
  if (const auto problem = times.problem(model.t_begin, t_end, true)) {
    throw UsageError(fmt::format("--{}", *problem));
  }
  options.method = arguments.method;
  options.atol.assign(model.variables.size(), arguments.atol);

  EnsembleRun run;
  run.kernel = loaded.kernel;
  run.shape = shape_of(model);
  run.instances = 1;
  run.fill_instance = [&](std::int64_t, double* p, double* y, double* t_span) {
    std::copy(parameters.begin(), parameters.end(), p);
    std::copy(initial.begin(), initial.end(), y);
    t_span[0] = model.t_begin;
    t_span[1] = t_end;
  };
  run.shape.times = times.count();
  run.fill_times = [&](double begin, double end, double* out) { times.fill(begin, end, out); };
  for (int i = 0; i < run.shape.variables; ++i) run.saved.push_back(i);
  run.options = options;
  run.shape.has_end_states = true;
  const std::unique_ptr<DeviceProgram> device = load_device_program(backend, Tier::fused, request, run);
  run.device = device.get();
  Memory memory;
  run_ensemble(run, memory);

  const InstanceOutcome& outcome = memory.chunk.outcomes[0];
  const std::size_t n = model.variables.size();
  const bool good = succeeded(outcome.status);
  const auto event_name = [&](int event) { return model.events[static_cast<std::size_t>(event)].name; };
  if (arguments.json) {
    nlohmann::ordered_json result = {{"model", model.name},
                                     {"status", std::string(status_name(outcome.status))},
                                     {"t", outcome.t_reached},
                                     {"method", loaded.kernel->method},
                                     {"backend", backend.name},
                                     {"values", nlohmann::ordered_json::object()},
                                     {"derivatives", nlohmann::ordered_json::object()},
                                     {"stats", counters_json(outcome.counters)},
                                     {"events", nlohmann::ordered_json::array()}};
    for (const EventRecord& record : memory.chunk.event_log(0)) {
      result["events"].push_back(
          {{"name", event_name(record.event)}, {"t", record.time}, {"direction", record.direction}});
    }
    for (std::size_t i = 0; i < n; ++i) {
      result["values"][model.variables[i].name] = memory.chunk.end_states[i];
      result["derivatives"][model.variables[i].name] = memory.chunk.end_states[n + i];
    }
    if (outcome.residual_norm != 0.0) result["residual_norm"] = outcome.residual_norm;
    if (outcome.worst_equation >= 0) result["worst_equation"] = model.equation_label(outcome.worst_equation);
    print(result);
  } else if (arguments.csv) {
    std::ofstream file(*arguments.csv);
    file << "time";
    for (const VariableDescription& variable : model.variables) file << ',' << variable.name;
    file << '\n';
    for (std::size_t k = 0; k < memory.chunk.times.size(); ++k) {
      file << fmt::format("{}", memory.chunk.times[k]);
      for (std::size_t i = 0; i < n; ++i) file << fmt::format(",{}", memory.chunk.values[k * n + i]);
      file << '\n';
    }
    file.close();
    if (!file)
      throw UsageError(fmt::format("cannot write '{}': {}", *arguments.csv, std::generic_category().message(errno)));
  } else {
    std::cout << fmt::format("{:>14}", "time");
    for (const VariableDescription& variable : model.variables) std::cout << fmt::format(" {:>16}", variable.name);
    std::cout << '\n';
    for (std::size_t k = 0; k < memory.chunk.times.size(); ++k) {
      std::cout << fmt::format("{:>14.7g}", memory.chunk.times[k]);
      for (std::size_t i = 0; i < n; ++i) std::cout << fmt::format(" {:>16.9g}", memory.chunk.values[k * n + i]);
      std::cout << '\n';
    }
    const Counters& c = outcome.counters;
    std::cout << fmt::format("\n{}, {}: {} steps, {} rejected, {} Newton failures, {} residuals, {} factorisations\n",
                             model.name, loaded.kernel->method, c.steps, c.rejected, c.newton_failures, c.residuals,
                             c.factorizations);
    for (const EventRecord& record : memory.chunk.event_log(0)) {
      std::cout << fmt::format("event {} at {:.12g}\n", event_name(record.event), record.time);
    }
    const std::int64_t unlisted = c.events - std::ssize(memory.chunk.event_log(0));
    if (unlisted > 0) std::cout << fmt::format("and {} more events\n", unlisted);
  }
  if (!good) {
    const std::string residual =
        outcome.residual_norm != 0.0 ? fmt::format("; residual norm {:.3g}", outcome.residual_norm) : "";
    const std::string equation =
        outcome.worst_equation >= 0 ? fmt::format(", of {}", model.equation_label(outcome.worst_equation)) : "";
    const std::string event = outcome.status == Status::event_storm && outcome.last_event >= 0
                                  ? fmt::format(": event '{}'", event_name(outcome.last_event))
                                  : "";
    std::cerr << fmt::format("manyfold: error: {} at t = {:.9g}: {}{}{}{}\n", status_name(outcome.status),
                             outcome.t_reached, status_messages[static_cast<std::size_t>(outcome.status)], residual,
                             equation, event);
    return some_failed;
  }
  return all_succeeded;
}

}  // namespace manyfold::cli
