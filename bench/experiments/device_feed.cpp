// How many instances per second the host can hand to devices and take back, which bounds what a run on a fast device
// can reach: a device that integrates in no time, with inputs from the host and with inputs of its own.
#include <fmt/format.h>

#define MANYFOLD_ONE_LANE
#include "host/engine/ensemble_run.hpp"
#include "host/sampling/ensemble_inputs.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "problems/robertson/robertson.hpp"

namespace manyfold {
namespace {

class InstantDevice : public DeviceProgram {
 public:
  explicit InstantDevice(bool sampled) : sampled_(sampled) {}
  int workers() const override { return 3; }
  std::int64_t batch_size() const override { return 1 << 18; }
  std::string shape() const override { return ""; }
  void integrate(int, const KernelOptions&, DeviceFeed& feed, Utilisation&) override {
    while (Chunk* chunk = feed.take(!sampled_)) feed.store(*chunk);
  }
  std::int64_t bytes_copied_back() const override { return 0; }

 private:
  bool sampled_;
};

class Forget : public ResultSink {
 public:
  void write(const Chunk&) override {}
};

double instances_per_second(bool sampled) {
  ModelDescription model;
  describe_model<Robertson>(model);
  constexpr std::int64_t instances = 5'000'000;
  std::vector<SampledQuantity> quantities;
  for (const ParameterDescription& parameter : model.parameters) {
    quantities.push_back(
        {SampledQuantity::Kind::parameter, parameter.name, Distribution::lognormal(parameter.value, 0.1), 0});
  }
  const auto inputs = EnsembleInputs::sampled(model, {"monte_carlo", instances, 1}, quantities);
  EnsembleRun run;
  run.kernel = &kernel<Robertson, Radau5, KernelSpec<>{}, double>();
  run.shape = shape_of(model);
  run.instances = instances;
  run.fill_instance = [&](std::int64_t i, double* p, double* y, double* t_span) { inputs.fill(i, p, y, t_span); };
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  run.saved = {0, 1, 2};
  run.options.rtol = 1e-6;
  run.options.atol = {1e-6, 1e-6, 1e-6};
  InstantDevice device(sampled);
  run.device = &device;
  Forget sink;
  return static_cast<double>(instances) / run_ensemble(run, sink).wall_seconds;
}

}  // namespace
}  // namespace manyfold

int main() {
  for (const bool sampled : {false, true}) {
    fmt::print("{}: {:.3g} instances per second\n", sampled ? "sampled on the device" : "sampled on the host  ",
               manyfold::instances_per_second(sampled));
  }
}
