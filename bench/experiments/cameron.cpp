// Cameron's experiment, IMA J. Numer. Anal. 3 (1983), Table 3: problem DAS 1 with his codes and ours, as a table for
// the documentation.
#include <cmath>

#include <fmt/format.h>

#include <manyfold/ensemble.hpp>

#include "problems/das1/das1.hpp"

namespace manyfold {
namespace {

/// A line of Table 3. `calls` counts the equations with those for difference quotients of the Jacobian.
struct Published {
  double tolerance;
  int steps;
  int calls;
  int factorizations;
  double error;
};

/// y_1 at the end of the interval, in closed form: problems/das1/reference.json.
constexpr double exact = -5.000290528743729;

template <template <class, class> class Method>
void compare(const char* code, const Published (&published)[3]) {
  Ensemble<Das1, Method> ensemble(1);
  const int n = static_cast<int>(ensemble.model().variables.size());
  for (const Published& his : published) {
    SolverOptions options;
    options.rtol = his.tolerance;
    options.atol = {his.tolerance};
    const EnsembleResult result = ensemble.solve(options);
    if (result.outcomes[0].status != Status::success) {
      fmt::print("| {} | {:.0e} | {} / - | {} / - | {} / - | {:.1e} / - | ends at t = {:.0f}: {} |\n", code,
                 his.tolerance, his.steps, his.calls, his.factorizations, his.error, result.outcomes[0].t_reached,
                 status_name(result.outcomes[0].status));
      continue;
    }
    const Counters& ours = result.outcomes[0].counters;
    const std::int64_t calls = ours.residuals + n * ours.jacobians;
    fmt::print("| {} | {:.0e} | {} / {} | {} / {} | {} / {} | {:.1e} / {:.1e} | {}, {} |\n", code, his.tolerance,
               his.steps, ours.steps, his.calls, calls, his.factorizations, ours.factorizations, his.error,
               std::abs(result.value(0, 0, 0) / exact - 1.0), ours.rejected, ours.newton_failures);
  }
}

void print_table() {
  fmt::print("| code | tolerance | NS | NEQC | NFAC = NJ | error of y1 | failed: error, iteration |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  compare<Dirka>("DIRKA",
                 {{1e-2, 32, 351, 20, 7.439e-5}, {1e-3, 38, 621, 26, 4.665e-5}, {1e-4, 57, 1016, 32, 2.099e-6}});
  compare<Dirka2>("DIRKA 2",
                  {{1e-2, 27, 294, 17, 9.795e-5}, {1e-3, 58, 584, 26, 1.117e-5}, {1e-4, 165, 1513, 53, 4.779e-6}});
  compare<Dirka3>("DIRKA 3",
                  {{1e-2, 26, 366, 19, 8.595e-4}, {1e-3, 48, 676, 29, 1.577e-5}, {1e-4, 96, 1337, 44, 1.286e-6}});
  compare<Dirka4>("DIRKA 4",
                  {{1e-2, 24, 389, 18, 2.064e-5}, {1e-3, 33, 602, 25, 4.809e-5}, {1e-4, 55, 1017, 31, 2.074e-6}});
}

}  // namespace
}  // namespace manyfold

int main() {
  manyfold::print_table();
}
