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
  std::string model;  ///< for our command
  int variables = 0;
  int parameters = 0;
  int constants = 0;  ///< parameters and the numbers that follow from them
  double t_end = 0.0;
  /// Completes p [constants] behind its parameters.
  void (*derive)(double* p) = nullptr;
  void (*residual)(double t, const double* y, const double* dy, const double* p, double* F) = nullptr;
  /// Adds F_y + shift F_y' to zeros, column by column.
  void (*jacobian)(double t, double shift, const double* y, const double* dy, const double* p,
                   double** columns) = nullptr;
  /// y and y' at t = 0.
  void (*initial)(const double* p, double* y, double* dy) = nullptr;
  bool consistent = true;            ///< these are; else IDACalcIC completes them
  std::vector<double> differential;  ///< then: 1 for differential variables, 0 for algebraic ones
  std::vector<double> defaults;      ///< of the parameters; empty: the comparison has a distribution of its own
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
