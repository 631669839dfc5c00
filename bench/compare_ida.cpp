// manyfold against SUNDIALS IDA: instances per second at equal achieved error. Both solve the same instances; errors
// are against a run of our Radau IIA 5 at rtol 1e-11, which itself is compared with a tight run of IDA.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <manyfold/error.hpp>
#include <nlohmann/json.hpp>

#include "bench/ida_ensemble.hpp"
#include "build_config.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"

namespace manyfold::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Measurement {
  double rtol = 0.0;
  double median_error = 0.0;
  double largest_error = 0.0;
  double instances_per_second = 0.0;  ///< best of the rounds
  double steps = 0.0;                 ///< per instance
  double residuals = 0.0;
  double factorizations = 0.0;
  std::int64_t failed = 0;
};

constexpr double compared_errors[] = {1e-5, 3e-6, 1e-6, 3e-7, 1e-7};  ///< at which speeds are compared

struct Problem {
  const IdaProblem* ida;
  std::vector<double> parameters;  ///< [instances][parameters]
  std::vector<double> scale;       ///< [variables]: the size below which a component's error counts absolutely
  std::vector<double> exact;       ///< [instances][variables]
  std::size_t instances() const { return parameters.size() / static_cast<std::size_t>(ida->parameters); }
};

/// Ensembles as a user's: rates by half, components by ten percent, any angle below 80 degrees; of models without a
/// choice of their own all parameters by ten percent.
Problem make_problem(const IdaProblem& ida, std::size_t instances) {
  Problem problem{&ida, {}, {}, {}};
  std::mt19937_64 engine(2024);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  };
  for (std::size_t i = 0; i < instances; ++i) {
    if (ida.name == "robertson") {
      for (const double rate : {0.04, 1e4, 3e7}) problem.parameters.push_back(rate * uniform(0.5, 1.5));
      problem.scale = {1.0, 1e-4, 1.0};
    } else if (ida.name == "pendulum") {
      problem.parameters.insert(problem.parameters.end(), {13.750371636040746, uniform(0.8, 1.2), uniform(-1.4, 1.4)});
      problem.scale.assign(5, 1.0);
    } else if (!ida.defaults.empty()) {
      for (const double value : ida.defaults) problem.parameters.push_back(value * uniform(0.9, 1.1));
    } else {
      problem.parameters.insert(problem.parameters.end(),
                                {6.0, 0.026, 0.99, 1e-6, 0.1, 100.0, 1000.0 * uniform(0.9, 1.1)});
      for (int k = 1; k <= 9; ++k) problem.parameters.push_back(9000.0 * uniform(0.9, 1.1));
      for (int k = 1; k <= 5; ++k) problem.parameters.push_back(k * 1e-6 * uniform(0.9, 1.1));
      problem.scale.assign(8, 1.0);
    }
  }
  return problem;
}

std::vector<double> tolerances(const Problem& problem, double rtol) {
  std::vector<double> atol;
  for (const double scale : problem.scale) atol.push_back(rtol * scale);
  return atol;
}

struct Run {
  std::vector<double> end_points;
  double seconds = 0.0;
  double steps = 0.0;
  double residuals = 0.0;
  double factorizations = 0.0;
  std::int64_t failed = 0;
};

/// A solver of the comparison.
struct Solver {
  std::string name;
  std::vector<double> rtols;
  std::function<Run(const Problem&, double rtol, int threads)> run;
};

Solver ida_solver(int max_order, std::vector<double> rtols) {
  return {fmt::format("IDA, order <= {}", max_order), std::move(rtols),
          [max_order](const Problem& problem, double rtol, int threads) {
            IdaResult result =
                run_ida(*problem.ida, problem.parameters, rtol, tolerances(problem, rtol), threads, max_order);
            return Run{std::move(result.end_points), result.seconds, result.steps, result.residuals,
                       result.factorizations,        result.failed};
          }};
}

Solver manyfold_solver(const std::string& method, const std::string& instruction_set = "") {
  return {instruction_set.empty() ? method : fmt::format("{} ({})", method, instruction_set),
          {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8},
          [=](const Problem& problem, double rtol, int threads) {
            static std::map<std::string, LoadedKernel> kernels;
            const std::string key = fmt::format("{} {} {} {}", problem.ida->name, method, instruction_set,
                                                method == "auto" ? rtol : 0.0);  // on which its choice depends
            if (!kernels.contains(key)) {
              kernels[key] = load_kernel({.model = problem.ida->model,
                                          .options = {.method = method, .rtol = rtol},
                                          .instruction_set = instruction_set});
            }
            const auto n = static_cast<std::size_t>(problem.ida->variables);
            const auto np = static_cast<std::size_t>(problem.ida->parameters);
            InMemoryResult sink;
            EnsembleRun run;
            run.kernel = kernels[key].kernel;
            run.shape = shape_of(kernels[key].model);
            run.instances = static_cast<std::int64_t>(problem.instances());
            run.fill_instance = [&](std::int64_t i, double* p, double* y, double* t_span) {
              std::copy_n(problem.parameters.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * np),
                          np, p);
              std::fill_n(y, n, std::numeric_limits<double>::quiet_NaN());
              t_span[0] = 0.0;
              t_span[1] = problem.ida->t_end;
            };
            run.fill_times = [](double, double end, double* times) { times[0] = end; };
            for (int i = 0; i < run.shape.variables; ++i) run.saved.push_back(i);
            run.options.rtol = rtol;
            run.options.atol = tolerances(problem, rtol);
            run.options.threads = threads;
            const RunSummary summary = run_ensemble(run, sink);
            return Run{sink.results().values,
                       summary.wall_seconds,
                       static_cast<double>(summary.totals.steps),
                       static_cast<double>(summary.totals.residuals),
                       static_cast<double>(summary.totals.factorizations),
                       summary.instances - summary.by_status[0]};
          }};
}

/// Per instance the largest error of a component, relative to scale + |exact|; then the median and maximum.
void judge(const Problem& problem, const Run& run, Measurement& measurement) {
  const std::size_t n = problem.scale.size();
  std::vector<double> errors;
  for (std::size_t i = 0; i < problem.instances(); ++i) {
    double error = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const double exact = problem.exact[i * n + k];
      const double component = std::abs(run.end_points[i * n + k] - exact) / (problem.scale[k] + std::abs(exact));
      if (!(component <= error)) error = component;
    }
    if (std::isfinite(error)) errors.push_back(error);
  }
  std::sort(errors.begin(), errors.end());
  measurement.median_error = errors.empty() ? std::nan("") : errors[errors.size() / 2];
  measurement.largest_error = errors.empty() ? std::nan("") : errors.back();
}

/// Instances per second at a given median error, by interpolation in logarithms; outside what was measured the most at
/// a smaller error; NaN: no error is as small.
double speed_at(const std::vector<Measurement>& curve, double error) {
  for (std::size_t k = 0; k + 1 < curve.size(); ++k) {
    const auto& a = curve[k];
    const auto& b = curve[k + 1];
    if ((a.median_error - error) * (b.median_error - error) > 0.0) continue;
    const double part = std::log(error / a.median_error) / std::log(b.median_error / a.median_error);
    return std::exp(std::log(a.instances_per_second) +
                    part * std::log(b.instances_per_second / a.instances_per_second));
  }
  double best = std::nan("");
  for (const Measurement& point : curve) {
    if (point.median_error <= error && !(best > point.instances_per_second)) best = point.instances_per_second;
  }
  return best;
}

/// The fastest of the solvers that `wanted` names, and its speed.
std::pair<std::string, double> best_at(const std::map<std::string, std::vector<Measurement>>& curves, double error,
                                       auto&& wanted) {
  std::pair<std::string, double> best{"", std::nan("")};
  for (const auto& [name, curve] : curves) {
    const double speed = wanted(name) ? speed_at(curve, error) : std::nan("");
    if (std::isfinite(speed) && !(best.second > speed)) best = {name, speed};
  }
  return best;
}

/// How many times fewer instances than of Robertson's problem take as long, about.
std::size_t effort(const std::string& problem) {
  const std::map<std::string, std::size_t> known = {
      {"robertson", 1},        {"pendulum", 1},   {"transistor_amplifier", 20},
      {"ring_modulator", 500}, {"pollution", 10}, {"diffusion", 20}};
  const auto found = known.find(problem);
  return found == known.end() ? 2 : found->second;
}

/// Is the method for this model?
bool accepts(const IdaProblem& ida, const std::string& method) {
  try {
    load_kernel({.model = ida.model, .options = {.method = method}});
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

/// What the components of the solution are of, for models whose authors do not say.
void find_scale(Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.ida->variables);
  problem.scale.assign(n, 1.0);
  const std::vector<double> ends = manyfold_solver("radau5").run(problem, 1e-9, 2).end_points;
  problem.scale.assign(n, 0.0);
  for (std::size_t k = 0; k < ends.size(); ++k)
    problem.scale[k % n] = std::max(problem.scale[k % n], std::abs(ends[k]));
  const double largest = *std::max_element(problem.scale.begin(), problem.scale.end());
  for (double& scale : problem.scale) scale = std::max(scale, 1e-6 * largest);
}

bool is_rival(const std::string& solver) {
  return solver.starts_with("IDA");
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int compare(std::size_t instances, const std::vector<int>& thread_counts, int rounds, const std::string& only,
            const std::string& json) {
  Json report = {{"date", fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))},
                 {"processor", processor()},
                 {"compiler", build::compiler_id},
                 {"kernel_flags", build::kernel_flags},
                 {"instruction_set", default_instruction_set()},
                 {"rival", "SUNDIALS IDA 6.4.1 built from source with -O3 -march=native -DNDEBUG"},
                 {"error", "median over the instances of max_i |y_i - exact_i| / (scale_i + |exact_i|) at the end"},
                 {"problems", Json::array()}};
  std::map<double, std::vector<double>> best_ratios;  // by error
  std::map<std::string, std::string> summary;
  for (const IdaProblem& ida : ida_problems()) {
    if (!only.empty() && only != ida.name) continue;
    const bool amplifier = ida.name == "transistor_amplifier";
    const std::size_t count = std::max<std::size_t>(instances / effort(ida.name), 32);
    Problem problem = make_problem(ida, count);
    if (problem.scale.empty()) find_scale(problem);
    problem.exact = manyfold_solver("radau5").run(problem, 1e-11, 2).end_points;
    // IDA slows down steeply on the amplifier below 1e-7: that is as far as it can confirm the reference.
    const double tightest = amplifier ? 1e-7 : 1e-10;
    Measurement agreement;
    judge(problem, ida_solver(amplifier ? 3 : 5, {}).run(problem, tightest, 2), agreement);
    std::cout << fmt::format(
        "\n{}: {} instances to t = {}; our reference and IDA at {:.0e} differ by {:.1e} (median)\n", ida.name, count,
        ida.t_end, tightest, agreement.median_error);
    const std::vector<double> rival_rtols =
        amplifier ? std::vector{1e-3, 1e-4, 1e-5, 1e-6, 1e-7} : std::vector{1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
    std::vector<Solver> solvers = {ida_solver(5, rival_rtols)};
    if (amplifier || ida.name == "ring_modulator") solvers.push_back(ida_solver(3, rival_rtols));
    for (const std::string method : {"auto", "radau5", "radau9", "esdirk54", "rodas5p", "bdf"}) {
      if (accepts(ida, method)) solvers.push_back(manyfold_solver(method));
    }
    solvers.push_back(manyfold_solver("radau5", "scalar"));
    Json problem_report = {{"problem", ida.name}, {"instances", count}, {"threads", Json::array()}};
    for (const int threads : thread_counts) {
      std::map<std::string, std::vector<Measurement>> curves;
      // Rounds are interleaved, so that a slow minute of the machine hits all solvers.
      for (int round = 0; round < rounds; ++round) {
        for (const Solver& solver : solvers) {
          for (std::size_t k = 0; k < solver.rtols.size(); ++k) {
            const Run run = solver.run(problem, solver.rtols[k], threads);
            auto& curve = curves[solver.name];
            if (curve.size() <= k) {
              curve.emplace_back();
              curve[k].rtol = solver.rtols[k];
              judge(problem, run, curve[k]);
              const auto total = static_cast<double>(count);
              curve[k].steps = run.steps / total;
              curve[k].residuals = run.residuals / total;
              curve[k].factorizations = run.factorizations / total;
              curve[k].failed = run.failed;
            }
            curve[k].instances_per_second =
                std::max(curve[k].instances_per_second, static_cast<double>(count) / run.seconds);
          }
        }
      }
      std::cout << fmt::format("\n{} thread{}\n{:<18} {:>7} {:>10} {:>10} {:>12} {:>8} {:>10} {:>8} {:>7}\n", threads,
                               threads > 1 ? "s" : "", "solver", "rtol", "median", "largest", "instances/s", "steps",
                               "residuals", "LU", "failed");
      Json thread_report = {{"threads", threads}, {"curves", Json::object()}, {"ratios", Json::array()}};
      for (const Solver& solver : solvers) {
        for (const Measurement& m : curves[solver.name]) {
          std::cout << fmt::format("{:<18} {:>7.0e} {:>10.1e} {:>10.1e} {:>12.0f} {:>8.0f} {:>10.0f} {:>8.0f} {:>7}\n",
                                   solver.name, m.rtol, m.median_error, m.largest_error, m.instances_per_second,
                                   m.steps, m.residuals, m.factorizations, m.failed);
          thread_report["curves"][solver.name].push_back({{"rtol", m.rtol},
                                                          {"median_error", m.median_error},
                                                          {"largest_error", m.largest_error},
                                                          {"instances_per_second", m.instances_per_second},
                                                          {"steps", m.steps},
                                                          {"residuals", m.residuals},
                                                          {"factorizations", m.factorizations},
                                                          {"failed", m.failed}});
        }
      }
      std::cout << "\nspeed relative to the best IDA at equal median error\n";
      for (const double error : compared_errors) {
        const double rival = best_at(curves, error, is_rival).second;
        std::string line = fmt::format("  error {:.0e}:", error);
        Json ratio = {{"error", error}};
        for (const Solver& solver : solvers) {
          if (is_rival(solver.name)) continue;
          const double value = speed_at(curves[solver.name], error) / rival;
          line += fmt::format("  {} {:.1f}", solver.name, value);
          if (std::isfinite(value)) ratio[solver.name] = value;
        }
        const auto [fastest, speed] = best_at(curves, error, [](const std::string& solver) {
          return !is_rival(solver) && solver.find("scalar") == std::string::npos;
        });
        if (std::isfinite(speed / rival)) {
          ratio["best"] = fastest;
          if (threads == thread_counts.front()) {
            best_ratios[error].push_back(speed / rival);
            summary[ida.name] += fmt::format("  {:>5.0f} x {:<9}", speed / rival, fastest);
          }
        } else if (threads == thread_counts.front()) {
          summary[ida.name] += fmt::format("  {:>17}", "-");
        }
        std::cout << line << "\n";
        thread_report["ratios"].push_back(ratio);
      }
      std::cout << std::flush;
      problem_report["threads"].push_back(thread_report);
    }
    report["problems"].push_back(problem_report);
  }
  std::cout << fmt::format("\nbest method of each side, {} thread(s)\n{:<22}", thread_counts.front(), "error");
  for (const double error : compared_errors) std::cout << fmt::format("  {:>17.0e}", error);
  for (const auto& [name, line] : summary) std::cout << fmt::format("\n{:<22}{}", name, line);
  std::cout << fmt::format("\n{:<22}", "geometric mean");
  for (const double error : compared_errors) {
    double sum = 0.0;
    for (const double ratio : best_ratios[error]) sum += std::log(ratio);
    if (best_ratios[error].empty()) continue;
    std::cout << fmt::format("  {:>5.0f} x {:<9}", std::exp(sum / static_cast<double>(best_ratios[error].size())), "");
  }
  std::cout << "\n";
  if (!json.empty()) std::ofstream(json) << report.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace manyfold::bench

int main(int argc, char** argv) {
  CLI::App app{"Compares manyfold with SUNDIALS IDA: work and precision over ensembles."};
  std::size_t instances = 10000;
  std::vector<int> threads = {1, 2};
  int rounds = 3;
  std::string json;
  std::string problem;
  app.add_option("--instances", instances, "Instances; a twentieth of it for the amplifier")->capture_default_str();
  app.add_option("--threads", threads, "Thread counts")->capture_default_str();
  app.add_option("--rounds", rounds, "Interleaved rounds; the best of each counts")->capture_default_str();
  app.add_option("--problem", problem, "Only this problem");
  app.add_option("--json", json, "Write the table as JSON to this file");
  CLI11_PARSE(app, argc, argv);
  return manyfold::bench::compare(instances, threads, rounds, problem, json);
}
