// The diagonally implicit methods of variable order, "triples": their accuracy, and that the order suits the tolerance.
#include "problems/das1/das1.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

TEST(Dirks, ErrorFollowsTheTolerance) {
  test::expect_accuracy<Dirks>();
}

/// Residuals for the default instance at `rtol`; almost all of the work.
template <class Model, template <class, class> class Method>
double work(double rtol) {
  const LoadedKernel kernel = test::own_kernel<Model, Method>();
  test::Ensemble ensemble = test::ensemble_at(kernel, rtol);
  ensemble.t_end = kernel.model.t_end;
  ensemble.repeat_defaults(1);
  const test::Results results = ensemble.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success);
  return static_cast<double>(results.outcomes[0].counters.residuals);
}

/// At loose tolerances the low orders are the cheapest, at tight ones order 4, by far. A code of variable order comes
/// close to the best of them at all: what it may lose are the steps before it has found the order, at 1e-2 a third of
/// them. There a step more or less is four percent.
template <class Model>
void expect_order_to_suit(double loosest = 1e-2) {
  for (const double rtol : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
    if (rtol > loosest) continue;
    const double of_order[] = {work<Model, Sdirk2>(rtol), work<Model, Sdirk3>(rtol), work<Model, Cash4>(rtol)};
    const double own = work<Model, Dirks>(rtol);
    std::cout << Model::name << " rtol " << rtol << ": residuals with orders 2, 3, 4: " << of_order[0] << ", "
              << of_order[1] << ", " << of_order[2] << "; variable: " << own << "\n";
    EXPECT_LT(own, 1.7 * *std::min_element(of_order, of_order + 3)) << Model::name << " " << rtol;
  }
}

TEST(Dirks, OrderSuitsTheTolerance) {
  expect_order_to_suit<Robertson>();
  // At 1e-2 errors of the size of the tolerance may leave the slow solution of DAS 1, beside which others grow.
  expect_order_to_suit<Das1>(1e-3);
  expect_order_to_suit<Pendulum>();
}

}  // namespace
}  // namespace manyfold
