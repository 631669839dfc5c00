// What a team of threads does together, with threads that are truly concurrent: under tsan this also checks that no
// thread reads what another has yet to write.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/algebra/factors.hpp"
#include "tests/support/thread_team.hpp"

namespace manyfold {
namespace {

using test::ThreadTeam;

double real_or_complex(double re, double, double) {
  return re;
}
Complex<double> real_or_complex(double re, double im, Complex<double>) {
  return {re, im};
}
double size_of(double x) {
  return std::abs(x);
}
double size_of(const Complex<double>& x) {
  return std::abs(x.re) + std::abs(x.im);
}

/// The largest residual of A x = b and A^T x = b, for a matrix with diagonal entries `diagonal` times as large as the
/// others, solved twice each with one factorisation.
template <class Number, int n, int threads>
double largest_residual(unsigned seed, double diagonal) {
  using Team = ThreadTeam<threads>;
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Number a[n][n];
  Number b[2][n];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      a[i][j] = real_or_complex(uniform(engine), uniform(engine), Number(0.0)) * Number(i == j ? diagonal : 1.0);
    }
    for (auto& right : b) right[i] = real_or_complex(uniform(engine), uniform(engine), Number(0.0));
  }
  typename TeamLU<Number, n, Team>::Workspace shared;
  double largest[threads] = {};
  test::run_teams<threads>(1, [&](int, const Team& team) {
    TeamLU<Number, n, Team> lu;
    lu.use(shared, team);
    ASSERT_TRUE(lu.factor([&](int i, auto& row) {
      for (int j = 0; j < n; ++j) row[j] = a[i][j];
    }));
    for (const auto& right : b) {
      for (const bool transposed : {false, true}) {
        Number x[n];
        for (int i = 0; i < n; ++i) x[i] = right[i];
        transposed ? lu.solve_transposed(x) : lu.solve(x);
        // Every thread must have all of the solution.
        double scale = 1.0;
        for (int i = 0; i < n; ++i) scale = std::max(scale, size_of(x[i]));
        for (int i = 0; i < n; ++i) {
          Number r = -right[i];
          for (int j = 0; j < n; ++j) r = r + (transposed ? a[j][i] : a[i][j]) * x[j];
          largest[team.rank()] = std::max(largest[team.rank()], size_of(r) / scale);
        }
      }
    }
  });
  return *std::max_element(largest, largest + threads);
}

// Partial pivoting keeps residuals at rounding level: n epsilon times a growth that random matrices do not have.
constexpr double rounding = 1e-13;

TEST(TeamLU, SolvesRealAndComplexSystems) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    EXPECT_LE((largest_residual<double, 6, 2>(seed, 1.0)), rounding);
    EXPECT_LE((largest_residual<double, 17, 4>(seed, 1.0)), rounding);
    EXPECT_LE((largest_residual<Complex<double>, 17, 4>(seed, 1.0)), rounding);
    EXPECT_LE((largest_residual<double, 5, 8>(seed, 1.0)), rounding) << "more threads than rows";
  }
}

TEST(TeamLU, ExchangesRowsWherePivotsAreTiny) {
  EXPECT_LE((largest_residual<double, 9, 4>(3, 0.0)), rounding);
  EXPECT_LE((largest_residual<double, 9, 4>(3, 1e-15)), rounding);
  EXPECT_LE((largest_residual<Complex<double>, 9, 2>(3, 1e-15)), rounding);
}

TEST(TeamLU, TellsAllThreadsThatAMatrixIsSingular) {
  using Team = ThreadTeam<4>;
  constexpr int n = 7;
  typename TeamLU<double, n, Team>::Workspace shared;
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  bool good[4][4];
  test::run_teams<4>(1, [&](int, const Team& team) {
    TeamLU<double, n, Team> lu;
    lu.use(shared, team);
    const auto factor = [&](auto&& entry) {
      return lu.factor([&](int i, auto& row) {
        for (int j = 0; j < n; ++j) row[j] = entry(i, j);
      });
    };
    good[0][team.rank()] = factor([](int i, int j) { return 1.0 + i + j; });
    good[1][team.rank()] = factor([&](int, int) { return not_a_number; });
    good[2][team.rank()] = factor([](int i, int j) { return i == j ? 2.0 : 0.5 / (1 + i + j); });
    good[3][team.rank()] = factor([](int i, int j) { return (j == 3 ? 1e-20 : 1.0) * (i == j ? 2.0 : 0.5); });
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(good[0][rank]) << "rank 2";
    EXPECT_FALSE(good[1][rank]);
    EXPECT_TRUE(good[2][rank]);
    EXPECT_TRUE(good[3][rank]) << "a column that is small as a whole";
  }
}

struct Chain {
  static constexpr int n = 5;
  static constexpr Pattern<n> matrix = [] {
    Pattern<n> pattern;
    for (int i = 0; i < n; ++i) {
      pattern.insert(i, i);
      pattern.insert(i, (i + 1) % n);
    }
    return pattern;
  }();
  static constexpr Pattern<n> preferred = {};
  using Team = ThreadTeam<2>;
};

// A (1, ..., 1) and A^T (1, ..., 1) are the sums of the rows and of the columns.
TEST(FactorsOfATeam, SolveWithTheMatrixAndItsTranspose) {
  constexpr int n = Chain::n;
  Factors<double, Chain>::Workspace shared;
  double largest[2] = {};
  test::run_teams<2>(1, [&](int, const Chain::Team& team) {
    Factors<double, Chain> factors;
    factors.use(shared, team);
    // Row i has 1 + i on the diagonal and 10 beside it; entries are in the order of their columns.
    ASSERT_TRUE(factors.factor<false>(true, [](int k) {
      const int i = k / 2;
      return (k % 2 == 0) == (i < n - 1) ? 1.0 + i : 10.0;
    }));
    double x[n];
    double z[n];
    for (int i = 0; i < n; ++i) x[i] = z[i] = 11.0 + i;
    factors.solve(x);
    factors.solve_transposed(z);
    for (int i = 0; i < n; ++i) {
      largest[team.rank()] = std::max({largest[team.rank()], std::abs(x[i] - 1.0), std::abs(z[i] - 1.0)});
    }
  });
  EXPECT_LE(largest[0], 1e-14);
  EXPECT_LE(largest[1], 1e-14);
}

TEST(ThreadTeam, FindsTheLargestAndTheFirstOfEquals) {
  using Team = ThreadTeam<4>;
  double value[4];
  int index[4];
  test::run_teams<4>(1, [&](int, const Team& team) {
    value[team.rank()] = team.rank() == 2 ? std::nan("") : team.rank() == 0 ? 1.0 : 5.0;
    index[team.rank()] = 10 - team.rank();
    team.largest(value[team.rank()], index[team.rank()]);
  });
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == 2) continue;  // what is not a number stays with the thread that brought it
    EXPECT_EQ(value[rank], 5.0);
    EXPECT_EQ(index[rank], 7);
  }
}

}  // namespace
}  // namespace manyfold
