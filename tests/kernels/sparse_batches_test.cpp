// Factors of the sparse matrices of many instances, whose numbers are interleaved: against the matrices, against those
// of an instance that has its memory for itself, and where fixed pivots are bad.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/algebra/factors.hpp"

namespace manyfold {
namespace {

/// A band and far corners.
template <int size>
struct Alone {
  static constexpr int n = size;
  static constexpr Pattern<n> band() {
    Pattern<n> pattern;
    for (int i = 0; i < n; ++i) {
      for (int j = i < 2 ? 0 : i - 2; j < n && j <= i + 2; ++j) pattern.insert(i, j);
    }
    pattern.insert(0, n - 1);
    pattern.insert(n - 1, 0);
    return pattern;
  }
  static constexpr Pattern<n> matrix = band();
  static constexpr Pattern<n> preferred = {};
};

template <int size>
struct Batched : Alone<size> {
  static constexpr bool batched = true;
};

template <int size>
struct InSinglePrecision : Batched<size> {
  static constexpr bool single_precision_factors = true;
};

double make(double re, double, double) {
  return re;
}
Complex<double> make(double re, double im, const Complex<double>&) {
  return {re, im};
}

/// Entries and right-hand side of one instance.
template <class Number, int n>
struct Problem {
  static constexpr auto entries = entries_of<Alone<n>::matrix.size()>(Alone<n>::matrix);
  std::vector<Number> a;
  Number b[n];

  /// Random but for the diagonal, which is `diagonal` times a number near one.
  explicit Problem(unsigned seed, double diagonal = 8.0) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (int k = 0; k < entries.size; ++k) {
      const bool on_diagonal = entries.row[k] == entries.column[k];
      const double re = on_diagonal ? diagonal * (1.0 + 0.1 * uniform(random)) : uniform(random);
      a.push_back(make(re, (on_diagonal ? 0.1 * diagonal : 1.0) * uniform(random), Number(0.0)));
    }
    for (Number& b_i : b) b_i = make(uniform(random), uniform(random), Number(0.0));
  }
  Number entry(int k) const { return a[static_cast<std::size_t>(k)]; }

  void expect_solved(const Number (&x)[n], double tolerance) const {
    Number r[n];
    double size = 1.0;
    for (int i = 0; i < n; ++i) {
      r[i] = -b[i];
      size = std::max(size, magnitude(x[i]));
    }
    for (int k = 0; k < entries.size; ++k) r[entries.row[k]] = r[entries.row[k]] + entry(k) * x[entries.column[k]];
    for (int i = 0; i < n; ++i) EXPECT_LE(magnitude(r[i]), tolerance * size) << "row " << i;
  }
};

/// The instances of a batch.
template <class Number, class Structure>
class Batch {
 public:
  static constexpr int n = Structure::n;
  using Factorisation = Factors<Number, Structure>;

  explicit Batch(int slots)
      : workspaces_(static_cast<std::size_t>(slots)),
        numbers_(static_cast<std::size_t>(slots) * Factorisation::Workspace::values_size / sizeof(double) + 1) {
    for (int slot = 0; slot < slots; ++slot) at(slot).use(reinterpret_cast<char*>(numbers_.data()), slots, slot);
  }
  typename Factorisation::Workspace& at(int slot) { return workspaces_[static_cast<std::size_t>(slot)]; }
  bool singular(int slot) { return instance(slot).singular(); }

  void factor(int slot, const Problem<Number, n>& problem) {
    at(slot).factor([&](int k) { return problem.entry(k); });
  }
  void put(int slot, const Problem<Number, n>& problem) { instance(slot).put(problem.b); }
  void get(int slot, Number (&x)[n]) { instance(slot).get(x); }

 private:
  /// As the instance sees its factors.
  Factorisation instance(int slot) {
    Factorisation factors;
    factors.use(at(slot));
    return factors;
  }
  std::vector<typename Factorisation::Workspace> workspaces_;
  std::vector<double> numbers_;
};

template <class Number>
class SparseBatches : public testing::Test {};
using Numbers = testing::Types<double, Complex<double>>;
TYPED_TEST_SUITE(SparseBatches, Numbers);

TYPED_TEST(SparseBatches, SolveForEveryInstanceAsItDoesAlone) {
  constexpr int n = 80;
  constexpr int slots = 5;
  Batch<TypeParam, Batched<n>> batch(slots);
  std::vector<Problem<TypeParam, n>> problems;
  for (unsigned slot = 0; slot < slots; ++slot) problems.emplace_back(slot);
  // What one does comes between what another one does.
  for (int slot = 0; slot < slots; ++slot) batch.factor(slot, problems[static_cast<std::size_t>(slot)]);
  for (int slot = 0; slot < slots; ++slot) batch.put(slot, problems[static_cast<std::size_t>(slot)]);
  for (int slot = slots - 1; slot >= 0; --slot) batch.at(slot).solve();
  for (int slot = 0; slot < slots; ++slot) {
    const auto& problem = problems[static_cast<std::size_t>(slot)];
    ASSERT_FALSE(batch.singular(slot));
    TypeParam x[n];
    batch.get(slot, x);
    problem.expect_solved(x, 1e-13);

    Factors<TypeParam, Alone<n>> alone;
    typename Factors<TypeParam, Alone<n>>::Workspace workspace;
    alone.use(workspace);
    ASSERT_TRUE(alone.template factor<false>(true, [&](int k) { return problem.entry(k); }));
    TypeParam y[n];
    std::memcpy(&y, &problem.b, sizeof(y));
    alone.solve(y);
    EXPECT_EQ(std::memcmp(&x, &y, sizeof(x)), 0) << "instance " << slot;
  }
}

TYPED_TEST(SparseBatches, ExchangeRowsForAnInstanceWithBadPivotsAndLeaveTheOthersAlone) {
  constexpr int n = 80;
  constexpr int slots = 3;
  std::vector<std::vector<TypeParam>> healthy;
  for (const double diagonal : {8.0, 1e-14}) {
    Batch<TypeParam, Batched<n>> batch(slots);
    for (int slot = 0; slot < slots; ++slot) {
      const Problem<TypeParam, n> problem(static_cast<unsigned>(slot), slot == 1 ? diagonal : 8.0);
      batch.factor(slot, problem);
      batch.put(slot, problem);
      batch.at(slot).solve();
      EXPECT_FALSE(batch.singular(slot));
      EXPECT_EQ(batch.at(slot).factors.exchanged(), slot == 1 && diagonal < 1.0);
      TypeParam x[n];
      batch.get(slot, x);
      problem.expect_solved(x, 1e-11);
      if (slot != 1) healthy.emplace_back(x, x + n);
    }
  }
  ASSERT_EQ(healthy.size(), 4U);
  for (const std::size_t slot : {0U, 1U}) {
    EXPECT_EQ(std::memcmp(healthy[slot].data(), healthy[slot + 2].data(), n * sizeof(TypeParam)), 0);
  }
}

TYPED_TEST(SparseBatches, TakeBadPivotsOfLargeMatricesForSingularOnes) {
  constexpr int n = 120;
  static_assert(n > Factors<TypeParam, Alone<n>>::largest_exchanged);
  Batch<TypeParam, Batched<n>> batch(2);
  batch.factor(0, Problem<TypeParam, n>(0));
  batch.factor(1, Problem<TypeParam, n>(1, 1e-14));
  EXPECT_FALSE(batch.singular(0));
  EXPECT_TRUE(batch.singular(1));
  batch.factor(1, Problem<TypeParam, n>(1));
  EXPECT_FALSE(batch.singular(1)) << "once it has another matrix";
}

TYPED_TEST(SparseBatches, KeepFactorsInSinglePrecisionWhereAskedTo) {
  constexpr int n = 80;
  using Single = Batch<TypeParam, InSinglePrecision<n>>;
  EXPECT_EQ(2 * Single::Factorisation::Workspace::values_size,
            (Factors<TypeParam, Batched<n>>::Workspace::values_size));
  Single batch(2);
  for (const int slot : {0, 1}) {
    // The second one with row exchanges.
    const Problem<TypeParam, n> problem(static_cast<unsigned>(slot), slot == 0 ? 8.0 : 1e-14);
    batch.factor(slot, problem);
    batch.put(slot, problem);
    batch.at(slot).solve();
    ASSERT_FALSE(batch.singular(slot));
    EXPECT_EQ(batch.at(slot).factors.exchanged(), slot == 1);
    TypeParam x[n];
    batch.get(slot, x);
    // Two digits more than single precision has left after a band of this size.
    problem.expect_solved(x, slot == 0 ? 1e-6 : 1e-4);
  }
}

}  // namespace
}  // namespace manyfold
