#pragma once
// SUNDIALS IDA over an ensemble, as its users run it: one object per thread, IDAReInit per instance, dense matrices,
// analytic Jacobian.
#include <cstdint>
#include <string>
#include <vector>

namespace manyfold::bench {

/// The benchmark problems in the form IDA wants.
struct IdaProblem {
  std::string name;
  int variables;
  int parameters;
  double t_end;
  void (*residual)(double t, const double* y, const double* dy, const double* p, double* F);
  /// J = F_y + shift F_y', column by column.
  void (*jacobian)(double t, double shift, const double* y, const double* p, double** columns);
  /// Consistent y and y' at t = 0.
  void (*initial)(const double* p, double* y, double* dy);
};

const std::vector<IdaProblem>& ida_problems();

struct IdaResult {
  std::vector<double> end_points;  ///< [instances][variables]; NaN where IDA failed
  double seconds = 0.0;
  double steps = 0.0;  ///< totals
  double residuals = 0.0;
  double factorizations = 0.0;
  std::int64_t failed = 0;
};

/// `parameters` [instances][parameters]; `atol` [variables]; `max_order` 1 ... 5.
IdaResult run_ida(const IdaProblem& problem, const std::vector<double>& parameters, double rtol,
                  const std::vector<double>& atol, int threads, int max_order);

}  // namespace manyfold::bench
