// A sweep against its model: names, inputs, times, memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/engine/processors.hpp"
#include "host/io/memory_need.hpp"
#include "host/io/sweep_values.hpp"
#include "host/modelica/units.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold {
namespace {

Names variable_names(const ModelDescription& model) {
  Names names;
  for (const auto& variable : model.variables) names.push_back(variable.name);
  return names;
}

int index_of(const Names& names, std::string_view name) {
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? -1 : static_cast<int>(place - names.begin());
}

// Quantities with names the model knows; the structural parameter is checked and left out.
std::vector<SampledQuantity> known_quantities(const Sweep& sweep, const ModelDescription& model,
                                              SweepProblems& problems) {
  Names parameters;
  for (const auto& parameter : model.parameters) parameters.push_back(parameter.name);
  const StructuralParameter& structural = model.structural;
  if (!structural.name.empty()) parameters.push_back(structural.name);
  Names initial;
  const std::vector<VariableDescription> quantities = model.initial_quantities();
  for (const auto& quantity : quantities) initial.push_back(quantity.name);
  std::vector<SampledQuantity> known;
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.quantity.kind == SampledQuantity::Kind::time) {
      known.push_back(entry.quantity);
      continue;
    }
    const bool parameter = entry.quantity.kind == SampledQuantity::Kind::parameter;
    const std::string& name = entry.quantity.name;
    const Names& names = parameter ? parameters : initial;
    const int index = index_of(names, name);
    const std::string contradiction = parameter   ? model.problem_of_parameter(name)
                                      : index < 0 ? ""
                                                  : quantities[static_cast<std::size_t>(index)].problem_of_initial();
    if (!contradiction.empty()) {
      problems.add(entry.position, contradiction);
    } else if (index < 0) {
      problems.add(entry.position, fmt::format("model \"{}\" has no {} \"{}\"{}", model.name,
                                               parameter ? "parameter" : "variable", name, did_you_mean(name, names)));
    } else if (parameter && !structural.name.empty() && name == structural.name) {
      const std::optional<std::int64_t> value = entry.integer();
      if (!value || *value < structural.minimum || *value > structural.maximum) {
        problems.add(entry.value_position,
                     fmt::format("parameters.{} must be an integer constant from {} to {}: it shapes "
                                 "the equations",
                                 name, structural.minimum, structural.maximum));
      }
    } else {
      known.push_back(entry.quantity);
    }
  }
  return known;
}

/// The options with an absolute tolerance for every variable.
SolverOptions resolved_options(const Sweep& sweep, const ModelDescription& model, SweepProblems& problems) {
  const Names variables = variable_names(model);
  SolverOptions options = sweep.options;
  options.atol.assign(variables.size(), sweep.options.atol.front());
  for (const auto& [variable, value] : sweep.atol) {
    const int index = index_of(variables, variable.name);
    if (index >= 0) {
      options.atol[static_cast<std::size_t>(index)] = value;
    } else {
      problems.add(variable.position, fmt::format("atol: model \"{}\" has no variable \"{}\"{}", model.name,
                                                  variable.name, did_you_mean(variable.name, variables)));
    }
  }
  return options;
}

/// The variables to save.
std::vector<int> saved_variables(const Sweep& sweep, const ModelDescription& model, SweepProblems& problems) {
  Names variables;
  for (const VariableDescription& quantity : model.all_quantities()) variables.push_back(quantity.name);
  std::vector<int> saved;
  for (const auto& [name, position] : sweep.variables) {
    const int index = index_of(variables, name);
    if (index < 0) {
      problems.add(position, fmt::format("output.variables: model \"{}\" has no variable \"{}\"{}", model.name, name,
                                         did_you_mean(name, variables)));
    }
    saved.push_back(index);
  }
  if (sweep.variables.empty()) {
    for (std::size_t i = 0; i < model.output_quantities().size(); ++i) saved.push_back(static_cast<int>(i));
  }
  return saved;
}

/// The reductions, with the places of their variables among those that are saved.
std::vector<Reduction> known_reductions(const Sweep& sweep, const ModelDescription& model,
                                        const std::vector<int>& saved, SweepProblems& problems) {
  Names quantities;
  for (const VariableDescription& quantity : model.all_quantities()) quantities.push_back(quantity.name);
  std::vector<Reduction> known;
  for (const auto& [reduction, position] : sweep.reductions) {
    known.push_back(reduction);
    for (Reduction::Term& term : known.back().terms()) {
      const int index = index_of(quantities, term.variable);
      const auto place = std::find(saved.begin(), saved.end(), index);
      if (index < 0) {
        problems.add(position, fmt::format("reduce: model \"{}\" has no variable \"{}\"{}", model.name, term.variable,
                                           did_you_mean(term.variable, quantities)));
      } else if (place == saved.end()) {
        problems.add(position, fmt::format("reduce: \"{}\" is not saved: add it to output.variables; with "
                                           "trajectories = false the file does not grow",
                                           term.variable));
      }
      term.place = static_cast<int>(place - saved.begin());
    }
  }
  return known;
}

/// Where the quantity stands that `message` begins with; else where the ensemble does.
SourcePosition position_in(const Sweep& sweep, const std::string& message) {
  if (message.starts_with("model ")) return sweep.model_position;
  for (const SweepQuantity& entry : sweep.quantities) {
    if (message.starts_with('"' + entry.quantity.name + '"')) return entry.position;
  }
  return sweep.instances_position;
}

/// The table, with what the command line sets in place of its columns.
Table table_of(const Sweep& sweep) {
  Table table = read_table(sweep.table);
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.position.line == 0) table.fill(entry.quantity.name, entry.quantity.distribution.quantile(0.5));
  }
  return table;
}

/// Degrees of temperature begin elsewhere than kelvins.
bool same_unit(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto first = modelica::unit_of(a);
  const auto second = modelica::unit_of(b);
  return first && second && *first == *second && (a + b).find("deg") == std::string::npos;
}

/// What of a table its author may have meant otherwise.
std::vector<std::string> doubts_of(const Table& table, const ModelDescription& model) {
  std::vector<std::string> doubts;
  if (!table.passed_over.empty()) {
    doubts.push_back(fmt::format("{}: passes over what does not lie on the dimension \"instance\" alone: {}",
                                 table.file, printable(fmt::format("{}", fmt::join(table.passed_over, ", ")))));
  }
  std::map<std::string, std::string> units = {{"t_begin", model.time_unit}, {"t_end", model.time_unit}};
  for (const VariableDescription& quantity : model.initial_quantities()) units[quantity.name] = quantity.unit;
  for (const ParameterDescription& parameter : model.parameters) units[parameter.name] = parameter.unit;
  for (std::size_t i = 0; i < table.units.size(); ++i) {
    const auto of_model = units.find(table.names[i]);
    if (table.units[i].empty() || of_model == units.end() || same_unit(table.units[i], of_model->second)) continue;
    doubts.push_back(fmt::format("{}: \"{}\" is in \"{}\", but in the model in \"{}\": its numbers are not converted",
                                 table.file, printable(table.names[i]), printable(table.units[i]), of_model->second));
  }
  return doubts;
}

/// Nothing if they cannot be made.
std::optional<EnsembleInputs> ensemble_inputs(const Sweep& sweep, const ModelDescription& model,
                                              std::vector<std::string>& warnings, SweepProblems& problems) {
  const std::vector<SampledQuantity> quantities = known_quantities(sweep, model, problems);
  const bool from_table = sweep.sampling.sampler == "table";
  std::optional<EnsembleInputs> inputs;
  try {
    if (from_table) {
      Table table = table_of(sweep);
      warnings = doubts_of(table, model);
      inputs = EnsembleInputs::tabulated(model, std::move(table), quantities);
    } else {
      inputs = EnsembleInputs::sampled(model, sweep.sampling, quantities);
    }
  } catch (const UsageError& error) {
    // Problems of the table name their place in it; the others are about the ensemble as a whole.
    const std::string message = error.what();
    if (from_table && message.starts_with(printable(sweep.table.string()))) {
      problems.add_placed(message);
    } else {
      problems.add(position_in(sweep, message), message);
    }
  }
  if (inputs && from_table && sweep.sampling.instances != 0 && sweep.sampling.instances != inputs->instances()) {
    problems.add(sweep.instances_position, fmt::format("instances is {}, but the table has {} rows: leave it out",
                                                       sweep.sampling.instances, inputs->instances()));
  }
  return inputs;
}

/// Whether the distributions of the ends of time spans cannot meet: then all instances are as the first.
bool ends_are_apart(const Sweep& sweep, const EnsembleInputs& inputs) {
  if (sweep.sampling.sampler == "table") return false;
  std::array<std::pair<double, double>, 2> ranges;
  for (std::size_t end = 0; end < 2; ++end) ranges[end] = {inputs.t_span()[end], inputs.t_span()[end]};
  for (const SweepQuantity& entry : sweep.quantities) {
    if (entry.quantity.kind != SampledQuantity::Kind::time) continue;
    ranges[entry.quantity.name == "t_end" ? 1 : 0] = entry.quantity.distribution.range();
  }
  // Quantiles are monotone but for their last digits.
  const double digits = 1e-9 * std::max({std::fabs(ranges[0].first), std::fabs(ranges[0].second),
                                         std::fabs(ranges[1].first), std::fabs(ranges[1].second)});
  return ranges[0].second + digits < ranges[1].first || ranges[1].second + digits < ranges[0].first;
}

/// What is wrong with the time span of an instance, beside that of instance 0; nothing mostly.
std::string span_problem(std::int64_t instance, const std::array<double, 2>& span, const std::array<double, 2>& first) {
  if (span[0] == span[1]) {
    return fmt::format("the time span of instance {} starts and ends at {}, but its ends must differ", instance,
                       span[0]);
  }
  if ((span[1] > span[0]) == (first[1] > first[0])) return "";
  return fmt::format(
      "the time span of instance {} runs from {} to {}, against that of instance 0: the distributions "
      "of its ends must not cross",
      instance, span[0], span[1]);
}

/// The first instance whose time span is wrong, by all threads; else the number of instances.
std::int64_t first_wrong_span(const EnsembleInputs& inputs, int threads) {
  constexpr std::int64_t together = 1 << 16;
  const std::int64_t count = inputs.instances();
  const std::array<double, 2> first = inputs.span(0);
  std::atomic<std::int64_t> lowest = count;
  in_threads(threads, static_cast<std::size_t>((count + together - 1) / together), [&](std::size_t part) {
    const auto begin = static_cast<std::int64_t>(part) * together;
    for (std::int64_t i = begin; i < std::min(begin + together, lowest.load(std::memory_order_relaxed)); ++i) {
      const std::array<double, 2> span = inputs.span(i);
      if (span[0] != span[1] && (span[1] > span[0]) == (first[1] > first[0])) continue;
      std::int64_t before = lowest;
      while (i < before && !lowest.compare_exchange_weak(before, i)) {
      }
    }
  });
  return lowest;
}

/// The ends of all time spans differ, all in the same direction, and the output times lie between them.
void check_spans(const Sweep& sweep, const EnsembleInputs& inputs, SweepProblems& problems) {
  const bool varies = inputs.sampled_times()[0] || inputs.sampled_times()[1];
  const std::array<double, 2> first = inputs.span(0);
  std::int64_t instance = 0;
  if (varies && !ends_are_apart(sweep, inputs)) instance = first_wrong_span(inputs, sweep.options.threads);
  if (instance < inputs.instances()) {
    const std::string problem = span_problem(instance, inputs.span(instance), first);
    if (!problem.empty()) return problems.add(sweep.t_span_position, problem);
  }
  if (const auto problem = sweep.times.problem(first[0], first[1], !varies)) {
    problems.add(sweep.times_position, *problem);
  }
}

void check_memory(const Sweep& sweep, const ModelDescription& model, std::size_t saved, const SolverOptions& options,
                  std::int64_t instances, SweepProblems& problems) {
  const double times = static_cast<double>(sweep.times.count()) * (1.0 + static_cast<double>(saved));
  if (const std::string problem = memory_problem(times, instances, options.threads); !problem.empty()) {
    problems.add(sweep.times_position,
                 fmt::format("times has {} output times, which with {} variables {}: take fewer of them",
                             sweep.times.count(), saved, problem));
  }
  const double per_event = 2.0 + 2.0 * static_cast<double>(saved + model.discrete.size());
  const double events = model.events.empty() ? 0.0 : per_event * options.event_log;
  if (const std::string problem = memory_problem(events, instances, options.threads); !problem.empty()) {
    const auto position = sweep.solver_positions.find("event_log");
    problems.add(position != sweep.solver_positions.end() ? position->second : SourcePosition(),
                 fmt::format("event_log is {}, which {}: take fewer", options.event_log, problem));
  }
}

}  // namespace

ResolvedSweep resolve(const Sweep& sweep, const ModelDescription& model) {
  SweepProblems problems(sweep.path);
  SolverOptions options = resolved_options(sweep, model, problems);
  if (!sweep.instance_rows && sweep.verify == 0.0) options.event_log = 0;
  std::vector<int> saved = saved_variables(sweep, model, problems);
  std::vector<std::string> warnings;
  std::optional<EnsembleInputs> inputs = ensemble_inputs(sweep, model, warnings, problems);
  const std::array<double, 2> t_span = sweep.t_span.value_or(std::array{model.t_begin, model.t_end});
  if (inputs) {
    inputs->set_t_span(t_span[0], t_span[1]);
    check_spans(sweep, *inputs, problems);
    check_memory(sweep, model, saved.size(), options, inputs->instances(), problems);
  }
  std::vector<Reduction> reductions = known_reductions(sweep, model, saved, problems);
  problems.raise();
  return {std::move(*inputs), std::move(options), std::move(saved),      sweep.times,       t_span,
          sweep.trajectories, sweep.statistics,   std::move(reductions), sweep.output_file, std::move(warnings)};
}

}  // namespace manyfold
