// What is wrong with a model's text: the message has the place, the line, and what would be right.
#include <gtest/gtest.h>

#include <random>

#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::test::compiled;
using manyfold::test::errors_of;
using manyfold::test::expect_errors;
using manyfold::test::model_text;

TEST(Diagnostics, ShowTheLineWithACaret) {
  const std::string errors = errors_of("model m\n  Real x;\nequation\n  x = resistence;\nend m;\n");
  EXPECT_EQ(errors, "m.mo:4:7: error: unknown name 'resistence'; known: x\n    x = resistence;\n        ^");
}

TEST(Diagnostics, AllErrorsAreReported) {
  expect_errors("model m\n  Real x\n  Real y;\nequation\n  x = ;\n  y = 1 +;\n  x = (2;\nend m;\n",
                {"m.mo:3:3: error: expected ';' after the declaration, found 'Real'", "m.mo:5:7: error: expected an",
                 "m.mo:6:10: error: expected an expression, found ';'", "m.mo:7:9: error: expected ')'"});
}

TEST(Diagnostics, NamesThatAreNearAreSuggested) {
  expect_errors(model_text("parameter Real resistance = 1; Real u;", "u = resistence;"),
                {"unknown name 'resistence'; did you mean \"resistance\"?"});
  expect_errors(model_text("Real u;", "u = sinn(time);"), {"unknown function 'sinn'; did you mean \"sin\"?"});
  expect_errors(model_text("Reel u;", "u = 1;"), {"unknown type 'Reel'; did you mean \"Real\"?"});
  expect_errors(model_text("Real u(strat = 1);", "u = 1;"), {"'strat' is no attribute; did you mean \"start\"?"});
}

TEST(Diagnostics, MembersLiteralsAndFunctionsAreSuggested) {
  const auto model = [](const std::string& declarations, const std::string& equations) {
    return "package P\ntype E = enumeration(idle, up);\nrecord R\nReal T;\nReal c[2];\nend R;\n" +
           model_text(declarations, equations) + "end P;\n";
  };
  expect_errors(model("R r(t(start = 3), d = {1, 2});", "r.T = time;\nr.c = {1, 2};"),
                {"m.mo:8:5: error: the record 'R' has no member 't'; did you mean \"T\"?",
                 "m.mo:8:19: error: the record 'R' has no member 'd'; known: T, c"});
  expect_errors(model("R r(T = time, c = {1, 2}); Real x;", "x = r.t;"), {"has no member 't'; did you mean \"T\"?"});
  expect_errors(model("E e;", "e = E.idel;"), {"unknown name 'E.idel'; did you mean \"E.idle\"?"});
  expect_errors(model("Boolean b;", "b = smaple(0, 1);"), {"unknown function 'smaple'; did you mean \"sample\"?"});
  expect_errors(model("parameter Real p[2] = {1, 2, 3}; Real x;", "x = p[1];"),
                {"'p' is an array [2], but its value is an array [3]"});
  expect_errors(model("parameter Real p[2] = 1; Real x;", "x = p[1];"),
                {"'p' is an array [2], but its value is a number"});
}

TEST(Diagnostics, ConditionsAreNoNumbers) {
  const auto model = [](const std::string& condition) {
    return model_text("parameter Integer n = 2; Real x(start = 1), y; Boolean b[2] = {x > 0.5, false}; Boolean c;",
                      "der(x) = -x;\nc = b[n] or not b[1];\ny = if " + condition + " then 1 else 2;");
  };
  for (const char* right : {"b[1]", "c and x > 0.2", "if c then b[1] else false", "not c", "noEvent(x > 1)", "true"}) {
    EXPECT_EQ(errors_of(model(right)), "") << right;
  }
  for (const char* wrong : {"x", "2 * x", "n", "if c then x else false", "sin(x)"}) {
    expect_errors(model(wrong), {"m.mo:6:8: error: expected a condition, found a number"});
  }
  expect_errors(model_text("Real x(start = 1); Integer n;", "der(x) = -x;\nwhen x then\nn = 1;\nend when;"),
                {"m.mo:5:6: error: expected a condition, found a number"});
  expect_errors(model_text("Real x(start = 1); Boolean b;", "der(x) = -x;\nb = edge(x);"),
                {"edge takes a Boolean variable"});
}

// What decides itself has no value, or several: b = not b was compiled, and `solve` called it a success.
TEST(Diagnostics, ConditionsDoNotDecideThemselves) {
  for (const char* right : {"not b", "x > 0.5 and not b"}) {
    expect_errors(
        model_text("Real x(start = 1, fixed = true); Boolean b;", std::string("der(x) = -x;\nb = ") + right + ";"),
        {"m.mo:5:1: error: 'b' depends on itself at one instant: what it was before is pre(b)"});
  }
  expect_errors(
      model_text("Real x(start = 1, fixed = true); Boolean b, c;", "der(x) = -x;\nb = x > 0.5 or not c;\nc = not b;"),
      {"is no real number, and no equation gives it without the others of a loop of 2 equations"});
}

// Real numbers become whole ones by integer(...) alone. Whole ones are Real numbers too.
TEST(Diagnostics, WhatIsRealIsNoInteger) {
  const std::string whole = "Integer, and its value is ";
  const std::string real = whole + "a Real number: expected a whole number, as integer(...) gives";
  const auto package = [](const std::string& declarations, const std::string& equations) {
    return "package P\nfunction f\ninput Integer n;\noutput Integer m;\nalgorithm\nm := n * n;\nend f;\n"
           "function g\ninput Real x;\noutput Integer m;\nalgorithm\nm := x;\nend g;\n" +
           model_text(declarations, equations) + "end P;\n";
  };
  expect_errors(package("Integer n = 2.5; Real x;", "x = n;"), {"m.mo:15:13: error: 'n' is " + whole + "2.5"});
  expect_errors(package("Real y = time; Integer n = y; Real x;", "x = n;"), {"m.mo:15:28: error: 'n' is " + real});
  expect_errors(package("parameter Real p = 2; parameter Integer n = p; Real x;", "x = n;"), {"'n' is " + real});
  expect_errors(package("Integer n(start = 0.5); Real x;", "n = 1;\nx = n;"), {"'n' is " + whole + "0.5"});
  expect_errors(package("Real x(start = 1); discrete Integer k(start = 0);",
                        "der(x) = -x;\nwhen x < 0.5 then\nk = x;\nend when;"),
                {"m.mo:19:1: error: 'k' is " + real});
  expect_errors(package("Real x; Integer k;", "x = time;\nk = 3 * x;"),
                {"m.mo:18:1: error: 'k' is Integer, and this equation would give it a Real number: expected k = "
                 "integer(...)"});
  expect_errors(package("Real x; Integer k;", "x = time;\nalgorithm\nk := x;"), {"m.mo:19:1: error: 'k' is " + real});
  expect_errors(package("Real x;", "x = f(time);"), {"m.mo:17:7: error: 'n' is " + real});
  expect_errors(package("Real x;", "x = g(time);"), {"m.mo:12:1: error: 'm' is " + real});
  EXPECT_EQ(
      errors_of(package("Real x, y, z; Integer k = integer(x), n, m = if x > 1 then f(k) else min(k, 2); Real r = n;",
                        "x = time;\ny = k + m;\nn = integer(x + 0.5) * 3 - abs(k);\nz = n;")),
      "");
}

TEST(Diagnostics, ConditionsNumbersAndLiteralsAreNotMixed) {
  const auto model = [](const std::string& declarations, const std::string& equations) {
    return "package P\ntype E = enumeration(a, b);\ntype F = enumeration(c, d);\n" +
           model_text("Real x(start = 1); " + declarations, "der(x) = -x;\n" + equations) + "end P;\n";
  };
  for (const char* wrong : {"-(x > 1)", "1 + (x > 1)", "2 * b", "b ^ 2", "abs(b)", "max(x, x > 1)", "1 + true"}) {
    expect_errors(model("Real y; Boolean b = x > 0.5;", std::string("y = ") + wrong + ";"),
                  {"expected a number, found a condition: write if ... then 1 else 0"});
  }
  for (const char* wrong : {"not x", "x and true", "b or x", "if b == 2 then b else b"}) {
    expect_errors(model("Boolean b = x > 0.5, c;", std::string("c = ") + wrong + ";"),
                  {"expected a condition, found a number"});
  }
  expect_errors(model("Real y;", "y = x > 0.5;"), {"m.mo:8:1: error: one side is a condition, and the other a number"});
  expect_errors(model("Boolean b = x;", ""), {"'b' is Boolean, and its value is a number"});
  expect_errors(model("Real y = true;", ""), {"'y' is a number, and its value is a condition"});
  expect_errors(model("", "assert(x, \"m\");"), {"m.mo:8:8: error: expected a condition, found a number"});
  expect_errors(model("Real y; E e = E.a;", "y = if e == 1 then 1 else 2;"),
                {"one side is of the enumeration 'E', and the other is a number: expected a literal, or Integer(...)"});
  expect_errors(model("Real y;", "y = E.b;"),
                {"m.mo:8:5: error: one side is of the enumeration 'E', and the other is a "});
  expect_errors(model("Boolean b; E e = E.a;", "b = e;"),
                {"one side is of the enumeration 'E', and the other is a cond"});
  expect_errors(model("Boolean b; E e = E.a;", "b = e == F.c;"),
                {"one side is of the enumeration 'E', and the other of 'F'"});
  expect_errors(
      model("Real y; E e = E(3);", "y = E(1);"),
      {"'E' has 2 literals: 3 is the number of none", "one side is of the enumeration 'E', and the other is a n"});
  expect_errors(model("E e = E(time);", ""), {"the number of a literal"});
  const auto given = compiled(model("parameter Integer n = 2; E e = E(n);", ""));
  EXPECT_NE(given.header.find("2.0"), std::string::npos) << given.header;
  expect_errors(model("E e = 2;", ""), {"'e' is of the enumeration 'E', and its value is a number"});
  expect_errors(model("E e = F.c;", ""), {"'e' is of the enumeration 'E', and its value is of 'F'"});
  expect_errors(model("Integer n = E.b;", ""), {"'n' is Integer, and its value is of the enumeration 'E': expected"});
  EXPECT_EQ(errors_of(model(
                "E e = if x > 0.5 then E.a else E.b; Integer n = Integer(e); Boolean b = e <> E.a, c = b <> (x > 1); "
                "Real y = if b then 1 else 0;",
                "")),
            "");
}

// What is wrong in a declaration hides nothing of the equations, nor makes names unknown.
TEST(Diagnostics, DeclarationsAndEquationsAreLookedAtTogether) {
  const std::string errors = errors_of(model_text("Integer n = 1.5; Real y[2]; Reel z; String s; Boolean b;",
                                                  "y = 1 + {1, 2};\nz = n;\nb = time;\ns = z;\nq = 3;"));
  for (const char* fragment : {"m.mo:2:13: error: 'n' is Integer", "unknown type 'Reel'",
                               "'s' is a string that computes", "m.mo:4:9: error: '+' takes",
                               "m.mo:6:1: error: one side is a condition", "m.mo:8:1: error: unknown name 'q'"}) {
    EXPECT_NE(errors.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << errors;
  }
  EXPECT_EQ(errors.find("unknown name 'z'"), std::string::npos) << errors;
  const std::string dotted = errors_of("model m\nReal 'a.x'[{1, 2}];\nequation\n'a.x'[1] = 1;\nend m;\n");
  EXPECT_NE(dotted.find("m.mo:2:12: error: expected a number, found an array [2]"), std::string::npos) << dotted;
  EXPECT_EQ(dotted.find("unknown name"), std::string::npos) << dotted;
}

TEST(Diagnostics, ArgumentsOfBuiltInFunctions) {
  const auto model = [](const std::string& equations) {
    return model_text("Real x(start = 1), y; Integer n(start = 0);", "der(x) = -x;\n" + equations);
  };
  const std::string clock = "y = x;\nwhen sample(0, ";
  expect_errors(model(clock + "0) then\nn = pre(n) + 1;\nend when;"),
                {"the interval of sample is 0: expected a positive"});
  expect_errors(model("y = x;\nwhen sample(true, 1) then\nn = 1;\nend when;"),
                {"m.mo:6:13: error: expected a number, found a condition"});
  expect_errors(model("n = 1;\ny = sum(x);"), {"m.mo:6:5: error: sum takes an array, found a number"});
  EXPECT_EQ(errors_of(model("n = 1;\ny = sum({x});")), "");
  expect_errors(model("n = 1;\ny = smooth(x, 1);"), {"m.mo:6:12: error: the order of smooth needs to be known"});
  expect_errors(model("n = 1;\ny = smooth(-1, x);"),
                {"m.mo:6:12: error: the order of smooth is -1: expected 0 or more"});
  expect_errors(model("n = 1;\ny = smooth(true, x);"), {"m.mo:6:12: error: expected a number, found a condition"});
  expect_errors(model("n = 1;\ny = semiLinear(x > 1, 2, 3);"),
                {"m.mo:6:16: error: expected a number, found a condition"});
  expect_errors(model("n = 1;\ny = noEvent(x, x);"), {"noEvent takes 1 argument, not 2"});
  const std::string late = "n = 1;\ny = x;\nwhen x < 0.5 then\n";
  expect_errors(model(late + "terminate(3);\nend when;"), {"m.mo:8:11: error: expected a string, found a number"});
  expect_errors(model(late + "terminate();\nend when;"), {"m.mo:8:1: error: terminate takes a message"});
  expect_errors(model(late + "reinit(x, 2);\nreinit(x, 3);\nend when;"),
                {"m.mo:9:1: error: 'x' is set to two values at once"});
  EXPECT_EQ(errors_of(model(late + "if x > 0.2 then\nreinit(x, 2);\nelse\nreinit(x, 3);\nend if;\nend when;")), "");
  EXPECT_EQ(errors_of(model(late + "terminate(\"low\");\nend when;")), "");
  expect_errors(model("n = 1;\ny = der(x, 2);"), {"der takes 1 argument, not 2"});
  expect_errors(model("n = 1;\ny = homotopy(x);"), {"homotopy takes the arguments 'actual' and 'simplified'"});
  expect_errors(model("n = 1;\ny = x;\nassert(x > 0);"), {"assert takes a condition and a message"});
  expect_errors(model("n = 1;\ny = pre(x);"),
                {"'x' is continuous: its value before an event is known in when clauses"});
  expect_errors(model(clock + "x) then\nn = pre(n) + 1;\nend when;"),
                {"m.mo:6:6: error: sample takes times that parameters tell, and 'x' varies"});
  expect_errors(model("n = integer(x);\ny = der(n);"), {"'n' is not Real: it has no derivative"});
  expect_errors(model("n = 1;\ny = x;\nassert(x > 0, 3);"), {"expected a string, found a number"});
  expect_errors(model("n = 1;\ny = x;\nassert(x > 0, \"m\", AssertionLevel.warn);"),
                {"unknown name 'AssertionLevel.warn'"});
  expect_errors(model_text("parameter String s = 3; Real x;", "x = time;"),
                {"'s' is a string, and its value is a number"});
  expect_errors(model_text("Real x(start = \"a\", fixed = 2);", "der(x) = 1;"),
                {"expected a number, found a string", "expected true or false, found a number"});
}

TEST(Diagnostics, FunctionsComputeFromTheirInputsAlone) {
  const auto model = [](const std::string& statement, const std::string& left = "y") {
    return "package P\nconstant Real g = 9.81;\nfunction f\ninput Real x;\noutput Real z;\nalgorithm\nz := g;\n" +
           statement + "\nend f;\n" + model_text("Real q, y, w;", "q = time;\nw = 1;\n" + left + " = f(q);") +
           "end P;\n";
  };
  EXPECT_EQ(errors_of(model("z := x + g;")), "");
  expect_errors(model("z := q;"), {"m.mo:8:6: error: 'q' is a variable of the model, which functions do not see"});
  expect_errors(model("x := 2;"),
                {"m.mo:8:1: error: 'x' is an input of 'f', which keeps its value: expected a variable"});
  expect_errors(model("z := der(x);"), {"der does not stand in functions"});
  expect_errors(model("z := pre(x);"), {"pre does not stand in functions"});
  expect_errors(model("when x > 1 then\nz := 1;\nend when;"), {"m.mo:8:1: error: when does not stand in functions"});
  expect_errors(model("", "(y, w)"), {"'f' has 1 result, and 2 are asked for"});
}

TEST(Diagnostics, ParametersWithoutValueAreTold) {
  const auto model = manyfold::test::compiled(
      model_text("parameter Real C[2], d(start = 2); parameter Integer n = 1; input Real u; Real x;",
                 "der(x) = C[1] * x + d + u + n;"));
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("m.mo:2:16: warning: the parameter 'C[1]' has no value: it is 0"), std::string::npos)
      << model.warnings[0];
}

// Steps pass the instant.
TEST(Diagnostics, EqualRealNumbersMakeNoEvent) {
  const auto model = manyfold::test::compiled(
      model_text("parameter Real a = 1; parameter Integer k = 2; discrete Real t(start = 0, fixed = true); "
                 "Integer n(start = 0, fixed = true); Real x, y;",
                 "der(x) = if a == 1 then 1 else 2;\ny = if noEvent(x == 0) then 1 else 0;\n"
                 "when x > 0.5 then\nt = time;\nend when;\nwhen x == 0.25 or t <> 0 or k == 2 then\n"
                 "n = pre(n) + 1;\nend when;"));
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("m.mo:9:6: warning: '==' and '<>' of Real numbers that vary make no event"),
            std::string::npos)
      << model.warnings[0];
}

// The force of an ideal joint of two tanks is in no equation of the mode in which it acts. A diode has both its current
// and its voltage in each, and a parameter is no mode.
TEST(Diagnostics, ConstraintsThatComeAndGoAreTold) {
  const auto tanks = manyfold::test::compiled(
      model_text("Real h1(start = 2, fixed = true), h2(start = 1, fixed = true), q; Boolean open;",
                 "open = time > 2;\nder(h1) = -q;\nder(h2) = q - h2;\n0 = if open then h1 - h2 else q;"));
  ASSERT_EQ(tanks.warnings.size(), 1U);
  EXPECT_NE(
      tanks.warnings[0].find("m.mo:7:1: warning: only this equation can determine 'q', which does not stand in it"),
      std::string::npos)
      << tanks.warnings[0];
  const auto diode = manyfold::test::compiled(
      model_text("parameter Boolean linear = true; Real x(start = 1, fixed = true), i, u, z;",
                 "der(x) = -i;\nx = u + 2 * i;\n0 = if x < 0 then i else u;\nz = if linear then x else x ^ 2;"));
  EXPECT_TRUE(diode.warnings.empty());
}

// Four cells with resistors that a hysteresis switches, and a charger that does: what the events compute of the current
// has parts that occur twice in parts that occur twice. Written out they were 1.8 MB.
TEST(Diagnostics, SharedPartsAreWrittenOnce) {
  const auto model = manyfold::test::compiled(model_text(
      "parameter Real R[4] = {0.02, 0.022, 0.019, 0.021}, Rb = 8;\nReal z[4](each start = 0.3, each fixed = true), "
      "u[4], "
      "c[4], b[4], total, I;\nBoolean on[4](each start = false, each fixed = true), full(start = false, fixed = true);",
      "for k in 1:4 loop\nder(z[k]) = c[k];\nu[k] = 3 + z[k] + R[k] * c[k];\nb[k] = if on[k] then u[k] / Rb else 0;\n"
      "c[k] = I - b[k];\non[k] = z[k] - min(z) > 0.02 or pre(on[k]) and z[k] - min(z) > 0.01;\nend for;\n"
      "total = sum(u);\nif full then\ntotal = 16;\nelse\nI = 2;\nend if;\nwhen total > 16 then\nfull = true;\n"
      "end when;\nwhen full and I < 0.15 then\nterminate(\"charged\");\nend when;"));
  EXPECT_LT(model.header.size(), 100'000U);
}

TEST(Diagnostics, AForgottenSemicolonIsOneError) {
  const std::string errors = errors_of(
      model_text("Real x[2];", "for i in 1:2 loop\nif i > 1 then\nx[i] = 1\nelse\nx[i] = time\nend if\nend for"));
  EXPECT_NE(errors.find("m.mo:7:1: error: expected ';' after the statement, found 'else'"), std::string::npos)
      << errors;
  EXPECT_NE(errors.find("m.mo:10:1: error: expected ';' after the statement, found 'end'"), std::string::npos)
      << errors;
  EXPECT_EQ(errors.find("found the end of the file"), std::string::npos) << errors;
}

// Equations of an array are one line.
TEST(Diagnostics, EquationsOfAnArrayAreListedTogether) {
  expect_errors(model_text("Real x[3], y[3];", "x = {time, 1, 2};\nx + y = {0, 0, 0};\ny = 2 * x;"),
                {"line 4: x = {time, 1, 2} (3 equations)", "line 6: y = 2 * x (3 equations)"});
}

TEST(Diagnostics, AnOverdeterminedModelNamesTheEquations) {
  expect_errors(model_text("Real x(start = 1), y;", "der(x) = -x;\ny = 2 * x;\ny = 3 * x;"),
                {"the model has 3 equations for 2 variables", "1 must go", "line 5: y = 2 * x", "line 6: y = 3 * x"});
}

TEST(Diagnostics, AnUnderdeterminedModelNamesTheVariables) {
  expect_errors(model_text("Real x, y, z;", "der(x) = y + z;\ny = sin(time);"),
                {"the model has 2 equations for 3 variables", "variables: x, z", "line 4: der(x) = y + z"});
}

TEST(Diagnostics, ASingularModelNamesBoth) {
  expect_errors(
      model_text("Real x, y, z;", "x + y = 1;\nx - y = 2;\nx + 2 * y = time;"),
      {"3 equations for 3 variables, but they do not determine them", "variables: z", "their variables: x, y"});
}

TEST(Diagnostics, ParametersAndFixedStartsThatVary) {
  expect_errors(model_text("parameter Real g = 2 * pre(v); Real v(start = 0);", "der(v) = -g;"),
                {"m.mo:2:24: error: 'v' is continuous: its value before an event is known in when clauses alone"});
  expect_errors(model_text("parameter Real g = time; Real v(start = 0);", "der(v) = -g;"),
                {"m.mo:2:16: error: the parameter 'g' depends on time, which varies"});
  expect_errors(model_text("Real v(start = w, fixed = true), w;", "der(v) = -v;\nw = v + 1;"),
                {"m.mo:2:6: error: the start of 'v' depends on 'w', which varies: write that as an initial equation"});
}

TEST(Diagnostics, CyclesOfParameters) {
  expect_errors(model_text("parameter Real a = b; parameter Real b = 2 * a; Real x;", "der(x) = a;"),
                {"the parameter 'a' depends on itself"});
  expect_errors(model_text("parameter Real a = x; Real x;", "x = time;"),
                {"the parameter 'a' depends on 'x', which varies"});
  expect_errors(model_text("parameter String a = b; parameter String b = a; Real x;", "x = time; assert(x >= 0, a);"),
                {"the value of 'a' depends on itself"});
}

TEST(Diagnostics, WhenClauses) {
  expect_errors(model_text("Real x(start = 1); discrete Real z;",
                           "der(x) = -1;\nwhen x < 0.5 then z = 1; end when;\nwhen x < 0.2 then z = 2; end when;"),
                {"m.mo:6:1: error: 'z' is set by two when clauses: use elsewhen"});
  expect_errors(model_text("Real x(start = 1); Integer n;",
                           "der(x) = -1;\nwhen x < 0.5 then\nn = 1;\nif x > 0.2 then\nn = 2;\nend if;\nend when;"),
                {"m.mo:7:1: error: 'n' is set twice in this when clause"});
  expect_errors(model_text("Real x(start = 1);", "der(x) = -1;\nwhen x < 0.5 then\nx = 1;\nend when;"),
                {"m.mo:5:1: error: 'x' has a derivative, and is set by a when clause: expected reinit(x, ...)"});
  expect_errors(model_text("Real x(start = 1);", "der(x) = -1;\nreinit(x, 2);"),
                {"reinit stands in when clauses alone"});
  expect_errors(model_text("Real x(start = 1);", "der(x) = -1;\nif x < 0.5 then\nreinit(x, 2);\nend if;"),
                {"m.mo:6:1: error: reinit stands in when clauses alone"});
}

// Modelica 3.6, 8.3.5 and 4.5.2. A branch of calls alone sets nothing, and numbers that stay between events are
// discrete.
TEST(Diagnostics, BranchesThatSetOthersAndDiscreteVariablesThatVaryAreTold) {
  const auto branches = compiled(model_text("Real x(start = 0); discrete Real a, b;",
                                            "der(x) = 1;\nwhen x > 0.5 then\na = 1;\nb = 2;\nelsewhen x > 0.7 then\n"
                                            "a = 2;\nelsewhen x > 0.9 then\nreinit(x, 0);\nend when;"));
  ASSERT_EQ(branches.warnings.size(), 1U);
  EXPECT_NE(branches.warnings[0].find("m.mo:8:10: warning: this branch does not set 'b' as the others do: it keeps"),
            std::string::npos)
      << branches.warnings[0];
  const auto held = compiled(model_text("Real x(start = 0); discrete Real d, k; Boolean late;",
                                        "der(x) = 1;\nd = 2 * x;\nlate = x > 0.5;\nk = if late then 1 else 2;"));
  ASSERT_EQ(held.warnings.size(), 1U);
  EXPECT_NE(held.warnings[0].find("m.mo:5:1: warning: 'd' is declared discrete, and this equation outside of a when"),
            std::string::npos)
      << held.warnings[0];
}

TEST(Diagnostics, AlgorithmsSetNeitherParametersNorIterators) {
  expect_errors("model m\nparameter Real p = 1; Real x;\nalgorithm\np := 2;\nequation\nx = p;\nend m;\n",
                {"m.mo:4:1: error: 'p' is a parameter: an initial algorithm alone can set it"});
  expect_errors("model m\nReal s;\nalgorithm\ns := 0;\nfor i in 1:3 loop\ni := 2;\ns := s + i;\nend for;\nend m;\n",
                {"m.mo:6:1: error: 'i' is the iterator of a loop, which alone sets it: expected a variable"});
  const auto found = compiled(
      "model m\nparameter Real p(fixed = false); Real x(start = 1, fixed = true);\n"
      "initial algorithm\np := 2;\nequation\nder(x) = -p;\nend m;\n");
  EXPECT_TRUE(found.warnings.empty());
}

TEST(Diagnostics, WholeNumbersThatDependOnThemselves) {
  expect_errors(model_text("Integer n; Real x(start = 0);", "der(x) = 1;\nn = if x > 1 then n + 1 else 0;"),
                {"m.mo:5:1: error: 'n' depends on itself at one instant: what it was before is pre(n)"});
  EXPECT_TRUE(compiled(model_text("Integer n; Real x(start = 0);", "der(x) = 1;\nn + 1 = if x > 1 then 4 else 2;"))
                  .warnings.empty());
}

TEST(Diagnostics, WhatIsNotSupportedIsRefusedWithAReason) {
  expect_errors(model_text("Clock c;", ""), {"clocked models are not supported"});
  const std::string sampled = errors_of(model_text("Boolean u, y;", "u = time > 1;\ny = sample(u, Clock());"));
  EXPECT_NE(sampled.find("clocked models are not supported"), std::string::npos) << sampled;
  EXPECT_EQ(sampled.find("condition"), std::string::npos) << sampled;
  expect_errors(model_text("Real x; String s;", "x = time;"), {"'s' is a string that computes: not supported"});
  expect_errors(
      "package P\nfunction f\ninput Real x;\noutput Real y;\nexternal \"C\" y = f(x);\nend f;\nmodel m\nReal "
      "x;\nequation\nx = f(time);\nend m;\nend P;\n",
      {"m.mo:10:5: error: 'f' is an external function: not supported"});
  expect_errors(model_text("Real x, y;", "der(x) = -x;\ny = delay(2 * x, 1);"),
                {"m.mo:5:5: error: what is delayed depends on 'x', and not on the time alone", "a chain of n"});
  expect_errors(model_text("Real x;", "connect(x, x);"), {"export the model as Base Modelica"});
}

TEST(Diagnostics, ShapesThatDoNotFit) {
  expect_errors(model_text("Real x[3], y[2];", "x = y;\ny = {1, 2};"),
                {"the sides differ: an array [3] and an array [2]"});
  expect_errors(model_text("Real x;", "x = 1:0;"), {"the sides differ: a number and an array [0]"});
  expect_errors(model_text("Real x[2];", "x[3] = 1;\nx[1] = 2;"), {"subscript 3 is out of range: from 1 to 2"});
  expect_errors(model_text("Real x;", "x = {1, 2} + {1, 2, 3};"), {"the operands do not fit"});
}

TEST(Diagnostics, AssertionsOfParameters) {
  expect_errors(model_text("parameter Real R = -1; Real x;", "x = time;\nassert(R > 0, \"R must be positive\");"),
                {"m.mo:5:1: error: the assertion does not hold: R must be positive"});
}

// With these parameters the derivatives of a and b stand in one combination alone.
TEST(Diagnostics, ASingularLoopNamesItsEquations) {
  expect_errors(
      model_text("parameter Real C = 1; Real a, b;", "C * (der(a) - der(b)) = 1 - a;\nC * (der(b) - der(a)) = b;"),
      {"singular with the default parameters", "line 4: C * (der(a) - der(b)) = 1 - a"});
}

TEST(Diagnostics, NestingHasALimit) {
  const std::string open(100'000, '(');
  const std::string close(100'000, ')');
  expect_errors(model_text("Real x;", "x = " + open + "1" + close + ";"), {"nested deeper than 256 levels"});
  expect_errors(model_text("Real x;", "x = " + std::string(100'000, '-') + "1;"), {"nested deeper than 256 levels"});
}

TEST(Diagnostics, LongSumsAreNoNesting) {
  std::string sum = "time";
  for (int k = 0; k < 100'000; ++k) sum += " + 1";
  EXPECT_EQ(compiled(model_text("Real x;", "x = " + sum + ";")).equations, 1);
}

TEST(Diagnostics, LoopsWithoutEndAreStopped) {
  expect_errors(
      "package P\nfunction f\ninput Real x;\noutput Real y;\nalgorithm\ny := 0;\nwhile true loop\ny := y + "
      "1;\nend while;\nend f;\nmodel m\nReal x;\nequation\nx = f(1);\nend m;\nend P;\n",
      {"this loop turns more than 10000 times"});
  expect_errors(
      "package P\nfunction f\ninput Real x;\noutput Real y;\nalgorithm\ny := f(x);\nend f;\nmodel m\nReal "
      "x;\nequation\nx = f(1);\nend m;\nend P;\n",
      {"calls of 'f' are nested too deeply"});
}

/// No sequence of bytes makes it crash or hang: a model with bytes exchanged, deleted and doubled.
TEST(Diagnostics, DamagedTextsAreRefusedOrCompiled) {
  const std::string good =
      model_text("parameter Real a[2] = {1, 2}; Real x(start = 1, fixed = true), y; Boolean b; discrete Real z;",
                 "der(x) = if b then -a[1] * x else a[2] ^ 2;\ny = max(sin(x), 0.5);\nb = x > 0.5 and not y < 0.1;\n"
                 "when x < 0.3 then\n z = pre(z) + 1;\n reinit(x, 1);\nend when;");
  ASSERT_EQ(errors_of(good), "");
  std::mt19937 random(7);
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = good;
    for (int change = 0; change < 1 + trial % 3; ++change) {
      const std::size_t at = random() % text.size();
      const std::size_t other = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 4);
      } else if (random() % 2 == 0) {
        text.insert(at, text.substr(other, 1 + random() % 8));
      } else {
        text[at] = static_cast<char>(random() % 256);
      }
    }
    const std::string errors = errors_of(text);
    if (errors.empty()) continue;
    ++refused;
    EXPECT_EQ(errors.substr(0, 5), "m.mo:") << errors;
  }
  EXPECT_GT(refused, 1000);
}

// Derivatives that no equation has are not known at events.
TEST(Diagnostics, DerivativesThatNothingGives) {
  expect_errors(
      "model m\nReal x;\nInteger n;\ninitial equation\npre(n) = der(x);\nequation\nx = time ^ 3;\nwhen time > 1 "
      "then\nn = pre(n) + 1;\nend when;\nend m;\n",
      {"m.mo:2:6: error: der(x) is needed at an event", "add a variable with the equation w = der(x)"});
}

// Tables, texts, records and functions where numbers are needed.
TEST(Diagnostics, ValuesThatAreNoNumbers) {
  const std::string classes =
      "class 'T'\nextends ExternalObject;\nfunction constructor\ninput Real[:, :] 'table';\ninput Integer[:] "
      "'columns';\noutput 'T' 'o';\nexternal \"C\" 'o' = ModelicaStandardTables_CombiTable1D_init3('table');\nend "
      "constructor;\nend 'T';\nfunction 'v'\ninput 'T' 'o';\ninput Integer 'c';\ninput Real 'u';\noutput Real 'y';\n"
      "external \"C\" 'y' = ModelicaStandardTables_CombiTable1D_getValue('o', 'c', 'u');\nend 'v';\nfunction "
      "'g'\ninput "
      "'T' 'o';\noutput Real 'y'[2];\nalgorithm\n'y' := 'o';\nend 'g';\nrecord 'E'\nend 'E';\nrecord 'R'\nReal "
      "'x';\nend "
      "'R';\n";
  const auto refuses = [&](const std::string& equation, const std::string& message) {
    expect_errors("package 'P'\n" + classes +
                      "model 'P'\nparameter 'T' 't' = 'T'({{0.0, 1.0}, {1.0, 2.0}}, {2});\nparameter 'T' 'u' = "
                      "'T'({{0.0, 5.0}, {1.0, 6.0}}, {2});\n'E' 'e';\nReal 'x';\nequation\n" +
                      equation + "\nend 'P';\nend 'P';\n",
                  {message});
  };
  refuses("'x' = 1 + 't';", "cannot compute with a number and a table");
  refuses("'x' = 2 * 't';", "cannot compute with a number and a table");
  refuses("'x' = max(1, 't');", "cannot compute with a number and a table");
  refuses("'x' = if 1 < 't' then 1 else 2;", "cannot compute with a number and a table");
  refuses("'x' = 1 + 'e';", "cannot compute with a number and a record");
  refuses("'x' = ({1, 't'})[2];", "the elements of an array differ: a number and a table");
  refuses("'x' = (['t'])[1, 1];", "no part of a matrix");
  refuses("'x' = (fill('t', 2))[2];", "fill takes numbers or records, found a table");
  refuses("'x' = if (cat(1, {\"a\"}, {\"b\"}))[1] == \"a\" then 1 else 2;", "cat takes arrays of numbers, found");
  refuses("'x' = (cat(1, {'R'(1)}, {'R'(3)}))[1].'x';", "cat takes arrays of numbers, found an array of records [1]");
  refuses("'x' = sum({'R'(1)});", "sum takes numbers, found an array of records [1]");
  refuses("'x' = sin('t');", "sin takes numbers, found a table");
  refuses("'x' = sum('g'('t'));", "'y' is an array [2], and is assigned a table");
  refuses("'x' = 'v'(if time > 1 then 't' else 'u', 1, 0.5);", "the branches are different tables or functions");
  refuses("der('x') = 1;\nwhen 'x' > 1 then\nreinit('x', 't');\nend when;", "a number is set to a table");
  refuses("der('x') = 1;\nwhen 'x' > 1 then\nreinit('x', {1, 2});\nend when;", "a number is set to an array [2]");
}

}  // namespace
