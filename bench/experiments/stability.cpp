// Stability functions of all methods, evaluated from the library's own coefficients on y' = lambda y, z = h lambda:
// |R(z)| on a grid and on the negative real axis, as JSON for docs/figures/draw.py.
#include <cmath>
#include <complex>
#include <iostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/methods/all.hpp"

namespace manyfold {
namespace {

using Complex64 = std::complex<double>;
using Json = nlohmann::json;

/// 1 + z b (I - z A)^-1 1, by elimination with row exchanges.
template <int s>
Complex64 runge_kutta(const double (&A)[s][s], const double* b, int stages, Complex64 z) {
  std::vector<std::vector<Complex64>> m(s, std::vector<Complex64>(s + 1, 1.0));
  for (int i = 0; i < s; ++i) {
    for (int j = 0; j < s; ++j) m[i][j] = (i == j ? 1.0 : 0.0) - z * A[i][j];
  }
  for (int k = 0; k < s; ++k) {
    int pivot = k;
    for (int i = k + 1; i < s; ++i) {
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    }
    std::swap(m[k], m[pivot]);
    for (int i = 0; i < s; ++i) {
      if (i == k) continue;
      const Complex64 factor = m[i][k] / m[k][k];
      for (int j = k; j <= s; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  Complex64 sum = 1.0;
  for (int i = 0; i < stages; ++i) sum += z * b[i] * m[i][s] / m[i][i];
  return sum;
}

/// The stages U_i: (1/gamma - z) U_i = z (1 + sum_j a_ij U_j) + sum_j C_ij U_j.
template <class Tableau>
Complex64 rosenbrock_function(Complex64 z) {
  Complex64 U[Tableau::stages];
  Complex64 end = 1.0;
  for (int i = 0; i < Tableau::stages; ++i) {
    Complex64 Y = 1.0;
    Complex64 sum = 0.0;
    for (int j = 0; j < i; ++j) {
      Y += Tableau::a[i][j] * U[j];
      sum += Tableau::C[i][j] * U[j];
    }
    U[i] = (z * Y + sum) / (1.0 / Tableau::gamma - z);
    end += Tableau::m[i] * U[i];
  }
  return end;
}

/// The largest root zeta of sum_(j <= k) (1 - 1/zeta)^j / j = z, by the iteration of Durand and Kerner.
double bdf_root(int k, Complex64 z) {
  // Times zeta^k: coefficients of zeta^(k-i).
  std::vector<Complex64> coefficient(static_cast<std::size_t>(k) + 1, 0.0);
  for (int j = 1; j <= k; ++j) {
    double binomial = 1.0;
    for (int i = 0; i <= j; ++i) {
      coefficient[static_cast<std::size_t>(i)] += (i % 2 == 0 ? binomial : -binomial) / j;
      binomial *= static_cast<double>(j - i) / (i + 1);
    }
  }
  coefficient[0] -= z;
  std::vector<Complex64> roots;
  for (int i = 0; i < k; ++i) roots.push_back(std::pow(Complex64(0.4, 0.9), i));
  for (int iteration = 0; iteration < 200; ++iteration) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Complex64 value = 0.0;
      for (const Complex64& c : coefficient) value = value * roots[i] + c;
      Complex64 product = coefficient[0];
      for (std::size_t j = 0; j < roots.size(); ++j) {
        if (j != i) product *= roots[i] - roots[j];
      }
      roots[i] -= value / product;
    }
  }
  double largest = 0.0;
  for (const Complex64& root : roots) largest = std::max(largest, std::abs(root));
  return largest;
}

/// A rectangle of the upper half plane.
struct Window {
  double left;
  double right;
  double top;
};

Json sample(const std::string& figure, const std::string& name, const Window& window, auto&& growth) {
  constexpr int columns = 161;
  constexpr int rows = 101;
  Json values = Json::array();
  for (int row = 0; row < rows; ++row) {
    Json line = Json::array();
    for (int column = 0; column < columns; ++column) {
      const double x = window.left + (window.right - window.left) * column / (columns - 1);
      line.push_back(std::log10(std::max(1e-9, double(growth(Complex64(x, window.top * row / (rows - 1)))))));
    }
    values.push_back(line);
  }
  Json axis = Json::array();
  Json damping = Json::array();
  for (int k = 0; k <= 120; ++k) {
    const double x = std::pow(10.0, -1.0 + 5.0 * k / 120);
    axis.push_back(x);
    damping.push_back(std::max(1e-12, double(growth(Complex64(-x, 0.0)))));
  }
  return {{"figure", figure}, {"name", name}, {"window", {window.left, window.right, window.top}},
          {"log10", values},  {"axis", axis}, {"damping", damping}};
}

template <class Tableau>
Json stiffly_accurate(const std::string& figure, const Window& window) {
  constexpr int s = Tableau::stages;
  return sample(figure, Tableau::name, window,
                [](Complex64 z) { return std::abs(runge_kutta<s>(Tableau::A, Tableau::A[s - 1], s, z)); });
}

template <class Tableau>
Json rosenbrock(const Window& window) {
  return sample("rosenbrock", Tableau::name, window,
                [](Complex64 z) { return std::abs(rosenbrock_function<Tableau>(z)); });
}

template <class... Tableaux>
void add(Json& all, const std::string& figure, const Window& window) {
  (all.push_back(stiffly_accurate<Tableaux>(figure, window)), ...);
}

Json all_methods() {
  Json all = Json::array();
  add<RadauIIA1, RadauIIA3, RadauIIA5, RadauIIA9, RadauIIA13>(all, "radau", {-4.0, 24.0, 24.0});
  add<LobattoIIIC2, LobattoIIIC4, LobattoIIIC6>(all, "lobatto", {-4.0, 16.0, 14.0});
  add<BackwardEulerTableau, Sdirk2Tableau, Sdirk3Tableau, Cash4Tableau, Sdirk4Tableau, Trbdf2Tableau>(
      all, "sdirk", {-4.0, 20.0, 16.0});
  add<Kvaerno43Tableau, Esdirk43Tableau, Kvaerno54Tableau, Esdirk54Tableau>(all, "esdirk", {-4.0, 28.0, 24.0});
  for (int q = 1; q <= CameronFamily::stages; ++q) {
    all.push_back(sample("dirka", "order " + std::to_string(q), {-8.0, 12.0, 12.0}, [q](Complex64 z) {
      return std::abs(runge_kutta<4>(CameronFamily::A, CameronFamily::weights[q - 1], q, z));
    }));
  }
  const Window rosenbrock_window{-4.0, 30.0, 24.0};
  all.push_back(rosenbrock<Rodas3PTableau>(rosenbrock_window));
  all.push_back(rosenbrock<Rodas4Tableau>(rosenbrock_window));
  all.push_back(rosenbrock<Rodas5PTableau>(rosenbrock_window));
  for (int k = 1; k <= BdfFormulas::order; ++k) {
    all.push_back(
        sample("bdf", "order " + std::to_string(k), {-8.0, 20.0, 14.0}, [k](Complex64 z) { return bdf_root(k, z); }));
  }
  add<Rk4Tableau, Dopri54Tableau>(all, "explicit", {-5.0, 1.0, 4.5});
  return all;
}

}  // namespace
}  // namespace manyfold

int main() {
  std::cout << manyfold::all_methods() << "\n";
}
