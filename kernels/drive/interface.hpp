#pragma once
// The seam between an ensemble and the compiled kernel that integrates it: plain structs and function pointers, because
// kernels are compiled apart, for one model, method and instruction set, and loaded at run time.
#include <manyfold/outcome.hpp>

namespace manyfold {

struct ModelDescription;

/// Changes whenever a struct below or in outcome.hpp and description.hpp does.
inline constexpr int kernel_interface_version = 7;

/// One instance for a lane: what it starts from and where its results go.
struct Assignment {
  std::int64_t instance;
  const double* parameters;  ///< [parameters of the model]
  const double* initial;     ///< [variables of the model], then the derivatives that are given
  double t_begin;
  double t_end;
  const double* times;  ///< [time_count] output times in the order of integration
  int time_count;
  double* values;             ///< [time_count][saved variables]; stays as it is where the instance does not arrive
  double* end_state;          ///< [2][variables of the model]: y and y' where the instance ended; may be null
  EventRecord* events;        ///< [event_capacity], the first of them in the order of time
  double* event_values;       ///< [event_capacity][2][saved variables + discrete numbers]: before and after
  int event_capacity;         ///< events beyond are only counted
  double* first_event_times;  ///< [events of the model]; stays as it is for events that do not occur
};

/// Which variables are saved.
struct SavedVariables {
  const int* place;  ///< [variables of the model]: position among the saved ones; -1: not saved
  int count;
};

/// The settings of all instances.
struct KernelOptions {
  double rtol;
  const double* atol;  ///< [variables of the model]
  double max_steps;
  double first_step;  ///< 0: chosen per instance
  double max_step;
  double fixed_step;  ///< > 0: constant steps without error test
  SavedVariables saved;
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

/// What a compiled kernel offers.
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
