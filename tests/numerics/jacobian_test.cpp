// Where Jacobians come from and how long they serve: accuracy stays, and the counters show what changes.
#include <manyfold/error.hpp>

#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

const LoadedKernel& kernel_with(const std::string& model, const std::string& method, const std::string& jacobian,
                                const std::string& reuse) {
  static std::map<std::string, LoadedKernel> loaded;
  LoadedKernel& kernel = loaded[model + method + jacobian + reuse];
  if (kernel.kernel == nullptr) {
    KernelRequest request;
    request.model = model;
    request.options.method = method;
    request.options.jacobian = jacobian;
    request.options.jacobian_reuse = reuse;
    request.instruction_set = "scalar";  // compiles fastest
    kernel = load_kernel(request);
  }
  return kernel;
}

Counters work(const std::string& model, const std::string& method, const std::string& jacobian,
              const std::string& reuse) {
  const LoadedKernel& kernel = kernel_with(model, method, jacobian, reuse);
  test::Ensemble ensemble = test::ensemble_at(kernel, 1e-6);
  ensemble.t_end = kernel.model.t_end;
  ensemble.repeat_defaults(1);
  const test::Results results = ensemble.solve();
  EXPECT_EQ(results.outcomes[0].status, Status::success) << model << " " << jacobian << " " << reuse;
  return results.outcomes[0].counters;
}

TEST(Jacobian, FiniteDifferencesCostAnEvaluationForEveryGroupOfColumns) {
  // The current of a collector depends on three voltages and no other row has more: three groups, and one more
  // evaluation is where differences start. What is left are the evaluations that dual numbers need too.
  const Counters exact = work("transistor_amplifier", "radau5", "automatic", "every_step");
  const Counters differences = work("transistor_amplifier", "radau5", "finite_differences", "every_step");
  const std::int64_t extra = differences.residuals - 4 * differences.jacobians;
  // Iterations may differ by a few where a norm lies close to its bound.
  EXPECT_NEAR(static_cast<double>(extra) / static_cast<double>(exact.residuals), 1.0, 0.02);
  EXPECT_NEAR(static_cast<double>(differences.steps) / static_cast<double>(exact.steps), 1.0, 0.02);
}

TEST(Jacobian, FiniteDifferencesKeepTheAccuracy) {
  // Allowances of the methods' own accuracy tests. Robertson's y2 starts at zero: only atol/rtol says how large it is.
  test::expect_error_follows_tolerance(kernel_with("robertson", "radau5", "finite_differences", "automatic"),
                                       {1e-4, 1e-8}, 30.0);
  test::expect_error_follows_tolerance(kernel_with("transistor_amplifier", "bdf", "finite_differences", "automatic"),
                                       {1e-4, 1e-6}, 30.0);
}

TEST(Jacobian, IsTheSameByDualNumbers) {
  // The model's own formulas and dual numbers differ by rounding, which errors at a tolerance of 1e-6 do not show.
  const Counters own = work("transistor_amplifier", "radau5", "automatic", "automatic");
  const Counters dual = work("transistor_amplifier", "radau5", "dual_numbers", "automatic");
  EXPECT_NEAR(static_cast<double>(dual.steps) / static_cast<double>(own.steps), 1.0, 0.02);
}

TEST(JacobianReuse, KeepsTheAccuracy) {
  for (const char* rule : {"contraction", "cameron", "dassl"}) {
    test::expect_error_follows_tolerance(kernel_with("das1", "radau5", "automatic", rule), {1e-4, 1e-8}, 30.0);
  }
  test::expect_error_follows_tolerance(kernel_with("robertson", "esdirk43", "automatic", "dassl"), {1e-4, 1e-8}, 30.0);
}

TEST(JacobianReuse, ShowsInTheCounters) {
  const Counters every_step = work("das1", "radau5", "automatic", "every_step");
  EXPECT_EQ(every_step.jacobians, every_step.factorizations);
  EXPECT_EQ(every_step.jacobians, every_step.steps + every_step.rejected + every_step.newton_failures);
  const Counters contraction = work("das1", "radau5", "automatic", "contraction");
  EXPECT_LT(contraction.jacobians, every_step.jacobians);
  EXPECT_LT(contraction.factorizations, every_step.factorizations);
  EXPECT_LE(contraction.jacobians, contraction.factorizations) << "a Jacobian serves for several step lengths";
  // Cameron keeps Jacobians that contract by five per iteration: few are left, each for several factorisations.
  const Counters cameron = work("das1", "radau5", "automatic", "cameron");
  EXPECT_LT(2 * cameron.jacobians, contraction.jacobians);
  EXPECT_LT(cameron.jacobians, cameron.factorizations);
  // DASSL renews both together, and neither while the step changes by less than 1.67.
  const Counters dassl = work("das1", "radau5", "automatic", "dassl");
  EXPECT_EQ(dassl.jacobians, dassl.factorizations);
  EXPECT_LT(dassl.factorizations, cameron.factorizations);
  EXPECT_GT(dassl.residuals, every_step.residuals) << "which is paid for with iterations";
}

TEST(JacobianReuse, IsRefusedByMethodsWithRulesOfTheirOwn) {
  for (const char* method : {"rodas4", "bdf", "dirka", "rk4", "auto"}) {
    EXPECT_THROW(kernel_with("robertson", method, "automatic", "dassl"), UsageError) << method;
  }
  EXPECT_THROW(kernel_with("robertson", "rodas4", "finite_differences", "automatic"), UsageError);
  EXPECT_THROW(kernel_with("robertson", "radau5", "differences", "automatic"), UsageError);
}

}  // namespace
}  // namespace manyfold
