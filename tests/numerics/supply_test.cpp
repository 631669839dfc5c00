// Forced circuits with diodes: no pulse is lost by any method, and nothing wrong ends as success in a random family.
#include <cstdlib>

#include "tests/numerics/forced.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// Forty output times, two in every period of the source at 50 Hz and some in its pulses.
test::Ensemble circuit(const LoadedKernel& kernel) {
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = kernel.model.t_end;
  for (int k = 1; k <= 40; ++k) ensemble.times.push_back(0.005 * k);
  return ensemble;
}

/// Steps that cannot pass over a pulse, of a family whose error test compares stages.
test::Ensemble reference_of(test::Ensemble ensemble, const LoadedKernel& kernel, double max_step) {
  ensemble.loaded = &kernel;
  ensemble.rtol = 1e-9;
  ensemble.max_step = max_step;
  return ensemble;
}

template <class Model, template <class, class> class... Methods>
void expect_no_pulse_lost() {
  const LoadedKernel reference = test::own_kernel<Model, Sdirk4>();
  test::Ensemble ensemble = circuit(reference);
  ensemble.repeat_defaults(1);
  const test::Results exact = reference_of(ensemble, reference, 2e-5).solve();
  ASSERT_EQ(exact.outcomes[0].status, Status::success) << status_name(exact.outcomes[0].status);
  std::size_t gave_up = 0;
  const auto expect = [&](const LoadedKernel& kernel) {
    ensemble.loaded = &kernel;
    for (const double rtol : {1e-3, 1e-4, 1e-6, 1e-8}) {
      ensemble.rtol = rtol;
      const test::Results result = ensemble.solve();
      const Counters& counters = result.outcomes[0].counters;
      const double error = test::largest_error(result.values, exact.values, rtol);
      std::cout << kernel.model.name << " " << kernel.kernel->method << " rtol " << rtol << ": error/tolerance "
                << error << ", " << counters.steps << " steps, " << counters.rejected << " rejected, "
                << counters.newton_failures << " Newton failures\n";
      // Where a diode begins to conduct within long steps, Newton's method may diverge until the instance is given up.
      if (rtol >= 1e-4 && result.outcomes[0].status != Status::success) {
        ++gave_up;
        continue;
      }
      EXPECT_EQ(result.outcomes[0].status, Status::success)
          << kernel.kernel->method << " rtol " << rtol << " " << status_name(result.outcomes[0].status) << " at "
          << result.outcomes[0].t_reached;
      EXPECT_LE(error, test::allowed_error(kernel, rtol)) << kernel.kernel->method << " rtol " << rtol;
    }
  };
  test::for_each_kernel<Model, Methods...>(expect);
  EXPECT_LE(gave_up, 2);
}

// uC at 0.04, 0.06, 0.08, 0.1 and 0.2 s, of the ODE that remains after elimination, by another program.
TEST(Supply, ReferenceIsThatOfTheReducedEquation) {
  const LoadedKernel kernel = test::own_kernel<test::Supply, Sdirk4>();
  test::Ensemble ensemble = circuit(kernel);
  ensemble.repeat_defaults(1);
  ensemble.times = {0.04, 0.06, 0.08, 0.1, 0.2};
  const test::Results exact = reference_of(ensemble, kernel, 2e-5).solve();
  const double reduced[] = {9.2208, 9.2277, 9.2281, 9.2281, 9.2281};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(exact.values[3 * k], reduced[k], 6e-5);
}

TEST(Supply, LosesNoPulseInResidualForm) {
  expect_no_pulse_lost<test::Supply, Radau5, Radau, Radau1, Radau3, Radau9, Radau13, Lobatto2, Lobatto4, Lobatto6,
                       Esdirk54, Esdirk43, Kvaerno54, Kvaerno43, Trbdf2, Sdirk4, Sdirk3, Sdirk2, BackwardEuler, Cash4,
                       Dirks, Bdf>();
}

TEST(Supply, LosesNoPulseInSemiExplicitForm) {
  expect_no_pulse_lost<test::SupplyRhs, Radau5, Rodas5p, Rodas4, Rodas3, Dirka, Dirka4, Dirka3, Dirka2>();
}

NIGHTLY_TEST(Bridge, LosesNoPulse) {
  expect_no_pulse_lost<test::Bridge, Radau5, Radau9, Esdirk54, Rodas5p, Rodas4, Bdf>();
}

// Parameters from half to one and a half times those of the supply, frequencies from a tenth to ten times. The
// environment variable MANYFOLD_RANDOM_CASES asks for more instances than the 100 per method and tolerance. Where the
// source is fast a hundred pulses add up: twice the allowance of one supply.
TEST(Supply, NothingWrongEndsAsSuccessInARandomFamily) {
  const char* asked = std::getenv("MANYFOLD_RANDOM_CASES");
  const std::size_t cases = asked != nullptr ? std::strtoul(asked, nullptr, 10) : 100;
  const LoadedKernel sdirk4 = test::own_kernel<test::SupplyRhs, Sdirk4>();
  std::vector<LoadedKernel> kernels;
  test::for_each_kernel<test::SupplyRhs, Radau5, Radau, Esdirk54, Rodas5p, Bdf>(
      [&](const LoadedKernel& kernel) { kernels.push_back(kernel); });
  test::Uniform uniform(11);
  std::map<std::string, std::size_t> failures;
  std::map<std::string, double> largest;
  for (std::size_t instance = 0; instance < cases; ++instance) {
    test::Ensemble ensemble = circuit(sdirk4);
    ensemble.repeat_defaults(1);
    for (double& value : ensemble.parameters) value *= 0.5 + uniform();
    ensemble.parameters.back() *= std::pow(10.0, 2.0 * uniform() - 1.0);
    // A pulse lasts a tenth of a period or so.
    const test::Results exact = reference_of(ensemble, sdirk4, 0.002 / ensemble.parameters.back()).solve();
    ASSERT_EQ(exact.outcomes[0].status, Status::success) << "instance " << instance;
    for (const LoadedKernel& kernel : kernels) {
      for (const double rtol : {1e-3, 1e-4, 1e-6}) {
        ensemble.loaded = &kernel;
        ensemble.rtol = rtol;
        const test::Results result = ensemble.solve();
        const std::string name = kernel.kernel->method + (" " + std::to_string(rtol));
        if (result.outcomes[0].status != Status::success) {
          ++failures[name];
          continue;
        }
        const double error = test::largest_error(result.values, exact.values, rtol);
        largest[name] = std::max(largest[name], error);
        EXPECT_LE(error, 200.0) << name << ", instance " << instance;
      }
    }
  }
  for (const auto& [name, error] : largest) {
    std::cout << name << ": error/tolerance at most " << error << ", " << failures[name] << " of " << cases
              << " fail\n";
    EXPECT_LE(failures[name], cases / 50) << name;
  }
}

}  // namespace
}  // namespace manyfold
