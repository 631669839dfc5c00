#pragma once
// `Collocation` where linear systems are solved for many instances at once.
#include "phased.hpp"
#include "radau.hpp"

namespace manyfold {

template <class Tableau, class System_, class Real_>
class PhasedCollocation : public Collocation<Tableau, System_, Real_> {
  using Base = Collocation<Tableau, System_, Real_>;

 public:
  using Base::keeps;
  using Base::n;
  using Base::pairs;
  using Base::reals;
  using Base::s;
  using System = System_;
  using Whole = Base;
  using Real = Real_;
  using Mask = MaskOf<Real>;
  using Matrices = typename Base::Matrices;
  using Workspace = typename Base::Workspace;
  static_assert(lane_width<Real> == 1, "every instance waits for itself");

  /// Begins the attempt of a step of length h: predicts and asks for the first corrections; if need be, for matrices.
  MANYFOLD_INLINE void begin_attempt(const Mask& stale, const Mask& cautious, auto& state, const Real& h,
                                     WorkCounters<Real>& work) {
    h_ = h;
    over_h_ = Real(1.0) / h;
    cautious_ = cautious;
    second_ = false;
    along_ = false;
    wants_factors_ = false;
    this->matrices_.template renew<keeps>(Mask(true), stale, state.ahead, state, state.memory, h, work,
                                          [&](const Mask& mask) {
                                            this->matrices_.request_factors(over_h_);
                                            wants_factors_ = true;
                                            return mask;
                                          });
    result_ = {};
    result_.finite = Mask(true);
    result_.renewed = this->matrices_.renewed();
    this->predict(state, h, w_);
    newton_.begin(Mask(true), state.patient, state.contraction);
    first_correction_ = true;
    put_stage_residuals(state);
  }

  /// Must matrices be factorised before the first corrections?
  MANYFOLD_INLINE bool wants_factors() const { return wants_factors_; }

  /// Goes on with the corrections.
  MANYFOLD_INLINE Wait take_corrections(auto& state, const NewtonControl& control, WorkCounters<Real>& work) {
    if (first_correction_) {
      first_correction_ = false;
      state.memory.singular = any_singular();
      if (state.memory.singular) {
        result_.singular = Mask(true);
        return Wait::nothing;
      }
    }
    Real dw[s][n];
    this->for_each_system(dw, [](const auto& factors, auto& x) { factors.get(x); });
    newton_.judge(Base::within_rounding(control), this->correct(newton_.iterating(), state.weight, dw, w_));
    if (newton_.iterating()) {
      put_stage_residuals(state);
      return Wait::corrections;
    }
    this->report(newton_.end(Mask(true), state.contraction), Mask(true), result_, work);
    if (!result_.converged) return Wait::nothing;
    Real v[n];
    Real error[n];
    this->error_slope(over_h_, v);
    this->start_residual(state, state.y, v, error);
    this->add_interior(state, h_, error, interior_);
    count_work<Real>(work.residuals, Mask(true), Real(Base::looks));
    put_error(error);
    return Wait::filter;
  }

  /// Goes on with the filtered residual: (IV.8.19), and where that fails in a cautious lane, a second estimate.
  MANYFOLD_INLINE Wait take_estimate(auto& state, WorkCounters<Real>& work) {
    Real error[n];
    this->filter(error, [](const auto& factors, auto& x) { factors.get(x); });
    count_work<Real>(work.solves, Mask(true), Real(1.0));
    if constexpr (Base::measures_velocities) {
      along_ = !along_;
      if (along_) {
        for (int k = 0; k < n; ++k) all_[k] = error[k];
        Real right[n];
        this->velocity_rows(all_, right);
        this->filter(right, [](auto& factors, const auto& b) { factors.put(b); });
        return Wait::filter;
      }
      Base::add_velocities(error, over_h_, all_);
      for (int k = 0; k < n; ++k) error[k] = all_[k];
    }
    if constexpr (Base::looks_again()) {
      if (second_) static_for<n>([&](auto k) { error[k] = Base::forgives(k) ? error[k] : first_[k]; });
    }
    result_.error = weighted_norm(error, state.weight);
    count_work<Real>(work.residuals, Mask(true), Real(second_ ? Base::second_residuals : 1.0));
    if constexpr (Base::looks_again()) {
      if (!second_ && cautious_ && !(result_.error < Real(1.0))) {
        second_ = true;
        for (int k = 0; k < n; ++k) first_[k] = error[k];
        Real v[n];
        this->error_slope(over_h_, v);
        this->second_start_residual(state, v, error);
        put_error(error);
        return Wait::filter;
      }
    }
    return Wait::nothing;
  }

  /// The attempt, once it waits for nothing.
  MANYFOLD_INLINE const StepAttempt<Real>& result() const { return result_; }

  /// Calls visit(number, lu, entry) for every iteration matrix, the real one first; entry(k) is its entry k in the row
  /// order of the pattern.
  static MANYFOLD_INLINE void for_each_matrix(Workspace& workspace, auto&& visit) {
    Matrices matrices;
    matrices.use(workspace.matrices, {});
    const Real over_h = workspace.matrices.shift;
    if constexpr (reals == 1) {
      const Real shift = Real(Tableau::gamma) * over_h;
      visit(Constant<0>{}, workspace.real, [&](int k) { return matrices.template shifted<Real>(k, shift); });
    }
    if constexpr (pairs > 0) {
      static_for<pairs>([&](auto pair) {
        constexpr double alpha = Tableau::alpha[pair];
        constexpr double beta = Tableau::beta[pair];
        const Complex<Real> shift{Real(alpha) * over_h, Real(beta) * over_h};
        visit(Constant<reals + pair.value>{}, workspace.complex[pair],
              [&](int k) { return matrices.template shifted<Complex<Real>>(k, shift); });
      });
    }
  }

 private:
  MANYFOLD_INLINE Mask any_singular() {
    Mask singular(false);
    if constexpr (reals == 1) singular = this->real_factors_.singular();
    static_for<pairs>([&](auto pair) { singular = singular | this->complex_factors_[pair].singular(); });
    return singular;
  }
  MANYFOLD_INLINE void put_stage_residuals(const auto& state) {
    Real right[s][n];
    this->stage_residuals(state, h_, over_h_, right);
    this->for_each_system(right, [](auto& factors, const auto& b) { factors.put(b); });
  }
  MANYFOLD_INLINE void put_error(Real (&error)[n]) {
    this->join(interior_, error);
    this->filter(error, [](auto& factors, const auto& b) { factors.put(b); });
  }

  // Of the attempt on its way.
  Real h_;
  Real over_h_;
  Mask cautious_;                                ///< the error may be estimated a second time
  bool second_;                                  ///< it is
  Real first_[Base::looks_again() ? n : 1];      ///< the first estimate
  bool along_;                                   ///< the errors of velocities along the constraints are waited for
  Real all_[Base::measures_velocities ? n : 1];  ///< those of all variables
  bool wants_factors_;
  bool first_correction_;  ///< is what the factors are good for still to be found out?
  NewtonIteration<Real, System::highest_index()> newton_;
  Real w_[s][n];
  Real interior_[n];
  StepAttempt<Real> result_;
};

template <class Tableau, class System, class Real>
struct Phased<Collocation<Tableau, System, Real>> {
  using type = PhasedCollocation<Tableau, System, Real>;
};

}  // namespace manyfold
