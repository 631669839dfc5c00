// Models that are wrong do not run: what is said of them names the line, what is wrong and what is needed.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/sample.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Outcome;

/// What differs between the models of these tests; the third line of the file is the first of the members.
struct Parts {
  std::string variables = "{{.name = \"a\", .initial = 1.0}, {.name = \"b\", .initial = 2.0}}";
  std::string parameters = "static constexpr manyfold::Parameter parameters[] = {{.name = \"k\", .value = 1.0}};";
  std::string equations;  ///< begins on line 8
  std::string qualifier = "static constexpr";
  std::string t_span = "{0.0, 1.0}";
  std::string time = "const auto& t";  ///< the first argument of the equations
  std::string others = "";
};

class ModelErrors : public manyfold::test::CommandTest {
 protected:
  fs::path write(const Parts& parts) const {
    const fs::path path = folder_ / "model.hpp";
    std::ofstream(path) << "#include <manyfold/model.hpp>\nstruct M {\n  static constexpr const char* name = \"m\";\n"
                        << "  static constexpr double t_span[] = " << parts.t_span << ";\n"
                        << "  static constexpr manyfold::Variable variables[] = " << parts.variables << ";\n  "
                        << parts.parameters << "\n  " << parts.qualifier << " void rhs(" << parts.time
                        << ", const auto& y, const auto& p, auto& f) {\n"
                        << parts.equations << "\n  }\n"
                        << parts.others << "\n};\nMANYFOLD_MODEL(M);\n";
    return path;
  }
  Outcome solve(const Parts& parts) const {
    write(parts);
    return call("solve model.hpp --json --method radau5");
  }
  /// Compiles less, and says the same.
  Outcome check(const Parts& parts, const std::string& environment = "") const {
    write(parts);
    return call("check model.hpp", environment);
  }
  /// By day the first model of each test alone, since each has to be compiled.
  void expect_refused(const Parts& parts, const std::vector<std::string>& fragments,
                      const std::string& environment = "") {
    constexpr int by_day = 1;
    if (++refused_ > by_day && !manyfold::test::nightly) return;
    const Outcome outcome = check(parts, environment);
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    for (const std::string& fragment : fragments) {
      EXPECT_NE(outcome.err.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << outcome.err;
    }
    EXPECT_EQ(outcome.err.find("manyfold::Dependency"), std::string::npos) << outcome.err;
  }

 private:
  int refused_ = 0;
};

TEST_F(ModelErrors, AnIndexOutOfRangeIsShownWithTheRange) {
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = p[0] * y[2];"},
                 {"model.hpp:9:", "error: index 2 is out of range: y has 2 numbers, y[0] to y[1]"});
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = p[1] * y[1];"},
                 {"model.hpp:9:", "error: index 1 is out of range: p has 1 number, p[0]"});
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = y[-1];"},
                 {"model.hpp: error: equation 2: f[1] in rhs uses an index out of range of y"});
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = y[0];\n    f[2] = 1.0;"},
                 {"model.hpp:10:", "error: index 2 is out of range: f has 2 numbers"});
}

TEST_F(ModelErrors, TheIndexOfAVariableHasARange) {
  for (const char* index : {"0", "4"}) {
    expect_refused({.variables = std::string("{{.name = \"a\", .index = ") + index + "}, {.name = \"b\"}}",
                    .equations = "    f[0] = y[1];\n    f[1] = p[0] * y[0];"},
                   {".index of a variable is 1, 2 or 3"});
  }
}

TEST_F(ModelErrors, AreWhatSolveSaysToo) {
  const Outcome outcome = solve({.equations = "    f[0] = y[1];\n    f[1] = y[2];"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("error: index 2 is out of range: y has 2 numbers"), std::string::npos) << outcome.err;
}

TEST_F(ModelErrors, AnIndexOutOfRangeIsShownInEveryFunction) {
  const std::string equations = "    f[0] = y[1];\n    f[1] = p[0] * y[0];";
  const std::string event = "  static constexpr manyfold::Event events[] = {{.name = \"hit\"}};\n";
  const std::string root =
      "  static constexpr void root(const auto&, const auto& y, const auto& dy, const auto& p, auto& g) { g[0] = ";
  expect_refused({.equations = equations, .others = event + root + "dy[2]; }"},
                 {"model.hpp:12:", "error: index 2 is out of range: dy has 2 numbers"});
  expect_refused({.equations = equations,
                  .others = "  static constexpr void jacobian(const auto& t, const auto& y, const auto& p, auto& J) {\n"
                            "    J(0, 1) = 1.0;\n    J(1, 2) = p[0];\n  }"},
                 {"model.hpp:13:", "error: index 2 is out of range"});
  expect_refused({.equations = equations,
                  .others = event + root + "y[0]; }\n" +
                            "  static constexpr manyfold::Discrete discrete[] = {{.name = \"mode\"}};\n"
                            "  static constexpr void action(auto, const auto& t, auto& y, const auto& dy, const auto& "
                            "p, auto& d) {\n    d[1] = 1.0;\n  }"},
                 {"model.hpp:15:", "error: index 1 is out of range: d has 1 number"});
  expect_refused(
      {.equations = equations, .others = "  static constexpr void initial(const auto& p, auto& y) { y[2] = p[0]; }"},
      {"model.hpp:11:", "error: index 2 is out of range: y has 2 numbers"});
}

TEST_F(ModelErrors, AnIndexOutOfRangeIsShownByEitherCompiler) {
  if (std::system("clang++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no clang++";
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = p[0] * y[5];"},
                 {"model.hpp:9:", "error: index 5 is out of range: the array has 2 numbers, 0 to 1"}, "CXX=clang++");
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = p[0] * y[2];"},
                 {"model.hpp:9:", "error: index 2 is out of range: the array has 2 numbers, 0 to 1"}, "CXX=clang++");
  expect_refused({.equations = "    f[0] = y[1];"}, {"model.hpp: error: equation 2: f[1] in rhs is never written"},
                 "CXX=clang++");
}

// Whatever its methods use of the language has to be known to clang 14 too, which Debian 12 has.
TEST_F(ModelErrors, ARightModelIsSolvedWithClang) {
  if (std::system("clang++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no clang++";
  write({.equations = "    f[0] = y[1];\n    f[1] = p[0] * y[0];"});
  const Outcome outcome = call("solve model.hpp --json --method rodas5p", "CXX=clang++ MANYFOLD_ISA=scalar");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(ModelErrors, AParameterOfAModelWithoutParametersIsRefused) {
  expect_refused({.parameters = "", .equations = "    f[0] = y[1];\n    f[1] = p[0] * y[0];"},
                 {"model.hpp", "equation 2: f[1] in rhs uses p, but the model has no parameters"});
}

TEST_F(ModelErrors, ANumberThatIsNeverWrittenIsRefused) {
  expect_refused({.equations = "    f[0] = y[1];"}, {"model.hpp: error: equation 2: f[1] in rhs is never written"});
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] += y[0];"}, {"equation 2: f[1] in rhs is never written"});
  expect_refused(
      {.equations = "    f[0] = y[1];\n    f[1] = y[0];",
       .others = "  static constexpr manyfold::Event events[] = {{.name = \"at\", .scheduled = 1}, {.name = "
                 "\"hit\"}};\n  static constexpr void event_times(const auto&, auto& times) { times[0] = "
                 "0.5; }\n  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, "
                 "auto& g) { g[0] = y[0]; }"},
      {"g[1] in root is never written"});
}

/// Environments with each compiler that is there.
std::vector<std::string> compilers() {
  std::vector<std::string> result = {""};
  if (std::system("clang++ --version >/dev/null 2>&1") == 0) result.emplace_back("CXX=clang++");
  return result;
}

// The statement behind a missing semicolon was told as never written.
TEST_F(ModelErrors, AMissingSemicolonIsToldFirst) {
  for (const std::string& compiler : compilers()) {
    expect_refused({.equations = "    f[0] = -y[0]\n    f[1] = -p[0] * y[1];"}, {"error: expected ';'"}, compiler);
  }
}

TEST_F(ModelErrors, FunctionsTakeNumbersOfEveryKind) {
  for (const std::string& compiler : compilers()) {
    expect_refused({.equations = "    f[0] = -t * y[0];\n    f[1] = -p[0] * y[1];", .time = "double t"},
                   {"model.hpp:7:25: error: rhs is called with the integrator's numbers, which are of several types: "
                    "declare what it reads as const auto&, and what it writes as auto&"},
                   compiler);
  }
}

// What stands behind the one number was taken for the end.
TEST_F(ModelErrors, ATimeSpanHasTwoEnds) {
  expect_refused({.equations = "    f[0] = -y[0];\n    f[1] = -p[0] * y[1];", .t_span = "{1.0}"},
                 {"the model needs a default time span of two numbers"});
}

TEST_F(ModelErrors, AFunctionOfOtherArgumentsIsNotPassedOver) {
  const std::string equations = "    f[0] = -y[0];\n    f[1] = -p[0] * y[1];";
  const std::string events =
      "static constexpr manyfold::Event events[] = {{.name = \"kick\", .scheduled = 1}};\n"
      "static constexpr void event_times(const auto&, auto& times) { times[0] = 0.5; }\n";
  expect_refused(
      {.equations = equations,
       .others = events + "static constexpr void action(auto, const auto&, auto& y, const auto&) {}\n"
                          "static constexpr void initial(auto& y) {}\n"
                          "static constexpr void mass_matrix(auto& M) {}\n"
                          "static constexpr void jacobian(const auto&, auto& J) {}"},
      {"action must be static constexpr void action(auto event, const auto& t", "initial must be static constexpr",
       "mass_matrix must be static constexpr", "jacobian must be static constexpr"});
  // A constant of such a name is none.
  const Outcome constant =
      check({.equations = equations, .others = "static constexpr double initial = 1.0;\nenum { sides };"});
  EXPECT_EQ(constant.code, 0) << constant.err;
}

TEST_F(ModelErrors, InvariantsAreANumber) {
  expect_refused(
      {.equations = "    f[0] = -y[1];\n    f[1] = p[0] * y[0];",
       .others = "static constexpr const char* invariants[] = {\"energy\"};\n"
                 "static constexpr void invariant(const auto&, const auto& y, const auto&, auto& g) { g[0] = "
                 "y[0] * y[0]; }\n"},
      {"invariants come as static constexpr int invariants = their number"});
}

TEST_F(ModelErrors, ObservablesAreWrittenAndHaveNamesOfTheirOwn) {
  const std::string equations = "    f[0] = y[1];\n    f[1] = p[0] * y[0];";
  const auto observed = [&](const std::string& name, const std::string& statement) {
    return Parts{
        .equations = equations,
        .others = "  static constexpr manyfold::Observable observables[] = {{.name = \"" + name +
                  "\"}};\n  static constexpr void observe(const auto&, const auto& y, const auto&, const auto&, "
                  "auto& o) {\n    " +
                  statement + "\n  }"};
  };
  expect_refused(observed("c", "y[0];"), {"model.hpp: error: o[0] in observe is never written"});
  expect_refused(observed("c", "o[1] = y[0];"), {"model.hpp:13:", "error: index 1 is out of range: o has 1 number"});
  expect_refused(observed("b", "o[0] = y[0];"), {"model.hpp: error: two variables or observables have the name 'b'"});
}

TEST_F(ModelErrors, SumsOfTermsAreWritten) {
  const Outcome outcome = check({.equations = "    f[0] = y[1];\n    f[1] = -y[0];\n    f[1] += p[0];"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(ModelErrors, NamesAreThereAndDifferent) {
  const std::string equations = "    f[0] = y[1];\n    f[1] = y[0];";
  expect_refused({.variables = "{{.name = \"a\"}, {.name = \"a\"}}", .equations = equations},
                 {"model.hpp: error: two variables have the name 'a'"});
  expect_refused({.variables = "{{.name = \"a\"}, {.name = \"\"}}", .equations = equations},
                 {"model.hpp: error: variable 2 has no name"});
  expect_refused(
      {.variables = "{{.name = \"u\", .count = 2}, {.name = \"u2\"}}", .equations = equations + "\n    f[2] = y[2];"},
      {"two variables have the name 'u2'"});
  expect_refused({.parameters = "static constexpr manyfold::Parameter parameters[] = {{.name = \"k\"}, {.name = "
                                "\"k\"}};",
                  .equations = equations},
                 {"two parameters have the name 'k'"});
}

TEST_F(ModelErrors, AnIndexOutOfRangeOfEquationsThatAreNotConstexprIsFoundAtRunTime) {
  const std::string counted = "    static int calls = 0;\n    ++calls;\n    f[0] = y[1];\n";
  expect_refused({.equations = counted + "    f[1] = y[2];", .qualifier = "static"},
                 {"model.hpp: error: equation 2: f[1] in rhs uses an index out of range of y"});
  expect_refused({.equations = counted + "    f[1] = y[0];\n    f[3] = y[0];", .qualifier = "static"},
                 {"model.hpp: error: rhs writes beyond f, which has 2 numbers"});
  const Outcome refused = solve({.equations = counted + "    f[1] = y[2];", .qualifier = "static"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("model.hpp: error: equation 2: f[1] in rhs uses"), std::string::npos) << refused.err;
  const Outcome right = solve({.equations = counted + "    f[1] = -y[0];", .qualifier = "static"});
  EXPECT_EQ(right.code, 0) << right.err;
}

TEST_F(ModelErrors, WhatIsForPlainNumbersComesWithTheCure) {
  const auto with = [](const std::string& first) {
    return Parts{.equations = "    f[0] = " + first + ";\n    f[1] = y[0];"};
  };
  expect_refused(with("std::exp(y[0])"), {"model.hpp:8:", "use exp without std::", "std::exp(y[0])"});
  expect_refused(with("fmin(y[0], y[1])"), {"model.hpp:8:", "use min"});
  expect_refused(with("fmax(y[0], y[1])"), {"model.hpp:8:", "use max"});
  expect_refused(with("y[0] > 0.0 ? y[0] : y[1]"), {"model.hpp:8:", "use select(condition, a, b)"});
  expect_refused({.equations = "    f[0] = y[1];\n    f[1] = y[0];\n    if (y[0] > 0.0) f[1] = y[1];"},
                 {"model.hpp:10:", "use select(condition, a, b)"});
  expect_refused({.equations = "    double z[2] = {y[0], y[1]};\n    f[0] = z[1];\n    f[1] = z[0];"},
                 {"model.hpp:8:", "manyfold::NumberOf<decltype(f)>"});
}

// Rosenbrock methods differentiate by t, which `sum` does not depend on at first.
TEST_F(ModelErrors, ALocalNumberOfTheWrongTypeComesWithTheCure) {
  const std::string add = " sum = 0.0 * y[0];\n    sum = sum + p[0] * t;\n    f[0] = sum;\n    f[1] = y[0];";
  write({.equations = "    auto" + add});
  const Outcome refused = call("solve model.hpp --method rodas4");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("declare it as manyfold::NumberOf<decltype(f)>"), std::string::npos) << refused.err;
  write({.equations = "    manyfold::NumberOf<decltype(f)>" + add});
  EXPECT_EQ(call("solve model.hpp --method rodas4").code, 0);
}

TEST_F(ModelErrors, SelectTakesTwoPlainNumbers) {
  for (const std::string precision : {"float64", "float32"}) {
    write({.equations = "    f[0] = select(y[0] > 0.5, -1.0, 1.0);\n    f[1] = select(y[0] > 0.5, 2, y[1] - y[1]);"});
    const Outcome outcome =
        call("solve model.hpp --json --method radau5 --t-end 0.25 --rtol 1e-4 --precision " + precision);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto values = nlohmann::json::parse(outcome.out)["values"];
    EXPECT_NEAR(values["a"].get<double>(), 0.75, 1e-5);
    EXPECT_NEAR(values["b"].get<double>(), 2.5, 1e-5);
  }
}

TEST_F(ModelErrors, LocalArraysHoldNumbersOfEveryKind) {
  const Outcome outcome = solve({.equations = "    manyfold::NumberOf<decltype(f)> z[2] = {p[0] * t, y[1]};\n"
                                              "    for (int i = 0; i < 2; ++i) f[i] = z[i];"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  // a' = t, b' = b.
  const auto values = nlohmann::json::parse(outcome.out)["values"];
  EXPECT_NEAR(values["a"].get<double>(), 1.5, 1e-5);
  EXPECT_NEAR(values["b"].get<double>(), 2.0 * 2.718281828459045, 2e-4);
}

// Index 3 evaluates models with derivatives of derivatives too.
TEST_F(ModelErrors, EveryFunctionIsCheckedAndSolvedWithinTheNamespace) {
  write({.variables = "{{.name = \"x\", .initial = 1.0}, {.name = \"y\"}, {.name = \"u\", .index = 2}, "
                      "{.name = \"v\", .index = 2}, {.name = \"lambda\", .algebraic = true, .index = 3}}",
         .equations =
             "    using namespace manyfold;\n"
             "    f[0] = y[2];\n    f[1] = y[3];\n    f[2] = -y[4] * y[0];\n    f[3] = -y[4] * y[1];\n"
             "    f[3] -= p[0];\n    f[2] += 0.0 * p[0];\n    f[2] *= p[0];\n    f[2] /= p[0];\n"
             "    const auto a = square(y[0]) + square(y[1]);\n"
             "    const auto one = sqrt(cbrt(exp(log(log1p(expm1(pow(10.0, log10(a))))))));\n"
             "    const auto same = sin(asin(0.5 * a)) + cos(acos(0.5 * a)) - tan(atan(a)) + sinh(0.0 * t) +\n"
             "                      tanh(0.0 * t) + floor(0.0 * t) + atan2(0.0 * t, a) + cosh(0.0 * t) - 1.0;\n"
             "    f[4] = min(max(abs(a), -1.0), 5.0) + same + 0.0 * one - 1.0;"});
  EXPECT_EQ(call("check model.hpp").code, 0) << call("check model.hpp").err;
  const Outcome outcome = call("solve model.hpp --json --method radau5");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  // A pendulum of length 1 from the horizontal, g = 1: its angle by SciPy's DOP853 at rtol 1e-13.
  const auto values = nlohmann::json::parse(outcome.out)["values"];
  EXPECT_NEAR(values["x"].get<double>(), 0.8795481324, 1e-5);
  EXPECT_NEAR(values["y"].get<double>(), -0.4758099229, 1e-5);
}

class Check : public ModelErrors {
 protected:
  void expect_problems(const Parts& parts, const std::vector<std::string>& problems) const {
    const fs::path path = write(parts);
    const Outcome outcome = call("check model.hpp");
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    std::string expected;
    for (const std::string& problem : problems) expected += fs::canonical(path).string() + ": error: " + problem + "\n";
    EXPECT_EQ(outcome.err, expected);
  }
  std::string equations_ = "    f[0] = y[1];\n    f[1] = p[0] * y[0];";
};

TEST_F(Check, SaysThatARightModelIsRight) {
  for (const std::string model : {"robertson", "pendulum_index3", "transistor_amplifier", "stick_slip"}) {
    const Outcome outcome = call("check " + model);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, model + ": no problems found\n");
  }
}

TEST_F(Check, ShowsWhatDoesNotCompile) {
  write({.equations = "    f[0] = y[1];\n    f[1] = y[7];"});
  const Outcome outcome = call("check model.hpp");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("model.hpp:9:"), std::string::npos) << outcome.err;
}

TEST_F(Check, FindsNamesThatResultFilesCannotHave) {
  const std::string rule =
      ": result files need a name that begins with a letter, a digit or _, and has no '/' or control characters";
  const std::string taken = " has a name that result files use for something else: needs another";
  expect_problems({.variables = "{{.name = \"x/y\"}, {.name = \" b\"}}", .equations = equations_},
                  {"variable 'x/y' has a '/'" + rule, "variable ' b' begins or ends with a blank" + rule});
  expect_problems({.variables = "{{.name = \"time\"}, {.name = \"b\\t\"}}", .equations = equations_},
                  {"variable 'b\\x09' has a control character" + rule, "variable 'time'" + taken});
  expect_problems({.variables = "{{.name = \"a\"}, {.name = \"stat_steps\"}}", .equations = equations_},
                  {"variable 'stat_steps'" + taken});
}

TEST_F(Check, FindsWhatIsNotFinite) {
  expect_problems({.variables = "{{.name = \"a\", .initial = -1.0}, {.name = \"b\"}}",
                   .equations = "    f[0] = sqrt(y[0]);\n    f[1] = y[0];"},
                  {"equation 1 (of variable \"a\") is not finite at the initial values"});
  expect_problems(
      {.variables = "{{.name = \"a\"}, {.name = \"b\"}}", .equations = "    f[0] = sqrt(y[0]);\n    f[1] = y[0];"},
      {"the derivative of equation 1 (of variable \"a\") with respect to 'a' is not finite at the initial "
       "values"});
  expect_problems(
      {.equations = equations_,
       .others = "  static constexpr manyfold::Event events[] = {{.name = \"hit\"}};\n  static constexpr void "
                 "root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = log(-y[0]); }"},
      {"the root function of event 'hit' is not finite at the initial values"});
}

TEST_F(Check, FindsAMatrixThatIsSingular) {
  // Both equations fix the sum.
  expect_problems({.variables = "{{.name = \"a\", .algebraic = true}, {.name = \"b\", .algebraic = true}}",
                   .equations = "    f[0] = y[0] + y[1] - p[0];\n    f[1] = y[0] + y[1] - p[0] * t;"},
                  {"the matrix of Newton's method is singular at the initial values: equations depend on each other "
                   "there, or do not change with a variable"});
}

TEST_F(Check, FindsAnAlgebraicVariableThatHasADerivative) {
  const fs::path path = folder_ / "model.hpp";
  std::ofstream(path) << R"cpp(#include <manyfold/model.hpp>
                               struct M {
                                 static constexpr const char* name = "m";
                                 static constexpr double t_span[] = {0.0, 1.0};
                                 static constexpr manyfold::Variable variables[] = {{.name = "a", .initial = 1.0, .algebraic = true}};
                                 static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto&, auto& F) {
                                   F[0] = dy[0] + y[0];
                                 }
                               };
                               MANYFOLD_MODEL(M);
  )cpp";
  const Outcome outcome = call("check model.hpp");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("variable 'a' states .algebraic = true, but its derivative stands in an equation"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
