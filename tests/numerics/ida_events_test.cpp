// Event sequences against SUNDIALS IDA with rootfinding: the same equations, root functions and actions, but IDA's
// steps, IDA's root finder and IDA's consistent conditions.
#include <gtest/gtest.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>

#include "kernels/entry/describe.hpp"
#include "kernels/lane/scalar.hpp"
#include "problems/bouncing_ball/bouncing_ball.hpp"
#include "problems/bouncing_ball_track/bouncing_ball_track.hpp"
#include "problems/bouncing_ball_track_index2/bouncing_ball_track_index2.hpp"
#include "problems/das2/das2.hpp"
#include "problems/overflow_tank/overflow_tank.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/stick_slip/stick_slip.hpp"
#include "problems/thermostat/thermostat.hpp"
#include "tests/support/ensembles.hpp"
#include "tests/support/error_scales.hpp"

namespace manyfold {
namespace {

template <class Problem>
class IdaWithRoots {
 public:
  explicit IdaWithRoots(const std::vector<double>& atol) {
    check(SUNContext_Create(nullptr, &context_), "SUNContext_Create");
    y_ = N_VNew_Serial(n, context_);
    dy_ = N_VNew_Serial(n, context_);
    N_Vector tolerance = N_VNew_Serial(n, context_);
    N_Vector differential = N_VNew_Serial(n, context_);
    for (int i = 0; i < n; ++i) {
      N_VGetArrayPointer(tolerance)[i] = atol[static_cast<std::size_t>(i)];
      N_VGetArrayPointer(differential)[i] = S::algebraic(i) ? 0.0 : 1.0;
    }
    N_VConst(0.0, y_);
    N_VConst(0.0, dy_);
    ida_ = IDACreate(context_);
    check(IDAInit(ida_, residual, 0.0, y_, dy_), "IDAInit");
    check(IDASVtolerances(ida_, rtol, tolerance), "IDASVtolerances");
    check(IDASetUserData(ida_, p_), "IDASetUserData");
    check(IDASetId(ida_, differential), "IDASetId");
    check(IDASetMaxNumSteps(ida_, 1000000), "IDASetMaxNumSteps");
    check(IDASetSuppressAlg(ida_, S::highest_index() > 1), "IDASetSuppressAlg");
    // The line search fails where DAS 2 starts, at the root of zero.
    check(IDASetLineSearchOffIC(ida_, SUNTRUE), "IDASetLineSearchOffIC");
    matrix_ = SUNDenseMatrix(n, n, context_);
    solver_ = SUNLinSol_Dense(y_, matrix_, context_);
    check(IDASetLinearSolver(ida_, solver_, matrix_), "IDASetLinearSolver");
    check(IDASetJacFn(ida_, jacobian), "IDASetJacFn");
    check(IDARootInit(ida_, S::events, root), "IDARootInit");
    int directions[S::events] = {};
    for (int k = 0; k < S::events; ++k) directions[k] = S::event(k).direction;
    check(IDASetRootDirection(ida_, directions), "IDASetRootDirection");
    check(IDASetNoInactiveRootWarn(ida_), "IDASetNoInactiveRootWarn");
    N_VDestroy(tolerance);
    N_VDestroy(differential);
  }
  ~IdaWithRoots() {
    SUNLinSolFree(solver_);
    SUNMatDestroy(matrix_);
    IDAFree(&ida_);
    N_VDestroy(dy_);
    N_VDestroy(y_);
    SUNContext_Free(&context_);
  }
  IdaWithRoots(const IdaWithRoots&) = delete;
  IdaWithRoots& operator=(const IdaWithRoots&) = delete;

  std::vector<EventRecord> events(const double* parameters, double t_end) {
    std::copy_n(parameters, S::parameters, p_);
    double* initial = N_VGetArrayPointer(y_);
    std::fill_n(initial, S::n, std::numeric_limits<double>::quiet_NaN());
    S::complete_initial(parameters, initial);
    S::derive(p_);
    S::start_discrete(array(y_), p_);
    std::vector<EventRecord> log;
    double t = Problem::t_span[0];
    begin(t, t_end);
    while (t < t_end) {
      const double stop = next_stop(t, t_end);
      check(IDASetStopTime(ida_, stop), "IDASetStopTime");
      const int flag = IDASolve(ida_, t_end, &t, y_, dy_, IDA_NORMAL);
      check(flag, "IDASolve");
      bool fired[S::events] = {};
      int found[S::events] = {};
      if (flag == IDA_ROOT_RETURN) check(IDAGetRootInfo(ida_, found), "IDAGetRootInfo");
      double scheduled[S::scheduled_size] = {};
      S::event_times(p_, scheduled);
      for (int slot = 0; slot < S::scheduled_times; ++slot) {
        fired[S::event_of_time(slot)] |= flag == IDA_TSTOP_RETURN && scheduled[slot] == stop;
      }
      bool ends = false;
      for (int k = 0; k < S::events; ++k) {
        fired[k] |= found[k] != 0;
        if (!fired[k]) continue;
        log.push_back({t, k, found[k]});
        ends |= S::event(k).terminal;
      }
      if (ends) break;
      static_for<S::events>([&](auto k) {
        if (fired[k]) S::act(k, true, t, array(y_), array(dy_), p_);
      });
      if (t < t_end) begin(t, t_end);
    }
    return log;
  }

 private:
  using S = System<Problem>;
  using Array = double[S::n];
  static constexpr int n = S::n;
  static constexpr double rtol = 1e-10;

  static Array& array(N_Vector vector) { return *reinterpret_cast<Array*>(N_VGetArrayPointer(vector)); }

  static int residual(realtype t, N_Vector y, N_Vector dy, N_Vector F, void* p) {
    S::residual(t, array(y), array(dy), *static_cast<double(*)[S::constants_size]>(p), array(F));
    return 0;
  }
  /// F_y + shift F_y'.
  static int jacobian(realtype t, realtype shift, N_Vector y, N_Vector dy, N_Vector, SUNMatrix J, void* p, N_Vector,
                      N_Vector, N_Vector) {
    double by_y[S::nonzeros_y];
    double by_dy[S::nonzeros_dy];
    const double weight[n] = {};  // of finite differences, which there are none of
    S::jacobian(t, array(y), array(dy), *static_cast<double(*)[S::constants_size]>(p), weight, rtol, 1.0, by_y, by_dy);
    SUNMatZero(J);
    for (int k = 0; k < S::entries_y.size; ++k) {
      SM_ELEMENT_D(J, S::entries_y.row[k], S::entries_y.column[k]) += by_y[k];
    }
    for (int k = 0; k < S::entries_dy.size; ++k) {
      SM_ELEMENT_D(J, S::entries_dy.row[k], S::entries_dy.column[k]) += shift * by_dy[k];
    }
    return 0;
  }
  static int root(realtype t, N_Vector y, N_Vector dy, realtype* g, void* p) {
    // Scheduled events have none.
    for (int k = 0; k < S::events; ++k) g[k] = 1.0;
    if constexpr (S::has_state_events) {
      S::root(t, array(y), array(dy), *static_cast<double(*)[S::constants_size]>(p),
              *reinterpret_cast<double(*)[S::events_size]>(g));
    }
    return 0;
  }

  void begin(double t, double t_end) {
    N_VConst(0.0, dy_);
    if constexpr (S::highest_index() > 1) {
      // IDACalcIC is for index 1. The force of the constraint is found by the first step, whatever it was before.
      double F[n];
      S::residual(t, array(y_), array(dy_), p_, F);
      for (int i = 0; i < n; ++i) array(dy_)[i] = S::algebraic(i) ? 0.0 : -F[i];
      check(IDAReInit(ida_, t, y_, dy_), "IDAReInit");
      return;
    }
    check(IDAReInit(ida_, t, y_, dy_), "IDAReInit");
    // The direction is all that IDA wants of the second time, and a scale for its first step.
    check(IDACalcIC(ida_, IDA_YA_YDP_INIT, t + 1e-3 * (t_end - t)), "IDACalcIC");
    check(IDAGetConsistentIC(ida_, y_, dy_), "IDAGetConsistentIC");
  }

  double next_stop(double t, double t_end) {
    double scheduled[S::scheduled_size] = {};
    S::event_times(p_, scheduled);
    double next = t_end;
    for (int slot = 0; slot < S::scheduled_times; ++slot) {
      if (scheduled[slot] > t) next = std::min(next, scheduled[slot]);
    }
    return next;
  }

  static void check(int flag, const char* call) {
    if (flag < 0) throw std::runtime_error(std::string(call) + " failed with " + std::to_string(flag));
  }

  SUNContext context_ = nullptr;
  N_Vector y_ = nullptr;
  N_Vector dy_ = nullptr;
  SUNMatrix matrix_ = nullptr;
  SUNLinearSolver solver_ = nullptr;
  void* ida_ = nullptr;
  double p_[S::constants_size] = {};
};

template <class Problem>
class EventsOfIda : public testing::Test {};
using Problems = testing::Types<BouncingBall, BouncingBallTrack, BouncingBallTrackIndex2, Das2, Thermostat,
                                OverflowTank, StickSlip, Rectifier>;
struct Names {
  template <class Problem>
  static std::string GetName(int) {
    return Problem::name;
  }
};
TYPED_TEST_SUITE(EventsOfIda, Problems, Names);

TYPED_TEST(EventsOfIda, AreOurs) {
  test::Ensemble ensemble;
  ensemble.loaded = &test::kernel_of(TypeParam::name, "radau5");
  ensemble.t_end = TypeParam::t_span[1];
  ensemble.rtol = 1e-9;
  ensemble.event_log = 200;
  std::vector<double> atol;
  for (const double scale : test::error_scales(TypeParam::name, ensemble.variable_count())) {
    ensemble.atol.push_back(ensemble.rtol * scale);
    atol.push_back(1e-10 * scale);
  }
  test::Uniform uniform(23);
  const int count = 20;
  for (int i = 0; i < count; ++i) {
    for (const ParameterDescription& parameter : ensemble.loaded->model.parameters) {
      ensemble.parameters.push_back(parameter.value * (1.0 + (i > 0 ? 0.1 * (uniform() - 0.5) : 0.0)));
    }
  }
  const test::Results ours = ensemble.solve();
  IdaWithRoots<TypeParam> ida(atol);
  double worst = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto theirs = ida.events(ensemble.parameters.data() + i * ensemble.parameter_count(), ensemble.t_end);
    ASSERT_TRUE(succeeded(ours.outcomes[i].status));
    ASSERT_EQ(ours.events[i].size(), theirs.size()) << "instance " << i;
    for (std::size_t k = 0; k < theirs.size(); ++k) {
      ASSERT_EQ(ours.events[i][k].event, theirs[k].event) << "instance " << i << ", event " << k;
      ASSERT_EQ(ours.events[i][k].direction, theirs[k].direction) << "instance " << i << ", event " << k;
      worst = std::max(worst, std::abs(ours.events[i][k].time / theirs[k].time - 1.0));
    }
  }
  std::cout << TypeParam::name << ": largest relative difference of an event's time " << worst << "\n";
  // IDA's local errors at 1e-10 add up over some thousand steps.
  EXPECT_LE(worst, 1e-6);
}

}  // namespace
}  // namespace manyfold
