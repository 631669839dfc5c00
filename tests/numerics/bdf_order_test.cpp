// Orders of the backward differentiation formulas: of the solution, of the polynomial between the points and of the
// error estimate, each order from an exact past, on equal and on unequal steps.
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

using Problem = test::Index1;
using Method = Bdf<System<Problem>, double>;
constexpr int n = 3;

/// Of one length, or of two in turn.
enum class Steps { equal, unequal };

double step_length(Steps steps, double h, int index) {
  return steps == Steps::equal ? h : ((index & 1) == 0 ? 1.2 : 0.8) * h;
}

/// The exact solution as the state after step `index`, which ended at time t.
Method::State exact_past(Steps steps, int order, double h, double t, int index) {
  Method::State state{};
  state.t = t;
  Problem::exact(t, state.y, state.dy);
  for (double& weight : state.weight) weight = 1.0;
  state.contraction = 1.0;
  state.path.start(true, step_length(steps, h, index), state.dy);
  state.path.order = state.path.last_order = order;
  state.path.rising = 0.0;
  state.path.alike = 1.0;
  // Divided differences of the values at t_n, t_(n-1), ... by Newton's scheme.
  double time[Method::most + 1];
  double table[Method::most + 1][n];
  time[0] = t;
  for (int i = 0; i <= Method::most; ++i) {
    if (i > 0) time[i] = time[i - 1] - step_length(steps, h, index - i + 1);
    double ignored[n];
    Problem::exact(time[i], table[i], ignored);
  }
  double product = 1.0;
  for (int i = 0; i < Method::most; ++i) {
    state.path.psi[i] = t - time[i + 1];
    product *= state.path.psi[i];
    for (int row = 0; row < Method::most - i; ++row) {
      for (int j = 0; j < n; ++j) {
        table[row][j] = (table[row][j] - table[row + 1][j]) / (time[row] - time[row + i + 1]);
      }
    }
    for (int j = 0; j < n; ++j) state.path.phi[i][j] = product * table[0][j];
  }
  return state;
}

struct Errors {
  double end;      ///< largest of the variables at t = 1.5
  double between;  ///< largest inside the steps
};

Errors integrate(Steps steps, int order, int count) {
  const double h = 1.0 / count;
  Method::State state = exact_past(steps, order, h, 0.5, -1);
  Method method;
  Method::Workspace workspace;
  method.use(workspace, {});
  WorkCounters<double> work{};
  Errors errors{};
  double exact[n];
  double ignored[n];
  for (int index = 0; index < count; ++index) {
    const double length = step_length(steps, h, index);
    const auto attempt = method.attempt(true, true, false, state, length, {1e-12, 50}, work);
    EXPECT_TRUE(attempt.converged);
    method.commit(true, state, length);
    state.t += length;
    for (const double u : {-0.3, -0.7}) {
      Problem::exact(state.t + u * length, exact, ignored);
      for (int j = 0; j < n; ++j) {
        errors.between = std::max(errors.between, std::abs(state.y[j] + state.path.increment(j, u) - exact[j]));
      }
    }
  }
  EXPECT_NEAR(state.t, 1.5, 1e-12);
  Problem::exact(state.t, exact, ignored);
  for (int j = 0; j < n; ++j) errors.end = std::max(errors.end, std::abs(state.y[j] - exact[j]));
  return errors;
}

TEST(BdfOrder, EveryFormulaHasItsOrderOnEqualAndUnequalSteps) {
  for (const Steps steps : {Steps::equal, Steps::unequal}) {
    for (int order = 1; order <= Method::most; ++order) {
      // Short enough for the leading term, long enough that rounding stays below it.
      const int count = order < 4 ? 256 : 96;
      const Errors coarse = integrate(steps, order, count);
      const Errors fine = integrate(steps, order, 2 * count);
      const double end = std::log2(coarse.end / fine.end);
      const double between = std::log2(coarse.between / fine.between);
      std::cout << "order " << order << ": " << end << " (" << fine.end << "), between " << between << " ("
                << fine.between << ")\n";
      EXPECT_NEAR(end, order, 0.15);
      EXPECT_NEAR(between, order, 0.15);
    }
  }
}

TEST(BdfEstimate, FollowsTheOrderPlusOne) {
  for (const Steps steps : {Steps::equal, Steps::unequal}) {
    for (int order = 1; order <= Method::most; ++order) {
      const auto estimate = [&](double h) {
        Method::State state = exact_past(steps, order, h, 0.5, -1);
        Method method;
        Method::Workspace workspace;
        method.use(workspace, {});
        WorkCounters<double> work{};
        return method.attempt(true, true, false, state, step_length(steps, h, 0), {1e-13, 50}, work).error;
      };
      EXPECT_NEAR(std::log2(estimate(0.02) / estimate(0.01)), order + 1.0, 0.25) << order;
    }
  }
}

}  // namespace
}  // namespace manyfold
