// What "auto" stands for: the rule of docs/choosing.md.
#include <gtest/gtest.h>

#include "kernels/methods/auto.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/robertson/robertson.hpp"

namespace manyfold {
namespace {

template <template <class, class> class Method, class Form>
std::string name_for() {
  return Method<Form, double>::Tableau::name;
}

TEST(Auto, GoesByFormIndexAndTolerance) {
  EXPECT_EQ((name_for<AutoLoose, System<Robertson>>()), "rodas4");
  EXPECT_EQ((name_for<AutoMedium, System<Robertson>>()), "rodas5p");
  EXPECT_EQ((name_for<AutoTight, System<Robertson>>()), "rodas5p");
  EXPECT_EQ((name_for<AutoLoose, System<RlcIndex1>>()), "rodas4");
  EXPECT_EQ((name_for<AutoTight, System<PendulumIndex2>>()), "radau9");
  EXPECT_EQ((name_for<AutoMedium, System<PendulumIndex3>>()), "radau9");
}

TEST(Auto, TakesNoRosenbrockMethodWithRoundedMatrices) {
  EXPECT_EQ((name_for<AutoMedium, MixedSystem<System<Robertson>>>()), "radau5");
}

}  // namespace
}  // namespace manyfold
