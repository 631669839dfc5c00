// Records: in arrays, with members that are declared, modified and assigned in every way, as exports have them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::modelica::CompiledModel;
using manyfold::test::compiled;
using manyfold::test::expect_errors;
using manyfold::test::model_text;
using manyfold::test::number_after;
using manyfold::test::package_text;

// Values of functions, one after the other, by what constants give.
std::vector<double> values_of(const std::string& classes, const std::vector<std::string>& calls) {
  std::string equations;
  for (std::size_t k = 1; k <= calls.size(); ++k) {
    equations += "y[" + std::to_string(k) + "] = time + " + calls[k - 1] + ";\n";
  }
  const CompiledModel model =
      compiled(package_text(classes, "Real y[" + std::to_string(calls.size()) + "];", equations));
  std::vector<double> values;
  for (std::size_t k = 1; k <= calls.size(); ++k) {
    values.push_back(number_after(model.header, "y_" + std::to_string(k) + " = t + "));
  }
  return values;
}

const std::string points = "record 'P'\nReal 'x';\nReal 'y';\nend 'P';\n";

// Arrays of records are assigned as a whole, by elements and by members, and each branch of a condition has its own.
TEST(Records, ArraysOfRecordsInFunctions) {
  const std::vector<double> values = values_of(
      points +
          "function 'f'\ninput Real 'a';\ninput Integer 'k';\noutput Real 'b';\n'P' 'ps'[2];\nalgorithm\n"
          "'ps'[1].'x' := 'a';\n'ps'[1].'y' := 2.0 * 'a';\n'ps'[2] := 'P'(3.0 * 'a', 4.0 * 'a');\n'ps'['k'].'y' := "
          "7.0;\n'b' := 'ps'[1].'x' + 10.0 * 'ps'[1].'y' + 100.0 * 'ps'[2].'x' + 1000.0 * 'ps'[2].'y';\nend 'f';\n"
          "function 'g'\ninput Real 'a';\noutput Real 'b';\n'P' 'ps'[2];\nalgorithm\nif 'a' > 0.5 then\n'ps' := "
          "{'P'(1.0, 2.0), 'P'(3.0, 4.0)};\nelse\n'ps' := {'P'(5.0, 6.0), 'P'(7.0, 8.0)};\nend if;\n'b' := 'ps'[1].'x' "
          "+ 10.0 * 'ps'[2].'y';\nend 'g';",
      {"'f'(1.0, 1)", "'f'(1.0, 2)", "'g'(1.0)", "'g'(0.0)"});
  EXPECT_EQ(values, (std::vector<double>{4371.0, 7321.0, 41.0, 85.0}));
  // Where the condition varies, both branches are in the equations.
  const CompiledModel model = compiled(package_text(points, "'P' 'ps'[2];\nReal 'z';",
                                                    "'ps' = if time > 0.5 then {'P'(1.0, 2.0), 'P'(3.0, 4.0)} else "
                                                    "{'P'(5.0, 6.0), 'P'(7.0, 8.0)};\n'z' = 'ps'[2].'y';"));
  EXPECT_NE(model.header.find("4.0, 8.0)"), std::string::npos) << model.header;
  expect_errors(package_text(points, "'P' 'ps'[2];", "'ps' = {'P'(1.0, 2.0), time};"),
                {"the elements of an array differ: a record and a number"});
}

const std::string segments = points + "record 'S'\n'P' 'ends'[2];\nReal 'w'[3];\nend 'S';\n";

// Records stand in arrays of several dimensions; subscripts choose elements, rows and columns of them.
TEST(Records, RecordsInArraysOfSeveralDimensions) {
  const std::vector<double> values = values_of(
      points +
          "function 'f'\ninput Integer 'k';\noutput Real 'b';\n'P' 'm'[2, 3];\n'P' 'row'[3];\n'P' 'column'[2];\n"
          "algorithm\nfor 'i' in 1:2 loop\nfor 'j' in 1:3 loop\n'm'['i', 'j'] := 'P'(10.0 * 'i' + 'j', 0.0);\n"
          "end for;\nend for;\n'm'[2, 1].'y' := 7.0;\n'row' := 'm'[2, :];\n'column' := 'm'[:, 3];\n'b' := "
          "'row'['k'].'x' + 100.0 * 'column'[1].'x' + 10000.0 * 'row'[1].'y';\nend 'f';\n"
          "function 'g'\ninput 'P' 'm'[:, :];\noutput Real 'b' = sum('m'.'x') + 100.0 * size('m', 2);\nend 'g';",
      {"'f'(1)", "'f'(3)", "'g'(fill('P'(1.0, 2.0), 2, 3))", "'g'({{'P'(1.0, 2.0)}, {'P'(3.0, 2.0)}})"});
  EXPECT_EQ(values, (std::vector<double>{71321.0, 71323.0, 306.0, 104.0}));
  const CompiledModel model = compiled(package_text(
      points, "'P' 'm'[2, 2];\nReal 'a'[2];",
      "for 'i' in 1:2 loop\n'm'[1, 'i'] = 'P'(1.0 * 'i', time);\nend for;\n'm'[2, :] = {'P'(3.0, time), 'm'[1, 1]};\n"
      "'a' = time * 'm'[:, 2].'x';"));
  EXPECT_EQ(model.equations, 10);
  EXPECT_NE(model.header.find("\"m[2,2].y\""), std::string::npos) << model.header;
  expect_errors(package_text(points, "'P' 'm'[2, 3];\n'P' 'n'[3, 2];", "'m' = fill('P'(1.0, time), 2, 3);\n'n' = 'm';"),
                {"the sides differ: an array of records [3, 2] and an array of records [2, 3]"});
}

// Subscripts behind a member are those of the member, of each record of the array.
TEST(Records, MembersOfRecordsInArrays) {
  const std::vector<double> values = values_of(
      segments +
          "function 'f'\ninput 'S' 's'[2];\noutput Real 'b';\nprotected\nReal 'v'[2] = 's'.'w'[3];\n"
          "algorithm\n'b' := 'v'[1] + 10.0 * 'v'[2] + sum('s'.'ends'[2].'y');\nend 'f';\n",
      {"'f'({'S'({'P'(1.0, 2.0), 'P'(3.0, 4.0)}, {5.0, 6.0, 7.0}), 'S'(fill('P'(8.0, 9.0), 2), fill(3.0, 3))})"});
  EXPECT_EQ(values, (std::vector<double>{50.0}));
  const CompiledModel model = compiled(
      package_text(segments, "'S' 's'[2];",
                   "'s'.'w'[1] = {time, 2.0 * time};\n's'.'w'[2:3] = fill(time, 2, 2);\n's'.'ends'.'x' = "
                   "fill(time, 2, 2);\n's'[1].'ends'.'y' = {time, time};\n's'[2].'ends'[:].'y' = {time, time};"));
  EXPECT_EQ(model.equations, 14);
}

// Arrays of records within arrays of records have the parts of their own in what is bound to the whole, and modifiers
// have one value for each element, or for all.
TEST(Records, ValuesOfRecordsInArrays) {
  const CompiledModel model = compiled(package_text(
      segments,
      "parameter 'S' 's'[2] = {'S'({'P'(100.0 * 'i' + 'j', 0.5) for 'j' in 1:2}, {1.0, 2.0, 3.0}) for 'i' in 1:2};\n"
      "'S' 'q'[2]('ends'('x'(start = {{1.0, 2.0}, {3.0, 4.0}}, each fixed = true), each 'y' = 1.0), 'w' = {{1.0, 2.0, "
      "3.0}, {4.0, 5.0, 6.0}});\nReal 'z'[2];",
      "der('q'.'ends'.'x') = fill(1.0, 2, 2);\n'z' = time * 'q'.'w'[2];"));
  EXPECT_EQ(model.states,
            (std::vector<std::string>{"q[1].ends[1].x", "q[1].ends[2].x", "q[2].ends[1].x", "q[2].ends[2].x"}));
  for (const char* parameter :
       {"s[1].ends[2].x\", .value = 102.0", "s[2].ends[1].x\", .value = 201.0", "s[2].w[3]\", .value = 3.0"}) {
    EXPECT_NE(model.header.find(parameter), std::string::npos) << parameter << model.header;
  }
}

// Members that the file declares by themselves are part of the record that it declares as a whole.
TEST(Records, MembersDeclaredBesideTheirRecord) {
  const CompiledModel model = compiled(package_text(
      segments,
      "Real 's'.'ends[1]'.'x';\nReal 's'.'ends[1]'.'y';\nReal 's'.'ends[2]'.'x';\nReal 's'.'ends[2]'.'y';\n"
      "'S' 's';\n'P' 'p';",
      "'s'.'ends' = {'p', 'P'(time, 2.0)};\n's'.'w' = fill(time, 3);\n'p' = 'P'(time, 1.0);"));
  EXPECT_EQ(model.equations, 9);
}

// A constant of a record is on both sides of an equation of the records, and no equation.
TEST(Records, ConstantsOfRecords) {
  const auto text = [](const std::string& equations) {
    return package_text("record 'R'\nReal 'x';\nfinal constant Integer 'n' = 3;\nend 'R';\n", "'R' 'a';\n'R' 'b';",
                        equations);
  };
  EXPECT_EQ(compiled(text("'a' = 'R'(time, 3);\n'b' = 'a';")).equations, 2);
  expect_errors(text("'a' = 'R'(time, 4);\n'b' = 'a';"),
                {"m.mo:11:1: error: the constant 'n' differs on the two sides: 3 "
                 "and 4"});
}

// When clauses and algorithms set whole records.
TEST(Records, RecordsAreSetAsAWhole) {
  const CompiledModel model =
      compiled(points +
               "model m\n'P' 'p', 'r';\ndiscrete 'P' 'd';\nequation\nwhen time > 0.5 then\n'd' = 'P'(time, 3.0);\nend "
               "when;\nalgorithm\n'p' := 'P'(time, 2.0 * time);\n'p'.'y' := 'p'.'y' + 1.0;\n'r' := 'p';\nend m;\n");
  EXPECT_EQ(model.equations, 4);
  EXPECT_NE(model.header.find("{.name = \"d.y\""), std::string::npos) << model.header;
  expect_errors(model_text("Real v[2];", "v = {time, time};\nalgorithm\nv := {time, 1.0, 2.0};"),
                {"'v' is an array [2], and is assigned an array [3]"});
}

}  // namespace
