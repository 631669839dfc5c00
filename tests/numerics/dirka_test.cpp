// Cameron's embedded family: orders with trimming, dense output, estimates, accuracy, choice of order.
#include "problems/das1/das1.hpp"
#include "problems/diffusion/diffusion.hpp"
#include "tests/support/accuracy.hpp"
#include "tests/support/orders.hpp"

namespace manyfold {
namespace {

using test::expect_estimate_order;
using test::expect_orders;

// Algebraic variables are as accurate as the differential ones: they are trimmed. Dense output is accurate to h^3, to
// h^2 where the method is.
TEST(DirkaOrder, Dirka2) {
  expect_orders<Dirka2>(64, 1e-9, 2.0, 2.0, 2.0);
}
TEST(DirkaOrder, Dirka3) {
  expect_orders<Dirka3>(64, 1e-11, 3.0, 3.0, 3.0);
}
TEST(DirkaOrder, Dirka4) {
  expect_orders<Dirka4>(32, 1e-12, 4.0, 3.0, 3.0);
}

TEST(DirkaEstimate, IsTheDistanceOfNeighbouringOrders) {
  expect_estimate_order<Dirka2>(0.02, 2);
  expect_estimate_order<Dirka3>(0.02, 3);
  expect_estimate_order<Dirka4>(0.02, 4);
}

// Local extrapolation: the error of the solution is of a higher power of h than the estimate.
template <template <class, class> class Method>
void expect_accuracy_of_semi_explicit_models() {
  for (const LoadedKernel& kernel : {test::own_kernel<Robertson, Method>(), test::own_kernel<Das1, Method>()}) {
    test::expect_error_follows_tolerance(kernel, {1e-3, 1e-5, 1e-7}, 30.0);
  }
}
TEST(DirkaAccuracy, ErrorFollowsTheTolerance) {
  expect_accuracy_of_semi_explicit_models<Dirka>();
  expect_accuracy_of_semi_explicit_models<Dirka3>();
  expect_accuracy_of_semi_explicit_models<Dirka4>();
}

// 42 variables: loops where small systems have straight code.
TEST(DirkaAccuracy, OfALargeSystem) {
  test::expect_error_follows_tolerance(test::own_kernel<Diffusion<40>, Dirka>(), {1e-4, 1e-6}, 30.0);
}

}  // namespace
}  // namespace manyfold
