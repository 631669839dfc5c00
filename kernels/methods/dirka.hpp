#pragma once
// The embedded family of diagonally implicit Runge-Kutta methods of I. T. Cameron, Solution of Differential-Algebraic
// Systems Using Diagonally Implicit Runge-Kutta Methods, IMA J. Numer. Anal. 3 (1983), with variable step and order.
//
// For y' = f(t, y, z), 0 = g(t, y, z). One more stage with the same diagonal raises the order by one, (2.1). The method
// of order p estimates the error of y^(p) by y^(p+1), with which it goes on: p + 1 stages. Stages solve for (y, z) at
// once, (3.2); z_(n+1) is then trimmed: g(y_(n+1), z_(n+1)) = 0, (3.3).
#include "../stage/stage_solver.hpp"
#include "interior.hpp"
#include "radau.hpp"
#include "runge_kutta.hpp"
#include "tableaux/dirka.hpp"

namespace manyfold {

/// Cameron's rules for order, step and iteration.
struct CameronRules {
  static constexpr double safety = 0.5;                     ///< c of section 4.2
  static constexpr double most_growth = 10.0;               ///< B_max
  static constexpr double most_growth_after_failure = 2.0;  ///< B_max for some steps after a failure
  static constexpr double steps_after_failure = 3.0;
  static constexpr double rate_to_keep = 0.2;                ///< of the Jacobian; section 4.1
  static constexpr double recent_jacobian = 3.0;             ///< steps; section 4.1
  static constexpr double steps_between_orders = 4.0;        ///< K(p); section 4.3
  static constexpr double start_high_below = 1e-4;           ///< tolerance; section 4.3
  static constexpr double efficiency[3] = {1.0, 0.9, 0.85};  ///< eta_p

  /// sum_(i <= s) 2^(i+1): what errors of the stages may add up to; section 4.1.
  static constexpr double accumulation(int s) {
    double sum = 0.0;
    for (int i = 1; i <= s; ++i) sum += static_cast<double>(2 << i);
    return sum;
  }

  /// B_min, Table 2, linear between its columns: the growth of the step that is worth a new matrix.
  static constexpr double least_growth(int s, int m) {
    constexpr double sizes[4] = {5.0, 10.0, 20.0, 50.0};
    constexpr double table[3][4] = {{1.5, 2.2, 3.8, 8.7}, {1.3, 1.8, 2.9, 6.2}, {1.25, 1.6, 2.4, 4.9}};
    if (m <= sizes[0]) return table[s - 2][0];
    for (int k = 1; k < 4; ++k) {
      const double fraction = (m - sizes[k - 1]) / (sizes[k] - sizes[k - 1]);
      if (m <= sizes[k]) return table[s - 2][k - 1] + fraction * (table[s - 2][k] - table[s - 2][k - 1]);
    }
    return table[s - 2][3];
  }
};

namespace cameron {

inline constexpr int degree = 3;

/// Dense output with p + 1 stages: weights d(theta) of Y_i - y_n and, last, of y_(n+1) - y_n, for y and z alike. d.c =
/// theta, d.Cc = theta^2, d.Ac = theta^2/2, d.ACc = theta^3/3, d.CCc = theta^3, as many as there are values: of
/// order 2. (Order 3 would need d.AAc = theta^3/6 too, which contradicts the others, since y^(3) lacks the last stage.)
template <int p>
constexpr auto dense_weights() {
  constexpr int count = p + 2;
  // The solution as one more stage.
  double A[count][count] = {};
  double c[count] = {};
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j <= p; ++j) {
      A[i][j] = i <= p ? CameronFamily::A[i][j] : CameronFamily::weights[p][j];
      c[i] += A[i][j];
    }
  }
  double Cc[count];
  double Ac[count] = {};
  double ACc[count] = {};
  for (int i = 0; i < count; ++i) Cc[i] = c[i] * c[i];
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      Ac[i] += A[i][j] * c[j];
      ACc[i] += A[i][j] * Cc[j];
    }
  }
  collocation::SquareMatrix<count> conditions;
  for (int i = 0; i < count; ++i) {
    const double column[5] = {c[i], Cc[i], Ac[i], ACc[i], c[i] * Cc[i]};
    for (int r = 0; r < count; ++r) conditions.at[r][i] = column[r];
  }
  constexpr double right[5] = {1.0, 1.0, 1.0 / 2, 1.0 / 3, 1.0};
  constexpr int power[5] = {1, 2, 2, 3, 3};
  const auto inverse = collocation::inverse(conditions);
  double d[count][degree] = {};
  for (int i = 0; i < count; ++i) {
    for (int r = 0; r < count; ++r) d[i][power[r] - 1] += inverse.at[i][r] * right[r];
  }
  return dense_weights_at_end(d);
}

/// g_z, with ones on the diagonal for y.
template <class System>
struct TrimmingStructure {
  static constexpr int n = System::n;
  using Team = TeamOf<System>;
  static constexpr bool single_precision_factors = has_single_precision_factors<System>();
  static constexpr Pattern<n> pattern() {
    Pattern<n> result;
    for (int i = 0; i < n; ++i) {
      if (!System::algebraic(i)) result.insert(i, i);
      for (int j = 0; j < n; ++j) {
        if (System::algebraic(i) && System::algebraic(j) && System::pattern_y.contains(i, j)) result.insert(i, j);
      }
    }
    return result;
  }
  static constexpr Pattern<n> matrix = pattern();
  static constexpr Pattern<n> preferred = matrix;
  static constexpr auto entries = entries_of<matrix.size()>(matrix);

  template <class Real>
  static MANYFOLD_INLINE Real entry(const auto& matrices, const Real& /*shift*/, auto k) {
    const int i = entries.row[k];
    const int j = entries.column[k];
    return System::algebraic(i) ? matrices.entry_y(i, j) : Real(1.0);
  }
};

}  // namespace cameron

template <class Tableau_, class System_, class Real_>
class Cameron {
 public:
  using Tableau = Tableau_;
  using System = System_;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  static_assert(System::semi_explicit,
                "manyfold: Cameron's methods (dirka) are for y' = f(t, y, z), 0 = g(t, y, z): give the model "
                "rhs(t, y, p, f) without mass_matrix, or choose another method");
  static constexpr int n = System::n;
  static constexpr int s = CameronFamily::stages;
  static constexpr int most_newton_iterations = 5;
  static constexpr double gamma = CameronFamily::gamma;
  using Stages = StageSolver<System, Real>;
  using Matrices = typename Stages::Matrices;
  using TrimmingStructure = cameron::TrimmingStructure<System>;
  using TrimmingFactors = Factors<Real, TrimmingStructure>;
  using Team = TeamOf<System>;
  struct Workspace {
    typename Stages::Workspace stages;
    typename TrimmingFactors::Workspace trimming;
  };

  struct Path : DensePolynomial<Real, n, cameron::degree> {
    Real p;         ///< order whose error is estimated
    Real steps;     ///< since orders were compared
    Real cautious;  ///< steps in which growth is limited after a failure

    MANYFOLD_INLINE void start(const Mask& lanes, const Real& step, const Real (&dy)[n]) {
      DensePolynomial<Real, n, cameron::degree>::start(lanes, step, dy);
      steps = select(lanes, Real(0.0), steps);
      cautious = select(lanes, Real(0.0), cautious);
      p = select(lanes, Real(first_order), p);
    }
    MANYFOLD_INLINE void copy(const Mask& lanes, const Path& other) {
      DensePolynomial<Real, n, cameron::degree>::copy(lanes, other);
      steps = select(lanes, other.steps, steps);
      cautious = select(lanes, other.cautious, cautious);
      p = select(lanes, other.p, p);
    }
  };
  struct Memory : Stages::Memory {
    Real jacobian_age;  ///< accepted steps since the Jacobian was new
    Mask slow;          ///< Newton's method converged too slowly to keep the Jacobian

    MANYFOLD_INLINE void start(const Mask& lanes) {
      Stages::Memory::start(lanes);
      jacobian_age = select(lanes, Real(0.0), jacobian_age);
      slow = slow & !lanes;
    }
  };
  using State = LaneState<System, Real, Path, Memory>;
  static constexpr StepChoice step_choice = StepChoice::by_method;
  static constexpr bool makes_past = true;
  static constexpr bool path_on_request = false;

  static MANYFOLD_INLINE double internal_rtol(double rtol) { return rtol; }
  /// The norm of the iteration counts stage errors as many times as they may accumulate: section 4.1.
  static MANYFOLD_INLINE double newton_tolerance(double internal_rtol) {
    return max(1.0, 4500.0 * epsilon<Real> / internal_rtol);
  }

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    stages_.use(workspace.stages, team);
    trimming_factors_.use(workspace.trimming, team);
  }

  /// The order to begin with goes to the state; returns the length of the first step, (4.5), of at most |h|.
  static MANYFOLD_INLINE Real begin(const Mask& lanes, State& state, const Real& h, const Tolerances<n>& tolerances) {
    Real p(first_order);
    if constexpr (Tableau::fixed_p == 0) {
      if (tolerances.rtol < CameronRules::start_high_below) p = Real(3.0);
    }
    state.path.p = select(lanes, p, state.path.p);
    Real weight[n];
    error_weights(tolerances, state.y, weight);
    Real steepest(0.0);
    for_each_index<n>([&](auto i) {
      if (!System::algebraic(i)) steepest = max(steepest, abs(state.dy[i]) * weight[i]);
    });
    const Real step = Real(tolerances.rtol) * pow(steepest, Real(-1.0) / (p + Real(1.0)));
    return select(step < abs(h), step, abs(h));
  }

  /// Tries the step t ... t + h in the lanes of `live`. `stale`: lanes whose Jacobian must be new.
  MANYFOLD_INLINE StepAttempt<Real> attempt(const Mask& live, const Mask& stale, const Mask& /*cautious*/, State& state,
                                            const Real& h, const NewtonControl& control, WorkCounters<Real>& work) {
    const Real p = state.path.p;
    const Real over_diagonal = Real(1.0 / gamma) / h;
    StepAttempt<Real> result{Mask(false), Mask(false), Mask(true), Real(0.0), Real(0.0), Real(0.0), Real(0.0)};
    result.singular = renew(live, stale, state, h, over_diagonal, work);
    result.converged = live & !result.singular;

    // The order above is seen with one stage more, every few steps.
    compared_ = live & Mask(Tableau::fixed_p == 0) & (state.path.steps >= Real(CameronRules::steps_between_orders));
    assessed_ = compared_ & (p < Real(3.0));
    const Real scale = choose(p, Real(CameronRules::accumulation(2)), Real(CameronRules::accumulation(3)),
                              Real(CameronRules::accumulation(4)));
    static_for<s>([&](auto i) { solve_stage_of<i>(state, h, over_diagonal, scale, control, work, result); });

    // y^(p+1), its distances from y^(p) and of the orders below and above.
    const Real order = p + Real(1.0);
    for_each_index<n>([&](auto k) { end_[k] = combination_of(order, k); });
    error_ = distance(p, state);
    error_lower_ = distance(p - Real(1.0), state);
    error_higher_ = distance(p + Real(1.0), state);
    if constexpr (trims) {
      trim(state, h, scale, control, work, result);
      if constexpr (System::spec.error_test == ErrorTest::all) {
        const Real trimmed = trimmed_norm(p, state, h);
        const Real within = interior_norm(state, h);
        const Real all = sqrt(error_ * error_ + trimmed * trimmed + within * within);
        error_ = select(state.discontinuous, error_, all);
        count_work<Real>(work.residuals, result.converged, Real(2.0));
        count_work<Real>(work.solves, result.converged, Real(2.0));
      }
    }
    result.error = error_;
    Mask& slow = state.memory.slow;
    slow = (slow & !live) | (live & (result.rate > Real(CameronRules::rate_to_keep)));
    return result;
  }

  /// Makes the attempted step the last accepted one in the lanes of `accepted`.
  MANYFOLD_INLINE void commit(const Mask& accepted, State& state, const Real& h) {
    const Real over_h = Real(1.0) / h;
    static_for<3>([&](auto level) {
      constexpr int p = level + 1;
      const Mask lanes = accepted & (state.path.p == Real(static_cast<double>(p)));
      if (!any(lanes)) return;
      constexpr auto weights = cameron::dense_weights<p>();
      // The slope is that of the dense output: no stage has that of the solution.
      accept_step<cameron::degree>(
          lanes, state, h, [&](auto power, int k) { return at_weights<p>(weights.at[power], k); },
          [&](int k) { return end_[k]; }, [&](int k) { return state.path.coefficient[0][k] * over_h; });
    });
  }

  /// The length of the next step; its order goes to the state. Sections 4.1 to 4.3.
  MANYFOLD_INLINE Real next_step(State& state, const Real& h, const Mask& accepted, const Mask& rejected,
                                 const Mask& failed) {
    Path& path = state.path;
    const Real growth = growth_for(error_, path.p);
    Real p = path.p;
    Real chosen = growth;
    // Work per unit step, s_p / (eta_p h_p): the order with the least.
    Real least = work_of(p) / growth;
    const auto compare = [&](const Mask& lanes, const Real& order, const Real& error) {
      const Real candidate = growth_for(error, order);
      const Real work = work_of(order) / candidate;
      const Mask better = accepted & lanes & (work < least);
      p = select(better, order, p);
      chosen = select(better, candidate, chosen);
      least = select(better, work, least);
    };
    compare(compared_ & (path.p > Real(1.0)), path.p - Real(1.0), error_lower_);
    compare(assessed_, path.p + Real(1.0), error_higher_);

    const Real most = select(path.cautious > Real(0.0), Real(CameronRules::most_growth_after_failure),
                             Real(CameronRules::most_growth));
    chosen = min(chosen, most);
    const Real worthwhile = choose(p, Real(CameronRules::least_growth(2, n)), Real(CameronRules::least_growth(3, n)),
                                   Real(CameronRules::least_growth(4, n)));
    chosen = select(accepted & (chosen > Real(1.0)) & (chosen <= worthwhile), Real(1.0), chosen);
    // An error that is not finite says nothing but that the step was too long.
    chosen = select(is_finite(error_), max(chosen, Real(0.1)), Real(0.1));
    Real& jacobian_age = state.memory.jacobian_age;
    const Mask recent = renewed_ | (jacobian_age < Real(CameronRules::recent_jacobian));
    chosen = select(failed, select(recent, Real(0.5), Real(1.0)), chosen);

    path.p = select(accepted, p, path.p);
    path.steps = select(accepted, select(compared_, Real(0.0), path.steps + Real(1.0)), path.steps);
    path.cautious = select(rejected | failed, Real(CameronRules::steps_after_failure),
                           select(accepted, max(path.cautious - Real(1.0), Real(0.0)), path.cautious));
    jacobian_age = select(renewed_, Real(0.0), jacobian_age);
    jacobian_age += select(accepted, Real(1.0), Real(0.0));
    return chosen * h;
  }

 private:
  static constexpr double first_order = Tableau::fixed_p == 0 ? 1.0 : Tableau::fixed_p;
  static constexpr bool has_algebraic() {
    for (int i = 0; i < n; ++i) {
      if (System::algebraic(i)) return true;
    }
    return false;
  }
  static constexpr bool trims = has_algebraic();

  // The parts of an attempt, in the order in which they come.

  /// Brings matrices and factors up to date; returns the lanes whose matrix is singular. Without a copy of the Jacobian
  /// every change of the step evaluates it; section 4.1.
  MANYFOLD_INLINE Mask renew(const Mask& live, const Mask& stale, State& state, const Real& h,
                             const Real& over_diagonal, WorkCounters<Real>& work) {
    Matrices& matrices = stages_.matrices();
    Memory& memory = state.memory;
    renewed_ = live & (stale | memory.slow | memory.singular | (h != memory.factored_h));
    matrices.template update<true>(
        renewed_, renewed_, PointAhead<System, Real>(state.ahead, state, h), memory, work, [&](const Mask& mask) {
          Mask good = stages_.template factor<true>(mask, over_diagonal);
          if constexpr (trims) {
            good = good & trimming_factors_.template factor<true>(
                              mask, [&](auto k) { return TrimmingStructure::entry(matrices, over_diagonal, k); });
          }
          return good;
        });
    memory.factored_h = select(renewed_, h, memory.factored_h);
    return live & memory.singular;
  }

  /// Stage i where the order needs it, and where it shows the order above.
  template <int i>
  MANYFOLD_INLINE void solve_stage_of(State& state, const Real& h, const Real& over_diagonal, const Real& scale,
                                      const NewtonControl& control, WorkCounters<Real>& work,
                                      StepAttempt<Real>& result) {
    constexpr double c = CameronFamily::c[i];
    const Real& p = state.path.p;
    const Mask needed = p >= Real(static_cast<double>(i));  // stages 0 ... p
    const Mask ahead = assessed_ & (p == Real(i - 1.0));
    const Mask lanes = result.converged & (needed | ahead);
    if (!any(lanes)) return;
    const Real ratio = h / state.path.h;
    Real base[n];
    Real Y[n];
    for_each_index<n>([&](auto k) {
      base[k] = state.y[k];
      static_for<i>([&](auto j) {
        constexpr double a = CameronFamily::A[i][j];
        base[k] += Real(a) * hK_[j][k];
      });
      Y[k] = state.y[k] + state.path.increment(k, Real(c) * ratio);
    });
    const auto newton = stages_.solve(
        lanes, state.patient, state.contraction, control, work,
        [&](Real(&F)[n]) {
          Real K[n];
          for (int k = 0; k < n; ++k) K[k] = (Y[k] - base[k]) * over_diagonal;
          System::residual(state.t + Real(c) * h, Y, K, state.p, F);
        },
        [&](const Mask& iterating, Real(&delta)[n]) { return scale * correct(iterating, state, delta, Y); });
    for (int k = 0; k < n; ++k) {
      hK_[i][k] = (Y[k] - base[k]) * Real(1.0 / gamma);
      z_[i][k] = Y[k] - state.y[k];
    }
    assessed_ = assessed_ & (newton.converged | !ahead);
    result.finite = result.finite & (newton.finite | !(lanes & needed));
    result.rate = select(lanes & needed, max(result.rate, newton.rate), result.rate);
    result.iterations = max(result.iterations, select(lanes, newton.iterations, Real(0.0)));
    result.converged = result.converged & (newton.converged | !needed);
  }

  /// z_(n+1) from g(y_(n+1), z_(n+1)) = 0, (3.3).
  MANYFOLD_INLINE void trim(const State& state, const Real& h, const Real& scale, const NewtonControl& control,
                            WorkCounters<Real>& work, StepAttempt<Real>& result) {
    const Real ratio = h / state.path.h;
    Real Y[n];
    Real unused[n];
    const Mask has_end = state.path.p >= Real(2.0);  // stage 3 is at the end of the step
    for_each_index<n>([&](auto k) {
      if (System::algebraic(k)) end_[k] = select(has_end, z_[2][k], state.path.increment(k, ratio));
      Y[k] = state.y[k] + end_[k];
      unused[k] = Real(0.0);
    });
    Real contraction(1.0);
    const Mask lanes = result.converged;
    const auto newton = solve_stage<n>(
        trimming_factors_, lanes, state.patient, contraction, control, work,
        [&](Real(&F)[n]) { residual_of_constraints(state, state.t + h, Y, unused, F); },
        [&](const Mask& iterating, Real(&delta)[n]) { return scale * correct(iterating, state, delta, Y); });
    for_each_index<n>([&](auto k) {
      if (System::algebraic(k)) end_[k] = Y[k] - state.y[k];
    });
    result.finite = result.finite & (newton.finite | !lanes);
    result.converged = result.converged & (newton.converged | !lanes);
  }

  /// Y := Y - delta in the lanes of `iterating`; returns the norm of delta, in which errors add up.
  static MANYFOLD_INLINE Real correct(const Mask& iterating, const State& state, const Real (&delta)[n], Real (&Y)[n]) {
    for (int k = 0; k < n; ++k) Y[k] -= select(iterating, delta[k], Real(0.0));
    return sqrt(weighted_square(delta, state.weight));
  }

  /// 0 and g(Y): the algebraic equations alone.
  static MANYFOLD_INLINE void residual_of_constraints(const State& state, const Real& t, const Real (&Y)[n],
                                                      const Real (&unused)[n], Real (&F)[n]) {
    System::residual(t, Y, unused, state.p, F);
    for_each_index<n>([&](auto k) {
      if (!System::algebraic(k)) F[k] = Real(0.0);
    });
  }

  /// What `weights` of the stages 0 ... p and, last, of the end make of component k.
  template <int p>
  MANYFOLD_INLINE Real at_weights(const auto& weights, int k) const {
    Real sum = Real(weights[p + 1]) * end_[k];
    static_for<p + 1>([&](auto i) { sum += Real(weights[i]) * z_[i][k]; });
    return sum;
  }

  static MANYFOLD_INLINE Real choose(const Real& p, const Real& one, const Real& two, const Real& three) {
    return select(p == Real(1.0), one, select(p == Real(2.0), two, three));
  }

  /// s_p / eta_p
  static MANYFOLD_INLINE Real work_of(const Real& p) {
    constexpr double w1 = 2.0 / CameronRules::efficiency[0];
    constexpr double w2 = 3.0 / CameronRules::efficiency[1];
    constexpr double w3 = 4.0 / CameronRules::efficiency[2];
    return choose(p, Real(w1), Real(w2), Real(w3));
  }

  /// (c tau / L_e)^(1/(p+1))
  static MANYFOLD_INLINE Real growth_for(const Real& error, const Real& p) {
    return pow(Real(CameronRules::safety) / max(error, Real(1e-10)), Real(1.0) / (p + Real(1.0)));
  }

  /// y^(order) - y_n in component k.
  MANYFOLD_INLINE Real combination_of(const Real& order, int k) const {
    Real result(0.0);
    static_for<s>([&](auto row) {
      constexpr int q = row;
      Real sum(0.0);
      static_for<q + 1>([&](auto i) {
        constexpr double weight = CameronFamily::weights[q][i];
        sum += Real(weight) * hK_[i][k];
      });
      result = select(order == Real(q + 1.0), sum, result);
    });
    return result;
  }

  /// || y^(order+1) - y^(order) || over the differential variables; section 4.2.
  MANYFOLD_INLINE Real distance(const Real& order, const State& state) const {
    Real sum(0.0);
    for_each_index<n>([&](auto k) {
      if (System::algebraic(k)) return;
      sum += square((combination_of(order + Real(1.0), k) - combination_of(order, k)) * state.weight[k]);
    });
    return sqrt(sum);
  }

  /// What trimming makes of the distance of y^(order+1) from y^(order): || z(y^(order+1)) - z(y^(order)) ||. It is the
  /// larger, the less y determines z.
  MANYFOLD_INLINE Real trimmed_norm(const Real& order, const State& state, const Real& h) {
    Real Y[n];
    Real unused[n];
    for_each_index<n>([&](auto k) {
      Y[k] = state.y[k] + (System::algebraic(k) ? end_[k] : combination_of(order, k));
      unused[k] = Real(0.0);
    });
    Real error[n];
    residual_of_constraints(state, state.t + h, Y, unused, error);
    trimming_factors_.solve(error);
    return sqrt(weighted_square(error, state.weight));
  }

  /// The error of the algebraic variables within the step, as `distance` measures it.
  MANYFOLD_INLINE Real interior_norm(const State& state, const Real& h) {
    constexpr double theta = widest_gap(CameronFamily::c).middle;
    Real Y[n];
    Real unused[n];
    for_each_index<n>([&](auto k) {
      Y[k] = state.y[k] + end_[k];
      unused[k] = Real(0.0);
    });
    static_for<3>([&](auto level) {
      constexpr int p = level + 1;
      constexpr auto at = dense_weights_at(cameron::dense_weights<p>(), theta - 1.0);
      const Mask lanes = state.path.p == Real(static_cast<double>(p));
      for_each_index<n>([&](auto k) { Y[k] += select(lanes, at_weights<p>(at.value, k), Real(0.0)); });
    });
    Real error[n];
    residual_of_constraints(state, state.t + Real(theta) * h, Y, unused, error);
    trimming_factors_.solve(error);
    return Real(reduced_interior_weight) * sqrt(weighted_square(error, state.weight));
  }

  Stages stages_;
  TrimmingFactors trimming_factors_;
  // Of the attempt:
  Mask renewed_;
  Mask compared_;  ///< orders are compared after this step
  Mask assessed_;  ///< the order above too
  Real hK_[s][n];
  Real z_[s][n];  ///< Y_i - y_n
  Real end_[n];   ///< y_(n+1) - y_n
  Real error_;
  Real error_lower_;
  Real error_higher_;
};

}  // namespace manyfold
