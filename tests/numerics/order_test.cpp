// Orders of convergence at constant steps, for differential and algebraic variables and for dense output, and the
// algebraic identities of the tableaux.
#include <gtest/gtest.h>

#include "kernels/kernel.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

/// An index-1 system with the solution (exp(-t), sin t, cos t); every right-hand side couples all three.
struct Index1 {
  static constexpr const char* name = "index1";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {
      {.name = "y1", .initial = 1.0}, {.name = "y2", .initial = 0.0}, {.name = "z", .initial = 1.0, .algebraic = true}};
  static constexpr Parameter parameters[] = {{.name = "unused", .value = 1.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto&, auto& f) {
    const auto decay = exp(-t);
    const auto s = sin(t);
    const auto c = cos(t);
    f[0] = -y[1] * y[2] + 0.5 * (y[2] * y[0] - c * decay) - (y[0] * y[0] - decay * decay) - decay + s * c;
    f[1] = y[0] * y[2] * exp(t) - (y[1] - s) - 0.3 * (y[2] * y[2] - c * c);
    f[2] = y[2] * y[2] * y[2] + y[2] * y[0] + y[0] * y[1] * y[1] - (c * c * c + c * decay + s * s * decay);
  }
};

struct Errors {
  double differential;
  double algebraic;
  double dense;
};

template <template <class, class> class Method>
Errors errors_with(int steps, double rtol) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Index1, Method, double>();
  describe_model<Index1>(loaded.model);
  test::Ensemble ensemble;
  ensemble.loaded = &loaded;
  ensemble.repeat_defaults(1);
  ensemble.fixed_step = 1.0 / steps;
  ensemble.rtol = rtol;
  // In the middle of a step near 0.7, and at the end.
  const double middle = (std::floor(0.7 * steps) + 0.4) / steps;
  ensemble.times = {middle, 1.0};
  const test::Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  EXPECT_NEAR(static_cast<double>(result.outcomes[0].counters.steps), steps, 1);
  const auto error = [&](int time, int i, double exact) {
    return std::abs(result.values[static_cast<std::size_t>(time * 3 + i)] - exact);
  };
  const double at_middle =
      std::max({error(0, 0, std::exp(-middle)), error(0, 1, std::sin(middle)), error(0, 2, std::cos(middle))});
  return {std::max(error(1, 0, std::exp(-1.0)), error(1, 1, std::sin(1.0))), error(1, 2, std::cos(1.0)), at_middle};
}

template <template <class, class> class Method>
void expect_orders(int coarse, double rtol, double order, double dense_order) {
  const Errors a = errors_with<Method>(coarse, rtol);
  const Errors b = errors_with<Method>(2 * coarse, rtol);
  const Errors c = errors_with<Method>(4 * coarse, rtol);
  std::cout << "differential " << std::log2(a.differential / b.differential) << " "
            << std::log2(b.differential / c.differential) << ", algebraic " << std::log2(a.algebraic / b.algebraic)
            << " " << std::log2(b.algebraic / c.algebraic) << ", dense " << std::log2(b.dense / c.dense) << ", errors "
            << c.differential << " " << c.algebraic << "\n";
  EXPECT_NEAR(std::log2(b.differential / c.differential), order, 0.15);
  EXPECT_NEAR(std::log2(b.algebraic / c.algebraic), order, 0.15);
  // At a fixed time the place inside the step changes with the step: the slope scatters more.
  EXPECT_NEAR(std::log2(b.dense / c.dense), dense_order, 0.3);
}

// rtol such that Newton iterations end well below the smallest error: at 0.2 rtol^1.2 for Radau, 0.01 rtol for ESDIRK.
TEST(Order, RadauIia5HasOrderFiveAndDenseOrderFour) {
  expect_orders<Radau5>(8, 1e-11, 5.0, 4.0);
}
TEST(Order, Esdirk54HasOrderFiveAndDenseOrderFour) {
  expect_orders<Esdirk54>(10, 1e-12, 5.0, 4.0);
}

/// Sum over i of b_i phi_i for the tree conditions up to order five that involve A once: enough to catch a wrong digit.
template <class Tableau, class Weights>
double largest_condition_error(const Weights& b, int order) {
  constexpr int s = Tableau::stages;
  double largest = 0.0;
  double c_power[s];
  for (int i = 0; i < s; ++i) c_power[i] = 1.0;
  for (int q = 1; q <= order; ++q) {
    // B(q): sum b_i c_i^(q-1) = 1/q
    double sum = 0.0;
    for (int i = 0; i < s; ++i) sum += b[i] * c_power[i];
    largest = std::max(largest, std::abs(sum - 1.0 / q));
    // sum b_i c_i^(p-1) sum_j a_ij c_j^(q-1) = 1 / (q (p + q)) for p + q <= order
    for (int p = 1; p + q <= order; ++p) {
      double nested = 0.0;
      for (int i = 0; i < s; ++i) {
        double inner = 0.0;
        for (int j = 0; j < s; ++j) inner += Tableau::A[i][j] * c_power[j];
        nested += b[i] * std::pow(Tableau::c[i], p - 1) * inner;
      }
      largest = std::max(largest, std::abs(nested - 1.0 / (q * (p + q))));
    }
    for (int i = 0; i < s; ++i) c_power[i] *= Tableau::c[i];
  }
  return largest;
}

TEST(Tableau, RadauIia5SatisfiesItsOrderConditions) {
  EXPECT_LT(largest_condition_error<RadauIIA5>(RadauIIA5::A[2], 5), 1e-14);
}

TEST(Tableau, Esdirk54SatisfiesItsOrderConditions) {
  EXPECT_LT(largest_condition_error<Esdirk54Tableau>(Esdirk54Tableau::A[6], 5), 1e-14);
  EXPECT_LT(largest_condition_error<Esdirk54Tableau>(Esdirk54Tableau::b_embedded, 4), 1e-14);
}

TEST(Tableau, TheTransformationOfRadauIia5DiagonalisesTheInverse) {
  const auto inverse = collocation::inverse_of_A<RadauIIA5>();
  const double g = RadauIIA5::gamma;
  const double alpha = RadauIIA5::alpha[0];
  const double beta = RadauIIA5::beta[0];
  const double expected[3][3] = {{g, 0, 0}, {0, alpha, -beta}, {0, beta, alpha}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double sum = 0.0;
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) sum += RadauIIA5::T_inverse[i][k] * inverse.at[k][l] * RadauIIA5::T[l][j];
      }
      EXPECT_NEAR(sum, expected[i][j], 1e-13) << i << ' ' << j;
    }
  }
}

}  // namespace
}  // namespace manyfold
