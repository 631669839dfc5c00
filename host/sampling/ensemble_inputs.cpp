#include "host/sampling/ensemble_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "host/sampling/unit_sampler.hpp"
#include "host/text/nearest_name.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

/// Values that the host alone can compute.
class RandomSample : public Sample {
 public:
  RandomSample(const SamplerSettings& settings, std::vector<Distribution> distributions)
      : instances_(settings.instances),
        sampler_(settings.sampler, settings.seed, settings.instances, static_cast<int>(distributions.size())),
        distributions_(std::move(distributions)) {}
  std::int64_t instances() const override { return instances_; }
  double value(std::int64_t instance, int quantity) const override {
    return distributions_[static_cast<std::size_t>(quantity)].quantile(sampler_.coordinate(instance, quantity));
  }

 private:
  std::int64_t instances_;
  UnitSampler sampler_;
  std::vector<Distribution> distributions_;
};

/// Values that hosts and devices compute alike, from a plan.
class PlannedSample : public Sample {
 public:
  /// Every distribution has a law.
  PlannedSample(const SamplerSettings& settings, const std::vector<SampledQuantity>& quantities)
      : instances_(settings.instances),
        sampler_(std::in_place, settings.sampler, settings.seed, settings.instances,
                 static_cast<int>(quantities.size())) {
    for (const SampledQuantity& quantity : quantities) {
      SampledTarget target;
      target.law = *quantity.distribution.law();
      target.table = static_cast<int>(table_.size());
      table_.insert(table_.end(), quantity.distribution.table().begin(), quantity.distribution.table().end());
      targets_.push_back(target);
    }
    complete_plan();
  }

  /// A grid over `quantities`, the last of which runs fastest.
  explicit PlannedSample(const std::vector<SampledQuantity>& quantities) : targets_(quantities.size()) {
    for (std::size_t i = quantities.size(); i-- > 0;) {
      const SampledQuantity& quantity = quantities[i];
      const int natural = quantity.distribution.natural_levels();
      const int levels = quantity.levels == 0 ? natural : quantity.levels;
      if (levels < 1) {
        throw UsageError(
            fmt::format("levels of \"{}\" is {}, but a grid needs at least 1", quantity.name, quantity.levels));
      }
      if (natural != 0 && levels != natural) {
        throw UsageError(
            fmt::format("levels of \"{}\" is {}, but its choice has {} values", quantity.name, levels, natural));
      }
      if (quantity.distribution.weighs_values()) {
        throw UsageError(
            fmt::format("\"{}\" has a choice with weights, but a grid takes every value once: leave them out, or take "
                        "another sampler",
                        quantity.name));
      }
      targets_[i].table = static_cast<int>(table_.size());
      targets_[i].levels = levels;
      targets_[i].stride = instances_;
      for (int level = 0; level < levels; ++level) table_.push_back(quantity.distribution.level(level, levels));
      if (instances_ > std::numeric_limits<std::int64_t>::max() / levels) {
        throw UsageError("the grid has more than 2^63 instances: take fewer levels");
      }
      instances_ *= levels;
    }
    complete_plan();
  }

  std::int64_t instances() const override { return instances_; }
  double value(std::int64_t instance, int quantity) const override { return sampled_value(plan_, quantity, instance); }
  std::optional<InputPlan> plan() const override { return plan_; }
  void place(int quantity, SampledTarget::Place where, int index) {
    SampledTarget& target = targets_[static_cast<std::size_t>(quantity)];
    target.place = where;
    target.index = index;
  }

 private:
  void complete_plan() {
    plan_.grid = !sampler_;
    if (sampler_) plan_.points = sampler_->points();
    plan_.targets = targets_.data();
    plan_.target_count = static_cast<int>(targets_.size());
    plan_.table = table_.data();
    plan_.table_size = static_cast<int>(table_.size());
  }

  std::int64_t instances_ = 1;
  std::optional<UnitSampler> sampler_;  ///< unless it is a grid
  std::vector<SampledTarget> targets_;
  std::vector<double> table_;
  InputPlan plan_;  ///< of the members above
};

class TableSample : public Sample {
 public:
  explicit TableSample(Table table) : table_(std::move(table)) {}
  std::int64_t instances() const override { return table_.rows(); }
  double value(std::int64_t instance, int quantity) const override {
    return table_.values[static_cast<std::size_t>(instance) * table_.names.size() + static_cast<std::size_t>(quantity)];
  }

 private:
  Table table_;
};

template <class Descriptions>
int index_of(const Descriptions& descriptions, std::string_view name) {
  const auto place =
      std::find_if(descriptions.begin(), descriptions.end(), [&](const auto& entry) { return entry.name == name; });
  return place == descriptions.end() ? -1 : static_cast<int>(place - descriptions.begin());
}

template <class Descriptions>
void append_names(const Descriptions& descriptions, std::vector<std::string>& names) {
  for (const auto& entry : descriptions) names.push_back(entry.name);
}

/// Samples of this probability do not count.
constexpr double rare = 1e-9;

/// The first value of the quantity that the model does not accept; nothing if it accepts all.
std::optional<double> value_out_of_bounds(const Bounds& bounds, const Distribution& distribution) {
  const auto [low, high] = distribution.natural_levels() > 0
                               ? distribution.range()
                               : std::pair(distribution.quantile(rare), distribution.quantile(1.0 - rare));
  if (!bounds.contain(low)) return low;
  if (!bounds.contain(high)) return high;
  return std::nullopt;
}

// "FILE:LINE:COLUMN: error: " of a table that came from a file.
std::string place(const Table& table, int line, int column) {
  return table.file.empty() ? "" : fmt::format("{}:{}:{}: error: ", table.file, line, column);
}

}  // namespace

EnsembleInputs::EnsembleInputs(const ModelDescription& model)
    : initial_(model.initial_quantities().size(), std::numeric_limits<double>::quiet_NaN()),
      t_span_{model.t_begin, model.t_end} {
  for (const auto& parameter : model.parameters) parameters_.push_back(parameter.value);
}

EnsembleInputs::Target EnsembleInputs::find(const ModelDescription& model, const SampledQuantity& quantity) {
  if (quantity.kind == SampledQuantity::Kind::time) {
    if (quantity.name == "t_begin") return {Place::time, 0};
    if (quantity.name == "t_end") return {Place::time, 1};
    throw UsageError(fmt::format("the time span has no end \"{}\": t_begin or t_end", quantity.name));
  }
  std::vector<std::string> known;
  const bool parameter = quantity.kind == SampledQuantity::Kind::parameter;
  const std::vector<VariableDescription> initial = model.initial_quantities();
  const int index = parameter ? index_of(model.parameters, quantity.name) : index_of(initial, quantity.name);
  if (index >= 0 && !parameter) {
    const std::string problem = initial[static_cast<std::size_t>(index)].problem_of_initial();
    if (!problem.empty()) throw UsageError(problem);
  }
  if (index >= 0) return {parameter ? Place::parameter : Place::initial, index};
  if (parameter) {
    if (const std::string fixed = model.problem_of_parameter(quantity.name); !fixed.empty()) throw UsageError(fixed);
    append_names(model.parameters, known);
  } else {
    append_names(initial, known);
  }
  throw UsageError(fmt::format("model \"{}\" has no {} \"{}\"{}", model.name, parameter ? "parameter" : "variable",
                               quantity.name, did_you_mean(quantity.name, known)));
}

Bounds EnsembleInputs::bounds_of(const ModelDescription& model, Target target) {
  const auto at = static_cast<std::size_t>(target.index);
  if (target.place == Place::parameter) return model.parameters[at].bounds;
  // Derivatives that are given have none, and come after the variables.
  return target.place == Place::initial && at < model.variables.size() ? model.variables[at].bounds : Bounds{};
}

void EnsembleInputs::check_bounds(const ModelDescription& model, Target target, const SampledQuantity& quantity) {
  const Bounds bounds = bounds_of(model, target);
  const std::optional<double> value = value_out_of_bounds(bounds, quantity.distribution);
  if (!value) return;
  const bool constant = quantity.distribution.is_constant();
  throw UsageError(fmt::format("\"{}\" {} {}{}", quantity.name, constant ? "is" : "may become",
                               out_of_bounds(*value, bounds),
                               constant ? "" : ": needs a distribution within its bounds"));
}

void EnsembleInputs::set(Target target, double value) {
  const auto index = static_cast<std::size_t>(target.index);
  if (target.place == Place::time) {
    t_span_[index] = value;
  } else {
    (target.place == Place::parameter ? parameters_ : initial_)[index] = value;
  }
}

void EnsembleInputs::finish_targets(const ModelDescription& model) {
  for (const Target& target : targets_) {
    if (target.place == Place::parameter) sampled_parameters_.push_back(target.index);
    if (target.place == Place::initial) sampled_initial_.push_back(target.index);
    if (target.place == Place::time) sampled_times_[static_cast<std::size_t>(target.index)] = true;
  }
  std::sort(sampled_parameters_.begin(), sampled_parameters_.end());
  std::sort(sampled_initial_.begin(), sampled_initial_.end());
  // The model's own values too.
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterDescription& parameter = model.parameters[i];
    const bool sampled =
        std::binary_search(sampled_parameters_.begin(), sampled_parameters_.end(), static_cast<int>(i));
    if (sampled || parameter.bounds.contain(parameters_[i])) continue;
    throw UsageError(fmt::format("model \"{}\": parameter \"{}\" is {}", model.name, parameter.name,
                                 out_of_bounds(parameters_[i], parameter.bounds)));
  }
}

EnsembleInputs EnsembleInputs::sampled(const ModelDescription& model, const SamplerSettings& settings,
                                       const std::vector<SampledQuantity>& quantities) {
  EnsembleInputs inputs(model);
  std::vector<SampledQuantity> drawn;
  std::vector<Distribution> distributions;
  std::vector<std::pair<Place, int>> seen;
  for (const SampledQuantity& quantity : quantities) {
    const Target target = find(model, quantity);
    if (std::find(seen.begin(), seen.end(), std::pair(target.place, target.index)) != seen.end()) {
      throw UsageError(fmt::format("\"{}\" is given twice, but needs one distribution", quantity.name));
    }
    seen.emplace_back(target.place, target.index);
    check_bounds(model, target, quantity);
    if (quantity.distribution.is_constant()) {
      inputs.set(target, quantity.distribution.quantile(0.5));
      continue;
    }
    inputs.targets_.push_back(target);
    drawn.push_back(quantity);
    distributions.push_back(quantity.distribution);
  }
  std::shared_ptr<PlannedSample> planned;
  if (settings.sampler == "grid") {
    planned = std::make_shared<PlannedSample>(drawn);
    if (settings.instances != 0 && settings.instances != planned->instances()) {
      throw UsageError(
          fmt::format("instances is {}, but the grid has {}: leave it out", settings.instances, planned->instances()));
    }
  } else if (std::all_of(drawn.begin(), drawn.end(), [](const auto& q) { return q.distribution.law() != nullptr; })) {
    planned = std::make_shared<PlannedSample>(settings, drawn);
  } else {
    inputs.sample_ = std::make_shared<RandomSample>(settings, std::move(distributions));
  }
  if (planned) {
    for (std::size_t i = 0; i < inputs.targets_.size(); ++i) {
      planned->place(static_cast<int>(i), inputs.targets_[i].place, inputs.targets_[i].index);
    }
    inputs.sample_ = std::move(planned);
  }
  inputs.finish_targets(model);
  return inputs;
}

EnsembleInputs EnsembleInputs::tabulated(const ModelDescription& model, Table table,
                                         const std::vector<SampledQuantity>& constants) {
  EnsembleInputs inputs(model);
  std::vector<std::string> known = {"t_begin", "t_end"};
  append_names(model.parameters, known);
  const std::vector<VariableDescription> initial = model.initial_quantities();
  append_names(initial, known);
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& name = table.names[i];
    const int column = i < table.name_columns.size() ? table.name_columns[i] : 1;
    const int parameter = index_of(model.parameters, name);
    const int variable = index_of(initial, name);
    Target target{Place::parameter, parameter};
    if (parameter < 0 && variable >= 0) target = {Place::initial, variable};
    if (parameter < 0 && variable < 0) target = {Place::time, name == "t_begin" ? 0 : name == "t_end" ? 1 : -1};
    const std::string fixed = model.problem_of_parameter(name);
    if (!fixed.empty()) {
      problems.push_back(place(table, table.name_line, column) + fixed);
    } else if (target.index < 0) {
      problems.push_back(
          fmt::format("{}model \"{}\" has no parameter or variable \"{}\" for this column of the table{}",
                      place(table, table.name_line, column), model.name, printable(name), did_you_mean(name, known)));
    }
    if (target.place == Place::initial) {
      const std::string problem = initial[static_cast<std::size_t>(target.index)].problem_of_initial();
      if (!problem.empty()) problems.push_back(place(table, table.name_line, column) + problem);
    }
    if (std::find(table.names.begin(), table.names.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        table.names.begin() + static_cast<std::ptrdiff_t>(i)) {
      problems.push_back(
          fmt::format("{}the table has two columns \"{}\"", place(table, table.name_line, column), name));
    }
    inputs.targets_.push_back(target);
  }
  for (const std::string& name : table.passed_over) {
    if (std::find(known.begin(), known.end(), name) == known.end()) continue;
    problems.push_back(fmt::format("{}variable \"{}\" must lie on the dimension \"instance\" alone",
                                   place(table, table.name_line, 1), printable(name)));
  }
  for (const SampledQuantity& constant : constants) {
    const Target target = find(model, constant);
    if (!constant.distribution.is_constant()) {
      throw UsageError(fmt::format("\"{}\" has a distribution, but beside a table it must be a number", constant.name));
    }
    check_bounds(model, target, constant);
    const double value = constant.distribution.quantile(0.5);
    const auto column = std::find_if(inputs.targets_.begin(), inputs.targets_.end(), [&](const Target& other) {
      return other.place == target.place && other.index == target.index;
    });
    for (auto k = static_cast<std::size_t>(column - inputs.targets_.begin());
         column != inputs.targets_.end() && k < table.values.size(); k += table.names.size()) {
      if (table.values[k] == value) continue;
      throw UsageError(fmt::format("\"{}\" is given both as a number and in the table", constant.name));
    }
    inputs.set(target, value);
  }
  if (!problems.empty()) throw UsageError(fmt::format("{}", fmt::join(problems, "\n")));
  if (table.rows() == 0) throw UsageError(fmt::format("{}the table has no rows", place(table, 1, 1)));
  if (table.values.size() % table.names.size() != 0) {
    throw UsageError(fmt::format("the table has {} values in {} columns, but needs whole rows", table.values.size(),
                                 table.names.size()));
  }
  if (const auto bad =
          std::find_if(table.values.begin(), table.values.end(), [](double x) { return !std::isfinite(x); });
      bad != table.values.end()) {
    throw UsageError(fmt::format("the table has {}, but needs finite numbers", *bad));
  }
  std::vector<Bounds> bounds_of_columns;
  for (const Target& target : inputs.targets_) bounds_of_columns.push_back(bounds_of(model, target));
  for (std::size_t k = 0; k < table.values.size(); ++k) {
    const std::size_t column = k % table.names.size();
    const Bounds& bounds = bounds_of_columns[column];
    if (bounds.contain(table.values[k])) continue;
    const std::size_t row = k / table.names.size();
    throw UsageError(fmt::format("{}\"{}\" of instance {} is {}",
                                 place(table, row < table.lines.size() ? table.lines[row] : table.name_line, 1),
                                 printable(table.names[column]), row, out_of_bounds(table.values[k], bounds)));
  }
  inputs.sample_ = std::make_shared<TableSample>(std::move(table));
  inputs.finish_targets(model);
  return inputs;
}

void EnsembleInputs::fill(std::int64_t instance, double* parameters, double* initial, double* t_span) const {
  if (const std::optional<InputPlan> followed = plan()) {
    fill_inputs(*followed, instance, parameters, initial, t_span);
    return;
  }
  std::copy(parameters_.begin(), parameters_.end(), parameters);
  std::copy(initial_.begin(), initial_.end(), initial);
  std::copy(t_span_.begin(), t_span_.end(), t_span);
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    double* place = target.place == Place::parameter ? parameters : target.place == Place::initial ? initial : t_span;
    place[target.index] = sample_->value(instance, static_cast<int>(i));
  }
}

std::array<double, 2> EnsembleInputs::span(std::int64_t instance) const {
  std::array<double, 2> result = t_span_;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].place != Place::time) continue;
    result[static_cast<std::size_t>(targets_[i].index)] = sample_->value(instance, static_cast<int>(i));
  }
  return result;
}

std::optional<InputPlan> EnsembleInputs::plan() const {
  std::optional<InputPlan> plan = sample_->plan();
  if (!plan) return plan;
  plan->parameters = parameters_.data();
  plan->parameter_count = static_cast<int>(parameters_.size());
  plan->initial = initial_.data();
  plan->initial_count = static_cast<int>(initial_.size());
  plan->t_span[0] = t_span_[0];
  plan->t_span[1] = t_span_[1];
  return plan;
}

}  // namespace manyfold
