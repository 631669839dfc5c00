// What goes into messages.
#include "host/text/nearest_name.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "host/text/time_text.hpp"

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
  EXPECT_EQ(nearest_name("gpu", std::vector<std::string>{"cpu"}), std::nullopt);
  EXPECT_EQ(nearest_name("k2", std::vector<std::string>{"R2", "k1"}), "k1");
  EXPECT_EQ(nearest_name("bdf", methods), std::nullopt) << "the word itself, which does not fit";
  EXPECT_EQ(nearest_name("", methods), std::nullopt);
}

TEST(NearestName, ListsShortSetsWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("radau4", methods), "; did you mean \"radau5\"?");
  EXPECT_EQ(did_you_mean("euler", methods), "; known: radau5, radau9, sdirk4, bdf");
  EXPECT_EQ(did_you_mean("euler", std::vector<std::string>{}), "");
}

TEST(TimeText, TellsLateTimesApart) {
  EXPECT_EQ(time_text(0.1234567890123, 0.0, 9), "0.123456789");
  EXPECT_EQ(time_text(4e10, 0.0, 9), "4e+10");
  EXPECT_EQ(time_text(1.7e9, 1.7e9, 7), "1.7e+09");
  EXPECT_EQ(time_text(1.7e9 + 3.25, 1.7e9, 7), "1700000003.25");
  EXPECT_EQ(time_text(-2.0 + 1e-6, -2.0, 7), "-1.999999");
  EXPECT_EQ(time_text(std::nextafter(1.0, 2.0), 1.0, 12), "1.0000000000000002");
}

}  // namespace
}  // namespace manyfold
