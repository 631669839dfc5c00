#include "host/sampling/ensemble_inputs.hpp"

#include <gtest/gtest.h>
#include <netcdf.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include <manyfold/error.hpp>

#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

using Kind = SampledQuantity::Kind;

ModelDescription model() {
  ModelDescription description;
  description.name = "tank";
  description.variables = {{"level", "m", "", 1.0, false}, {"flow", "m3/s", "", 0.0, true}};
  description.parameters = {{"area", "m2", "", 2.0}, {"valve", "1", "", 0.5}, {"pump", "1", "", 0.25}};
  description.t_begin = 0.0;
  description.t_end = 10.0;
  return description;
}

struct Row {
  std::array<double, 3> parameters;
  std::array<double, 2> initial;
  std::array<double, 2> t_span;
};

Row row(const EnsembleInputs& inputs, std::int64_t instance) {
  Row result;
  inputs.fill(instance, result.parameters.data(), result.initial.data(), result.t_span.data());
  return result;
}

class TableFile : public test::InTemporaryFolder {
 protected:
  std::filesystem::path csv(const std::string& text) const {
    const auto path = folder_ / "cases.csv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // What read_table and tabulated say of a file with `text`, without the folder's name.
  std::string complaint(const std::string& text) const {
    try {
      EnsembleInputs::tabulated(model(), read_table(csv(text)));
    } catch (const UsageError& error) {
      std::string message = error.what();
      for (auto at = message.find(folder_.string()); at != std::string::npos; at = message.find(folder_.string())) {
        message.erase(at, folder_.string().size() + 1);
      }
      return message;
    }
    return "accepted";
  }
};

TEST(EnsembleInputs, WhatIsNotNamedKeepsTheModelsValue) {
  const auto inputs = EnsembleInputs::sampled(model(), {"monte_carlo", 5, 1},
                                              {{Kind::parameter, "valve", Distribution::uniform(10.0, 11.0), 0},
                                               {Kind::parameter, "pump", Distribution::constant(3.0), 0}});
  EXPECT_EQ(inputs.instances(), 5);
  const Row first = row(inputs, 4);
  EXPECT_EQ(first.parameters[0], 2.0);
  EXPECT_GT(first.parameters[1], 10.0);
  EXPECT_LT(first.parameters[1], 11.0);
  EXPECT_EQ(first.parameters[2], 3.0);
  EXPECT_TRUE(std::isnan(first.initial[0]));
  EXPECT_TRUE(std::isnan(first.initial[1]));
  EXPECT_EQ(first.t_span, (std::array{0.0, 10.0}));
  EXPECT_EQ(inputs.sampled_parameters(), std::vector<int>{1});
  EXPECT_TRUE(inputs.sampled_initial().empty());
  EXPECT_EQ(inputs.sampled_times(), (std::array{false, false}));
}

TEST(EnsembleInputs, FillsAreTheSameInAnyOrderAndOnAnyThread) {
  for (const std::string sampler : {"monte_carlo", "latin_hypercube", "sobol"}) {
    const auto inputs = EnsembleInputs::sampled(model(), {sampler, 1000, 3},
                                                {{Kind::parameter, "area", Distribution::lognormal(1.0, 0.5), 0},
                                                 {Kind::initial, "level", Distribution::normal(0.0, 1.0), 0}});
    std::vector<Row> forwards(1000);
    std::vector<Row> backwards(1000);
    for (int i = 0; i < 1000; ++i) forwards[static_cast<std::size_t>(i)] = row(inputs, i);
    const auto work = [&](int from, int to) {
      for (int i = to - 1; i >= from; --i) backwards[static_cast<std::size_t>(i)] = row(inputs, i);
    };
    std::thread other(work, 0, 500);
    work(500, 1000);
    other.join();
    EXPECT_EQ(std::memcmp(forwards.data(), backwards.data(), 1000 * sizeof(Row)), 0) << sampler;
  }
}

TEST(EnsembleInputs, SampledMeanAndDeviationAreThoseOfTheDistribution) {
  constexpr int n = 20000;
  const auto inputs = EnsembleInputs::sampled(model(), {"monte_carlo", n, 11},
                                              {{Kind::initial, "flow", Distribution::normal(5.0, 2.0), 0}});
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < n; ++i) {
    const double value = row(inputs, i).initial[1];
    sum += value;
    squares += (value - 5.0) * (value - 5.0);
  }
  EXPECT_NEAR(sum / n, 5.0, 4.0 * 2.0 / std::sqrt(n));                     // four standard errors of the mean
  EXPECT_NEAR(std::sqrt(squares / n), 2.0, 4.0 * 2.0 / std::sqrt(2 * n));  // and of the deviation
}

TEST(EnsembleInputs, GridIsAFullFactorialWhoseLastQuantityRunsFastest) {
  const auto inputs = EnsembleInputs::sampled(model(), {"grid", 0, 0},
                                              {{Kind::parameter, "valve", Distribution::uniform(0.0, 1.0), 3},
                                               {Kind::initial, "level", Distribution::choice({7.0, 9.0}), 0}});
  ASSERT_EQ(inputs.instances(), 6);
  const double expected[6][2] = {{0.0, 7.0}, {0.0, 9.0}, {0.5, 7.0}, {0.5, 9.0}, {1.0, 7.0}, {1.0, 9.0}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(row(inputs, i).parameters[1], expected[i][0]) << i;
    EXPECT_EQ(row(inputs, i).initial[0], expected[i][1]) << i;
  }
  EXPECT_THROW(
      EnsembleInputs::sampled(model(), {"grid", 4, 0}, {{Kind::parameter, "area", Distribution::uniform(0.0, 1.0), 3}}),
      UsageError);
  const auto weighted = [](const std::vector<double>& weights) {
    EnsembleInputs::sampled(model(), {"grid", 0, 0},
                            {{Kind::parameter, "area", Distribution::choice({1.0, 2.0, 9.0}, weights), 0}});
  };
  EXPECT_NO_THROW(weighted({3.0, 3.0, 3.0}));
  EXPECT_THROW(weighted({1.0, 1.0, 8.0}), UsageError);
}

TEST(EnsembleInputs, UnknownAndRepeatedNamesAreRefusedWithTheNearestOne) {
  try {
    EnsembleInputs::sampled(model(), {"sobol", 5, 1}, {{Kind::parameter, "vavle", Distribution::constant(1.0), 0}});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "model \"tank\" has no parameter \"vavle\"; did you mean \"valve\"?");
  }
  EXPECT_THROW(EnsembleInputs::sampled(model(), {"sobol", 5, 1},
                                       {{Kind::parameter, "area", Distribution::constant(1.0), 0},
                                        {Kind::parameter, "area", Distribution::constant(1.0), 0}}),
               UsageError);
}

// Of a normal distribution samples beyond six deviations do not count.
TEST(EnsembleInputs, InputsKeepToTheBoundsOfTheModel) {
  ModelDescription bounded = model();
  bounded.parameters[1].bounds = {0.0, 1.0};
  bounded.variables[0].bounds.min = 0.0;
  const auto problem = [&](const Distribution& distribution, const std::string& name = "valve") -> std::string {
    const Kind kind = name == "level" ? Kind::initial : Kind::parameter;
    try {
      EnsembleInputs::sampled(bounded, {"sobol", 4, 1}, {{kind, name, distribution}});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem(Distribution::constant(-0.5)), "\"valve\" is -0.5, below its minimum 0");
  EXPECT_EQ(problem(Distribution::constant(-1.0), "level"), "\"level\" is -1, below its minimum 0");
  EXPECT_EQ(problem(Distribution::uniform(-1.0, 1.0), "level").substr(0, 24), "\"level\" may become -0.99");
  EXPECT_EQ(problem(Distribution::choice({0.5, 1.5, 0.25})),
            "\"valve\" may become 1.5, above its maximum 1: needs a distribution within its bounds");
  EXPECT_NE(problem(Distribution::normal(0.5, 0.1)).find("below its minimum 0"), std::string::npos);
  EXPECT_EQ(problem(Distribution::normal(0.5, 0.05)), "");
  EXPECT_EQ(problem(Distribution::truncated_normal(0.5, 1.0, 0.0, 1.0)), "");
  try {
    EnsembleInputs::tabulated(bounded, {{"area", "valve"}, {2.0, 1.0, 3.0, 1.25}});
    FAIL() << "1.25 was accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "\"valve\" of instance 1 is 1.25, above its maximum 1");
  }
  try {
    EnsembleInputs::tabulated(bounded, {{"level"}, {2.0, -0.5}});
    FAIL() << "-0.5 was accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "\"level\" of instance 1 is -0.5, below its minimum 0");
  }
  // The model's own value, unless another is given.
  bounded.parameters[1].value = 2.0;
  EXPECT_EQ(problem(Distribution::constant(0.5)), "");
  EXPECT_EQ(problem(Distribution::uniform(0.25, 0.5)), "");
  EXPECT_EQ(problem(Distribution::constant(0.5), "pump"),
            "model \"tank\": parameter \"valve\" is 2, above its maximum 1");
}

// Names of parameters come first, then those of variables, then the ends of the time span.
TEST(EnsembleInputs, AColumnIsAParameterBeforeAllElse) {
  ModelDescription ambiguous = model();
  ambiguous.parameters[1].name = "level";
  ambiguous.parameters[2].name = "t_end";
  const auto inputs = EnsembleInputs::tabulated(ambiguous, {{"level", "t_end"}, {3.0, 5.0}});
  EXPECT_EQ(row(inputs, 0).parameters, (std::array{2.0, 3.0, 5.0}));
  EXPECT_TRUE(std::isnan(row(inputs, 0).initial[0]));
  EXPECT_EQ(row(inputs, 0).t_span, (std::array{0.0, 10.0}));
}

TEST(EnsembleInputs, TablesMadeByTheCallerNeedNoFile) {
  Table table;
  table.names = {"t_end", "area", "level"};
  table.values = {5.0, 1.0, 10.0, 6.0, 2.0, 20.0};
  const auto inputs =
      EnsembleInputs::tabulated(model(), table, {{Kind::parameter, "pump", Distribution::constant(8.0), 0}});
  ASSERT_EQ(inputs.instances(), 2);
  const Row second = row(inputs, 1);
  EXPECT_EQ(second.parameters, (std::array{2.0, 0.5, 8.0}));
  EXPECT_EQ(second.initial[0], 20.0);
  EXPECT_EQ(second.t_span, (std::array{0.0, 6.0}));
  EXPECT_EQ(inputs.sampled_times(), (std::array{false, true}));
  EXPECT_EQ(inputs.sampled_parameters(), std::vector<int>{0});
  EXPECT_EQ(inputs.sampled_initial(), std::vector<int>{0});
}

TEST_F(TableFile, CsvWithCommentsBlankLinesSpacesAndQuotesIsRead) {
  const Table table = read_table(csv("# made by hand\n\n \"area\" , flow\r\n1.5,-2e-3\r\n# between\n\n +3 ,\t4\n"));
  EXPECT_EQ(table.names, (std::vector<std::string>{"area", "flow"}));
  EXPECT_EQ(table.values, (std::vector<double>{1.5, -2e-3, 3.0, 4.0}));
  EXPECT_EQ(table.rows(), 2);
  const Table quoted = read_table(csv("\"a[1,2]\", \"b\"\"c\" ,\"\"\"\"\n1,\"2\",3\n"));
  EXPECT_EQ(quoted.names, (std::vector<std::string>{"a[1,2]", "b\"c", "\""})) << "RFC 4180";
  EXPECT_EQ(quoted.values, (std::vector<double>{1.0, 2.0, 3.0}));
}

TEST_F(TableFile, EveryProblemOfACsvFileNamesItsLineAndColumn) {
  EXPECT_EQ(complaint("area,valve\n1,2\n3\n4,5,6\n"),
            "cases.csv:3:1: error: the row has 1 fields, but the header has 2\n"
            "cases.csv:4:5: error: the row has 3 fields, but the header has 2");
  EXPECT_EQ(complaint("area,valve\n1,two\n1, 2.5x\n1,\n"),
            "cases.csv:2:3: error: column \"valve\" has \"two\", but needs a decimal number\n"
            "cases.csv:3:4: error: column \"valve\" has \"2.5x\", but needs a decimal number\n"
            "cases.csv:4:3: error: column \"valve\" has \"\", but needs a decimal number");
  EXPECT_EQ(complaint("area,valve\n1,nan\ninf,1\n"),
            "cases.csv:2:3: error: column \"valve\" has \"nan\", but needs a finite number\n"
            "cases.csv:3:1: error: column \"area\" has \"inf\", but needs a finite number");
  EXPECT_EQ(
      complaint("area,vavle\n1,2\n"),
      "cases.csv:1:6: error: model \"tank\" has no parameter or variable \"vavle\" for this column of the table; did "
      "you mean \"valve\"?");
  EXPECT_EQ(complaint("area\n1\x01\x1b\n"),
            "cases.csv:2:1: error: column \"area\" has \"1\\x01\\x1b\", but needs a decimal number");
  // As UTF-16, and files of other programs.
  EXPECT_EQ(
      complaint(std::string("\xff\xfe"
                            "a\0\n\0",
                            6)),
      "cases.csv:1:4: error: the table has a zero byte, which text in UTF-8 has not: it must be CSV, or netCDF with "
      "the extension .nc");
  EXPECT_EQ(complaint("area,\"valve\n1,\"2\"3\n"),
            "cases.csv:1:6: error: a quotation mark has no second one in its line\n"
            "cases.csv:2:6: error: after a quotation mark needs a comma");
  for (const char* const text : {"+-1", "0x10", "1 000", "1e"}) {
    EXPECT_EQ(complaint(std::string("area,valve\n") + text + ",2\n"),
              "cases.csv:2:1: error: column \"area\" has \"" + std::string(text) + "\", but needs a decimal number");
  }
  EXPECT_EQ(complaint("area,valve\n1e-400,2\n"),
            "cases.csv:2:1: error: column \"area\" has \"1e-400\", but needs a number that a double holds (2.2e-308 "
            "to 1.8e308)");
  EXPECT_EQ(complaint("area;valve\n1,5;2\n"),
            "cases.csv:1:1: error: the columns are separated by ';', but must be by ',', with a point in numbers");
  EXPECT_EQ(complaint("area\tvalve\n1\t5\n"),
            "cases.csv:1:1: error: the columns are separated by tabs, but must be by ',', with a point in numbers");
  EXPECT_EQ(complaint(std::string("PAR1\x15\0\n", 7)),
            "cases.csv:1:1: error: the table is a Parquet file, but must be CSV or netCDF: pandas converts it, "
            "read_parquet(...).to_csv(..., index=False)");
  EXPECT_EQ(
      complaint("area,valve\n1,5,2,5\n"),
      "cases.csv:2:5: error: the row has 4 fields, but the header has 2; numbers need a decimal point, not a comma");
  EXPECT_EQ(complaint(",area\n0,1\n"),
            "cases.csv:1:1: error: a column of the table has no name; if it numbers the rows, leave it out (pandas: "
            "index=False)");
  EXPECT_EQ(complaint("area,area\n1,2\n"), "cases.csv:1:6: error: the table has two columns \"area\"");
  EXPECT_EQ(complaint("area,valve\n1,2\n3,4"),
            "cases.csv:3:4: error: the last line does not end with a newline: the file may be truncated");
  EXPECT_EQ(complaint("area,valve\n"), "cases.csv:2:1: error: the table has a header, but no rows");
  EXPECT_EQ(complaint(""), "cases.csv:1:1: error: the table is empty, but needs a header row of names");
}

TEST_F(TableFile, AMissingFileIsNamed) {
  try {
    read_table(folder_ / "none.csv");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(),
              (folder_ / "none.csv").string() + ":1:1: error: the table cannot be read: No such file or directory");
  }
  EXPECT_THROW(read_table(folder_ / "none.nc"), UsageError);
  EXPECT_THROW(read_table(folder_), UsageError);
}

TEST_F(TableFile, NetcdfVariablesOnTheInstanceDimensionAreColumns) {
  const auto path = folder_ / "cases.nc";
  int file = 0;
  int dimension = 0;
  int other = 0;
  int area = 0;
  int level = 0;
  int ignored = 0;
  ASSERT_EQ(nc_create(path.c_str(), NC_NETCDF4, &file), NC_NOERR);
  nc_def_dim(file, "instance", 3, &dimension);
  nc_def_dim(file, "other", 2, &other);
  nc_def_var(file, "area", NC_FLOAT, 1, &dimension, &area);
  nc_def_var(file, "ignored", NC_DOUBLE, 1, &other, &ignored);
  nc_def_var(file, "level", NC_INT, 1, &dimension, &level);
  const float areas[] = {0.5F, 1.5F, 2.5F};
  const int levels[] = {1, 2, 3};
  nc_put_var_float(file, area, areas);
  nc_put_var_int(file, level, levels);
  ASSERT_EQ(nc_close(file), NC_NOERR);
  const auto inputs = EnsembleInputs::tabulated(model(), read_table(path));
  EXPECT_EQ(inputs.instances(), 3);
  EXPECT_EQ(row(inputs, 1).parameters[0], 1.5);
  EXPECT_EQ(row(inputs, 2).initial[0], 3.0);
}

// As xarray writes a coordinate, and a parameter that was not made an array over it.
TEST_F(TableFile, NetcdfCoordinatesAreNoColumnsAndParametersLieOnTheInstances) {
  const auto path = folder_ / "cases.nc";
  int file = 0;
  int dimension = 0;
  ASSERT_EQ(nc_create(path.c_str(), NC_NETCDF4, &file), NC_NOERR);
  nc_def_dim(file, "instance", 2, &dimension);
  int numbers = 0;
  int area = 0;
  int valve = 0;
  nc_def_var(file, "instance", NC_INT64, 1, &dimension, &numbers);
  nc_def_var(file, "area", NC_DOUBLE, 1, &dimension, &area);
  nc_put_att_text(file, area, "units", 3, "cm2");
  nc_def_var(file, "valve", NC_DOUBLE, 0, nullptr, &valve);
  const double areas[] = {0.5, 1.5};
  const long long instances[] = {7, 8};
  nc_put_var_longlong(file, numbers, instances);
  nc_put_var_double(file, area, areas);
  nc_put_var_double(file, valve, areas);
  ASSERT_EQ(nc_close(file), NC_NOERR);
  Table table = read_table(path);
  EXPECT_EQ(table.names, std::vector<std::string>{"area"});
  EXPECT_EQ(table.units, std::vector<std::string>{"cm2"});
  EXPECT_EQ(table.passed_over, std::vector<std::string>{"valve"});
  try {
    EnsembleInputs::tabulated(model(), table);
    FAIL() << "the parameter was passed over";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(),
              path.string() + ":1:1: error: variable \"valve\" must lie on the dimension \"instance\" alone");
  }
  table.passed_over = {"note"};
  EXPECT_EQ(EnsembleInputs::tabulated(model(), table).instances(), 2);
}

TEST_F(TableFile, PackedAndMissingNumbersOfNetcdfAreWhatTheirAttributesSay) {
  std::function<void(int file, int variable)> further;
  const auto table_with = [&](const std::vector<short>& numbers, bool attributes) {
    const auto path = folder_ / "packed.nc";
    int file = 0;
    int dimension = 0;
    int area = 0;
    nc_create(path.c_str(), NC_NETCDF4 | NC_CLOBBER, &file);
    nc_def_dim(file, "instance", numbers.size(), &dimension);
    nc_def_var(file, "area", NC_SHORT, 1, &dimension, &area);
    const short fill = -999;
    const double scale = 0.5;
    const double offset = 10.0;
    if (attributes) {
      nc_put_att_short(file, area, "_FillValue", NC_SHORT, 1, &fill);
      nc_put_att_double(file, area, "scale_factor", NC_DOUBLE, 1, &scale);
      nc_put_att_double(file, area, "add_offset", NC_DOUBLE, 1, &offset);
    }
    if (further) further(file, area);
    nc_put_var_short(file, area, numbers.data());
    nc_close(file);
    return read_table(path);
  };
  EXPECT_EQ(table_with({2, -4}, true).values, (std::vector<double>{11.0, 8.0}));
  const auto message = [&](const std::vector<short>& numbers, bool attributes) -> std::string {
    try {
      table_with(numbers, attributes);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(message({2, -999}, true).find("has no value for instance 1: there is -999, which stands for missing"),
            std::string::npos);
  EXPECT_NE(message({NC_FILL_SHORT, 1}, false).find("has no value for instance 0"), std::string::npos);
  EXPECT_EQ(message({2, -999}, false), "accepted");
  // Valid ranges are of the packed numbers: The NetCDF User's Guide, appendix A.
  further = [](int written, int variable) {
    const short range[] = {-4, 2};
    nc_put_att_short(written, variable, "valid_range", NC_SHORT, 2, range);
  };
  EXPECT_EQ(message({2, -4}, true), "accepted");
  EXPECT_NE(message({2, -5}, true)
                .find("variable \"area\" of the table has no valid value for instance 1: there is -5, "
                      "but its attributes say from -4 to 2"),
            std::string::npos);
  further = [](int written, int variable) {
    const short least = 0;
    nc_put_att_short(written, variable, "valid_min", NC_SHORT, 1, &least);
  };
  EXPECT_NE(message({2, -4}, true).find("there is -4, but its attributes say from 0 to inf"), std::string::npos);
  further = [](int written, int variable) { nc_put_att_text(written, variable, "_Unsigned", 4, "true"); };
  EXPECT_NE(message({2, -4}, true).find("attribute _Unsigned of variable \"area\" is not followed"), std::string::npos);
}

TEST_F(TableFile, MoreRowsThanMemoryHoldsAreRefusedWithTheFigure) {
  const auto path = folder_ / "large.nc";
  int file = 0;
  int dimension = 0;
  int area = 0;
  ASSERT_EQ(nc_create(path.c_str(), NC_NETCDF4, &file), NC_NOERR);
  nc_def_dim(file, "instance", 1'000'000'000'000, &dimension);
  nc_def_var(file, "area", NC_DOUBLE, 1, &dimension, &area);
  ASSERT_EQ(nc_close(file), NC_NOERR);
  ASSERT_LT(std::filesystem::file_size(path), 100'000U);
  try {
    read_table(path);
    FAIL();
  } catch (const UsageError& error) {
    // 8 bytes for each number of the table, and for those of one variable.
    const std::string start =
        path.string() + ":1:1: error: the table has 1000000000000 instances and 1 columns, which take 16000.0 GB";
    EXPECT_EQ(std::string(error.what()).substr(0, start.size()), start);
  }
}

TEST_F(TableFile, ALongerCsvFileThanMemoryHoldsIsRefusedByItsFirstRows) {
  const auto path = folder_ / "large.csv";
  std::ofstream file(path);
  file << "area\n";
  for (int row = 0; row < 2000; ++row) file << "1\n";
  file.close();
  std::filesystem::resize_file(path, 2'000'000'000'000);  // which takes no place
  try {
    read_table(path);
    FAIL();
  } catch (const UsageError& error) {
    // After 5 bytes of the header 1000 rows have 2 each: 2005 bytes.
    const std::string start =
        path.string() + ":1:1: error: the table has about 997506234414 instances and 1 columns, which take 15960.1 GB";
    EXPECT_EQ(std::string(error.what()).substr(0, start.size()), start);
  }
}

TEST_F(TableFile, WhatTheSystemMakesUpIsNotRead) {
  // /proc/kmsg is such a file too, and waits for ever.
  try {
    read_table("/proc/version");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "/proc/version:1:1: error: the table is empty, but needs a header row of names");
  }
}

TEST_F(TableFile, AddressesAreNotOpened) {
  EXPECT_THROW(read_table("http://127.0.0.1:9/x.nc"), UsageError);
}

}  // namespace
}  // namespace manyfold
