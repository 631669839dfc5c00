#pragma once
// End-point errors of the built-in problems against their reference solutions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/compiler/catalog.hpp"
#include "kernels/entry/describe.hpp"
#include "kernels/entry/kernel.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/sample.hpp"

namespace manyfold::test {

/// The defaults of a model, to be solved at `rtol`, absolute tolerances at the scales.
inline Ensemble ensemble_at(const LoadedKernel& kernel, double rtol) {
  Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_begin = kernel.model.t_begin;
  ensemble.rtol = rtol;
  for (const double scale : error_scales(kernel.model.name, ensemble.variable_count()))
    ensemble.atol.push_back(rtol * scale);
  return ensemble;
}

/// `Model` at the times, or the end of its span, with absolute tolerances of a hundredth of `rtol`: the defaults, or an
/// instance for each row of parameters.
template <class Model>
Results solve(const LoadedKernel& kernel, double rtol, const std::vector<double>& times = {},
              const std::vector<std::vector<double>>& rows = {}) {
  Ensemble ensemble{};
  ensemble.loaded = &kernel;
  if (rows.empty()) ensemble.repeat_defaults(1);
  for (const std::vector<double>& row : rows) {
    ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
  }
  ensemble.t_begin = Model::t_span[0];
  ensemble.t_end = Model::t_span[1];
  ensemble.times = times;
  ensemble.rtol = rtol;
  ensemble.atol.assign(kernel.model.variables.size(), 0.01 * rtol);
  return ensemble.solve();
}

/// Solves the default instance at the tolerances, the loosest first, and expects the error at the end within
/// `allowance` times rtol to the `power`, and smaller at the last than at the first.
inline void expect_error_follows_tolerance(const LoadedKernel& kernel, const std::vector<double>& tolerances,
                                           double allowance, double power = 1.0) {
  const std::string& model = kernel.model.name;
  const Reference reference = reference_of(model);
  const std::vector<double>& exact = reference.values;
  const auto scale = error_scales(model, exact.size());
  std::vector<double> errors;
  for (const double rtol : tolerances) {
    Ensemble ensemble = ensemble_at(kernel, rtol);
    ensemble.t_end = reference.t_end;
    ensemble.repeat_defaults(1);
    const Results result = ensemble.solve();
    ASSERT_TRUE(succeeded(result.outcomes[0].status)) << model << " " << kernel.kernel->method << ": "
                                                      << status_name(result.outcomes[0].status) << " at rtol " << rtol;
    double error = 0.0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      error = std::max(error, std::abs(result.values[i] - exact[i]) / (scale[i] + std::abs(exact[i])));
    }
    std::cout << model << " " << kernel.kernel->method << " rtol " << rtol << ": error/rtol " << error / rtol << ", "
              << result.outcomes[0].counters.steps << " steps, " << result.outcomes[0].counters.rejected
              << " rejected, " << result.outcomes[0].counters.newton_failures << " Newton failures, "
              << result.outcomes[0].counters.residuals << " residuals\n";
    EXPECT_LE(error, allowance * std::pow(rtol, power)) << model << " " << kernel.kernel->method << " at rtol " << rtol;
    errors.push_back(error);
  }
  // Of neighbouring tolerances one may be lucky, when the error happens to change its sign there; not over all.
  // A ball's flight is a parabola, which the methods follow exactly.
  EXPECT_LT(errors.back(), std::max(errors.front(), 1e-11));
}

/// A kernel of the test program itself, in scalar lanes: no wait for a compiler.
template <class Model, template <class, class> class Method, auto spec = KernelSpec<>{}>
LoadedKernel own_kernel() {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Model, Method, spec, double>();
  describe_model<Model>(loaded.model);
  return loaded;
}

template <class Model, template <class, class> class Method, bool included>
void expect_of_kernel(auto&& expect) {
  if constexpr (included) expect(own_kernel<Model, Method>());
}

/// Calls expect(kernel) with the kernel of `Model` for each of the methods at night, and else for every fourth one, or
/// four of many: each compiles for some seconds. The letters of the model's name tell with which one it begins.
template <class Model, template <class, class> class... Methods>
void for_each_kernel(auto&& expect) {
  constexpr std::size_t methods = sizeof...(Methods);
  constexpr std::size_t stride = std::max(std::min<std::size_t>(4, methods), (methods + 3) / 4);
  constexpr std::size_t first = sum_of_letters(Model::name) % stride;
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    (expect_of_kernel<Model, Methods, is_sampled(k, first, stride)>(expect), ...);
  }
  (std::make_index_sequence<sizeof...(Methods)>());
}

/// Instances with the parameters `rows` in packs of `radau5`: each as if it were alone, to the last bit.
template <class Model>
void expect_independent_lanes(const std::vector<std::vector<double>>& rows, double t_end) {
  LoadedKernel loaded;
  loaded.kernel = &kernel<Model, Radau5, KernelSpec<>{}, Pack>();
  describe_model<Model>(loaded.model);
  const auto solve = [&](const std::vector<std::vector<double>>& some) {
    Ensemble ensemble;
    ensemble.loaded = &loaded;
    for (const std::vector<double>& row : some) {
      ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
    }
    ensemble.t_begin = loaded.model.t_begin;
    ensemble.t_end = t_end;
    ensemble.times = {0.33 * t_end, t_end};
    ensemble.atol.assign(loaded.model.variables.size(), 0.01 * ensemble.rtol);
    return ensemble.solve();
  };
  const Results together = solve(rows);
  const std::size_t values = 2 * loaded.model.variables.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Results alone = solve({rows[i]});
    ASSERT_EQ(together.outcomes[i].status, Status::success) << i;
    for (std::size_t k = 0; k < values; ++k) EXPECT_EQ(together.values[values * i + k], alone.values[k]) << i;
    EXPECT_EQ(together.outcomes[i].counters.steps, alone.outcomes[0].counters.steps) << i;
  }
}

/// The same; by day for a quarter of the models, by their names.
template <class Model>
void expect_independence(const std::vector<std::vector<double>>& rows, double t_end) {
  if constexpr (is_sampled(sum_of_letters(Model::name), 0, 4)) {
    expect_independent_lanes<Model>(rows, t_end);
  } else {
    GTEST_SKIP() << "at night";
  }
}

// 30 times what the tolerance asks for, and 300 for the pendulum, whose constraint drifts in the index-1 form: as for
// the perturbed instances of all problems.
template <template <class, class> class Method>
void expect_accuracy(double power = 1.0, const std::vector<double>& tolerances = {1e-4, 1e-6}) {
  const auto expect = [&](const LoadedKernel& kernel, double allowance) {
    expect_error_follows_tolerance(kernel, tolerances, allowance, power);
  };
  expect(own_kernel<Robertson, Method>(), 30.0);
  expect(own_kernel<TransistorAmplifier, Method>(), 30.0);
  expect(own_kernel<Pendulum, Method>(), 300.0);
}

/// The largest |error|/(atol + rtol |y|) of the values of one instance, atol = rtol.
inline double largest_error(const std::vector<double>& values, const std::vector<double>& exact, double rtol) {
  double largest = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(values[i] - exact[i]) / (rtol + rtol * std::abs(exact[i]));
    largest = std::max(largest, std::isfinite(error) ? error : 1e300);
  }
  return largest;
}

/// How large that may be: a hundred tolerances. The error test bounds errors of steps, of which methods of low order
/// take many, N ~ rtol^(-1/(p+1)), and all of them may add up.
inline double allowed_error(const LoadedKernel& kernel, double rtol) {
  const int order = described_method(kernel.kernel->method)->order;
  return order > 3 ? 100.0 : std::max(200.0, 3.0 * std::pow(rtol, -1.0 / (order + 1.0)));
}

}  // namespace manyfold::test
