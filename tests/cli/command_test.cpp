// The command as users meet it: output, exit codes, and the message for every kind of bad input.
#include <gtest/gtest.h>
#include <netcdf.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/sample.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Outcome;
using manyfold::test::slurp;

class Command : public manyfold::test::CommandTest {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  /// A small sweep with one line replaced or added.
  fs::path sweep(const std::string& model, const std::string& parameters, const std::string& solver = "",
                 const std::string& ensemble = "instances = 20", const std::string& output = "times = 3") const {
    return write("sweep.toml", "model = \"" + model + "\"\nt_span = [0.0, 1.0]\n[solver]\nrtol = 1e-6\n" + solver +
                                   "\n[ensemble]\n" + ensemble + "\n[parameters]\n" + parameters +
                                   "\n[output]\nfile = \"result.nc\"\n" + output + "\n");
  }
};

using nlohmann::json;

TEST_F(Command, SolveListsTheEvents) {
  const auto result = json::parse(call("solve bouncing_ball --t-end 1.5 --rtol 1e-10 --json").out);
  EXPECT_EQ(result["stats"]["events"], 2);
  ASSERT_EQ(result["events"].size(), 2U);
  EXPECT_EQ(result["events"][1]["name"], "bounce");
  EXPECT_NEAR(result["events"][1]["t"].get<double>(), 2.8 * std::sqrt(0.18), 1e-10);
  EXPECT_EQ(result["events"][1]["direction"], -1);

  const auto ended = json::parse(call("solve overflow_tank --json").out);
  EXPECT_EQ(ended["status"], "terminated_by_event");

  const Outcome described = call("describe bouncing_ball");
  EXPECT_NE(described.out.find("bounce"), std::string::npos);
  EXPECT_NE(described.out.find("downwards"), std::string::npos);

  std::ofstream(folder_ / "balls.toml")
      << "model = \"bouncing_ball\"\nt_span = [0.0, 1.5]\n[ensemble]\ninstances = 10\n[output]\nfile = \"balls.nc\"\n"
         "times = \"end\"\n[parameters]\nheight = { distribution = \"uniform\", min = 0.5, max = 1.5 }\n";
  const Outcome ran = call("run balls.toml");
  EXPECT_NE(ran.out.find("10  bounce: first from t = "), std::string::npos) << ran.out;
  const auto summary = json::parse(call("run balls.toml --force --json").out);
  EXPECT_EQ(summary["events"][0]["name"], "bounce");
  EXPECT_EQ(summary["events"][0]["instances"], 10);
  // A ball at 0.5 m falls 0.4 m in at least sqrt(2 0.4 / 10) s.
  EXPECT_GE(summary["events"][0]["earliest"].get<double>(), std::sqrt(0.08) - 1e-9);
  EXPECT_LE(summary["events"][0]["latest"].get<double>(), std::sqrt(0.28) + 1e-9);

  const Outcome restless = call("solve bouncing_ball --set rest_speed=0 --max-steps 150");
  EXPECT_NE(restless.err.find(" steps, the last of them 'bounce'"), std::string::npos) << restless.err;
  const Outcome storm = call("solve bouncing_ball --set rest_speed=0 --t-end 9");
  EXPECT_EQ(storm.code, 3);
  EXPECT_NE(storm.err.find("event_storm at t = 8.06"), std::string::npos) << storm.err;
  EXPECT_NE(storm.err.find("'bounce'"), std::string::npos) << storm.err;
}

TEST_F(Command, ListAndDescribeShowTheBuiltInModels) {
  EXPECT_NE(call("list").out.find("transistor_amplifier"), std::string::npos);
  const auto models = json::parse(call("list --json").out);
  EXPECT_GE(models.size(), 8U);
  const auto robertson = json::parse(call("describe robertson --json").out);
  EXPECT_EQ(robertson["variables"][2]["name"], "y3");
  EXPECT_TRUE(robertson["variables"][2]["algebraic"]);
  EXPECT_EQ(robertson["parameters"][1]["value"], 1e4);
  EXPECT_EQ(robertson["form"], "semi_explicit");
  const auto pendulum = json::parse(call("describe pendulum_index3 --json").out);
  EXPECT_EQ(pendulum["index"], 3);
  EXPECT_EQ(pendulum["methods"]["auto"], (json{"radau9", "radau9", "radau9"}));
  const auto refused = pendulum["methods"]["refused"].get<std::vector<std::string>>();
  EXPECT_NE(std::find(refused.begin(), refused.end(), "bdf"), refused.end());
  EXPECT_NE(call("describe pendulum_index3").out.find("refused: "), std::string::npos);
}

TEST_F(Command, InfoListsMethodsWithOrderAndFamily) {
  const auto info = json::parse(call("info --json").out);
  ASSERT_GE(info["methods"].size(), 2U);
  EXPECT_EQ(info["methods"][0]["name"], "radau5");
  EXPECT_EQ(info["methods"][0]["order"], 5);
  EXPECT_EQ(info["methods"][0]["order_of_index_3"], 4);
  EXPECT_GE(info["lanes"], 1);
}

TEST_F(Command, SolvePrintsTheEndOfOneInstanceAsJson) {
  // Robertson at t = 40: reference solution to 20 digits.
  const Outcome outcome = call("solve robertson --t-end 40 --rtol 1e-8 --atol 1e-12 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto result = json::parse(outcome.out);
  EXPECT_EQ(result["status"], "success");
  EXPECT_EQ(result["t"], 40.0);
  EXPECT_NEAR(result["values"]["y1"], 0.7158270687194050904744738, 1e-7);
  EXPECT_NEAR(result["values"]["y2"], 9.185534764557763903899213e-06, 1e-11);
  EXPECT_NEAR(result["values"]["y3"], 0.2841637457458303517616223, 1e-7);
  // y1' of the equations at the reference point.
  EXPECT_NEAR(result["derivatives"]["y1"],
              -0.04 * 0.71582706871940509 + 1e4 * 9.1855347645577639e-06 * 0.28416374574583035, 1e-6);
  for (const char* key : {"model", "method", "backend", "stats", "events"}) EXPECT_TRUE(result.contains(key)) << key;
  EXPECT_GT(result["stats"]["steps"], 10);
}

TEST_F(Command, SolveSetsParametersAndInitialValues) {
  const auto result =
      json::parse(call("solve van_der_pol --set mu=1 --initial y1=0 --initial y2=0 --t-end 5 --json").out);
  EXPECT_EQ(result["values"]["y1"], 0.0);
  EXPECT_EQ(result["values"]["y2"], 0.0);
}

// y(t) = 1 - t leaves its range at 0, and its root is undefined from there.
TEST_F(Command, SolveWarnsOfValuesOutOfRange) {
  write("drain.mo",
        "model Drain\n  parameter Real rate(min = 0) = 1;\n  Real level(start = 1, fixed = true, min = 0);\n"
        "  Real speed;\nequation\n  der(level) = -rate;\n  speed = noEvent(sqrt(level));\nend Drain;\n");
  const Outcome solved = call("solve drain.mo --t-end 2 --times 5");
  EXPECT_EQ(solved.code, 0) << solved.err;
  EXPECT_NE(solved.err.find("warning: level is -0.5, below its minimum 0, at t = 1.5; out of range at 2 of 5 output "
                            "times"),
            std::string::npos)
      << solved.err;
  EXPECT_NE(solved.err.find("warning: speed is no finite number, at t = 1.5"), std::string::npos) << solved.err;
  const json described = json::parse(call("describe drain.mo --json").out);
  EXPECT_EQ(described["parameters"][0]["min"], 0.0);
  EXPECT_EQ(described["parameters"][0]["max"], nullptr);
  expect_misuse("solve drain.mo --set rate=-1", {"manyfold: error: --set rate: is -1, below its minimum 0"});
  expect_misuse("solve drain.mo --initial level=-1", {"manyfold: error: --initial level: is -1, below its minimum 0"});
  const fs::path negative = sweep("drain.mo", "rate = 2\n[initial]\nlevel = -1");
  expect_misuse("run " + negative.string(), {"sweep.toml:11:1: error: \"level\" is -1, below its minimum 0"});
}

// What `check` refuses, the others do.
TEST_F(Command, AModelsOwnParameterKeepsToItsBounds) {
  write("drain.mo",
        "model Drain\n  parameter Real rate(min = 0) = -1;\n  Real level(start = 1, fixed = true);\nequation\n"
        "  der(level) = -rate;\nend Drain;\n");
  expect_misuse("check drain.mo", {"drain.mo: error: parameter 'rate' is -1, below its minimum 0"});
  expect_misuse("solve drain.mo", {"manyfold: error: model 'Drain', parameter rate: is -1, below its minimum 0"});
  expect_misuse("verify drain.mo", {"manyfold: error: model 'Drain', parameter rate: is -1, below its minimum 0"});
  expect_misuse("run " + sweep("drain.mo", "").string(),
                {"sweep.toml:1:9: error: model \"Drain\": parameter \"rate\" is -1, below its minimum 0"});
  EXPECT_EQ(call("solve drain.mo --set rate=1").code, 0);
  EXPECT_EQ(call("run " + sweep("drain.mo", "rate = 1").string()).code, 0);
}

TEST_F(Command, SolveProjectsOnTheConstraints) {
  const Outcome outcome = call("solve pendulum_index3 --projection --method radau5 --t-end 20 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto values = json::parse(outcome.out)["values"];
  // The hidden constraint, which is off by 1e-4 without.
  EXPECT_NEAR(
      values["x"].get<double>() * values["u"].get<double>() + values["z"].get<double>() * values["w"].get<double>(),
      0.0, 1e-9);
}

TEST_F(Command, SolveWritesCsv) {
  const Outcome outcome = call("solve pendulum --t-end 2 --times 5 --csv out.csv");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(slurp(folder_ / "out.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "time,x,z,u,w,lambda");
  int count = 0;
  while (std::getline(lines, line)) ++count;
  EXPECT_EQ(count, 5);
}

// bouncing_ball_track has the mode `moving`; in Modelica models such numbers are observables.
TEST_F(Command, DiscreteNumbersStandInTheTableOnce) {
  const auto header = [&](const std::string& arguments) {
    const std::string text = call("solve " + arguments + " --csv -").out;
    return text.substr(0, text.find('\n'));
  };
  EXPECT_TRUE(header("bouncing_ball_track").ends_with(",moving")) << header("bouncing_ball_track");
  const std::string problems = manyfold::test::from_environment("MANYFOLD_SOURCE") + "/problems/";
  EXPECT_EQ(header(problems + "thermostat/thermostat.mo --t-end 1"), "time,T,on");
  // What the compiler keeps of relations between events is nobody's column.
  std::ofstream(folder_ / "step.mo") << "model step\n  Real x(start = 0, fixed = true);\n  Real y;\nequation\n"
                                        "  der(x) = 1;\n  y = if x > 0.5 then 2 * x else 1.0;\nend step;\n";
  EXPECT_EQ(header("step.mo --t-end 1"), "time,x,y");
}

TEST_F(Command, SolveShowsTheStateAtATerminalEvent) {
  EXPECT_EQ(call("solve overflow_tank --set inflow=0.05 --times 11 --csv tank.csv").code, 0);
  std::ifstream file(folder_ / "tank.csv");
  std::string line;
  std::vector<std::pair<double, double>> rows;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const auto comma = line.find(',');
    rows.emplace_back(std::stod(line.substr(0, comma)), std::stod(line.substr(comma + 1)));
  }
  // The exact solution in the model's file: 61.289 s to the rim at 2 m, after the output times 0, 20, 40 and 60.
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[3].first, 60.0);
  EXPECT_NEAR(rows[4].first, 61.28930, 1e-4);
  EXPECT_NEAR(rows[4].second, 2.0, 1e-6);
}

TEST_F(Command, ALineOfPointsIsAsLongAsAskedFor) {
  const auto result = json::parse(call("solve diffusion --set points=12 --json").out);
  EXPECT_EQ(result["values"].size(), 14U);
}

TEST_F(Command, RunWritesAResultFileAndASummary) {
  const fs::path file = sweep("robertson", "k1 = { distribution = \"uniform\", min = 0.02, max = 0.06 }");
  const Outcome outcome = call("run " + file.string() + " --json --threads 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto summary = json::parse(outcome.out);
  for (const char* key : {"model", "instances", "by_status", "wall_seconds", "instances_per_second", "lane_utilisation",
                          "backend", "tier", "linear_solver", "method", "output", "steps_total"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
  EXPECT_EQ(summary["by_status"]["success"], 20);
  int id = 0;
  ASSERT_EQ(nc_open((folder_ / "result.nc").c_str(), NC_NOWRITE, &id), NC_NOERR);
  int variable = 0;
  std::vector<double> k1(20);
  ASSERT_EQ(nc_inq_varid(id, "param_k1", &variable), NC_NOERR);
  ASSERT_EQ(nc_get_var_double(id, variable, k1.data()), NC_NOERR);
  for (const double value : k1) EXPECT_TRUE(value > 0.02 && value < 0.06);
  // Compression of all that is written would take longer than the integration.
  int deflates = 1;
  ASSERT_EQ(nc_inq_varid(id, "y1", &variable), NC_NOERR);
  ASSERT_EQ(nc_inq_var_deflate(id, variable, nullptr, &deflates, nullptr), NC_NOERR);
  EXPECT_EQ(deflates, 0);
  nc_close(id);
}

TEST_F(Command, ObservablesAreSavedByName) {
  const std::string circuit =
      manyfold::test::from_environment("MANYFOLD_SOURCE") + "/tests/support/observed_circuit.hpp";
  const auto sweep = [&](const std::string& variables) {
    std::ofstream(folder_ / "observed.toml") << "model = \"" << circuit
                                             << "\"\n[ensemble]\ninstances = 20\n[parameters]\nR = { distribution = "
                                                "\"uniform\", min = 1.0, max = 3.0 }\n[output]\nfile = "
                                                "\"observed.nc\"\nstatistics = [\"max\"]\nvariables = "
                                             << variables << "\n";
    return call("run observed.toml --force");
  };
  EXPECT_EQ(sweep("[\"heating\", \"u\"]").code, 0);
  int file = 0;
  ASSERT_EQ(nc_open((folder_ / "observed.nc").c_str(), NC_NOWRITE, &file), NC_NOERR);
  int heating = 0;
  int absent = 0;
  EXPECT_EQ(nc_inq_varid(file, "heating", &heating), NC_NOERR);
  EXPECT_EQ(nc_inq_varid(file, "heating_max", &absent), NC_NOERR);
  EXPECT_EQ(nc_inq_varid(file, "energy", &absent), NC_ENOTVAR);
  char unit[2] = {};
  EXPECT_EQ(nc_get_att_text(file, heating, "units", unit), NC_NOERR);
  EXPECT_STREQ(unit, "W");
  nc_close(file);
  const Outcome unknown = sweep("[\"heatin\"]");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("has no variable \"heatin\"; did you mean \"heating\"?"), std::string::npos)
      << unknown.err;
}

TEST_F(Command, EndsOfTheTimeSpanCanBeSampled) {
  const fs::path file = write("span.toml", R"(model = "van_der_pol"
t_span = [0.0, { distribution = "uniform", min = 1.0, max = 2.0 }]
[ensemble]
instances = 50
[output]
file = "span.nc"
times = 3
)");
  const Outcome outcome = call("run " + file.string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  int id = 0;
  ASSERT_EQ(nc_open((folder_ / "span.nc").c_str(), NC_NOWRITE, &id), NC_NOERR);
  int variable = 0;
  std::vector<double> end(50);
  std::vector<double> reached(50);
  std::vector<double> time(150);
  ASSERT_EQ(nc_inq_varid(id, "t_end", &variable), NC_NOERR);
  ASSERT_EQ(nc_get_var_double(id, variable, end.data()), NC_NOERR);
  ASSERT_EQ(nc_inq_varid(id, "t_reached", &variable), NC_NOERR);
  ASSERT_EQ(nc_get_var_double(id, variable, reached.data()), NC_NOERR);
  ASSERT_EQ(nc_inq_varid(id, "time", &variable), NC_NOERR);
  ASSERT_EQ(nc_get_var_double(id, variable, time.data()), NC_NOERR);
  nc_close(id);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(end[i] > 1.0 && end[i] < 2.0);
    EXPECT_EQ(end[i], reached[i]);
    EXPECT_EQ(time[3 * i + 2], end[i]);
  }
  EXPECT_NE(end[0], end[1]);
  write("span.toml",
        "model = \"van_der_pol\"\nt_span = [{ distribution = \"uniform\", min = 0, max = 3 }, "
        "1.0]\n[ensemble]\ninstances = 50\n");
  expect_misuse("run span.toml --force", {"span.toml:2:", "must not cross"});
}

// Its name is one of manyfold's, too.
constexpr const char* decay_model = R"(#include <manyfold/model.hpp>
struct Model {
  static constexpr const char* name = "decay";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .unit = "s-1", .value = 2.0}};
  static constexpr void residual(auto, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] + p[0] * y[0];
  }
};
MANYFOLD_MODEL(Model);
)";

TEST_F(Command, AModelFileOfTheUsersRunsFromItsPath) {
  // No earlier run has left it in the cache.
  const fs::path model = write("decay.hpp", decay_model + ("// " + folder_.string() + "\n"));
  const Outcome first = call("solve " + model.string() + " --json");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("compiling"), std::string::npos);
  EXPECT_NEAR(json::parse(first.out)["values"]["y"], std::exp(-2.0), 1e-6);
  const Outcome second = call("solve decay.hpp --json");
  EXPECT_EQ(second.err.find("compiling"), std::string::npos) << "the second call compiles again";
  EXPECT_EQ(call("describe decay.hpp --json").code, 0);
  // Relative to the sweep file.
  EXPECT_EQ(call("run " + sweep("decay.hpp", "k = 3.0").string()).code, 0);
}

TEST_F(Command, TheExampleOfTheDocumentationRuns) {
  const std::string example = manyfold::test::from_environment("MANYFOLD_SOURCE") + "/docs/examples/clipper";
  const auto result = json::parse(call("solve " + example + ".hpp --t-end 0.25e-3 --json").out);
  // At the crest of the source the diode carries what the resistor lets through: (5 V - u) / R, u near 0.6 V.
  const double u = result["values"]["u"];
  EXPECT_NEAR(u, 0.6, 0.1);
  EXPECT_NEAR(result["values"]["i"], (5.0 - u) / 1000.0, 1e-4);
  // By day a hundredth of its instances.
  const int instances = manyfold::test::nightly ? 20000 : 200;
  std::string sweep = manyfold::test::slurp(example + ".toml");
  const std::string all = "instances = 20000";
  ASSERT_NE(sweep.find(all), std::string::npos);
  sweep.replace(sweep.find(all), all.size(), "instances = " + std::to_string(instances));
  write("clipper.toml", sweep);
  write("clipper.hpp", manyfold::test::slurp(example + ".hpp"));
  const Outcome run = call("run clipper.toml --json");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["by_status"]["success"], instances);
}

TEST_F(Command, LanesThatTheProcessorDoesNotHaveAreMisuse) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this processor has them all";
  const Outcome outcome = call("solve robertson", "MANYFOLD_ISA=avx512");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("MANYFOLD_ISA is 'avx512', which this processor does not have"), std::string::npos)
      << outcome.err;
#endif
}

TEST_F(Command, SomeFailedInstancesGiveExitCodeThree) {
  const std::string fragile = manyfold::test::from_environment("MANYFOLD_SOURCE") + "/tests/engine/fragile.hpp";
  write("cases.csv", "rootless\n0\n2\n0\n");
  const Outcome outcome =
      call("run " + sweep(fragile, "", "", "sampler = \"table\"\ntable = \"cases.csv\"").string() + " --json");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["by_status"]["inconsistent_initial_conditions"], 1);
  EXPECT_EQ(call("solve " + fragile + " --set rootless=2").code, 3);
}

TEST_F(Command, AnInterruptLeavesWhatWasFinishedAndExits130) {
  const fs::path file = sweep("robertson", "k1 = { distribution = \"uniform\", min = 0.02, max = 0.06 }",
                              "method = \"radau5\"", "instances = 3000000", "times = \"end\"");
  const pid_t child = start("run --json " + file.string());
  // Long enough to finish some instances, far from all of them.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(child, SIGINT);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 130) << outcome.out << outcome.err;
  int id = 0;
  ASSERT_EQ(nc_open((folder_ / "result.nc").c_str(), NC_NOWRITE, &id), NC_NOERR);
  std::size_t length = 0;
  EXPECT_EQ(nc_inq_attlen(id, NC_GLOBAL, "interrupted", &length), NC_NOERR);
  int variable = 0;
  ASSERT_EQ(nc_inq_varid(id, "status", &variable), NC_NOERR);
  std::vector<signed char> status(3000000);
  ASSERT_EQ(nc_get_var_schar(id, variable, status.data()), NC_NOERR);
  const auto finished = std::count(status.begin(), status.end(), 0);
  EXPECT_GT(finished, 0);
  EXPECT_EQ(finished + std::count(status.begin(), status.end(), 9), 3000000);
  const json summary = json::parse(outcome.out);
  EXPECT_NEAR(summary["instances_per_second"].get<double>() * summary["wall_seconds"].get<double>(),
              static_cast<double>(finished), 1e-6 * static_cast<double>(finished));
  nc_close(id);
}

TEST_F(Command, AnUnknownModelIsMisuseAndTheNearestIsOffered) {
  expect_misuse("solve robertsen", {"manyfold: error: ", "robertsen", "robertson"});
}
TEST_F(Command, AnUnknownMethodIsMisuse) {
  expect_misuse("solve robertson --method radau6", {"radau6", "radau5"});
  expect_misuse("solve robertson --method euler", {"unknown method 'euler'; known: radau5, ", ", bdf, ", ", auto\n"});
  expect_misuse("run " + sweep("robertson", "", "method = \"radu5\"").string(), {"sweep.toml:5:", "radu5", "radau5"});
}
TEST_F(Command, AMethodThatTheModelsFormRulesOutIsRefusedWithTheReason) {
  expect_misuse("solve rlc_index1 --method dirka", {"embedded SDIRK methods", "rhs(t, y, p, f)"});
}
TEST_F(Command, ProjectionOfAModelWithoutConstraintsIsMisuse) {
  expect_misuse("solve robertson --projection", {"projection", "'robertson' has nothing to project on"});
  expect_misuse("solve " + write("decay.hpp", decay_model).string() + " --projection",
                {"decay.hpp", "nothing to project on"});
}
TEST_F(Command, AnUnknownKeyIsMisuse) {
  expect_misuse("run " + sweep("robertson", "", "rtoll = 1e-3").string(), {"sweep.toml:5:1: error:", "rtoll", "rtol"});
}
TEST_F(Command, AnUnknownParameterIsMisuse) {
  expect_misuse("run " + sweep("robertson", "k4 = 1.0").string(), {"sweep.toml:", "k4", "k"});
  expect_misuse("solve robertson --set k9=1", {"k9", "parameter"});
}
TEST_F(Command, AnUnknownDistributionIsMisuse) {
  expect_misuse("run " + sweep("robertson", "k1 = { distribution = \"unifrom\", min = 1.0, max = 2.0 }").string(),
                {"sweep.toml:", "unifrom", "uniform"});
}
TEST_F(Command, WrongTypesAreMisuse) {
  expect_misuse("run " + sweep("robertson", "k1 = \"fast\"").string(), {"sweep.toml:", "k1"});
}
TEST_F(Command, AMethodThatDoesNotConvergeForTheIndexIsRefused) {
  expect_misuse("solve pendulum_index3 --method esdirk54",
                {"'esdirk54' does not converge for index 3", "take 'radau9'"});
  expect_misuse("run " + sweep("pendulum_index3", "", "method = \"bdf\"").string(), {"'bdf'", "index 3", "radau9"});
}
TEST_F(Command, AMethodThatLosesOrderIsWarnedOf) {
  const Outcome outcome = call("solve cstr --method esdirk54 --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string warning = "manyfold: warning: method 'esdirk54' has order 3 for index 2";
  const std::size_t place = outcome.err.find(warning);
  EXPECT_NE(place, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("warning", place + warning.size()), std::string::npos) << "once: " << outcome.err;
}
// E5 of the Test Set. At late times y2' = y3' = -C M y2 y3, and y2 = 1 / (C M t) up to what came before, 0.2 %. That is
// within atol, 1.1e-24; `rodas5p` gives 2.9e-21.
TEST_F(Command, AutoKeepsRoundingErrorsFromSmallVariables) {
  write("e5.hpp", R"cpp(#include <manyfold/model.hpp>
                        struct E5 {
                          static constexpr const char* name = "e5";
                          static constexpr double t_span[] = {0.0, 1e13};
                          static constexpr manyfold::Variable variables[] = {
                              {.name = "y1", .initial = 1.76e-3}, {.name = "y2"}, {.name = "y3"}, {.name = "y4"}};
                          static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
                            const auto a = 7.89e-10 * y[0], b = 1.1e7 * y[0] * y[2], c = 1.13e9 * y[1] * y[2], d = 1.13e3 * y[3];
                            f[0] = -a - b;
                            f[1] = a - c;
                            f[2] = a - c - (b - d);
                            f[3] = b - d;
                          }
                        };
                        MANYFOLD_MODEL(E5);
  )cpp");
  const auto values = json::parse(call("solve e5.hpp --atol 1.1e-24 --json").out)["values"];
  const double expected = 1.0 / (1.13e3 * 1e6 * 1e13);
  EXPECT_NEAR(values["y2"].get<double>(), expected, 1.1e-24);
  EXPECT_NEAR(values["y3"].get<double>(), expected, 1.1e-24);
}
TEST_F(Command, RoundingErrorsThatAMethodCarriesOnAreWarnedOf) {
  const std::string warning = "'rodas5p' carries these on";
  EXPECT_NE(call("solve robertson --method rodas5p --atol 1e-24 --json").err.find(warning), std::string::npos);
  EXPECT_EQ(call("solve robertson --method rodas5p --atol 1e-15 --json").err.find("warning"), std::string::npos);
  EXPECT_EQ(call("solve robertson --method radau5 --atol 1e-24 --json").err.find("warning"), std::string::npos);
  const Outcome automatic = call("solve robertson --atol 1e-24 --json");
  EXPECT_EQ(automatic.err.find("warning"), std::string::npos);
  EXPECT_NE(automatic.out.find("\"method\": \"radau5\""), std::string::npos);
}
TEST_F(Command, TolerancesBelowRoundingAreMisuse) {
  expect_misuse("solve robertson --rtol 1e-120", {"--rtol is 1e-120", "at least 2.220446e-15"});
  expect_misuse("solve robertson --rtol 0 --atol 0", {"--rtol is 0"});
  expect_misuse("solve robertson --rtol nan", {"--rtol"});
  expect_misuse("solve robertson --atol inf", {"--atol"});
  expect_misuse("solve robertson --precision float32 --rtol 1e-7",
                {"--rtol is 1e-07", "'float32' needs at least 1e-05"});
  const fs::path file = write("tiny.toml", "model = \"robertson\"\n[solver]\nrtol = 1e-16\n");
  expect_misuse("run " + file.string(), {"tiny.toml:3:8: error: rtol is 1e-16", "at least 2.220446e-15"});
}
TEST_F(Command, StepsOfASolutionHaveBounds) {
  const auto steps = [&](const std::string& options) {
    return json::parse(call("solve robertson --t-end 40 --json " + options).out)["stats"]["steps"].get<int>();
  };
  const int free = steps("");
  EXPECT_GE(steps("--max-step 0.1"), 400);
  EXPECT_GT(steps("--first-step 1e-12"), free);
  EXPECT_GT(steps("--atol y2=1e-13"), free);
  EXPECT_EQ(steps("--atol 1e-13"), steps("--atol y1=1e-13 --atol y3=1e-13 --atol y2=1e-13"));
  const Outcome ended = call("solve robertson --max-steps 5 --json");
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.err.find("max_steps at t = "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(" of the time span\n"), std::string::npos) << ended.err;
  // Two vessels whose levels meet, and an orifice: Newton's method goes to and fro where the root has no slope.
  std::ofstream(folder_ / "vessels.hpp")
      << "#include <manyfold/model.hpp>\nstruct Vessels {\n  static constexpr const char* name = \"vessels\";\n"
         "  static constexpr double t_span[] = {0.0, 10.0};\n  static constexpr manyfold::Variable variables[] = {"
         "{.name = \"a\", .initial = 1.0}, {.name = \"b\"}, {.name = \"q\", .algebraic = true}};\n"
         "  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {\n"
         "    const auto q = 0.5 * sqrt(abs(y[0] - y[1]));\n    f[0] = -y[2];\n    f[1] = y[2];\n"
         "    f[2] = y[2] - select(y[0] > y[1], q, -q);\n  }\n};\nMANYFOLD_MODEL(Vessels);\n";
  const Outcome crept = call("solve vessels.hpp --method esdirk54 --rtol 1e-6 --max-steps 20000");
  EXPECT_NE(crept.err.find("is there a slope that becomes infinite, as of sqrt(abs(x)) at 0"), std::string::npos)
      << crept.err;
  // A block that slides to rest by a condition without an event.
  std::ofstream(folder_ / "slide.mo")
      << "model slide\n  Real x(start = 0, fixed = true), v(start = 1, fixed = true);\nequation\n  der(x) = v;\n"
         "  der(v) = 0.3 - noEvent(if v > 0 then 1 elseif v < 0 then -1 else 0);\nend slide;\n";
  const Outcome slid = call("solve slide.mo --t-end 5 --method rodas5p --max-steps 20000");
  EXPECT_NE(slid.err.find("does a slope jump to and fro"), std::string::npos) << slid.err;
  expect_misuse("solve robertson --t-end 1e-300", {"--t-end 1e-300: the time span has the length 1e-300"});
  expect_misuse("solve robertson --atol 0", {"--atol is 0, but must be finite and greater than 0"});
  const Outcome table = call("solve robertson --times 3 --csv -");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 4) << table.out;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "-"));
  expect_misuse("solve robertson --max-step 0", {"--max-step is 0, but must be more than 0"});
  expect_misuse("solve robertson --first-step -1", {"--first-step is -1, but must be at least 0"});
  expect_misuse("solve robertson --max-steps 0",
                {"--max-steps is '0', but must be an integer from 1 to 4611686018427387904"});
  expect_misuse("solve robertson --atol y4=1", {"has no variable 'y4'"});
  expect_misuse("solve robertson --atol y1=1 --atol y1=2", {"--atol y1: is given twice"});
  expect_misuse("solve robertson --atol 1 --atol 2", {"--atol 2: is given twice"});
}
TEST_F(Command, OptionsStandInPlaceOfTheSweepFile) {
  const fs::path file = sweep("robertson", "k1 = { distribution = \"uniform\", min = 0.02, max = 0.06 }");
  const Outcome outcome = call("run " + file.string() +
                               " --json --instances 3e1 --seed 5 --set k1=0.04 --set k2=9e3 --rtol 1e-4 --atol 1e-7");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["instances"], 30);
  int id = 0;
  ASSERT_EQ(nc_open((folder_ / "result.nc").c_str(), NC_NOWRITE, &id), NC_NOERR);
  double rtol = 0.0;
  EXPECT_EQ(nc_get_att_double(id, NC_GLOBAL, "rtol", &rtol), NC_NOERR);
  EXPECT_EQ(rtol, 1e-4);
  std::size_t length = 0;
  ASSERT_EQ(nc_inq_attlen(id, NC_GLOBAL, "history", &length), NC_NOERR);
  std::string history(length, ' ');
  ASSERT_EQ(nc_get_att_text(id, NC_GLOBAL, "history", history.data()), NC_NOERR);
  EXPECT_NE(history.find("--set k2=9e3"), std::string::npos) << history;
  nc_close(id);
  expect_misuse("run " + file.string() + " --force --method radau6", {"manyfold: error: --method: unknown method"});
  expect_misuse("run " + file.string() + " --force --set k1", {"--set 'k1': needs NAME=VALUE"});
}
TEST_F(Command, AModelIsCompiledOncePerMethodAndContent) {
  const fs::path model = write("decay.hpp", decay_model);
  const std::string own = "MANYFOLD_CACHE=" + (folder_ / "cache").string();
  const auto compiles = [&](const std::string& arguments) {
    const Outcome outcome = call("solve " + arguments, own);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err.find("compiling") != std::string::npos;
  };
  EXPECT_TRUE(compiles("decay.hpp"));
  EXPECT_FALSE(compiles("decay.hpp --rtol 1e-7")) << "the same method";
  EXPECT_FALSE(compiles("decay.hpp --method " +
                        json::parse(call("solve decay.hpp --json", own).out)["method"].get<std::string>()));
  fs::create_directories(folder_ / "below");
  EXPECT_FALSE(compiles("below/../decay.hpp"));
  fs::copy_file(model, folder_ / "below" / "decay.hpp");
  EXPECT_FALSE(compiles("below/decay.hpp")) << "the same content";
  write("decay.hpp", decay_model + std::string("// changed\n"));
  EXPECT_TRUE(compiles("decay.hpp"));
}
TEST_F(Command, EquationsAreCountedFromOneAndNamed) {
  // 0 = y^2 + sqrt(x + 1) has no solution.
  write("none.hpp", R"cpp(#include <manyfold/model.hpp>
                          struct None {
                            static constexpr const char* name = "none";
                            static constexpr double t_span[] = {0.0, 1.0};
                            static constexpr manyfold::Variable variables[] = {{.name = "x"}, {.name = "uC", .initial = 2.0, .algebraic = true}};
                            static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {
                              f[0] = -y[0];
                              f[1] = y[1] * y[1] + sqrt(y[0] + 1.0);
                            }
                          };
                          MANYFOLD_MODEL(None);
  )cpp");
  const Outcome outcome = call("solve none.hpp --json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(json::parse(outcome.out)["worst_equation"], "equation 2 (of variable \"uC\")");
  EXPECT_NE(outcome.err.find("of equation 2 (of variable \"uC\")"), std::string::npos) << outcome.err;
  const std::string undefined = call("solve none.hpp --initial x=-2").err;
  EXPECT_NE(undefined.find("; equation 2 (of variable \"uC\") is not finite there"), std::string::npos) << undefined;
}
TEST_F(Command, ANegativeToleranceIsMisuse) {
  expect_misuse("run " + sweep("robertson", "", "atol = -1e-9").string(), {"sweep.toml:5:", "atol"});
  expect_misuse("solve robertson --rtol -1", {"--rtol", "-1"});
}
TEST_F(Command, AnInfiniteParameterIsMisuse) {
  expect_misuse("run " + sweep("robertson", "k1 = inf").string(), {"sweep.toml:", "k1"});
  expect_misuse("run " + sweep("robertson", "k1 = nan").string(), {"sweep.toml:", "k1"});
  expect_misuse("solve robertson --set k1=inf", {"k1", "finite"});
}
TEST_F(Command, NoInstancesAreMisuse) {
  expect_misuse("run " + sweep("robertson", "", "", "instances = 0").string(), {"sweep.toml:", "instances"});
}
TEST_F(Command, ARaggedTableIsMisuse) {
  write("cases.csv", "k1,k2\n0.04,1e4\n0.05\n");
  expect_misuse("run " + sweep("robertson", "", "", "sampler = \"table\"\ntable = \"cases.csv\"").string(),
                {"cases.csv:3:"});
}
TEST_F(Command, ATruncatedTableIsMisuse) {
  write("cases.csv", "k1,k2\n0.04,1e4\n0.05,1.");
  expect_misuse("run " + sweep("robertson", "", "", "sampler = \"table\"\ntable = \"cases.csv\"").string(),
                {"cases.csv:3:"});
}
TEST_F(Command, ANameThatIsSetTwiceIsMisuse) {
  expect_misuse("solve robertson --set k1=1 --set k1=2", {"--set k1: is given twice"});
  expect_misuse("solve robertson --initial y1=1 --initial y1=1", {"--initial y1: is given twice"});
}
TEST_F(Command, TimesThatSolveCannotReachAreMisuse) {
  expect_misuse("solve robertson --t-end 0", {"--t-end 0: model 'robertson' starts there"});
  expect_misuse("solve robertson --times 1000000000", {"--times 1000000000: needs a whole number from 2 to 1e7"});
  for (const char* const times : {"5,", ",5", "1,,5", ","}) {
    expect_misuse(std::string("solve robertson --times ") + times,
                  {std::string("--times ") + times + ": needs a number before and after every comma"});
  }
  expect_misuse("solve robertson --t-end 10 --times 1,1000", {"--times has 1000, but the time span is from 0 to 10"});
  expect_misuse("solve robertson --t-end -10 --times 1,2",
                {"--times run from 1 to 2, but the time span from 0 to -10"});
  expect_misuse("run " + sweep("robertson", "").string() + " --threads -1",
                {"--threads is '-1', but must be an integer from 0 to 65536"});
}
TEST_F(Command, WhatASweepFileAsksForInVainHasItsPlace) {
  expect_misuse("run " + sweep("robertsen", "").string(), {"sweep.toml:1:9: error: unknown model", "robertson"});
  expect_misuse("run " + sweep("rlc_index1", "", "method = \"dirka\"").string(), {"sweep.toml:5:10: error: method"});
  expect_misuse("run " + sweep("robertson", "", "tier = \"phased\"\nbackend = \"cpu\"").string(),
                {"sweep.toml:5:8: error: tier 'phased' needs"});
}
TEST_F(Command, AMissingTableIsMisuseBeforeAnythingIsCompiled) {
  const fs::path model = write("decay.hpp", decay_model);
  const fs::path file = sweep("decay.hpp", "", "", "sampler = \"table\"\ntable = \"none.csv\"");
  expect_misuse("run " + file.string(), {"sweep.toml:8:9: error: the table \"none.csv\""});
  EXPECT_EQ(call("run " + file.string()).err.find("compiling"), std::string::npos);
}
TEST_F(Command, AMissingSweepFileIsMisuse) {
  expect_misuse("run nowhere.toml", {"nowhere.toml"});
}

TEST_F(Command, AModelThatDoesNotCompileShowsTheUsersLine) {
  std::string text = decay_model;
  text.replace(text.find("p[0] * y[0]"), 11, "p[0] * x[0]");
  const fs::path model = write("broken.hpp", text);
  expect_misuse("solve " + model.string(), {"broken.hpp:8:", "'x' was not declared"});
}
TEST_F(Command, AModelWithoutVariablesIsToldSo) {
  std::string text = decay_model;
  const std::size_t begin = text.find("  static constexpr manyfold::Variable");
  text.erase(begin, text.find('\n', begin) - begin);
  expect_misuse("solve " + write("bare.hpp", text).string(), {"bare.hpp", "the model needs variables"});
}
TEST_F(Command, AModelFileThatNamesNoModelIsToldSo) {
  std::string text = decay_model;
  text.erase(text.find("MANYFOLD_MODEL"));
  expect_misuse("solve " + write("nameless.hpp", text).string(), {"nameless.hpp", "MANYFOLD_MODEL"});
}
TEST_F(Command, AStructuralParameterOutOfRangeIsMisuse) {
  expect_misuse("solve diffusion --set points=5000", {"points", "5000", "10 to 200"});
}
TEST_F(Command, AnOutputThatCannotBeWrittenIsMisuseBeforeTheRun) {
  expect_misuse("run " + sweep("robertson", "").string() + " --out /nowhere/at/all/result.nc", {"/nowhere/at/all"});
  expect_misuse("solve robertson --csv /nowhere/at/all.csv", {"/nowhere/at/all.csv"});
}
TEST_F(Command, AFullDiskEndsTheRunWithTheReasonAlone) {
  const fs::path disk = folder_ / "disk";
  fs::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs is not permitted: " << std::strerror(errno);
  }
  sweep("robertson", "k1 = { distribution = \"uniform\", min = 0.03, max = 0.05 }", "", "instances = 100000");
  const Outcome outcome = call("run sweep.toml --out disk/result.nc");
  const bool empty = fs::is_empty(disk);
  ::umount(disk.c_str());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(empty);
  // 100,000 instances of 3 variables at 3 times are 7 MB.
  EXPECT_NE(outcome.err.find("warning: disk/result.nc may need 0.0"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("disk/result.nc: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("no space left on device"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("HDF5-DIAG"), std::string::npos) << outcome.err;
}

TEST_F(Command, TheCudaBackendIsRefusedWithAReason) {
  const auto info = nlohmann::json::parse(call("info --json").out);
  if (!info["devices"].empty()) GTEST_SKIP() << "there is a device";
  expect_misuse("solve robertson --backend cuda", {"backend 'cuda'", info["devices_missing"], "'cpu'"});
}
TEST_F(Command, WordsThatItDoesNotKnowAreMisuseAndTheNearestIsOffered) {
  expect_misuse("solv robertson", {"manyfold: error: unknown subcommand 'solv'; did you mean \"solve\"?\n"});
  expect_misuse("robertson", {"manyfold: error: unknown subcommand 'robertson'; known: list, describe, check,"});
  expect_misuse("run s.toml --insances 3", {"manyfold: error: run: unknown option '--insances'; did you mean "
                                            "\"--instances\"?\n"});
  expect_misuse("solve robertson --rtoll=1e-3", {"unknown option '--rtoll'; did you mean \"--rtol\"?\n"});
  expect_misuse("solve robertson --fast", {"unknown option '--fast'; known: --help, --set,"});
  expect_misuse("solve robertson 40", {"manyfold: error: solve: '40' is one word too many\n"});
  expect_misuse("solve", {"manyfold: error: solve: MODEL is required: see 'manyfold solve --help'\n"});
  expect_misuse("", {"manyfold: error: A subcommand is required: see 'manyfold --help'\n"});
  expect_misuse("solve robertson --json --csv x", {"manyfold: error: solve: --json excludes --csv"});
}
// As tables and sweep files do.
TEST_F(Command, OptionsTakeDecimalNumbers) {
  const std::string solve = "solve robertson --json ";
  EXPECT_EQ(call(solve + "--max-steps 1e3 --t-end 1e0 --set k1=+4e-2").code, 0);
  for (const char* const option : {"--rtol ", "--t-end ", "--max-step ", "--atol ", "--set k1="}) {
    const std::string name(option, std::strcspn(option, "=") == std::strlen(option) ? std::strlen(option) - 1 : 8);
    expect_misuse(solve + option + "0x10", {"manyfold: error: " + name + " is '0x10', but must be a decimal number\n"});
    expect_misuse(solve + option + "inf", {"manyfold: error: " + name + " is 'inf', but must be a finite number\n"});
    expect_misuse(solve + option + "1e-400", {name + " is '1e-400', but must be a number that a double holds"});
  }
  EXPECT_EQ(json::parse(call(solve + "--t-end 1 --atol default=1e-3 --atol y2=1e-9").out)["stats"],
            json::parse(call(solve + "--t-end 1 --atol 1e-3 --atol y2=1e-9").out)["stats"]);
  expect_misuse(solve + "--atol default=", {"--atol default is '', but must be a decimal number\n"});
  expect_misuse("run s.toml --seed 0x10", {"--seed is '0x10', but must be an integer of at least 0\n"});
  expect_misuse("run s.toml --instances 2.5", {"--instances is '2.5', but must be an integer from 1 to 1000000000000"});
  expect_misuse("verify robertson --rtol 1e-3,x", {"manyfold: error: --rtol is 'x', but must be a decimal number\n"});
}
TEST_F(Command, HelpIsNotAnError) {
  const Outcome outcome = call("run --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("Exit codes"), std::string::npos);
}

}  // namespace
