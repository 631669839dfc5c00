#pragma once
// What the instances of a sampled ensemble start from, as numbers that a device can follow: every thread computes the
// inputs of its instances, and nothing is sent but the plan.
#include "law.hpp"
#include "unit_points.hpp"

namespace manyfold {

/// A sampled quantity and where its values go.
struct SampledTarget {
  enum class Place : int { parameter, initial, time };
  Place place = Place::parameter;
  int index = 0;            ///< among the parameters, the initial values, or the start (0) and end (1)
  Law law;                  ///< unless the plan is a grid
  int table = 0;            ///< where the numbers of a choice, or the levels of a grid, begin in the plan's table
  int levels = 0;           ///< of a grid
  std::int64_t stride = 0;  ///< of a grid: instances from one level to the next
};

struct InputPlan {
  bool grid = false;
  UnitPoints points;                       ///< unless the plan is a grid
  const SampledTarget* targets = nullptr;  ///< [target_count], in the order of the dimensions of `points`
  int target_count = 0;
  const double* table = nullptr;  ///< [table_size]
  int table_size = 0;
  const double* parameters = nullptr;  ///< [parameter_count] where they are not sampled
  int parameter_count = 0;
  const double* initial = nullptr;  ///< [initial_count], NaN for the model's own, where they are not sampled
  int initial_count = 0;
  double t_span[2] = {};
  const double* times = nullptr;  ///< [time_count] the same for every instance; null: equal steps over its time span
  int time_count = 1;
};

/// Output times in equal steps over a time span, both ends to the last bit; a single time is the end.
MANYFOLD_INLINE void fill_equal_steps(double t_begin, double t_end, int count, double* times) {
  for (int i = 0; i < count - 1; ++i) times[i] = t_begin + (t_end - t_begin) * (static_cast<double>(i) / (count - 1));
  times[count - 1] = t_end;
}

/// Value of target `k` for an instance.
MANYFOLD_INLINE double sampled_value(const InputPlan& plan, int k, std::int64_t instance) {
  const SampledTarget& target = plan.targets[k];
  const double* table = plan.table + target.table;
  if (plan.grid) return table[instance / target.stride % target.levels];
  return quantile(target.law, table, unit_coordinate(plan.points, instance, k));
}

/// Writes `parameters` [parameter_count], `initial` [initial_count] and `t_span` [2] of an instance.
MANYFOLD_INLINE void fill_inputs(const InputPlan& plan, std::int64_t instance, double* parameters, double* initial,
                                 double* t_span) {
  for (int i = 0; i < plan.parameter_count; ++i) parameters[i] = plan.parameters[i];
  for (int i = 0; i < plan.initial_count; ++i) initial[i] = plan.initial[i];
  t_span[0] = plan.t_span[0];
  t_span[1] = plan.t_span[1];
  for (int k = 0; k < plan.target_count; ++k) {
    const SampledTarget& target = plan.targets[k];
    double* place = target.place == SampledTarget::Place::parameter ? parameters
                    : target.place == SampledTarget::Place::initial ? initial
                                                                    : t_span;
    place[target.index] = sampled_value(plan, k, instance);
  }
}

}  // namespace manyfold
