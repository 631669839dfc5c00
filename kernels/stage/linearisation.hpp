#pragma once
// The matrices F_y and F_y' that simplified Newton iterations share, and when they are renewed.
#include "../algebra/factors.hpp"
#include "../model/point_beside.hpp"
#include "../model/system.hpp"
#include "reuse_rule.hpp"
#include "work.hpp"

namespace manyfold {

/// Factorisations dearer than this many operations are worth keeping while the lanes of a pack allow it. Below, a
/// matrix that is new in every step costs less than the iterations an old one adds, and lanes rarely agree on keeping.
inline constexpr long work_worth_keeping = 400;

/// The structure of shift F_y' + F_y, whatever the shift.
template <class System>
struct IterationStructure {
  static constexpr int n = System::n;
  using Team = TeamOf<System>;
  static constexpr bool batched = is_batched<System>();
  static constexpr bool single_precision_factors = has_single_precision_factors<System>();
  static constexpr auto preferred = System::pattern_dy;
  static constexpr auto matrix = System::pattern_y | System::pattern_dy;

  template <class Real>
  static MANYFOLD_INLINE Real entry(const auto& matrices, const Real& shift, auto k) {
    return matrices.template shifted<Real>(k, shift);
  }
};

/// Where Jacobians are evaluated, if that is no state of an instance.
template <class System, class Real>
struct LinearisationPoint {
  const Real& t;
  const Real (&y)[System::n];
  const Real (&dy)[System::n];
  const Real (&p)[System::constants_size];
  const Real (&weight)[System::n];  ///< of the error norm, with its rtol, and a step: the scales of finite differences
  double rtol;
  const Real& h;
};

/// The point of `state`; in the lanes of `ahead` the one where the polynomial of the last step has the end of a step of
/// length h. If an equation has a kink in the step, and its derivative behind it is more than twice the one before, no
/// iteration with the latter converges, however short the step is.
template <class System, class Real>
struct PointAhead {
  Real t;
  Real y[System::n];
  Real dy[System::n];
  const Real (&p)[System::constants_size];
  const Real (&weight)[System::n];
  double rtol;
  const Real& h;

  MANYFOLD_INLINE PointAhead(const MaskOf<Real>& ahead, const auto& state, const Real& step)
      : t(state.t), p(state.p), weight(state.weight), rtol(state.rtol), h(state.h) {
    for (int i = 0; i < System::n; ++i) {
      y[i] = state.y[i];
      dy[i] = state.dy[i];
    }
    if constexpr (begins_ahead<System>()) {
      for (int i = 0; i < System::n; ++i) {
        const Real most = state.foresight / weight[i];
        const Real way = min(max(step * dy[i], -most), most);
        y[i] += select(is_finite(way), way, Real(0.0));
      }
    }
    if (!any(ahead)) return;
    t = select(ahead, t + step, t);
    const Real u = step / state.path.h;
    for (int i = 0; i < System::n; ++i) {
      y[i] = select(ahead, state.y[i] + state.path.increment(i, u), y[i]);
      dy[i] = select(ahead, state.path.slope(i, u) / state.path.h, dy[i]);
    }
  }
};

template <class System, class Real>
class Linearisation {
 public:
  using Mask = MaskOf<Real>;
  using Structure = IterationStructure<System>;
  using Team = TeamOf<System>;
  static constexpr bool batched = Structure::batched;
  /// Are the entries part of this object?
  static constexpr bool alone = Team::size == 1 && !batched;

 private:
  struct Entries {
    Real by_y[System::nonzeros_y];
    Real by_dy[System::nonzeros_dy];
  };

  /// Where the Jacobians are wanted, for kernels that evaluate them.
  struct Recorded : Entries {
    Real t;
    Real y[System::n];
    Real dy[System::n];
    Real p[System::constants_size];
    Real weight[System::n];
    double rtol;
    Real h;
    Real shift;    ///< 1/h of the step that the factors are wanted for, or what a method makes of it
    int outdated;  ///< 1: Jacobians are wanted, not factors alone
  };

 public:
  /// What a team shares, or other kernels see; nothing for a lane that works alone.
  using Workspace = typename Either<alone, None, typename Either<batched, Recorded, Entries>::type>::type;
  MANYFOLD_INLINE void use(Workspace& workspace, const Team& team) {
    if constexpr (!alone) {
      own_ = &workspace;
      team_ = team;
    }
  }

  /// What is known of the matrices of an instance.
  struct Memory {
    Real factored_h;  ///< step that the factors belong to
    Mask singular;    ///< the matrix could not be factorised

    /// The lanes of `lanes` begin a new instance.
    MANYFOLD_INLINE void start(const Mask& lanes) {
      factored_h = select(lanes, Real(0.0), factored_h);
      singular = singular & !lanes;
    }
  };

  /// Is the factorisation of matrices of type `Factors` kept over steps (per lane), or renewed in each?
  template <class Factors>
  static constexpr bool keeps = System::spec.jacobian_reuse == JacobianReuse::automatic
                                    ? Factors::work > work_worth_keeping
                                    : System::spec.jacobian_reuse != JacobianReuse::every_step;

  /// Evaluates the Jacobians of a search for consistent values in the lanes of `mask`: beside the point where an entry
  /// is not finite.
  MANYFOLD_INLINE void evaluate(const Mask& mask, const LinearisationPoint<System, Real>& at) {
    evaluate_at<false>(mask, at);
    if constexpr (alone && looks_beside) {
      look_beside(mask & !is_defined(), at.y, at.weight, [&](const Mask& lanes, const Real(&y)[System::n]) {
        evaluate_at<false>(lanes, LinearisationPoint<System, Real>{at.t, y, at.dy, at.p, at.weight, at.rtol, at.h});
        return Mask(lanes & !is_defined());
      });
    }
  }

  /// Brings Jacobians and factors up to date for a step of length `h` in the lanes of `live`; returns those whose
  /// matrix is singular. `stale`: lanes whose Jacobian must be evaluated, `ahead`: those where that is done at the
  /// predicted end of the step. `factor(lanes)` factorises and returns the good lanes. With `keeps` lanes that need
  /// nothing new keep what they have.
  template <bool keeps>
  MANYFOLD_INLINE Mask renew(const Mask& live, const Mask& stale, const Mask& ahead, const auto& state, Memory& memory,
                             const Real& h, WorkCounters<Real>& work, auto&& factor) {
    Mask outdated = live;
    Mask refactor = live;
    if constexpr (keeps && rescales) {
      const Real ratio = memory.factored_h / h;
      outdated = refactor = live & (stale | memory.singular |
                                    !((ratio > Real(rule.least_ratio)) & (ratio < Real(1.0 / rule.least_ratio))));
      scale_ = select(refactor, Real(1.0), Real(2.0) / (Real(1.0) + ratio));
    } else if constexpr (keeps) {
      outdated = live & stale;
      refactor = live & (stale | (h != memory.factored_h) | memory.singular);
    }
    update<keeps>(outdated, refactor, PointAhead<System, Real>(ahead, state, h), memory, work, factor);
    memory.factored_h = select(refactor, h, memory.factored_h);
    renewed_ = outdated;
    return memory.singular & live;
  }

  /// Lanes whose Jacobian the last `renew` evaluated.
  MANYFOLD_INLINE const Mask& renewed() const { return renewed_; }

  /// Do matrices for another step serve, with corrections that are scaled?
  static constexpr ReuseRule rule = reuse_rule(System::spec.jacobian_reuse);
  static constexpr bool rescales = rule.least_ratio < 1.0;
  /// Scales a correction of a stage that was found with a matrix for another step.
  MANYFOLD_INLINE void rescale(Real (&correction)[System::n]) const {
    if constexpr (rescales) {
      for (int i = 0; i < System::n; ++i) correction[i] *= scale_;
    }
  }

  /// Evaluates the Jacobians in the lanes of `outdated`, then the factors in those of `refactor`. Where an entry is not
  /// finite, it looks beside the point.
  template <bool keeps, class State>
  MANYFOLD_INLINE void update(const Mask& outdated, const Mask& refactor, const State& state, Memory& memory,
                              WorkCounters<Real>& work, auto&& factor) {
    const auto renew_at = [&](const Mask& evaluated, const Mask& factored, const Real(&y)[System::n]) {
      if (any(evaluated)) {
        const LinearisationPoint<System, Real> at{state.t, y, state.dy, state.p, state.weight, state.rtol, state.h};
        evaluate_at<keeps>(evaluated, at);
      }
      if (any(factored)) {
        const Mask good = factor(factored);
        memory.singular = (memory.singular & !factored) | (factored & !good);
      }
      count_work<Real>(work.jacobians, evaluated, Real(1.0));
      if constexpr (System::residuals_of_jacobian() > 0) {
        count_work<Real>(work.residuals, evaluated, Real(static_cast<double>(System::residuals_of_jacobian())));
      }
      count_work<Real>(work.factorizations, factored, Real(1.0));
    };
    renew_at(outdated, refactor, state.y);
    if constexpr (alone && looks_beside) {
      const Mask singular = refactor & memory.singular;
      if (!any(singular)) return;
      look_beside(singular & !is_defined(), state.y, state.weight, [&](const Mask& lanes, const Real(&y)[System::n]) {
        renew_at(lanes, lanes, y);
        return Mask(lanes & memory.singular & !is_defined());
      });
    }
  }

  /// Asks other kernels for factors of shift F_y' + F_y, or what a method makes of the shift.
  MANYFOLD_INLINE void request_factors(const Real& shift) { own_->shift = shift; }

  /// How many threads share the evaluation of recorded Jacobians: one per group of columns, up to a warp.
  static constexpr int shares() {
    constexpr int by_y = group_columns(System::pattern_y).count;
    constexpr int by_dy = System::mass_form ? 1 : group_columns(System::pattern_dy).count;
    constexpr int most = by_y > by_dy ? by_y : by_dy;
    return most < 1 ? 1 : most > 32 ? 32 : most;
  }
  /// The Jacobians that are wanted, or the part of them that falls to thread `share`.
  static MANYFOLD_INLINE void evaluate_recorded(Workspace& at, int share) {
    if (at.outdated == 0) return;
    System::template jacobian<shares()>(at.t, at.y, at.dy, at.p, at.weight, at.rtol, at.h, at.by_y, at.by_dy, share);
  }
  static MANYFOLD_INLINE void forget_request(Workspace& at) { at.outdated = 0; }

  /// F_y' x
  MANYFOLD_INLINE void apply_dy(const Real (&x)[System::n], Real (&product)[System::n]) const {
    const Entries& own = entries();
    for (int i = 0; i < System::n; ++i) product[i] = Real(0.0);
    for_each_index<System::entries_dy.size>([&](auto k) {
      const int i = row_dy(k);
      product[i] += own.by_dy[k] * x[column_dy(k)];
    });
  }

  /// sum += F_y x
  MANYFOLD_INLINE void add_product_y(const Real (&x)[System::n], Real (&sum)[System::n]) const {
    for_each_index<System::entries_y.size>([&](auto k) {
      const int i = row_y(k);
      sum[i] += entries().by_y[k] * x[column_y(k)];
    });
  }

  /// |F_y| |y| + |F_y'| |y'|: the size of the terms of F, as far as its derivatives tell.
  MANYFOLD_INLINE void magnitudes(const Real (&y)[System::n], const Real (&dy)[System::n],
                                  Real (&sum)[System::n]) const {
    for (int i = 0; i < System::n; ++i) sum[i] = Real(0.0);
    for_each_index<System::entries_y.size>([&](auto k) {
      const int i = row_y(k);
      sum[i] += abs(entries().by_y[k] * y[column_y(k)]);
    });
    for_each_index<System::entries_dy.size>([&](auto k) {
      const int i = row_dy(k);
      sum[i] += abs(entries().by_dy[k] * dy[column_dy(k)]);
    });
  }

  /// Entry (i, j) of F_y, which must be in its pattern.
  MANYFOLD_INLINE const Real& entry_y(int i, int j) const { return entries().by_y[System::entries_y.slot(i, j)]; }

  /// Entry k of F_y', in the row order of its pattern.
  MANYFOLD_INLINE const Real& entry_dy(int k) const { return entries().by_dy[k]; }

  /// Entry k of shift F_y' + F_y, in the row order of `Structure::matrix`.
  template <class Number>
  MANYFOLD_INLINE Number shifted(auto k, const Number& shift) const {
    const Entries& own = entries();
    const int in_y = slot_y(k);
    const int in_dy = slot_dy(k);
    if (in_dy < 0) return as<Number>(own.by_y[in_y]);
    if (in_y < 0) return scale(shift, own.by_dy[in_dy]);
    return scale(shift, own.by_dy[in_dy]) + as<Number>(own.by_y[in_y]);
  }

 private:
  static constexpr bool listed = Structure::matrix.size() <= most_listed_entries;
  struct Slots {
    static constexpr int size = listed ? Structure::matrix.size() : 1;
    short y[size] = {};
    short dy[size] = {};
  };
  static constexpr Slots find_slots() {
    constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);
    Slots result;
    for (int k = 0; k < Slots::size; ++k) {
      result.y[k] = static_cast<short>(System::entries_y.slot(entries.row[k], entries.column[k]));
      result.dy[k] = static_cast<short>(System::entries_dy.slot(entries.row[k], entries.column[k]));
    }
    return result;
  }
  static constexpr Slots slots = find_slots();
  static constexpr MANYFOLD_INLINE int slot_y(int k) {
    if constexpr (listed) return slots.y[k];
    return System::entries_y.slot(k / System::n, k % System::n);
  }
  static constexpr MANYFOLD_INLINE int slot_dy(int k) {
    if constexpr (listed) return slots.dy[k];
    return System::entries_dy.slot(k / System::n, k % System::n);
  }

  static constexpr MANYFOLD_INLINE int row_y(int k) { return System::entries_y.row[k]; }
  static constexpr MANYFOLD_INLINE int column_y(int k) { return System::entries_y.column[k]; }
  static constexpr MANYFOLD_INLINE int row_dy(int k) { return System::entries_dy.row[k]; }
  static constexpr MANYFOLD_INLINE int column_dy(int k) { return System::entries_dy.column[k]; }

  template <class Number>
  static MANYFOLD_INLINE Number as(const Real& x) {
    if constexpr (is_same<Number, Real>) {
      return x;
    } else {
      return Number(x, Real(0.0));
    }
  }
  static MANYFOLD_INLINE Real scale(const Real& shift, const Real& x) { return shift * x; }
  static MANYFOLD_INLINE Complex<Real> scale(const Complex<Real>& shift, const Real& x) {
    return {shift.re * x, shift.im * x};
  }

  /// Evaluates the Jacobians in the lanes of `mask`; with `keep_others` the other lanes keep theirs.
  template <bool keep_others>
  MANYFOLD_INLINE void evaluate_at(const Mask& mask, const LinearisationPoint<System, Real>& state) {
    Entries& own = entries();
    if constexpr (batched) {
      own_->t = state.t;
      for (int i = 0; i < System::n; ++i) {
        own_->y[i] = state.y[i];
        own_->dy[i] = state.dy[i];
        own_->weight[i] = state.weight[i];
      }
      for (int i = 0; i < System::constants_size; ++i) own_->p[i] = state.p[i];
      own_->rtol = state.rtol;
      own_->h = state.h;
      own_->outdated = 1;
    } else if constexpr (!alone) {
      team_.synchronize();  // others may still be factorising
      System::template jacobian<Team::size>(state.t, state.y, state.dy, state.p, state.weight, state.rtol, state.h,
                                            own.by_y, own.by_dy, team_.rank());
      team_.synchronize();
    } else if constexpr (keep_others) {
      Real fresh_y[System::nonzeros_y];
      Real fresh_dy[System::nonzeros_dy];
      System::jacobian(state.t, state.y, state.dy, state.p, state.weight, state.rtol, state.h, fresh_y, fresh_dy);
      for_each_index<System::nonzeros_y>([&](auto k) { own.by_y[k] = select(mask, fresh_y[k], own.by_y[k]); });
      for_each_index<System::nonzeros_dy>([&](auto k) { own.by_dy[k] = select(mask, fresh_dy[k], own.by_dy[k]); });
    } else {
      System::jacobian(state.t, state.y, state.dy, state.p, state.weight, state.rtol, state.h, own.by_y, own.by_dy);
    }
  }

  MANYFOLD_INLINE Mask is_defined() const { return all_finite(own_.by_y) & all_finite(own_.by_dy); }

  MANYFOLD_INLINE Entries& entries() {
    if constexpr (alone) {
      return own_;
    } else {
      return *own_;
    }
  }
  MANYFOLD_INLINE const Entries& entries() const { return const_cast<Linearisation*>(this)->entries(); }

  typename Either<alone, Entries, Workspace*>::type own_;
  Team team_;
  // Of the attempt:
  Mask renewed_;
  Real scale_;  ///< of corrections, where matrices for another step serve
};

}  // namespace manyfold
