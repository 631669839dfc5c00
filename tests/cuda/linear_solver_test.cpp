// Who factorises full matrices on a GPU: cuSOLVER against cuBLAS and solutions in closed form, through the command on
// the emulated devices; and what the setting `linear_solver` refuses.
#include <cmath>

#include <fmt/format.h>

#include "tests/support/emulated_backend.hpp"
#include "tests/support/environment.hpp"

namespace manyfold {
namespace {

using test::Json;
using test::Outcome;

class LinearSolverSetting : public test::EmulatedBackend {
 protected:
  /// A sweep over the bodies that exchange heat, or another model; the coefficient of transfer k is sampled.
  std::string sweep(const std::string& model, int instances, const std::string& solver,
                    const std::string& parameters = "k = { distribution = \"uniform\", min = 1, max = 9 }",
                    const std::string& times = "[0.5, 2.0]") const {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"" << model << "\"\n[solver]\nrtol = 1e-6\natol = 1e-8\n"
        << solver << "\n[ensemble]\ninstances = " << instances << "\nseed = 5\n[parameters]\n"
        << parameters << "\n[output]\nfile = \"out.nc\"\ntimes = " << times << "\n";
    return "run sweep.toml --force --json";
  }
  static std::string exchange(int variables) {
    return fmt::format("{}/tests/cuda/exchange_{}.hpp", test::from_environment("MANYFOLD_SOURCE"), variables);
  }
  Outcome run_48(int instances, const std::string& solver, const std::string& environment = "") const {
    return call(sweep(exchange(48), instances, "backend = \"cuda\"\n" + solver),
                "MANYFOLD_EMULATED_PROBLEM=exchange_48 " + environment);
  }

  /// The first and the last body of every instance, against the solution in closed form.
  void expect_exchange_is_solved(const std::string& last_body) const {
    const std::vector<double> k = values("out.nc", "param_k");
    const std::vector<double> first = values("out.nc", "T1");
    const std::vector<double> last = values("out.nc", last_body);
    ASSERT_EQ(first.size(), 2 * k.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      const double exact = (1.0 - std::exp(-k[i / 2] * (i % 2 == 0 ? 0.5 : 2.0))) / k[i / 2];
      // 30 times rtol, as for all problems.
      EXPECT_NEAR(first[i], -exact, 3e-5 * exact) << "instance " << i / 2;
      EXPECT_NEAR(last[i], exact, 3e-5 * exact) << "instance " << i / 2;
    }
  }

  void expect_misuse(const std::string& solver, const std::string& message, const std::string& model = exchange(48),
                     const std::string& environment = "") const {
    const bool built_in = model.find('/') == std::string::npos;
    const Outcome outcome = call(sweep(model, 10, solver, built_in ? "" : "k = 2", "\"end\""), environment);
    EXPECT_EQ(outcome.code, 2) << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
};

TEST_F(LinearSolverSetting, CusolverGivesTheResultsOfCublasToTheTolerance) {
  ASSERT_EQ(run_48(60, "").code, 0);
  expect_exchange_is_solved("T47");
  const std::vector<double> expected = values("out.nc", "T3");
  const Outcome outcome = run_48(60, "linear_solver = \"cusolver\"");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["linear_solver"], "cusolver");
  expect_exchange_is_solved("T47");
  const std::vector<double> found = values("out.nc", "T3");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

TEST_F(LinearSolverSetting, ResultsDoNotDependOnHowManyInstancesAreInFlight) {
  ASSERT_EQ(run_48(200, "linear_solver = \"cusolver\"").code, 0);
  const std::vector<double> whole = values("out.nc", "T3");
  const Outcome outcome = run_48(200, "linear_solver = \"cusolver\"\ndevice_memory = 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(values("out.nc", "T3"), whole);
}

TEST_F(LinearSolverSetting, AutoLeavesAThousandVariablesToCusolver) {
  const Outcome outcome = call(sweep(exchange(1001), 2, "backend = \"cuda\"\nmethod = \"esdirk54\""),
                               "MANYFOLD_EMULATED_PROBLEM=exchange_1001-esdirk54");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["linear_solver"], "cusolver");
  EXPECT_EQ(Json::parse(outcome.out)["tier"], "phased");
  expect_exchange_is_solved("T1001");
}

TEST_F(LinearSolverSetting, AutoTakesTheLibraryThatIsThere) {
  const auto solver_of = [&](const std::string& environment) {
    const Outcome outcome = run_48(10, "", environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["linear_solver"].get<std::string>();
  };
  EXPECT_EQ(solver_of(""), "cublas");
  EXPECT_EQ(solver_of("MANYFOLD_CUSOLVER=/nowhere"), "cublas");
  EXPECT_EQ(solver_of("MANYFOLD_CUBLAS=/nowhere"), "cusolver");
}

TEST_F(LinearSolverSetting, TheCommandLineGoesBeforeTheFile) {
  const Outcome outcome =
      call(sweep(exchange(48), 10, "backend = \"cuda\"\nlinear_solver = \"cublas\"") + " --linear-solver cusolver",
           "MANYFOLD_EMULATED_PROBLEM=exchange_48");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["linear_solver"], "cusolver");
  const Outcome one = call("solve " + exchange(48) + " --method radau5 --backend cuda --linear-solver cusolver --json",
                           "MANYFOLD_EMULATED_PROBLEM=exchange_48");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_NEAR(Json::parse(one.out)["values"]["T1"].get<double>(), (std::exp(-6.0) - 1.0) / 3.0, 1e-5);
}

TEST_F(LinearSolverSetting, WhatContradictsOtherSettingsIsRefusedWithItsPlace) {
  expect_misuse("linear_solver = \"cusolve\"", "unknown linear_solver \"cusolve\"; did you mean \"cusolver\"?");
  expect_misuse("linear_solver = \"cusolver\"\nbackend = \"cpu\"",
                "sweep.toml:5:17: error: linear_solver 'cusolver' needs backend 'cuda', but this run is on the "
                "processor");
  const std::string cuda = "backend = \"cuda\"\n";
  expect_misuse(cuda + "linear_solver = \"cublas\"\ntier = \"fused\"",
                "linear_solver 'cublas' needs tier 'phased', but tier is 'fused'");
  expect_misuse(cuda + "linear_solver = \"cusolver\"",
                "linear_solver 'cusolver' needs full matrices, but those of model 'diffusion' are sparse", "diffusion");
  expect_misuse(cuda + "linear_solver = \"cusolver\"\nmethod = \"bdf\"",
                "linear_solver 'cusolver' needs tier 'phased', which does not have method 'bdf': one of radau5");
  expect_misuse(cuda + "linear_solver = \"own\"\ntier = \"phased\"",
                "tier 'phased': linear_solver 'own' factorises full matrices, here of 48 variables, in the fused tier");
}

TEST_F(LinearSolverSetting, TheCommandLineIsRefusedInTheSameWords) {
  const std::string unknown = "unknown linear_solver 'lapack': one of auto, own, cublas, cusolver";
  const std::string processor = "linear_solver 'cublas' needs backend 'cuda', but this run is on the processor";
  const std::string run = sweep("robertson", 4, "backend = \"cpu\"", "");
  for (const std::string& command : {run, std::string("solve robertson --backend cpu")}) {
    for (const auto& [value, message] : {std::pair("lapack", unknown), std::pair("cublas", processor)}) {
      const Outcome outcome = call(command + " --linear-solver " + value);
      EXPECT_EQ(outcome.code, 2) << command;
      EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
  }
  const Outcome sparse = call("solve diffusion --method radau5 --backend cuda --linear-solver cusolver");
  EXPECT_EQ(sparse.code, 2);
  EXPECT_NE(sparse.err.find("linear_solver 'cusolver' needs full matrices"), std::string::npos) << sparse.err;
}

TEST_F(LinearSolverSetting, OnTheProcessorAllIsOwn) {
  const Outcome outcome =
      call(sweep("robertson", 4, "backend = \"cpu\"\nlinear_solver = \"own\"", "") + " --linear-solver own");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["linear_solver"], "own");
}

TEST_F(LinearSolverSetting, AMissingLibraryIsAnErrorWhereItIsNeeded) {
  expect_misuse("backend = \"cuda\"\nlinear_solver = \"cusolver\"", "linear_solver 'cusolver': no cuSOLVER: /nowhere",
                exchange(48), "MANYFOLD_CUSOLVER=/nowhere");
  const Json info = Json::parse(call("info --json", "MANYFOLD_CUSOLVER=/nowhere").out);
  EXPECT_EQ(info["cublas_missing"], "");
  EXPECT_NE(info["cusolver_missing"].get<std::string>().find("/nowhere"), std::string::npos);
  EXPECT_EQ(Json::parse(call("info --json").out)["cusolver_missing"], "");
  EXPECT_NE(call("info").out.find("cuBLAS; cuSOLVER"), std::string::npos);
}

TEST_F(LinearSolverSetting, AFailingFactorisationIsAnErrorThatNamesTheCall) {
  const Outcome outcome = run_48(10, "linear_solver = \"cusolver\"", "MANYFOLD_EMULATED_FAILURE=solver");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("cuSOLVER: getrf: status 6"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace manyfold
