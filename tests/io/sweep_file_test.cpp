#include "host/io/sweep_file.hpp"

#include <gtest/gtest.h>
#include <netcdf.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

const std::vector<std::string> methods = {"radau5", "sdirk4", "auto"};

ModelDescription robertson() {
  ModelDescription description;
  description.name = "robertson";
  description.variables = {{"y1", "1", "", 1.0, false}, {"y2", "1", "", 0.0, false}, {"y3", "1", "", 0.0, true}};
  description.parameters = {{"k1", "1/s", "", 0.04}, {"k2", "1/s", "", 1e4}, {"k3", "1/s", "", 3e7}};
  description.t_end = 40.0;
  return description;
}

class SweepFile : public test::InTemporaryFolder {
 protected:
  std::filesystem::path file(const std::string& text, const std::string& name = "s.toml") const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  Sweep parse(const std::string& text) const { return parse_sweep_file(file(text), methods); }

  // The message of the error that parsing and resolving `text` end with, without the folder's name.
  std::string complaint(const std::string& text, const ModelDescription& model = robertson()) const {
    try {
      resolve(parse(text), model);
    } catch (const UsageError& error) {
      std::string message = error.what();
      const std::string folder = folder_.string() + "/";
      for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
        message.erase(at, folder.size());
      }
      return message;
    }
    return "accepted";
  }
};

const char* const documented = R"toml(model = "robertson"
t_span = [0.0, 1e5]

[solver]
method = "radau5"
rtol = 1e-5
atol = { y1 = 1e-8, y2 = 1e-12, default = 1e-7 }
backend = "cpu"
precision = "float64"
threads = 2
projection = true

[ensemble]
instances = 1000
sampler = "sobol"
seed = 42

[parameters]
k1 = { distribution = "uniform", min = 0.02, max = 0.06 }
k2 = { distribution = "lognormal", median = 1e4, sigma = 0.2 }
k3 = 2e7

[initial]
y1 = 0.5

[output]
file = "out/robertson.nc"
times = { log = [1e-6, 1e5, 12] }
variables = ["y3", "y1"]
trajectories = false
statistics = ["mean", "quantile(0.05)"]
)toml";

TEST_F(SweepFile, TheDocumentedExampleSaysWhatItSays) {
  const Sweep sweep = parse(documented);
  EXPECT_EQ(sweep.text, documented);
  EXPECT_EQ(sweep.model, "robertson");
  const ResolvedSweep resolved = resolve(sweep, robertson());
  EXPECT_EQ(resolved.options.method, "radau5");
  EXPECT_EQ(resolved.options.rtol, 1e-5);
  EXPECT_EQ(resolved.options.atol, (std::vector<double>{1e-8, 1e-12, 1e-7}));
  EXPECT_EQ(resolved.options.backend, "cpu");
  EXPECT_EQ(resolved.options.threads, 2);
  EXPECT_TRUE(resolved.options.projection);
  EXPECT_EQ(resolved.saved, (std::vector<int>{2, 0}));
  EXPECT_FALSE(resolved.trajectories);
  ASSERT_EQ(resolved.statistics.size(), 2U);
  EXPECT_EQ(resolved.statistics[1].probability, 0.05);
  EXPECT_EQ(resolved.output_file, "out/robertson.nc");
  EXPECT_EQ(resolved.inputs.instances(), 1000);
  EXPECT_EQ(resolved.inputs.sampled_parameters(), (std::vector<int>{0, 1}));
  std::vector<double> times(12);
  ASSERT_EQ(resolved.times.count(), 12);
  resolved.times.fill(0.0, 1e5, times.data());
  EXPECT_EQ(times.front(), 1e-6);
  EXPECT_NEAR(times[1], 1e-5, 1e-18);  // eleven decades in eleven steps
  EXPECT_EQ(times.back(), 1e5);
  double parameters[3];
  double initial[3];
  double t_span[2];
  resolved.inputs.fill(17, parameters, initial, t_span);
  EXPECT_GT(parameters[0], 0.02);
  EXPECT_LT(parameters[0], 0.06);
  EXPECT_EQ(parameters[2], 2e7);
  EXPECT_EQ(initial[0], 0.5);
  EXPECT_TRUE(std::isnan(initial[1]));
  EXPECT_EQ(t_span[1], 1e5);
}

TEST_F(SweepFile, TheSmallestFileTakesDefaults) {
  const ResolvedSweep resolved = resolve(parse("model = \"robertson\"\n"), robertson());
  EXPECT_EQ(resolved.inputs.instances(), 1);
  EXPECT_EQ(resolved.options.atol, (std::vector<double>(3, 1e-9)));
  EXPECT_EQ(resolved.saved, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(resolved.times.count(), 101);
  EXPECT_EQ(resolved.t_span, (std::array{0.0, 40.0}));
  EXPECT_EQ(resolved.output_file, "s.nc");
}

TEST_F(SweepFile, AllProblemsAreReportedInTheOrderOfTheFile) {
  EXPECT_EQ(
      complaint(R"toml(model = "robertson"
t_spam = [0.0, 1.0]
[solver]
method = "radua5"
rtol = 1
atol = { y1 = 0.0 }
backend = "gpu"
threads = -1
projection = 1
[ensemble]
instances = 0
sampler = "sobel"
[parameters]
k1 = { distribution = "unifrom", min = 0, max = 1 }
k2 = { distribution = "uniform", min = 2.0, max = 1.0 }
k3 = { distribution = "normal", mean = nan, sgma = 1 }
[output]
times = []
statistics = ["mena", "quantile(2)"]
)toml"),
      "s.toml:2:1: error: unknown key \"t_spam\" in the sweep file; did you mean \"t_span\"?\n"
      "s.toml:4:10: error: unknown method \"radua5\"; did you mean \"radau5\"?\n"
      "s.toml:5:8: error: rtol is 1, but must be at least 2.220446e-15, ten times the rounding error, and less than 1\n"
      "s.toml:6:15: error: atol of \"y1\" is 0.0, but must be greater than 0\n"
      "s.toml:7:11: error: unknown backend \"gpu\"; known: auto, cpu, cuda\n"
      "s.toml:8:11: error: threads is -1, but must be an integer from 0 to 65536\n"
      "s.toml:9:14: error: projection is 1, but must be true or false\n"
      "s.toml:11:13: error: instances is 0, but must be an integer from 1 to 1000000000000\n"
      "s.toml:12:11: error: unknown sampler \"sobel\"; did you mean \"sobol\"?\n"
      "s.toml:14:23: error: unknown distribution \"unifrom\"; did you mean \"uniform\"?\n"
      "s.toml:15:51: error: parameters.k2: max of a uniform distribution is 1, but must be greater than min (2)\n"
      "s.toml:16:6: error: parameters.k3 has no key sigma\n"
      "s.toml:16:40: error: parameters.k3.mean is nan, but must be a finite number\n"
      "s.toml:16:45: error: unknown key \"sgma\" in parameters.k3 of distribution \"normal\"; did you mean "
      "\"sigma\"?\n"
      "s.toml:18:9: error: times is an empty list, but must be a list of at least one number\n"
      "s.toml:19:15: error: unknown statistic \"mena\"; did you mean \"mean\"?\n"
      "s.toml:19:23: error: statistic \"quantile(2)\" must be quantile(p) with p from 0 to 1");
}

TEST_F(SweepFile, NamesTheModelDoesNotKnowAreReportedTogether) {
  EXPECT_EQ(complaint(R"toml(model = "robertson"
[solver]
atol = { y4 = 1e-8 }
[parameters]
kk1 = 1.0
[initial]
x = 1.0
[output]
variables = ["y1", "Y22"]
)toml"),
            "s.toml:3:10: error: atol: model \"robertson\" has no variable \"y4\"; did you mean \"y1\"?\n"
            "s.toml:5:1: error: model \"robertson\" has no parameter \"kk1\"; did you mean \"k1\"?\n"
            "s.toml:7:1: error: model \"robertson\" has no variable \"x\"; known: y1, y2, y3\n"
            "s.toml:9:20: error: output.variables: model \"robertson\" has no variable \"Y22\"; did you mean \"y2\"?");
}

TEST_F(SweepFile, WrongTypesAndSyntaxErrorsAreLocated) {
  EXPECT_EQ(complaint("model = 3\nsolver = 1\n[output]\ntrajectories = \"yes\"\ntimes = 1\n"),
            "s.toml:1:9: error: model is 3, but must be a text that is not empty\n"
            "s.toml:2:10: error: solver is 1, but must be a table\n"
            "s.toml:4:16: error: trajectories is \"yes\", but must be true or false\n"
            "s.toml:5:9: error: times as a count is 1, but must be an integer from 2 to 2147483647");
  EXPECT_EQ(complaint("model = \"a\"\nrtol = = 3\n").substr(0, 19), "s.toml:2:8: error: ");
  EXPECT_EQ(complaint("t_span = [1.0, 1.0]\n"),
            "s.toml:1:1: error: model is missing: give a built-in model's name or the path of a .hpp or .mo file\n"
            "s.toml:1:10: error: t_span starts and ends at 1, but its ends must differ");
}

TEST_F(SweepFile, NumbersThatAreTooLargeAreRefusedWithTheFigure) {
  const std::string start = "model = \"robertson\"\n";
  EXPECT_EQ(complaint(start + "[solver]\nevent_log = 4294967296\n"),
            "s.toml:3:13: error: event_log is 4294967296, but must be an integer from 0 to 2147483647");
  EXPECT_EQ(complaint(start + "[ensemble]\ninstances = 9223372036854775807\n"),
            "s.toml:3:13: error: instances is 9223372036854775807, but must be an integer from 1 to 1000000000000");
  const std::string grid = start + "[ensemble]\nsampler = \"grid\"\n[parameters]\n";
  const std::string range = " = { distribution = \"uniform\", min = 1.0, max = 2.0, levels = 100000000 }\n";
  EXPECT_EQ(complaint(grid + "k1" + range + "k2" + range),
            "s.toml:6:1: error: the grid has more than 1000000000000 instances: take fewer levels");
  // Six chunks of 8 instances with 2147483647 times of one variable: 16 * 48 * 2147483647 bytes.
  const std::string many = start + "[solver]\nthreads = 2\n[ensemble]\ninstances = 100\n[output]\n";
  const std::string need =
      "2147483647 output times, which takes 1649.3 GB for the 48 instances that are in memory at once";
  EXPECT_EQ(complaint(many + "times = 2147483647\n").substr(0, 30 + need.size()),
            "s.toml:7:9: error: times has " + need + ",");
  EXPECT_EQ(complaint(many + "times = { log = [1, 2, 2147483647] }\n").substr(0, 31 + need.size()),
            "s.toml:7:24: error: times has " + need + ",");
}

TEST_F(SweepFile, EventLogsAreRefusedWhereTheyDoNotFitMemory) {
  ModelDescription model = robertson();
  const std::string text =
      "model = \"robertson\"\n[solver]\nevent_log = 2147483647\nthreads = 2\n[ensemble]\ninstances = 64\n";
  EXPECT_EQ(complaint(text, model), "accepted") << "without events it takes nothing";
  model.events = {{"hit", "", 0, false, false}};
  // 8 numbers per event: time, kind, and three variables before and after.
  EXPECT_EQ(complaint(text, model).substr(0, 88),
            "s.toml:3:13: error: event_log is 2147483647, which takes 6597.1 GB for the 48 instances ");
}

TEST_F(SweepFile, DiscreteNumbersAreNamedLikeVariables) {
  ModelDescription model = robertson();
  model.observables = {{"sum", "1", "", 0.0, true}};
  model.events = {{"hit", "", 0, false, false}};
  model.discrete = {{"mode", "1", "", 0.0, false}};
  const std::string text = "model = \"robertson\"\n[output]\n";
  const ResolvedSweep named =
      resolve(parse(text + "variables = [\"y2\", \"mode\"]\nreduce = [\"mean(mode) < 0.5\"]\n"), model);
  EXPECT_EQ(named.saved, (std::vector<int>{1, 4}));
  EXPECT_EQ(named.reductions.at(0).terms().at(0).place, 1);
  EXPECT_EQ(resolve(parse(text), model).saved, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(complaint(text + "reduce = [\"max(mode)\"]\n", model),
            "s.toml:3:11: error: reduce: \"mode\" is not saved: add it to output.variables; with trajectories = false "
            "the file does not grow");
}

TEST_F(SweepFile, WholeNumbersMayBeWrittenWithAnExponent) {
  EXPECT_EQ(parse("model = \"robertson\"\n[ensemble]\ninstances = 2e4\n").sampling.instances, 20000);
  EXPECT_EQ(complaint("model = \"robertson\"\n[ensemble]\ninstances = 2.5\n"),
            "s.toml:3:13: error: instances is 2.5, but must be an integer from 1 to 1000000000000");
}

// As in options and tables, whatever else TOML has.
TEST_F(SweepFile, NumbersAreDecimalAndWhatADoubleHolds) {
  const std::string start = "model = \"robertson\" # \u00e4\n[parameters]\n";
  const Sweep sweep = parse(start + "k2 = +1_0.5\n[ensemble]\nseed = 9223372036854775807\n");
  EXPECT_EQ(sweep.quantities.at(0).quantity.distribution.quantile(0.5), 10.5);
  EXPECT_EQ(sweep.sampling.seed, 9223372036854775807U);
  EXPECT_EQ(complaint(start + "k1 = 0x10\n"), "s.toml:3:6: error: parameters.k1 is 0x10, but must be a decimal number");
  EXPECT_EQ(complaint(start + "k1 = inf\n"), "s.toml:3:6: error: parameters.k1 is inf, but must be a finite number");
  EXPECT_EQ(
      complaint(start + "k1 = { distribution = \"choice\", values = [1, \t1e-400 ] }\n"),
      "s.toml:3:47: error: an element of parameters.k1.values is 1e-400, but must be a number that a double holds "
      "(2.2e-308 to 1.8e308)");
  EXPECT_EQ(complaint(start + "[ensemble]\nseed = 0xff\n"),
            "s.toml:4:8: error: seed is 0xff, but must be an integer of at least 0");
}

TEST_F(SweepFile, CommonMistakesAreToldApart) {
  EXPECT_EQ(complaint("model = \"robertson\"\n[output]\nstatistics = [\"median\"]\n"),
            "s.toml:3:15: error: unknown statistic \"median\"; did you mean \"quantile(0.5)\"?");
  EXPECT_EQ(complaint("model = \"robertson\"\n[ensembles]\ninstances = 9\n[parameters]\nk1 = { distribution = "
                      "\"uniform\", min = 0.02, max = 0.06 }\n"),
            "s.toml:2:2: error: unknown key \"ensembles\" in the sweep file; did you mean \"ensemble\"?");
}

TEST_F(SweepFile, AMissingTableIsNamedBeforeTheModelIsLookedAt) {
  const auto with = [](const std::string& table) {
    return "model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"" + table + "\"\n";
  };
  EXPECT_THROW(parse(with("none.csv")), UsageError);
  EXPECT_EQ(complaint(with("none.csv")),
            "s.toml:4:9: error: the table \"none.csv\" cannot be read: No such file or directory");
  EXPECT_EQ(complaint(with(".")), "s.toml:4:9: error: the table \".\" cannot be read: it is not a file");
  std::ofstream(folder_ / "secret.csv") << "k1\n1\n";
  std::filesystem::permissions(folder_ / "secret.csv", std::filesystem::perms::none);
  // The superuser may read everything.
  EXPECT_EQ(
      complaint(with("secret.csv")),
      geteuid() == 0 ? "accepted" : "s.toml:4:9: error: the table \"secret.csv\" cannot be read: Permission denied");
  EXPECT_EQ(complaint(with("http://127.0.0.1/x.nc")),
            "s.toml:4:9: error: table is \"http://127.0.0.1/x.nc\", but must be a file of this machine");
}

TEST_F(SweepFile, TheCommandLineStandsInPlaceOfTheFile) {
  const auto path = file(R"toml(model = "robertson"
[solver]
rtol = 1e-5
atol = { y2 = 1e-12, y3 = 1e-8, default = 1e-7 }
[ensemble]
instances = 20
seed = 3
[parameters]
k1 = { distribution = "uniform", min = 0.02, max = 0.06 }
k2 = { distribution = "uniform", min = 2e4, max = 3e4 }
)toml");
  SweepOverrides overrides;
  overrides.method = "sdirk4";
  overrides.rtol = 1e-8;
  overrides.instances = 50;
  overrides.seed = 7;
  overrides.parameters = {{"k1", 0.05}, {"k3", 2e7}};
  overrides.atol_by_variable = {{"y2", 1e-14}};
  const ResolvedSweep named = resolve(parse_sweep_file(path, methods, overrides), robertson());
  EXPECT_EQ(named.options.method, "sdirk4");
  EXPECT_EQ(named.options.rtol, 1e-8);
  EXPECT_EQ(named.options.atol, (std::vector<double>{1e-7, 1e-14, 1e-8}));
  ASSERT_EQ(named.inputs.instances(), 50);
  std::array<double, 3> parameters;
  std::array<double, 3> initial;
  std::array<double, 2> t_span;
  named.inputs.fill(49, parameters.data(), initial.data(), t_span.data());
  EXPECT_EQ(parameters[0], 0.05);
  EXPECT_TRUE(parameters[1] > 2e4 && parameters[1] < 3e4) << parameters[1];
  EXPECT_EQ(parameters[2], 2e7);
  overrides.atol = 1e-10;
  const Sweep sweep = parse_sweep_file(path, methods, overrides);
  EXPECT_EQ(resolve(sweep, robertson()).options.atol, (std::vector<double>{1e-10, 1e-14, 1e-10}));
  EXPECT_EQ(sweep.sampling.seed, 7u);
}

TEST_F(SweepFile, WhatIsWrongOnTheCommandLineHasNoPlaceInTheFile) {
  auto path = file("model = \"robertson\"\n[ensemble]\ninstances = 20\n");
  const auto expect = [&](const SweepOverrides& overrides, const std::string& message) {
    try {
      resolve(parse_sweep_file(path, methods, overrides), robertson());
      ADD_FAILURE() << "accepted, in place of " << message;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "manyfold: error: " + message);
    }
  };
  expect({.method = "radua5"}, "--method: unknown method 'radua5'; did you mean \"radau5\"?");
  expect({.rtol = 0.0},
         "--rtol is 0, but must be at least 2.220446e-15, ten times the rounding error, and less than 1");
  expect({.atol_by_variable = {{"y4", 1e-9}}},
         "atol: model \"robertson\" has no variable \"y4\"; did you mean \"y1\"?");
  expect({.parameters = {{"k4", 1.0}}}, "model \"robertson\" has no parameter \"k4\"; did you mean \"k1\"?");
  path = file(
      "model = \"robertson\"\n[ensemble]\nsampler = \"grid\"\n[parameters]\nk1 = { distribution = \"choice\", values = "
      "[0.03, 0.04] }\n");
  expect({.seed = 5}, "--seed 5: the sampler \"grid\" draws nothing");
}

TEST_F(SweepFile, MessagesGetThePlaceOfTheKeyTheyBeginWith) {
  const Sweep sweep = parse("model = \"robertson\"\n[solver]\nmethod = \"sdirk4\"\n");
  const std::string file = (folder_ / "s.toml").string();
  EXPECT_EQ(placed(sweep, "method 'sdirk4': no"), file + ":3:10: error: method 'sdirk4': no");
  EXPECT_EQ(placed(sweep, "unknown model 'x'"), file + ":1:9: error: unknown model 'x'");
  EXPECT_EQ(placed(sweep, "backend 'cuda': no"), "backend 'cuda': no") << "not in the file";
  EXPECT_EQ(placed(sweep, "m.hpp:1:2: error: x"), "m.hpp:1:2: error: x");
}

TEST_F(SweepFile, AMissingSweepFileIsNamed) {
  try {
    parse_sweep_file("/nowhere/s.toml", methods);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "/nowhere/s.toml:1:1: error: the sweep file cannot be read: No such file or directory");
  }
}

TEST_F(SweepFile, WhatTheSystemMakesUpIsNotRead) {
  // /proc/kmsg is such a file too, and waits for ever.
  try {
    parse_sweep_file("/proc/version", {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "/proc/version:1:1: error: the sweep file is empty, but needs a model");
  }
}

TEST_F(SweepFile, ADeviceWithoutEndIsNotReadForEver) {
  try {
    parse_sweep_file("/dev/zero", methods);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "/dev/zero:1:1: error: the sweep file has more than 67108864 bytes: is it one?");
  }
}

TEST_F(SweepFile, AKeyOfTooManyPartsIsRefused) {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  EXPECT_EQ(complaint("model = \"robertson\"\n" + key + " = 1\n"),
            "s.toml:2:512: error: a key has more than 256 parts");
  const std::string points(1000, '.');
  EXPECT_EQ(complaint("model = \"robertson\" # " + points + "\n"), "accepted");
  // Points in quotation marks separate nothing. What follows them counts, wherever TOML ends a string.
  const std::string unknown = "s.toml:3:1: error: model \"robertson\" has no parameter \"";
  for (const std::string& name : {'"' + points + '"', "'\\" + points + "'"}) {
    const std::string said = complaint("model = \"robertson\"\n[parameters]\n" + name + " = 1\n");
    EXPECT_EQ(said.substr(0, unknown.size()), unknown);
  }
  for (const char* const text :
       {R"("")", "''", R"("\"")", R"('\')", R"("'")", "\"\"\"\"a\n'\"\"\"\"\"", "'''a''\"''''"}) {
    const std::string said = complaint("x = { y = " + std::string(text) + ", " + key + " = 1 }\n");
    EXPECT_NE(said.find(": error: a key has more than 256 parts"), std::string::npos) << text << ": " << said;
  }
  std::string times = "0.0";
  for (int i = 1; i <= 1000; ++i) times += ", " + std::to_string(i) + ".0";
  EXPECT_EQ(complaint("model = \"robertson\"\nt_span = [0.0, 1e3]\n[output]\ntimes = [" + times + "]\n"), "accepted");
}

TEST_F(SweepFile, WhatIsBeyondDoublesIsRefused) {
  const std::string model = "model = \"robertson\"\n";
  EXPECT_EQ(complaint(model + "t_span = [-1.7e308, 1.7e308]\n"),
            "s.toml:2:10: error: t_span runs from -1.7e+308 to 1.7e+308, but its length must be what a double holds "
            "(1.8e308)");
  EXPECT_EQ(complaint(model + "[output]\ntimes = { log = [1e-300, 1e300, 3] }\n"),
            "s.toml:3:9: error: the ends of log times are 1e-300 and 1e+300, but their quotient must be what a double "
            "holds (2.2e-308 to 1.8e308)");
}

TEST_F(SweepFile, AStatisticIsGivenOnceHoweverItIsWritten) {
  EXPECT_EQ(complaint("model = \"robertson\"\n[output]\nstatistics = [\"quantile(0.5)\", \"quantile(0.50)\"]\n"),
            "s.toml:3:32: error: statistics has \"quantile(0.50)\" twice");
}

TEST_F(SweepFile, TimesMustRunWithTheTimeSpanAndStayInIt) {
  const std::string start = "model = \"robertson\"\nt_span = [10.0, 0.0]\n[output]\n";
  EXPECT_EQ(complaint(start + "times = [10.0, 5.0, 0.0]\n"), "accepted");
  EXPECT_EQ(complaint(start + "times = [0.0, 5.0]\n"),
            "s.toml:4:9: error: times run from 0 to 5, but the time span from 10 to 0");
  EXPECT_EQ(complaint(start + "times = [11.0]\n"),
            "s.toml:4:9: error: times has 11, but the time span is from 10 to 0");
  EXPECT_EQ(complaint(start + "times = [5.0, 5.0]\n"),
            "s.toml:4:9: error: times must be strictly monotone, but 5 follows 5");
  EXPECT_EQ(complaint(start + "times = \"end\"\n"), "accepted");
  // Doubles beyond 2^49 are 1/8 apart: there are 25 from the start to the end.
  const std::string late = "model = \"robertson\"\nt_span = [1e15, 1000000000000003]\n[output]\ntimes = ";
  EXPECT_EQ(complaint(late + "25\n"), "accepted");
  EXPECT_EQ(complaint(late + "26\n").substr(0, 61), "s.toml:4:9: error: times has 25 equal steps, of which two end");
  EXPECT_EQ(complaint(start + "times = { log = [0.0, 1.0, 5] }\n"),
            "s.toml:4:9: error: the ends of log times are 0 and 1, but must be positive, finite and different");
}

TEST_F(SweepFile, TimeSpansWhoseEndsCannotMeetAreNotComparedOneByOne) {
  const auto with = [](const std::string& span, const std::string& instances) {
    return "model = \"robertson\"\nt_span = " + span + "\n[ensemble]\ninstances = " + instances + "\n";
  };
  const std::string uniform = "{ distribution = \"uniform\", min = 1.0, max = 2.0 }";
  // One by one they would take a day.
  const std::string many = "1000000000000";
  EXPECT_EQ(complaint(with("[0.0, " + uniform + "]", many)), "accepted");
  EXPECT_EQ(complaint(with("[" + uniform + ", -1e-3]", many)), "accepted");
  const std::string normal = "{ distribution = \"normal\", mean = 10.0, sigma = 0.5 }";
  EXPECT_EQ(complaint(with("[" + uniform + ", " + normal + "]", many)), "accepted");
  const std::string choice = "{ distribution = \"choice\", values = [9.0, 3.0, 5.0] }";
  EXPECT_EQ(complaint(with("[" + uniform + ", " + choice + "]", many)), "accepted");
  EXPECT_EQ(complaint(with("[" + uniform + ", 2.0]", "200000")), "accepted") << "ends may be near each other";
}

TEST_F(SweepFile, TheFirstTimeSpanThatCrossesIsNamed) {
  const std::string text =
      "model = \"robertson\"\nt_span = [{ distribution = \"uniform\", min = 0.0, max = 1.00002 }, 1.0]\n"
      "[ensemble]\ninstances = 300000\n[solver]\nthreads = 3\n";
  // Among those, one in 50,000 begins after 1.
  const Sweep sweep = parse(text);
  EnsembleInputs inputs = EnsembleInputs::sampled(robertson(), sweep.sampling, {sweep.quantities.at(0).quantity});
  inputs.set_t_span(0.0, 1.0);
  std::int64_t first = 0;
  while (first < 300000 && inputs.span(first)[0] < 1.0) ++first;
  ASSERT_LT(first, 300000);
  ASSERT_GT(first, 0);
  const std::string message = complaint(text);
  EXPECT_NE(message.find("s.toml:2:10: error: the time span of instance " + std::to_string(first) + " runs from "),
            std::string::npos)
      << message;
  std::array<double, 6> parameters{};
  std::array<double, 2> span{};
  inputs.fill(first, parameters.data(), parameters.data() + 3, span.data());
  EXPECT_EQ(span, inputs.span(first));
}

TEST_F(SweepFile, EqualStepsFollowEachInstancesSpanAndHitBothEnds) {
  const OutputTimes times = OutputTimes::equal_steps(4);
  double values[4];
  times.fill(1.0, 0.1, values);
  EXPECT_EQ(values[0], 1.0);
  EXPECT_NEAR(values[1], 0.7, 1e-15);
  EXPECT_EQ(values[3], 0.1);
  OutputTimes::end().fill(1.0, 0.1, values);
  EXPECT_EQ(values[0], 0.1);
}

TEST_F(SweepFile, AGridRunsItsLastNamedQuantityFastest) {
  // k2 is named before k1, and y1 after both, whatever their alphabet.
  const std::string text = R"toml(model = "robertson"
[ensemble]
sampler = "grid"
[parameters]
k2 = { distribution = "uniform", min = 1.0, max = 2.0, levels = 2 }
k1 = { distribution = "loguniform", min = 1.0, max = 100.0, levels = 3 }
[initial]
y1 = { distribution = "choice", values = [5.0, 6.0] }
)toml";
  const ResolvedSweep resolved = resolve(parse(text), robertson());
  ASSERT_EQ(resolved.inputs.instances(), 12);
  double parameters[3];
  double initial[3];
  double t_span[2];
  resolved.inputs.fill(9, parameters, initial, t_span);  // 9 = 1 * 6 + 1 * 2 + 1
  EXPECT_EQ(parameters[1], 2.0);
  EXPECT_NEAR(parameters[0], 10.0, 1e-13);
  EXPECT_EQ(initial[0], 6.0);
  std::string wrong = text;
  wrong.replace(wrong.find("sampler"), 0, "instances = 13\n");
  EXPECT_EQ(complaint(wrong), "s.toml:3:13: error: instances is 13, but the grid has 12: leave it out");
}

TEST_F(SweepFile, ATableIsReadFromTheSweepFilesFolder) {
  file("k1,t_end\n0.1,5\n0.2,6\n", "cases.csv");
  const std::string text = "model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"cases.csv\"\n";
  const ResolvedSweep resolved = resolve(parse(text), robertson());
  EXPECT_EQ(resolved.inputs.instances(), 2);
  EXPECT_EQ(resolved.inputs.sampled_times(), (std::array{false, true}));
  EXPECT_EQ(complaint(text + "instances = 3\n"),
            "s.toml:5:13: error: instances is 3, but the table has 2 rows: leave it out");
  EXPECT_EQ(complaint(text + "[parameters]\nk2 = 1e4\nk1 = 0.1\n"),
            "s.toml:7:1: error: \"k1\" is given both as a number and in the table");
  file("k1,k9\n0.1,5\n", "cases.csv");
  EXPECT_EQ(
      complaint(text),
      "cases.csv:1:4: error: model \"robertson\" has no parameter or variable \"k9\" for this column of the table; did "
      "you mean \"k1\"?");
  EXPECT_EQ(complaint("model = \"robertson\"\n[ensemble]\nsampler = \"table\"\n"),
            "s.toml:2:1: error: sampler = \"table\" needs the key table: the path of a .csv or .nc file");
}

TEST_F(SweepFile, TheCommandLineStandsInPlaceOfColumns) {
  file("k1,k2\n0.1,5\n0.2,6\n", "cases.csv");
  const auto path = file("model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"cases.csv\"\n");
  SweepOverrides overrides;
  overrides.parameters = {{"k1", 0.5}, {"k3", 2e7}};
  const ResolvedSweep resolved = resolve(parse_sweep_file(path, methods, overrides), robertson());
  ASSERT_EQ(resolved.inputs.instances(), 2);
  std::array<double, 3> parameters;
  std::array<double, 3> initial;
  std::array<double, 2> t_span;
  resolved.inputs.fill(1, parameters.data(), initial.data(), t_span.data());
  EXPECT_EQ(parameters, (std::array{0.5, 6.0, 2e7}));
  ModelDescription bounded = robertson();
  bounded.parameters[0].bounds.max = 0.2;
  try {
    resolve(parse_sweep_file(path, methods, overrides), bounded);
    FAIL() << "0.5 was accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "manyfold: error: \"k1\" is 0.5, above its maximum 0.2");
  }
}

TEST_F(SweepFile, UnitsOfTablesThatAreNotTheModelsAreTold) {
  int table = 0;
  int dimension = 0;
  int variable = 0;
  ASSERT_EQ(nc_create((folder_ / "cases.nc").c_str(), NC_NETCDF4, &table), NC_NOERR);
  nc_def_dim(table, "instance", 1, &dimension);
  const double one = 1.0;
  for (const auto& [name, unit] :
       {std::pair("k1", "s-1"), {"k2", "min-1"}, {"k3", "1/s"}, {"y1", ""}, {"t_end", "h"}}) {
    nc_def_var(table, name, NC_DOUBLE, 1, &dimension, &variable);
    nc_put_att_text(table, variable, "units", std::strlen(unit), unit);
    nc_put_var_double(table, variable, &one);
  }
  nc_def_var(table, "y2", NC_DOUBLE, 1, &dimension, &variable);
  nc_put_att_text(table, variable, "units", 4, "degC");
  nc_put_var_double(table, variable, &one);
  nc_def_var(table, "note", NC_DOUBLE, 0, nullptr, &variable);
  nc_close(table);
  ModelDescription model = robertson();
  model.variables[1].unit = "K";
  const std::string start = (folder_ / "cases.nc").string() + ": ";
  const std::string text = "model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"cases.nc\"\n";
  EXPECT_EQ(resolve(parse(text), model).warnings,
            (std::vector<std::string>{
                start + "passes over what does not lie on the dimension \"instance\" alone: note",
                start + "\"k2\" is in \"min-1\", but in the model in \"1/s\": its numbers are not converted",
                start + "\"t_end\" is in \"h\", but in the model in \"s\": its numbers are not converted",
                start + "\"y2\" is in \"degC\", but in the model in \"K\": its numbers are not converted"}));
}

TEST_F(SweepFile, ModelFilesAreRelativeToTheSweepFile) {
  EXPECT_EQ(parse("model = \"models/tank.hpp\"\n").model, (folder_ / "models/tank.hpp").string());
  EXPECT_EQ(parse("model = \"/a/tank.mo\"\n").model, "/a/tank.mo");
  EXPECT_EQ(parse("model = \"tank.bmo\"\n").model, (folder_ / "tank.bmo").string());
}

TEST_F(SweepFile, AStructuralParameterIsAnIntegerConstantInRange) {
  ModelDescription model = robertson();
  model.structural = {"points", 10, 3, 1000};
  const Sweep sweep = parse("model = \"robertson\"\n[parameters]\npoints = 100\n");
  EXPECT_EQ(constant_integer_parameter(sweep, "points"), 100);
  EXPECT_EQ(constant_integer_parameter(sweep, "k1"), std::nullopt);
  EXPECT_NO_THROW(resolve(sweep, model));
  const std::string need = "parameters.points must be an integer constant from 3 to 1000: it shapes the equations";
  EXPECT_EQ(complaint("model = \"robertson\"\n[parameters]\npoints = 2\n", model), "s.toml:3:10: error: " + need);
  EXPECT_EQ(complaint("model = \"robertson\"\n[parameters]\npoints = 10.5\n", model), "s.toml:3:10: error: " + need);
  EXPECT_THROW(constant_integer_parameter(parse("model = \"robertson\"\n[parameters]\npoints = 10.5\n"), "points"),
               UsageError);
}

}  // namespace
}  // namespace manyfold
