#pragma once
// The functions of a model: F(t, y, y', p), its events, observables and stages.
#include "../algebra/dual.hpp"
#include "../lane/scalar.hpp"
#include "start_values.hpp"

namespace manyfold {

template <Model Equations, auto spec>
struct ModelFunctions : StartValues<Equations, spec> {
  using Base = StartValues<Equations, spec>;
  using Base::algebraic_variables;
  using Base::constants_size;
  using Base::discrete;
  using Base::discrete_size;
  using Base::entries_dy;
  using Base::events_size;
  using Base::first_discrete;
  using Base::invariants;
  using Base::mass_form;
  using Base::n;
  using Base::nonzeros_dy;
  using Base::observables;
  using Base::observables_size;
  using Base::remembers_sides;
  using Base::scheduled_size;
  using Base::scheduled_times;
  using Base::stage_constants;
  using Base::stage_constants_size;
  using Base::terms_of_stage;

  /// The first `invariants` of g.
  template <class Time, class Number, class Real>
  static MANYFOLD_INLINE void invariant(const Time& t, const Number (&y)[n], const Real (&p)[constants_size], auto& g) {
    if constexpr (invariants > 0) Equations::invariant(t, y, p, g);
  }

  template <class Real>
  static MANYFOLD_INLINE void observe(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                      const Real (&p)[constants_size], Real (&o)[observables_size]) {
    if constexpr (observables > 0) Equations::observe(t, y, dy, p, o);
  }

  /// Root functions of the events that are not scheduled.
  template <class Number, class Real>
  static MANYFOLD_INLINE void root(const Number& t, const Number (&y)[n], const Number (&dy)[n],
                                   const Real (&p)[constants_size], Number (&g)[events_size]) {
    Equations::root(t, y, dy, p, g);
  }

  /// The sides that the discrete state remembers: 1 or -1; 0: none.
  template <class Real>
  static MANYFOLD_INLINE void sides(const Real (&p)[constants_size], Real (&side)[events_size]) {
    if constexpr (remembers_sides) Equations::sides(p, side);
  }

  /// Times of the scheduled events. With several times for one event, they follow each other.
  template <class Real>
  static MANYFOLD_INLINE void event_times(const Real (&p)[constants_size], Real (&times)[scheduled_size]) {
    if constexpr (scheduled_times > 0) Equations::event_times(p, times);
  }

  /// Carries out the action of event `k` in the lanes of `mask`.
  template <class Real>
  static MANYFOLD_INLINE void act(auto k, const MaskOf<Real>& mask, const Real& t, Real (&y)[n], const Real (&dy)[n],
                                  Real (&p)[constants_size]) {
    if constexpr (model_check::HasAction<Equations>) {
      Real new_y[n];
      Real d[discrete_size];
      for (int i = 0; i < n; ++i) new_y[i] = y[i];
      for (int i = 0; i < discrete; ++i) d[i] = p[first_discrete + i];
      const Real(&constants_before)[constants_size] = p;
      Equations::action(k, t, new_y, dy, constants_before, d);
      for (int i = 0; i < n; ++i) y[i] = select(mask, new_y[i], y[i]);
      for (int i = 0; i < discrete; ++i) p[first_discrete + i] = select(mask, d[i], p[first_discrete + i]);
    }
  }

  /// Carries out the actions of all events that `fires` tells together, in the lanes of `mask`. Returns those in which
  /// the discrete state finds no rest.
  template <class Real>
  static MANYFOLD_INLINE MaskOf<Real> act_together(const Real (&fires)[events_size], const MaskOf<Real>& mask,
                                                   const Real& t, Real (&y)[n], const Real (&dy)[n],
                                                   Real (&p)[constants_size]) {
    Real new_y[n];
    Real d[discrete_size];
    for (int i = 0; i < n; ++i) new_y[i] = y[i];
    for (int i = 0; i < discrete; ++i) d[i] = p[first_discrete + i];
    const Real(&constants_before)[constants_size] = p;
    Real unsettled(0.0);
    Equations::actions(fires, t, new_y, dy, constants_before, d, unsettled);
    for (int i = 0; i < n; ++i) y[i] = select(mask, new_y[i], y[i]);
    for (int i = 0; i < discrete; ++i) p[first_discrete + i] = select(mask, d[i], p[first_discrete + i]);
    return mask & (unsettled > Real(0.0));
  }

  /// F(t, y, y', p); for the mass-matrix form M y' - f(t, y, p).
  template <class Time, class Number, class Derivative, class Real>
  static MANYFOLD_INLINE void residual(const Time& t, const Number (&y)[n], const Derivative (&dy)[n],
                                       const Real (&p)[constants_size], auto(&F)[n]) {
    if constexpr (mass_form) {
      Equations::rhs(t, y, p, F);
      if constexpr (model_check::HasMassMatrix<Equations>) {
        Real mass[nonzeros_dy];
        evaluate_mass(p, mass);
        for (int i = 0; i < n; ++i) F[i] = -F[i];
        static_for<entries_dy.size>([&](auto k) {
          constexpr int i = entries_dy.row[k];
          constexpr int j = entries_dy.column[k];
          F[i] = F[i] + mass[k] * dy[j];
        });
      } else {
        for_each_index<n, unrolled_equations>([&](auto i) {
          if (algebraic_variables.contains(i)) {
            F[i] = -F[i];
          } else {
            F[i] = dy[i] - F[i];
          }
        });
      }
    } else {
      Equations::residual(t, y, dy, p, F);
    }
  }

  /// What all stages of a step of gamma h share.
  template <class Real>
  static MANYFOLD_INLINE void share_stages(const Real& gamma_h, const Real& over_gamma_h,
                                           const Real (&p)[constants_size], Real (&constants)[stage_constants_size]) {
    if constexpr (stage_constants > 0) Equations::stage_constants(gamma_h, over_gamma_h, p, constants);
  }

  /// The unknowns z of a stage for given y.
  template <class Real>
  static MANYFOLD_INLINE void stage_guess(const Real& t, const Real& over_gamma_h, const Real (&base)[n],
                                          const Real (&y)[n], const Real (&p)[constants_size], auto& z) {
    Equations::stage_guess(t, over_gamma_h, base, y, p, z);
  }

  /// What all iterations of a stage share.
  static constexpr MANYFOLD_INLINE void stage_terms(const auto& t, const auto& gamma_h, const auto& over_gamma_h,
                                                    const auto& constants, const auto& base, const auto& p,
                                                    auto& terms) {
    if constexpr (terms_of_stage > 0) Equations::stage_terms(t, gamma_h, over_gamma_h, constants, base, p, terms);
  }

  /// y of the stage y = base + gamma h y' for unknowns z, and their residuals r. The residuals of algebraic equations
  /// are to be `offset`.
  static constexpr MANYFOLD_INLINE void stage(const auto& t, const auto& gamma_h, const auto& over_gamma_h,
                                              const auto& constants, const auto& terms, const auto& base,
                                              const auto& offset, const auto& z, const auto& p, auto& y, auto& r) {
    Equations::stage(t, gamma_h, over_gamma_h, constants, terms, base, offset, z, p, y, r);
  }

  /// The partial derivative of F with respect to t.
  template <class Real>
  static MANYFOLD_INLINE void time_derivative(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                              const Real (&p)[constants_size], Real (&by_t)[n]) {
    Dual<Real, 1> seeded(t);
    seeded.tangent[0] = Real(1.0);
    Dual<Real, 1> F[n];
    residual(seeded, y, dy, p, F);
    for (int i = 0; i < n; ++i) by_t[i] = F[i].tangent[0];
  }

 protected:
  /// What a model's `jacobian` writes to: (i, j) -> the slot of that entry. Structural zeros go nowhere.
  template <class Real, int Count, bool by_y>
  struct EntryWriter {
    Real (&values)[Count];
    Real structural_zero = Real(0.0);
    MANYFOLD_INLINE Real& operator()(int i, int j) {
      const int slot = Base::template entries<by_y>().slot(i, j);
      return slot >= 0 ? values[slot] : structural_zero;
    }
  };

  template <class Real>
  static MANYFOLD_INLINE void evaluate_mass(const Real (&p)[constants_size], Real (&M)[nonzeros_dy]) {
    if constexpr (model_check::HasMassMatrix<Equations>) {
      EntryWriter<Real, nonzeros_dy, false> write_M{M};
      Equations::mass_matrix(p, write_M);
    } else {
      for (int k = 0; k < nonzeros_dy; ++k) M[k] = Real(1.0);
    }
  }

 private:
  /// Systems beyond have loops over their equations where smaller ones have straight code.
  static constexpr int unrolled_equations = 64;
};

}  // namespace manyfold
