#include "host/io/result_file.hpp"

#include <gtest/gtest.h>
#include <netcdf.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include <manyfold/error.hpp>

#include "host/io/result_names.hpp"
#include "host/io/result_statistics.hpp"
#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

ModelDescription model() {
  ModelDescription description;
  description.name = "tank";
  description.time_unit = "min";
  description.variables = {{"level", "m", "height of the water", 1.0, false}, {"flow", "m3/s", "outflow", 0.0, true}};
  description.parameters = {{"area", "m2", "cross section", 2.0}, {"valve", "1", "opening", 0.5}};
  return description;
}

// A value nobody else computes: variable `v` of instance `i` at time number `t`.
double value_of(std::int64_t i, std::size_t t, int v) {
  return std::sin(static_cast<double>(i)) * (v + 1) + static_cast<double>(t);
}

// Reads a finished file with the netCDF library.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    if (nc_open(path.c_str(), NC_NOWRITE, &file_) != NC_NOERR) throw std::runtime_error("cannot open " + path.string());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { nc_close(file_); }

  bool has(const std::string& name) const {
    int id = 0;
    return nc_inq_varid(file_, name.c_str(), &id) == NC_NOERR;
  }
  int id(const std::string& name) const {
    int id = -1;
    EXPECT_EQ(nc_inq_varid(file_, name.c_str(), &id), NC_NOERR) << name;
    return id;
  }
  std::vector<std::string> dimensions(const std::string& name) const {
    int count = 0;
    int ids[NC_MAX_VAR_DIMS];
    nc_inq_varndims(file_, id(name), &count);
    nc_inq_vardimid(file_, id(name), ids);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      char dimension[NC_MAX_NAME + 1];
      nc_inq_dimname(file_, ids[i], dimension);
      names.emplace_back(dimension);
    }
    return names;
  }
  std::vector<double> values(const std::string& name) const {
    std::size_t size = 1;
    for (const auto& dimension : dimensions(name)) {
      int dimension_id = 0;
      std::size_t length = 0;
      nc_inq_dimid(file_, dimension.c_str(), &dimension_id);
      nc_inq_dimlen(file_, dimension_id, &length);
      size *= length;
    }
    std::vector<double> result(size);
    EXPECT_EQ(nc_get_var_double(file_, id(name), result.data()), NC_NOERR) << name;
    return result;
  }
  /// The level of deflate; 0: none.
  int compression(const std::string& name) const {
    int shuffles = 0;
    int deflates = 0;
    int level = 0;
    EXPECT_EQ(nc_inq_var_deflate(file_, id(name), &shuffles, &deflates, &level), NC_NOERR) << name;
    return deflates != 0 ? level : 0;
  }
  std::string text(const std::string& attribute, const std::string& variable = "") const {
    const int owner = variable.empty() ? NC_GLOBAL : id(variable);
    std::size_t length = 0;
    if (nc_inq_attlen(file_, owner, attribute.c_str(), &length) != NC_NOERR) return "(none)";
    std::string result(length, ' ');
    nc_get_att_text(file_, owner, attribute.c_str(), result.data());
    return result;
  }
  std::vector<double> numbers(const std::string& attribute, const std::string& variable = "") const {
    const int owner = variable.empty() ? NC_GLOBAL : id(variable);
    std::size_t length = 0;
    if (nc_inq_attlen(file_, owner, attribute.c_str(), &length) != NC_NOERR) return {};
    std::vector<double> result(length);
    nc_get_att_double(file_, owner, attribute.c_str(), result.data());
    return result;
  }

 private:
  int file_ = -1;
};

class ResultFileTest : public test::InTemporaryFolder {
 protected:
  ResultFileSettings settings(std::int64_t instances) const {
    ResultFileSettings result;
    result.model = model();
    result.instances = instances;
    result.saved = {1, 0};
    result.times = OutputTimes::equal_steps(3);
    result.t_span = {0.0, 4.0};
    result.sampled_parameters = {1};
    result.options.method = "radau5";
    result.options.rtol = 1e-5;
    result.options.atol = {1e-8, 1e-9};
    result.sweep_file = "model = \"tank\"\n";
    result.seed = 42;
    result.sampler = "sobol";
    result.version = "1.2.3";
    result.backend = "cpu";
    result.tier = "fused";
    result.linear_solver = "own";
    result.history = "manyfold run tank.toml";
    return result;
  }

  static Chunk chunk(const ResultFileSettings& settings, std::int64_t first, std::int64_t count) {
    Chunk result;
    result.shape = shape_of(settings.model);
    result.first = first;
    result.count = count;
    const auto times = static_cast<std::size_t>(settings.times.count());
    for (std::int64_t i = first; i < first + count; ++i) {
      InstanceOutcome outcome;
      outcome.status = i % 5 == 4 ? Status::newton_failure : Status::success;
      outcome.t_reached = 4.0 - static_cast<double>(i % 2);
      outcome.counters.steps = i;
      outcome.counters.events = 2 * i;
      result.outcomes.push_back(outcome);
      result.parameters.insert(result.parameters.end(), {2.0, 100.0 + static_cast<double>(i)});
      result.initial.insert(result.initial.end(), {static_cast<double>(i), 0.0});
      result.t_span.insert(result.t_span.end(), {0.0, 4.0 + static_cast<double>(i)});
      for (std::size_t t = 0; t < times; ++t) {
        result.times.push_back(static_cast<double>(t) * (4.0 + static_cast<double>(i)) / 2.0);
        for (const int v : settings.saved) result.values.push_back(value_of(i, t, v));
      }
    }
    return result;
  }

  std::filesystem::path path() const { return folder_ / "tank.nc"; }
  /// Files in the folder.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(folder_)) names.push_back(item.path().filename());
    return names;
  }
};

TEST_F(ResultFileTest, EverythingWrittenIsReadBack) {
  const ResultFileSettings wanted = settings(10);
  ResultFile file(wanted, OutputFile(path(), false));
  EXPECT_FALSE(std::filesystem::exists(path()));
  file.write(chunk(wanted, 0, 4));
  file.write(chunk(wanted, 4, 6));
  EXPECT_FALSE(std::filesystem::exists(path()));
  file.finish();
  EXPECT_EQ(files(), std::vector<std::string>{"tank.nc"});

  const Reader reader(path());
  EXPECT_EQ(reader.values("time"), (std::vector<double>{0.0, 2.0, 4.0}));
  EXPECT_EQ(reader.text("units", "time"), "min");
  EXPECT_TRUE(reader.numbers("_FillValue", "time").empty());  // CF: a coordinate has no missing values
  EXPECT_EQ(reader.dimensions("level"), (std::vector<std::string>{"instance", "time"}));
  EXPECT_EQ(reader.text("units", "level"), "m");
  EXPECT_EQ(reader.text("long_name", "level"), "height of the water");
  EXPECT_TRUE(std::isnan(reader.numbers("_FillValue", "level").at(0)));
  const auto level = reader.values("level");
  const auto flow = reader.values("flow");
  const auto status = reader.values("status");
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_EQ(level[row * 3 + t], value_of(i, t, 0));
      EXPECT_EQ(flow[row * 3 + t], value_of(i, t, 1));
    }
    EXPECT_EQ(reader.values("param_valve")[row], 100.0 + static_cast<double>(i));
    EXPECT_EQ(status[row], i % 5 == 4 ? 4.0 : 0.0);
    EXPECT_EQ(reader.values("t_reached")[row], 4.0 - static_cast<double>(i % 2));
    EXPECT_EQ(reader.values("stat_steps")[row], static_cast<double>(i));
    EXPECT_EQ(reader.values("stat_events")[row], static_cast<double>(2 * i));
  }
  EXPECT_FALSE(reader.has("param_area"));
  // Equations count from 1.
  EXPECT_EQ(reader.text("flag_meanings", "worst_equation"), "equation_1 equation_2");
  EXPECT_EQ(reader.numbers("flag_values", "worst_equation"), (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(reader.text("flag_meanings", "status"),
            "success terminated_by_event max_steps step_too_small newton_failure singular_jacobian nonfinite_residual "
            "inconsistent_initial_conditions event_storm cancelled assertion_violated");
  EXPECT_EQ(reader.numbers("flag_values", "status"), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  for (const char* name :
       {"rejected", "newton_failures", "newton_iterations", "residuals", "jacobians", "factorizations", "solves"}) {
    EXPECT_TRUE(reader.has(std::string("stat_") + name)) << name;
  }
  EXPECT_TRUE(reader.has("residual_norm"));
  EXPECT_EQ(reader.text("model"), "tank");
  EXPECT_EQ(reader.text("method"), "radau5");
  EXPECT_EQ(reader.numbers("rtol"), std::vector<double>{1e-5});
  EXPECT_EQ(reader.numbers("atol"), (std::vector<double>{1e-8, 1e-9}));
  EXPECT_EQ(reader.text("sweep_file"), "model = \"tank\"\n");
  EXPECT_EQ(reader.numbers("seed"), std::vector<double>{42.0});
  EXPECT_EQ(reader.text("sampler"), "sobol");
  EXPECT_EQ(reader.text("version"), "1.2.3");
  EXPECT_EQ(reader.text("backend"), "cpu");
  EXPECT_EQ(reader.text("tier"), "fused");
  EXPECT_EQ(reader.text("linear_solver"), "own");
  EXPECT_EQ(reader.text("precision"), "float64");
  EXPECT_EQ(reader.text("projection"), "false");
  EXPECT_EQ(reader.text("Conventions"), "CF-1.8");
  EXPECT_EQ(reader.text("history"), "manyfold run tank.toml");
  EXPECT_EQ(reader.text("interrupted"), "(none)");
}

TEST_F(ResultFileTest, SampledSpansGiveEachInstanceItsOwnTimes) {
  ResultFileSettings wanted = settings(4);
  wanted.sampled_times = {false, true};
  wanted.sampled_initial = {0};
  ResultFile file(wanted, OutputFile(path(), false));
  file.write(chunk(wanted, 0, 4));
  file.finish();
  const Reader reader(path());
  EXPECT_EQ(reader.dimensions("time"), (std::vector<std::string>{"instance", "time"}));
  EXPECT_EQ(reader.values("time")[3 * 2 + 2], 6.0);
  EXPECT_EQ(reader.values("t_end"), (std::vector<double>{4.0, 5.0, 6.0, 7.0}));
  EXPECT_FALSE(reader.has("t_begin"));
  EXPECT_EQ(reader.values("initial_level"), (std::vector<double>{0.0, 1.0, 2.0, 3.0}));
}

TEST_F(ResultFileTest, StatisticsAreThoseOfTheValues) {
  ResultFileSettings wanted = settings(100);
  wanted.trajectories = false;
  for (const char* name : {"mean", "std", "min", "max", "quantile(0.25)", "quantile(0.5)"}) {
    wanted.statistics.push_back(*StatisticRequest::parse(name));
  }
  ResultFile file(wanted, OutputFile(path(), false));
  for (std::int64_t first = 0; first < 100; first += 20) {
    Chunk part = chunk(wanted, first, 20);
    if (first == 0) part.values[1] = std::nan("");  // the level of instance 0 at the first time
    file.write(part);
  }
  file.finish();
  const Reader reader(path());
  EXPECT_FALSE(reader.has("level"));
  EXPECT_EQ(reader.dimensions("level_mean"), std::vector<std::string>{"time"});
  EXPECT_EQ(reader.dimensions("level_quantile"), (std::vector<std::string>{"quantile", "time"}));
  EXPECT_EQ(reader.values("quantile"), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(reader.values("level_count"), (std::vector<double>{99.0, 100.0, 100.0}));
  for (std::size_t t = 0; t < 3; ++t) {
    std::vector<double> values;
    for (std::int64_t i = t == 0 ? 1 : 0; i < 100; ++i) values.push_back(value_of(i, t, 0));
    std::sort(values.begin(), values.end());
    const auto n = static_cast<double>(values.size());
    double mean = 0.0;
    for (const double x : values) mean += x / n;
    double squares = 0.0;
    for (const double x : values) squares += (x - mean) * (x - mean);
    EXPECT_NEAR(reader.values("level_mean")[t], mean, 1e-13);  // a hundred additions of numbers of order 1
    EXPECT_NEAR(reader.values("level_std")[t], std::sqrt(squares / (n - 1.0)), 1e-13);
    EXPECT_EQ(reader.values("level_min")[t], values.front());
    EXPECT_EQ(reader.values("level_max")[t], values.back());
    const double place = 0.25 * (n - 1.0);
    const auto below = static_cast<std::size_t>(place);
    const double expected = values[below] + (place - std::floor(place)) * (values[below + 1] - values[below]);
    EXPECT_NEAR(reader.values("level_quantile")[t], expected, 1e-14);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 1);
  EXPECT_EQ(reader.text("accuracy", "level_quantile"), "exact");
  EXPECT_EQ(reader.numbers("rank_error", "level_quantile"), std::vector<double>{0.0});
  EXPECT_EQ(file.quantile_error(), 0.0);
}

TEST_F(ResultFileTest, ApproximateQuantilesSayHowGoodTheyAre) {
  ResultFileSettings wanted = settings(20000);
  wanted.trajectories = false;
  wanted.statistics = {*StatisticRequest::parse("quantile(0.9)")};
  wanted.quantiles = QuantileAccuracy::approximate;
  ResultFile file(wanted, OutputFile(path(), false));
  EXPECT_FALSE(file.quantile_error());
  for (std::int64_t first = 0; first < wanted.instances; first += 4000) file.write(chunk(wanted, first, 4000));
  file.finish();
  const Reader reader(path());
  const double error = file.quantile_error().value();
  EXPECT_GT(error, 0.0);
  EXPECT_LT(error, 0.001);
  EXPECT_EQ(reader.text("accuracy", "level_quantile"), "approximate");
  EXPECT_EQ(reader.numbers("rank_error", "level_quantile"), std::vector<double>{error});
  for (std::size_t t = 0; t < 3; ++t) {
    const double found = reader.values("level_quantile")[t];
    int below = 0;
    for (std::int64_t i = 0; i < wanted.instances; ++i) below += value_of(i, t, 0) < found ? 1 : 0;
    EXPECT_NEAR(below / 20000.0, 0.9, error + 1.0 / 20000.0);
  }
}

// What the memory for quantiles is meant for: exact as long as all values fit it, and where a sketch takes as much.
TEST_F(ResultFileTest, QuantilesAreApproximateBeyondTheirMemory) {
  ResultFileSettings wanted = settings(10'000'000);
  wanted.times = OutputTimes::equal_steps(6);
  EXPECT_FALSE(sketches_quantiles(wanted));
  wanted.times = OutputTimes::equal_steps(7);
  EXPECT_TRUE(sketches_quantiles(wanted));
  wanted.quantiles = QuantileAccuracy::exact;
  EXPECT_FALSE(sketches_quantiles(wanted));
  wanted = settings(1000);
  wanted.times = OutputTimes::equal_steps(100'001);
  EXPECT_FALSE(sketches_quantiles(wanted));
}

TEST_F(ResultFileTest, ReductionsAreColumnsWithTheirYield) {
  ResultFileSettings wanted = settings(100);
  wanted.trajectories = false;
  for (const char* text : {"max(level)", "final(flow) < 3"}) {
    wanted.reductions.push_back(Reduction::parse(text));
    wanted.reductions.back().terms()[0].place = text[0] == 'm' ? 1 : 0;
  }
  ResultFile file(wanted, OutputFile(path(), false));
  file.write(chunk(wanted, 0, 30));
  file.write(chunk(wanted, 30, 70));
  const std::vector<ReductionSummary> summaries = file.reductions();
  file.finish();
  const Reader reader(path());
  EXPECT_EQ(reader.text("long_name", "reduce_2"), "final(flow) < 3");
  EXPECT_EQ(reader.text("units", "reduce_1"), "m");
  int known = 0;
  int good = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (i % 5 == 4) {  // failed
      EXPECT_TRUE(std::isnan(reader.values("reduce_1")[row]));
      EXPECT_TRUE(std::isnan(reader.values("reduce_2")[row]));
      continue;
    }
    EXPECT_EQ(reader.values("reduce_1")[row], value_of(i, 2, 0));
    EXPECT_EQ(reader.values("reduce_2")[row], value_of(i, 2, 1) < 3.0 ? 1.0 : 0.0);
    ++known;
    good += value_of(i, 2, 1) < 3.0 ? 1 : 0;
  }
  const double yield = static_cast<double>(good) / known;
  EXPECT_DOUBLE_EQ(reader.numbers("yield", "reduce_2").at(0), yield);
  EXPECT_EQ(reader.numbers("yield_instances", "reduce_2").at(0), known);
  EXPECT_LT(reader.numbers("yield_interval", "reduce_2").at(0), yield);
  EXPECT_GT(reader.numbers("yield_interval", "reduce_2").at(1), yield);
  EXPECT_TRUE(reader.numbers("yield", "reduce_1").empty());
  EXPECT_EQ(summaries[0].instances, 80);
  EXPECT_DOUBLE_EQ(summaries[1].mean, yield);
}

TEST_F(ResultFileTest, ValuesAreHeldAfterATerminalEvent) {
  ResultFileSettings wanted = settings(2);
  wanted.hold = true;
  wanted.statistics = {*StatisticRequest::parse("mean")};
  wanted.reductions = {Reduction::parse("final(level)")};
  wanted.reductions[0].terms()[0].place = 1;
  Chunk part = chunk(wanted, 0, 2);
  part.shape.has_end_states = true;
  part.end_states = {7.0, 8.0, 0.0, 0.0, 17.0, 18.0, 0.0, 0.0};  // level, flow and their derivatives
  part.outcomes[1].status = Status::terminated_by_event;
  part.outcomes[1].t_reached = 3.0;  // output times are 0, 2.5 and 5
  part.values[10] = part.values[11] = std::nan("");
  ResultFile file(wanted, OutputFile(path(), false));
  file.write(part);
  file.finish();
  const Reader reader(path());
  EXPECT_EQ(reader.values("level")[5], 17.0);
  EXPECT_EQ(reader.values("flow")[5], 18.0);
  EXPECT_EQ(reader.values("level")[4], value_of(1, 1, 0));
  EXPECT_EQ(reader.values("level_count")[2], 2.0);
  EXPECT_DOUBLE_EQ(reader.values("level_mean")[2], (value_of(0, 2, 0) + 17.0) / 2.0);
  EXPECT_EQ(reader.values("reduce_1"), (std::vector<double>{value_of(0, 2, 0), 17.0}));
}

TEST_F(ResultFileTest, ASavedDiscreteNumberIsHeldAndStandsInTheLogOnce) {
  ResultFileSettings wanted = settings(1);
  wanted.model.events = {{"overflows", "", 1, true, false}};
  wanted.model.discrete = {{"mode", "1", "", 0.0, false}};
  wanted.saved = {2, 0};
  wanted.hold = true;
  Chunk part = chunk(wanted, 0, 1);
  part.shape.has_end_states = true;
  part.shape.event_capacity = 1;
  part.end_states = {7.0, 8.0, 0.0, 0.0, 3.0};  // level, flow, their derivatives, mode
  part.outcomes[0].status = Status::terminated_by_event;
  part.outcomes[0].t_reached = 3.0;  // output times are 0, 2 and 4
  part.outcomes[0].counters.events = 1;
  part.events = {{3.0, 0, 1}};
  part.event_values = {2.0, 7.0, 2.0, 3.0, 7.0, 3.0};
  part.first_event_times = {3.0};
  ResultFile file(wanted, OutputFile(path(), false));
  file.write(part);
  file.finish();
  const Reader reader(path());
  EXPECT_EQ(reader.values("mode"), (std::vector<double>{value_of(0, 0, 2), value_of(0, 1, 2), 3.0}));
  EXPECT_EQ(reader.values("event_before_mode"), std::vector<double>{2.0});
  EXPECT_EQ(reader.values("event_after_mode"), std::vector<double>{3.0});
  EXPECT_EQ(reader.values("event_after_level"), std::vector<double>{7.0});
}

TEST_F(ResultFileTest, CompressionChangesTheSizeAlone) {
  std::vector<std::vector<double>> levels;
  std::vector<std::uintmax_t> sizes;
  for (const int compression : {0, 9}) {
    ResultFileSettings wanted = settings(5000);
    wanted.compression = compression;
    ResultFile file(wanted, OutputFile(path(), true));
    file.write(chunk(wanted, 0, 5000));
    file.finish();
    const Reader reader(path());
    EXPECT_EQ(reader.compression("level"), compression);
    levels.push_back(reader.values("level"));
    sizes.push_back(std::filesystem::file_size(path()));
  }
  EXPECT_EQ(levels[0], levels[1]);
  EXPECT_LT(sizes[1], sizes[0]);
}

TEST_F(ResultFileTest, InterruptedFilesSayWhatIsMissing) {
  const ResultFileSettings wanted = settings(100000);
  ResultFile file(wanted, OutputFile(path(), false));
  file.write(chunk(wanted, 0, 4));
  file.finish(true);
  const Reader reader(path());
  const auto status = reader.values("status");
  EXPECT_EQ(status[3], 0.0);
  EXPECT_EQ(std::count(status.begin(), status.end(), 9.0), 100000 - 4);
  EXPECT_TRUE(std::isnan(reader.values("level")[3 * 4]));
  EXPECT_TRUE(std::isnan(reader.values("t_reached")[99999]));
  EXPECT_EQ(reader.text("interrupted"), "true");
  EXPECT_EQ(reader.numbers("instances_finished"), std::vector<double>{4.0});
}

TEST_F(ResultFileTest, CancelledInstancesAreNotFinished) {
  const ResultFileSettings wanted = settings(10);
  ResultFile file(wanted, OutputFile(path(), false));
  Chunk part = chunk(wanted, 0, 10);
  for (std::size_t i = 3; i < 10; ++i) part.outcomes[i].status = Status::cancelled;
  file.write(part);
  file.finish(true);
  EXPECT_EQ(Reader(path()).numbers("instances_finished"), std::vector<double>{3.0});
}

TEST_F(ResultFileTest, AnUnfinishedFileDoesNotComeIntoBeing) {
  const ResultFileSettings wanted = settings(4);
  std::ofstream(folder_ / "tank.nc.0123456789abcdef.partial") << "another run's";
  {
    ResultFile file(wanted, OutputFile(path(), false));
    file.write(chunk(wanted, 0, 4));
    EXPECT_EQ(files().size(), 3U) << "its own, and the lock";
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
  EXPECT_EQ(files(), std::vector<std::string>{"tank.nc.0123456789abcdef.partial"});
}

TEST_F(ResultFileTest, NamesThatNetcdfWouldChangeOrRefuseAreFoundAtOnce) {
  for (const std::string& name : {std::string(""), std::string(" level"), std::string("level "), std::string("a/b"),
                                  std::string("a\tb"), std::string("\x7f"), std::string("+a"), std::string("\xff"),
                                  std::string("status"), std::string("time"), std::string(300, 'a')}) {
    ResultFileSettings wanted = settings(4);
    wanted.model.variables[0].name = name;
    EXPECT_THROW(ResultFile file(wanted, OutputFile(path(), false)), UsageError) << "'" << name << "'";
    EXPECT_TRUE(files().empty()) << "'" << name << "'";
  }
  // xarray opens no file in which a variable of several dimensions has the name of one of them.
  for (const char* const name : {"instance", "event", "verify_sample"}) {
    ResultFileSettings wanted = settings(4);
    wanted.model.variables[0].name = name;
    try {
      ResultFile file(wanted, OutputFile(path(), false));
      ADD_FAILURE() << name << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "variable '" + std::string(name) +
                                  "' has a name that result files use for something else: needs another");
    }
    EXPECT_TRUE(files().empty());
  }
  ResultFileSettings wanted = settings(4);
  wanted.model.variables[0].name = wanted.model.variables[1].name;
  EXPECT_THROW(ResultFile file(wanted, OutputFile(path(), false)), UsageError);
}

TEST_F(ResultFileTest, ChunksOfTheWrongSizeAreRefused) {
  const ResultFileSettings wanted = settings(4);
  ResultFile file(wanted, OutputFile(path(), false));
  EXPECT_THROW(file.write(chunk(wanted, 2, 3)), UsageError);
  Chunk broken = chunk(wanted, 0, 2);
  broken.values.pop_back();
  EXPECT_THROW(file.write(broken), UsageError);
}

// The resident memory of this process in MiB.
double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double total = 0.0;
  double resident = 0.0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

TEST_F(ResultFileTest, MemoryDoesNotGrowWithTheNumberOfInstances) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own resident";
#endif
  ResultFileSettings wanted = settings(2'000'000);
  wanted.times = OutputTimes::end();
  wanted.statistics = {*StatisticRequest::parse("mean")};
  const double before = resident_memory();
  ResultFile file(wanted, OutputFile(path(), false));
  constexpr std::int64_t step = 10000;
  for (std::int64_t first = 0; first < wanted.instances; first += step) file.write(chunk(wanted, first, step));
  // The file has 15 columns of 16 MB, 240 MB in all; HDF5's caches take about 1 MB per column.
  EXPECT_LT(resident_memory() - before, 60.0);
  file.finish();
}

// That the program also exits cleanly afterwards is tested by its exit status.
TEST_F(ResultFileTest, AFullDiskLeavesNothingAndSaysSo) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs is not permitted: " << std::strerror(errno);
  }
  ResultFileSettings wanted = settings(200000);
  std::string message;
  {
    ResultFile file(wanted, OutputFile(path(), false));
    try {
      std::mt19937_64 noise(1);  // does not compress
      for (std::int64_t first = 0; first < wanted.instances; first += 10000) {
        Chunk part = chunk(wanted, first, 10000);
        for (double& value : part.values) value = static_cast<double>(noise());
        file.write(part);
      }
      file.finish();
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_THROW(file.finish(), std::runtime_error);
  }
  EXPECT_NE(message.find(path().string()), std::string::npos) << message;
  EXPECT_NE(message.find("no space left on device"), std::string::npos) << message;
  EXPECT_TRUE(files().empty());
  ::umount2(folder_.c_str(), MNT_DETACH);
}

// Clutches of the Modelica library have tau0, tau0_max, and relations that differ in a letter.
TEST_F(ResultFileTest, NamesThatWouldBeAlikeDiffer) {
  ResultFileSettings wanted = settings(4);
  wanted.model.variables[0].name = "flow_max";
  wanted.model.events = {{"flow <= 0", "", 0, false, false},
                         {"flow < 0", "", 0, false, false},
                         {"-flow*2 > 0", "", 0, false, false},
                         {"-flow2 > 0", "", 0, false, false}};
  wanted.statistics = {{StatisticRequest::Kind::max, 0.0}};
  EXPECT_TRUE(unfit_names(wanted.model).empty());
  {
    ResultFile file(wanted, OutputFile(path(), false));
    Chunk all = chunk(wanted, 0, 4);
    all.first_event_times.assign(16, 1.0);
    file.write(std::move(all));
    file.finish();
  }
  const Reader reader(path());
  EXPECT_EQ(reader.dimensions("flow_max"), (std::vector<std::string>{"instance", "time"}));
  EXPECT_EQ(reader.dimensions("stat_flow_max"), std::vector<std::string>{"time"});
  EXPECT_EQ(reader.dimensions("flow_max_max"), std::vector<std::string>{"time"});
  EXPECT_EQ(reader.text("flag_meanings", "event_kind"), "flow_le_0 flow_lt_0 -flow2_gt_0 -flow2_gt_0_2");
  EXPECT_EQ(reader.dimensions("event_first_time_-flow2_gt_0_2"), std::vector<std::string>{"instance"});
}

TEST_F(ResultFileTest, EventsAreRaggedArraysWithStatisticsOfTheFirst) {
  ResultFileSettings wanted = settings(4);
  wanted.model.events = {{"fills up", "", 1, false, false}, {"drains", "", -1, true, false}};
  wanted.model.discrete = {{"mode", "1", "", 0.0, false}};
  wanted.statistics = {{StatisticRequest::Kind::quantile, 0.5}};
  ResultFile file(wanted, OutputFile(path(), false));
  // Instance i has i events, of which two fit; the second kind occurs in instance 3 alone.
  const auto with_events = [&](std::int64_t first, std::int64_t count) {
    Chunk result = chunk(wanted, first, count);
    result.shape.event_capacity = 2;
    result.events.resize(static_cast<std::size_t>(count) * 2);
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto at = static_cast<std::size_t>(i - first);
      result.outcomes[at].status = Status::success;
      result.outcomes[at].t_reached = 4.0;
      result.outcomes[at].counters.events = i;
      result.outcomes[at].last_event = i == 0 ? -1 : i == 3 ? 1 : 0;
      result.events[2 * at] = {1.0 + static_cast<double>(i), 0, 1};
      result.events[2 * at + 1] = {2.0 + static_cast<double>(i), i == 3 ? 1 : 0, -1};
      // flow, level, mode before and after, twice
      for (int k = 0; k < 12; ++k) result.event_values.push_back(100.0 * static_cast<double>(i) + k);
      const double never = std::nan("");
      result.first_event_times.push_back(i > 0 ? 1.0 + static_cast<double>(i) : never);
      result.first_event_times.push_back(i == 3 ? 5.0 : never);
    }
    return result;
  };
  file.write(with_events(0, 2));
  file.write(with_events(2, 2));
  file.finish();

  const Reader reader(path());
  EXPECT_EQ(reader.dimensions("event_time"), std::vector<std::string>{"event"});
  EXPECT_EQ(reader.values("event_instance"), (std::vector<double>{1, 2, 2, 3, 3}));
  EXPECT_EQ(reader.values("event_time"), (std::vector<double>{2, 3, 4, 4, 5}));
  EXPECT_EQ(reader.text("units", "event_time"), "min");
  EXPECT_EQ(reader.values("event_name"), (std::vector<double>{0, 0, 0, 0, 1}));
  EXPECT_EQ(reader.text("flag_meanings", "event_name"), "fills_up drains");
  EXPECT_EQ(reader.values("event_direction"), (std::vector<double>{1, 1, -1, 1, -1}));
  EXPECT_EQ(reader.values("event_before_flow"), (std::vector<double>{100, 200, 206, 300, 306}));
  EXPECT_EQ(reader.values("event_after_level"), (std::vector<double>{104, 204, 210, 304, 310}));
  EXPECT_EQ(reader.values("event_after_mode"), (std::vector<double>{105, 205, 211, 305, 311}));
  EXPECT_EQ(reader.values("events_not_logged"), (std::vector<double>{0, 0, 0, 1}));
  // Output times 0, 2, 4 of the first instance; those of the others end later, when all events have occurred.
  const auto probability = reader.values("event_probability");
  EXPECT_EQ(probability[0], 0.0);
  EXPECT_EQ(probability[2], 0.75);
  EXPECT_EQ(probability[5], 0.25);
  EXPECT_EQ(reader.values("event_first_time_quantile"), (std::vector<double>{3.0, 5.0}));
  EXPECT_EQ(reader.values("event_first_time_fills_up").at(2), 3.0);
  // Three of four: (3/4 + z^2/8 +- z sqrt(3/64 + z^2/64)) / (1 + z^2/4) with z = 1.95996.
  EXPECT_NEAR(reader.values("event_probability_low")[2], 0.3006418, 1e-7);
  EXPECT_NEAR(reader.values("event_probability_high")[2], 0.9544127, 1e-7);
  EXPECT_EQ(reader.values("event_probability_low")[0], 0.0);
  // 2, 3 and 4 have quartiles 2.5 and 3.5: bins of 2 / 3^(1/3) = 1.39 or less, so two of width 1. A single time has a
  // bin without width.
  EXPECT_EQ(reader.dimensions("event_bin_edge"), (std::vector<std::string>{"event_kind", "event_bin_edge"}));
  const auto edges = reader.values("event_bin_edge");
  EXPECT_EQ((std::vector<double>(edges.begin(), edges.begin() + 5)), (std::vector<double>{2, 3, 4, 5, 5}));
  EXPECT_TRUE(std::isnan(edges[5]));
  EXPECT_EQ(reader.values("event_first_time_histogram"), (std::vector<double>{2, 1, 1, 0}));
  EXPECT_EQ(reader.values("event_last"), (std::vector<double>{-1, 0, 0, 1}));
}

// CF-1.8, section 3.5: flag_meanings are words, as many as there are values. Letters of other alphabets stay.
TEST(ResultNames, EveryEventIsAWord) {
  ModelDescription model;
  model.events = {{"\xc3\x9c"
                   "berlauf h > 3",
                   "", 0, false, false},
                  {"\xd0\xb4\xd0\xb0", "", 0, false, false},
                  {"!", "", 0, false, false},
                  {"?", "", 0, false, false}};
  EXPECT_EQ(event_words(model), (std::vector<std::string>{"\xc3\x9c"
                                                          "berlauf_h_gt_3",
                                                          "\xd0\xb4\xd0\xb0", "unnamed", "unnamed_2"}));
  // event_first_time_histogram is of all events.
  model.events = {{"histogram", "", 0, false, false}, {"quantile", "", 0, false, false}};
  EXPECT_EQ(event_words(model), (std::vector<std::string>{"histogram_2", "quantile_2"}));
}

}  // namespace
}  // namespace manyfold
