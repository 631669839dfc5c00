// Which tier integrates, and why, for kernels and devices of all kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include <manyfold/error.hpp>

#include "host/compiler/catalog.hpp"
#include "host/run/placement.hpp"

namespace manyfold {
namespace {

/// A device with or without what the phased tier needs for full matrices.
class Devices : public DeviceBackend {
 public:
  explicit Devices(std::string cublas_missing = "", std::string cusolver_missing = "")
      : cublas_missing_(std::move(cublas_missing)), cusolver_missing_(std::move(cusolver_missing)) {}
  const std::vector<DeviceDescription>& devices() const override { return devices_; }
  const std::string& unavailable() const override { return none_; }
  const std::string& unavailable(LinearSolver solver) const override {
    return solver == LinearSolver::cublas ? cublas_missing_ : cusolver_missing_;
  }
  std::string compiler() const override { return ""; }
  std::vector<std::string> architectures() const override { return {}; }
  DeviceCode compile(const DeviceSource&, const std::string&) const override { return {}; }
  std::unique_ptr<DeviceProgram> load(const DeviceSource&, const DeviceDemand&) const override { return nullptr; }

 private:
  std::vector<DeviceDescription> devices_;
  std::string none_;
  std::string cublas_missing_;
  std::string cusolver_missing_;
};

/// A kernel for `n` variables whose factorisation takes `work` operations.
struct Problem {
  Problem(std::size_t n, long work) {
    kernel.factor_work = work;
    loaded.kernel = &kernel;
    loaded.model.variables.resize(n);
  }
  Kernel kernel{};
  LoadedKernel loaded;
};

const Devices with_libraries;
const Devices without_libraries("no cuBLAS: it is not there", "no cuSOLVER: it is not there");
const Devices with_cusolver_alone("no cuBLAS: it is not there");

Placement choose(const Problem& problem, const std::string& tier = "auto", const std::string& method = "radau5",
                 const DeviceBackend* devices = &with_libraries, const std::string& solver = "auto") {
  SolverOptions options;
  options.linear_solver = solver;
  options.tier = tier;
  options.method = method;
  Placement placement;
  placement.devices = devices;
  choose_tier(options, problem.loaded, placement);
  return placement;
}

long full(long n) {
  return n * n * n / 3;
}

TEST(Tier, IsPhasedForFullMatricesOfManyVariables) {
  const Placement chosen = choose(Problem(33, full(33)));
  EXPECT_EQ(chosen.tier, Tier::phased);
  EXPECT_EQ(chosen.tier_reason, "33 variables in full matrices");
  EXPECT_EQ(choose(Problem(100, full(100)), "auto", "auto").tier, Tier::phased);
}

TEST(Tier, IsFusedForFewVariablesAndForSparseMatrices) {
  EXPECT_EQ(choose(Problem(32, full(32))).tier_reason, "32 variables are few");
  EXPECT_EQ(choose(Problem(32, full(32))).tier, Tier::fused);
  EXPECT_EQ(choose(Problem(200, 1500)).tier_reason, "the matrices are sparse");
  EXPECT_EQ(choose(Problem(200, 1500)).tier, Tier::fused);
}

TEST(Tier, IsFusedWhereThePhasedTierCannotBe) {
  const Problem large(40, full(40));
  EXPECT_EQ(choose(large, "auto", "rodas4").tier_reason, "the phased tier does not have method 'rodas4'");
  EXPECT_EQ(choose(large, "auto", "radau5", &without_libraries).tier_reason, "no cuBLAS: it is not there");
  EXPECT_EQ(choose(large, "auto", "radau5", &without_libraries).tier, Tier::fused);
  EXPECT_EQ(choose(large, "auto", "radau5", nullptr).tier, Tier::fused) << "on the processor";
}

TEST(Tier, NeedsALibraryForFullMatricesAlone) {
  EXPECT_EQ(choose(Problem(200, 1500), "phased", "radau5", &without_libraries).tier, Tier::phased);
  EXPECT_THROW(choose(Problem(200, full(200)), "phased", "radau5", &without_libraries), UsageError);
  // However few their nonzeros, small matrices are taken for full ones.
  EXPECT_THROW(choose(Problem(32, 100), "phased", "radau5", &without_libraries), UsageError);
  EXPECT_EQ(choose(Problem(33, 100), "phased", "radau5", &without_libraries).tier, Tier::phased);
}

TEST(Tier, CanBeForced) {
  const std::vector<std::string>& able = phased_methods();
  for (const char* method : {"radau", "dirka", "dirks", "dirka4", "rodas4", "bdf", "dopri54", "rk4"}) {
    EXPECT_EQ(std::find(able.begin(), able.end(), method), able.end()) << method;
  }
  EXPECT_EQ(choose(Problem(40, full(40)), "fused").tier, Tier::fused);
  for (const char* method :
       {"radau1", "radau3", "radau5", "radau9", "radau13", "lobatto2", "lobatto4", "lobatto6", "backward_euler",
        "sdirk2", "sdirk3", "sdirk4", "trbdf2", "kvaerno43", "kvaerno54", "esdirk43", "esdirk54"}) {
    EXPECT_EQ(choose(Problem(3, 12), "phased", method).tier, Tier::phased);
  }
}

TEST(LinearSolver, IsChosenByTheSizeOfFullMatrices) {
  EXPECT_EQ(choose(Problem(40, full(40))).linear_solver, LinearSolver::cublas);
  EXPECT_EQ(choose(Problem(255, full(255))).linear_solver, LinearSolver::cublas);
  EXPECT_EQ(choose(Problem(256, full(256))).linear_solver, LinearSolver::cusolver);
  EXPECT_EQ(choose(Problem(40, full(40)), "auto", "radau5", &with_cusolver_alone).linear_solver,
            LinearSolver::cusolver);
  EXPECT_EQ(choose(Problem(200, 1500), "phased").linear_solver, std::nullopt) << "sparse matrices";
  EXPECT_EQ(choose(Problem(3, 12)).linear_solver, std::nullopt) << "the fused tier";
}

TEST(LinearSolver, OfALibraryTakesThePhasedTier) {
  const Placement chosen = choose(Problem(3, 12), "auto", "radau5", &with_libraries, "cusolver");
  EXPECT_EQ(chosen.tier, Tier::phased);
  EXPECT_EQ(chosen.linear_solver, LinearSolver::cusolver);
  EXPECT_EQ(choose(Problem(1000, full(1000)), "auto", "radau5", &with_libraries, "cublas").linear_solver,
            LinearSolver::cublas);
  EXPECT_THROW(choose(Problem(40, full(40)), "fused", "radau5", &with_libraries, "cublas"), UsageError);
  EXPECT_THROW(choose(Problem(200, 1500), "auto", "radau5", &with_libraries, "cublas"), UsageError);
  EXPECT_THROW(choose(Problem(40, full(40)), "auto", "rodas4", &with_libraries, "cublas"), UsageError);
  EXPECT_THROW(choose(Problem(40, full(40)), "auto", "radau5", &without_libraries, "cusolver"), UsageError);
  EXPECT_THROW(choose(Problem(40, full(40)), "auto", "radau5", nullptr, "cusolver"), UsageError);
  EXPECT_THROW(choose(Problem(40, full(40)), "auto", "radau5", &with_libraries, "lapack"), UsageError);
}

TEST(LinearSolver, OfItsOwnTakesTheFusedTier) {
  const Placement chosen = choose(Problem(40, full(40)), "auto", "radau5", &with_libraries, "own");
  EXPECT_EQ(chosen.tier, Tier::fused);
  EXPECT_EQ(chosen.tier_reason,
            "linear_solver 'own' factorises full matrices, here of 40 variables, in the fused tier alone");
  EXPECT_EQ(choose(Problem(200, 1500), "phased", "radau5", &with_libraries, "own").tier, Tier::phased);
  EXPECT_EQ(choose(Problem(40, full(40)), "fused", "radau5", &with_libraries, "own").tier, Tier::fused);
  EXPECT_NO_THROW(choose(Problem(40, full(40)), "auto", "radau5", nullptr, "own")) << "on the processor";
  EXPECT_THROW(choose(Problem(40, full(40)), "phased", "radau5", &with_libraries, "own"), UsageError);
}

}  // namespace
}  // namespace manyfold
