// Derivatives by dual numbers against closed forms and against the analytic Jacobians of the problems; sparsity
// patterns.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/lane/pack.hpp"
#include "kernels/model/system.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"

namespace manyfold {
namespace {

/// f and f' at x as a dual number gives them.
template <class Function>
void expect_derivative(const char* name, double x, double derivative, const Function& function) {
  Dual<double, 2> seeded(x);
  seeded.tangent[0] = 1.0;
  seeded.tangent[1] = -3.0;
  const Dual<double, 2> result = function(seeded);
  EXPECT_DOUBLE_EQ(result.value, function(Dual<double, 2>(x)).value) << name;
  EXPECT_NEAR(result.tangent[0], derivative, 1e-14 * (1.0 + std::abs(derivative))) << name;
  EXPECT_NEAR(result.tangent[1], -3.0 * derivative, 3e-14 * (1.0 + std::abs(derivative))) << name;
}

TEST(Dual, DifferentiatesTheElementaryFunctions) {
  const double x = 0.7;
  expect_derivative("sqrt", x, 0.5 / std::sqrt(x), [](auto v) { return sqrt(v); });
  expect_derivative("cbrt", x, 1.0 / (3.0 * std::cbrt(x * x)), [](auto v) { return cbrt(v); });
  expect_derivative("exp", x, std::exp(x), [](auto v) { return exp(v); });
  expect_derivative("expm1", x, std::exp(x), [](auto v) { return expm1(v); });
  expect_derivative("log", x, 1.0 / x, [](auto v) { return log(v); });
  expect_derivative("log10", x, 1.0 / (x * std::log(10.0)), [](auto v) { return log10(v); });
  expect_derivative("log1p", x, 1.0 / (1.0 + x), [](auto v) { return log1p(v); });
  expect_derivative("sin", x, std::cos(x), [](auto v) { return sin(v); });
  expect_derivative("cos", x, -std::sin(x), [](auto v) { return cos(v); });
  expect_derivative("tan", x, 1.0 / (std::cos(x) * std::cos(x)), [](auto v) { return tan(v); });
  expect_derivative("asin", x, 1.0 / std::sqrt(1.0 - x * x), [](auto v) { return asin(v); });
  expect_derivative("acos", x, -1.0 / std::sqrt(1.0 - x * x), [](auto v) { return acos(v); });
  expect_derivative("atan", x, 1.0 / (1.0 + x * x), [](auto v) { return atan(v); });
  expect_derivative("sinh", x, std::cosh(x), [](auto v) { return sinh(v); });
  expect_derivative("cosh", x, std::sinh(x), [](auto v) { return cosh(v); });
  expect_derivative("tanh", x, 1.0 - std::tanh(x) * std::tanh(x), [](auto v) { return tanh(v); });
  expect_derivative("square", x, 2.0 * x, [](auto v) { return square(v); });
  expect_derivative("abs", -x, -1.0, [](auto v) { return abs(v); });
  expect_derivative("pow", x, 2.5 * std::pow(x, 1.5), [](auto v) { return pow(v, 2.5); });
  expect_derivative("power of itself", x, std::pow(x, x) * (1.0 + std::log(x)), [](auto v) { return pow(v, v); });
  expect_derivative("atan2", x, 2.0 / (4.0 + x * x), [](auto v) { return atan2(v, decltype(v)(2.0)); });
  expect_derivative("quotient", x, -3.0 / (x * x) + 0.5, [](auto v) { return 3.0 / v + v / 2.0; });
  expect_derivative("product", x, 2.0 * x - std::sin(x) * x + std::cos(x), [](auto v) { return v * v + cos(v) * v; });
  expect_derivative("difference", x, 1.0 - 2.0, [](auto v) { return (v - 1.0) - (2.0 * v - 3.0); });
  expect_derivative("assignments", x, 4.0 * x, [](auto v) {
    auto sum = v;
    sum += v * 3.0;
    sum *= v;
    sum -= 1.0;
    sum /= 2.0;
    return sum;
  });
  expect_derivative("minimum", x, 1.0,
                    [](auto v) { return min(v, decltype(v)(1.0)) + max(decltype(v)(0.2), decltype(v)(0.1)); });
  expect_derivative("branch", x, 2.0, [](auto v) { return select(v > 0.5, 2.0 * v, v * v); });
}

// The function and its derivative vanish to the last bit, but exp(x) and its derivative are infinite.
TEST(Dual, DifferentiatesQuotientsWhoseDenominatorOverflows) {
  expect_derivative("logistic function", 800.0, 0.0, [](auto v) { return 1.0 / (1.0 + exp(v)); });
  expect_derivative("quotient of two duals", 800.0, 0.0, [](auto v) { return v / (1.0 + exp(v)); });
  expect_derivative("square of the hyperbolic secant", 800.0, 0.0, [](auto v) { return 1.0 / (cosh(v) * cosh(v)); });
  // exp(1000 x) is finite here, and its derivative is not.
  expect_derivative("steep logistic function", 0.708, 0.0, [](auto v) { return 1.0 / (1.0 + exp(1000.0 * v)); });
  expect_derivative("steep quotient", 0.708, 0.0, [](auto v) { return exp(1000.0 * v) / (1.0 + exp(1000.0 * v)); });
  expect_derivative("large numbers", 0.5, 1e-3, [](auto v) { return 1e200 * v / (1e203 + 0.0 * v); });
}

// At the ends of their domains functions have infinite derivatives, which count where their arguments change.
TEST(Dual, DifferentiatesFunctionsOfArgumentsThatStayAtTheEnd) {
  expect_derivative("square root", -1.0, 0.0, [](auto v) { return sqrt(max(v, decltype(v)(0.0))); });
  expect_derivative("cubic root", -1.0, 0.0, [](auto v) { return cbrt(max(v, decltype(v)(0.0))); });
  expect_derivative("power", -1.0, 0.0, [](auto v) { return pow(max(v, decltype(v)(0.0)), 0.7); });
  expect_derivative("power of two duals", -1.0, 0.0,
                    [](auto v) { return pow(max(v, decltype(v)(0.0)), decltype(v)(0.7)); });
  expect_derivative("arc sine", 2.0, 0.0, [](auto v) { return asin(min(v, decltype(v)(1.0))); });
  expect_derivative("arc cosine", 2.0, 0.0, [](auto v) { return acos(min(v, decltype(v)(1.0))); });
}

/// What models mix: variables, which carry derivatives of derivatives, and parameters, which are lanes.
template <class Real>
void expect_lanes_are_constants() {
  using Number = Dual<Dual<Real, 2>, 1>;
  const Real p(0.75);
  Number y(0.5);
  y.value.tangent[0] = Real(1.0);
  y.tangent[0] = Dual<Real, 2>(1.0);
  const auto expect = [](const Number& result, double value, double slope) {
    EXPECT_NEAR(LaneTraits<Real>::get(result.value.value, 0), value, 1e-6);
    EXPECT_NEAR(LaneTraits<Real>::get(result.value.tangent[0], 0), slope, 1e-6);
    EXPECT_NEAR(LaneTraits<Real>::get(result.tangent[0].value, 0), slope, 1e-6);
  };
  Number assigned(0.0);
  assigned = p + p;
  expect(assigned, 1.5, 0.0);
  expect(p * y + p - y / p, 0.375 + 0.75 - 0.5 / 0.75, 0.75 - 1.0 / 0.75);
  expect(p / y, 1.5, -3.0);
  expect(pow(y, p), std::pow(0.5, 0.75), 0.75 * std::pow(0.5, -0.25));
  expect(max(y, p) + min(p, y), 1.25, 1.0);
  expect(select(y < p, y * y, p), 0.25, 1.0);
  expect(select(y > p, y * y, p), 0.75, 0.0);
}

TEST(Dual, TakesLanesAsConstants) {
  expect_lanes_are_constants<double>();
  expect_lanes_are_constants<Pack>();
  expect_lanes_are_constants<Single>();
  expect_lanes_are_constants<SinglePack>();
}

TEST(PackMath, AgreesWithTheScalarFunctionsInEveryLane) {
  Pack x(0.0);
  for (int lane = 0; lane < Pack::width; ++lane) LaneTraits<Pack>::set(x, lane, 0.1 + 0.1 * lane);
  const auto expect_same = [&](const char* name, Pack packed, auto&& scalar) {
    for (int lane = 0; lane < Pack::width; ++lane) {
      const double expected = scalar(0.1 + 0.1 * lane);
      // libmvec's bound is 4 units in the last place.
      EXPECT_NEAR(LaneTraits<Pack>::get(packed, lane), expected, 4 * 2.3e-16 * std::abs(expected))
          << name << " lane " << lane;
    }
  };
  expect_same("exp", exp(x), [](double v) { return std::exp(v); });
  expect_same("expm1", expm1(x), [](double v) { return std::expm1(v); });
  expect_same("floor", floor(x), [](double v) { return std::floor(v); });
  expect_same("log", log(x), [](double v) { return std::log(v); });
  expect_same("log10", log10(x), [](double v) { return std::log10(v); });
  expect_same("log1p", log1p(x), [](double v) { return std::log1p(v); });
  expect_same("sin", sin(x), [](double v) { return std::sin(v); });
  expect_same("cos", cos(x), [](double v) { return std::cos(v); });
  expect_same("tan", tan(x), [](double v) { return std::tan(v); });
  expect_same("asin", asin(x), [](double v) { return std::asin(v); });
  expect_same("acos", acos(x), [](double v) { return std::acos(v); });
  expect_same("atan", atan(x), [](double v) { return std::atan(v); });
  expect_same("sinh", sinh(x), [](double v) { return std::sinh(v); });
  expect_same("cosh", cosh(x), [](double v) { return std::cosh(v); });
  expect_same("tanh", tanh(x), [](double v) { return std::tanh(v); });
  expect_same("cbrt", cbrt(x), [](double v) { return std::cbrt(v); });
  expect_same("sqrt", sqrt(x), [](double v) { return std::sqrt(v); });
  expect_same("pow", pow(x, Pack(1.7)), [](double v) { return std::pow(v, 1.7); });
  expect_same("atan2", atan2(x, Pack(2.0)), [](double v) { return std::atan2(v, 2.0); });
}

/// The same equations without their analytic Jacobian.
template <class Equations>
struct WithoutJacobian : Equations {
  static constexpr bool jacobian = false;
};

template <class Equations>
void expect_same_jacobian() {
  using Analytic = System<Equations>;
  using Dual = System<WithoutJacobian<Equations>>;
  constexpr int n = Analytic::n;
  double p[Analytic::constants_size] = {};
  int i = 0;
  for (const Parameter& parameter : Equations::parameters) p[i++] = parameter.value;
  Analytic::derive(p);
  double y[n];
  double dy[n];
  for (i = 0; i < n; ++i) {
    y[i] = 0.3 + 0.01 * i * i;
    dy[i] = 0.1 * i - 0.2;
  }
  double J[Analytic::nonzeros_y];
  double M[Analytic::nonzeros_dy];
  double dual_J[Dual::nonzeros_y];
  double dual_M[Dual::nonzeros_dy];
  double weight[n];  // of no consequence here
  for (i = 0; i < n; ++i) weight[i] = 1.0;
  Analytic::jacobian(0.3, y, dy, p, weight, 1e-6, 1e-3, J, M);
  Dual::jacobian(0.3, y, dy, p, weight, 1e-6, 1e-3, dual_J, dual_M);
  static_assert(Analytic::nonzeros_y == Dual::nonzeros_y);
  for (int k = 0; k < Analytic::nonzeros_y; ++k) EXPECT_NEAR(J[k], dual_J[k], 1e-12 * (1.0 + std::abs(J[k]))) << k;
  for (int k = 0; k < Analytic::nonzeros_dy; ++k) EXPECT_EQ(M[k], dual_M[k]);
}

TEST(Jacobians, AnalyticOnesOfTheProblemsAgreeWithDualNumbers) {
  expect_same_jacobian<Robertson>();
  expect_same_jacobian<Pendulum>();
  expect_same_jacobian<TransistorAmplifier>();
}

TEST(Patterns, AreThoseOfTheEquations) {
  using S = System<RlcIndex1>;
  EXPECT_EQ(S::entries_dy.size, 1);
  EXPECT_TRUE(S::pattern_dy.contains(4, RlcIndex1::iL));
  EXPECT_EQ(S::pattern_y.row[9].size(), 3) << "i1 = i2 + i3";
  EXPECT_EQ(System<TransistorAmplifier>::entries_dy.size, 14) << "the tridiagonal blocks of the mass matrix";
}

/// Equations that are not constexpr are still integrated, with full matrices.
struct NotConstexpr {
  static constexpr const char* name = "not_constexpr";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "a"}, {.name = "b"}};
  static void rhs(const auto&, const auto& y, const auto&, auto& f) {
    f[0] = y[1];
    f[1] = y[0];
  }
};

TEST(Patterns, AreFullWhereTheEquationsCannotBeEvaluatedAtCompileTime) {
  EXPECT_EQ(System<NotConstexpr>::entries_y.size, 4);
}

}  // namespace
}  // namespace manyfold
