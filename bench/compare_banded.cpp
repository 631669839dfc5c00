// A sparse system of 400 equations, Medical Akzo Nobel with 200 cells, on one processor: our packs against SUNDIALS IDA
// with its banded solver and analytic Jacobian, variables interleaved so that the band has two diagonals on each side.
// For every tolerance the error of the nominal instance at the end, and instances per second of processor time.
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunmatrix/sunmatrix_band.h>
#include <nlohmann/json.hpp>

#include "build_config.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/engine/ensemble_run.hpp"

namespace {

constexpr int cells = 200;
constexpr int n = 2 * cells;
constexpr double t_end = 20.0;

/// Parameters of the model, in its order, and what is supplied now.
struct Instance {
  double k = 100.0;
  double c = 4.0;
  double phi = 2.0;
  double t_off = 5.0;
  double supply = 2.0;
};

/// Instances whose reaction rates and times differ by up to ten percent.
std::vector<Instance> make_instances(int count) {
  std::vector<Instance> result(static_cast<std::size_t>(count));
  unsigned state = 1;
  const auto vary = [&](double x) {
    state = state * 1664525U + 1013904223U;
    return x * (0.9 + 0.2 * static_cast<double>(state >> 8) / 16777216.0);
  };
  for (std::size_t i = 1; i < result.size(); ++i) {
    result[i].k = vary(100.0);
    result[i].t_off = vary(5.0);
  }
  return result;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void check(int flag, const char* call) {
  if (flag >= 0) return;
  std::cerr << call << " failed with " << flag << '\n';
  std::exit(1);
}

/// Factors of convection and diffusion in cell j.
void transport(const Instance& p, int j, double& convection, double& diffusion) {
  const double x = (j + 1.0) / cells - 1.0;
  convection = x * x * x * cells / (p.c * p.c);
  diffusion = x * x * x * x * cells * cells / (p.c * p.c);
}

int residual(realtype, N_Vector y_, N_Vector dy_, N_Vector F_, void* data) {
  const Instance& p = *static_cast<const Instance*>(data);
  const double* y = N_VGetArrayPointer(y_);
  const double* dy = N_VGetArrayPointer(dy_);
  double* F = N_VGetArrayPointer(F_);
  for (int j = 0; j < cells; ++j) {
    const double u = y[2 * j];
    const double reaction = p.k * u * y[2 * j + 1];
    F[2 * j] = dy[2 * j] + reaction;
    F[2 * j + 1] = dy[2 * j + 1] + reaction;
    if (j == cells - 1) continue;
    double convection = 0.0;
    double diffusion = 0.0;
    transport(p, j, convection, diffusion);
    const double left = j == 0 ? p.supply : y[2 * j - 2];
    const double right = y[2 * j + 2];
    F[2 * j] -= convection * (right - left) + diffusion * (left - 2.0 * u + right);
  }
  return 0;
}

int jacobian(realtype, realtype shift, N_Vector y_, N_Vector, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector,
             N_Vector) {
  const Instance& p = *static_cast<const Instance*>(data);
  const double* y = N_VGetArrayPointer(y_);
  for (int j = 0; j < cells; ++j) {
    const int u = 2 * j;
    const int v = u + 1;
    SM_ELEMENT_B(J, u, u) = SM_ELEMENT_B(J, v, u) = p.k * y[v];
    SM_ELEMENT_B(J, u, v) = SM_ELEMENT_B(J, v, v) = p.k * y[u];
    SM_ELEMENT_B(J, u, u) += shift;
    SM_ELEMENT_B(J, v, v) += shift;
    if (j == cells - 1) continue;
    double convection = 0.0;
    double diffusion = 0.0;
    transport(p, j, convection, diffusion);
    SM_ELEMENT_B(J, u, u) += 2.0 * diffusion;
    SM_ELEMENT_B(J, u, u + 2) = -convection - diffusion;
    if (j > 0) SM_ELEMENT_B(J, u, u - 2) = convection - diffusion;
  }
  return 0;
}

struct Result {
  std::vector<double> nominal;  ///< end point of the first instance, u then v
  double seconds = 0.0;         ///< of processor time, all instances
  double steps = 0.0;           ///< per instance
};

Result run_ida(std::vector<Instance> instances, double tolerance) {
  SUNContext context = nullptr;
  check(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  N_Vector y = N_VNew_Serial(n, context);
  N_Vector dy = N_VNew_Serial(n, context);
  N_VConst(0.0, y);
  N_VConst(0.0, dy);
  void* ida = IDACreate(context);
  check(IDAInit(ida, residual, 0.0, y, dy), "IDAInit");
  check(IDASStolerances(ida, tolerance, tolerance), "IDASStolerances");
  SUNMatrix matrix = SUNBandMatrix(n, 2, 2, context);
  SUNLinearSolver solver = SUNLinSol_Band(y, matrix, context);
  check(IDASetLinearSolver(ida, solver, matrix), "IDASetLinearSolver");
  check(IDASetJacFn(ida, jacobian), "IDASetJacFn");
  check(IDASetMaxNumSteps(ida, 1'000'000), "IDASetMaxNumSteps");
  Result result;
  const double start = processor_seconds();
  for (std::size_t i = 0; i < instances.size(); ++i) {
    Instance& p = instances[i];
    check(IDASetUserData(ida, &p), "IDASetUserData");
    double* values = N_VGetArrayPointer(y);
    for (int j = 0; j < cells; ++j) {
      values[2 * j] = 0.0;
      values[2 * j + 1] = 1.0;
    }
    const auto integrate = [&](double begin, double end) {
      // y' = f is what the residual lacks at y' = 0.
      N_VConst(0.0, dy);
      N_Vector f = N_VClone(y);
      residual(begin, y, dy, f, &p);
      N_VScale(-1.0, f, dy);
      N_VDestroy(f);
      check(IDAReInit(ida, begin, y, dy), "IDAReInit");
      check(IDASetStopTime(ida, end), "IDASetStopTime");
      realtype reached = begin;
      check(IDASolve(ida, end, &reached, y, dy, IDA_NORMAL), "IDASolve");
      long steps = 0;
      check(IDAGetNumSteps(ida, &steps), "IDAGetNumSteps");
      result.steps += static_cast<double>(steps) / static_cast<double>(instances.size());
    };
    integrate(0.0, p.t_off);
    p.supply = 0.0;
    integrate(p.t_off, t_end);
    if (i > 0) continue;
    for (int j = 0; j < cells; ++j) result.nominal.push_back(values[2 * j]);
    for (int j = 0; j < cells; ++j) result.nominal.push_back(values[2 * j + 1]);
  }
  result.seconds = processor_seconds() - start;
  SUNLinSolFree(solver);
  SUNMatDestroy(matrix);
  IDAFree(&ida);
  N_VDestroy(dy);
  N_VDestroy(y);
  SUNContext_Free(&context);
  return result;
}

Result run_manyfold(const manyfold::LoadedKernel& loaded, const std::vector<Instance>& instances, double tolerance) {
  manyfold::EnsembleRun run;
  run.kernel = loaded.kernel;
  run.shape = shape_of(loaded.model);
  run.instances = static_cast<std::int64_t>(instances.size());
  run.fill_instance = [&](std::int64_t i, double* p, double* initial, double* t_span) {
    const Instance& instance = instances[static_cast<std::size_t>(i)];
    p[0] = instance.k;
    p[1] = instance.c;
    p[2] = instance.phi;
    p[3] = instance.t_off;
    for (int j = 0; j < n; ++j) initial[j] = std::numeric_limits<double>::quiet_NaN();
    t_span[0] = 0.0;
    t_span[1] = t_end;
  };
  run.fill_times = [](double, double end, double* times) { times[0] = end; };
  for (int j = 0; j < n; ++j) run.saved.push_back(j);
  run.options.rtol = tolerance;
  run.options.atol.assign(n, tolerance);
  run.options.threads = 1;
  manyfold::InMemoryResult sink;
  const double start = processor_seconds();
  const manyfold::RunSummary summary = run_ensemble(run, sink);
  Result result;
  result.seconds = processor_seconds() - start;
  const std::vector<double>& values = sink.results().values;
  result.nominal.assign(values.begin(), values.begin() + n);
  result.steps = static_cast<double>(summary.totals.steps) / static_cast<double>(instances.size());
  return result;
}

}  // namespace

int main() {
  const std::filesystem::path root = manyfold::build::source_root;
  std::ifstream file(root / "problems/medical_akzo_nobel/reference.json");
  const auto exact = nlohmann::json::parse(file)["values"].get<std::vector<double>>();
  const std::vector<Instance> instances = make_instances(64);
  const auto report = [&](const std::string& name, double tolerance, const Result& result) {
    double error = 0.0;
    for (std::size_t j = 0; j < exact.size(); ++j) error = std::max(error, std::abs(result.nominal[j] - exact[j]));
    std::cout << fmt::format("{:<10} {:>9.0e} {:>11.2e} {:>8.0f} {:>14.1f}\n", name, tolerance, error, result.steps,
                             static_cast<double>(instances.size()) / result.seconds)
              << std::flush;
  };
  std::cout << "solver     tolerance       error    steps   instances/s\n";
  for (const double tolerance : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}) {
    report("ida band", tolerance, run_ida(instances, tolerance));
  }
  for (const char* method : {"radau5", "rodas5p", "bdf"}) {
    const manyfold::LoadedKernel loaded = manyfold::load_kernel({"medical_akzo_nobel", {.method = method}});
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      report(method, tolerance, run_manyfold(loaded, instances, tolerance));
    }
  }
}
