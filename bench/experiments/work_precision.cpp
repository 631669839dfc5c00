// Work against precision: what each method spends on each problem to reach a given error at the end point, in
// floating-point operations of one lane. A table for the documentation.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/counted.hpp"

#define MANYFOLD_ONE_LANE
#include "host/engine/ensemble_run.hpp"
#include "kernels/kernel.hpp"
#include "problems/cstr/cstr.hpp"
#include "problems/das1/das1.hpp"
#include "problems/pendulum/pendulum.hpp"
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

struct Point {
  double error;
  double work;
};

class KeepValues : public ResultSink {
 public:
  void write(const Chunk& chunk) override {
    values = chunk.values;
    status = chunk.outcomes[0].status;
  }
  std::vector<double> values;
  Status status = Status::cancelled;
};

template <Model Equations, template <class, class> class Method>
std::optional<Point> integrate(double rtol) {
  ModelDescription model;
  describe_model<Equations>(model);
  std::ifstream file(std::string("problems/") + model.name + "/reference.json");
  const auto reference = nlohmann::json::parse(file);
  const auto exact = reference["values"].get<std::vector<double>>();
  const auto scale = test::error_scales(model.name, exact.size());
  EnsembleRun run;
  run.kernel = &kernel<Equations, Method, Counted>();
  run.parameter_count = static_cast<int>(model.parameters.size());
  run.variable_count = static_cast<int>(model.variables.size());
  run.instances = 1;
  run.fill_instance = [&](std::int64_t, double* p, double* y, double* t_span) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i) p[i] = model.parameters[i].value;
    std::fill_n(y, model.variables.size(), std::nan(""));
    t_span[0] = model.t_begin;
    t_span[1] = reference["t_end"];
  };
  run.time_count = 1;
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  for (int i = 0; i < run.variable_count; ++i) run.saved.push_back(i);
  run.options.rtol = rtol;
  run.options.max_steps = 100'000;
  run.options.threads = 1;
  for (const double s : scale) run.options.atol.push_back(rtol * s);
  counted = {};
  KeepValues sink;
  run_ensemble(run, sink);
  if (sink.status != Status::success) return std::nullopt;
  Point point{0.0, counted.additions + counted.multiplications + per_division * counted.divisions +
                       per_root * counted.roots + per_power * counted.powers + per_function * counted.functions};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    point.error = std::max(point.error, std::abs(sink.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
  }
  return point;
}

/// The least work with which the error is at most `target`, there and at all tighter tolerances: no luck.
std::optional<double> work_for(const std::vector<std::optional<Point>>& points, double target) {
  std::optional<double> work;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (!*point || (*point)->error > target) break;
    if (!work || (*point)->work < *work) work = (*point)->work;
  }
  return work;
}

template <Model Equations, template <class, class> class Method>
std::vector<std::optional<Point>> sweep() {
  std::vector<std::optional<Point>> points;
  for (double exponent = 1.0; exponent < 11.2; exponent += 0.25) {
    points.push_back(integrate<Equations, Method>(std::pow(10.0, -exponent)));
  }
  return points;
}

constexpr double targets[] = {1e-3, 1e-5, 1e-7};

struct Line {
  std::string problem;
  double target;
  std::map<std::string, double> work;
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
      if constexpr (Form::mass_form) {
        add<Rodas3>();
        add<Rodas4>();
        add<Rodas5p>();
      }
      if constexpr (Form::semi_explicit) add<Dirka>();
    }
    for (const double target : targets) {
      Line line{model.name, target, {}};
      for (const auto& [method, points] : points_) {
        if (const auto work = work_for(points, target)) line.work[method] = *work;
      }
      lines.push_back(line);
    }
  }

 private:
  template <template <class, class> class Method>
  void add() {
    points_[Method<System<Equations>, Counted>::Tableau::name] = sweep<Equations, Method>();
  }
  std::map<std::string, std::vector<std::optional<Point>>> points_;
};

void print_table(const std::vector<Line>& lines) {
  fmt::print("| problem | error |");
  for (const std::string& column : columns) fmt::print(" {} |", column);
  fmt::print(" best, operations |\n|---|---|{}---|\n", [] {
    std::string rule;
    for (std::size_t i = 0; i < columns.size(); ++i) rule += "---|";
    return rule;
  }());
  for (const Line& line : lines) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [method, work] : line.work) best = std::min(best, work);
    fmt::print("| {} | {:.0e} |", line.problem, line.target);
    for (const std::string& column : columns) {
      const auto found = line.work.find(column);
      fmt::print(" {} |", found == line.work.end() ? "-" : fmt::format("{:.1f}", found->second / best));
    }
    fmt::print(" {:.2g} |\n", best);
  }
}

}  // namespace
}  // namespace manyfold

int main() {
  using namespace manyfold;
  std::vector<Line> lines;
  Problem<Robertson>{lines};
  Problem<VanDerPol>{lines};
  Problem<Das1>{lines};
  Problem<TransistorAmplifier>{lines};
  Problem<Pendulum>{lines};
  Problem<RlcIndex0>{lines};
  Problem<RlcIndex1>{lines};
  Problem<RlcIndex2>{lines};
  Problem<Cstr>{lines};
  Problem<PendulumIndex2>{lines};
  Problem<PendulumIndex3>{lines};
  print_table(lines);
}
