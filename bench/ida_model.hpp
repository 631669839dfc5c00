#pragma once
// A model of ours in the form that IDA wants: its residual, and its Jacobian by the compiled derivatives that our
// kernels use, in plain double precision.
#include <algorithm>
#include <limits>

#include "bench/ida_ensemble.hpp"
#include "kernels/model/system.hpp"

namespace manyfold::bench {

/// y' = f(t, y), whose derivatives at the start need no search.
template <Model Equations>
constexpr bool explicit_form = [] {
  bool result = KernelSystem<Equations, KernelSpec<>{}>::mass_form && !model_check::HasMassMatrix<Equations>;
  for (const Variable& variable : Equations::variables) result = result && !variable.algebraic;
  return result;
}();

/// `file`: the model for our command; empty: it is built in.
template <Model Equations>
IdaProblem ida_problem(const std::string& file = "", double t_end = Equations::t_span[1]) {
  using System = KernelSystem<Equations, KernelSpec<>{}>;
  constexpr int n = System::n;
  using Values = double[n];
  using Constants = double[System::constants_size];
  IdaProblem problem;
  problem.name = Equations::name;
  problem.model = file.empty() ? problem.name : file;
  problem.variables = n;
  problem.parameters = System::parameters;
  problem.constants = System::constants_size;
  problem.t_end = t_end;
  problem.derive = [](double* p) { System::derive(reinterpret_cast<Constants&>(*p)); };
  problem.residual = [](double t, const double* y, const double* dy, const double* p, double* F) {
    System::residual(t, reinterpret_cast<const Values&>(*y), reinterpret_cast<const Values&>(*dy),
                     reinterpret_cast<const Constants&>(*p), reinterpret_cast<Values&>(*F));
  };
  problem.jacobian = [](double t, double shift, const double* y, const double* dy, const double* p, double** columns) {
    double J[System::nonzeros_y];
    double M[System::nonzeros_dy];
    const double weight[n] = {};
    System::jacobian(t, reinterpret_cast<const Values&>(*y), reinterpret_cast<const Values&>(*dy),
                     reinterpret_cast<const Constants&>(*p), weight, 0.0, 0.0, J, M);
    for (int k = 0; k < System::entries_y.size; ++k)
      columns[System::entries_y.column[k]][System::entries_y.row[k]] += J[k];
    for (int k = 0; k < System::entries_dy.size; ++k)
      columns[System::entries_dy.column[k]][System::entries_dy.row[k]] += shift * M[k];
  };
  problem.initial = [](const double* p, double* y, double* dy) {
    double initial[System::initial_size];
    for (double& value : initial) value = std::numeric_limits<double>::quiet_NaN();
    System::complete_initial(p, initial);
    System::distribute_initial(
        initial, [&](int i, double value) { y[i] = value; }, [&](int i, double value) { dy[i] = value; });
    if constexpr (explicit_form<Equations>) {
      double f[n];
      Equations::rhs(0.0, reinterpret_cast<const Values&>(*y), p, f);
      std::copy_n(f, n, dy);
    }
  };
  problem.consistent = explicit_form<Equations>;
  for (int i = 0; i < n; ++i) problem.differential.push_back(System::algebraic(i) ? 0.0 : 1.0);
  for (const Parameter& parameter : Equations::parameters) problem.defaults.push_back(parameter.value);
  return problem;
}

}  // namespace manyfold::bench
