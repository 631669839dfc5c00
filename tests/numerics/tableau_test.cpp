// The algebraic identities of the tableaux: order conditions, stability, dense output, transformations.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <string>
#include <vector>

#include "kernels/methods/all.hpp"

namespace manyfold {
namespace {

/// A rooted tree, as the stages of a tableau see it: sum_i b_i phi_i = 1/density is its order condition. Hairer,
/// Norsett & Wanner I, theorem II.2.13.
struct Tree {
  double density;
  std::vector<double> phi;
};

/// The product A x.
template <class Tableau>
std::vector<double> times_A(const std::vector<double>& x) {
  std::vector<double> result(Tableau::stages, 0.0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t j = 0; j < result.size(); ++j) result[i] += Tableau::A[i][j] * x[j];
  }
  return result;
}

/// All trees with up to `order` vertices, by number of vertices, some of them more than once: every tree is a smaller
/// one with another smaller one hung on its root.
template <class Tableau>
std::vector<std::vector<Tree>> trees(int order) {
  std::vector<std::vector<Tree>> result(static_cast<std::size_t>(order) + 1);
  result[1] = {{1.0, std::vector<double>(Tableau::stages, 1.0)}};
  for (std::size_t size = 2; size < result.size(); ++size) {
    for (std::size_t left = 1; left < size; ++left) {
      for (const Tree& branch : result[size - left]) {
        const std::vector<double> hung = times_A<Tableau>(branch.phi);
        for (const Tree& root : result[left]) {
          Tree tree{root.density * branch.density * static_cast<double>(size) / static_cast<double>(left), root.phi};
          for (std::size_t i = 0; i < hung.size(); ++i) tree.phi[i] *= hung[i];
          result[size].push_back(tree);
        }
      }
    }
  }
  return result;
}

/// Largest violation of the conditions for `order`.
template <class Tableau, class Weights>
double largest_condition_error(const Weights& b, int order) {
  double largest = 0.0;
  for (const auto& of_size : trees<Tableau>(order)) {
    for (const Tree& tree : of_size) {
      double sum = 0.0;
      for (std::size_t i = 0; i < tree.phi.size(); ++i) sum += b[i] * tree.phi[i];
      largest = std::max(largest, std::abs(sum - 1.0 / tree.density));
    }
  }
  return largest;
}

/// The last stage for y' = lambda y, z = h lambda: (I - z A)^-1 1. It is R(z), since the methods are stiffly accurate.
template <class Tableau>
std::complex<double> stability_function(std::complex<double> z) {
  constexpr int s = Tableau::stages;
  std::vector<std::vector<std::complex<double>>> m(s, std::vector<std::complex<double>>(s + 1, 1.0));
  for (std::size_t i = 0; i < s; ++i) {
    for (std::size_t j = 0; j < s; ++j) m[i][j] = (i == j ? 1.0 : 0.0) - z * Tableau::A[i][j];
  }
  for (std::size_t k = 0; k < s; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < s; ++i) {
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    }
    std::swap(m[k], m[pivot]);
    for (std::size_t i = 0; i < s; ++i) {
      if (i == k) continue;
      const std::complex<double> factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j <= s; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  return m[s - 1][s] / m[s - 1][s - 1];
}

/// Order and consistency of A, c and b = last row of A; R(infinity) = 0 and |R| <= 1 on the imaginary axis, which with
/// poles in the right half plane is A-stability.
template <class Tableau>
void expect_L_stable_of_order() {
  constexpr int s = Tableau::stages;
  SCOPED_TRACE(Tableau::name);
  EXPECT_LT(largest_condition_error<Tableau>(Tableau::A[s - 1], Tableau::order), 1e-14);
  EXPECT_GT(largest_condition_error<Tableau>(Tableau::A[s - 1], Tableau::order + 1), 1e-14 * s);
  const auto row_sums = times_A<Tableau>(std::vector<double>(s, 1.0));
  for (std::size_t i = 0; i < s; ++i) EXPECT_NEAR(row_sums[i], Tableau::c[i], 1e-14);
  EXPECT_EQ(Tableau::c[s - 1], 1.0);
  // R(z) falls like 1/z at least.
  EXPECT_LT(std::abs(stability_function<Tableau>(-1e8)), 1e-6);
  for (double y = 1e-3; y < 1e4; y *= 1.1) {
    EXPECT_LE(std::abs(stability_function<Tableau>({0.0, y})), 1.0 + 1e-12) << y;
  }
  EXPECT_NEAR(std::abs(stability_function<Tableau>(-0.01) - std::exp(-0.01)), 0.0, 1e-4);
}

template <class Tableau>
class Dirk : public testing::Test {};
using DirkTableaux =
    testing::Types<BackwardEulerTableau, Sdirk2Tableau, Sdirk3Tableau, Cash4Tableau, Sdirk4Tableau, Trbdf2Tableau,
                   Kvaerno43Tableau, Esdirk43Tableau, Kvaerno54Tableau, Esdirk54Tableau>;
TYPED_TEST_SUITE(Dirk, DirkTableaux);

TYPED_TEST(Dirk, IsLStableOfItsOrderOnOneDiagonal) {
  expect_L_stable_of_order<TypeParam>();
  for (int i = 0; i < TypeParam::stages; ++i) {
    EXPECT_EQ(TypeParam::A[i][i], i == 0 && TypeParam::A[0][0] == 0.0 ? 0.0 : TypeParam::gamma);
    for (int j = i + 1; j < TypeParam::stages; ++j) EXPECT_EQ(TypeParam::A[i][j], 0.0);
  }
}

TYPED_TEST(Dirk, TheEmbeddedMethodDiffersAtTheOrderOfTheEstimate) {
  if constexpr (requires { TypeParam::b_embedded; }) {
    // The estimate has the lower order of the two methods, plus one.
    const int order = std::min(TypeParam::order, TypeParam::error_order - 1);
    EXPECT_LT(largest_condition_error<TypeParam>(TypeParam::b_embedded, order), 1e-14);
    if (order < TypeParam::order) {
      EXPECT_GT(largest_condition_error<TypeParam>(TypeParam::b_embedded, order + 1), 1e-3);
    } else {
      EXPECT_LT(largest_condition_error<TypeParam>(TypeParam::b_embedded, order + 1), 1e-14);
    }
  }
}

/// sum_i d_i(theta) of what stage i contributes to a tree is theta^(k) times its value in the exact solution.
TYPED_TEST(Dirk, TheDenseOutputMeetsItsConditionsAtAllTimes) {
  constexpr int s = TypeParam::stages;
  constexpr int degree = TypeParam::dense_degree;
  // The solution between steps is accurate to this power of h for all, and to one more for differential variables.
  const std::map<std::string, std::pair<int, int>> orders = {
      {"backward_euler", {1, 1}}, {"sdirk2", {2, 1}},  {"sdirk3", {2, 2}},    {"cash4", {3, 2}},
      {"sdirk4", {3, 2}},         {"trbdf2", {2, 2}},  {"kvaerno43", {3, 2}}, {"esdirk43", {3, 3}},
      {"kvaerno54", {3, 3}},      {"esdirk54", {4, 3}}};
  const auto [differential, algebraic] = orders.at(TypeParam::name);
  const auto all = trees<TypeParam>(4);
  for (int step = 0; step <= 8; ++step) {
    const double theta = 0.25 * step;
    double d[s] = {};
    for (int i = 0; i < s; ++i) {
      for (int k = degree - 1; k >= 0; --k) d[i] = (d[i] + TypeParam::dense[i][k]) * theta;
    }
    const auto sum = [&](const std::vector<double>& values) {
      double total = 0.0;
      for (std::size_t i = 0; i < values.size(); ++i) total += d[i] * values[i];
      return total;
    };
    for (int size = 1; size <= differential; ++size) {
      // Y_i - y_n contains the tree with phi through A once more.
      for (const Tree& tree : all[static_cast<std::size_t>(size)]) {
        EXPECT_NEAR(sum(times_A<TypeParam>(tree.phi)), std::pow(theta, size) / tree.density, 2e-12) << theta;
      }
    }
    for (int size = 1; size <= algebraic; ++size) {
      // A function of Y_i contains all products of such trees: these are the trees with `size` + 1 vertices.
      for (const Tree& tree : all[static_cast<std::size_t>(size) + 1]) {
        const double density = tree.density / (size + 1);
        EXPECT_NEAR(sum(tree.phi), std::pow(theta, size) / density, 2e-12) << theta;
      }
    }
    // The steps join: y_n at theta = 0, the last stage at theta = 1.
    if (theta == 0.0 || theta == 1.0) {
      for (int i = 0; i < s; ++i) EXPECT_NEAR(d[i], theta == 1.0 && i == s - 1 ? 1.0 : 0.0, 1e-13);
    }
  }
}

template <class Tableau>
class Collocated : public testing::Test {};
using CollocationTableaux =
    testing::Types<RadauIIA1, RadauIIA3, RadauIIA5, RadauIIA9, RadauIIA13, LobattoIIIC2, LobattoIIIC4, LobattoIIIC6>;
TYPED_TEST_SUITE(Collocated, CollocationTableaux);

TYPED_TEST(Collocated, IsLStableOfItsOrder) {
  expect_L_stable_of_order<TypeParam>();
}

TYPED_TEST(Collocated, TheTransformationDiagonalisesTheInverse) {
  constexpr int s = TypeParam::stages;
  const auto inverse = collocation::inverse_of_A<TypeParam>();
  double expected[s][s] = {};
  if constexpr (s % 2 == 1) expected[0][0] = TypeParam::gamma;
  if constexpr (s > 1) {
    for (int pair = 0; pair < s / 2; ++pair) {
      const int k = s % 2 + 2 * pair;
      expected[k][k] = expected[k + 1][k + 1] = TypeParam::alpha[pair];
      expected[k][k + 1] = -TypeParam::beta[pair];
      expected[k + 1][k] = TypeParam::beta[pair];
    }
  }
  for (int i = 0; i < s; ++i) {
    for (int j = 0; j < s; ++j) {
      double sum = 0.0;
      double size = 1.0;
      for (int k = 0; k < s; ++k) {
        for (int l = 0; l < s; ++l) {
          const double term = TypeParam::T_inverse[i][k] * inverse.at[k][l] * TypeParam::T[l][j];
          sum += term;
          size += std::abs(term);
        }
      }
      // Rounding of the terms, which cancel.
      EXPECT_NEAR(sum, expected[i][j], 1e-14 * size) << i << ' ' << j;
    }
  }
}

/// The coefficients alpha, Gamma and b of a Rosenbrock method from its transformed ones. Hairer & Wanner II, section
/// IV.7: Gamma = (1/gamma - C)^-1, alpha = a Gamma, b = m Gamma.
template <class Tableau>
struct Untransformed {
  static constexpr int s = Tableau::stages;
  collocation::SquareMatrix<s> gamma;
  collocation::SquareMatrix<s> alpha;
  std::vector<double> b = std::vector<double>(s, 0.0);

  Untransformed() {
    for (int i = 0; i < s; ++i) {
      for (int j = 0; j < s; ++j) gamma.at[i][j] = (i == j ? 1.0 / Tableau::gamma : 0.0) - Tableau::C[i][j];
    }
    gamma = collocation::inverse(gamma);
    for (std::size_t j = 0; j < s; ++j) {
      for (std::size_t k = 0; k < s; ++k) {
        b[j] += Tableau::m[k] * gamma.at[k][j];
        for (std::size_t i = 0; i < s; ++i) alpha.at[i][j] += Tableau::a[i][k] * gamma.at[k][j];
      }
    }
  }
};

template <int s>
std::vector<double> times(const collocation::SquareMatrix<s>& matrix, const std::vector<double>& x) {
  std::vector<double> result(s, 0.0);
  for (std::size_t i = 0; i < s; ++i) {
    for (std::size_t j = 0; j < s; ++j) result[i] += matrix.at[i][j] * x[j];
  }
  return result;
}

/// A rooted tree for Rosenbrock methods: branches go through alpha, but an only branch through alpha + Gamma. Hairer &
/// Wanner II, section IV.7.
struct RosenbrockTree {
  double density = 1.0;
  int branches = 0;
  std::vector<double> product;  ///< of the branches, through alpha
  std::vector<double> phi;
};

template <class Tableau>
double largest_rosenbrock_error(int order) {
  constexpr int s = Tableau::stages;
  const Untransformed<Tableau> method;
  const std::vector<double> ones(s, 1.0);
  std::vector<std::vector<RosenbrockTree>> trees(static_cast<std::size_t>(order) + 1);
  trees[1] = {{1.0, 0, ones, ones}};
  for (std::size_t size = 2; size < trees.size(); ++size) {
    for (std::size_t left = 1; left < size; ++left) {
      for (const RosenbrockTree& branch : trees[size - left]) {
        const auto by_alpha = times(method.alpha, branch.phi);
        const auto by_gamma = times(method.gamma, branch.phi);
        for (const RosenbrockTree& root : trees[left]) {
          RosenbrockTree tree = root;
          tree.density *= branch.density * static_cast<double>(size) / static_cast<double>(left);
          ++tree.branches;
          for (std::size_t i = 0; i < s; ++i) {
            tree.product[i] *= by_alpha[i];
            tree.phi[i] = tree.branches == 1 ? by_alpha[i] + by_gamma[i] : tree.product[i];
          }
          trees[size].push_back(tree);
        }
      }
    }
  }
  double largest = 0.0;
  for (const auto& of_size : trees) {
    for (const RosenbrockTree& tree : of_size) {
      double sum = 0.0;
      for (std::size_t i = 0; i < s; ++i) sum += method.b[i] * tree.phi[i];
      largest = std::max(largest, std::abs(sum - 1.0 / tree.density));
    }
  }
  return largest;
}

template <class Tableau>
class Rosenbrocks : public testing::Test {};
using RosenbrockTableaux = testing::Types<Rodas3PTableau, Rodas4Tableau, Rodas5PTableau>;
TYPED_TEST_SUITE(Rosenbrocks, RosenbrockTableaux);

TYPED_TEST(Rosenbrocks, HasItsOrderAndDampsInfinitelyStiffParts) {
  constexpr int s = TypeParam::stages;
  // Published to 16 digits, with coefficients up to 150 that cancel.
  EXPECT_LT(largest_rosenbrock_error<TypeParam>(TypeParam::order), 5e-14);
  EXPECT_GT(largest_rosenbrock_error<TypeParam>(TypeParam::order + 1), 1e-5);
  const Untransformed<TypeParam> method;
  const std::vector<double> ones(s, 1.0);
  const auto c = times(method.alpha, ones);
  const auto d = times(method.gamma, ones);
  collocation::SquareMatrix<s> sum;
  for (int i = 0; i < s; ++i) {
    EXPECT_NEAR(c[static_cast<std::size_t>(i)], TypeParam::c[i], 1e-14);
    EXPECT_NEAR(d[static_cast<std::size_t>(i)], TypeParam::d[i], 2e-14);
    for (int j = 0; j < s; ++j) sum.at[i][j] = method.alpha.at[i][j] + method.gamma.at[i][j];
  }
  // R(infinity) = 1 - b^T (alpha + Gamma)^-1 1
  const auto solved = times(collocation::inverse(sum), ones);
  double at_infinity = 1.0;
  for (std::size_t i = 0; i < s; ++i) at_infinity -= method.b[i] * solved[i];
  EXPECT_NEAR(at_infinity, 0.0, 1e-12);
}

template <class Tableau>
class Explicit : public testing::Test {};
using ExplicitTableaux = testing::Types<Rk4Tableau, Dopri54Tableau>;
TYPED_TEST_SUITE(Explicit, ExplicitTableaux);

TYPED_TEST(Explicit, MeetsTheConditionsOfItsOrders) {
  constexpr int s = TypeParam::stages;
  EXPECT_LT(largest_condition_error<TypeParam>(TypeParam::A[s - 1], TypeParam::order), 1e-14);
  EXPECT_GT(largest_condition_error<TypeParam>(TypeParam::A[s - 1], TypeParam::order + 1), 1e-4);
  EXPECT_LT(largest_condition_error<TypeParam>(TypeParam::b_embedded, TypeParam::error_order - 1), 1e-14);
  EXPECT_GT(largest_condition_error<TypeParam>(TypeParam::b_embedded, TypeParam::error_order), 1e-4);
  const auto row_sums = times_A<TypeParam>(std::vector<double>(s, 1.0));
  for (std::size_t i = 0; i < s; ++i) EXPECT_NEAR(row_sums[i], TypeParam::c[i], 1e-14);
}

TYPED_TEST(Explicit, HasDenseOutputOfItsDegree) {
  constexpr int degree = TypeParam::dense_degree;
  const auto all = trees<TypeParam>(degree);
  for (int step = 0; step <= 4; ++step) {
    const double theta = 0.25 * step;
    std::vector<double> b(TypeParam::stages, 0.0);
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (int k = degree - 1; k >= 0; --k) b[i] = (b[i] + TypeParam::dense[i][k]) * theta;
    }
    for (std::size_t size = 1; size < all.size(); ++size) {
      for (const Tree& tree : all[size]) {
        double sum = 0.0;
        for (std::size_t i = 0; i < b.size(); ++i) sum += b[i] * tree.phi[i];
        EXPECT_NEAR(sum, std::pow(theta, static_cast<double>(size)) / tree.density, 1e-14) << theta;
      }
    }
  }
}

}  // namespace
}  // namespace manyfold
