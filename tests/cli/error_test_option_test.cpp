// error_test: which errors count is the user's choice.
#include <netcdf.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include <manyfold/error.hpp>

#include "tests/support/command.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

const std::string supply = test::source_folder() + "/tests/engine/supply.hpp";

LoadedKernel kernel_with(const std::string& method, const std::string& error_test) {
  KernelRequest request;
  request.model = supply;
  request.options.method = method;
  request.options.error_test = error_test;
  request.instruction_set = "scalar";  // compiles fastest
  return load_kernel(request);
}

struct Solution {
  double error;  ///< of uC after two to ten periods
  Counters counters;
};

Solution solve_supply(const LoadedKernel& kernel, double rtol) {
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = 0.2;
  ensemble.times = {0.04, 0.06, 0.08, 0.1, 0.2};
  ensemble.rtol = rtol;
  ensemble.repeat_defaults(1);
  const test::Results result = ensemble.solve();
  EXPECT_EQ(result.outcomes[0].status, Status::success);
  const double exact[] = {9.2208, 9.2277, 9.2281, 9.2281, 9.2281};
  double error = 0.0;
  for (std::size_t k = 0; k < 5; ++k) error = std::max(error, std::abs(result.values[3 * k] - exact[k]));
  return {error, result.outcomes[0].counters};
}

// The current of the diode, which no estimate at the end of a step sees, asks for steps of its own.
TEST(ErrorTestOption, WithoutAlgebraicVariablesRadau5TakesFewerSteps) {
  const LoadedKernel all = kernel_with("radau5", "all");
  const LoadedKernel differential = kernel_with("radau5", "differential");
  for (int k = 0; k <= 12; ++k) {
    const double rtol = std::pow(10.0, -4.0 - 0.25 * k);
    const Solution solution = solve_supply(all, rtol);
    EXPECT_LT(solution.error, 2e-3) << rtol;
    EXPECT_LT(solve_supply(differential, rtol).counters.steps, solution.counters.steps) << rtol;
  }
}

TEST(ErrorTestOption, WithoutAlgebraicVariablesBdfTakesFewerSteps) {
  const Solution all = solve_supply(kernel_with("bdf", "all"), 1e-6);
  const Solution differential = solve_supply(kernel_with("bdf", "differential"), 1e-6);
  EXPECT_LT(all.error, 2e-4);
  EXPECT_LT(differential.counters.steps, all.counters.steps);
}

TEST(ErrorTestOption, NamesWhatIsUnknown) {
  EXPECT_THROW(kernel_with("radau5", "diferential"), UsageError);
}

class ErrorTestCommand : public test::CommandTest {};

TEST_F(ErrorTestCommand, OfSolveIsThatOfTheKernel) {
  const auto steps = [&](const std::string& option) {
    const test::Outcome outcome = call("solve " + supply + " --method radau5 --json " + option);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["stats"]["steps"].get<int>();
  };
  const int all = steps("");
  EXPECT_EQ(steps("--error-test all"), all);
  EXPECT_LT(steps("--error-test differential"), all);
}

TEST_F(ErrorTestCommand, OfASweepIsKeptInTheResultFile) {
  std::ofstream(folder_ / "sweep.toml")
      << "model = \"robertson\"\n[solver]\nerror_test = \"differential\"\n[ensemble]\n"
         "instances = 2\n[output]\nfile = \"result.nc\"\n";
  const test::Outcome outcome = call("run sweep.toml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  int id = 0;
  ASSERT_EQ(nc_open((folder_ / "result.nc").c_str(), NC_NOWRITE, &id), NC_NOERR);
  std::size_t length = 0;
  ASSERT_EQ(nc_inq_attlen(id, NC_GLOBAL, "error_test", &length), NC_NOERR);
  std::string text(length, ' ');
  nc_get_att_text(id, NC_GLOBAL, "error_test", text.data());
  EXPECT_EQ(text, "differential");
  nc_close(id);
}

}  // namespace
}  // namespace manyfold
