// Work against precision: what each method spends on each problem to reach a given error at the end point, in
// floating-point operations of one lane and in processor time of a pack, and how far the choice of `auto` is from the
// best. Tables for the documentation on standard output; with residuals and factorisations into the file that is named.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/counted.hpp"

#define MANYFOLD_ONE_LANE
#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "problems/cstr/cstr.hpp"
#include "problems/das1/das1.hpp"
#include "problems/das2/das2.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/pendulum_ggl/pendulum_ggl.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rlc_index0/rlc_index0.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/rlc_index2/rlc_index2.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "problems/van_der_pol/van_der_pol.hpp"
#include "tests/support/error_scales.hpp"

namespace manyfold {
namespace {

/// Operations of a vector unit that one operation takes, about, in terms of additions: measured on the library's lanes.
constexpr double per_division = 8.0;
constexpr double per_root = 10.0;
constexpr double per_power = 30.0;
constexpr double per_function = 10.0;

/// One integration of the nominal instance.
struct Point {
  double rtol;
  double error;
  double operations;
  Counters counters;
};

/// The reference solution of a problem.
struct Reference {
  explicit Reference(const std::string& model) {
    std::ifstream file("problems/" + model + "/reference.json");
    const auto read = nlohmann::json::parse(file);
    t_end = read["t_end"];
    values = read["values"].get<std::vector<double>>();
    scale = test::error_scales(model, values.size());
  }
  double t_end;
  std::vector<double> values;
  std::vector<double> scale;
};

/// `instances` of `model`, the first of them nominal, the others with parameters up to two percent off, so that the
/// lanes of a pack disagree as they do in a sweep.
EnsembleRun prepare(const ModelDescription& model, const Kernel& kernel, const Reference& reference, double rtol,
                    std::int64_t instances) {
  EnsembleRun run;
  run.kernel = &kernel;
  run.shape = shape_of(model);
  run.instances = instances;
  run.fill_instance = [&](std::int64_t instance, double* p, double* y, double* t_span) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      const double phase =
          std::fmod(0.6180339887498949 * static_cast<double>(instance) * static_cast<double>(i + 1), 1.0);
      p[i] = model.parameters[i].value * (1.0 + 0.04 * (phase > 0.5 ? phase - 1.0 : phase));
    }
    std::fill_n(y, model.variables.size(), std::nan(""));
    t_span[0] = model.t_begin;
    t_span[1] = reference.t_end;
  };
  run.shape.times = 1;
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  for (int i = 0; i < run.shape.variables; ++i) run.saved.push_back(i);
  run.options.rtol = rtol;
  run.options.max_steps = 100'000;
  run.options.threads = 1;
  for (const double s : reference.scale) run.options.atol.push_back(rtol * s);
  return run;
}

template <Model Equations, template <class, class> class Method>
std::optional<Point> integrate(double rtol) {
  ModelDescription model;
  describe_model<Equations>(model);
  const Reference reference(model.name);
  const EnsembleRun run = prepare(model, kernel<Equations, Method, KernelSpec<>{}, Counted>(), reference, rtol, 1);
  counted = {};
  InMemoryResult sink;
  run_ensemble(run, sink);
  if (sink.results().outcomes[0].status != Status::success) return std::nullopt;
  Point point{rtol, 0.0,
              counted.additions + counted.multiplications + per_division * counted.divisions +
                  per_root * counted.roots + per_power * counted.powers + per_function * counted.functions,
              sink.results().outcomes[0].counters};
  for (std::size_t i = 0; i < reference.values.size(); ++i) {
    const double size = reference.scale[i] + std::abs(reference.values[i]);
    point.error = std::max(point.error, std::abs(sink.results().values[i] - reference.values[i]) / size);
  }
  return point;
}

constexpr int tolerances_per_digit = 4;

/// The cheapest integration with an error of at most `target`, there and at tolerances up to three digits tighter: no
/// luck. `points`: from the loosest tolerance to the tightest.
std::optional<Point> cheapest(const std::vector<std::optional<Point>>& points, double target) {
  constexpr std::ptrdiff_t no_luck = 3 * tolerances_per_digit;
  std::optional<Point> best;
  for (auto point = points.begin(); point != points.end(); ++point) {
    const auto tighter = point + std::min(no_luck, points.end() - point - 1);
    const bool good = std::all_of(point, tighter + 1, [&](const auto& p) { return p && p->error <= target; });
    if (good && (!best || (*point)->operations < best->operations)) best = **point;
  }
  return best;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time per instance in seconds, with packs of the best instruction set: the least of all runs in a tenth of
/// a second, at least three.
double time_of(const std::string& model, const std::string& method, double rtol) {
  static std::map<std::string, LoadedKernel> kernels;
  LoadedKernel& loaded = kernels[model + " " + method];
  if (loaded.kernel == nullptr) {
    KernelRequest request;
    request.model = model;
    request.options.method = method;
    loaded = load_kernel(request, [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  }
  constexpr std::int64_t instances = 1024;
  const Reference reference(model);
  const EnsembleRun run = prepare(loaded.model, *loaded.kernel, reference, rtol, instances);
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

template <Model Equations, template <class, class> class Method>
std::vector<std::optional<Point>> sweep() {
  std::vector<std::optional<Point>> points;
  for (double exponent = 1.0; exponent < 11.2; exponent += 1.0 / tolerances_per_digit) {
    points.push_back(integrate<Equations, Method>(std::pow(10.0, -exponent)));
  }
  return points;
}

constexpr double targets[] = {1e-3, 1e-5, 1e-7};

struct Line {
  std::string problem;
  double target;
  std::map<std::string, Point> points;  ///< by method
  std::map<std::string, double> seconds;
  std::string automatic;  ///< what `auto` takes
};

const std::vector<std::string> columns = {"rodas3", "rodas4", "rodas5p",  "radau5",   "radau9", "radau",
                                          "bdf",    "sdirk4", "esdirk43", "esdirk54", "dirka"};

template <Model Equations>
class Problem {
 public:
  explicit Problem(std::vector<Line>& lines) {
    ModelDescription model;
    describe_model<Equations>(model);
    add<Radau5>();
    add<Radau9>();
    add<Radau>();
    using Form = System<Equations>;
    if constexpr (Form::highest_index() < 3) {
      add<Bdf>();
      add<Esdirk54>();
      add<Esdirk43>();
      add<Sdirk4>();
    }
    if constexpr (Form::highest_index() == 1) {
      if constexpr (Form::constant_mass()) {
        add<Rodas3>();
        add<Rodas4>();
        add<Rodas5p>();
      }
      if constexpr (Form::semi_explicit) add<Dirka>();
    }
    for (const double target : targets) {
      Line line{model.name, target, {}, {}, automatic(target)};
      for (const auto& [method, points] : points_) {
        const auto point = cheapest(points, target);
        if (!point) continue;
        line.points[method] = *point;
        line.seconds[method] = time_of(model.name, method, point->rtol);
      }
      lines.push_back(line);
    }
  }

 private:
  static std::string automatic(double rtol) {
    using Form = System<Equations>;
    if (rtol >= 1e-3) return AutoLoose<Form, Counted>::Tableau::name;
    if (rtol >= 1e-6) return AutoMedium<Form, Counted>::Tableau::name;
    return AutoTight<Form, Counted>::Tableau::name;
  }

  template <template <class, class> class Method>
  void add() {
    points_[Method<System<Equations>, Counted>::Tableau::name] = sweep<Equations, Method>();
  }
  std::map<std::string, std::vector<std::optional<Point>>> points_;
};

/// `cost(line, method)` as a multiple of the least; `unit` of the least is what the last column has.
void print_table(const std::vector<Line>& lines, const std::string& unit, const auto& cost) {
  fmt::print("| problem | error |");
  for (const std::string& column : columns) fmt::print(" {} |", column);
  fmt::print(" auto | best, {} |\n|---|---|", unit);
  for (std::size_t i = 0; i < columns.size(); ++i) fmt::print("---|");
  fmt::print("---|---|\n");
  double logarithms = 0.0;
  for (const Line& line : lines) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [method, point] : line.points) best = std::min(best, cost(line, method));
    fmt::print("| {} | {:.0e} |", line.problem, line.target);
    for (const std::string& column : columns) {
      fmt::print(" {} |", line.points.contains(column) ? fmt::format("{:.1f}", cost(line, column) / best) : "-");
    }
    fmt::print(" {} | {:.2g} |\n", line.automatic, best);
    logarithms += std::log(cost(line, line.automatic) / best);
  }
  fmt::print("\nThe choice of `auto` spends {:.2f} times as much as the best, in geometric mean.\n",
             std::exp(logarithms / static_cast<double>(lines.size())));
}

void write_points(const std::vector<Line>& lines, const std::string& path) {
  std::ofstream file(path);
  file << "problem\tmethod\terror asked for\trtol\terror\tsteps\tresiduals\tfactorizations\toperations\tmicroseconds\n";
  for (const Line& line : lines) {
    for (const auto& [method, point] : line.points) {
      file << fmt::format("{}\t{}\t{:.0e}\t{:.2e}\t{:.2e}\t{}\t{}\t{}\t{:.0f}\t{:.2f}\n", line.problem, method,
                          line.target, point.rtol, point.error, point.counters.steps, point.counters.residuals,
                          point.counters.factorizations, point.operations, 1e6 * line.seconds.at(method));
    }
  }
}

}  // namespace
}  // namespace manyfold

int main(int argc, char** argv) {
  using namespace manyfold;
  std::vector<Line> lines;
  Problem<Robertson>{lines};
  Problem<VanDerPol>{lines};
  Problem<Das1>{lines};
  Problem<Das2>{lines};
  Problem<TransistorAmplifier>{lines};
  Problem<Pendulum>{lines};
  Problem<RlcIndex0>{lines};
  Problem<RlcIndex1>{lines};
  Problem<RlcIndex2>{lines};
  Problem<Cstr>{lines};
  Problem<PendulumIndex2>{lines};
  Problem<PendulumGgl>{lines};
  Problem<PendulumIndex3>{lines};
  print_table(lines, "operations",
              [](const Line& line, const std::string& method) { return line.points.at(method).operations; });
  fmt::print("\nThe same in processor time per instance, in ensembles of 1,024 on {} lanes:\n\n",
             default_instruction_set());
  print_table(lines, "microseconds",
              [](const Line& line, const std::string& method) { return 1e6 * line.seconds.at(method); });
  if (argc > 1) write_points(lines, argv[1]);
}
