#pragma once
// A job is a model with settings, inputs, outputs, a placement and the instances to do. The command, C++ users and
// tests run it alike.
//
//   manyfold::Job job;
//   job.model = "robertson";                       // or the path of a model file
//   job.options.rtol = 1e-8;
//   job.options.backend = "cuda";
//   job.instances = 1000;
//   job.fill_instance = ...;                       // or set_inputs(job, inputs, times)
//   manyfold::InMemoryResult result;
//   manyfold::run(job, result);
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <manyfold/accepted_step.hpp>
#include <manyfold/description.hpp>

#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "host/io/output_times.hpp"
#include "host/run/placement.hpp"
#include "host/sampling/ensemble_inputs.hpp"

namespace manyfold {

/// What a user asks for. Of `EnsembleRun`, `kernel`, `device`, `observer` and the model's sizes in `shape` are found by
/// the run. What is left out: parameters, initial values and time span are the model's own, all variables are saved, at
/// the end of the time span.
struct Job : EnsembleRun {
  std::string model;                                 ///< a built-in name, or the path of a model file (.hpp)
  std::optional<long> structural_value;              ///< of the model's structural parameter
  std::function<void(const AcceptedStep&)> observe;  ///< sees every accepted step; on the processor only
  std::function<void(const std::string&)> announce;  ///< gets a line before what takes time, and warnings; may be empty
};

/// The description of the job's model, with its structural value and what is given at the start. No integrator is
/// compiled for it. Throws UsageError as `load_kernel` does, and for initial conditions that do not fit the model.
ModelDescription describe(const Job& job);

/// Sets `job.structural_value` to `value_of(name)`, the value that the user gives the model's structural parameter, if
/// the model has one and that is not its own.
void choose_structural_value(Job& job, const std::function<std::optional<long>(const std::string& name)>& value_of);

/// Instances and output times of a job, with what a device needs to compute them itself.
void set_inputs(Job& job, const EnsembleInputs& inputs, const OutputTimes& times);

/// Does the instances `which` of the job alone: instance i of the run is number which[i].
void choose_instances(EnsembleRun& run, std::vector<std::int64_t> which);

/// A job whose kernel is compiled, on the processor or the device that was chosen.
class PreparedJob {
 public:
  /// Throws UsageError for settings that are unknown, out of range or not for this model, method or machine,
  /// DeviceError if a device fails.
  explicit PreparedJob(Job job);

  const ModelDescription& model() const { return model_; }
  const std::string& method() const { return method_; }  ///< what "auto" stands for
  const Placement& placement() const { return placement_; }
  /// A device adds up: the sink gets `GroupSums` in place of rows.
  bool adds_up() const { return program_ != nullptr && program_->adds_up(); }
  /// What the user should know of the model, and of the method for it; empty: nothing.
  std::string warning() const;
  /// As it will run. What a kernel is compiled for is fixed: model, method, precision, Jacobian, error test.
  Job& job() { return job_; }
  const Job& job() const { return job_; }

  /// Throws what `run_ensemble` does.
  RunSummary run(ResultSink& sink) const { return run_ensemble(job_, sink); }

 private:
  /// `Job::observe` as the kernel calls it.
  struct Observer {
    std::function<void(const AcceptedStep&)> observe;
    ObserverCall call;
  };

  void watch();
  void load_on_processor(const KernelRequest& request);
  void load_on_device(KernelRequest request);
  void complete();

  Job job_;
  ModelDescription model_;
  std::string method_;
  Placement placement_;
  LoadedKernel loaded_;
  std::unique_ptr<DeviceProgram> program_;
  std::unique_ptr<Observer> observer_;
};

/// Prepares and runs the job.
RunSummary run(const Job& job, ResultSink& sink);

}  // namespace manyfold
