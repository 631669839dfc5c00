#pragma once
// Runs one ensemble on the threads of this machine: instances go to packs, finished chunks go to the sink in order.
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <manyfold/options.hpp>
#include <manyfold/result.hpp>

#include "host/engine/device.hpp"
#include "host/engine/run_summary.hpp"
#include "kernels/drive/interface.hpp"

namespace manyfold {

/// What the progress callback sees, about ten times a second.
struct Progress {
  std::int64_t instances = 0;
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  double seconds = 0.0;
};

/// The inputs of instance `instance`: parameters [np], initial values [n] and the derivatives that are given (NaN: the
/// model's own), start and end time [2]. Called from many threads; must depend on its arguments alone.
using FillInstance = std::function<void(std::int64_t instance, double* parameters, double* initial, double* t_span)>;

/// The output times [times] of an instance with the given time span, in the order of integration.
using FillTimes = std::function<void(double t_begin, double t_end, double* times)>;

struct EnsembleRun {
  const Kernel* kernel = nullptr;
  DeviceProgram* device = nullptr;  ///< integrates in place of the kernel; null: the processor does
  /// Sizes of the model, `shape_of(model)`, output times, and whether states at the end are asked for; the run adds
  /// what follows from `saved` and `options`.
  InstanceShape shape;
  std::int64_t first = 0;      ///< number of the first instance to do
  std::int64_t instances = 0;  ///< to do
  FillInstance fill_instance;
  FillTimes fill_times;
  std::optional<InputPlan> plan;   ///< the same inputs and times, as a device computes them; none: it cannot
  std::optional<SumRequest> sums;  ///< the sink is content with these, as `GroupSums` in place of rows; none: it is not
  std::vector<int> saved;          ///< indices of the variables, observables and discrete numbers to save
  SolverOptions options;           ///< atol already has one entry per variable
  void* observer = nullptr;        ///< of accepted steps, of the type that the kernel is compiled for
  double fixed_step = 0.0;         ///< > 0: constant steps without error control, for convergence studies
  std::int64_t chunk_size = 0;  ///< instances per chunk; 0: chosen from what they carry. Results do not depend on it.
  const std::atomic<bool>* stop = nullptr;        ///< set: finish what is written, then return
  std::function<void(const Progress&)> progress;  ///< from the calling thread

  /// `shape` with what follows from `saved` and `options`.
  InstanceShape instance_shape() const {
    InstanceShape whole = shape;
    whole.saved = static_cast<int>(saved.size());
    whole.event_capacity = shape.events > 0 ? options.event_log : 0;
    return whole;
  }
};

/// Integrates all instances and writes every chunk to `sink`, in order. Throws what `sink` or `fill_instance` throw,
/// after the threads have stopped; chunks before the failure have been written.
RunSummary run_ensemble(const EnsembleRun& run, ResultSink& sink);

}  // namespace manyfold
