#pragma once
// Inline integration: stages Y = base + gamma h Y' of models that give y as a sequence of assignments from few unknowns
// z, with residuals r(z). Elmqvist, Otter & Cellier, "Inline integration: a new mixed symbolic/numeric approach", ESM
// 1995.
//
// Newton's method solves r(z) = 0. y_z and r_z are evaluated once in a step, at its beginning, and serve all its
// stages: the correction of y is -y_z r_z^-1 r, which is the one that the matrix of all variables would give.
#include "stage_solver.hpp"

namespace manyfold {

/// Do the stages of diagonally implicit methods use the model's `stage`?
template <class System>
constexpr bool inlines() {
  if constexpr (System::stage_unknowns < 0) {
    return false;
  } else {
    return System::spec.inline_integration != InlineIntegration::never && TeamOf<System>::size == 1 &&
           !is_batched<System>() && System::spec.jacobian != JacobianSource::finite_differences &&
           (System::spec.jacobian_reuse == JacobianReuse::automatic ||
            System::spec.jacobian_reuse == JacobianReuse::every_step);
  }
}

/// The dependence of y and r on z.
template <class System>
class StageStructure {
 public:
  static constexpr int n = System::stage_unknowns;
  using Team = OneThread;
  static constexpr bool single_precision_factors = has_single_precision_factors<System>();

 private:
  using Mark = Dependency<n>;
  struct Patterns {
    IndexSet<n> of_y[System::n] = {};
    Pattern<n> of_r;
  };
  static constexpr Patterns find() {
    Mark z[n];
    for (int k = 0; k < n; ++k) z[k].on.insert(k);
    const Mark zero[System::n] = {};
    const Mark p[System::constants_size] = {};
    const Mark constants[System::stage_constants_size] = {};
    Mark y[System::n];
    Mark r[n];
    const Mark terms[System::stage_terms_size] = {};
    System::stage(Mark(0.0), Mark(0.0), Mark(0.0), constants, terms, zero, zero, z, p, y, r);
    Patterns result;
    for (int i = 0; i < System::n; ++i) result.of_y[i] = y[i].on;
    for (int i = 0; i < n; ++i) result.of_r.row[i] = r[i].on;
    return result;
  }
  static constexpr Patterns found = find();

 public:
  static constexpr Pattern<n> matrix = found.of_r;
  static constexpr Pattern<n> preferred = matrix;
  static constexpr bool depends(int i, int k) { return found.of_y[i].contains(k); }
};

/// Of factors, if there are any.
template <bool some, class Factors>
struct WorkspaceOf {
  using type = typename Factors::Workspace;
};
template <class Factors>
struct WorkspaceOf<false, Factors> {
  using type = None;
};

/// `StageSolver` for stages that the model solves down to z.
template <class System, class Real>
class InlinedStages {
 public:
  static constexpr int n = System::n;
  static constexpr int m = System::stage_unknowns;
  static constexpr bool iterates = m > 0;
  using Mask = MaskOf<Real>;
  using Team = TeamOf<System>;
  using Structure = StageStructure<System>;
  using StageFactors = typename Either<iterates, Factors<Real, Structure>, None>::type;
  using Workspace = typename WorkspaceOf<iterates, StageFactors>::type;
  static constexpr bool keeps = false;
  /// Matrices are new in every step.
  struct Memory {
    MANYFOLD_INLINE void start(const Mask& /*lanes*/) {}
  };

  MANYFOLD_INLINE void use(Workspace& workspace, const Team&) {
    if constexpr (iterates) factors_.use(workspace);
  }

  /// y_z and r_z at the point of `state`, in the lanes of `ahead` at the predicted end of the step of length h, for
  /// stages of gamma h; returns the lanes of `live` where r_z is singular.
  MANYFOLD_INLINE Mask prepare(const Mask& live, const Mask& ahead, const auto& state, const Real& h, double gamma,
                               const Real& over_gamma_h, WorkCounters<Real>& work) {
    const Real gamma_h = Real(gamma) * h;
    gamma_h_ = gamma_h;
    over_gamma_h_ = over_gamma_h;
    System::share_stages(gamma_h, over_gamma_h, state.p, constants_);
    count_work<Real>(work.jacobians, live, Real(1.0));
    count_work<Real>(work.factorizations, live, Real(1.0));
    if constexpr (iterates) {
      constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
      differentiate(PointAhead<System, Real>(ahead, state, h));
      return live &
             !factors_.template factor<false>(live, [&](auto k) { return by_z_[entries.row[k]][entries.column[k]]; });
    } else {
      return Mask(false);
    }
  }

  /// Solves for `Y`, which holds a first guess, at time `t`.
  MANYFOLD_INLINE NewtonResult<Real> solve(const Mask& lanes, auto& state, const Real& t, const Real (&base)[n],
                                           const NewtonControl& control, WorkCounters<Real>& work, Real (&Y)[n]) {
    Real z[unknowns_size];
    if constexpr (iterates) System::stage_guess(t, over_gamma_h_, base, Y, state.p, z);
    Real terms[System::stage_terms_size];
    System::stage_terms(t, gamma_h_, over_gamma_h_, constants_, base, state.p, terms);
    Real zero[n];
    for (int i = 0; i < n; ++i) zero[i] = Real(0.0);
    const auto newton =
        solve_newton<Real>(control, lanes, state.patient, state.contraction, [&](const Mask& iterating) {
          Real now[n];
          Real r[unknowns_size];
          System::stage(t, gamma_h_, over_gamma_h_, constants_, terms, base, zero, z, state.p, now, r);
          Real delta[n];
          if constexpr (iterates) factors_.solve(r);
          add_product(r, delta);
          for (int k = 0; k < m; ++k) z[k] -= select(iterating, r[k], Real(0.0));
          Real change[n];
          for (int i = 0; i < n; ++i) {
            const Real next = now[i] - delta[i];
            change[i] = iterates ? delta[i] : next * Real(0.0);
            Y[i] = select(iterating, next, Y[i]);
          }
          return weighted_norm(change, state.weight);
        });
    count_newton(work, lanes, newton);
    return newton;
  }

  /// (F_y'/(gamma h) + F_y)^-1 (F_y'/(gamma h) d + offset), at the point of `state`: how Y changes with its base and
  /// with the residuals of algebraic equations. `StageSolver::apply_transposed` of the same shift is its adjoint.
  MANYFOLD_INLINE void apply(const auto& state, const Real (&d)[n], const Real (&offset)[n], Real (&result)[n]) {
    using Directed = Dual<Real, 1>;
    Directed base[n];
    Directed residual[n];
    Directed z[unknowns_size];
    Directed y[n];
    Directed r[unknowns_size];
    Real guess[unknowns_size];
    Real before[n];
    for (int i = 0; i < n; ++i) before[i] = state.y[i] - gamma_h_ * state.dy[i];
    if constexpr (iterates) {
      System::stage_guess(state.t, over_gamma_h_, before, state.y, state.p, guess);
      for (int k = 0; k < m; ++k) z[k] = Directed(guess[k]);
    }
    for (int i = 0; i < n; ++i) {
      base[i] = Directed(before[i]);
      base[i].tangent[0] = d[i];
      residual[i] = Directed(Real(0.0));
      residual[i].tangent[0] = offset[i];
    }
    Directed terms[System::stage_terms_size];
    System::stage_terms(state.t, gamma_h_, over_gamma_h_, constants_, base, state.p, terms);
    System::stage(state.t, gamma_h_, over_gamma_h_, constants_, terms, base, residual, z, state.p, y, r);
    Real delta[unknowns_size];
    Real product[n];
    if constexpr (iterates) {
      for (int k = 0; k < m; ++k) delta[k] = r[k].tangent[0];
      factors_.solve(delta);
    }
    add_product(delta, product);
    for (int i = 0; i < n; ++i) result[i] = y[i].tangent[0] - product[i];
  }

 private:
  static constexpr int unknowns_size = iterates ? m : 1;
  static constexpr int constants_size = System::stage_constants_size;

  MANYFOLD_INLINE void differentiate(const auto& state) {
    using Seeded = Dual<Real, m>;
    Real base[n];
    Real zero[n];
    for (int i = 0; i < n; ++i) {
      base[i] = state.y[i] - gamma_h_ * state.dy[i];
      zero[i] = Real(0.0);
    }
    Real guess[m];
    System::stage_guess(state.t, over_gamma_h_, base, state.y, state.p, guess);
    Seeded z[m];
    for (int k = 0; k < m; ++k) {
      z[k] = Seeded(guess[k]);
      z[k].tangent[k] = Real(1.0);
    }
    Seeded y[n];
    Seeded r[m];
    Real terms[System::stage_terms_size];
    System::stage_terms(state.t, gamma_h_, over_gamma_h_, constants_, base, state.p, terms);
    System::stage(state.t, gamma_h_, over_gamma_h_, constants_, terms, base, zero, z, state.p, y, r);
    for (int k = 0; k < m; ++k) {
      for (int i = 0; i < n; ++i) y_by_z_[i][k] = y[i].tangent[k];
      for (int i = 0; i < m; ++i) by_z_[i][k] = r[i].tangent[k];
    }
  }

  /// product := y_z x
  MANYFOLD_INLINE void add_product(const Real (&x)[unknowns_size], Real (&product)[n]) const {
    for (int i = 0; i < n; ++i) product[i] = Real(0.0);
    if constexpr (iterates) {
      static_for<n>([&](auto i) {
        constexpr int row = i;
        static_for<m>([&](auto k) {
          if constexpr (Structure::depends(row, k)) product[row] += y_by_z_[row][k] * x[k];
        });
      });
    }
  }

  StageFactors factors_;
  Real gamma_h_;
  Real over_gamma_h_;
  Real constants_[constants_size];
  Real y_by_z_[n][unknowns_size];
  Real by_z_[unknowns_size][unknowns_size];
};

}  // namespace manyfold
