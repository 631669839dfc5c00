// A diagonally implicit method that the library does not have is added by its coefficients alone.
#include "tests/support/accuracy.hpp"
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

/// ESDIRK 3/2 of A. Kvaerno, BIT 44 (2004), gamma the root of x^3 - 3 x^2 + 3/2 x - 1/6. Dense output: the parabola
/// through y_n, Y_2 and Y_4.
struct Kvaerno32Tableau {
  static constexpr const char* name = "kvaerno32";
  static constexpr const char* family = "ESDIRK";
  static constexpr int stages = 4;
  static constexpr int order = 3;
  static constexpr int error_order = 3;
  static constexpr int dense_degree = 2;
  static constexpr double gamma = 0.435866521508458999416;
  static constexpr double A[4][4] = {
      {0.0, 0.0, 0.0, 0.0},
      {0.435866521508458999416, 0.435866521508458999416, 0.0, 0.0},
      {0.4905633884217805706285, 0.07357009006976042995551, 0.435866521508458999416, 0.0},
      {0.3088099699767465233482, 1.490563388421780570628, -1.235239879906986093393, 0.435866521508458999416}};
  static constexpr double c[4] = {0.0, 2 * gamma, 1.0, 1.0};
  static constexpr double b_embedded[4] = {0.4905633884217805706285, 0.07357009006976042995551, 0.435866521508458999416,
                                           0.0};
  static constexpr double dense[4][2] = {{0.0, 0.0},
                                         {1.0 / (c[1] * (1.0 - c[1])), -1.0 / (c[1] * (1.0 - c[1]))},
                                         {0.0, 0.0},
                                         {-c[1] / (1.0 - c[1]), 1.0 / (1.0 - c[1])}};
};

template <class System, class Real>
using Kvaerno32 = DiagonallyImplicit<Kvaerno32Tableau, System, Real>;

TEST(NewMethod, HasItsOrders) {
  test::expect_orders<Kvaerno32>(128, 1e-12, 3.0, 3.0, 3.0);
  test::expect_estimate_order<Kvaerno32>(0.02, Kvaerno32Tableau::error_order);
}

TEST(NewMethod, SolvesTheBuiltInProblems) {
  test::expect_accuracy<Kvaerno32>();
}

}  // namespace
}  // namespace manyfold
