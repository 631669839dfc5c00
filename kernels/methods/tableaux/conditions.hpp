#pragma once
// What coefficients must satisfy: order conditions, consistency of A and c, and damping at infinity. Where all methods
// are listed they are asserted, so that a tableau with a wrong digit does not compile. tests/numerics/tableau_test.cpp
// has what a compiler cannot do: all trees of high orders, and stability on the imaginary axis.
//
// Hairer, Norsett & Wanner I, section II.2 (trees), and Hairer & Wanner II, section IV.5 (simplifying assumptions).

namespace manyfold::conditions {

/// Rounding of twenty digits to doubles, and of the sums of what they are multiplied with.
inline constexpr double rounding = 1e-12;

constexpr bool close(double x, double y) {
  const double error = x < y ? y - x : x - y;
  return error <= rounding;
}

template <int s>
struct Vector {
  double at[s] = {};
};

template <int s>
constexpr Vector<s> operator*(const Vector<s>& x, const Vector<s>& y) {
  Vector<s> result;
  for (int i = 0; i < s; ++i) result.at[i] = x.at[i] * y.at[i];
  return result;
}

/// A x
template <class Tableau>
constexpr auto times(const Vector<Tableau::stages>& x) {
  Vector<Tableau::stages> result;
  for (int i = 0; i < Tableau::stages; ++i) {
    for (int j = 0; j < Tableau::stages; ++j) result.at[i] += Tableau::A[i][j] * x.at[j];
  }
  return result;
}

/// c_i = sum_j A_ij
template <class Tableau>
constexpr bool rows_add_up() {
  for (int i = 0; i < Tableau::stages; ++i) {
    double sum = 0.0;
    for (int j = 0; j < Tableau::stages; ++j) sum += Tableau::A[i][j];
    if (!close(sum, Tableau::c[i])) return false;
  }
  return true;
}

/// The conditions of all trees with up to five vertices for weights b, up to `order`. Table II.2.2.
template <class Tableau>
constexpr bool has_order(int order, const auto& b) {
  constexpr int s = Tableau::stages;
  Vector<s> one;
  Vector<s> c;
  for (int i = 0; i < s; ++i) {
    one.at[i] = 1.0;
    c.at[i] = Tableau::c[i];
  }
  const auto A = [](const Vector<s>& x) { return times<Tableau>(x); };
  const auto holds = [&](const Vector<s>& tree, double density) {
    double sum = 0.0;
    for (int i = 0; i < s; ++i) sum += b[i] * tree.at[i];
    return close(sum, 1.0 / density);
  };
  const auto cc = c * c;
  if (order >= 1 && !holds(one, 1.0)) return false;
  if (order >= 2 && !holds(c, 2.0)) return false;
  if (order >= 3 && !(holds(cc, 3.0) && holds(A(c), 6.0))) return false;
  if (order >= 4 && !(holds(cc * c, 4.0) && holds(c * A(c), 8.0) && holds(A(cc), 12.0) && holds(A(A(c)), 24.0))) {
    return false;
  }
  return order < 5 || (holds(cc * cc, 5.0) && holds(cc * A(c), 10.0) && holds(c * A(cc), 15.0) &&
                       holds(c * A(A(c)), 30.0) && holds(A(c) * A(c), 20.0) && holds(A(cc * c), 20.0) &&
                       holds(A(c * A(c)), 40.0) && holds(A(A(cc)), 60.0) && holds(A(A(A(c))), 120.0));
}

/// B(order) for the last row of A, and C(stage_order): sum_j A_ij c_j^(k-1) = c_i^k / k. Section IV.5, (5.7).
template <class Tableau>
constexpr bool collocates(int order, int stage_order) {
  constexpr int s = Tableau::stages;
  for (int i = 0; i < s; ++i) {
    for (int k = 1; k <= (i == s - 1 ? order : stage_order); ++k) {
      double sum = 0.0;
      double end = 1.0;
      for (int j = 0; j < s; ++j) {
        double power = Tableau::A[i][j];
        for (int m = 1; m < k; ++m) power *= Tableau::c[j];
        sum += power;
      }
      for (int m = 0; m < k; ++m) end *= Tableau::c[i];
      if (!close(sum, end / k)) return false;
    }
  }
  return true;
}

/// T^-1 T = I
template <class Tableau>
constexpr bool transformation_inverts() {
  constexpr int s = Tableau::stages;
  for (int i = 0; i < s; ++i) {
    for (int j = 0; j < s; ++j) {
      double sum = 0.0;
      for (int k = 0; k < s; ++k) sum += Tableau::T_inverse[i][k] * Tableau::T[k][j];
      // The entries of T^-1 grow with the number of stages.
      const double error = sum - (i == j ? 1.0 : 0.0);
      if (error > 100.0 * rounding || error < -100.0 * rounding) return false;
    }
  }
  return true;
}

/// The last stage is the solution, and one diagonal element serves all implicit stages: R(infinity) = 0.
template <class Tableau>
constexpr bool is_diagonally_implicit() {
  for (int i = 0; i < Tableau::stages; ++i) {
    const bool is_explicit = i == 0 && Tableau::A[0][0] == 0.0;
    if (!is_explicit && Tableau::A[i][i] != Tableau::gamma) return false;
    for (int j = i + 1; j < Tableau::stages; ++j) {
      if (Tableau::A[i][j] != 0.0) return false;
    }
  }
  return Tableau::c[Tableau::stages - 1] == 1.0;
}

/// Everything that holds for a tableau of its kind.
template <class Tableau>
constexpr bool hold() {
  if constexpr (requires { Tableau::T_inverse; }) {
    constexpr int s = Tableau::stages;
    // Radau IIA: order 2 s - 1 and stage order s; Lobatto IIIC, with c_1 = 0: 2 s - 2 and s - 1.
    constexpr bool lobatto = Tableau::c[0] == 0.0;
    static_assert(Tableau::order == 2 * s - (lobatto ? 2 : 1));
    return rows_add_up<Tableau>() && collocates<Tableau>(Tableau::order, lobatto ? s - 1 : s) &&
           transformation_inverts<Tableau>();
  } else if constexpr (requires {
                         Tableau::gamma;
                         Tableau::dense;
                       }) {
    constexpr int s = Tableau::stages;
    bool good = is_diagonally_implicit<Tableau>() && rows_add_up<Tableau>() &&
                has_order<Tableau>(Tableau::order, Tableau::A[s - 1]);
    if constexpr (requires { Tableau::b_embedded; }) {
      good = good && has_order<Tableau>(Tableau::error_order - 1, Tableau::b_embedded);
    }
    return good;
  } else if constexpr (requires {
                         Tableau::A;
                         Tableau::b_embedded;
                       }) {
    return rows_add_up<Tableau>() && has_order<Tableau>(Tableau::order, Tableau::A[Tableau::stages - 1]) &&
           has_order<Tableau>(Tableau::error_order - 1, Tableau::b_embedded);
  } else {
    return true;
  }
}

}  // namespace manyfold::conditions
