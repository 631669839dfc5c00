#pragma once
// The solutions that `verify` and `run --verify` compare with.
#include <algorithm>
#include <array>
#include <cmath>

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
      kernels_[k] = load_kernel(other, announce);
    }
  }

  const std::array<std::string, 2>& methods() const { return methods_; }
  double rtol() const { return rtol_; }

  /// `asked`: the solutions, for the sizes of the variables `run.saved`.
  std::array<Solutions, 2> integrate(EnsembleRun run, const Solutions& asked) const {
    SolverOptions& options = run.options;
    const double tighter = rtol_ / options.rtol;
    for (double& atol : options.atol) atol *= tighter;
    for (std::size_t k = 0; k < asked.values.size(); ++k) {
      double& atol = options.atol[static_cast<std::size_t>(run.saved[k % run.saved.size()])];
      if (std::isfinite(asked.values[k])) atol = std::max(atol, least_atol_of_references * std::abs(asked.values[k]));
    }
    options.rtol = rtol_;
    options.precision = "float64";
    options.first_step = 0.0;
    options.max_steps = std::max<std::int64_t>(options.max_steps, 10'000'000);
    run.device = nullptr;
    run.plan.reset();
    double span = std::numeric_limits<double>::infinity();
    for (const auto& ends : asked.t_span) span = std::min(span, std::abs(ends[1] - ends[0]));
    const double max_step = options.max_step;
    std::array<Solutions, 2> solutions;
    for (std::size_t k = 0; k < 2; ++k) {
      announce(fmt::format("reference {} of 2: {} instances with {} at rtol {:.3g} ...", k + 1, run.instances,
                           methods_[k], rtol_));
      run.kernel = kernels_[k].kernel;
      options.max_step = std::min(max_step, span / least_steps_of_references[k]);
      ProgressBar bar;
      run.progress = [&](const Progress& progress) { bar.show(progress); };
      SolutionSink sink;
      run_ensemble(run, sink);
      solutions[k] = std::move(sink.solutions);
    }
    return solutions;
  }

 private:
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
