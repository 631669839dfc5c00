// LU factorisations per lane: against the matrix they factorise, where fixed pivots are good and where they are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/algebra/factors.hpp"
#include "kernels/lane/pack.hpp"
#include "kernels/model/system.hpp"
#include "problems/medical_akzo_nobel/medical_akzo_nobel.hpp"

namespace manyfold {
namespace {

/// A 6 x 6 pattern with a zero on the diagonal, as circuits have: arrow, band and a far corner.
constexpr Pattern<6> arrow() {
  Pattern<6> pattern;
  for (int i = 0; i < 6; ++i) {
    if (i != 2) pattern.insert(i, i);
    pattern.insert(i, 5);
    pattern.insert(5, i);
  }
  pattern.insert(2, 1);
  pattern.insert(1, 2);
  pattern.insert(0, 3);
  return pattern;
}

struct Arrow {
  static constexpr int n = 6;
  static constexpr Pattern<n> matrix = arrow();
  static constexpr Pattern<n> preferred = {};
};

struct Full {
  static constexpr int n = 4;
  static constexpr Pattern<n> matrix = Pattern<n>::dense();
  static constexpr Pattern<n> preferred = {};
};

/// A row without entries: no pivots exist.
constexpr Pattern<3> deficient_pattern() {
  Pattern<3> pattern;
  for (int j = 0; j < 3; ++j) {
    pattern.insert(0, j);
    pattern.insert(1, j);
  }
  return pattern;
}

struct Deficient {
  static constexpr int n = 3;
  static constexpr Pattern<n> matrix = deficient_pattern();
  static constexpr Pattern<n> preferred = {};
};

/// A large matrix: a band and far corners.
template <int n>
constexpr Pattern<n> band_pattern() {
  Pattern<n> pattern;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 2); j <= std::min(n - 1, i + 2); ++j) pattern.insert(i, j);
  }
  pattern.insert(0, n - 1);
  pattern.insert(n - 1, 0);
  return pattern;
}

struct Large {
  static constexpr int n = 300;
  static constexpr Pattern<n> matrix = band_pattern<n>();
  static constexpr Pattern<n> preferred = {};
};

template <class Number>
struct Parts;
template <>
struct Parts<double> {
  static double make(double re, double) { return re; }
  static double size(double x) { return std::abs(x); }
};
template <>
struct Parts<Complex<double>> {
  static Complex<double> make(double re, double im) { return {re, im}; }
  static double size(const Complex<double>& x) { return std::abs(x.re) + std::abs(x.im); }
};

/// Factors with room for row exchanges.
template <class Factorisation>
struct WithWorkspace : Factorisation {
  WithWorkspace() { Factorisation::use(workspace); }
  typename Factorisation::Workspace workspace;
};

/// ||A x - b|| and ||A^T x - b|| for random entries and right-hand side.
template <class Number, class Structure>
void expect_solves(double scale_of_diagonal) {
  constexpr int n = Structure::n;
  constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  unsigned state = 12345;
  const auto random = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<double>(state >> 8) / 8388608.0 - 1.0;
  };
  for (int trial = 0; trial < 50; ++trial) {
    Number a[entries.size];
    Number b[n];
    Number x[n];
    Number z[n];
    for (int k = 0; k < entries.size; ++k) {
      a[k] = Parts<Number>::make(random(), random());
      if (entries.row[k] == entries.column[k]) a[k] = a[k] * Number(scale_of_diagonal);
    }
    for (int i = 0; i < n; ++i) x[i] = z[i] = b[i] = Parts<Number>::make(random(), random());
    WithWorkspace<Factors<Number, Structure>> factors;
    ASSERT_TRUE(factors.template factor<false>(true, [&](int k) { return a[k]; }));
    factors.solve(x);
    factors.solve_transposed(z);
    Number r[n];
    Number s[n];
    double size = 1.0;
    for (int i = 0; i < n; ++i) {
      r[i] = s[i] = -b[i];
      size = std::max({size, Parts<Number>::size(x[i]), Parts<Number>::size(z[i])});
    }
    for (int k = 0; k < entries.size; ++k) {
      r[entries.row[k]] = r[entries.row[k]] + a[k] * x[entries.column[k]];
      s[entries.column[k]] = s[entries.column[k]] + a[k] * z[entries.row[k]];
    }
    // Fixed pivots may lose digits up to the growth limit; exchanged ones keep all but a few.
    const double limit = any(factors.exchanged()) ? 1e-12 : 1e-7;
    for (int i = 0; i < n; ++i) {
      EXPECT_LE(Parts<Number>::size(r[i]), limit * size);
      EXPECT_LE(Parts<Number>::size(s[i]), limit * size) << "transposed";
    }
  }
}

/// By its definition, a sum over all permutations.
template <int n>
double determinant(const double (&matrix)[n][n]) {
  int order[n];
  for (int i = 0; i < n; ++i) order[i] = i;
  double sum = 0.0;
  do {
    double product = 1.0;
    for (int i = 0; i < n; ++i) {
      product *= matrix[i][order[i]];
      for (int j = i + 1; j < n; ++j) product *= order[i] > order[j] ? -1.0 : 1.0;
    }
    sum += product;
  } while (std::next_permutation(order, order + n));
  return sum;
}

template <class Structure>
void expect_determinant(double scale_of_diagonal, bool exchanged) {
  constexpr int n = Structure::n;
  constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  int exchanges = 0;
  for (int trial = 0; trial < 50; ++trial) {
    double matrix[n][n] = {};
    for (int k = 0; k < entries.size; ++k) {
      const double scale = entries.row[k] == entries.column[k] ? scale_of_diagonal : 1.0;
      matrix[entries.row[k]][entries.column[k]] = scale * uniform(generator);
    }
    WithWorkspace<Factors<double, Structure>> factors;
    ASSERT_TRUE(factors.template factor<false>(true, [&](int k) { return matrix[entries.row[k]][entries.column[k]]; }));
    exchanges += any(factors.exchanged()) ? 1 : 0;
    EXPECT_EQ(factors.sign_of_determinant(), determinant(matrix) < 0.0 ? -1.0 : 1.0) << trial;
    // Small pivots on a fixed diagonal cost digits.
    EXPECT_NEAR(factors.reciprocal_of_determinant() * determinant(matrix), 1.0, 1e-8) << trial;
  }
  EXPECT_EQ(exchanges > 25, exchanged);
}

TEST(Factors, TellTheDeterminant) {
  expect_determinant<Arrow>(1.0, false);
  expect_determinant<Full>(1.0, false);
  expect_determinant<Full>(1e-14, true);
}

TEST(Factors, SolveRealAndComplexSystemsOnAPattern) {
  expect_solves<double, Arrow>(1.0);
  expect_solves<Complex<double>, Arrow>(1.0);
  expect_solves<double, Full>(1.0);
  expect_solves<Complex<double>, Full>(1.0);
}

TEST(Factors, ExchangeRowsWhereAFixedPivotIsTiny) {
  // Diagonals of 1e-14 make bad pivots: without exchanges all digits would be lost.
  expect_solves<double, Full>(1e-14);
  expect_solves<Complex<double>, Full>(1e-14);
  expect_solves<double, Full>(0.0);
}

/// Each of two pivots is bad by a factor that is still borne. Rows: {{1e-7, 0, 1, 0}, {1, 1e-7, 0, 1}, {0, 1, 1, 1},
/// {1, 1, 0, 3}}.
constexpr Pattern<4> pair_of_pivots() {
  Pattern<4> pattern;
  for (const int entry : {0, 2, 4, 5, 7, 9, 10, 11, 12, 13, 15}) pattern.insert(entry / 4, entry % 4);
  return pattern;
}
constexpr Pattern<4> diagonal_of_four() {
  Pattern<4> pattern;
  for (int i = 0; i < 4; ++i) pattern.insert(i, i);
  return pattern;
}
struct Pair {
  static constexpr int n = 4;
  static constexpr Pattern<n> matrix = pair_of_pivots();
  static constexpr Pattern<n> preferred = diagonal_of_four();
};

// Together two such pivots leave two digits of sixteen.
TEST(Factors, ExchangeRowsWherePivotsAreBadTogether) {
  const double matrix[4][4] = {
      {1e-7, 0.0, 1.0, 0.0}, {1.0, 1e-7, 0.0, 1.0}, {0.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 0.0, 3.0}};
  constexpr auto entries = entries_of<Pair::matrix.size()>(Pair::matrix);
  WithWorkspace<Factors<double, Pair>> factors;
  ASSERT_TRUE(factors.factor<false>(true, [&](int k) { return matrix[entries.row[k]][entries.column[k]]; }));
  double x[4] = {};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) x[i] += matrix[i][j] * (j + 1);
  }
  factors.solve(x);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(x[i], i + 1, 1e-7) << i;
}

TEST(Factors, SolveLargeSystemsFromTablesAlone) {
  static_assert(!Factors<double, Large>::exchanges);
  expect_solves<double, Large>(8.0);
  expect_solves<Complex<double>, Large>(8.0);
}

TEST(Factors, ReportBadPivotsOfLargeSystemsAsSingular) {
  constexpr auto entries = entries_of<Large::matrix.size()>(Large::matrix);
  Factors<Pack, Large> factors;
  // Off the diagonal ones; on it a number that is tiny in the first lane.
  const PackMask good = factors.factor<false>(PackMask(true), [&](int k) {
    if (entries.row[k] != entries.column[k]) return Pack(1.0);
    Pack diagonal(8.0);
    LaneTraits<Pack>::set(diagonal, 0, 1e-14);
    return diagonal;
  });
  for (int lane = 0; lane < Pack::width; ++lane) EXPECT_EQ(LaneTraits<Pack>::test(good, lane), lane > 0) << lane;
}

TEST(Entries, FindTheirPlacesWithAndWithoutATable) {
  const auto expect = []<int n>(const Pattern<n>& pattern, const auto& entries) {
    int found = 0;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const int k = entries.slot(i, j);
        ASSERT_EQ(k >= 0, pattern.contains(i, j)) << i << ' ' << j;
        if (k < 0) continue;
        EXPECT_EQ(k, found++) << "in row order";
        EXPECT_EQ(entries.row[k], i);
        EXPECT_EQ(entries.column[k], j);
      }
    }
    EXPECT_EQ(found, entries.size);
  };
  constexpr auto small = arrow();
  expect(small, entries_of<small.size()>(small));
  expect(Large::matrix, entries_of<Large::matrix.size()>(Large::matrix));
}

TEST(Factors, ReportSingularMatrices) {
  WithWorkspace<Factors<double, Full>> factors;
  EXPECT_FALSE(factors.factor<false>(true, [](int) { return 1.0; })) << "all entries one: rank 1";
  // Its reciprocal would make every correction zero, as if Newton's method had converged.
  const auto infinite = [](int k) { return k == 0 ? std::numeric_limits<double>::infinity() : 1.0 / (1.0 + k * k); };
  EXPECT_FALSE(factors.factor<false>(true, infinite)) << "an infinite entry";
  WithWorkspace<Factors<double, Deficient>> deficient;
  EXPECT_FALSE(deficient.factor<false>(true, [](int k) { return 1.0 + k * k; })) << "no entries in a row";
}

// A rate constant of 1e18 among the unknowns: its column is tiny in every row.
TEST(Factors, SolveWhereAColumnIsSmallAsAWhole) {
  constexpr int n = Full::n;
  const auto value = [](int k) {
    const int i = k / n;
    const int j = k % n;
    return (j == 2 ? 1e-18 : 1.0) * (i == j ? 1e-15 : 1.0 / (1 + i + 2 * j));
  };
  WithWorkspace<Factors<double, Full>> factors;
  ASSERT_TRUE(factors.factor<false>(true, value));
  EXPECT_TRUE(factors.exchanged());
  const double x[n] = {1.0, 2.0, 3e18, 4.0};
  double b[n] = {};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) b[i] += value(i * n + j) * x[j];
  }
  factors.solve(b);
  for (int i = 0; i < n; ++i) EXPECT_NEAR(b[i] / x[i], 1.0, 1e-12) << "a condition number of some hundred";
}

TEST(Factors, EachLaneOfAPackHasPivotsOfItsOwn) {
  // Odd lanes get a matrix that needs exchanges, even lanes one that does not; each must equal its scalar solution.
  constexpr int n = Full::n;
  const auto value = [](int lane, int k) {
    const int i = k / n;
    const int j = k % n;
    if (i == j) return lane % 2 == 1 ? 1e-15 : 4.0 + lane;
    return 1.0 / (1 + i + 2 * j) + 0.01 * lane;
  };
  const auto entry = [&](int k) {
    Pack result(0.0);
    for (int lane = 0; lane < Pack::width; ++lane) LaneTraits<Pack>::set(result, lane, value(lane, k));
    return result;
  };
  WithWorkspace<Factors<Pack, Full>> factors;
  EXPECT_TRUE(all(factors.factor<false>(PackMask(true), entry)));
  Pack b[n] = {Pack(1.0), Pack(2.0), Pack(3.0), Pack(4.0)};
  factors.solve(b);
  for (int lane = 0; lane < Pack::width; ++lane) {
    WithWorkspace<Factors<double, Full>> alone;
    ASSERT_TRUE(alone.factor<false>(true, [&](int k) { return value(lane, k); }));
    double x[n] = {1.0, 2.0, 3.0, 4.0};
    alone.solve(x);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(LaneTraits<Pack>::get(b[i], lane), x[i], 1e-12 * (1.0 + std::abs(x[i])));
    EXPECT_EQ(LaneTraits<Pack>::test(factors.exchanged(), lane), lane % 2 == 1) << lane;
  }
  // New factors in one lane leave the others' as they were.
  const PackMask first = LaneTraits<Pack>::only(0);
  factors.factor<true>(first, [&](int k) { return Pack(value(5, k)) + Pack(k % (n + 1) == 0 ? 9.0 : 0.0); });
  Pack again[n] = {Pack(1.0), Pack(2.0), Pack(3.0), Pack(4.0)};
  factors.solve(again);
  for (int i = 0; i < n; ++i) {
    EXPECT_NE(LaneTraits<Pack>::get(again[i], 0), LaneTraits<Pack>::get(b[i], 0));
    for (int lane = 1; lane < Pack::width; ++lane) {
      EXPECT_EQ(LaneTraits<Pack>::get(again[i], lane), LaneTraits<Pack>::get(b[i], lane));
    }
  }
}

TEST(Ordering, KeepsATridiagonalMatrixFreeOfFill) {
  constexpr int n = 30;
  Pattern<n> pattern;
  for (int i = 0; i < n; ++i) {
    pattern.insert(i, i);
    if (i > 0) pattern.insert(i, i - 1);
    if (i + 1 < n) pattern.insert(i, i + 1);
  }
  const auto ordering = order(pattern, {});
  EXPECT_TRUE(ordering.nonsingular);
  EXPECT_EQ(ordering.filled.size(), 3 * n - 2);
}

// The pattern of a reaction with a substrate that does not move: these variables go first, and what is left is
// tridiagonal. At compile time, within the default limits of compilers.
TEST(Ordering, KeepsALargeReactionDiffusionMatrixFreeOfFill) {
  using Akzo = System<MedicalAkzoNobel<200>>;
  constexpr auto pattern = Akzo::pattern_y | Akzo::pattern_dy;
  constexpr auto ordering = order(pattern, Akzo::pattern_dy);
  static_assert(ordering.nonsingular);
  EXPECT_EQ(ordering.filled.size(), pattern.size());
  EXPECT_EQ(pattern.size(), 3 * 200 - 3 + 3 * 200) << "u by its neighbours but for the last, u by v, v by u and v";
}

TEST(Ordering, GroupsTheColumnsOfATridiagonalMatrixByThree) {
  constexpr int n = 17;
  Pattern<n> pattern;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) pattern.insert(i, j);
  }
  EXPECT_EQ(group_columns(pattern).count, 3);
}

}  // namespace
}  // namespace manyfold
