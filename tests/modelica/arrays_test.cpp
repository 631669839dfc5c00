// Rules of the language for arrays and functions. Assertions on constants hold, or the model is refused.
#include <gtest/gtest.h>

#include <string>

#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::test::errors_of;
using manyfold::test::expect_errors;
using manyfold::test::model_text;

std::string package_text(const std::string& classes, const std::string& declarations, const std::string& equations) {
  return "package P\n" + classes + model_text(declarations, equations) + "end P;\n";
}

/// Nothing is said of the model, nor that one of these does not hold.
void expect_holds(const std::string& classes, const std::string& declarations, const std::vector<std::string>& all) {
  std::string equations = "r = time;\n";
  for (const std::string& one : all) equations += "assert(" + one + ", \"" + one + "\");\n";
  EXPECT_EQ(errors_of(package_text(classes, declarations + " Real r;", equations)), "");
}

const std::string functions =
    "function f\ninput Real x;\ninput Real k = 2;\noutput Real y;\noutput Real z;\nalgorithm\ny := k * x ^ 3;\n"
    "z := x * k;\nend f;\n"
    "function fx = der(f, x) \"by x\";\nfunction fxk = der(f, x, k);\nfunction fxx = der(fx, x);\n"
    "function scaled\ninput Real v[:];\ninput Real s;\noutput Real w[size(v, 1)];\nalgorithm\nfor i loop\n"
    "w[i] := s * v[i];\nend for;\nend scaled;\n";

TEST(Arrays, AnIteratorWithoutARangeHasThatOfWhatItIndexes) {
  expect_holds(functions,
               "constant Real x[3] = {i ^ 2 for i in 1:3}, m[2, 3] = {{10 * i + j for j in 1:3} for i in 1:2};\n"
               "constant Real t[3] = {2 * x[i] for i}, s = sum(m[i, j] for i, j), p[2] = {sum(m[i, :]) for i};",
               {"t[3] == 18", "s == 102", "p[2] == 66", "sum(scaled({1, 2, 3}, 2)) == 12"});
  EXPECT_EQ(errors_of(package_text("record R\nReal a[2];\nReal b;\nend R;\n", "R r[3]; Real x[2, 3];",
                                   "for i, j loop\nx[i, j] = i * time + j;\nr[j].a[i] = x[i, j];\nend for;\n"
                                   "for k loop\nr[k].b = k;\nend for;")),
            "");
  expect_errors(model_text("Real x[3], y[2];", "for i loop\nx[i] = i;\ny[i] = i;\nend for;"),
                {"m.mo:4:5: error: 'i' has no range, and is the subscript of dimensions of 3 and of 2"});
  expect_errors(model_text("Real x[3];", "for i loop\nx[i + 1] = i;\nend for;"),
                {"'i' has no range, and is no subscript that would tell it: expected for i in 1:n"});
  expect_errors(model_text("Real x[3];", "for i loop\nxx[i] = i;\nend for;"), {"unknown name 'xx'"});
}

TEST(Arrays, AFunctionIsCalledForEachElement) {
  expect_holds(functions + "record C\nReal re;\nReal im;\nend C;\n",
               "constant Real a[2] = f({1, 2}), b[2] = f({1, 2}, {3, 4}), c[2, 2] = f({{1, 2}, {3, 4}}, 1);\n"
               "constant Real d[2, 3] = scaled({{1, 2, 3}, {4, 5, 6}}, 10), e[2] = fx({1, 2});\n"
               "constant Real g[2] = atan2({0, 1}, 1), h[2] = (C({1, 2}, {3, 4})).im;",
               {"a[2] == 16", "b[2] == 32", "c[2, 1] == 27", "d[2, 3] == 60", "e[2] == 24", "g[1] == 0", "h[2] == 4",
                "size(f(fill(0, 0)), 1) == 0"});
  EXPECT_EQ(errors_of(package_text(functions, "Real x[2], y[2];", "(x, y) = f({time, 1}, 3);")), "");
  expect_errors(package_text(functions, "Real x[2];", "x = f({1, 2}, {1, 2, 3});"),
                {"'f' is called for each element of 'x', an array [2], and of 'k', an array [3]"});
  expect_errors(package_text(functions, "Real x;", "x = sum(scaled(1, 2));"),
                {"'v' of 'scaled' is a number: expected an array of 1 dimension"});
  expect_errors(package_text(functions, "Real x;", "x = f(1, 2, 3);"), {"'f' takes 2 arguments, not 3"});
}

TEST(Arrays, FunctionsAreDerivativesOfOthers) {
  expect_holds(functions, "", {"fx(2, 5) == 60", "fxk(2, 5) == 12", "fxx(2) == 24", "fx(x = 2, k = 1) == 12"});
  // Assertions of the function are those of its arguments.
  const std::string root =
      "function root\ninput Real x;\noutput Real y;\nalgorithm\nassert(x > 0, \"negative\");\ny := sqrt(x);\nend "
      "root;\nfunction slope = der(root, x);\n";
  expect_holds(root, "", {"slope(4.0) == 0.25"});
  expect_errors(package_text(root, "Real y;", "y = slope(-4.0);"), {"the assertion does not hold: negative"});
  expect_errors(package_text(functions + "function g = der(f, q);\n", "Real y;", "y = g(1);"),
                {"'f' has no input 'q'; known: x, k"});
  expect_errors(package_text("function g = der(ff, x);\n", "Real y;", "y = g(1);"), {"unknown function 'ff'"});
  expect_errors(package_text("function g = der(g, x);\n", "Real y;", "y = g(1);"), {"'g' is a derivative of itself"});
  expect_errors(package_text("function g = f(x);\n", "Real y;", "y = time;"), {"expected 'der(f, x)'"});
}

TEST(Arrays, SubscriptsOfOtherKinds) {
  expect_holds(
      "type E = enumeration(a, b, c);\n"
      "function pick\ninput Real v[Boolean];\ninput Boolean b;\noutput Real y;\nprotected\nReal w[E];\n"
      "algorithm\nfor e in E loop\nw[e] := Integer(e);\nend for;\ny := v[b] + w[E.c];\nend pick;\n",
      "constant Real x[E] = {1, 2, 3}, y[Boolean] = {5, 6}, z[2, Boolean] = {{1, 2}, {3, 4}};\n"
      "constant Real s = sum(y[b] * (if b then 10 else 1) for b), t = sum(x[e] for e in E);\n"
      "parameter Boolean p = true;",
      {"x[E.b] == 2", "y[false] == 5", "y[not false] == 6", "y[p] == 6", "y[end] == 6", "z[2, false] == 3",
       "z[2, :] * y == 39", "s == 65", "t == 6", "pick(y, true) == 9", "pick(y, p and false) == 8"});
  const manyfold::modelica::CompiledModel model = manyfold::test::compiled(
      model_text("Real x[Boolean]; Boolean b; Real y;", "x[false] = time;\nx[true] = 2;\nb = time > 1;\ny = x[b];"));
  EXPECT_NE(model.header.find("x[true]"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("y_ = select((b > 0.5), 2.0, t);"), std::string::npos) << model.header;
  expect_errors(model_text("Real x[Boolean];", "x[1] = 3;\nx[true] = 4;"),
                {"m.mo:4:3: error: the subscript is a number: expected false or true"});
  expect_errors(model_text("Real x[2]; parameter Boolean b = true;", "x[1] = 3;\nx[b] = 4;"),
                {"m.mo:5:3: error: the subscript is Boolean: expected a whole number"});
}

TEST(Arrays, OperatorsWithAndWithoutDots) {
  expect_holds(
      "",
      "constant Real v[3] = {1, 2, 4}, m[2, 2] = {{1, 2}, {3, 4}}, a[3] = 2 .+ v, b[3] = v .- 1, c[3] = 8 ./ v;\n"
      "constant Real d[3] = v .* {2, 3, 4}, e[3] = 2 .^ v, f[3] = v .^ 2, g[2, 2] = m .* m, h[2, 2] = m ^ 2;",
      {"a[3] == 6", "b[1] == 0", "c[3] == 2", "d[3] == 16", "e[3] == 16", "f[3] == 16", "g[2, 2] == 16",
       "h[2, 2] == 22", "v * v == 21", "sum(2 * v / 2) == 7"});
  const auto refused = [](const std::string& right, const std::vector<std::string>& fragments) {
    expect_errors(model_text("parameter Real v[2] = {1, 2}, m[2, 3] = fill(1, 2, 3); Real y[2];", "y = " + right + ";"),
                  fragments);
  };
  refused("2 + v", {"m.mo:4:9: error: '+' takes two numbers, or two arrays of one shape, and has a number and an array "
                    "[2]: write '.+' for each element"});
  refused("v - time", {"has an array [2] and a number: write '.-' for each element"});
  refused("1 / v", {"'/' takes a number as divisor, and has a number and an array [2]: write './'"});
  refused("v / v", {"write './' for each element"});
  refused("v ^ 2",
          {"'^' takes numbers, or a square matrix and a number, and has an array [2] and a number: write '.^'"});
  refused("m ^ 2", {"powers are those of square matrices, and this is an array [2, 3]"});
  refused("v + {1, 2, 3}", {"the operands do not fit: an array [2] and an array [3]"});
  refused("m", {"m.mo:4:1: error: the sides differ: an array [2] and an array [2, 3]"});
  refused("3", {"the sides differ: an array [2] and a number; for each element: fill(..., n)"});
  refused("if v > {0, 0} then v else v", {"'>' compares numbers, and has an array [2] and an array [2]"});
  expect_errors(model_text("Real y[2, 3];", "y = {{1, 2}, {3, 4}, {5, time}};"),
                {"the sides differ: an array [2, 3] and an array [3, 2]"});
  const std::string three =
      "function f\ninput Real v[3];\noutput Real s;\nprotected\nReal w[3];\nalgorithm\nw := v;\n"
      "s := sum(w);\nend f;\nfunction g\ninput Real v[:];\noutput Real s;\nprotected\nReal w[3];\n"
      "algorithm\nw := v;\ns := sum(w);\nend g;\n";
  expect_errors(package_text(three, "Real y;", "y = f({1, time});"),
                {"'v' of 'f' is an array [3], and is given an array [2]"});
  expect_errors(package_text(three, "Real y;", "y = g({1, time});"),
                {"'w' is an array [3], and is assigned an array [2]"});
}

TEST(Arrays, SubscriptsThatVaryAreLookedAt) {
  const auto header = [](const std::string& declarations, const std::string& equations) {
    return manyfold::test::compiled(model_text(declarations, equations)).header;
  };
  const std::string declarations = "parameter Real p[3] = {1, 2, 4}; Real y, u; Integer k;";
  const std::string assertion = "assert: a subscript of p is out of range: from 1 to 3";
  EXPECT_NE(header(declarations, "u = time;\nk = integer(u);\ny = p[k];").find(assertion), std::string::npos);
  // A parameter of what varies is still one.
  EXPECT_NE(
      header(declarations + " parameter Real a = 0;", "u = time;\nk = 1;\ny = p[integer(1 + a * u)];").find("\"a\""),
      std::string::npos);
  // Where control does not come, or the subscript cannot leave its array, there is nothing to look at.
  for (const char* right : {"p[max(1, min(k, 3))]", "p[if u > 1 then 2 else 3]", "p[1 + (if u > 1 then 2 else 0)]"}) {
    const std::string text = header(declarations, std::string("u = time;\nk = integer(u);\ny = ") + right + ";");
    EXPECT_EQ(text.find(assertion), std::string::npos) << right;
  }
  // What a condition shuts out is not looked at.
  const std::string search =
      "function search\ninput Real p[:];\ninput Real u;\noutput Real z;\nprotected\nInteger i;\nalgorithm\ni := 1;\n"
      "while i <= size(p, 1) and p[i] < u loop\ni := i + 1;\nend while;\nz := if i > size(p, 1) then 0 else p[i];\n"
      "end search;\n";
  EXPECT_EQ(errors_of(package_text(search, "parameter Real p[3] = {1, 2, 4}; Real y;", "y = search(p, time);")), "");
  expect_errors(model_text("Real x[2], y;", "x = {time, 1};\ny = x[1.5];"),
                {"m.mo:5:7: error: the subscript is 1.5: expected"});
  expect_errors(model_text("Real x[2], y;", "x = {time, 1};\ny = x[time];"),
                {"the subscript is Real: expected a whole number"});
  expect_errors(model_text("Real x[2], y; constant Integer n = 3;", "x = {time, 1};\ny = x[n];"),
                {"subscript 3 is out of range: from 1 to 2"});
}

}  // namespace
