#include "host/run/job.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/catalog.hpp"
#include "host/io/initial_conditions.hpp"

namespace manyfold {
namespace {

KernelRequest request_of(const Job& job) {
  KernelRequest request{job.model, job.options, job.structural_value};
  if (!job.options.initial_conditions.empty()) {
    request.given = given_at_start(describe(request, job.announce), job.options.initial_conditions);
  }
  request.observed = job.observe != nullptr;
  return request;
}

/// Empty where the method corrects rounding errors.
std::string rounding_warning(const ModelDescription& model, const std::string& method,
                             const std::vector<double>& atol) {
  const MethodDescription* known = described_method(method);
  if (known == nullptr || !carries_rounding_errors(model, *known, atol)) return "";
  return fmt::format(
      "atol is {:g}, far below the rounding errors of variables of the size {:g}: '{}' carries these on, so that small "
      "variables may be wrong; 'radau5' does not",
      *std::min_element(atol.begin(), atol.end()), largest_initial_value(model), method);
}

/// Steps are shown on the processor alone.
Placement placement_of(const Job& job) {
  if (!job.observe) return choose_backend(job.options, job.instances);
  SolverOptions options = job.options;
  const bool automatic = options.backend == "auto";
  if (automatic) options.backend = "cpu";
  if (options.backend != "cpu") {
    throw UsageError(
        fmt::format("backend is '{}', but accepted steps are observed: needs 'cpu' or 'auto'", options.backend));
  }
  Placement placement = choose_backend(options, job.instances);
  if (automatic) placement.backend_reason = "accepted steps are observed";
  return placement;
}

/// Whether a device may send sums in place of rows: that is asked for, and chunks are for it to cut. It does so if
/// whole groups fit its memory.
bool sums_on_device(const Job& job) {
  return job.sums && job.chunk_size == 0;
}

}  // namespace

ModelDescription describe(const Job& job) {
  return describe(request_of(job), job.announce);
}

void choose_structural_value(Job& job, const std::function<std::optional<long>(const std::string& name)>& value_of) {
  const StructuralParameter parameter = describe({.model = job.model}, job.announce).structural;
  if (parameter.name.empty()) return;
  job.structural_value = value_of(parameter.name);
  if (job.structural_value == parameter.value) job.structural_value.reset();
}

void set_inputs(Job& job, const EnsembleInputs& inputs, const OutputTimes& times) {
  struct Kept {
    EnsembleInputs inputs;
    OutputTimes times;
  };
  const auto kept = std::make_shared<const Kept>(Kept{inputs, times});
  job.instances = inputs.instances();
  job.fill_instance = [kept](std::int64_t instance, double* parameters, double* initial, double* t_span) {
    kept->inputs.fill(instance, parameters, initial, t_span);
  };
  job.shape.times = times.count();
  job.fill_times = [kept](double t_begin, double t_end, double* out) { kept->times.fill(t_begin, t_end, out); };
  job.plan = kept->inputs.plan();
  if (!job.plan) return;
  job.plan->times = times.absolute() ? kept->times.absolute_times().data() : nullptr;
  job.plan->time_count = times.count();
}

void choose_instances(EnsembleRun& run, std::vector<std::int64_t> which) {
  run.first = 0;
  run.instances = std::ssize(which);
  run.plan.reset();
  run.fill_instance = [fill = run.fill_instance, which = std::move(which)](std::int64_t instance, double* parameters,
                                                                           double* initial, double* t_span) {
    fill(which[static_cast<std::size_t>(instance)], parameters, initial, t_span);
  };
}

PreparedJob::PreparedJob(Job job) : job_(std::move(job)), placement_(placement_of(job_)) {
  const KernelRequest request = request_of(job_);
  if (placement_.devices == nullptr) {
    load_on_processor(request);
  } else {
    load_on_device(request);
  }
}

std::string PreparedJob::warning() const {
  std::string result;
  for (const std::string& one :
       {check_method(model_, method_), rounding_warning(model_, method_, job_.options.atol), model_.caution}) {
    if (!one.empty()) result += (result.empty() ? "" : "; ") + one;
  }
  return result;
}

void PreparedJob::watch() {
  if (!job_.observe) return;
  observer_ = std::make_unique<Observer>();
  observer_->observe = job_.observe;
  observer_->call = {[](void* observer, const AcceptedStep& step) { static_cast<Observer*>(observer)->observe(step); },
                     observer_.get()};
  job_.observer = &observer_->call;
}

void PreparedJob::load_on_processor(const KernelRequest& request) {
  choose_tier(job_.options, {}, placement_);
  loaded_ = load_kernel(request, job_.announce);
  model_ = loaded_.model;
  method_ = loaded_.kernel->method;
  watch();
  complete();
}

/// The processor needs the description alone.
void PreparedJob::load_on_device(KernelRequest request) {
  check_kernel(request, job_.announce);
  loaded_ = load_description(request, job_.announce);
  model_ = loaded_.model;
  choose_tier(job_.options, loaded_, placement_);
  std::string& method = request.options.method;
  if (method == "auto" && placement_.tier == Tier::phased) method = "radau5";
  method = method_ = check_kernel(request, job_.announce);
  complete();
  DeviceDemand demand;
  demand.instances = job_.instances;
  demand.shape = job_.instance_shape();
  demand.memory_mib = job_.options.device_memory;
  demand.linear_solver = placement_.linear_solver.value_or(demand.linear_solver);
  if (job_.plan) demand.sampling = DeviceSampling{sampling_source(job_.announce), *job_.plan};
  if (sums_on_device(job_)) demand.sums = DeviceSumming{sums_source(job_.announce), *job_.sums};
  const DeviceShape shape{job_.options.device_tile, job_.options.device_block, placement_.tier};
  program_ = placement_.devices->load(device_source(request, shape, job_.announce), demand);
  job_.device = program_.get();
  placement_.device_shape = program_->shape();
}

/// What is left out is the model's own.
void PreparedJob::complete() {
  job_.kernel = loaded_.kernel;
  const int times = job_.shape.times;
  const bool end_states = job_.shape.has_end_states;
  job_.shape = shape_of(model_);
  job_.shape.times = times;
  job_.shape.has_end_states = end_states;
  if (job_.saved.empty()) {
    for (int i = 0; i < job_.shape.variables + job_.shape.observables; ++i) job_.saved.push_back(i);
  }
  const int quantities = job_.shape.quantities();
  for (const int index : job_.saved) {
    if (index >= 0 && index < quantities) continue;
    throw UsageError(
        fmt::format("saved has the number {}, but model '{}' has {} variables, observables and discrete numbers", index,
                    model_.name, quantities));
  }
  std::vector<double>& atol = job_.options.atol;
  if (atol.size() == 1) atol.assign(model_.variables.size(), atol.front());
  if (atol.size() != model_.variables.size()) {
    throw UsageError(fmt::format("atol has {} values, needs one or {}", atol.size(), model_.variables.size()));
  }
  if (!job_.fill_instance) {
    job_.fill_instance = [model = model_](std::int64_t, double* parameters, double* initial, double* t_span) {
      for (const ParameterDescription& parameter : model.parameters) *parameters++ = parameter.value;
      std::fill_n(initial, model.initial_quantities().size(), std::numeric_limits<double>::quiet_NaN());
      t_span[0] = model.t_begin;
      t_span[1] = model.t_end;
    };
  }
  if (!job_.fill_times) {
    job_.shape.times = 1;
    job_.fill_times = [](double, double t_end, double* times_of_instance) { times_of_instance[0] = t_end; };
  }
}

RunSummary run(const Job& job, ResultSink& sink) {
  const PreparedJob prepared(job);
  if (const std::string warning = prepared.warning(); !warning.empty() && job.announce) {
    job.announce("warning: " + warning);
  }
  return prepared.run(sink);
}

}  // namespace manyfold
