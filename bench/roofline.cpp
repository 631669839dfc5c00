// The roofline on paper: how many floating-point operations and bytes a step takes, counted by integrating with a
// number type that counts, and how long that would last at the peak rates of three GPUs. No GPU is involved.
#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "bench/counted.hpp"

#define MANYFOLD_ONE_LANE
#include "host/engine/ensemble_run.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "problems/das1/das1.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/rlc_index0/rlc_index0.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "problems/van_der_pol/van_der_pol.hpp"

namespace manyfold {
namespace {

/// Instructions of the double-precision unit that CUDA's routines take, about, for one operation in terms of additions.
constexpr double per_division = 9.0;
constexpr double per_root = 11.0;
constexpr double per_power = 120.0;
constexpr double per_function = 30.0;

struct Gpu {
  const char* name;
  double flops;      ///< float64 per second, a fused multiply-add counted as two; from the maker's data sheet
  double bandwidth;  ///< bytes per second of its memory
};
constexpr Gpu gpus[] = {{"H200", 34e12, 4.8e12}, {"A100", 9.7e12, 2.0e12}, {"RTX 4090", 1.29e12, 1.0e12}};

template <Model Equations, template <class, class> class Method>
void report(double rtol) {
  ModelDescription model;
  describe_model<Equations>(model);
  EnsembleRun run;
  run.kernel = &kernel<Equations, Method, KernelSpec<>{}, Counted>();
  run.shape = shape_of(model);
  run.instances = 1;
  run.fill_instance = [&](std::int64_t, double* p, double* y, double* t_span) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i) p[i] = model.parameters[i].value;
    for (std::size_t i = 0; i < model.variables.size(); ++i) y[i] = std::nan("");
    t_span[0] = model.t_begin;
    t_span[1] = model.t_end;
  };
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  for (int i = 0; i < run.shape.variables; ++i) run.saved.push_back(i);
  run.options.rtol = rtol;
  run.options.atol.assign(model.variables.size(), rtol * 1e-3);
  run.options.threads = 1;
  counted = {};
  InMemoryResult sink;
  const RunSummary summary = run_ensemble(run, sink);
  const auto attempts =
      static_cast<double>(summary.totals.steps + summary.totals.rejected + summary.totals.newton_failures);
  const double flops = counted.additions + counted.multiplications + per_division * counted.divisions +
                       per_root * counted.roots + per_power * counted.powers + per_function * counted.functions;
  // What enters and leaves the device per instance, and the initial point between the two kernels, written and read.
  const double numbers = run.shape.parameters + 2.0 * run.shape.variables + 2.0 + 1.0;
  const double bytes = 8.0 * numbers + sizeof(InstanceOutcome) +
                       2.0 * sizeof(typename Integrator<Method<System<Equations>, double>>::Initial);
  std::string line =
      fmt::format("{}\t{}\t{:.0e}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.0f}\t{:.1f}", model.name,
                  run.kernel->method, rtol, attempts, counted.additions / attempts, counted.multiplications / attempts,
                  counted.divisions / attempts, counted.roots / attempts, counted.powers / attempts,
                  counted.functions / attempts, flops / attempts, bytes / attempts);
  for (const Gpu& gpu : gpus) {
    const double seconds = std::max(flops / gpu.flops, bytes / gpu.bandwidth);
    line += fmt::format("\t{:.3g}", 1.0 / seconds);
  }
  std::cout << line << '\n';
}

template <Model Equations>
void report_methods() {
  report<Equations, Radau5>(1e-6);
  report<Equations, Esdirk54>(1e-6);
}

}  // namespace
}  // namespace manyfold

int main() {
  using namespace manyfold;
  std::cout
      << "# Operations of a step attempt, initial conditions and controller included, and instances per second at "
         "the peak rates of\n# "
      << "H200 (34 TFLOP/s, 4.8 TB/s), A100 (9.7, 2.0) and RTX 4090 (1.29, 1.0), float64. A division counts as "
         "9 operations,\n# a square root as 11, a power as 120, another function as 30.\n"
      << "# model\tmethod\trtol\tattempts\tadditions\tmultiplications\tdivisions\troots\tpowers\tfunctions\tflops\t"
         "bytes\tH200\tA100\tRTX_4090\n";
  report_methods<Robertson>();
  report_methods<VanDerPol>();
  report_methods<Pendulum>();
  report_methods<Das1>();
  report_methods<RlcIndex0>();
  report_methods<RlcIndex1>();
  report_methods<TransistorAmplifier>();
  return 0;
}
