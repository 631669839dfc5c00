#include "host/text/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace manyfold {
namespace {

const std::vector<std::string> methods = {"radau5", "radau9", "sdirk4", "bdf"};

TEST(NearestName, FindsSpellingsOneOrTwoEditsAway) {
  EXPECT_EQ(nearest_name("radua5", methods), "radau5");
  EXPECT_EQ(nearest_name("RADAU9", methods), "radau9");
  EXPECT_EQ(nearest_name("sdrk4", methods), "sdirk4");
  EXPECT_EQ(nearest_name("bfd", methods), "bdf");
}

TEST(NearestName, FindsNothingForAnotherWord) {
  EXPECT_EQ(nearest_name("euler", methods), std::nullopt);
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{"y"}), std::nullopt);
  EXPECT_EQ(nearest_name("", methods), std::nullopt);
}

TEST(NearestName, ListsShortSetsWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("radau4", methods), "; did you mean \"radau5\"?");
  EXPECT_EQ(did_you_mean("euler", methods), "; known: radau5, radau9, sdirk4, bdf");
  EXPECT_EQ(did_you_mean("euler", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace manyfold
