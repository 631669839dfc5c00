#pragma once
// The solutions that `verify` and `run --verify` compare with.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "host/cli/common.hpp"
#include "host/cli/progress.hpp"
#include "host/compiler/catalog.hpp"
#include "host/engine/verification.hpp"
#include "host/run/job.hpp"

namespace manyfold::cli {

/// References are tighter by this, but not tighter than `least_rtol_of_references`, where rounding errors are as large.
inline constexpr double tightening = 1e-3;
inline constexpr double least_rtol_of_references = 1e-12;
/// And not tighter than this part of the largest value, for variables that pass through zero.
inline constexpr double least_atol_of_references = 1e-14;
/// No step of a reference is longer than one part in so many of the time span, so that no short event of a solution at
/// rest is passed over; the second has other steps.
inline constexpr std::array<double, 2> least_steps_of_references = {500.0, 700.0};

/// Three solutions of what is verified are kept in memory: 3 GiB.
constexpr double most_numbers_to_verify = 134'217'728.0;

inline double reference_rtol(double rtol) {
  return std::min(0.1 * rtol, std::max(tightening * rtol, least_rtol_of_references));
}

/// Integrates what is to be verified again.
class References {
 public:
  /// `asked`: the job, and its tolerances for the references to go by.
  explicit References(const PreparedJob& asked, const SolverOptions& options)
      : methods_(reference_methods(asked.model(), asked.method())),
        rtol_(reference_rtol(options.rtol)),
        asked_(options) {
    for (const std::string& method : methods_) {
      Job job = asked.job();
      job.options.method = method;
      job.options.rtol = rtol_;
      job.options.precision = "float64";
      // A model's own Jacobian may be what is wrong.
      job.options.jacobian = "dual_numbers";
      job.options.jacobian_reuse = "automatic";
      job.options.error_test = "all";
      job.options.backend = "cpu";
      job.options.tier = "auto";
      job.options.linear_solver = "auto";
      job.options.first_step = 0.0;
      job.device = nullptr;
      job.plan.reset();
      jobs_.emplace_back(std::move(job));
    }
  }

  const std::array<std::string, 2>& methods() const { return methods_; }
  double rtol() const { return rtol_; }

  /// The instances `which`, whose solutions are `asked`: the sizes of the variables are theirs. An instance in which a
  /// reference fails is tried again at looser tolerances. Where the run is stopped the solutions are not complete.
  std::array<Solutions, 2> integrate(const std::vector<std::int64_t>& which, const Solutions& asked) {
    // A reference that takes more is stuck.
    std::int64_t max_steps = 20'000;
    for (const InstanceOutcome& outcome : asked.outcomes) {
      max_steps = std::max(max_steps, 20'000 + 50 * outcome.counters.steps);
    }
    double span = std::numeric_limits<double>::infinity();
    for (const auto& ends : asked.t_span) span = std::min(span, std::abs(ends[1] - ends[0]));
    std::array<Solutions, 2> solutions;
    for (std::size_t k = 0; k < 2; ++k) {
      SolverOptions& options = jobs_[k].job().options;
      options.max_steps = max_steps;
      options.max_step = std::min(asked_.max_step, span / least_steps_of_references[k]);
      if (!integrate_with(k, which, asked, solutions[k])) break;
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
      const auto quantity = static_cast<std::size_t>(saved[k % saved.size()]);
      if (quantity >= atol.size() || !std::isfinite(asked.values[k])) continue;
      double& tolerance = atol[quantity];
      tolerance = std::max(tolerance, least_atol_of_references * std::abs(asked.values[k]));
    }
  }

  /// False: the run was stopped.
  bool integrate_with(std::size_t k, const std::vector<std::int64_t>& which, const Solutions& asked,
                      Solutions& solutions) {
    SolverOptions& options = jobs_[k].job().options;
    std::vector<std::int64_t> left(which.size());
    std::iota(left.begin(), left.end(), 0);
    for (double tolerance = rtol_; !left.empty() && tolerance <= loosest * asked_.rtol; tolerance *= 10.0) {
      announce(fmt::format("reference {} of 2: {} instances with {} at rtol {:.3g} ...", k + 1, left.size(),
                           methods_[k], tolerance));
      options.rtol = tolerance;
      options.atol = asked_.atol;
      tighten(options.atol, tolerance / asked_.rtol, jobs_[k].job().saved, asked);
      Solutions found = integrate_some(jobs_[k].job(), which, left);
      const std::atomic<bool>* stop = jobs_[k].job().stop;
      if (stop != nullptr && *stop) return false;
      if (left.size() == which.size()) {
        solutions = std::move(found);
      } else {
        for (std::size_t i = 0; i < left.size(); ++i) {
          if (succeeded(found.outcomes[i].status)) solutions.replace(static_cast<std::size_t>(left[i]), found, i);
        }
      }
      left.clear();
      for (std::size_t i = 0; i < solutions.outcomes.size(); ++i) {
        const bool failed = !succeeded(solutions.outcomes[i].status);
        if (failed && succeeded(asked.outcomes[i].status)) left.push_back(static_cast<std::int64_t>(i));
      }
    }
    return true;
  }

  /// The instances which[k] for all k of `places`.
  static Solutions integrate_some(const EnsembleRun& run, const std::vector<std::int64_t>& which,
                                  const std::vector<std::int64_t>& places) {
    std::vector<std::int64_t> numbers;
    for (const std::int64_t place : places) numbers.push_back(which[static_cast<std::size_t>(place)]);
    EnsembleRun part = run;
    choose_instances(part, std::move(numbers));
    ProgressBar bar;
    part.progress = [&](const Progress& progress) { bar.show(progress); };
    SolutionSink sink;
    run_ensemble(part, sink);
    return sink.solutions();
  }

  std::array<std::string, 2> methods_;
  double rtol_;
  SolverOptions asked_;
  std::vector<PreparedJob> jobs_;  ///< one per method
};

/// The settings of a comparison of the variables and observables `saved`. `options`: as asked. Of observables, for
/// which no tolerance is stated, atol is the largest of those of the variables.
inline VerificationSettings verification_settings(const ModelDescription& model, const std::vector<int>& saved,
                                                  const SolverOptions& options) {
  VerificationSettings settings;
  settings.rtol = options.rtol;
  settings.event_kinds = static_cast<int>(model.events.size());
  for (const int quantity : saved) {
    const auto at = static_cast<std::size_t>(quantity);
    settings.atol.push_back(at < options.atol.size() ? options.atol[at] : std::ranges::max(options.atol));
    settings.index.push_back(model.output_quantity(quantity).index);
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
