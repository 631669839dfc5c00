// Steps and factorisations beside those of RADAU5 by Hairer and Wanner at equal internal tolerance.
#include "problems/das1/das1.hpp"
#include "problems/van_der_pol/van_der_pol.hpp"
#include "tests/support/accuracy.hpp"

namespace manyfold {
namespace {

/// Its rule and its error test.
constexpr KernelSpec<> as_radau5{.jacobian_reuse = JacobianReuse::contraction, .error_test = ErrorTest::differential};

struct Work {
  std::string model;
  double rtol;
  std::int64_t attempts;
  std::int64_t rejected;
  std::int64_t factorizations;
};

// Measured with the R package deSolve 1.34: bench/experiments/radau5_work.R, which says how tolerances correspond.
const std::vector<Work> radau5 = {
    {"robertson", 1e-4, 46, 2, 45},
    {"robertson", 1e-5, 60, 1, 59},
    {"robertson", 1e-6, 86, 1, 86},
    {"robertson", 1e-7, 126, 1, 124},
    {"robertson", 1e-8, 191, 2, 182},
    {"van_der_pol", 1e-4, 222, 7, 209},
    {"van_der_pol", 1e-5, 294, 10, 267},
    {"van_der_pol", 1e-6, 405, 9, 353},
    {"van_der_pol", 1e-7, 600, 8, 494},
    {"van_der_pol", 1e-8, 935, 4, 734},
    {"pendulum", 1e-4, 62, 0, 61},
    {"pendulum", 1e-5, 79, 0, 79},
    {"pendulum", 1e-6, 121, 0, 121},
    {"pendulum", 1e-7, 175, 0, 175},
    {"pendulum", 1e-8, 260, 0, 252},
    {"das1", 1e-4, 41, 1, 41},
    {"das1", 1e-5, 49, 0, 49},
    {"das1", 1e-6, 74, 1, 69},
    {"das1", 1e-7, 105, 1, 94},
    {"das1", 1e-8, 156, 1, 129},
    {"transistor_amplifier", 1e-4, 599, 1, 599},
    {"transistor_amplifier", 1e-5, 822, 15, 822},
    {"transistor_amplifier", 1e-6, 1150, 32, 1150},
    {"transistor_amplifier", 1e-7, 1627, 37, 1627},
    {"transistor_amplifier", 1e-8, 2410, 77, 2408},
};

LoadedKernel kernel_for(const std::string& model) {
  if (model == "robertson") return test::own_kernel<Robertson, Radau5, as_radau5>();
  if (model == "van_der_pol") return test::own_kernel<VanDerPol, Radau5, as_radau5>();
  if (model == "pendulum") return test::own_kernel<Pendulum, Radau5, as_radau5>();
  if (model == "das1") return test::own_kernel<Das1, Radau5, as_radau5>();
  return test::own_kernel<TransistorAmplifier, Radau5, as_radau5>();
}

TEST(Radau5Work, IsThatOfRadau5) {
  for (const Work& theirs : radau5) {
    const LoadedKernel kernel = kernel_for(theirs.model);
    test::Ensemble ensemble = test::ensemble_at(kernel, theirs.rtol);
    ensemble.t_end = kernel.model.t_end;
    ensemble.repeat_defaults(1);
    EnsembleRun run = ensemble.request();
    InMemoryResult memory;
    run_ensemble(run, memory);
    const InstanceOutcome& outcome = memory.results().outcomes[0];
    ASSERT_EQ(outcome.status, Status::success);
    const Counters& ours = outcome.counters;
    const auto attempts = static_cast<double>(ours.steps + ours.rejected + ours.newton_failures);
    const double of_attempts = attempts / static_cast<double>(theirs.attempts);
    const double of_factorizations =
        static_cast<double>(ours.factorizations) / static_cast<double>(theirs.factorizations);
    std::cout << theirs.model << " rtol " << theirs.rtol << ": attempts " << attempts << " (" << of_attempts
              << "), rejected " << ours.rejected << ", Newton failures " << ours.newton_failures << ", factorisations "
              << ours.factorizations << " (" << of_factorizations << ")\n";
    // At most its work, up to an eighth and an attempt; less where its first contraction ends attempts of Newton's
    // method that would have converged. The first step is our own. From theirs, 1e-6, steps that at most double need
    // some attempts more than those of RADAU5, which grow by up to 8.
    const double most = 1.12 + 1.0 / static_cast<double>(theirs.attempts);
    EXPECT_LE(of_attempts, most) << theirs.model << " " << theirs.rtol;
    EXPECT_LE(of_factorizations, most) << theirs.model << " " << theirs.rtol;
    EXPECT_GE(of_attempts, 0.7) << theirs.model << " " << theirs.rtol;
  }
}

}  // namespace
}  // namespace manyfold
