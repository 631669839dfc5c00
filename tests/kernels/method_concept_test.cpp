// A method whose functions are not those that it says it has does not compile.
#include <gtest/gtest.h>

#include "kernels/methods/all.hpp"
#include "kernels/methods/method.hpp"
#include "problems/robertson/robertson.hpp"

namespace manyfold {
namespace {

using Model = System<Robertson>;
using OneOrder = Radau5<Model, double>;
using SeveralOrders = Radau<Model, double>;

/// As if `choose_order` were misspelt.
struct WithoutOrders : OneOrder {
  static constexpr StepChoice step_choice = StepChoice::with_order;
};
/// Nobody would call its `choose_order`.
struct NeverAsked : SeveralOrders {
  static constexpr StepChoice step_choice = StepChoice::by_estimate;
};
struct WithoutStep : OneOrder {
  static constexpr StepChoice step_choice = StepChoice::by_method;
};
struct WithoutPast : OneOrder {
  static constexpr bool makes_past = true;
};
struct WithoutPath : OneOrder {
  static constexpr bool path_on_request = true;
};
/// Remembers outside the state, where nothing of an instance ends with it.
struct Absentminded : OneOrder {
  double accepted_steps = 0.0;
};
/// Nothing starts what its state remembers.
struct NeverStarted : OneOrder {
  struct Memory {
    double accepted_steps;
  };
  using State = LaneState<Model, double, typename OneOrder::State::Path, Memory>;
};

TEST(SteppingMethod, HasTheFunctionsThatItSaysItHas) {
  EXPECT_TRUE(SteppingMethod<OneOrder>);
  EXPECT_TRUE(SteppingMethod<SeveralOrders>);
  EXPECT_TRUE((SteppingMethod<Bdf<Model, double>>));
  EXPECT_TRUE((SteppingMethod<Rodas5p<Model, double>>));
  EXPECT_FALSE(SteppingMethod<WithoutOrders>);
  EXPECT_FALSE(SteppingMethod<NeverAsked>);
  EXPECT_FALSE(SteppingMethod<WithoutStep>);
  EXPECT_FALSE(SteppingMethod<WithoutPast>);
  EXPECT_FALSE(SteppingMethod<WithoutPath>);
  EXPECT_FALSE(SteppingMethod<Absentminded>);
  EXPECT_FALSE(SteppingMethod<NeverStarted>);
}

}  // namespace
}  // namespace manyfold
