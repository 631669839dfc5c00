// The CUDA backend through the command, with the emulated driver in place of the device: two devices, three streams
// each. What cannot be seen here is the device's own arithmetic; everything else is the code that runs on one.
#include <bit>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "tests/support/emulated_backend.hpp"
#include "tests/support/environment.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::Outcome;
using test::slurp;

class CudaBackend : public test::EmulatedBackend {
 protected:
  std::string sweep(int instances, const std::string& solver, const std::string& output) const {
    std::ofstream(folder_ / "sweep.toml") << "model = \"robertson\"\nt_span = [0.0, 1000.0]\n[solver]\nrtol = 1e-6\n"
                                          << solver << "\n[ensemble]\ninstances = " << instances
                                          << "\nseed = 3\n[parameters]\nk1 = { distribution = \"uniform\", min = 0.02, "
                                             "max = 0.06 }\n[output]\nfile = \"out.nc\"\n"
                                          << output;
    return "run sweep.toml --force --json";
  }

  /// A sweep over the bodies that exchange heat; the mode of transfer k is sampled.
  std::string exchange_sweep(int instances, const std::string& solver) const {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"" << test::from_environment("MANYFOLD_SOURCE")
        << "/tests/cuda/exchange.hpp\"\n[solver]\nrtol = 1e-6\natol = 1e-8\nbackend = "
           "\"cuda\"\n"
        << solver << "\n[ensemble]\ninstances = " << instances
        << "\nseed = 5\n[parameters]\nk = { distribution = \"uniform\", min = 1, max = 9 "
           "}\n[output]\nfile = \"out.nc\"\ntimes = [0.5, 2.0]\n";
    return "run sweep.toml --force --json";
  }
  static constexpr const char* exchange = "MANYFOLD_EMULATED_PROBLEM=exchange";

  /// Of the file's last value of T1 and T35 in every instance, against the solution in closed form.
  void expect_exchange_is_solved() const {
    const std::vector<double> k = values("out.nc", "param_k");
    const std::vector<double> first = values("out.nc", "T1");
    const std::vector<double> last = values("out.nc", "T35");
    for (std::size_t i = 0; i < k.size(); ++i) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
        const double exact = (1.0 - std::exp(-k[i] * (at == 0 ? 0.5 : 2.0))) / k[i];
        // 30 times rtol, as for all problems.
        EXPECT_NEAR(first[2 * i + at], -exact, 3e-5 * exact) << "instance " << i;
        EXPECT_NEAR(last[2 * i + at], exact, 3e-5 * exact) << "instance " << i;
      }
    }
  }
};

class CudaTier : public CudaBackend, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tiers, CudaTier, testing::Values("fused", "phased"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(CudaBackend, InfoListsTheDevicesAndTheCompiler) {
  const Json info = Json::parse(call("info --json").out);
  ASSERT_EQ(info["devices"].size(), 2U);
  EXPECT_EQ(info["devices"][0]["architecture"], "sm_90");
  EXPECT_EQ(info["devices_missing"], "");
  EXPECT_NE(info["device_compiler"].get<std::string>().find("NVRTC"), std::string::npos);
}

TEST_F(CudaBackend, GivesTheResultsOfTheProcessorToTheTolerance) {
  const std::string output = "times = [1.0, 30.0, 1000.0]\n";
  const Outcome cuda = call(sweep(500, "backend = \"cuda\"", output));
  ASSERT_EQ(cuda.code, 0) << cuda.err;
  EXPECT_EQ(Json::parse(cuda.out)["backend"], "cuda");
  fs::rename(folder_ / "out.nc", folder_ / "cuda.nc");
  ASSERT_EQ(call(sweep(500, "backend = \"cpu\"", output)).code, 0);
  for (const char* name : {"y1", "y2", "y3"}) {
    const std::vector<double> a = values("cuda.nc", name);
    const std::vector<double> b = values("out.nc", name);
    ASSERT_EQ(a.size(), 1500U);
    ASSERT_EQ(a.size(), b.size());
    // One lane and eight round differently; both are within the tolerance of the solution.
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * std::abs(b[i]) + 1e-9);
  }
  EXPECT_EQ(values("cuda.nc", "t_reached"), values("out.nc", "t_reached"));
}

TEST_F(CudaBackend, ThePhasedTierGivesTheResultsOfTheFusedOne) {
  const std::string output = "times = [0.0, 1.0, 30.0, 1000.0]\n";
  const Outcome phased = call(sweep(500, "backend = \"cuda\"\ntier = \"phased\"", output));
  ASSERT_EQ(phased.code, 0) << phased.err;
  const Json summary = Json::parse(phased.out);
  EXPECT_EQ(summary["tier"], "phased");
  EXPECT_GT(summary["newton_utilisation"], 0.5);
  fs::rename(folder_ / "out.nc", folder_ / "phased.nc");
  const Outcome fused = call(sweep(500, "backend = \"cuda\"\ntier = \"fused\"", output));
  ASSERT_EQ(fused.code, 0) << fused.err;
  for (const char* name : {"y1", "y2", "y3"}) {
    const std::vector<double> a = values("phased.nc", name);
    const std::vector<double> b = values("out.nc", name);
    ASSERT_EQ(a.size(), 2000U);
    ASSERT_EQ(a.size(), b.size());
    // They factorise with other pivots, which may change a decision on a step: within the tolerance of the solution.
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * std::abs(b[i]) + 1e-9);
  }
  // Without events or failures the same steps but for a few.
  EXPECT_NEAR(summary["steps_total"].get<double>(), Json::parse(fused.out)["steps_total"].get<double>(), 100.0);
}

TEST_F(CudaBackend, FullMatricesOfManyVariablesAreForThePhasedTier) {
  const Outcome outcome = call(exchange_sweep(300, ""), exchange);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(summary["tier"], "phased");
  EXPECT_EQ(summary["tier_reason"], "36 variables in full matrices");
  EXPECT_LT(summary["stats"]["jacobians"], summary["steps_total"]) << "Jacobians are kept";
  expect_exchange_is_solved();
}

TEST_F(CudaBackend, APhasedTierThatCannotBeIsMisuse) {
  const auto expect_misuse = [&](const std::string& solver, const std::string& words,
                                 const std::string& environment = "") {
    const Outcome outcome = call(sweep(10, solver, "times = \"end\"\n"), environment);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  };
  const std::string phased = "backend = \"cuda\"\ntier = \"phased\"\n";
  expect_misuse(phased, "tier 'phased': no cuBLAS: /nowhere", "MANYFOLD_CUBLAS=/nowhere MANYFOLD_CUSOLVER=/nowhere");
  expect_misuse(phased + "method = \"bdf\"", "does not have method 'bdf': one of radau5, radau1, radau3");
  expect_misuse("backend = \"cpu\"\ntier = \"phased\"", "needs backend 'cuda', but this run is on the processor");
  expect_misuse("tier = \"phasde\"", "unknown tier \"phasde\"; did you mean \"phased\"?");
}

TEST_F(CudaBackend, DiagonallyImplicitMethodsAreInThePhasedTierToo) {
  const Outcome outcome =
      call(exchange_sweep(100, "method = \"esdirk54\""), "MANYFOLD_EMULATED_PROBLEM=exchange-esdirk54");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["tier"], "phased");
  EXPECT_EQ(Json::parse(outcome.out)["method"], "esdirk54");
  expect_exchange_is_solved();
}

TEST_F(CudaBackend, ThePhasedTierHasEveryPrecision) {
  for (const auto& [precision, rtol, atol, error] :
       {std::tuple("mixed", "1e-6", "1e-9", 1e-6), std::tuple("float32", "1e-4", "1e-6", 3e-4)}) {
    const std::string solver = fmt::format("rtol = {}\natol = {}\nprecision = \"{}\"\n", rtol, atol, precision);
    const auto text = [&](const std::string& backend) {
      const std::string arguments = sweep(100, backend, "times = [1.0, 1000.0]\n");
      std::string toml = slurp(folder_ / "sweep.toml");
      toml.replace(toml.find("rtol = 1e-6\n"), std::string("rtol = 1e-6\n").size(), solver);
      std::ofstream(folder_ / "sweep.toml") << toml;
      return arguments;
    };
    const Outcome device = call(text("backend = \"cuda\"\ntier = \"phased\""),
                                fmt::format("MANYFOLD_EMULATED_PROBLEM=robertson-{}", precision));
    ASSERT_EQ(device.code, 0) << device.err;
    const std::vector<double> y1 = values("out.nc", "y1");
    ASSERT_EQ(call(text("backend = \"cpu\"")).code, 0);
    const std::vector<double> expected = values("out.nc", "y1");
    ASSERT_EQ(y1.size(), 200U);
    // To the tolerance; in single precision roundings decide on other steps.
    for (std::size_t i = 0; i < y1.size(); ++i) EXPECT_NEAR(y1[i], expected[i], error) << precision;
  }
}

TEST_F(CudaBackend, InThePhasedTierAutoIsRadau5) {
  const Outcome outcome =
      call(sweep(10, "backend = \"cuda\"\ntier = \"phased\"\nmethod = \"auto\"", "times = \"end\"\n"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["method"], "radau5");
}

TEST_F(CudaBackend, InstancesOfThePhasedTierFailAsOnTheProcessor) {
  const auto sweep = [&](const std::string& solver, bool with_failures) {
    std::ofstream table(folder_ / "cases.csv");
    table << "pole,turn,scale,domain,rootless,frequency\n";
    for (int i = 0; i < 20; ++i) {
      table << "0,0,1,0,0,1." << i << "\n";
      if (with_failures) table << "1e12,0,1,0,0,1\n0,1,1,0,0,1\n0,0,0,0,0,1\n0,0,1,1,0,1\n0,0,1,0,2,1\n0,0,1,0,0,1e7\n";
    }
    std::ofstream(folder_ / "fragile.toml") << "model = \"" << test::from_environment("MANYFOLD_SOURCE")
                                            << "/tests/engine/fragile.hpp\"\n[solver]\nmax_steps = 2000\n"
                                            << solver
                                            << "[ensemble]\nsampler = \"table\"\ntable = \"cases.csv\"\n"
                                               "[output]\nfile = \"out.nc\"\ntimes = \"end\"\n";
    return "run fragile.toml --force --json";
  };
  const char* module = "MANYFOLD_EMULATED_PROBLEM=fragile";
  ASSERT_EQ(call(sweep("backend = \"cpu\"\n", true)).code, 3);
  const std::vector<double> expected = values("out.nc", "status");
  EXPECT_EQ(std::set<double>(expected.begin(), expected.end()).size(), 7U) << "every failure is another one";
  for (const char* solver : {"cublas", "cusolver"}) {
    const std::string phased = fmt::format("backend = \"cuda\"\ntier = \"phased\"\nlinear_solver = \"{}\"\n", solver);
    const Outcome outcome = call(sweep(phased, true), module);
    ASSERT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(values("out.nc", "status"), expected) << solver;
    const std::vector<double> beside_failures = values("out.nc", "y");
    ASSERT_EQ(call(sweep(phased, false), module).code, 0);
    const std::vector<double> alone = values("out.nc", "y");
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(beside_failures[7 * i], alone[i]) << solver;
  }
}

TEST_F(CudaBackend, WhereStreamsCannotBeCapturedPhasesAreLaunchedOneByOne) {
  const std::string text = sweep(100, "backend = \"cuda\"\ntier = \"phased\"", "times = \"end\"\n");
  ASSERT_EQ(call(text, "MANYFOLD_EMULATED_FAILURE=capture").code, 0);
  const std::vector<double> launched = values("out.nc", "y1");
  ASSERT_EQ(call(text).code, 0);
  EXPECT_EQ(values("out.nc", "y1"), launched);
}

TEST_F(CudaBackend, AFailingFactorisationIsAnErrorThatNamesTheCall) {
  const Outcome outcome =
      call(sweep(50, "backend = \"cuda\"\ntier = \"phased\"", "times = \"end\"\n"), "MANYFOLD_EMULATED_FAILURE=blas");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("cuBLAS: getrfBatched: the function failed to launch"), std::string::npos) << outcome.err;
}

TEST_P(CudaTier, ResultsDoNotDependOnHowTheMemoryCutsTheEnsemble) {
  const bool fused = GetParam() == std::string("fused");
  const std::string solver = "backend = \"cuda\"\ntier = \"" + std::string(GetParam()) + "\"";
  const std::string output = "times = \"end\"\n";
  ASSERT_EQ(call(sweep(700, solver, output)).code, 0);
  fs::rename(folder_ / "out.nc", folder_ / "whole.nc");
  // Room for some 40 instances per stream, of which the phased tier has 8 in flight; its library's memory is 12 MiB.
  const Outcome small = call(sweep(700, solver + "\ndevice_memory = " + (fused ? "0.05" : "12.1"), output));
  ASSERT_EQ(small.code, 0) << small.err;
  EXPECT_NE(Json::parse(small.out)["device_shape"], "");
  for (const char* name : {"y1", "y2", "y3"}) EXPECT_EQ(values("out.nc", name), values("whole.nc", name));
  EXPECT_EQ(values("out.nc", "stat_steps"), values("whole.nc", "stat_steps"));
}

TEST_P(CudaTier, LogsEventsAsTheProcessor) {
  const auto sweep = [&](const std::string& solver) {
    std::ofstream(folder_ / "events.toml")
        << "model = \"rectifier\"\n[solver]\nrtol = 1e-8\natol = 1e-8\nevent_log = 5\n"
        << solver
        << "[ensemble]\ninstances = 300\nseed = 3\n[parameters]\nC = { distribution = "
           "\"uniform\", min = 5e-4, max = 2e-3 }\n[output]\nfile = \"out.nc\"\n";
    return "run events.toml --force --json";
  };
  const Outcome cuda = call(sweep("backend = \"cuda\"\ntier = \"" + std::string(GetParam()) + "\"\n"),
                            "MANYFOLD_EMULATED_PROBLEM=rectifier");
  ASSERT_EQ(cuda.code, 0) << cuda.err;
  EXPECT_EQ(Json::parse(cuda.out)["tier"], GetParam());
  fs::rename(folder_ / "out.nc", folder_ / "cuda.nc");
  ASSERT_EQ(call(sweep("backend = \"cpu\"\n")).code, 0);
  const std::vector<double> times = values("out.nc", "event_time");
  const std::vector<double> device_times = values("cuda.nc", "event_time");
  ASSERT_EQ(times.size(), 1500U);
  ASSERT_EQ(device_times.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(device_times[i], times[i], 30.0 * 1e-8 * times[i]);
  for (const char* name :
       {"event_instance", "event_name", "event_direction", "events_not_logged", "event_after_mode"}) {
    EXPECT_EQ(values("cuda.nc", name), values("out.nc", name)) << name;
  }
  const std::vector<double> first = values("out.nc", "event_first_time_block");
  const std::vector<double> device_first = values("cuda.nc", "event_first_time_block");
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(device_first[i], first[i], 30.0 * 1e-8 * first[i]);
}

TEST_F(CudaBackend, ParametersAreSampledOnTheDeviceAsOnTheHost) {
  const auto sweep_of = [&](const std::string& backend, const std::string& sampler, const std::string& k2) {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"robertson\"\nt_span = [0.0, { distribution = \"loguniform\", min = 0.5, max = 2 "
           "}]\n[solver]\nbackend = \""
        << backend << "\"\n[ensemble]\ninstances = 300\nseed = 3\nsampler = \"" << sampler
        << "\"\n[parameters]\nk1 = { distribution = \"lognormal\", median = 0.04, sigma = 0.2 }\nk2 = " << k2
        << "\n[initial]\ny2 = { distribution = \"uniform\", min = 0, max = 1e-6 }\n[output]\nfile = \"out.nc\"\ntimes "
           "= 4\n";
    return "run sweep.toml --force --json";
  };
  const std::string normal = "{ distribution = \"normal\", mean = 1e4, sigma = 100 }";
  for (const char* sampler : {"monte_carlo", "latin_hypercube", "sobol"}) {
    const Outcome outcome = call(sweep_of("cuda", sampler, normal));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    fs::rename(folder_ / "out.nc", folder_ / "cuda.nc");
    ASSERT_EQ(call(sweep_of("cpu", sampler, normal)).code, 0);
    for (const char* name : {"param_k1", "param_k2", "initial_y2", "t_end", "time"}) {
      EXPECT_EQ(values("cuda.nc", name), values("out.nc", name)) << sampler << " " << name;
    }
  }
  // Only the host has the quantiles of beta and gamma distributions.
  const char* cannot_sample = "MANYFOLD_EMULATED_FAILURE=sample";
  EXPECT_EQ(call(sweep_of("cuda", "sobol", normal), cannot_sample).code, 1);
  EXPECT_EQ(call(sweep_of("cuda", "sobol", "{ distribution = \"gamma\", shape = 1e4, scale = 1 }"), cannot_sample).code,
            0);
}

// Ten output times more are three variables more at each of them, but no times: the host knows these.
TEST_F(CudaBackend, OutputTimesAreNotCopiedBack) {
  const auto bytes = [&](const std::string& backend, const std::string& times) {
    const Outcome outcome = call(sweep(500, "backend = \"" + backend + "\"", "times = " + times + "\n"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["bytes_copied_back"].get<std::int64_t>();
  };
  const std::int64_t few = bytes("cuda", "2");
  EXPECT_GT(few, 500 * 2 * 3 * 8);
  EXPECT_EQ(bytes("cuda", "12") - few, 500 * 10 * 3 * 8);
  EXPECT_EQ(values("out.nc", "time").back(), 1000.0);
  EXPECT_EQ(bytes("cpu", "2"), 0);
}

// Statistics with rows are computed by the host, those without by the device, in two groups.
TEST_P(CudaTier, AddsUpStatisticsWithTheBitsOfTheHost) {
  const std::string output =
      "times = 81\nstatistics = [\"mean\", \"std\", \"min\", \"max\"]\n"
      "reduce = [\"mean(y1)\", \"time_of_max(y2)\", \"final(y1) > 0.3 and max(y3) < 0.8\"]\n";
  // So that some instances fail.
  const std::string solver = fmt::format("backend = \"cuda\"\nmax_steps = 66\ntier = \"{}\"\n", GetParam());
  const auto run = [&](int instances, const std::string& rows, const std::string& memory) {
    const Outcome outcome = call(sweep(instances, solver + memory, output + rows));
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    return Json::parse(outcome.out);
  };
  const auto statistics = [&] {
    std::vector<std::uint64_t> all;
    for (const char* variable : {"y1", "y2", "y3"}) {
      for (const char* suffix : {"_mean", "_std", "_min", "_max", "_count"}) {
        const std::vector<double> some = values("out.nc", std::string(variable) + suffix);
        // Bits, for what is known of no instance is NaN.
        for (const double number : some) all.push_back(std::bit_cast<std::uint64_t>(number));
      }
    }
    return all;
  };
  constexpr int instances = 4200;
  const Json of_host = run(instances, "trajectories = false\n", "");
  const std::vector<std::uint64_t> expected = statistics();
  EXPECT_GT(of_host["by_status"]["success"], 500);
  EXPECT_GT(of_host["by_status"]["max_steps"], 500);
  EXPECT_GT(of_host["bytes_copied_back"], instances * 81 * 3 * 8);
  const auto expect_the_same = [&](const Json& of_device) {
    EXPECT_EQ(statistics(), expected);
    for (const char* name : {"reductions", "by_status", "first_failure", "steps_total"}) {
      EXPECT_EQ(of_device[name], of_host[name]) << name;
    }
  };
  const Json of_device = run(instances, "instances = false\n", "");
  expect_the_same(of_device);
  EXPECT_LT(of_device["bytes_copied_back"], 8 * instances);
  // Where no whole group fits, rows come back after all.
  const Json of_rows = run(instances, "instances = false\n", "device_memory = 20\n");
  expect_the_same(of_rows);
  EXPECT_EQ(of_rows["bytes_copied_back"], of_host["bytes_copied_back"]);
}

// Four sizes from each power of two to the next serve all batches of a phase.
TEST_F(CudaBackend, FillsUpBatchesByAQuarterAtMost) {
  const Outcome outcome =
      call(sweep(3000, "backend = \"cuda\"\ntier = \"phased\"\nmethod = \"radau5\"", "times = \"end\"\n"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(Json::parse(outcome.out)["newton_utilisation"], 0.8);
  EXPECT_GT(Json::parse(outcome.out)["lane_utilisation"], 0.8);
}

// Only the host has the quantiles of gamma distributions.
TEST_F(CudaBackend, AddsUpInstancesWhoseInputsComeFromTheHost) {
  const auto run = [&](const std::string& rows) {
    sweep(4200, "backend = \"cuda\"", "times = 9\nstatistics = [\"mean\", \"quantile(0.3)\"]\n" + rows);
    std::ofstream(folder_ / "sweep.toml", std::ios::app)
        << "[initial]\ny3 = { distribution = \"gamma\", shape = 2, scale = 0.01 }\n";
    const Outcome outcome = call("run sweep.toml --force --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["bytes_copied_back"].get<int>();
  };
  const int of_rows = run("trajectories = false\n");
  const std::vector<double> mean = values("out.nc", "y3_mean");
  const std::vector<double> quantile = values("out.nc", "y3_quantile");
  EXPECT_LT(run("instances = false\n"), of_rows / 4);
  EXPECT_EQ(values("out.nc", "y3_mean"), mean);
  EXPECT_EQ(values("out.nc", "y3_quantile"), quantile);
}

// All values stay on the two devices, and only counts come back: of five ranks of 24 columns, 1 KiB each at most.
TEST_P(CudaTier, FindsQuantilesWithTheBitsOfTheHost) {
  const std::string output = "times = 8\nstatistics = [\"quantile(0)\", \"quantile(0.3)\", \"quantile(1)\"]\n";
  const std::string solver = fmt::format("backend = \"cuda\"\nmax_steps = 66\ntier = \"{}\"\n", GetParam());
  const auto run = [&](const std::string& rows, const std::string& memory) {
    const Outcome outcome = call(sweep(9000, solver + memory, output + rows));
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    return Json::parse(outcome.out)["bytes_copied_back"].get<int>();
  };
  const auto quantiles = [&] {
    std::vector<double> all;
    for (const char* variable : {"y1_quantile", "y2_quantile", "y3_quantile"}) {
      const std::vector<double> some = values("out.nc", variable);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  const int of_host = run("trajectories = false\n", "");
  const std::vector<double> expected = quantiles();
  EXPECT_LT(run("instances = false\n", ""), 2 * 24 * 5 * 1024);
  EXPECT_EQ(quantiles(), expected);
  // The values of all instances take 1.6 MiB, of which batches need as much.
  if (GetParam() != std::string("fused")) return;
  EXPECT_EQ(run("instances = false\n", "device_memory = 3\n"), of_host);
  EXPECT_EQ(quantiles(), expected);
}

TEST_F(CudaBackend, AutoTakesTheDeviceForManyInstancesOnly) {
  const Outcome few = call(sweep(100, "", "times = \"end\"\n"));
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_EQ(Json::parse(few.out)["backend"], "cpu");
  EXPECT_NE(Json::parse(few.out)["backend_reason"].get<std::string>().find("too few"), std::string::npos);
  const Outcome many = call(sweep(5000, "", "times = \"end\"\n"));
  ASSERT_EQ(many.code, 0) << many.err;
  EXPECT_EQ(Json::parse(many.out)["backend"], "cuda");
}

TEST_F(CudaBackend, SolveGivesValuesAndDerivatives) {
  const Outcome cuda = call("solve robertson --method radau5 --t-end 100 --backend cuda --json");
  ASSERT_EQ(cuda.code, 0) << cuda.err;
  const Json a = Json::parse(cuda.out);
  const Json b = Json::parse(call("solve robertson --method radau5 --t-end 100 --backend cpu --json").out);
  EXPECT_EQ(a["backend"], "cuda");
  for (const char* name : {"y1", "y2", "y3"}) {
    EXPECT_NEAR(a["values"][name].get<double>(), b["values"][name].get<double>(), 1e-8);
    EXPECT_NEAR(a["derivatives"][name].get<double>(), b["derivatives"][name].get<double>(), 1e-8);
  }
}

TEST_F(CudaBackend, TilesGiveWhatThreadsGiveToTheTolerance) {
  const std::string text = sweep(60, "backend = \"cuda\"", "times = [1.0, 100.0]\n");
  const Outcome tiles = call(text, "MANYFOLD_EMULATED_TILE=1");
  ASSERT_EQ(tiles.code, 0) << tiles.err;
  EXPECT_EQ(Json::parse(tiles.out)["device_shape"].get<std::string>().find("a tile of 2 threads per instance"), 0U);
  const std::vector<double> by_tiles = values("out.nc", "y1");
  const Outcome threads = call(text);
  ASSERT_EQ(threads.code, 0) << threads.err;
  EXPECT_EQ(Json::parse(threads.out)["device_shape"].get<std::string>().find("a thread per instance"), 0U);
  const std::vector<double> by_threads = values("out.nc", "y1");
  ASSERT_EQ(by_tiles.size(), by_threads.size());
  // rtol is 1e-6; the two factorise with other pivots.
  for (std::size_t i = 0; i < by_tiles.size(); ++i) EXPECT_NEAR(by_tiles[i], by_threads[i], 1e-6);
}

TEST_F(CudaBackend, ATileThatDoesNotExistIsMisuse) {
  const Outcome outcome = call(sweep(10, "backend = \"cuda\"\ndevice_tile = 3", "times = \"end\"\n"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("device_tile is 3, but must be 1, 2, 4"), std::string::npos) << outcome.err;
}

TEST_P(CudaTier, OfAFailingDeviceGivesAnErrorThatNamesTheReason) {
  const Outcome outcome =
      call(sweep(50, "backend = \"cuda\"\ntier = \"" + std::string(GetParam()) + "\"", "times = \"end\"\n"),
           "MANYFOLD_EMULATED_FAILURE=launch");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("illegal memory access"), std::string::npos) << outcome.err;
}

TEST_P(CudaTier, WithTooLittleDeviceMemoryGivesAnErrorThatSaysWhatToSave) {
  const Outcome outcome = call(sweep(
      50, "backend = \"cuda\"\ndevice_memory = 0.001\ntier = \"" + std::string(GetParam()) + "\"", "times = 1000\n"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("device memory"), std::string::npos) << outcome.err;
}

TEST_P(CudaTier, KeepsWhatIsFinishedOfAnInterruptedRun) {
  // Little memory makes small batches, and a short time instances that end soon.
  const std::string arguments =
      sweep(3'000'000, "backend = \"cuda\"\ndevice_memory = 14\ntier = \"" + std::string(GetParam()) + "\"",
            "times = \"end\"\n");
  std::string text = slurp(folder_ / "sweep.toml");
  text.replace(text.find("1000.0]"), 6, "1e-3");
  std::ofstream(folder_ / "sweep.toml") << text;
  const pid_t child = start(arguments);
  // Until the first results are in the file, which begins with a status of one byte for each instance.
  const auto partial = [&] {
    std::uintmax_t size = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::error_code error;
      if (entry.path().string().find("out.nc") != std::string::npos) size += fs::file_size(entry.path(), error);
    }
    return size;
  };
  for (int i = 0; i < 600 && partial() < 3'200'000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGINT);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  const Json summary = Json::parse(outcome.out);
  EXPECT_TRUE(summary["interrupted"].get<bool>());
  EXPECT_GT(summary["by_status"]["success"].get<int>(), 0);
  EXPECT_GT(summary["by_status"]["cancelled"].get<int>(), 0);
}

}  // namespace
}  // namespace manyfold
