#pragma once
// What each instance of an ensemble starts from: parameters, initial values, time span.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <manyfold/description.hpp>

#include "host/sampling/distribution.hpp"
#include "host/sampling/table.hpp"
#include "kernels/sampling/input_plan.hpp"

namespace manyfold {

/// How points are drawn. `levels` of a grid stand with each quantity.
struct SamplerSettings {
  std::string sampler = "monte_carlo";  ///< monte_carlo | latin_hypercube | sobol | grid
  std::int64_t instances = 0;           ///< > 0; a grid takes 0 (the product of its levels) or exactly that product
  std::uint64_t seed = 0;
};

/// A parameter, the initial value of a variable, or its derivative where that is given (named `der(variable)`), or an
/// end of the time span (named `t_begin` or `t_end`), with its distribution. A constant is set, not sampled.
struct SampledQuantity {
  enum class Kind { parameter, initial, time };
  Kind kind = Kind::parameter;
  std::string name;
  Distribution distribution = Distribution::constant(0.0);
  int levels = 0;  ///< grid only; 0 where the distribution has a natural number (choice)
};

/// The values of the sampled quantities of every instance: a function of (instance, quantity), called from many
/// threads.
class Sample {
 public:
  Sample() = default;
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  virtual ~Sample() = default;
  virtual std::int64_t instances() const = 0;
  virtual double value(std::int64_t instance, int quantity) const = 0;
  /// The plan by which a device computes the same values; none if it cannot. Its tables are this object's.
  virtual std::optional<InputPlan> plan() const { return std::nullopt; }
};

/// Immutable after set-up; `fill` is order-free and may be called from many threads. The sample of instance i depends
/// on the seed and i alone; of a Latin hypercube also on the number of instances, of a grid on the numbers of levels. A
/// quantity's dimension is its place among the sampled quantities. Copies share the sample.
class EnsembleInputs {
 public:
  /// Draws `quantities` in their order (the last runs fastest in a grid). Throws UsageError for unknown or repeated
  /// names, an unknown sampler, impossible numbers of instances or levels.
  static EnsembleInputs sampled(const ModelDescription& model, const SamplerSettings& settings,
                                const std::vector<SampledQuantity>& quantities);

  /// One instance per row. A column is a parameter, else a variable's initial value, else `t_begin` or `t_end`.
  /// `constants` (constant distributions) set what the table does not name. Throws UsageError for unknown or repeated
  /// columns, no rows, values that are not finite.
  static EnsembleInputs tabulated(const ModelDescription& model, Table table,
                                  const std::vector<SampledQuantity>& constants = {});

  /// The time span of every instance whose ends are not sampled; the description's unless set.
  void set_t_span(double t_begin, double t_end) { t_span_ = {t_begin, t_end}; }

  std::int64_t instances() const { return sample_->instances(); }

  /// Writes instance `instance` (0 ... instances() - 1): `parameters` [parameters of the model], `initial` [values of
  /// the variables, then given derivatives], quiet NaN where the model's own value is to be used, `t_span` [2]: start
  /// and end.
  void fill(std::int64_t instance, double* parameters, double* initial, double* t_span) const;

  /// Start and end of an instance's time span, without the rest.
  std::array<double, 2> span(std::int64_t instance) const;

  /// What `fill` does, as a device can do it, to the last bit; none for tables, and for distributions that the host
  /// alone evaluates (beta, gamma). The numbers are this object's; output times are the caller's to add.
  std::optional<InputPlan> plan() const;

  const std::vector<int>& sampled_parameters() const { return sampled_parameters_; }  ///< indices, ascending
  const std::vector<int>& sampled_initial() const { return sampled_initial_; }        ///< indices, ascending
  const std::array<bool, 2>& sampled_times() const { return sampled_times_; }         ///< whether start, end vary
  const std::array<double, 2>& t_span() const { return t_span_; }

 private:
  using Place = SampledTarget::Place;
  struct Target {
    Place place;
    int index;
  };

  explicit EnsembleInputs(const ModelDescription& model);
  void set(Target target, double value);
  void finish_targets(const ModelDescription& model);
  static Target find(const ModelDescription& model, const SampledQuantity& quantity);
  static Bounds bounds_of(const ModelDescription& model, Target target);
  /// Throws UsageError if the model does not accept all values of the quantity.
  static void check_bounds(const ModelDescription& model, Target target, const SampledQuantity& quantity);

  std::vector<double> parameters_;  // what is not sampled
  std::vector<double> initial_;
  std::array<double, 2> t_span_;
  std::vector<Target> targets_;  // of the sampled quantities
  std::shared_ptr<const Sample> sample_;
  std::vector<int> sampled_parameters_;
  std::vector<int> sampled_initial_;
  std::array<bool, 2> sampled_times_ = {false, false};
};

}  // namespace manyfold
