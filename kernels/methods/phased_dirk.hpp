#pragma once
// `DiagonallyImplicit` where linear systems are solved for many instances at once, as `PhasedCollocation` is of
// `Collocation`: one stage after another waits for its corrections, then the error estimate.
#include "dirk.hpp"
#include "phased.hpp"

namespace manyfold {

template <class Tableau, class System_, class Real_>
class PhasedDiagonallyImplicit : public DiagonallyImplicit<Tableau, System_, Real_> {
  using Base = DiagonallyImplicit<Tableau, System_, Real_>;

 public:
  using Base::first;
  using Base::keeps;
  using Base::n;
  using Base::s;
  using System = System_;
  using Whole = Base;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  using State = typename Base::State;
  using Matrices = typename Base::Stages::Matrices;
  using RealFactors = typename Base::Stages::StageFactors;
  using Workspace = typename Base::Workspace;
  static_assert(lane_width<Real> == 1, "every instance waits for itself");

  /// As in `PhasedCollocation`, like all that follows.
  MANYFOLD_INLINE void begin_attempt(const Mask& stale, const Mask& /*cautious*/, State& state, const Real& h,
                                     WorkCounters<Real>& work) {
    h_ = h;
    over_diagonal_ = Real(1.0 / Tableau::gamma) / h;
    wants_factors_ = false;
    this->stages_.matrices().template renew<keeps>(Mask(true), stale, state.ahead, state, state.memory, h, work,
                                                   [&](const Mask& mask) {
                                                     this->stages_.matrices().request_factors(over_diagonal_);
                                                     wants_factors_ = true;
                                                     return mask;
                                                   });
    result_ = {};
    result_.converged = Mask(true);
    result_.finite = Mask(true);
    result_.renewed = this->stages_.matrices().renewed();
    this->begin_stages(state, h);
    stage_ = first;
    begin_stage(state);
  }

  MANYFOLD_INLINE bool wants_factors() const { return wants_factors_; }

  MANYFOLD_INLINE Wait take_corrections(State& state, const NewtonControl& control, WorkCounters<Real>& work) {
    if (stage_ == first) {
      state.memory.singular = this->stages_.factors().singular();
      if (state.memory.singular) {
        result_.converged = Mask(false);
        result_.singular = Mask(true);
        return Wait::nothing;
      }
    }
    Real delta[n];
    this->stages_.factors().get(delta);
    if (newton_.iterating()) {
      newton_.judge(control, this->correct(newton_.iterating(), state.weight, delta, Y_));
      if (newton_.iterating()) {
        put_stage_residual(state);
        return Wait::corrections;
      }
      const auto& newton = newton_.end(Mask(true), state.contraction);
      count_newton(work, result_.converged, newton);
      add_stage(newton, result_);
      if (!result_.converged) return Wait::nothing;
      if (Base::corrects_end && stage_ + 1 == s) {
        put_stage_residual(state);
        return Wait::corrections;
      }
    } else {
      this->correct(Mask(true), state.weight, delta, Y_);
      this->count_correction(result_.converged, work);
    }
    this->end_stage(stage_, state, base_, Y_);
    if (++stage_ < s) {
      begin_stage(state);
      return Wait::corrections;
    }
    Real error[n];
    this->error_residual(state, h_, over_diagonal_, error);
    this->stages_.factors().put(error);
    return Wait::filter;
  }

  MANYFOLD_INLINE Wait take_estimate(State& state, WorkCounters<Real>& work) {
    Real error[n];
    this->stages_.factors().get(error);
    count_work<Real>(work.solves, Mask(true), Real(1.0));
    count_work<Real>(work.residuals, Mask(true), Real(double(Base::points.count)));
    result_.error = weighted_norm(error, state.weight);
    return Wait::nothing;
  }

  MANYFOLD_INLINE const StepAttempt<Real>& result() const { return result_; }

  static constexpr int reals = 1;
  static constexpr int pairs = 0;
  static MANYFOLD_INLINE void for_each_matrix(Workspace& workspace, auto&& visit) {
    Matrices matrices;
    matrices.use(workspace.matrices, {});
    const Real shift = workspace.matrices.shift;
    visit(Constant<0>{}, workspace.factors, [&](int k) { return matrices.template shifted<Real>(k, shift); });
  }

 private:
  MANYFOLD_INLINE void begin_stage(const State& state) {
    static_for<s - first>([&](auto solved) {
      constexpr int i = solved + first;
      if (i == stage_) this->template predict<i>(state, h_, base_, Y_);
    });
    newton_.begin(Mask(true), state.patient, state.contraction);
    put_stage_residual(state);
  }
  MANYFOLD_INLINE void put_stage_residual(const State& state) {
    Real residual[n];
    this->stage_residual(Tableau::c[stage_], state, h_, over_diagonal_, base_, Y_, residual);
    this->stages_.factors().put(residual);
  }

  // Of the attempt on its way.
  Real h_;
  Real over_diagonal_;
  bool wants_factors_;
  int stage_;  ///< that waits for corrections
  NewtonIteration<Real> newton_;
  Real base_[n];
  Real Y_[n];
  StepAttempt<Real> result_;
};

template <class Tableau, class System, class Real>
struct Phased<DiagonallyImplicit<Tableau, System, Real>> {
  using type = PhasedDiagonallyImplicit<Tableau, System, Real>;
};

}  // namespace manyfold
