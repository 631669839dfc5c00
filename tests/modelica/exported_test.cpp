// What exports have beyond the grammar: whole records and arrays of which only the parts are declared, strings that
// make messages, calls that check, literals of the language.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::modelica::CompiledModel;
using manyfold::test::compiled;
using manyfold::test::errors_of;
using manyfold::test::expect_errors;
using manyfold::test::model_text;
using manyfold::test::number_after;
using manyfold::test::package_text;

TEST(Exported, RecordsAndArraysOfSingleDeclarations) {
  const CompiledModel model = compiled(package_text(
      "record 'O'\nReal[2, 2] 'T';\nReal[2] 'w'(unit = fill(\"rad/s\", 2));\nend 'O';\n"
      "function 'turn'\ninput 'O' 'R';\ninput Real[2] 'v';\noutput Real[2] 'u';\nalgorithm\n"
      "'u' := {'R'.'T'[1,1] * 'v'[1] + 'R'.'T'[1,2] * 'v'[2], 'R'.'T'[2,1] * 'v'[1] + 'R'.'w'[2]};\nend 'turn';",
      "Real 'f.R.T[1,1]';\nReal 'f.R.T[1,2]';\nReal 'f.R.T[2,1]';\nReal 'f.R.T[2,2]';\nReal 'f.R.w[1]';\n"
      "Real 'f.R.w[2]';\nReal 'n[1]';\nReal 'n[2]';\nReal 'x'(start = 1.0);\nReal 'y';\nReal 'z';",
      "'f.R.T[1,1]' = cos('x');\n'f.R.T[1,2]' = sin('x');\n'f.R.T[2,1]' = 1.0;\n'f.R.T[2,2]' = 2.0;\n'f.R.w[1]' = "
      "3.0;\n"
      "'f.R.w[2]' = time;\n'n[1]' = 'x';\n'n[2]' = 2.0 * 'x';\nder('x') = ('turn'('f.R', 'n'))[1];\n"
      "'y' = ('turn'('f.R', {'n[1]', 'n[2]'}))[2];\n'z' = sum('n') + 'n' * 'n' + 'f.R'.'w'[2] + 'f.R.T'[2,1];"));
  EXPECT_EQ(model.equations, 11);
  EXPECT_EQ(model.states, std::vector<std::string>{"x"});
}

TEST(Exported, NamesShareTheDimensionsOfAType) {
  const CompiledModel model = compiled(package_text("", "Real[2] 'a'(each start = 1.0), 'b', 'c'[3];",
                                                    "der('a') = -'a';\n'b' = 2.0 * 'a';\n"
                                                    "'c' = fill(time, 3, 2);"));
  EXPECT_EQ(model.equations, 10);
  EXPECT_EQ(model.states, (std::vector<std::string>{"a[1]", "a[2]"}));
}

// Of a chain of assignments that stands differentiated the first one is a state, and nothing is projected.
TEST(Exported, DerivativesOfAChainOfAssignments) {
  const CompiledModel model =
      compiled(package_text("", "Real 'x'(start = 1.0);\nReal 'a';\nReal 'b';\nReal 'c';\nReal 'y';",
                            "'a' = if 'x' > 2.0 then 2.0 else 'x';\n'b' = 'a' - 1.0;\n'c' = exp('b') + sin('a');\n"
                            "'y' = der('c') + der('x');\nder('x') = -'y' * 'c';"));
  EXPECT_EQ(model.states, std::vector<std::string>{"x"});
  EXPECT_EQ(model.header.find("invariant"), std::string::npos) << model.header;
}

// A flux that must be no state gives way to the current that is preferred, though no derivative of it stands in the
// file.
TEST(Exported, StatesThatThePreferredOnesReplace) {
  const CompiledModel model = compiled(package_text(
      "",
      "Real 'flux'(stateSelect = StateSelect.never);\nReal 'i'(stateSelect = StateSelect.prefer, start = 0.0, fixed = "
      "true);\nReal 'leak'(stateSelect = StateSelect.never);\nReal 'b'(start = 0.0, fixed = true);",
      "'leak' = 1e-9 * 'i';\n'flux' = 'b' - 'leak';\nder('flux') = sin(time) - 0.1 * 'i';\nder('b') = 'i' - 'b';"));
  EXPECT_EQ(model.states, (std::vector<std::string>{"i", "b"}));
  EXPECT_EQ(model.equations, 4);
}

// Dimensions follow from those of other arrays, and of the value of the array itself.
TEST(Exported, DimensionsOfValues) {
  const CompiledModel model = compiled(model_text(
      "parameter Real A[:, size(A, 1)] = [0, 1; -4, -1], B[size(A, 1), :] = [0; 1];\nReal x[size(A, 1)](each start = "
      "1.0), u[size(B, 2)];",
      "der(x) = A * x + B * u;\nu = {time};"));
  EXPECT_EQ(model.states, (std::vector<std::string>{"x[1]", "x[2]"}));
  // A parameter that is a dimension chooses among the cases of a loop.
  EXPECT_EQ(compiled(model_text("parameter Integer n = 3; Real T[n];",
                                "for i in 1:n loop\nif i == n then\nT[i] = time;\nelse\nT[i] = 2 * T[i + 1];\nend "
                                "if;\nend for;"))
                .equations,
            3);
  expect_errors(model_text("parameter Real A[size(A, 1)]; Real x;", "x = A[1];"), {"unknown name 'A'"});
}

TEST(Exported, ArraysAreJoinedAlongEveryDimension) {
  const CompiledModel model = compiled(model_text(
      "Real a[2, 2](each start = 1.0), b[2, 1], c[2, 3], d[3, 2], e[2, 1];",
      "der(a) = -a;\nb = fill(time, 2, 1);\nc = cat(2, a, b);\nd = cat(1, a, {{1.0, time}});\ne = matrix(b[:, 1]);"));
  EXPECT_EQ(model.equations, 20);
  // b has two elements, and the second row of c begins after three: it is that of a, and time.
  EXPECT_NE(model.header.find("o[5] = a_2_1;\n    o[6] = a_2_2;\n    o[7] = t;"), std::string::npos) << model.header;
  expect_errors(model_text("Real c[2, 3];", "c = cat(2, zeros(2, 2), zeros(1, 1));"),
                {"the arrays of cat differ in their other dimensions"});
  expect_errors(model_text("Real c[2];", "c = cat(2, {1.0}, {time});"), {"[1] has no dimension 2"});
}

TEST(Exported, ElementsAreAssignedAsAnArray) {
  const CompiledModel model = compiled(
      "model 'M'\nBoolean 'r[1]';\nBoolean 'r[2]';\nBoolean 'b[1]';\nBoolean 'b[2]';\nequation\n"
      "'r[1]' = time > 1.0;\n'r[2]' = time > 2.0;\nalgorithm\n'b' := pre('r');\nend 'M';\n");
  EXPECT_NE(model.header.find("b[2]"), std::string::npos);
}

TEST(Exported, StringsMakeMessages) {
  const CompiledModel model = compiled(package_text(
      "function 'check'\ninput String 'name';\ninput String[:] 'others';\ninput Real 'x';\nString 'text';\nalgorithm\n"
      "'text' := \"wrong: \" + 'name' + String('x');\nif 'x' < 0.0 then\n'check'('text', 'others', 'x');\nend if;\n"
      "assert('x' > 0.0, 'text', AssertionLevel.error);\nend 'check';\n"
      "function 'twice'\ninput Real 'x';\noutput Real 'y';\nString 's' = \"a\";\nalgorithm\nif 'x' > 1.0 then\n"
      "'s' := String('x');\n'check'('s', {\"a\", \"b\"}, 'x');\nend if;\n'y' := 2.0 * 'x';\nend 'twice';",
      "parameter String 'label' = \"a\";\nparameter StateSelect 'select' = StateSelect.avoid;\n"
      "Real 'x'(start = 1.0, stateSelect = 'select');\nReal 'y';",
      "der('x') = -'y';\n'y' = 'twice'('x');\n'check'(\"x\", {\"a\", \"b\"}, 'x');\n"
      "assert('x' > 0.0, \"x is \" + String('x', significantDigits = 4) + \", too low\", AssertionLevel.error);"));
  EXPECT_EQ(model.equations, 2);
  EXPECT_NE(model.header.find("assert: x is , too low"), std::string::npos);
  expect_errors(model_text("Real x;", "x = if String(time) == \"1\" then 1 else 2;"),
                {"strings that compute are not supported"});
}

// What is not looked at is warned of. Assertions of when clauses and of the start on what varies are looked at then
// alone: they make no events of their relations.
TEST(Exported, AssertionsOfEvents) {
  const CompiledModel model = compiled(
      "model m\nReal x(start = 1.0);\ninitial equation\nassert(x < 2.0, \"high\");\nequation\nder(x) = -x;\n"
      "assert(x > 0.5, \"low\", AssertionLevel.warning);\nwhen x < 0.3 then\nassert(x < 0.1, \"late\");\nend when;\n"
      "end m;\n");
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("an assertion whose level is warning is not looked at"), std::string::npos);
  EXPECT_NE(model.header.find(
                "events[] = {\n      {.name = \"x < 0.3\", .direction = 1},\n      {.name = "
                "\"conditions that become true at the start\", .direction = 1},\n      {.name = "
                "\"assert: high\", .direction = 1, .terminal = true, .failure = true},\n      {.name = \"assert: "
                "late\", .direction = 1, .terminal = true, .failure = true},\n  };"),
            std::string::npos)
      << model.header;
}

// In an algorithm pre means the variable, also where it has been assigned to.
TEST(Exported, ValuesBeforeAnAssignment) {
  const CompiledModel model = compiled(
      "model 'M'\ndiscrete Integer 'n'(start = 0, fixed = true);\nReal 'x'(start = 0.0, fixed = true);\nalgorithm\n"
      "when 'x' > 1.0 then\n'n' := pre('n') + 1;\nelsewhen 'x' < -1.0 then\n'n' := pre('n') + 10;\nend when;\n"
      "equation\nder('x') = sin(time);\nend 'M';\n");
  EXPECT_NE(model.header.find("+ 10.0"), std::string::npos) << model.header;
}

// A subscript that varies chooses among the values before the event.
TEST(Exported, ValuesBeforeAnEventOfAnElement) {
  const CompiledModel model = compiled(model_text(
      "Integer n[2](each start = 0, each fixed = true), k(start = 1, fixed = true); Real x(start = 0, fixed = true);",
      "der(x) = 1;\nwhen x > 0.5 then\nk = 3 - pre(k);\nend when;\nalgorithm\nwhen sample(1, 1) then\n"
      "n := pre(n);\nn[k] := pre(n[k]) + 1;\nend when;"));
  EXPECT_EQ(model.states, std::vector<std::string>{"x"});
  expect_errors(model_text("Real x; Boolean b;", "der(x) = 1;\nb = edge(x > 1);"), {"edge takes a variable"});
  expect_errors(model_text("Real x; Boolean b;", "der(x) = 1;\nb = pre(if x > 1 then 2 * x else x) > 0;"),
                {"pre takes a variable"});
}

// Continuously differentiable branches make no event; a kink within an iterated loop makes none either.
TEST(Exported, SmoothExpressionsOfLoops) {
  const auto diode = [](const std::string& order) {
    return model_text("Real u(start = 0.0), i, v;", "der(u) = i; i = sin(time) - v - u; i = smooth(" + order +
                                                        ", if v > 0.5 then exp(0.5) * (0.5 + v) else exp(v));");
  };
  EXPECT_EQ(compiled(diode("1")).header.find("events[]"), std::string::npos);
  EXPECT_EQ(compiled(diode("0")).header.find("events[]"), std::string::npos);
  const std::string limiter = model_text("Real x, y;", "der(x) = y; y = smooth(0, if x > 1 then 1 else x);");
  EXPECT_NE(compiled(limiter).header.find("events[]"), std::string::npos);
}

TEST(Exported, AModelMayHaveNothingToSolve) {
  EXPECT_EQ(compiled("model m\nparameter Real[2, 2] p = fill(1.0, 2, 2);\nend m;\n").equations, 0);
  EXPECT_EQ(compiled(model_text("Real T(start = 0);", "when time >= 0.5 then T = time; end when;")).equations, 0);
}

// Frames of a fixed world are constants, whatever follows from them by way of others: nothing is left to solve for.
TEST(Exported, ConstantsFollowFromConstants) {
  const CompiledModel model = compiled(
      model_text("Real T[2, 2], r[2], s[2], e, x(start = 1.0, fixed = true), c(start = 2.0, fixed = true);",
                 "T = {{1.0, 0.0}, {0.0, 1.0}};\nr = {0.0, 3.0};\ns = T * r + {2.0, der(r[1])};\ne + 5.0 = 2.0;\n"
                 "der(x) = s[1] * x - e * T[1, 2];\nc = 2.0;"));
  EXPECT_NE(model.header.find("der_x = 2.0 * x;"), std::string::npos) << model.header;
}

TEST(Exported, AnEnumerationStartsWithItsFirstLiteral) {
  const CompiledModel model =
      compiled("package P\ntype E = enumeration(a, b, c);\n" +
               model_text("Real x(start = 0, fixed = true); E e; E f(start = E.c); parameter Real g[E] = {5, 6, 7};",
                          "when sample(1, 1) then\ne = if pre(e) == E.a then E.b else E.c;\nf = pre(e);\nend when;\n"
                          "der(x) = g[e] * g[f];") +
               "end P;\n");
  EXPECT_NE(model.header.find("d[0] = 1.0;"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("d[1] = 3.0;"), std::string::npos) << model.header;
}

// What remembers that an assertion of a when clause is violated has a name of its own.
TEST(Exported, AssertionsMayHaveOneText) {
  const CompiledModel model = compiled(model_text(
      "parameter Real p[3] = {1, 2, 4}; Real x(start = 0, fixed = true); Integer k(start = 1, fixed = true);",
      "der(x) = p[1] / 2;\nwhen sample(1, 1) then\nk = integer(p[pre(k)] + p[pre(k) + 1]);\n"
      "assert(x < 5, \"m\");\nassert(x < 6, \"m\");\nend when;"));
  EXPECT_NE(model.header.find("\"ends: m (2)\""), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("\"ends: a subscript of p is out of range: from 1 to 3 (2)\""), std::string::npos);
}

// `if b then 1 else 0` is b as a number: no second equation for b.
TEST(Exported, ABooleanAsANumberIsNoDefinition) {
  const CompiledModel model = compiled(model_text("Real k(start = 0); Boolean b(start = false);",
                                                  "der(k) = if b then 1 else 0; b = time > 1 and not pre(b);"));
  EXPECT_EQ(model.states, std::vector<std::string>{"k"});
}

TEST(Exported, TablesAreRefusedWithAReason) {
  const auto table = [](const std::string& function, const std::string& data) {
    return package_text(
        "class 'T'\nextends ExternalObject;\nfunction constructor\ninput Real[:, :] 'table';\n"
        "input Integer[:] 'columns';\noutput 'T' 'o';\nexternal \"C\" 'o' = " +
            function + "('table');\nend constructor;\nend 'T';\nfunction 'v'\ninput 'T' 'o';\n" +
            "input Integer 'c';\ninput Real 'u';\noutput Real 'y';\nexternal \"C\" 'y' = " +
            "ModelicaStandardTables_CombiTable1D_getValue('o', 'c', 'u');\nend 'v';",
        "parameter 'T' 't' = 'T'(" + data + ");\nReal 'x';", "'x' = 'v'('t', 1, time);");
  };
  const std::string one = "ModelicaStandardTables_CombiTable1D_init3";
  EXPECT_EQ(manyfold::test::errors_of(table(one, "{{0.0, 1.0}, {1.0, 2.0}}, {2}")), "");
  expect_errors(table(one, "{{0.0, 1.0}, {0.0, 2.0}}, {2}"), {"the first column of the table needs to increase"});
  expect_errors(table(one, "{{0.0, 1.0}, {1.0, 2.0}}, {3}"), {"the table has no such column"});
  expect_errors(table(one, "fill(0.0, 0, 2), {2}"), {"the data of the table are in a file: not supported"});
  const std::string two = "ModelicaStandardTables_CombiTable2D_init3";
  expect_errors(table(two, "{{0.0, 1.0, 1.0}, {1.0, 2.0, 3.0}}, {2}"),
                {"the first row of the table needs to increase"});
  expect_errors(table(two, "{{0.0, 1.0}, {2.0, 2.0}, {1.0, 2.0}}, {2}"), {"the first column of the table needs to"});
  expect_errors(table(two, "{{0.0}, {1.0}}, {2}"), {"a table of two abscissas needs values of both"});
  expect_errors(table("other_init", "{{0.0, 1.0}, {1.0, 2.0}}, {2}"), {"only tables are supported"});
}

TEST(Exported, FunctionsAreArguments) {
  const std::string functions =
      "function 'f'\ninput Real 'x';\ninput 'F' 'g';\noutput Real 'y';\nalgorithm\n'y' := 'g'('x') + 'g'('x' = 1.0);\n"
      "end 'f';\n"
      "function 'times'\ninput Real 'x';\ninput Real 'k' = 2.0;\noutput Real 'y' = 'k' * 'x';\nend 'times';\n"
      "partial function 'F'\ninput Real 'x';\noutput Real 'y';\nend 'F';";
  const std::string state = "Real 'x'(start = 1.0, fixed = true);";
  const CompiledModel model =
      compiled(package_text(functions, state, "der('x') = 'f'('x', 'times') - 'f'('x', function 'times'('k' = 7.0));"));
  EXPECT_NE(model.header.find("7.0"), std::string::npos);
  expect_errors(package_text(functions, state, "der('x') = 'f'('x', 'F');"), {"'F' is a partial function"});
  expect_errors(package_text(functions, state, "der('x') = 'f'('x', function 'none'('k' = 7.0));"),
                {"'none' is no function"});
  expect_errors(package_text(functions, state, "der('x') = 'times' + 1.0;"), {"'times' is a function"});
}

TEST(Exported, ParametersSayHowOftenALoopTurns) {
  const auto factorial = [](const std::string& begin, const std::string& end) {
    return compiled(
               package_text("function 'f'\ninput Integer 'n';\noutput Real 'y' = 1.0;\nInteger 'k' = 1;\nalgorithm\n" +
                                begin + "'y' := 'y' * 'k';\n'k' := 'k' + 1;\n" + end + "end while;\nend 'f';",
                            "parameter Integer 'n' = 5;\nReal 'x'(start = 0.0);", "der('x') = 'f'('n');"))
        .header;
  };
  EXPECT_NE(factorial("while true loop\n", "if 'k' > 'n' then\nbreak;\nend if;\n").find("der_x = 120.0;"),
            std::string::npos);
  EXPECT_NE(factorial("while 'k' <= 'n' loop\n", "").find("der_x = 120.0;"), std::string::npos);
}

// Whole parameters that an export has folded into names, with escaped and, in older ones, with plain quotes.
TEST(Exported, NamesAreSubscriptsOfNames) {
  const std::string colours = "type 'Colour' = enumeration('red', '\\'0\\'');";
  for (const bool escaped : {true, false}) {
    const auto name = [&](const std::string& text) {
      std::string result = "'";
      for (const char letter : text) {
        if (escaped && (letter == '\'' || letter == '\\')) result += '\\';
        result += letter;
      }
      return result + "'";
    };
    const CompiledModel model = compiled(package_text(
        colours,
        "parameter Real " + name("map['Colour'.'red']") + " = 3.0;\nparameter Real " + name("map['Colour'.'\\'0\\'']") +
            " = 4.0;\nInteger 'n';\nReal 'a.x[1]';\nReal 'a.x[2]';\nReal 'y';\nReal 'z';\n'Colour' 'c';\nReal 'w';",
        "'n' = if time > 1.0 then 2 else 1;\n'a.x[1]' = time;\n'a.x[2]' = 2.0 * time;\n'y' = " + name("a.x['n']") +
            ";\n'z' = sum(" + name("a.x['i']") +
            " for 'i' in 1:2);\n'c' = if time > 1.0 then 'Colour'.'red' else 'Colour'.'\\'0\\'';\n'w' = " +
            name("map['c']") + " + " + name("map['Colour'.'red']") + ";"));
    EXPECT_EQ(model.equations, 7) << escaped;
    EXPECT_NE(model.header.find("map[2]"), std::string::npos) << model.header;
  }
  expect_errors(package_text("", "Real 'y';\nReal 'x[1]';", "'x[1]' = time;\n'y' = 'x[\\'n\\']';"),
                {"unknown name 'n'"});
  expect_errors(package_text("", "Real 'y';\nReal 'x[1]';", "'x[1]' = time;\n'y' = 'x[\\'n\\' +]';"),
                {"expected an expression"});
}

TEST(Exported, FunctionsOfTheLibraryNeedNoDeclaration) {
  const CompiledModel model = compiled(package_text(
      "class 'T'\nextends ExternalObject;\nfunction constructor\ninput String 'tableName';\ninput String 'fileName';\n"
      "input Real[:, :] 'table';\ninput Integer[:] 'columns';\ninput Integer 'smoothness';\noutput 'T' 'o';\n"
      "external \"C\" 'o' = ModelicaStandardTables_CombiTable1D_init3('fileName');\nend constructor;\nend 'T';",
      "parameter 'T' 'id' = 'T'(\"NoName\", \"NoName\", {{0.0, 1.0}, {1.0, 3.0}}, {2}, 1);\nReal 'y';\nReal 'z';",
      "'y' = 'Modelica.Blocks.Tables.Internal.getTable1DValueNoDer'('id', 1, time);\n'z' = "
      "'Modelica.Math.sin'(time);"));
  EXPECT_EQ(model.equations, 2);
  EXPECT_NE(model.header.find("sin(t)"), std::string::npos) << model.header;
  // Those that the compiler has itself, for what they are by hand.
  const CompiledModel constants = compiled(
      model_text("constant Boolean b[3] = {false, true, true};\nReal y[9];",
                 "y[1] = if 'Modelica.Math.BooleanVectors.anyTrue'(b) then time else 0.0;\n"
                 "y[2] = if 'Modelica.Math.BooleanVectors.allTrue'(b) then 0.0 else time;\n"
                 "y[3] = time + 'Modelica.Math.BooleanVectors.firstTrueIndex'(b);\n"
                 "y[4] = time + 'Modelica.Math.wrapAngle'(7.0);\ny[5] = time + 'Modelica.Math.atan3'(1.0, 1.0, 7.0);\n"
                 "y[6] = time + 'Modelica.Electrical.Analog.Semiconductors.exlin2'(-1.5, -1.0, 2.0);\n"
                 "y[7] = time + 'Modelica.Electrical.Analog.Semiconductors.exlin2'(3.0, -1.0, 2.0);\n"
                 "y[8] = if 'Modelica.Math.BooleanVectors.oneTrue'(b) then 0.0 else time;\n"
                 "y[9] = time + 'Modelica.Math.Vectors.interpolate'({0.0, 1.0, 3.0}, {5.0, 6.0, 2.0}, 2.5);"));
  for (const char* value :
       {"o[0] = t;", "o[1] = t;", "y_3 = t + 2.0;", "y_4 = t + 0.71681469282041", "o[7] = t;",
        "y_5 = t + 7.06858347057703", "y_9 = t + 3.0;", "y_6 = t + 0.18393972058572", "y_7 = t + 14.778112197861"}) {
    EXPECT_NE(constants.header.find(value), std::string::npos) << value << "\n" << constants.header;
  }
  // s² + c1 w s + c0 w² = (s - a)² + b², with w = 1.
  const CompiledModel filter = compiled(model_text(
      "parameter Real 'r[1]'(fixed = false), 'a[1]'(fixed = false), 'b[1]'(fixed = false), 'k[1]'(fixed = false);\n"
      "Real x(start = 1.0, fixed = true);\ninitial equation\n('r', 'a', 'b', 'k') = "
      "'Modelica.Blocks.Continuous.Internal.Filter.roots.lowPass'({3.0}, {5.0}, {2.0}, 0.15915494309189535);",
      "der(x) = 'r[1]' * x + 'a[1]' + 10.0 * 'b[1]' + 100.0 * 'k[1]';"));
  for (const char* value : {"\"r[1]\", .initial = -3.0", "\"a[1]\", .initial = -1.0", "\"b[1]\", .initial = 2.0",
                            "\"k[1]\", .initial = 2.5"}) {
    EXPECT_NE(filter.header.find(value), std::string::npos) << value << "\n" << filter.header;
  }
  // Where a function is put in twice, what is missing in it is said once.
  const std::string missing = errors_of(
      "package 'P'\nfunction 'f'\ninput Real 'x';\noutput Real 'y' = 'A.B.saturationPressure'('x');\nend 'f';\n"
      "model 'P'\nReal 'y';\nReal 'z';\nequation\n'y' = 'f'(time);\n'z' = 'f'('y');\nend 'P';\nend 'P';\n");
  EXPECT_NE(missing.find("unknown function 'A.B.saturationPressure': the file calls it and does not declare it"),
            std::string::npos)
      << missing;
  EXPECT_EQ(missing.find("saturationPressure'"), missing.rfind("unknown function '") + 22) << missing;
}

// What `call`, which assigns to `names`, gives for them, one after the other.
std::vector<double> results_of(const std::string& call, const std::string& names, int count) {
  const CompiledModel model = compiled(
      package_text("function 'f'\ninput Real 'x';\noutput Real 'y'[" + std::to_string(count) +
                       "];\nprotected\nReal 'r'[1], 'a'[" + std::to_string(count / 5) +
                       "], 'b'[size('a', 1)], 'ku'[size('a', 1)], 'k1'[size('a', 1)], 'k2'[size('a', 1)];\n"
                       "algorithm\n(" +
                       names + ") := " + call + ";\n'y' := cat(1, " + names + ");\nend 'f';",
                   "Real 'y'[" + std::to_string(count) + "];",
                   "for 'i' in 1:" + std::to_string(count) + " loop\n'y'['i'] = time + ('f'(1.0))['i'];\nend for;"));
  std::vector<double> values;
  for (int k = 1; k <= count; ++k) {
    values.push_back(number_after(model.header, "y_" + std::to_string(k) + " = t + "));
  }
  return values;
}

// The denominators of the filters are products of s² - 2 a s + a² + b². They follow from a base filter with the real
// pole -3 and the pair -1 ± 2 i: in place of s stand 1/s, (s + 1/s) / 1.5 and the reciprocal of that, in units of 2 pi
// / s. The poles are those of NumPy's roots; ku, k1 and k2 follow from them and from the numerators s², 1.5 s and s²
// + 1.
TEST(Exported, FiltersOfAllKinds) {
  const std::string roots = "'Modelica.Blocks.Continuous.Internal.Filter.roots.";
  const std::vector<double> high =
      results_of(roots + "highPass'({3.0}, {5.0}, {2.0}, 0.15915494309189535)", "'r', 'a', 'b', 'ku', 'k1', 'k2'", 6);
  const double expected[] = {-1.0 / 3.0, -0.2, 0.4, 0.5, -0.8, -0.6};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(high[k], expected[k], 1e-14) << k;

  const double w = 6.283185307179586;
  const std::vector<double> pass =
      results_of(roots + "bandPass'({}, {5.0}, {2.0}, 0.5, 2.0)", "'a', 'b', 'ku', 'k1', 'k2'", 10);
  const std::vector<double> stop =
      results_of(roots + "bandStop'({3.0}, {5.0}, {2.0}, 0.5, 2.0)", "'a', 'b', 'ku', 'k1', 'k2'", 15);
  // The states are x1 = ku (s - a) u / d and x2 = b ku u / d with d = (s - a)² + b², and k1 x1 + k2 x2 is 1.5 w s u /
  // d, or (s² + a² + b²) u / d - u.
  const auto expect = [&](const std::vector<double>& found, std::size_t k, double a, double b, bool stops) {
    const std::size_t size = found.size() / 5;
    const double ku = (a * a + b * b) / b;
    const double slope = stops ? 2.0 * a : 1.5 * w;
    const double expected_of[] = {a, b, ku, slope / ku, slope * a / (b * ku)};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found[i * size + k], expected_of[i], 1e-12) << i << " of " << k;
  };
  expect(pass, 0, -8.729498983482005, 20.48079080847787, false);
  expect(pass, 1, -0.6952789772873809, 1.6312348869391053, false);
  expect(stop, 0, -1.5707963267948963, 6.083668013960418, true);
  expect(stop, 1, -1.2158935865007519, 8.382491047009394, true);
  expect(stop, 2, -0.6690620056531233, 4.612579862701652, true);
}

// An initial equation beyond those that determine the start is to follow from them, which is looked at.
TEST(Exported, InitialEquationsThatFollowFromOthers) {
  const CompiledModel model =
      compiled("model m\nReal x, y;\ninitial equation\nx = 1;\ny = 2;\nequation\ny = 2 * x;\nder(x) = -x;\nend m;\n");
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("one initial equation too many: initial: y = 2; it needs to follow from the others"),
            std::string::npos)
      << model.warnings[0];
  EXPECT_NE(model.header.find("\"assert: initial: y = 2\", .direction = 1, .terminal = true, .failure = true"),
            std::string::npos)
      << model.header;
}

// Where constants alone say it, it is told at once.
TEST(Exported, InitialEquationsThatContradictOthers) {
  expect_errors(
      "model m\nconstant Real c = 5;\nReal x, y;\ninitial equation\nx = 2;\ny = c;\nequation\ny = 2 * x;\n"
      "der(x) = -x;\nend m;\n",
      {"m.mo:6:1: error: initial: y = c contradicts the others: by them its left side is 4, and its right "
       "side 5"});
  expect_errors("model m\nReal x(start = 1, fixed = true);\ninitial equation\nx = 2;\nequation\nder(x) = -x;\nend m;\n",
                {"m.mo:2:6: error: the fixed start of 'x' is 1, but it is 2 by other equations of the start"});
  EXPECT_EQ(errors_of("model m\nReal x(start = 1, fixed = true);\nequation\nder(x) = -x;\nwhen initial() then\n"
                      "reinit(x, 2);\nend when;\nend m;\n"),
            "");
}

// What reinit sets is a state: of several that constraints bind, the ones that it sets. Anything else is refused.
TEST(Exported, ReinitSetsStates) {
  const auto with_reinit = [](const std::string& variable) {
    return model_text("Real a(start = 1), b, c, p(start = 2); discrete Real d(start = 0);",
                      "der(a) = -b;\nb = 3 * a;\nc = der(b);\nder(p) = -p ^ 2;\nwhen time > 1 then\nreinit(" +
                          variable + ", 6);\nd = 2;\nend when;");
  };
  EXPECT_EQ(compiled(with_reinit("a")).states, (std::vector<std::string>{"a", "p"}));
  EXPECT_EQ(compiled(with_reinit("b")).states, (std::vector<std::string>{"b", "p"}));
  expect_errors(with_reinit("c"), {"m.mo:9:1: error: reinit sets 'c', which is no state, for it follows from others: "
                                   "expected one of the states"});
  expect_errors(with_reinit("d"), {"m.mo:9:1: error: 'd' is discrete: reinit sets states; expected d = ... here"});
  expect_errors(model_text("parameter Real k = 1; Real x;", "der(x) = k;\nwhen x > 1 then\nreinit(k, 2);\nend when;"),
                {"'k' is a parameter: reinit sets states"});
}

TEST(Exported, FreeParametersKeepTheirStart) {
  const CompiledModel model = compiled(
      model_text("parameter Real p(fixed = false, start = 7.5); Real x(start = 1, fixed = true);", "der(x) = -p * x;"));
  EXPECT_EQ(model.states, (std::vector<std::string>{"x", "p"}));
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("no initial equation determines the parameter 'p': it keeps its start value"),
            std::string::npos)
      << model.warnings[0];
}

// A when clause within an if equation is there or not, as parameters say.
TEST(Exported, WhenClausesUnderConditions) {
  const auto text = [](const std::string& condition) {
    return model_text("parameter Boolean b = false, c = true;\nReal x(start = 0.0);\ndiscrete Real d;",
                      "der(x) = 1;\nif " + condition +
                          " then\nwhen x > 0.5 then\nreinit(x, 7);\nd = 3;\nend when;\nelse\nwhen x > 0.6 then\nd = "
                          "4;\nend when;\nend if;");
  };
  const std::string off = compiled(text("b")).header;
  EXPECT_EQ(off.find("0.5 < x"), std::string::npos) << off;
  EXPECT_EQ(off.find("7.0"), std::string::npos) << off;
  EXPECT_NE(off.find("0.6 < x"), std::string::npos) << off;
  const std::string on = compiled(text("c")).header;
  EXPECT_NE(on.find("0.5 < x"), std::string::npos) << on;
  EXPECT_EQ(on.find("0.6 < x"), std::string::npos) << on;
  expect_errors(text("time > 1"),
                {"m.mo:7:4: error: a when clause stands under this condition, which varies: needs one of parameters"});
}

// A loop whose condition depends on variables is written out, turn by turn; how often it may turn is asserted.
TEST(Exported, LoopsThatDependOnVariables) {
  const std::string search =
      "function 'root'\ninput Real 'x';\noutput Real 'y';\nInteger 'i' = 0;\nBoolean 'found' = false;\nalgorithm\n"
      "'y' := 1.0;\nwhile 'i' < 12 and not 'found' loop\n'i' := 'i' + 1;\n'y' := 0.5 * ('y' + 'x' / 'y');\nif abs('y' "
      "* "
      "'y' - 'x') < 1e-13 then\n'found' := true;\nend if;\nend while;\nend 'root';\n";
  const std::string halves =
      "function 'half'\ninput Real 'x';\noutput Real 'y' = 'x';\nalgorithm\nwhile 'y' > 1.0 loop\n'y' := 'y' / "
      "2.0;\nif "
      "'y' < 1.5 then\nbreak;\nend if;\nend while;\nend 'half';\n";
  const CompiledModel model =
      compiled(package_text(search + halves, "Real 'u';\nReal 'v';", "'u' = 'root'(1.0 + time);\n'v' = 'half'(time);"));
  EXPECT_NE(model.header.find("assert: a loop turns more than 64 times"), std::string::npos);
  EXPECT_EQ(model.header.find("assert: a loop turns more than 12 times"), std::string::npos);
  // Only arrays that stand in the loop say how often it turns.
  const CompiledModel beside = compiled(
      "model m\nReal s;\nReal r[5];\nalgorithm\ns := 0;\nwhile s < time loop\ns := s + 1.5;\nend while;\nfor i in "
      "1:5 loop\nr[i] := time * i;\nend for;\nend m;\n");
  EXPECT_NE(beside.header.find("assert: a loop turns more than 64 times"), std::string::npos);
  const std::string large =
      "function 'f'\ninput Real 'x';\noutput Real 'y' = 'x';\nReal 'v'[200];\nalgorithm\nwhile 'y' > 1.0 loop\nfor 'i' "
      "in 1:200 loop\n'v'['i'] := sin('y' + 'i');\nend for;\n'y' := sum('v');\nend while;\nend 'f';\n";
  expect_errors(package_text(large, "Real 'u';", "'u' = 'f'(time);"),
                {"how often this loop turns depends on variables, and it is too long to be written out"});
  // Long arrays in sight of a short loop are no reason to take long.
  const std::string wide =
      "function 'f'\ninput Real 'x';\noutput Real 'y' = 'x';\nReal 'v'[100000];\nalgorithm\nwhile 'y' > 1.0 loop\n'y' "
      ":= "
      "'y' / 2.0;\nend while;\nend 'f';\n";
  expect_errors(package_text(wide, "Real 'u';", "'u' = 'f'(time);"), {"it is too long to be written out"});
}

// A type holds what its variables are to a function, and names may have that of the package in front of them.
TEST(Exported, PrefixesOfTypesAndNamesOfPackages) {
  const CompiledModel model = compiled(package_text(
      "type 'In' = input Real(unit = \"m\");\ntype 'Out' = output Real;\n"
      "function 'f'\n'In' 'u';\n'Out' 'y';\nalgorithm\n'y' := 'P'.'k' * 'u';\nend 'f';\nconstant Real 'k' = 3.0;\n"
      "constant Real 'a'[2] = {5.0, 7.0};\ntype 'E' = enumeration('no', 'yes');\nrecord 'R'\nReal 'u';\nend 'R';",
      "'P'.'E' 'e' = 'P'.'E'.'yes';\n'P'.'R' 'r' = 'P'.'R'('P'.'k');\nReal 'x'(start = 'P'.'a'[2], fixed = true);",
      "der('x') = 'P'.'f'('x') + 'P'.'k' * 'r'.'u';"));
  EXPECT_EQ(model.equations, 3);
  EXPECT_NE(model.header.find("= 3.0 * x + 9.0;"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find(".initial = 7.0"), std::string::npos) << model.header;
  // What the model itself has under the name comes first.
  const CompiledModel own =
      compiled(package_text("constant Real 'k' = 3.0;\nrecord 'R'\nReal 'k';\nend 'R';",
                            "'R' 'P'(k = 4.0);\nReal 'x'(start = 1.0);", "der('x') = 'P'.'k' * 'x';"));
  EXPECT_EQ(own.header.find("3.0"), std::string::npos) << own.header;
  expect_errors(package_text("constant Real 'k' = 3.0;", "Real 'x';", "'x' = 'P'.'q';"), {"unknown name 'P.q'"});
}

// guess(x) is where the search for x begins; decorations link to other files.
TEST(Exported, GuessesAndDecorations) {
  const CompiledModel model = compiled(
      "package 'P'\n@1 model 'P'\nReal 'x';\nparameter equation guess('x') = prioritize(1.5, 1) \"of x\";\nReal 'y' "
      "@2;\n"
      "initial equation\n'y' = guess('x') + 1.0;\nequation\n@17 der('x') = -'x' @ 4;\nder('y') = 'x' * 2.0@5;\nend "
      "'P';\nend 'P';\n");
  EXPECT_NE(model.header.find("1.5"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("2.5"), std::string::npos) << model.header;
  // Where there is a choice, what is prioritized keeps its start.
  const CompiledModel chosen = compiled(
      "model m\nReal x(start = 1), y(start = 2), z;\ninitial equation\nx + y = z;\nprioritize(y, 1);\nequation\nder(x) "
      "= "
      "1;\nder(y) = x;\nz = 7;\nend m;\n");
  ASSERT_EQ(chosen.notes.size(), 1U);
  EXPECT_EQ(chosen.notes[0], "start values taken as fixed: y");
  // Of parameters it is the value.
  const CompiledModel parameters = compiled(
      "model m\nparameter Real k = 3;\nparameter Real a, b;\nReal y;\nparameter equation guess(a) = 2 * k;\n"
      "parameter equation guess(b) = a + 1;\nequation\ny = a * time + b;\nend m;\n");
  EXPECT_NE(parameters.header.find("p[1] = 2.0 * k_;\n    p[2] = p[1] + 1.0;"), std::string::npos) << parameters.header;
  expect_errors("model m\nReal x;\nparameter equation x = 1;\nequation\nx = 1;\nend m;\n",
                {"m.mo:3:20: error: expected 'guess' after 'parameter equation', found 'x'"});
}

// Constructors have lost what they do, `result(re = re, im = im)`; elsewhere an output without a value is an error.
TEST(Exported, ConstructorsWithoutTheirBody) {
  const std::string complex = "record 'C'\nReal 're';\nReal 'im';\nend 'C';\n";
  const std::string inputs = "input Real 're';\ninput Real 'im' = 3.0;\noutput 'C' 'result'";
  for (const std::string& body :
       {inputs + ";\nalgorithm\nannotation(Inline = true);\n", inputs + "('re' = 're', 'im' = 'im');\n"}) {
    const CompiledModel model =
        compiled(package_text(complex + "function 'C.fromReal'\n" + body + "end 'C.fromReal';", "'C' 'z';\nReal 'y';",
                              "'z' = 'C.fromReal'(time);\n'y' = 'z'.'re' * 'z'.'im';"));
    EXPECT_NE(model.header.find("t * 3.0"), std::string::npos) << model.header;
  }
  const CompiledModel local = compiled(package_text(
      complex + "function 'f'\ninput Real 'x';\noutput Real 'y';\nprotected\n'C' 'c'('re' = 'x', 'im' = 2.0);\n"
                "algorithm\n'y' := 'c'.'re' * 'c'.'im';\nend 'f';",
      "Real 'y';", "'y' = 'f'(time);"));
  EXPECT_NE(local.header.find("t * 2.0"), std::string::npos) << local.header;
  expect_errors(package_text("function 'f'\ninput Real 'x';\noutput Real 'y';\nalgorithm\nend 'f';", "Real 'y';",
                             "'y' = 'f'(time);"),
                {"m.mo:4:13: error: the output 'y' of 'f' is never assigned: expected 'y := ...' in its algorithm"});
}

// The zero of a function of one number is an unknown with an equation, or a number.
TEST(Exported, ZerosOfFunctions) {
  const std::string classes =
      "function 'f'\ninput Real 'u';\ninput Real 'h';\noutput Real 'y';\nalgorithm\n'y' := 'u' + 'u' ^ 3 - 'h';\n"
      "end 'f';\nfunction 'inverse'\ninput Real 'h';\noutput Real 'u';\nalgorithm\n"
      "'u' := 'Modelica.Math.Nonlinear.solveOneNonlinearEquation'(function 'f'('h' = 'h'), -4.0, 4.0);\n"
      "end 'inverse';";
  const CompiledModel model =
      compiled(package_text(classes, "Real 'y';\nReal 'z';\nReal 'k';",
                            "'y' = 'inverse'(time);\n'z' = 2.0 * 'inverse'(time);\n'k' = time + 'inverse'(10.0);"));
  EXPECT_EQ(model.equations, 4);
  EXPECT_EQ(model.newton_dimension, 1);
  EXPECT_NEAR(number_after(model.header, "= t + "), 2.0, 1e-15) << model.header;
  EXPECT_NE(model.header.find("the zero of 'f' is not between u_min and u_max"), std::string::npos) << model.header;
  expect_errors(package_text(classes, "Real 'y';", "'y' = time + 'inverse'(100.0);"),
                {"'f' does not change its sign between -4 and 4"});
}

// The kernel of many equations is to be compiled in another way, and says so; programs with several models are not.
TEST(Exported, LargeModelsSayThatTheyAre) {
  const auto header = [](const std::string& n) {
    return compiled(model_text("Real x[" + n + "](each start = 1.0, each fixed = true);",
                               "for i in 1:" + n + " loop\nder(x[i]) = sin(x[i]) * exp(-i * x[i]);\nend for;"))
        .header;
  };
  const std::string small = header("10");
  const std::string large = header("150");
  EXPECT_EQ(small.find("MANYFOLD_LARGE_MODEL"), std::string::npos) << small;
  EXPECT_NE(large.find("#if defined(MANYFOLD_KERNEL_UNIT)\n#define MANYFOLD_LARGE_MODEL\n#endif\n"), std::string::npos)
      << large;
  // A sine, a product, an exponential, a sign and a product; nothing is multiplied by 1.
  EXPECT_EQ(number_after(small, "operations = "), 49.0);
  EXPECT_EQ(number_after(large, "operations = "), 749.0);
}

// Errors that are raised are assertions; what is printed is left out.
TEST(Exported, MessagesOfTheLibrary) {
  const CompiledModel model = compiled(
      package_text("function 'check'\ninput Real 'x';\nalgorithm\nif 'x' > 2.0 then\n"
                   "'Modelica.Utilities.Streams.error'(\"x is too large\");\nend if;\nend 'check';",
                   "Real 'x'(start = 1.0, fixed = true);",
                   "der('x') = 1.0;\n'check'('x');\nwhen 'x' > 1.5 then\n'Modelica.Utilities.Streams.print'(\"now\" + "
                   "String('x'));\nend when;"));
  EXPECT_NE(model.header.find("x is too large"), std::string::npos) << model.header;
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_NE(model.warnings[0].find("this message is not printed"), std::string::npos) << model.warnings[0];
}

// The size of an output with [:] follows from what it is assigned.
TEST(Exported, OutputsOfAnySize) {
  const CompiledModel model = compiled(package_text(
      "function 'f'\ninput Integer 'm';\noutput Real[:] 'y';\nalgorithm\n'y' := {'k' ^ 2.0 for 'k' in 1:'m'};\n"
      "end 'f';",
      "Real 'y';", "'y' = time + sum('f'(3));"));
  EXPECT_NE(model.header.find("t + 14.0"), std::string::npos) << model.header;
}

// What constants give, against what is exact or published.
TEST(Exported, FunctionsThatExportsLeaveOut) {
  const std::string n2 =
      "'Modelica.Media.IdealGases.Common.DataRecord'(\"N2\", 0.0280134, 0.0, 309498.4543111511, 1000.0, {22103.71497, "
      "-381.846182, 6.08273836, -0.00853091441, 1.384646189e-5, -9.62579362e-9, 2.519705809e-12}, {710.846086, "
      "-10.76003744}, {587712.406, -2239.249073, 6.06694922, -6.1396855e-4, 1.491806679e-7, -1.923105485e-11, "
      "1.061954386e-15}, {12832.10415, -15.86640027}, 296.80474344420884)";
  const std::string pipe = "(DP, 998.0, 998.0, 1e-3, 1e-3, 5.0, 0.02, 3.141592653589793e-4, 745.0, 4000.0, 1e-3)";
  const auto friction = [&](const std::string& dp) {
    std::string call = "'A.B.WallFriction.Internal.m_flow_of_dp_fric'" + pipe;
    return call.replace(call.find("DP"), 2, dp);
  };
  const CompiledModel model = compiled(package_text(
      "record 'Modelica.Media.IdealGases.Common.DataRecord'\nString 'name';\nReal 'MM';\nReal 'Hf';\nReal 'H0';\nReal "
      "'Tlimit';\nReal 'alow'[7];\nReal 'blow'[2];\nReal 'ahigh'[7];\nReal 'bhigh'[2];\nReal 'R_s';\nend "
      "'Modelica.Media.IdealGases.Common.DataRecord';",
      "Real 'y'[15];",
      "'y'[1] = time + 'Modelica.Math.Vectors.length'({2.0, -3.0, 6.0});\n"
      "'y'[2] = time + ('Modelica.Math.Vectors.normalize'({3.0, 4.0}))[2];\n"
      "'y'[3] = time + 'Modelica.Math.Vectors.norm'({3.0, -4.0}, 1.0);\n"
      "'y'[15] = time + ('Modelica.Math.Matrices.solve'({{0.0, 2.0, 1.0}, {1.0, 0.0, 3.0}, {4.0, 1.0, 0.0}}, {7.0, "
      "10.0, 6.0}))[3];\n"
      "'y'[4] = time + 'Modelica.Fluid.Utilities.regStep'(0.0, 3.0, 5.0, 0.1);\n"
      "'y'[5] = time + 'Modelica.Fluid.Utilities.regFun3'(0.25, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0);\n"
      "'y'[6] = time + 'Modelica.Fluid.Utilities.regFun3'(1.0, 0.0, 1.0, 0.0, 1.0, 9.0, 9.0);\n"
      "'y'[7] = time + " +
          friction("1.0") + ";\n'y'[8] = time + " + friction("-20000.0") +
          ";\n'y'[9] = time + 'Modelica.Media.IdealGases.Common.Functions.cp_T'(" + n2 +
          ", 298.15);\n'y'[10] = time + 'Modelica.Media.IdealGases.Common.Functions.h_T'(" + n2 +
          ", 298.15);\n'y'[11] = time + 'A.Medium.Utilities.spliceFunction'(1.0, 3.0, 0.0);\n"
          "'y'[12] = time + 'Modelica.Units.Conversions.from_degC'(20.0);\n"
          "'y'[13] = time + 'Modelica.Fluid.Utilities.regFun3'(0.5, 0.0, 1.0, 0.0, 1.0, 9.0, 9.0);\n"
          "'y'[14] = time + 'A.WallFriction.pressureLoss_m_flow.interpolateInRegion2'(4000.0, 745.0, 4000.0, 1e-3);"));
  const auto value = [&](int k) { return number_after(model.header, "y_" + std::to_string(k) + " = t + "); };
  EXPECT_DOUBLE_EQ(value(1), 7.0);
  EXPECT_DOUBLE_EQ(value(2), 0.8);
  EXPECT_DOUBLE_EQ(value(3), 7.0);
  EXPECT_DOUBLE_EQ(value(4), 4.0);
  EXPECT_DOUBLE_EQ(value(5), 0.25);
  EXPECT_DOUBLE_EQ(value(6), 1.0);
  EXPECT_NEAR(value(13), 0.5, 1e-14);  // by symmetry
  // Hagen and Poiseuille: pi d^4 rho dp / (128 mu L).
  EXPECT_NEAR(value(7), 3.14159265358979 * 1.6e-7 * 998.0 / (128.0 * 1e-3 * 5.0), 1e-12);
  // Colebrook and White at this pressure difference, iterated by hand.
  const double lambda2 = 20000.0 * 2.0 * 8e-6 * 998.0 / (5.0 * 1e-6);
  const double reynolds = -2.0 * std::sqrt(lambda2) * std::log10(2.51 / std::sqrt(lambda2) + 0.27e-3);
  EXPECT_NEAR(value(8), -3.141592653589793e-4 / 0.02 * 1e-3 * reynolds, 1e-12);
  // JANAF: 29.124 J/(mol K); 8.670 kJ/mol from 0 K.
  EXPECT_NEAR(value(9) * 0.0280134, 29.124, 5e-4);
  EXPECT_NEAR(value(10) * 0.0280134, 8670.0, 1.0);
  EXPECT_DOUBLE_EQ(value(11), 2.0);
  EXPECT_DOUBLE_EQ(value(12), 293.15);
  // Where the transition ends, the friction is Swamee's and Jain's.
  EXPECT_NEAR(value(14), 0.25 * std::pow(4000.0 / std::log10(1e-3 / 3.7 + 5.74 / std::pow(4000.0, 0.9)), 2), 1e-3);
  EXPECT_NEAR(value(15), 3.0, 1e-14);
}

// A step looks beyond an event before it is found: roots in branches of if stay in their domain there.
TEST(Exported, RootsInBranchesStayInTheirDomain) {
  const CompiledModel model =
      compiled(model_text("parameter Real g = 9.81, top = 2; Real h(start = 1), e(start = 3), u(start = 1), q;",
                          "q = if h > 0 then 0.5 * sqrt(2 * g * h) else 0;\nder(h) = -q;\n"
                          "der(e) = if e <= top or time < 0 then 0 else -(e - top) ^ 1.5;\n"
                          "der(u) = noEvent(if u > 0 then -sqrt(u) else 0);"));
  EXPECT_NE(model.header.find("max(h, 0.0)"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("pow(max(e - top, 0.0), 1.5)"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("sqrt(u)"), std::string::npos) << model.header;
}

// A speed that reinit sets is a state beside the angle whose derivative it is, though what positions follow from makes
// no constant choice.
TEST(Exported, SpeedsThatReinitSetsAreStates) {
  const CompiledModel model = compiled(package_text(
      "", "Real 'x', 'y', 'vx', 'vy', 'force', 'phi'(start = 1.2, fixed = true), 'w'(start = 0.0, fixed = true);",
      "'x' = sin('phi');\n'y' = -cos('phi');\nder('x') = 'vx';\nder('y') = 'vy';\nder('phi') = 'w';\n"
      "der('vx') = -'force' * 'x';\nder('vy') = -'force' * 'y' - 9.81;\n"
      "when 'x' < -0.3 then\nreinit('w', -0.8 * 'w');\nend when;"));
  EXPECT_EQ(model.states, (std::vector<std::string>{"phi", "w"}));
}

// An operational amplifier between its limits whose output is led back to its input is a trigger: no event tells its
// way from one limit to the other. Negative feedback has its events.
TEST(Exported, LoopsWithPositiveFeedbackFollowTheirSolution) {
  const auto amplifier = [](const char* input) {
    return compiled(package_text(
        "", "parameter Real 'high' = 15.0, 'low' = -15.0;\nReal 'u', 'v', 'c'(start = 0.0, fixed = true);",
        "'u' = " + std::string(input) +
            ";\nder('c') = 'v' - 'c';\n"
            "'v' = smooth(0, if 1e4 * 'u' > 'high' then 'high' else if 1e4 * 'u' < 'low' then 'low' else 1e4 * 'u');"));
  };
  EXPECT_EQ(amplifier("'v' / 3.0 - 'c'").header.find("manyfold::Event"), std::string::npos);
  EXPECT_NE(amplifier("'c' - 'v' / 3.0 + sin(time)").header.find("manyfold::Event"), std::string::npos);
}

// Messages name discrete variables, which result files hold.
TEST(Exported, MessagesAreNames) {
  const CompiledModel model = compiled(model_text(
      "Real x(start = 1);", "der(x) = -x;\nwhen x < 0.5 then\nassert(x > 2, \"a/b\nis \" + String(x));\nend when;"));
  EXPECT_NE(model.header.find("{.name = \"ends: a|b|is\""), std::string::npos) << model.header;
}

// What follows from the time alone may be delayed.
TEST(Exported, DelaysOfSources) {
  const CompiledModel model = compiled(model_text("parameter Real T = 0.5; Real u = 2 * v, v, y, z;",
                                                  "v = sin(time);\ny = delay(u + 1, T);\nz = delay(y, 1.0, 2.0);"));
  EXPECT_NE(model.header.find("1.0, 2.0 * sin(t - T) + 1.0);"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("2.0 * sin(t - 1.0 - T) + 1.0"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("{.name = \"time <= T\", .scheduled = 1}"), std::string::npos) << model.header;
  expect_errors(model_text("Real x, y;", "x = delay(y, 1);\ny = x + time;"),
                {"what is delayed depends on a delay itself"});
  expect_errors(model_text("Real x;", "x = delay(time, -1);"), {"the time of a delay is negative"});
}

TEST(Exported, OtherThingsAreRefusedWithTheirReason) {
  expect_errors(model_text("Real a, b;", "(a, b) = spatialDistribution(1.0, 2.0, time, true);"),
                {"discretise the transport in space"});
  expect_errors(model_text("Real y;", "y = time;\nalgorithm\n#UNKNOWN STATEMENT#;"),
                {"m.mo:6:1: error: the export has lost a statement here"});
  expect_errors(model_text("Real y;", "y = if \"a\" < \"b\" then 1 else 2;"),
                {"strings that compute are not supported"});
  expect_errors("model m\nReal y;\nequation\npartition\nClock c = Clock(0.1);\nend m;\n",
                {"clocked models are not supported"});
}

}  // namespace
