// What is done to matrices and right-hand sides before and after batched routines factorise and solve, with the
// routines of LAPACK written out in their place: against the matrices, and against what is singular.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <vector>

#include "kernels/algebra/batched_lu.hpp"

namespace manyfold {
namespace {

constexpr int n = 20;

template <class Number>
struct Library;
template <>
struct Library<double> {
  using type = double;
  static double make(double re, double) { return re; }
};
template <>
struct Library<Complex<double>> {
  using type = std::complex<double>;
  static Complex<double> make(double re, double im) { return {re, im}; }
};

/// xGETRF and two xTRSM.
template <class Number>
class Routines {
 public:
  using Value = typename Library<Number>::type;
  explicit Routines(BatchedLU<Number, n>& lu)
      : a_(reinterpret_cast<Value*>(lu.matrix)), b_(reinterpret_cast<Value*>(lu.solution)) {}

  std::vector<int> factorize() {
    std::vector<int> pivots(n);
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      for (int i = k + 1; i < n; ++i) {
        if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
      }
      pivots[static_cast<std::size_t>(k)] = pivot + 1;
      for (int j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
      for (int i = k + 1; i < n; ++i) {
        at(i, k) /= at(k, k);
        for (int j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
      }
    }
    return pivots;
  }
  void solve() {
    for (int k = 0; k < n; ++k) {
      for (int i = k + 1; i < n; ++i) b_[i] -= at(i, k) * b_[k];
    }
    for (int k = n - 1; k >= 0; --k) {
      b_[k] /= at(k, k);
      for (int i = 0; i < k; ++i) b_[i] -= at(i, k) * b_[k];
    }
  }

 private:
  Value& at(int i, int j) { return a_[j * n + i]; }
  Value* a_;
  Value* b_;
};

template <class Number>
struct System {
  Number matrix[n][n];
  std::unique_ptr<BatchedLU<Number, n>> lu = std::make_unique<BatchedLU<Number, n>>();

  /// Random entries, in rows whose sizes differ by many orders, as those of differential and algebraic equations do.
  explicit System(unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (auto& row : matrix) {
      const double size = std::pow(10.0, 20.0 * uniform(random));
      for (Number& entry : row) entry = Library<Number>::make(size * uniform(random), size * uniform(random));
    }
  }
  void factorize() {
    for (int i = 0; i < n; ++i) {
      lu->assemble_row(i, [&](auto&& write) {
        for (int j = 0; j < n; ++j) write(j, matrix[i][j]);
      });
    }
    lu->finish(Routines<Number>(*lu).factorize().data());
  }
};

template <class Number>
class Batched : public testing::Test {};
using Numbers = testing::Types<double, Complex<double>>;
TYPED_TEST_SUITE(Batched, Numbers);

TYPED_TEST(Batched, RowsOfAllSizesAreSolvedFor) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    System<TypeParam> system(seed);
    system.factorize();
    ASSERT_EQ(system.lu->singular, 0);
    TypeParam x[n];
    for (int i = 0; i < n; ++i) x[i] = Library<TypeParam>::make(1.0 + i, 0.5 * i);
    for (int i = 0; i < n; ++i) {
      system.lu->right[i] = Library<TypeParam>::make(0.0, 0.0);
      for (int j = 0; j < n; ++j) system.lu->right[i] = system.lu->right[i] + system.matrix[i][j] * x[j];
    }
    for (int i = n - 1; i >= 0; --i) system.lu->permute(i);
    Routines<TypeParam>(*system.lu).solve();
    // Scaled rows are well conditioned: random matrices of this size lose four digits or five.
    for (int i = 0; i < n; ++i) EXPECT_LE(magnitude(system.lu->solution[i] - x[i]), 1e-10 * n) << "seed " << seed;
  }
}

TYPED_TEST(Batched, WhatIsSingularToWorkingPrecisionIsFoundOut) {
  System<TypeParam> dependent(1);
  // A row that is the sum of two others but for rounding, and of another size.
  for (int j = 0; j < n; ++j) {
    dependent.matrix[7][j] = 1e-9 * ((1.0 / magnitude(dependent.matrix[2][0])) * dependent.matrix[2][j] +
                                     (1.0 / magnitude(dependent.matrix[5][0])) * dependent.matrix[5][j]);
  }
  dependent.factorize();
  EXPECT_EQ(dependent.lu->singular, 1);

  System<TypeParam> small_column(1);
  for (int i = 0; i < n; ++i) small_column.matrix[i][3] = 1e-20 * small_column.matrix[i][3];
  small_column.factorize();
  EXPECT_EQ(small_column.lu->singular, 0);

  System<TypeParam> empty(2);
  for (int j = 0; j < n; ++j) empty.matrix[3][j] = Library<TypeParam>::make(0.0, 0.0);
  empty.factorize();
  EXPECT_EQ(empty.lu->singular, 1);

  System<TypeParam> broken(3);
  broken.matrix[4][4] = Library<TypeParam>::make(std::nan(""), 0.0);
  broken.factorize();
  EXPECT_EQ(broken.lu->singular, 1);
}

}  // namespace
}  // namespace manyfold
