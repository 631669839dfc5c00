// Cameron's experiment, IMA J. Numer. Anal. 3 (1983), Tables 3 and 4: problems DAS 1 and DAS 2 with his codes and ours,
// as a table for the documentation.
#include <cmath>

#include <fmt/format.h>

#include <manyfold/ensemble.hpp>

#include "problems/das1/das1.hpp"
#include "problems/das2/das2.hpp"

namespace manyfold {
namespace {

/// A line of his tables. `calls` counts the equations with those for difference quotients of the Jacobian.
struct Published {
  double tolerance;
  int steps;
  int calls;
  int factorizations;
  double error;
};

/// Where he measures the error, and the exact value there: problems/*/reference.json.
struct Probe {
  const char* name;
  int variable;
  double time;
  double exact;
};
constexpr Probe das1 = {"DAS 1", 0, 1000.0, -5.000290528743729};
constexpr Probe das2 = {"DAS 2", 2, 3.0, 1.9627862190508218};

template <Model Problem, template <class, class> class Method>
void compare(const Probe& probe, const char* code, const Published (&published)[3]) {
  // His rule, for DIRKS; DIRKA has it anyway.
  Ensemble<Problem, Method, KernelSpec<>{.jacobian_reuse = JacobianReuse::cameron}> ensemble(1);
  const int n = static_cast<int>(ensemble.model().variables.size());
  for (const Published& his : published) {
    SolverOptions options;
    options.rtol = his.tolerance;
    options.atol = {his.tolerance};
    const EnsembleResult result = ensemble.solve(options, {probe.time});
    const std::string line = fmt::format("| {} | {} | {:.0e} |", probe.name, code, his.tolerance);
    if (!succeeded(result.outcomes[0].status)) {
      fmt::print("{} {} / - | {} / - | {} / - | {:.1e} / - | ends at t = {:.0f}: {} |\n", line, his.steps, his.calls,
                 his.factorizations, his.error, result.outcomes[0].t_reached, status_name(result.outcomes[0].status));
      continue;
    }
    const Counters& ours = result.outcomes[0].counters;
    fmt::print("{} {} / {} | {} / {} | {} / {} | {:.1e} / {:.1e} | {}, {} |\n", line, his.steps, ours.steps, his.calls,
               ours.residuals + n * ours.jacobians, his.factorizations, ours.factorizations, his.error,
               std::abs(result.value(0, 0, probe.variable) / probe.exact - 1.0), ours.rejected, ours.newton_failures);
  }
}

void print_table() {
  fmt::print("| problem | code | tolerance | NS | NEQC | NFAC = NJ | error | failed: error, iteration |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  compare<Das1, Dirka>(das1, "DIRKA",
                       {{1e-2, 32, 351, 20, 7.439e-5}, {1e-3, 38, 621, 26, 4.665e-5}, {1e-4, 57, 1016, 32, 2.099e-6}});
  compare<Das1, Dirka2>(
      das1, "DIRKA 2", {{1e-2, 27, 294, 17, 9.795e-5}, {1e-3, 58, 584, 26, 1.117e-5}, {1e-4, 165, 1513, 53, 4.779e-6}});
  compare<Das1, Dirka3>(das1, "DIRKA 3",
                        {{1e-2, 26, 366, 19, 8.595e-4}, {1e-3, 48, 676, 29, 1.577e-5}, {1e-4, 96, 1337, 44, 1.286e-6}});
  compare<Das1, Dirka4>(das1, "DIRKA 4",
                        {{1e-2, 24, 389, 18, 2.064e-5}, {1e-3, 33, 602, 25, 4.809e-5}, {1e-4, 55, 1017, 31, 2.074e-6}});
  compare<Das1, Dirks>(das1, "DIRKS",
                       {{1e-2, 30, 364, 21, 1.469e-4}, {1e-3, 48, 746, 30, 7.365e-6}, {1e-4, 70, 1524, 46, 2.234e-6}});
  compare<Das1, Sdirk2>(
      das1, "DIRKS 2",
      {{1e-2, 44, 455, 27, 3.911e-4}, {1e-3, 104, 931, 49, 4.625e-6}, {1e-4, 321, 2683, 125, 9.857e-7}});
  compare<Das1, Sdirk3>(das1, "DIRKS 3",
                        {{1e-2, 22, 334, 19, 2.042e-4}, {1e-3, 46, 602, 30, 8.342e-7}, {1e-4, 91, 1146, 47, 1.366e-6}});
  compare<Das1, Cash4>(das1, "DIRKS 4",
                       {{1e-2, 24, 514, 22, 2.939e-4}, {1e-3, 37, 885, 31, 2.171e-6}, {1e-4, 70, 1617, 43, 3.554e-6}});
  compare<Das2, Dirka>(
      das2, "DIRKA",
      {{1e-2, 78, 985, 58, 2.154e-4}, {1e-3, 112, 1567, 79, 1.704e-4}, {1e-4, 149, 2395, 101, 1.069e-4}});
  compare<Das2, Dirka3>(
      das2, "DIRKA 3",
      {{1e-2, 70, 990, 53, 1.849e-5}, {1e-3, 107, 1502, 72, 1.146e-5}, {1e-4, 202, 2230, 110, 6.604e-7}});
  compare<Das2, Dirka4>(
      das2, "DIRKA 4",
      {{1e-2, 60, 1007, 52, 1.942e-4}, {1e-3, 79, 1375, 62, 6.935e-6}, {1e-4, 122, 2132, 85, 2.830e-7}});
  compare<Das2, Dirks>(
      das2, "DIRKS",
      {{1e-2, 75, 888, 52, 9.006e-5}, {1e-3, 138, 1807, 97, 2.553e-4}, {1e-4, 204, 3017, 119, 2.468e-4}});
  compare<Das2, Sdirk3>(
      das2, "DIRKS 3",
      {{1e-2, 63, 850, 50, 2.173e-4}, {1e-3, 101, 1344, 71, 1.206e-4}, {1e-4, 190, 2482, 116, 3.495e-4}});
  compare<Das2, Cash4>(
      das2, "DIRKS 4",
      {{1e-2, 58, 970, 49, 2.132e-3}, {1e-3, 90, 1469, 63, 1.357e-3}, {1e-4, 171, 2786, 103, 5.472e-4}});
}

}  // namespace
}  // namespace manyfold

int main() {
  manyfold::print_table();
}
