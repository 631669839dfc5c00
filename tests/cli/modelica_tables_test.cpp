// Tables of exports: of one and two abscissas, of the time, and by a loop of a function.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/known_exports.hpp"

namespace {

using manyfold::test::integral;
using manyfold::test::zero_at_start;
using nlohmann::json;

class ModelicaTables : public manyfold::test::KnownExports {};

const std::string table_library = R"(
function 'value'
  input 'Table' 'id'; input Integer 'column'; input Real 'u';
  output Real 'y';
external "C" 'y' = ModelicaStandardTables_CombiTable1D_getValue('id', 'column', 'u') annotation(Library = {"a"});
  annotation(derivative(order = 1) = 'slope');
end 'value';
function 'timeValue'
  input 'TimeTable' 'id'; input Integer 'column'; input Real 't'; input Real 'next'; input Real 'before';
  output Real 'y';
external "C" 'y' = ModelicaStandardTables_CombiTimeTable_getValue('id', 'column', 't', 'next', 'before');
end 'timeValue';
function 'nextEvent'
  input 'TimeTable' 'id'; input Real 't';
  output Real 'y';
external "C" 'y' = ModelicaStandardTables_CombiTimeTable_nextTimeEvent('id', 't');
end 'nextEvent';
function 'last'
  input 'Table' 'id';
  output Real 'y';
external "C" 'y' = ModelicaStandardTables_CombiTable1D_maximumAbscissa('id');
end 'last';
function 'surface'
  input 'Surface' 'id'; input Real 'u1'; input Real 'u2';
  output Real 'y';
external "C" 'y' = ModelicaStandardTables_CombiTable2D_getValue('id', 'u1', 'u2');
end 'surface';
type 'Smoothness' = enumeration('Linear', 'Continuous', 'Constant', 'Monotone1', 'Monotone2', 'Modified');
type 'Extrapolation' = enumeration('Hold', 'LastTwo', 'Periodic', 'No');
class 'Table'
extends ExternalObject;
  function constructor
    input String 'tableName'; input String 'fileName'; input Real[:, :] 'table'; input Integer[:] 'columns';
    input 'Smoothness' 'smoothness'; input 'Extrapolation' 'extrapolation'; input Boolean 'verboseRead' = true;
    output 'Table' 'object';
  external "C" 'object' = ModelicaStandardTables_CombiTable1D_init3('fileName', 'table', size('table', 1));
  end constructor;
  function destructor
    input 'Table' 'object';
  external "C" ModelicaStandardTables_CombiTable1D_close('object');
  end destructor;
end 'Table';
class 'Surface'
extends ExternalObject;
  function constructor
    input String 'tableName'; input String 'fileName'; input Real[:, :] 'table'; input 'Smoothness' 'smoothness';
    input 'Extrapolation' 'extrapolation' = 'Extrapolation'.'LastTwo'; input Boolean 'verboseRead' = true;
    output 'Surface' 'object';
  external "C" 'object' = ModelicaStandardTables_CombiTable2D_init3('fileName', 'table', size('table', 1));
  end constructor;
end 'Surface';
class 'TimeTable'
extends ExternalObject;
  function constructor
    input String 'tableName'; input String 'fileName'; input Real[:, :] 'table'; input Real 'startTime';
    input Integer[:] 'columns'; input 'Smoothness' 'smoothness'; input 'Extrapolation' 'extrapolation';
    output 'TimeTable' 'object';
  external "C" 'object' = ModelicaStandardTables_CombiTimeTable_init3('fileName', 'table', 'startTime');
  end constructor;
end 'TimeTable';
)";

// u goes from -1 to 7 through tables from 0 to 5, 3 - u/2 through the second abscissa from 0 to 2.5. The integrals are
// those of SciPy's interpolators.
TEST_F(ModelicaTables, TablesOfAllKinds) {
  std::string declarations = "Real 'u' = 8.0 * time / 6.0 - 1.0;\nparameter Real 'end' = 'last'('t1');\n";
  std::string equations;
  const char* kinds[] = {"Linear", "Continuous", "Constant", "Monotone1", "Monotone2", "Modified", "Linear"};
  for (int k = 1; k <= 7; ++k) {
    declarations += fmt::format(
        "parameter 'Table' 't{0}' = 'Table'(\"NoName\", \"NoName\", {{{{0.0, 1.0}}, {{1.0, 3.0}}, {{2.0, 2.0}}, "
        "{{4.0, 2.5}}, {{5.0, 0.0}}}}, {{2}}, 'Smoothness'.'{1}', 'Extrapolation'.'{2}', false);\n",
        k, kinds[k - 1],
        k == 3   ? "Hold"
        : k == 7 ? "Periodic"
                 : "LastTwo");
    declarations += zero_at_start(fmt::format("i{}", k));
    equations += integral(fmt::format("i{}", k), fmt::format("'value'('t{}', 1, 'u')", k));
  }
  for (const auto& [k, kind] :
       {std::pair(8, "Linear', 'Extrapolation'.'LastTwo"), std::pair(9, "Constant', 'Extrapolation'.'Hold")}) {
    declarations += fmt::format(
        "parameter 'Surface' 't{0}' = 'Surface'(\"NoName\", \"NoName\", {{{{0.0, 0.0, 1.0, 2.5}}, {{0.0, 1.0, 2.0, "
        "0.0}}, {{1.0, "
        "3.0, 1.0, 4.0}}, {{3.0, 2.0, 2.0, 5.0}}, {{5.0, 0.0, 3.0, 1.0}}}}, 'Smoothness'.'{1}');\n",
        k, kind);
    declarations += zero_at_start(fmt::format("i{}", k));
    equations += integral(fmt::format("i{}", k), fmt::format("'surface'('t{}', 'u', 3.0 - 0.5 * 'u')", k));
  }
  solve(table_library, declarations, "equation\n" + equations + "annotation(experiment(StopTime = 6));\n",
        [](const json& values) {
          const double expected[] = {3.9375, 1.822477921, 8.625, 4.21875, 4.21875, 2.788659873, 12.0, 5.09375, 4.5};
          for (int k = 1; k <= 9; ++k) expect(values, fmt::format("i{}", k).c_str(), expected[k - 1], 1e-5);
        },
        {"radau5", "bdf"});
}

// Some exports call the library's functions of tables and leave them out. u goes from 0 to 3.
TEST_F(ModelicaTables, TablesWhoseFunctionsAreLeftOut) {
  const std::string prefix = "'Modelica.Blocks.Tables.Internal.get";
  solve(
      table_library,
      "Real 'u' = 0.5 * time;\nReal 'n'(start = 0.0);\n"
      "parameter 'Table' 't' = 'Table'(\"NoName\", \"NoName\", {{0.0, 1.0}, {1.0, 3.0}, {2.0, 2.0}}, {2}, "
      "'Smoothness'.'Linear', 'Extrapolation'.'Hold', false);\n"
      "parameter 'TimeTable' 's' = 'TimeTable'(\"NoName\", \"NoName\", {{0.0, 1.0}, {2.0, 3.0}}, 0.0, {2}, "
      "'Smoothness'.'Linear', 'Extrapolation'.'Hold');\n"
      "parameter 'Surface' 'p' = 'Surface'(\"NoName\", \"NoName\", {{0.0, 0.0, 1.0}, {0.0, 1.0, 2.0}, "
      "{3.0, 7.0, 8.0}}, 'Smoothness'.'Linear');\n" +
          zero_at_start("a") + zero_at_start("b") + zero_at_start("c") + zero_at_start("d"),
      "equation\nwhen {time >= pre('n'), initial()} then\n'n' = " + prefix + "NextTimeEvent'('s', time);\nend when;\n" +
          integral("a", prefix + "Table1DValueNoDer2'('t', 1, 'u')") +
          integral("b", prefix + "DerTable1DValueNoDer'('t', 1, 'u', 0.5) + " + prefix + "Table1DAbscissaUmax'('t')") +
          integral("c", prefix + "TimeTableValueNoDer'('s', 1, time, 'n', pre('n'))") +
          integral("d", prefix + "Table2DValue'('p', 'u', 0.5)") + "annotation(experiment(StopTime = 6));\n",
      [](const json& values) {
        expect(values, "a", 2.0 * (2.0 + 2.5 + 2.0));
        expect(values, "b", 1.0 + 6.0 * 2.0);
        expect(values, "c", 4.0 + 4.0 * 3.0);
        expect(values, "d", 6.0 * 4.5);
      },
      {"radau5"});
}

TEST_F(ModelicaTables, TablesOfTimeChangeAtTheirEvents) {
  std::string declarations;
  std::string equations;
  const char* kinds[][2] = {{"Constant", "Hold"}, {"Linear", "Periodic"}, {"Linear", "LastTwo"}};
  for (int k = 1; k <= 3; ++k) {
    declarations += fmt::format(
        "parameter 'TimeTable' 't{0}' = 'TimeTable'(\"NoName\", \"NoName\", {{{{0.0, 0.0}}, {{1.0, 1.0}}, {{1.0, "
        "2.0}}, {{2.5, 0.5}}}}, -1e60, {{2}}, 'Smoothness'.'{1}', 'Extrapolation'.'{2}');\n"
        "discrete Real 'n{0}'(start = 0.0, fixed = true);\ndiscrete Real 's{0}'(start = 0.0, fixed = true);\n",
        k, kinds[k - 1][0], kinds[k - 1][1]);
    declarations += zero_at_start(fmt::format("i{}", k));
    equations += fmt::format(
        "when {{time >= pre('n{0}'), initial()}} then\n's{0}' = 'nextEvent'('t{0}', time);\n"
        "'n{0}' = if 's{0}' < 1e60 then 's{0}' else 1e60;\nend when;\n",
        k);
    equations += integral(fmt::format("i{}", k), fmt::format("'timeValue'('t{0}', 1, time, 's{0}', pre('s{0}'))", k));
  }
  solve(table_library, declarations, "equation\n" + equations + "annotation(experiment(StopTime = 6));\n",
        [](const json& values) {
          expect(values, "i1", 3.0 + 3.5 * 0.5);
          expect(values, "i2", 2.0 * 2.375 + 0.5);
          expect(values, "i3", 2.375 + 3.5 * 0.5 - 0.5 * 3.5 * 3.5);
        },
        {"radau5"});
}

// As Modelica.Blocks.Sources.TimeTable does: a loop of a function looks for the interval, and says when the next
// begins.
TEST_F(ModelicaTables, ALoopSearchesATable) {
  solve(
      "function 'search'\ninput Real[:, 2] 'table';\ninput Real 't';\ninput Integer 'last';\noutput Real 'a';\n"
      "output Real 'until';\noutput Integer 'next';\nalgorithm\n'next' := 'last';\n"
      "while 'next' < size('table', 1) and 't' + 1e-12 >= 'table'['next', 1] loop\n'next' := 'next' + 1;\nend while;\n"
      "'until' := 'table'['next', 1];\n'a' := 'table'['next' - 1, 2];\nend 'search';\n",
      "discrete Real 'a';\ndiscrete Real 'until'(start = 0.0, fixed = true);\nInteger 'last'(start = 1, fixed = "
      "true);\n"
      "Real 'x'(start = 0.0, fixed = true);\n",
      "algorithm\nwhen {time >= pre('until'), initial()} then\n('a', 'until', 'last') := 'search'({{0.0, 1.0}, {1.0, "
      "2.0}, {2.5, -1.0}, {4.0, 0.0}}, time, 'last');\nend when;\nequation\nder('x') = 'a';\n"
      "annotation(experiment(StopTime = 3.5));\n",
      [](const json& values) {
        expect(values, "last", 4.0);
        expect(values, "x", 3.0);
      },
      {"rodas5p"});
}

}  // namespace
