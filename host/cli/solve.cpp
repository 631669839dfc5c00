// `solve`: one instance, to a table, a CSV file or JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include <manyfold/error.hpp>
#include <manyfold/tolerances.hpp>

#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/io/output_times.hpp"
#include "host/io/text_file.hpp"
#include "host/run/job.hpp"
#include "host/text/time_text.hpp"

namespace manyfold::cli {
namespace {

OutputTimes output_times(const SolveArguments& arguments) {
  if (arguments.times.empty()) return arguments.json ? OutputTimes::end() : OutputTimes::equal_steps(11);
  if (arguments.times == "end") return OutputTimes::end();
  if (arguments.times.find(',') == std::string::npos) {
    std::int64_t count = 0;
    if (!read_integer(arguments.times, 2, 10'000'000, count).empty()) {
      throw UsageError(
          fmt::format("--times {}: needs a whole number from 2 to 1e7, or a list t1,t2,...", arguments.times));
    }
    return OutputTimes::equal_steps(static_cast<int>(count));
  }
  std::vector<double> times;
  std::istringstream stream(arguments.times + ',');  // so that nothing after the last comma is an item too
  for (std::string item; std::getline(stream, item, ',');) {
    if (item.empty()) {
      throw UsageError(fmt::format("--times {}: needs a number before and after every comma", arguments.times));
    }
    times.push_back(number(item, "--times"));
  }
  return OutputTimes::list(times);
}

/// What the command line asks for. Throws UsageError for what is out of range whatever the model.
Job job_of(const SolveArguments& arguments) {
  if (const std::string problem = rtol_problem(arguments.options.rtol, arguments.options.precision); !problem.empty()) {
    throw UsageError("--rtol " + problem);
  }
  for (const NumberSetting& setting : number_settings) {
    const double value = setting.get(arguments.options);
    if (setting.allows(value)) continue;
    std::string option = setting.name;
    std::replace(option.begin(), option.end(), '_', '-');
    throw UsageError(fmt::format("--{} is {}, but must be {}", option, value, setting.need));
  }
  if (arguments.csv) check_text_target(*arguments.csv, {arguments.model});
  if (arguments.t_end && !std::isfinite(*arguments.t_end)) throw UsageError("--t-end: needs a finite number");
  Job job;
  job.announce = announce;
  job.model = arguments.model;
  job.instances = 1;
  job.shape.has_end_states = true;
  job.options = arguments.options;
  // One instance is for the fused tier, which has no library.
  const bool of_library = job.options.linear_solver != "auto" && job.options.linear_solver != "own";
  if (of_library) job.options.tier = "auto";
  return job;
}

/// One absolute tolerance for all variables, or one each.
std::vector<double> absolute_tolerances(const ToleranceSettings& settings, const ModelDescription& model) {
  std::vector<double> atol = {settings.all.value_or(SolverOptions().atol.front())};
  if (settings.by_variable.empty()) return atol;
  atol.assign(model.variables.size(), atol.front());
  for (const auto& [name, value] : settings.by_variable) {
    atol[static_cast<std::size_t>(index_of(name, model.variables, "variable", model.name))] = value;
  }
  return atol;
}

/// Where the instance starts and ends, and its output times.
void set_instance(Job& job, const SolveArguments& arguments, const ParameterSettings& settings,
                  const ModelDescription& model, const OutputTimes& times) {
  const std::vector<VariableDescription> quantities = model.initial_quantities();
  std::vector<double> initial(quantities.size(), std::numeric_limits<double>::quiet_NaN());
  for (const auto& [name, value] : assignments(arguments.initial, "--initial")) {
    const auto index = static_cast<std::size_t>(index_of(name, quantities, "variable", model.name));
    if (const std::string problem = quantities[index].problem_of_initial(); !problem.empty()) {
      throw UsageError(fmt::format("--initial {}: {}", name, problem));
    }
    if (const Bounds& bounds = quantities[index].bounds; !bounds.contain(value)) {
      throw UsageError(fmt::format("--initial {}: is {}", name, out_of_bounds(value, bounds)));
    }
    initial[index] = value;
  }
  const double t_end = arguments.t_end.value_or(model.t_end);
  if (t_end == model.t_begin) {
    throw UsageError(fmt::format("--t-end {}: model '{}' starts there, needs another time", t_end, model.name));
  }
  if (std::abs(t_end - model.t_begin) < least_span) {
    throw UsageError(fmt::format("--t-end {}: the time span has the length {}, but needs at least {}", t_end,
                                 std::abs(t_end - model.t_begin), least_span));
  }
  if (const auto problem = times.problem(model.t_begin, t_end, true)) {
    throw UsageError(fmt::format("--{}", *problem));
  }
  job.fill_instance = [parameters = parameters_as_set(model, settings), initial, t_begin = model.t_begin, t_end](
                          std::int64_t, double* p, double* y, double* t_span) {
    std::copy(parameters.begin(), parameters.end(), p);
    std::copy(initial.begin(), initial.end(), y);
    t_span[0] = t_begin;
    t_span[1] = t_end;
  };
  job.shape.times = times.count();
  job.fill_times = [times](double begin, double end, double* out) { times.fill(begin, end, out); };
}

const std::string& event_name(const ModelDescription& model, int event) {
  return model.events[static_cast<std::size_t>(event)].name;
}

void print_json(const PreparedJob& prepared, const Chunk& result) {
  const ModelDescription& model = prepared.model();
  const InstanceOutcome& outcome = result.outcomes[0];
  const std::size_t n = model.variables.size();
  const std::size_t end_of_derivatives = 2 * n;
  const std::size_t end_of_observables = end_of_derivatives + model.observables.size();
  nlohmann::ordered_json json = {{"model", model.name},
                                 {"status", std::string(status_name(outcome.status))},
                                 {"t", outcome.t_reached},
                                 {"method", prepared.method()},
                                 {"backend", prepared.placement().backend},
                                 {"values", nlohmann::ordered_json::object()},
                                 {"derivatives", nlohmann::ordered_json::object()},
                                 {"stats", counters_json(outcome.counters)},
                                 {"events", nlohmann::ordered_json::array()}};
  for (const EventRecord& record : result.event_log(0)) {
    json["events"].push_back(
        {{"name", event_name(model, record.event)}, {"t", record.time}, {"direction", record.direction}});
  }
  for (std::size_t i = 0; i < n; ++i) {
    json["values"][model.variables[i].name] = result.end_states[i];
    json["derivatives"][model.variables[i].name] = result.end_states[n + i];
  }
  for (std::size_t i = 0; i < model.observables.size(); ++i) {
    json["values"][model.observables[i].name] = result.end_states[end_of_derivatives + i];
  }
  for (std::size_t i = 0; i < model.discrete.size(); ++i) {
    json["discrete"][model.discrete[i].name] = result.end_states[end_of_observables + i];
  }
  if (outcome.residual_norm != 0.0) json["residual_norm"] = outcome.residual_norm;
  if (outcome.worst_equation >= 0) json["worst_equation"] = model.equation_label(outcome.worst_equation);
  print(json);
}

/// A line of the output.
struct SolutionRow {
  double time = 0.0;
  std::vector<double> values;  ///< of what is saved
};

/// All that can be saved, each name once: discrete numbers of Modelica models are observables too.
std::vector<int> quantities_of(const ModelDescription& model) {
  std::set<std::string> names;
  std::vector<int> saved;
  const std::vector<VariableDescription> all = model.all_quantities();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].internal && names.insert(all[i].name).second) saved.push_back(static_cast<int>(i));
  }
  return saved;
}

/// The output times; after a terminal event, those before it and the state at the end.
std::vector<SolutionRow> rows_of(const PreparedJob& prepared, const Chunk& result) {
  const std::size_t n = prepared.model().variables.size();
  const std::vector<int>& saved = prepared.job().saved;
  const InstanceOutcome& outcome = result.outcomes[0];
  const bool cut = outcome.status == Status::terminated_by_event || outcome.status == Status::assertion_violated;
  const double direction = result.t_span[1] < result.t_span[0] ? -1.0 : 1.0;
  std::vector<SolutionRow> rows;
  for (std::size_t k = 0; k < result.times.size(); ++k) {
    if (cut && direction * result.times[k] >= direction * outcome.t_reached) break;
    const double* values = result.values.data() + k * saved.size();
    rows.push_back({result.times[k], {values, values + saved.size()}});
  }
  if (cut) {
    rows.push_back({outcome.t_reached, {}});
    for (const int index : saved) {
      // Derivatives come between variables and the others.
      const auto at = static_cast<std::size_t>(index);
      rows.back().values.push_back(result.end_states[at < n ? at : n + at]);
    }
  }
  return rows;
}

/// RFC 4180: a field with a comma or a quotation mark stands in quotation marks, and those in it twice.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string field = "\"";
  for (const char letter : text) field += letter == '"' ? "\"\"" : std::string(1, letter);
  return field + '"';
}

std::string csv(const PreparedJob& prepared, const Chunk& result) {
  std::string text = "time";
  for (const int index : prepared.job().saved) {
    text.append(",").append(csv_field(prepared.model().output_quantity(index).name));
  }
  text += '\n';
  for (const SolutionRow& row : rows_of(prepared, result)) {
    text += fmt::format("{}", row.time);
    for (const double value : row.values) text += fmt::format(",{}", value);
    text += '\n';
  }
  return text;
}

void print_table(const PreparedJob& prepared, const Chunk& result) {
  const ModelDescription& model = prepared.model();
  const std::vector<SolutionRow> rows = rows_of(prepared, result);
  std::vector<std::string> times;
  std::size_t width = 14;
  for (const SolutionRow& row : rows) {
    times.push_back(time_text(row.time, result.t_span[0], 7));
    width = std::max(width, times.back().size());
  }
  std::cout << fmt::format("{:>{}}", "time", width);
  for (const int index : prepared.job().saved) {
    std::cout << fmt::format(" {:>16}", model.output_quantity(index).name);
  }
  std::cout << '\n';
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::cout << fmt::format("{:>{}}", times[k], width);
    for (const double value : rows[k].values) std::cout << fmt::format(" {:>16.9g}", value);
    std::cout << '\n';
  }
  const Counters& c = result.outcomes[0].counters;
  std::cout << fmt::format("\n{}, {}: {} steps, {} rejected, {} Newton failures, {} residuals, {} factorisations\n",
                           model.name, prepared.method(), c.steps, c.rejected, c.newton_failures, c.residuals,
                           c.factorizations);
  for (const EventRecord& record : result.event_log(0)) {
    std::cout << fmt::format("event {} at {}\n", event_name(model, record.event),
                             time_text(record.time, result.t_span[0], 12));
  }
  const std::int64_t unlisted = c.events - std::ssize(result.event_log(0));
  if (unlisted > 0) std::cout << fmt::format("and {} more events\n", unlisted);
}

/// Of an instance that found no consistent values: where they should have come from.
std::string origin_of_values(const ModelDescription& model, const Chunk& result) {
  const InstanceOutcome& outcome = result.outcomes[0];
  if (outcome.last_event >= 0) {
    return fmt::format(", after event '{}': its action may contradict a constraint",
                       event_name(model, outcome.last_event));
  }
  std::string text;
  // Only a search that fails gives values that are not finite.
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableDescription& variable = model.variables[i];
    if (std::isfinite(result.end_states[i]) || variable.initial_from.empty()) continue;
    text += fmt::format("; {} follows from {}", variable.name, variable.initial_from);
  }
  return text;
}

/// By how much the equations are missed, and which one most.
std::string residual_of(const ModelDescription& model, const InstanceOutcome& outcome) {
  const std::string worst = outcome.worst_equation >= 0 ? model.equation_label(outcome.worst_equation) : "";
  if (!worst.empty() && !std::isfinite(outcome.residual_norm)) return fmt::format("; {} is not finite there", worst);
  const std::string norm =
      outcome.residual_norm != 0.0 ? fmt::format("; residual norm {:.3g}", outcome.residual_norm) : "";
  return worst.empty() ? norm : fmt::format("{}, of {}", norm, worst);
}

void print_failure(const ModelDescription& model, const Chunk& result) {
  const InstanceOutcome& outcome = result.outcomes[0];
  const auto& t_span = result.t_span;
  std::string cause;
  if (outcome.status == Status::inconsistent_initial_conditions) cause = origin_of_values(model, result);
  const bool by_event = outcome.status == Status::event_storm || outcome.status == Status::assertion_violated;
  if (by_event && outcome.last_event >= 0) {
    cause = fmt::format(": event '{}'", event_name(model, outcome.last_event));
  }
  const Counters& work = outcome.counters;
  if (outcome.status == Status::max_steps && outcome.last_event >= 0 && 4 * work.events > work.steps) {
    cause = fmt::format("; {} events in {} steps, the last of them '{}': does a state of rest or sliding need a mode?",
                        work.events, work.steps, event_name(model, outcome.last_event));
  } else if (outcome.status == Status::max_steps) {
    const double part = (outcome.t_reached - t_span[0]) / (t_span[1] - t_span[0]);
    cause = fmt::format("; that is {:.2g} of the time span", part);
    // Many steps, and a hundred times as many would not do.
    if (4 * work.newton_failures > work.steps) {
      cause += fmt::format(
          "; Newton's method failed in {} attempts: is there a slope that becomes infinite, as of sqrt(abs(x)) at 0, "
          "or a kink? Write the smooth transition",
          work.newton_failures);
    } else if (part < 0.01 && work.steps > 10'000) {
      cause += ": is there a jump, a pole or a fold, where steps lead nowhere?";
    } else if (work.steps > 10'000 && 20 * work.rejected > work.steps) {
      cause += fmt::format(
          "; {} attempts were rejected: does a slope jump to and fro, as of sign(v) without an event? Rest or sliding "
          "needs a mode",
          work.rejected);
    }
  }
  std::cerr << fmt::format("manyfold: error: {} at t = {}: {}{}{}\n", status_name(outcome.status),
                           time_text(outcome.t_reached, t_span[0], 9),
                           status_messages[static_cast<std::size_t>(outcome.status)], residual_of(model, outcome),
                           cause);
}

/// Values at output times that nobody should take for an answer, though the equations are met: an observable may be
/// undefined where the solution is not, and a variable may leave the range that the model states for it.
void warn_of_values(const PreparedJob& prepared, const Chunk& result) {
  const SolverOptions& options = prepared.job().options;
  const double largest_atol = *std::ranges::max_element(options.atol);
  const std::vector<SolutionRow> rows = rows_of(prepared, result);
  for (std::size_t k = 0; k < prepared.job().saved.size(); ++k) {
    const VariableDescription& quantity = prepared.model().output_quantity(prepared.job().saved[k]);
    const Bounds& bounds = quantity.bounds;
    // Observables come after the variables.
    const double atol = k < options.atol.size() ? options.atol[k] : largest_atol;
    const auto wrong = [&](const SolutionRow& row) {
      const double value = row.values[k];
      // Errors of the integration leave a range too.
      const double margin = 100.0 * (atol + options.rtol * std::abs(value));
      return !std::isfinite(value) || value < bounds.min - margin || value > bounds.max + margin;
    };
    const auto first = std::ranges::find_if(rows, wrong);
    if (first == rows.end()) continue;
    const double value = first->values[k];
    announce(fmt::format("warning: {} is {}, at t = {}; out of range at {} of {} output times", quantity.name,
                         std::isfinite(value) ? out_of_bounds(value, bounds) : "no finite number",
                         time_text(first->time, result.t_span[0], 9), std::ranges::count_if(rows, wrong), rows.size()));
  }
}

}  // namespace

int solve(const SolveArguments& arguments) {
  Job job = job_of(arguments);
  const OutputTimes times = output_times(arguments);
  const ParameterSettings settings = parameter_settings(arguments.parameters);
  const ToleranceSettings atol = tolerance_settings(arguments.atol);
  choose_structural_value(job, [&](const std::string& name) { return structural_setting(settings, name); });
  const ModelDescription model = describe(job);
  job.options.atol = absolute_tolerances(atol, model);
  set_instance(job, arguments, settings, model, times);
  job.saved = quantities_of(model);
  const PreparedJob prepared(std::move(job));
  if (const std::string warning = prepared.warning(); !warning.empty()) announce("warning: " + warning);
  InMemoryResult memory;
  prepared.run(memory);
  const Chunk& result = memory.results();
  if (arguments.json) {
    print_json(prepared, result);
  } else if (arguments.csv) {
    write_text(*arguments.csv, csv(prepared, result));
  } else {
    print_table(prepared, result);
  }
  if (succeeded(result.outcomes[0].status)) {
    warn_of_values(prepared, result);
    return all_succeeded;
  }
  print_failure(prepared.model(), result);
  return some_failed;
}

}  // namespace manyfold::cli
