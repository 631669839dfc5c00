#pragma once
// "Solve this stage": the matrices of a step, their factors, and Newton's method with them.
#include "linearisation.hpp"
#include "newton.hpp"

namespace manyfold {

/// Counts what Newton's method did in the lanes of `lanes`. An iteration evaluates the equations `residuals` times.
template <class Real>
MANYFOLD_INLINE void count_newton(WorkCounters<Real>& work, const MaskOf<Real>& lanes, const NewtonResult<Real>& newton,
                                  double residuals = 1.0) {
  work.newton_passes += newton.passes;
  count_work<Real>(work.newton_iterations, lanes, newton.iterations);
  count_work<Real>(work.residuals, lanes, Real(residuals) * newton.iterations);
  count_work<Real>(work.solves, lanes, newton.iterations);
}

/// Newton's method with `factors` in the lanes of `lanes`. `residual(F)` evaluates the equations of the stage;
/// `correct(lanes, delta)` subtracts a correction there and returns its norm. `patient`, `contraction`: see
/// `solve_newton`.
template <int n, class Real>
MANYFOLD_INLINE NewtonResult<Real> solve_stage(auto& factors, const MaskOf<Real>& lanes, const MaskOf<Real>& patient,
                                               Real& contraction, const NewtonControl& control,
                                               WorkCounters<Real>& work, auto&& residual, auto&& correct) {
  const auto newton = solve_newton<Real>(control, lanes, patient, contraction, [&](const MaskOf<Real>& iterating) {
    Real delta[n];
    residual(delta);
    factors.solve(delta);
    return correct(iterating, delta);
  });
  count_newton(work, lanes, newton);
  return newton;
}

/// Stages that are solved with one real matrix. `Structure` says which: its pattern, and its entries from F_y, F_y' and
/// the shift of the step.
template <class System, class Real, class Structure = IterationStructure<System>>
class StageSolver {
 public:
  static constexpr int n = System::n;
  using Mask = MaskOf<Real>;
  using Matrices = Linearisation<System, Real>;
  using StageFactors = Factors<Real, Structure>;
  using Team = TeamOf<System>;
  using Memory = typename Matrices::Memory;
  struct Workspace {
    typename Matrices::Workspace matrices;
    typename StageFactors::Workspace factors;
  };
  /// Are the factors kept over steps (per lane), or renewed in each?
  static constexpr bool keeps = Matrices::template keeps<StageFactors>;

  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    matrices_.use(workspace.matrices, team);
    factors_.use(workspace.factors, team);
  }

  /// Brings matrices and factors up to date for a step of length h in the lanes of `live`; returns those whose matrix
  /// is singular. `stale`: lanes whose Jacobian must be evaluated at the point of `state`, in those of `ahead` at the
  /// predicted end of the step.
  template <bool keeps>
  MANYFOLD_INLINE Mask prepare(const Mask& live, const Mask& stale, const Mask& ahead, const auto& state,
                               Memory& memory, const Real& h, const Real& shift, WorkCounters<Real>& work) {
    return matrices_.template renew<keeps>(live, stale, ahead, state, memory, h, work,
                                           [&](const Mask& lanes) { return factor<keeps>(lanes, shift); });
  }

  /// Factorises the matrix of this shift in the lanes of `lanes`; returns those where it is regular.
  template <bool keeps>
  MANYFOLD_INLINE Mask factor(const Mask& lanes, const Real& shift) {
    return factors_.template factor<keeps>(lanes, [&](auto k) { return Structure::entry(matrices_, shift, k); });
  }

  /// Newton's method with these factors: see `solve_stage`.
  MANYFOLD_INLINE NewtonResult<Real> solve(const Mask& lanes, const Mask& patient, Real& contraction,
                                           const NewtonControl& control, WorkCounters<Real>& work, auto&& residual,
                                           auto&& correct) {
    return solve_stage<n>(factors_, lanes, patient, contraction, control, work, residual, correct);
  }

  /// x := M^-1 x with the matrix M of the last `factor`.
  MANYFOLD_INLINE void apply(Real (&x)[n]) { factors_.solve(x); }
  /// x := M^-T x. In phases there is no such thing: a solve interrupts the attempt there, for a `Wait` of its own kind.
  MANYFOLD_INLINE void apply_transposed(Real (&x)[n]) { factors_.solve_transposed(x); }

  MANYFOLD_INLINE Matrices& matrices() { return matrices_; }
  MANYFOLD_INLINE const Matrices& matrices() const { return matrices_; }
  MANYFOLD_INLINE StageFactors& factors() { return factors_; }

 private:
  Matrices matrices_;
  StageFactors factors_;
};

}  // namespace manyfold
