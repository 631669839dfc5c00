// Sparse matrices in the phased tier, through the command on the emulated devices: against the fused tier, which
// eliminates in the same order, and against themselves in other batches.
#include <cmath>
#include <set>

#include "tests/support/emulated_backend.hpp"
#include "tests/support/environment.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::Outcome;

class SparsePhased : public test::EmulatedBackend {
 protected:
  /// A sweep over a model; `parameters`: what is sampled.
  std::string sweep(const std::string& model, int instances, const std::string& solver,
                    const std::string& parameters) const {
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"" << model << "\"\n[solver]\nrtol = 1e-6\natol = 1e-8\nbackend = \"cuda\"\n"
        << solver << "\n[ensemble]\ninstances = " << instances << "\nseed = 5\n[parameters]\n"
        << parameters << "\n[output]\nfile = \"out.nc\"\ntimes = 3\n";
    return "run sweep.toml --force --json";
  }
  static std::string seesaw() { return test::from_environment("MANYFOLD_SOURCE") + "/tests/cuda/seesaw.hpp"; }

  /// The results of both tiers, without cuBLAS, in fused.nc and phased.nc; they did the same work. `module`: of the
  /// emulated driver.
  void run_in_both_tiers(const std::string& module, const std::string& model, const std::string& solver,
                         const std::string& parameters) const {
    const auto run = [&](const std::string& tier) {
      const Outcome outcome = call(sweep(model, 70, solver + "\ntier = \"" + tier + "\"", parameters),
                                   "MANYFOLD_CUBLAS=/nowhere MANYFOLD_EMULATED_PROBLEM=" + module);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(Json::parse(outcome.out)["tier"], tier);
      fs::rename(folder_ / "out.nc", folder_ / (tier + ".nc"));
    };
    run("fused");
    run("phased");
    for (const char* name : {"t_reached", "stat_steps", "stat_rejected", "stat_newton_iterations", "stat_residuals",
                             "stat_jacobians", "stat_factorizations", "stat_solves"}) {
      EXPECT_EQ(values("phased.nc", name), values("fused.nc", name)) << name;
    }
  }
  void expect_bits_of_fused_tier(const std::string& module, const std::string& model, const std::string& solver,
                                 const std::string& parameters, const std::vector<std::string>& variables) const {
    run_in_both_tiers(module, model, solver, parameters);
    for (const std::string& name : variables) EXPECT_EQ(values("phased.nc", name), values("fused.nc", name)) << name;
  }
};

constexpr const char* diffusivity = "D = { distribution = \"uniform\", min = 0.5, max = 2 }";

TEST_F(SparsePhased, RealAndComplexSystemsGiveTheBitsOfTheFusedTier) {
  expect_bits_of_fused_tier("diffusion", "diffusion", "", diffusivity, {"u1", "u40", "left", "right"});
}

TEST_F(SparsePhased, DiagonallyImplicitMethodsGiveTheBitsOfTheFusedTier) {
  expect_bits_of_fused_tier("diffusion-esdirk54", "diffusion", "method = \"esdirk54\"", diffusivity, {"u1", "u40"});
}

// The end of a step is corrected once more. A full matrix is eliminated in another order than in the fused tier.
TEST_F(SparsePhased, DiagonallyImplicitMethodsAtIndexTwoDoTheWorkOfTheFusedTier) {
  run_in_both_tiers("pendulum_index2-esdirk54", "pendulum_index2", "method = \"esdirk54\"",
                    "g = { distribution = \"uniform\", min = 5, max = 20 }");
  for (const char* name : {"x", "z", "u", "w", "lambda"}) {
    const std::vector<double> phased = values("phased.nc", name);
    const std::vector<double> fused = values("fused.nc", name);
    ASSERT_EQ(phased.size(), fused.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_NEAR(phased[i], fused[i], 1e-9 * (1.0 + std::abs(fused[i]))) << name;
    }
  }
}

TEST_F(SparsePhased, MixedPrecisionAndRowExchangesGiveTheBitsOfTheFusedTier) {
  expect_bits_of_fused_tier("seesaw-mixed", seesaw(), "precision = \"mixed\"",
                            "epsilon = { distribution = \"uniform\", min = 1e-13, max = 1e-12 }", {"y1", "a12", "b5"});
}

TEST_F(SparsePhased, ResultsDependNeitherOnTheBatchNorOnGraphs) {
  std::set<std::string> shapes;
  const auto run = [&](const std::string& solver, const std::string& environment) {
    const Outcome outcome = call(sweep("diffusion", 300, "tier = \"phased\"\n" + solver, diffusivity),
                                 "MANYFOLD_EMULATED_PROBLEM=diffusion " + environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    shapes.insert(Json::parse(outcome.out)["device_shape"]);
    std::vector<std::vector<double>> result;
    for (const char* name : {"u1", "u20", "u40", "stat_steps", "stat_solves"}) result.push_back(values("out.nc", name));
    return result;
  };
  const auto whole = run("", "");
  // Room for few instances in flight per stream.
  EXPECT_EQ(run("device_memory = 3", ""), whole);
  EXPECT_EQ(shapes.size(), 2U);
  EXPECT_EQ(run("", "MANYFOLD_EMULATED_FAILURE=capture"), whole);
}

TEST_F(SparsePhased, InstancesWithBadFixedPivotsLeaveTheOthersAlone) {
  const auto run = [&](const std::string& bad) {
    std::ofstream table(folder_ / "cases.csv");
    table << "epsilon,k\n";
    for (int i = 0; i < 20; ++i) table << "0.5," << 1.0 + 0.1 * i << "\n" << bad << "," << 2.0 + 0.1 * i << "\n";
    table.close();
    std::ofstream(folder_ / "sweep.toml") << "model = \"" << seesaw()
                                          << "\"\n[solver]\nrtol = 1e-6\natol = 1e-8\nbackend = \"cuda\"\ntier = "
                                             "\"phased\"\n[ensemble]\nsampler = \"table\"\ntable = "
                                             "\"cases.csv\"\n[output]\nfile = \"out.nc\"\ntimes = [0.3, 1.0]\n";
    const Outcome outcome = call("run sweep.toml --force --json", "MANYFOLD_EMULATED_PROBLEM=seesaw");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return values("out.nc", "y7");
  };
  const std::vector<double> good = run("0.25");
  const std::vector<double> beside_bad = run("1e-13");
  ASSERT_EQ(beside_bad.size(), 80U);
  for (std::size_t i = 0; i < 80; ++i) {
    if (i / 2 % 2 == 0) {
      EXPECT_EQ(beside_bad[i], good[i]);
    } else {
      const double k = 2.0 + 0.1 * static_cast<double>(i / 4);
      const double exact = std::exp(-k * (i % 2 == 0 ? 0.3 : 1.0));
      // 30 times rtol, as for all problems.
      EXPECT_NEAR(beside_bad[i], exact, 3e-5 * exact) << "instance " << i / 2;
    }
  }
}

}  // namespace
}  // namespace manyfold
