// Units of measurement: which texts are units, and which equations are warned of.
#include <gtest/gtest.h>

#include "host/modelica/units.hpp"
#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::modelica::text_of;
using manyfold::modelica::Unit;
using manyfold::modelica::unit_of;
using manyfold::test::compiled;
using manyfold::test::model_text;

// Factors: BIPM, The International System of Units, 9th edition, tables 4, 7 and 8.
TEST(Units, AreProductsOfPowers) {
  const auto expect_same = [](const char* a, const char* b) {
    ASSERT_TRUE(unit_of(a) && unit_of(b)) << a << " " << b;
    EXPECT_TRUE(*unit_of(a) == *unit_of(b)) << a << " " << b;
  };
  expect_same("V", "kg.m2/(s3.A)");
  expect_same("V", "W/A");
  expect_same("Ohm", "m2.kg.s-3.A-2");
  expect_same("F", "C/V");
  expect_same("T", "Wb/m2");
  expect_same("J/(kg.K)", "m2.s-2.K-1");
  expect_same("1/s", "Hz");
  expect_same("N.m/rad", "J");
  expect_same("m s-2", "m/s2");
  expect_same("m2.5 s-1", "m2.m.m-0.5/s");
  expect_same("bar", "daN/cm2");
  EXPECT_DOUBLE_EQ(unit_of("kW.h")->factor, 3.6e6);
  EXPECT_DOUBLE_EQ(unit_of("mm3")->factor, 1e-9);
  EXPECT_DOUBLE_EQ(unit_of("mg")->factor, 1e-6);
  EXPECT_DOUBLE_EQ(unit_of("l/min")->factor, 1e-3 / 60.0);
  EXPECT_FALSE(*unit_of("mm") == *unit_of("m"));
  EXPECT_FALSE(*unit_of("deg") == *unit_of("rad"));
}

TEST(Units, ThatAreNone) {
  for (const char* text : {"", "kgg", "m^2", "m*s", "m/", ".m", "m..s", "(m", "m)", "m s ", "2", "11", "m-", "xV",
                           "\xc2\xb5m", "((((((((((((((((((((((((((m))))))))))))))))))))))))))"}) {
    EXPECT_FALSE(unit_of(text)) << text;
  }
}

TEST(Units, HaveShortTexts) {
  EXPECT_EQ(text_of(*unit_of("W/A")), "V");
  EXPECT_EQ(text_of(*unit_of("m.s-2")), "m/s2");
  EXPECT_EQ(text_of(*unit_of("W/(m2.K)")), "kg/(s3.K)");
  EXPECT_EQ(text_of(*unit_of("rad")), "1");
  EXPECT_EQ(text_of(*unit_of("rad/s")), "Hz");
  EXPECT_EQ(text_of(*unit_of("mm")), "0.001 m");
}

std::vector<std::string> warnings(const std::string& declarations, const std::string& equations) {
  return compiled(model_text(declarations, equations)).warnings;
}

TEST(UnitCheck, TellsWhereUnitsDiffer) {
  const auto expect_warning = [](const std::string& declarations, const std::string& equations,
                                 const std::string& words) {
    const auto found = warnings(declarations, equations);
    ASSERT_EQ(found.size(), 1U) << words;
    EXPECT_NE(found[0].find(words), std::string::npos) << found[0];
  };
  const std::string circuit =
      "parameter Real R(unit = \"Ohm\") = 2, C(unit = \"F\") = 1; Real i(unit = \"A\"); "
      "Real u(unit = \"V\", start = 1, fixed = true);";
  expect_warning(circuit, "C * der(u) = i;\ni = -u;",
                 "m.mo:5:1: warning: the sides of this equation have different "
                 "units: A and V\n  i = -u;\n  ^");
  expect_warning(circuit, "C * der(u) = i - u;\nR * i = -u;", "a difference of different units: A and V");
  expect_warning(circuit, "C * der(u) = i;\nR * i = if u > i then -u else -2 * u;",
                 "quantities of different units are compared: A and V");
  expect_warning(circuit, "C * der(u) = i;\nR * i = if time > 1 then -u else i;",
                 "the branches of a choice have different units: V and A");
  expect_warning(circuit, "C * der(u) = i;\nR * i = -max(u, R);", "max of different units: V and Ohm");
  expect_warning(circuit, "C * der(u) = i;\nR * i = -u + R * i * exp(u);",
                 "the argument of exp has the unit V: expected a number without a unit");
  expect_warning(circuit, "C * der(u) = i;\nR * i = -u;\nwhen u < 0.5 then\nreinit(u, R);\nend when;",
                 "reinit sets 'u' to a value with another unit: V and Ohm");
  expect_warning(
      "parameter Real a(unit = \"m\") = 1; parameter Real b(unit = \"s\") = a; Real x(start = b, fixed = true);",
      "der(x) = -x;", "the value has another unit than 'b': s and m");
  expect_warning("Real x(start = 1, fixed = true, unit = \"kgg\");", "der(x) = -x;", "'kgg' is no unit");
  expect_warning("parameter Real a(unit = \"mm\") = 1; Real x(unit = \"m\");", "x = a;", "units: m and 0.001 m");
}

// Numbers may have units, or convert them; what has no unit fits everything.
TEST(UnitCheck, IsSilentWhereUnitsFitOrAreNotKnown) {
  const auto expect_none = [](const std::string& declarations, const std::string& equations) {
    const auto found = warnings(declarations, equations);
    EXPECT_TRUE(found.empty()) << found[0];
  };
  expect_none(
      "parameter Real m(unit = \"kg\") = 2, k(unit = \"N/m\") = 3; Real E(unit = \"J\"); "
      "Real x(unit = \"m\", start = 1, fixed = true), v(unit = \"m/s\", start = 0, fixed = true);",
      "der(x) = v;\nm * der(v) = -k * x;\nE = 0.5 * m * v^2 + k * x * x / 2;");
  expect_none("Real T(unit = \"K\", start = 300, fixed = true), C(unit = \"degC\"), p(unit = \"bar\"); Real q;",
              "der(T) = -0.1 * (T - 293.15);\nC = T - 273.15;\np = 1.013 * exp(q) * sqrt(T);\nq = 9.81 * T;");
  expect_none("parameter Real t1(unit = \"h\") = 2; Real v(unit = \"V\"), x(start = 1, fixed = true);",
              "v = sin(time) + exp(-time);\nder(x) = if time < t1 then 0 else -x;");
  expect_none("Real phi(unit = \"rad\", start = 0, fixed = true), w(unit = \"rad/s\"), f(unit = \"Hz\");",
              "der(phi) = w;\nw = 2 * 3.141592653589793 * f;\nf = 1 + sin(phi);");
}

TEST(UnitCheck, EndsAfterTenWarnings) {
  std::string declarations = "Real a(unit = \"m\"), b[30](each unit = \"s\");";
  std::string equations = "a = 1;\n";
  for (int k = 1; k <= 30; ++k) equations += "b[" + std::to_string(k) + "] = a;\n";
  const auto found = warnings(declarations, equations);
  ASSERT_EQ(found.size(), 10U);
  EXPECT_NE(found[9].find("; what follows is not checked by units"), std::string::npos) << found[9];
}

}  // namespace
