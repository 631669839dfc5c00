#pragma once
// The solutions that `verify` and `run --verify` compare with.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "host/cli/common.hpp"
#include "host/cli/progress.hpp"
#include "host/engine/verification.hpp"

namespace manyfold::cli {

/// Keeps all solutions.
class SolutionSink : public ResultSink {
 public:
  void write(const Chunk& chunk) override {
    for (std::int64_t i = 0; i < chunk.count; ++i) solutions.add(chunk, i);
  }
  Solutions solutions;
};

/// References are tighter by this, but not tighter than `least_rtol_of_references`, where rounding errors are as large.
inline constexpr double tightening = 1e-3;
inline constexpr double least_rtol_of_references = 1e-12;
/// And not tighter than this part of the largest value, for variables that pass through zero.
inline constexpr double least_atol_of_references = 1e-14;
/// No step of a reference is longer than one part in so many of the time span, so that no short event of a solution at
/// rest is passed over; the second has other steps.
inline constexpr std::array<double, 2> least_steps_of_references = {500.0, 700.0};

inline double reference_rtol(double rtol) {
  return std::min(0.1 * rtol, std::max(tightening * rtol, least_rtol_of_references));
}

/// Integrates what is to be verified again. `request`: of the solutions; `run`: their instances, times, variables and
/// options.
class References {
 public:
  References(const KernelRequest& request, const ModelDescription& model, const std::string& method, double rtol)
      : methods_(reference_methods(model, method)), rtol_(reference_rtol(rtol)) {
    for (std::size_t k = 0; k < 2; ++k) {
      KernelRequest other = request;
      other.method = methods_[k];
      other.rtol = rtol_;
      other.precision = "float64";
      // A model's own Jacobian may be what is wrong.
      other.jacobian = "dual_numbers";
      other.jacobian_reuse = "automatic";
      other.error_test = "all";
      kernels_[k] = load_kernel(other, announce);
    }
  }

  const std::array<std::string, 2>& methods() const { return methods_; }
  double rtol() const { return rtol_; }

  /// `asked`: the solutions, for the sizes of the variables `run.saved`. An instance in which a reference fails is
  /// tried again at looser tolerances. Where the run is stopped the solutions are not complete.
  std::array<Solutions, 2> integrate(EnsembleRun run, const Solutions& asked) const {
    SolverOptions& options = run.options;
    options.precision = "float64";
    options.first_step = 0.0;
    // A reference that takes more is stuck.
    options.max_steps = 20'000;
    for (const InstanceOutcome& outcome : asked.outcomes) {
      options.max_steps = std::max(options.max_steps, 20'000 + 50 * outcome.counters.steps);
    }
    run.device = nullptr;
    run.plan.reset();
    double span = std::numeric_limits<double>::infinity();
    for (const auto& ends : asked.t_span) span = std::min(span, std::abs(ends[1] - ends[0]));
    const double max_step = options.max_step;
    const double rtol = options.rtol;
    const std::vector<double> atol = options.atol;
    std::array<Solutions, 2> solutions;
    for (std::size_t k = 0; k < 2; ++k) {
      run.kernel = kernels_[k].kernel;
      options.max_step = std::min(max_step, span / least_steps_of_references[k]);
      std::vector<std::int64_t> left(static_cast<std::size_t>(run.instances));
      std::iota(left.begin(), left.end(), 0);
      for (double tolerance = rtol_; !left.empty() && tolerance <= loosest * rtol; tolerance *= 10.0) {
        announce(fmt::format("reference {} of 2: {} instances with {} at rtol {:.3g} ...", k + 1, left.size(),
                             methods_[k], tolerance));
        options.rtol = tolerance;
        options.atol = atol;
        tighten(options.atol, tolerance / rtol, run.saved, asked);
        Solutions found = integrate_some(run, left);
        if (run.stop != nullptr && *run.stop) return solutions;
        if (std::ssize(left) == run.instances) {
          solutions[k] = std::move(found);
        } else {
          for (std::size_t i = 0; i < left.size(); ++i) {
            if (succeeded(found.outcomes[i].status)) solutions[k].replace(static_cast<std::size_t>(left[i]), found, i);
          }
        }
        left.clear();
        for (std::size_t i = 0; i < solutions[k].outcomes.size(); ++i) {
          const bool failed = !succeeded(solutions[k].outcomes[i].status);
          if (failed && succeeded(asked.outcomes[i].status)) left.push_back(static_cast<std::int64_t>(i));
        }
      }
    }
    return solutions;
  }

 private:
  /// References are tighter than solutions by this at least.
  static constexpr double loosest = 0.1001;

  static void tighten(std::vector<double>& atol, double tighter, const std::vector<int>& saved,
                      const Solutions& asked) {
    for (double& tolerance : atol) tolerance *= tighter;
    for (std::size_t k = 0; k < asked.values.size(); ++k) {
      double& tolerance = atol[static_cast<std::size_t>(saved[k % saved.size()])];
      if (!std::isfinite(asked.values[k])) continue;
      tolerance = std::max(tolerance, least_atol_of_references * std::abs(asked.values[k]));
    }
  }

  /// The instances `which` of `run`, in their order.
  static Solutions integrate_some(const EnsembleRun& run, const std::vector<std::int64_t>& which) {
    EnsembleRun part = run;
    part.instances = std::ssize(which);
    part.fill_instance = [&](std::int64_t instance, double* parameters, double* initial, double* t_span) {
      run.fill_instance(which[static_cast<std::size_t>(instance)], parameters, initial, t_span);
    };
    ProgressBar bar;
    part.progress = [&](const Progress& progress) { bar.show(progress); };
    SolutionSink sink;
    run_ensemble(part, sink);
    return std::move(sink.solutions);
  }

  std::array<std::string, 2> methods_;
  double rtol_;
  std::array<LoadedKernel, 2> kernels_;
};

/// The settings of a comparison of the variables `saved`. `options`: as asked.
inline VerificationSettings verification_settings(const ModelDescription& model, const std::vector<int>& saved,
                                                  const SolverOptions& options) {
  VerificationSettings settings;
  settings.rtol = options.rtol;
  settings.event_kinds = static_cast<int>(model.events.size());
  for (const int variable : saved) {
    settings.atol.push_back(options.atol[static_cast<std::size_t>(variable)]);
    settings.index.push_back(model.variables[static_cast<std::size_t>(variable)].index);
  }
  return settings;
}

/// The table of a comparison, with its verdict. `instances`: the numbers of the instances compared.
void print_verification(const Verification& verification, const ModelDescription& model, const std::vector<int>& saved,
                        const std::vector<std::int64_t>& instances, double rtol);

nlohmann::ordered_json verification_json(const Verification& verification, const ModelDescription& model,
                                         const std::vector<int>& saved, const std::vector<std::int64_t>& instances,
                                         double rtol);

}  // namespace manyfold::cli
