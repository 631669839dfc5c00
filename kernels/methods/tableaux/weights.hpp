#pragma once
// Weights that are a row of a matrix already: no number is typed twice.

namespace manyfold {

template <int stages>
struct Weights {
  double at[stages] = {};
  constexpr double operator[](auto i) const { return at[i]; }
};

/// Row i of A: of a method whose embedded solution is a stage.
template <int i, int stages>
constexpr Weights<stages> row(const double (&A)[stages][stages]) {
  Weights<stages> result;
  for (int j = 0; j < stages; ++j) result.at[j] = A[i][j];
  return result;
}

}  // namespace manyfold
