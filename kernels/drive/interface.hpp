#pragma once
// The seam between an ensemble and the compiled kernel that integrates it: plain structs and function pointers, because
// kernels are compiled apart, for one model, method and instruction set, and loaded at run time.
#include <manyfold/columns.hpp>
#include <manyfold/step_settings.hpp>

namespace manyfold {

struct ModelDescription;

/// Changes with the columns; the number before them whenever a struct below or in outcome.hpp and description.hpp does.
inline constexpr int kernel_interface_version =
    13000 + static_cast<int>(sizeof(Columns<ColumnPointer>) / sizeof(void*));

/// One instance for a lane: its columns, what it starts from and where its results go. Results are missing already;
/// logs are to be written as far as something occurs, events beyond their capacity are only counted.
struct Assignment : Columns<ColumnPointer> {
  std::int64_t instance;
  double t_begin;
  double t_end;
  int time_count;
  int event_capacity;
};

/// Instance `at` of `columns`, number `first + at` of the ensemble.
constexpr Assignment assignment_of(const InstanceShape& shape, const Columns<ColumnPointer>& columns,
                                   std::int64_t first, std::int64_t at) {
  const Columns<ColumnPointer> row = row_of(shape, columns, at);
  return {row, first + at, row.t_span[0], row.t_span[1], shape.times, shape.event_capacity};
}

/// Which variables, observables and discrete numbers are saved.
struct SavedVariables {
  const int* place;  ///< [variables, observables, discrete numbers]: position among the saved ones; -1: not saved
  int count;
};

/// The settings of all instances.
struct KernelOptions {
  double rtol;
  const double* atol;  ///< [variables of the model]
  StepSettings steps;
  SavedVariables saved;
  void* observer = nullptr;  ///< of accepted steps, for a kernel that is compiled for it
};

/// How well the lanes were used.
struct Utilisation {
  double lane_ticks = 0.0;       ///< step attempts of live lanes
  double ticks = 0.0;            ///< step attempts of all lanes of the pack
  double lane_iterations = 0.0;  ///< Newton iterations of lanes that needed them
  double iterations = 0.0;       ///< Newton iterations of all lanes of the pack
};

/// The source of instances and the destination of results. One feed serves one pack; calls come from one thread.
struct KernelFeed {
  void* context;
  /// Writes up to `most` assignments and returns how many. With `wait`, zero means that there are no more; without,
  /// that there are none at the moment.
  int (*take)(void* context, Assignment* assignments, int most, bool wait);
  void (*store)(void* context, const Assignment& assignment, const InstanceOutcome& outcome);
  bool (*cancelled)(void* context);
};

/// What a compiled kernel offers. That of a description has no method: `run` is null. That of a method does not
/// describe the model, which has been read before: `describe` is null.
struct Kernel {
  int interface_version;
  const char* method;
  const char* instruction_set;
  int lanes;
  /// Multiplications and additions of one factorisation of the model's iteration matrix, zeros left out.
  long factor_work;
  void (*describe)(ModelDescription& description);
  /// Puts the model's own initial values for these parameters where `initial` [variables, then the derivatives that are
  /// given] has NaN.
  void (*complete_initial)(const double* parameters, double* initial);
  void (*run)(const KernelOptions& options, KernelFeed& feed, Utilisation& utilisation);
};

}  // namespace manyfold
