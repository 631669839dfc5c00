#include "bench/ida_ensemble.hpp"

#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <thread>

#include "bench/ida_model.hpp"
#include "bench/problems/hires.hpp"
#include "bench/problems/pollution.hpp"
#include "bench/problems/ring_modulator.hpp"
#include "problems/das1/das1.hpp"
#include "problems/diffusion/diffusion.hpp"

namespace manyfold::bench {
namespace {

// Robertson: p = k1, k2, k3.

void robertson_residual(double, const double* y, const double* dy, const double* p, double* F) {
  const double consumed = p[0] * y[0];
  const double returned = p[1] * y[1] * y[2];
  F[0] = dy[0] + consumed - returned;
  F[1] = dy[1] - consumed + returned + p[2] * y[1] * y[1];
  F[2] = y[0] + y[1] + y[2] - 1.0;
}
void robertson_jacobian(double, double shift, const double* y, const double*, const double* p, double** J) {
  J[0][0] = shift + p[0];
  J[1][0] = -p[1] * y[2];
  J[2][0] = -p[1] * y[1];
  J[0][1] = -p[0];
  J[1][1] = shift + p[1] * y[2] + 2.0 * p[2] * y[1];
  J[2][1] = p[1] * y[1];
  J[0][2] = J[1][2] = J[2][2] = 1.0;
}
void robertson_initial(const double* p, double* y, double* dy) {
  y[0] = 1.0;
  y[1] = y[2] = dy[2] = 0.0;
  dy[0] = -p[0];
  dy[1] = p[0];
}

// Pendulum: p = g, L, angle.

void pendulum_residual(double, const double* y, const double* dy, const double* p, double* F) {
  F[0] = dy[0] - y[2];
  F[1] = dy[1] - y[3];
  F[2] = dy[2] + y[4] * y[0];
  F[3] = dy[3] + y[4] * y[1] + p[0];
  F[4] = y[2] * y[2] + y[3] * y[3] - y[4] * p[1] * p[1] - p[0] * y[1];
}
void pendulum_jacobian(double, double shift, const double* y, const double*, const double* p, double** J) {
  for (int i = 0; i < 4; ++i) J[i][i] = shift;
  J[2][0] = J[3][1] = -1.0;
  J[0][2] = J[1][3] = y[4];
  J[4][2] = y[0];
  J[4][3] = y[1];
  J[1][4] = -p[0];
  J[2][4] = 2.0 * y[2];
  J[3][4] = 2.0 * y[3];
  J[4][4] = -p[1] * p[1];
}
void pendulum_initial(const double* p, double* y, double* dy) {
  y[0] = p[1] * std::sin(p[2]);
  y[1] = -p[1] * std::cos(p[2]);
  y[2] = y[3] = 0.0;
  y[4] = -p[0] * y[1] / (p[1] * p[1]);
  dy[0] = dy[1] = dy[4] = 0.0;
  dy[2] = -y[4] * y[0];
  dy[3] = -y[4] * y[1] - p[0];
}

// Transistor amplifier: p = Ub, UF, alpha, beta, amplitude, frequency, R0 ... R9, C1 ... C5, then 1/R0 ... 1/R9 and
// 1/UF, which are computed once per instance as they are for us.

enum { Ub, UF, alpha, beta, amplitude, frequency, R0, C1 = R0 + 10, G0 = C1 + 5, per_UF = G0 + 10 };
constexpr double pi = 3.14159265358979323846;

void amplifier_residual(double t, const double* y, const double* dy, const double* p, double* F) {
  const double input = p[amplitude] * std::sin(2.0 * pi * p[frequency] * t);
  const double first = p[beta] * (std::exp((y[1] - y[2]) * p[per_UF]) - 1.0);
  const double second = p[beta] * (std::exp((y[4] - y[5]) * p[per_UF]) - 1.0);
  const double* C = p + C1;
  const double* G = p + G0;
  F[0] = C[0] * (dy[1] - dy[0]) - (y[0] - input) * G[0];
  F[1] = C[0] * (dy[0] - dy[1]) - y[1] * G[1] - (y[1] - p[Ub]) * G[2] - (1.0 - p[alpha]) * first;
  F[2] = -C[1] * dy[2] - y[2] * G[3] + first;
  F[3] = C[2] * (dy[4] - dy[3]) - (y[3] - p[Ub]) * G[4] - p[alpha] * first;
  F[4] = C[2] * (dy[3] - dy[4]) - y[4] * G[5] - (y[4] - p[Ub]) * G[6] - (1.0 - p[alpha]) * second;
  F[5] = -C[3] * dy[5] - y[5] * G[7] + second;
  F[6] = C[4] * (dy[7] - dy[6]) - (y[6] - p[Ub]) * G[8] - p[alpha] * second;
  F[7] = C[4] * (dy[6] - dy[7]) - y[7] * G[9];
}
void amplifier_jacobian(double, double shift, const double* y, const double*, const double* p, double** J) {
  const double first = p[beta] * p[per_UF] * std::exp((y[1] - y[2]) * p[per_UF]);
  const double second = p[beta] * p[per_UF] * std::exp((y[4] - y[5]) * p[per_UF]);
  const double base = 1.0 - p[alpha];
  const double* C = p + C1;
  const double* G = p + G0;
  J[0][0] = -shift * C[0] - G[0];
  J[1][0] = J[0][1] = shift * C[0];
  J[1][1] = -shift * C[0] - G[1] - G[2] - base * first;
  J[2][1] = base * first;
  J[1][2] = first;
  J[2][2] = -shift * C[1] - G[3] - first;
  J[1][3] = -p[alpha] * first;
  J[2][3] = p[alpha] * first;
  J[3][3] = -shift * C[2] - G[4];
  J[4][3] = J[3][4] = shift * C[2];
  J[4][4] = -shift * C[2] - G[5] - G[6] - base * second;
  J[5][4] = base * second;
  J[4][5] = second;
  J[5][5] = -shift * C[3] - G[7] - second;
  J[4][6] = -p[alpha] * second;
  J[5][6] = p[alpha] * second;
  J[6][6] = -shift * C[4] - G[8];
  J[7][6] = J[6][7] = shift * C[4];
  J[7][7] = -shift * C[4] - G[9];
}
void amplifier_derive(double* p) {
  for (int k = 0; k < 10; ++k) p[G0 + k] = 1.0 / p[R0 + k];
  p[per_UF] = 1.0 / p[UF];
}
void amplifier_initial(const double* p, double* y, double* dy) {
  const double* C = p + C1;
  const double* G = p + G0;
  y[0] = y[7] = 0.0;
  y[1] = y[2] = p[Ub] * G[2] / (G[1] + G[2]);
  y[3] = y[6] = p[Ub];
  y[4] = y[5] = p[Ub] * G[6] / (G[5] + G[6]);
  dy[2] = -y[2] * G[3] / C[1];
  dy[5] = -y[5] * G[7] / C[3];
  // Differences of derivatives from the rows, their sums from the derivatives of the sums of rows: at t = 0 no current
  // flows through the first capacitor, so y1' = y2', and likewise for the other pairs.
  const double conductance = p[beta] * p[per_UF];
  const double input_slope = p[amplitude] * 2.0 * pi * p[frequency];
  const double base = (1.0 - p[alpha]) * conductance;
  dy[0] = dy[1] = (input_slope * G[0] + base * dy[2]) / (G[0] + G[1] + G[2] + base);
  const double first = conductance * (dy[1] - dy[2]);
  dy[3] = dy[4] = (base * dy[5] - p[alpha] * first) / (G[4] + G[5] + G[6] + base);
  const double second = conductance * (dy[4] - dy[5]);
  dy[6] = dy[7] = -p[alpha] * second / (G[8] + G[9]);
}

struct Instance {
  const IdaProblem* problem;
  std::vector<double> parameters;
};

int residual(realtype t, N_Vector y, N_Vector dy, N_Vector F, void* data) {
  const auto& instance = *static_cast<Instance*>(data);
  instance.problem->residual(t, N_VGetArrayPointer(y), N_VGetArrayPointer(dy), instance.parameters.data(),
                             N_VGetArrayPointer(F));
  return 0;
}

int jacobian(realtype t, realtype shift, N_Vector y, N_Vector dy, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector,
             N_Vector) {
  const auto& instance = *static_cast<Instance*>(data);
  instance.problem->jacobian(t, shift, N_VGetArrayPointer(y), N_VGetArrayPointer(dy), instance.parameters.data(),
                             SM_COLS_D(J));
  return 0;
}

void check(int flag, const char* call) {
  if (flag >= 0) return;
  std::cerr << call << " failed with " << flag << '\n';
  std::exit(1);
}

/// One thread's IDA object, with instances taken from `next`.
void integrate(const IdaProblem& problem, const std::vector<double>& parameters, double rtol,
               const std::vector<double>& atol, int max_order, std::atomic<std::int64_t>& next, IdaResult& result,
               double* end_points) {
  SUNContext context = nullptr;
  check(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  const auto n = static_cast<sunindextype>(problem.variables);
  N_Vector y = N_VNew_Serial(n, context);
  N_Vector dy = N_VNew_Serial(n, context);
  N_Vector tolerance = N_VNew_Serial(n, context);
  for (int i = 0; i < problem.variables; ++i) N_VGetArrayPointer(tolerance)[i] = atol[static_cast<std::size_t>(i)];
  Instance instance{&problem, {}};
  void* ida = IDACreate(context);
  N_VConst(0.0, y);
  N_VConst(0.0, dy);
  check(IDAInit(ida, residual, 0.0, y, dy), "IDAInit");
  check(IDASVtolerances(ida, rtol, tolerance), "IDASVtolerances");
  check(IDASetUserData(ida, &instance), "IDASetUserData");
  check(IDASetMaxOrd(ida, max_order), "IDASetMaxOrd");
  check(IDASetMaxNumSteps(ida, 1000000), "IDASetMaxNumSteps");
  SUNMatrix matrix = SUNDenseMatrix(n, n, context);
  SUNLinearSolver solver = SUNLinSol_Dense(y, matrix, context);
  check(IDASetLinearSolver(ida, solver, matrix), "IDASetLinearSolver");
  check(IDASetJacFn(ida, jacobian), "IDASetJacFn");
  N_Vector id = N_VNew_Serial(n, context);
  if (!problem.consistent) {
    std::copy(problem.differential.begin(), problem.differential.end(), N_VGetArrayPointer(id));
    check(IDASetId(ida, id), "IDASetId");
  }
  // Failures are counted, not printed.
  IDASetErrHandlerFn(
      ida, [](int, const char*, const char*, char*, void*) {}, nullptr);

  const auto np = static_cast<std::size_t>(problem.parameters);
  const auto instances = static_cast<std::int64_t>(parameters.size() / np);
  for (std::int64_t i = next++; i < instances; i = next++) {
    const auto first = parameters.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * np);
    instance.parameters.assign(first, first + problem.parameters);
    instance.parameters.resize(static_cast<std::size_t>(problem.constants));
    if (problem.derive != nullptr) problem.derive(instance.parameters.data());
    problem.initial(instance.parameters.data(), N_VGetArrayPointer(y), N_VGetArrayPointer(dy));
    check(IDAReInit(ida, 0.0, y, dy), "IDAReInit");
    check(IDASetStopTime(ida, problem.t_end), "IDASetStopTime");
    realtype reached = 0.0;
    int flag = problem.consistent ? IDA_SUCCESS : IDACalcIC(ida, IDA_YA_YDP_INIT, problem.t_end);
    if (flag >= 0) flag = IDASolve(ida, problem.t_end, &reached, y, dy, IDA_NORMAL);
    for (int k = 0; k < problem.variables; ++k) {
      end_points[i * problem.variables + k] =
          flag >= 0 ? N_VGetArrayPointer(y)[k] : std::numeric_limits<double>::quiet_NaN();
    }
    if (flag < 0) ++result.failed;
    long steps = 0;
    long residuals = 0;
    long factorizations = 0;
    IDAGetNumSteps(ida, &steps);
    IDAGetNumResEvals(ida, &residuals);
    IDAGetNumLinSolvSetups(ida, &factorizations);
    result.steps += static_cast<double>(steps);
    result.residuals += static_cast<double>(residuals);
    result.factorizations += static_cast<double>(factorizations);
  }
  SUNLinSolFree(solver);
  SUNMatDestroy(matrix);
  IDAFree(&ida);
  N_VDestroy(id);
  N_VDestroy(tolerance);
  N_VDestroy(dy);
  N_VDestroy(y);
  SUNContext_Free(&context);
}

}  // namespace

const std::vector<IdaProblem>& ida_problems() {
  static const auto by_hand = [](const char* name, int variables, int parameters, int constants, double t_end,
                                 auto derive, auto residual, auto jacobian, auto initial) {
    return IdaProblem{name,     name,     variables, parameters, constants, t_end, derive,
                      residual, jacobian, initial,   true,       {},        {}};
  };
  static const std::vector<IdaProblem> problems = {
      by_hand("robertson", 3, 3, 3, 1e5, nullptr, robertson_residual, robertson_jacobian, robertson_initial),
      by_hand("pendulum", 5, 3, 3, 10.0, nullptr, pendulum_residual, pendulum_jacobian, pendulum_initial),
      by_hand("transistor_amplifier", 8, 21, 32, 0.2, amplifier_derive, amplifier_residual, amplifier_jacobian,
              amplifier_initial),
      ida_problem<Hires>("bench/problems/hires.hpp"),
      ida_problem<Das1>("", 1.0),
      ida_problem<RingModulator>("bench/problems/ring_modulator.hpp"),
      ida_problem<Pollution>("bench/problems/pollution.hpp"),
      ida_problem<Diffusion<40>>()};
  return problems;
}

IdaResult run_ida(const IdaProblem& problem, const std::vector<double>& parameters, double rtol,
                  const std::vector<double>& atol, int threads, int max_order) {
  IdaResult total;
  total.end_points.resize(parameters.size() / static_cast<std::size_t>(problem.parameters) *
                          static_cast<std::size_t>(problem.variables));
  std::vector<IdaResult> results(static_cast<std::size_t>(threads));
  std::atomic<std::int64_t> next = 0;
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> workers;
    for (IdaResult& result : results) {
      workers.emplace_back(
          [&] { integrate(problem, parameters, rtol, atol, max_order, next, result, total.end_points.data()); });
    }
  }
  total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const IdaResult& result : results) {
    total.steps += result.steps;
    total.residuals += result.residuals;
    total.factorizations += result.factorizations;
    total.failed += result.failed;
  }
  return total;
}

}  // namespace manyfold::bench
