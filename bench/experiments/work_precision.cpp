// Work against precision: the processor time in which each method reaches a given error at the end point of each
// problem, in packs of instances, and how far the choice of `auto` is from the best. The table for the documentation on
// standard output; with steps, residuals and factorisations of the nominal instance into the file that is named.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>

#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "tests/support/error_scales.hpp"

namespace manyfold {
namespace {

const std::vector<std::string> problems = {
    "robertson",       "van_der_pol",  "das1",           "das2",       "transistor_amplifier",
    "pendulum",        "rlc_index0",   "rlc_index1",     "rlc_index2", "cstr",
    "pendulum_index2", "pendulum_ggl", "pendulum_index3"};
const std::vector<std::string> methods = {"rodas3", "rodas4", "rodas5p",  "radau5",   "radau9", "radau",
                                          "bdf",    "sdirk4", "esdirk43", "esdirk54", "dirka"};
constexpr double targets[] = {1e-3, 1e-5, 1e-7};
constexpr int tolerances_per_digit = 4;
/// An error counts if three digits of tighter tolerances have it too: no luck.
constexpr std::ptrdiff_t no_luck = 3 * tolerances_per_digit;
/// So many of the loosest tolerances that reach the error are timed.
constexpr int timed = 4;

/// The integration of the nominal instance at one tolerance.
struct Point {
  double rtol;
  double error;
  Counters counters;
  double seconds = 0.0;  ///< processor time per instance of an ensemble
};

/// The reference solution of a problem.
struct Reference {
  explicit Reference(const std::string& problem) {
    std::ifstream file("problems/" + problem + "/reference.json");
    const auto read = nlohmann::json::parse(file);
    t_end = read["t_end"];
    values = read["values"].get<std::vector<double>>();
    scale = test::error_scales(problem, values.size());
  }
  double t_end;
  std::vector<double> values;
  std::vector<double> scale;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One method on one problem.
class Subject {
 public:
  /// Nothing if the method is not for the problem.
  static std::optional<Subject> make(const std::string& problem, const std::string& method) {
    KernelRequest request;
    request.model = problem;
    request.options.method = method;
    try {
      return Subject(problem, load_kernel(request, [](const std::string& line) { fmt::print(stderr, "{}\n", line); }));
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  /// The work with which the error is reached soonest; nothing where it is not.
  std::optional<Point> soonest(double target) {
    std::optional<Point> best;
    int left = timed;
    for (auto point = points_.begin(); point != points_.end() && left > 0; ++point) {
      const auto tighter = point + std::min(no_luck, points_.end() - point - 1);
      const bool good = std::all_of(point, tighter + 1, [&](const auto& p) { return p && p->error <= target; });
      if (!good) continue;
      --left;
      if ((*point)->seconds == 0.0) (*point)->seconds = time_of((*point)->rtol);
      if (!best || (*point)->seconds < best->seconds) best = **point;
    }
    return best;
  }

 private:
  Subject(const std::string& problem, LoadedKernel loaded) : loaded_(std::move(loaded)), reference_(problem) {
    for (double exponent = 1.0; exponent < 11.2; exponent += 1.0 / tolerances_per_digit) {
      points_.push_back(integrate(std::pow(10.0, -exponent)));
    }
  }

  /// `instances` of the problem, the first of them nominal, the others with parameters up to two percent off, so that
  /// the lanes of a pack disagree as they do in a sweep.
  EnsembleRun prepare(double rtol, std::int64_t instances) const {
    EnsembleRun run;
    run.kernel = loaded_.kernel;
    run.shape = shape_of(loaded_.model);
    run.instances = instances;
    run.fill_instance = [this](std::int64_t instance, double* p, double* y, double* t_span) {
      for (std::size_t i = 0; i < loaded_.model.parameters.size(); ++i) {
        const double phase =
            std::fmod(0.6180339887498949 * static_cast<double>(instance) * static_cast<double>(i + 1), 1.0);
        p[i] = loaded_.model.parameters[i].value * (1.0 + 0.04 * (phase > 0.5 ? phase - 1.0 : phase));
      }
      std::fill_n(y, loaded_.model.variables.size(), std::nan(""));
      t_span[0] = loaded_.model.t_begin;
      t_span[1] = reference_.t_end;
    };
    run.shape.times = 1;
    run.fill_times = [](double, double end, double* times) { times[0] = end; };
    for (int i = 0; i < run.shape.variables; ++i) run.saved.push_back(i);
    run.options.rtol = rtol;
    run.options.max_steps = 100'000;
    run.options.threads = 1;
    for (const double s : reference_.scale) run.options.atol.push_back(rtol * s);
    return run;
  }

  std::optional<Point> integrate(double rtol) const {
    InMemoryResult sink;
    run_ensemble(prepare(rtol, 1), sink);
    const auto& [outcome, values] = std::tie(sink.results().outcomes[0], sink.results().values);
    if (outcome.status != Status::success) return std::nullopt;
    Point point{rtol, 0.0, outcome.counters};
    for (std::size_t i = 0; i < reference_.values.size(); ++i) {
      const double size = reference_.scale[i] + std::abs(reference_.values[i]);
      point.error = std::max(point.error, std::abs(values[i] - reference_.values[i]) / size);
    }
    return point;
  }

  /// The least of all runs in a tenth of a second, at least three.
  double time_of(double rtol) const {
    constexpr std::int64_t instances = 1024;
    const EnsembleRun run = prepare(rtol, instances);
    double least = std::numeric_limits<double>::infinity();
    const double start = processor_seconds();
    for (int round = 0; round < 3 || processor_seconds() - start < 0.1; ++round) {
      InMemoryResult sink;
      const double begin = processor_seconds();
      run_ensemble(run, sink);
      least = std::min(least, processor_seconds() - begin);
    }
    return least / static_cast<double>(instances);
  }

  LoadedKernel loaded_;
  Reference reference_;
  std::vector<std::optional<Point>> points_;  ///< from the loosest tolerance to the tightest
};

struct Line {
  std::string problem;
  double target;
  std::map<std::string, Point> points;  ///< by method
  std::string automatic;                ///< what `auto` takes
};

std::string automatic(const std::string& problem, double rtol) {
  KernelRequest request;
  request.model = problem;
  request.options.method = "auto";
  request.options.rtol = rtol;
  return check_kernel(request);
}

std::vector<Line> measure(const std::string& problem) {
  std::vector<Line> lines;
  for (const double target : targets) lines.push_back({problem, target, {}, automatic(problem, target)});
  for (const std::string& method : methods) {
    auto subject = Subject::make(problem, method);
    if (!subject) continue;
    for (Line& line : lines) {
      if (const auto point = subject->soonest(line.target)) line.points.emplace(method, *point);
    }
  }
  return lines;
}

/// Times as multiples of the least, which the last column has.
void print_table(const std::vector<Line>& lines) {
  fmt::print("| problem | error |");
  for (const std::string& method : methods) fmt::print(" {} |", method);
  fmt::print(" auto | best, microseconds |\n|---|---|");
  for (std::size_t i = 0; i < methods.size(); ++i) fmt::print("---|");
  fmt::print("---|---|\n");
  double logarithms = 0.0;
  for (const Line& line : lines) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [method, point] : line.points) best = std::min(best, point.seconds);
    fmt::print("| {} | {:.0e} |", line.problem, line.target);
    for (const std::string& method : methods) {
      const auto point = line.points.find(method);
      fmt::print(" {} |", point != line.points.end() ? fmt::format("{:.1f}", point->second.seconds / best) : "-");
    }
    fmt::print(" {} | {:.2g} |\n", line.automatic, 1e6 * best);
    logarithms += std::log(line.points.at(line.automatic).seconds / best);
  }
  fmt::print("\nThe choice of `auto` spends {:.2f} times as much as the best, in geometric mean.\n",
             std::exp(logarithms / static_cast<double>(lines.size())));
}

void write_points(const std::vector<Line>& lines, const std::string& path) {
  std::ofstream file(path);
  file << "problem\tmethod\terror asked for\trtol\terror\tsteps\tresiduals\tfactorizations\tmicroseconds\n";
  for (const Line& line : lines) {
    for (const auto& [method, point] : line.points) {
      file << fmt::format("{}\t{}\t{:.0e}\t{:.2e}\t{:.2e}\t{}\t{}\t{}\t{:.2f}\n", line.problem, method, line.target,
                          point.rtol, point.error, point.counters.steps, point.counters.residuals,
                          point.counters.factorizations, 1e6 * point.seconds);
    }
  }
}

}  // namespace
}  // namespace manyfold

int main(int argc, char** argv) {
  using namespace manyfold;
  std::vector<Line> lines;
  for (const std::string& problem : problems) {
    for (Line& line : measure(problem)) lines.push_back(std::move(line));
  }
  print_table(lines);
  if (argc > 1) write_points(lines, argv[1]);
}
