#pragma once
// The matrices F_y and F_y': as the model writes them, by dual numbers, or by finite differences.
#include "functions.hpp"

namespace manyfold {

template <Model Equations, auto spec>
struct ModelJacobian : ModelFunctions<Equations, spec> {
  using Base = ModelFunctions<Equations, spec>;
  using Base::constants_size;
  using Base::evaluate_mass;
  using Base::mass_form;
  using Base::n;
  using Base::nonzeros_dy;
  using Base::nonzeros_y;
  using Base::pattern_dy;
  using Base::pattern_y;
  using Base::residual;

  /// Directions that one pass of dual numbers carries at most, so that they stay in the first-level cache. With fewer,
  /// compilers have less to do for the equations of large models, which are evaluated more often in return.
  static constexpr int most_directions = Base::is_large ? 6 : 12;
  /// Of `count` columns in as few passes as that allows: all alike, so that the equations are compiled once for them.
  static constexpr int directions_of(int count) {
    const int passes = (count + most_directions - 1) / most_directions;
    return (count + passes - 1) / passes;
  }

  /// Directions of a pass of F_y, where one lane does all of them.
  static constexpr int directions_of_jacobian = nonzeros_y > most_listed_entries
                                                    ? 4
                                                    : directions_of(group_columns(pattern_y).count);

  /// The nonzeros of F_y into `J` and of F_y' into `M`, in the order of `entries_y` and `entries_dy`. A team divides
  /// the work among `shares`: every one of them calls with its number as `share`. What the model writes itself is
  /// written by the first. `weight` and `rtol` of the error norm and step `h`: the scales of
  /// finite differences.
  template <int shares = 1, class Real>
  static MANYFOLD_INLINE void jacobian(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                       const Real (&p)[constants_size], const Real (&weight)[n], double rtol,
                                       const Real& h, Real (&J)[nonzeros_y], Real (&M)[nonzeros_dy], auto share) {
    constexpr bool may_use_own = spec.jacobian == JacobianSource::automatic;
    if constexpr (spec.jacobian == JacobianSource::finite_differences) {
      Real step_y[n];
      Real step_dy[n];
      difference_steps(y, dy, weight, rtol, h, step_y, step_dy);
      difference<true, shares>(y, step_y, J, share,
                               [&](const auto& shifted, auto& F) { residual(t, shifted, dy, p, F); });
      if constexpr (mass_form) {
        if (share == 0) evaluate_mass(p, M);
      } else {
        difference<false, shares>(dy, step_dy, M, share,
                                  [&](const auto& shifted, auto& F) { residual(t, y, shifted, p, F); });
      }
    } else if constexpr (mass_form) {
      if (share == 0) evaluate_mass(p, M);
      if constexpr (may_use_own && model_check::HasRhsJacobian<Equations>) {
        if (share != 0) return;
        for (int k = 0; k < nonzeros_y; ++k) J[k] = Real(0.0);
        typename Base::template EntryWriter<Real, nonzeros_y, true> write_J{J};
        Equations::jacobian(t, y, p, write_J);
        for (int k = 0; k < nonzeros_y; ++k) J[k] = -J[k];
      } else {
        differentiate<true, shares>(y, J, share, [&](const auto& seeded, auto& F) {
          Equations::rhs(t, seeded, p, F);
          for (int i = 0; i < n; ++i) F[i] = -F[i];
        });
      }
    } else if constexpr (may_use_own && model_check::HasResidualJacobian<Equations>) {
      if (share != 0) return;
      for (int k = 0; k < nonzeros_y; ++k) J[k] = Real(0.0);
      for (int k = 0; k < nonzeros_dy; ++k) M[k] = Real(0.0);
      typename Base::template EntryWriter<Real, nonzeros_y, true> write_J{J};
      typename Base::template EntryWriter<Real, nonzeros_dy, false> write_M{M};
      Equations::jacobian(t, y, dy, p, write_J, write_M);
    } else {
      differentiate<true, shares>(y, J, share,
                                  [&](const auto& seeded, auto& F) { Equations::residual(t, seeded, dy, p, F); });
      differentiate<false, shares>(dy, M, share,
                                   [&](const auto& seeded, auto& F) { Equations::residual(t, y, seeded, p, F); });
    }
  }

  template <class Real>
  static MANYFOLD_INLINE void jacobian(const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                       const Real (&p)[constants_size], const Real (&weight)[n], double rtol,
                                       const Real& h, Real (&J)[nonzeros_y], Real (&M)[nonzeros_dy]) {
    jacobian(t, y, dy, p, weight, rtol, h, J, M, Constant<0>{});
  }

  /// Evaluations of F that a Jacobian costs beyond those that its dual numbers stand for.
  static constexpr int residuals_of_jacobian() {
    if constexpr (spec.jacobian != JacobianSource::finite_differences) return 0;
    const int of_y = groups<true>.count + 1;
    return mass_form ? of_y : of_y + groups<false>.count + 1;
  }

 private:
  /// The derivatives of `function` with respect to `x`, on the nonzeros of F_y or F_y', group of columns by group.
  template <bool by_y, int shares, class Real, int Count>
  static MANYFOLD_INLINE void differentiate(const Real (&x)[n], Real (&values)[Count], auto share, auto&& function) {
    if constexpr (Count > most_listed_entries) {
      differentiate_full<shares>(x, values, share, function);
    } else {
      differentiate_listed<by_y, shares>(x, values, share, function);
    }
  }

  template <bool by_y, int shares, class Real, int Count>
  static MANYFOLD_INLINE void differentiate_listed(const Real (&x)[n], Real (&values)[Count], auto share,
                                                   auto&& function) {
    constexpr int groups_of_share = (groups<by_y>.count + shares - 1) / shares;
    constexpr int passes = (groups_of_share + most_directions - 1) / most_directions;
    const int begin = share * groups_of_share;
    static_for<passes>([&](auto pass) {
      constexpr int directions = directions_of(groups_of_share);
      constexpr int done = pass * directions;
      constexpr int used = groups_of_share - done < directions ? groups_of_share - done : directions;
      const int first = begin + done;
      if (first >= groups<by_y>.count) return;
      Dual<Real, directions> seeded[n];
      Dual<Real, directions> F[n];
      for_each_index<n>([&](auto j) {
        seeded[j] = Dual<Real, directions>(x[j]);
        const int group = groups<by_y>.group[j] - first;
        if (group >= 0 && group < used) seeded[j].tangent[group] = Real(1.0);
      });
      function(seeded, F);
      for_each_index<Base::template entries<by_y>().size>([&](auto k) {
        const int group = groups<by_y>.group[Base::template entries<by_y>().column[k]] - first;
        if (group >= 0 && group < used) values[k] = F[Base::template entries<by_y>().row[k]].tangent[group];
      });
    });
  }

  /// All of a large full matrix, a few columns at a time: a GPU sets aside what a thread has of them for every thread.
  template <int shares, class Real, int Count>
  static MANYFOLD_INLINE void differentiate_full(const Real (&x)[n], Real (&values)[Count], auto share,
                                                 auto&& function) {
    constexpr int directions = 4;
    constexpr int columns = (n + shares - 1) / shares;
    const int begin = share * columns;
    const int end = begin + columns < n ? begin + columns : n;
    for (int first = begin; first < end; first += directions) {
      const int count = end - first < directions ? end - first : directions;
      Dual<Real, directions> seeded[n];
      Dual<Real, directions> F[n];
      for (int j = 0; j < n; ++j) seeded[j] = Dual<Real, directions>(x[j]);
      for (int d = 0; d < count; ++d) seeded[first + d].tangent[d] = Real(1.0);
      function(seeded, F);
      for (int i = 0; i < n; ++i) {
        for (int d = 0; d < count; ++d) values[i * n + first + d] = F[i].tangent[d];
      }
    }
  }

  /// Steps of finite differences: sqrt(epsilon) max(|y| + atol/rtol, |h y'|), in the direction of the solution; those
  /// of y' the same over h, for both change together in an iteration matrix. IDA and DASSL have atol alone in place of
  /// atol/rtol, which beside larger terms of an equation is lost to rounding.
  template <class Real>
  static MANYFOLD_INLINE void difference_steps(const Real (&y)[n], const Real (&dy)[n], const Real (&weight)[n],
                                               double rtol, const Real& h, Real (&step_y)[n], Real (&step_dy)[n]) {
    constexpr double root = epsilon<Real> < 1e-10 ? 1.4901161193847656e-8 : 3.4526698300124393e-4;
    for (int i = 0; i < n; ++i) {
      const Real change = h * dy[i];
      const Real size = Real(root) * max(max(abs(y[i]), Real(1.0 / rtol) / weight[i]), abs(change));
      step_y[i] = select(change < Real(0.0), -size, size);
      step_dy[i] = size / h;
    }
  }

  /// As `differentiate`, by forward differences: columns that share no row are shifted together. Curtis, Powell & Reid,
  /// J. Inst. Math. Appl. 13 (1974).
  template <bool by_y, int shares, class Real, int Count>
  static MANYFOLD_INLINE void difference(const Real (&x)[n], const Real (&step)[n], Real (&values)[Count], auto share,
                                         auto&& function) {
    Real F[n];
    function(x, F);
    for (int group = share; group < groups<by_y>.count; group += shares) {
      Real shifted[n];
      for_each_index<n>([&](auto j) { shifted[j] = groups<by_y>.group[j] == group ? x[j] + step[j] : x[j]; });
      Real G[n];
      function(shifted, G);
      for_each_index<Base::template entries<by_y>().size>([&](auto k) {
        const int j = Base::template entries<by_y>().column[k];
        const int i = Base::template entries<by_y>().row[k];
        // The difference of the arguments as they were rounded.
        if (groups<by_y>.group[j] == group) values[k] = (G[i] - F[i]) / (shifted[j] - x[j]);
      });
    }
  }

  template <bool by_y>
  static constexpr auto groups = group_columns(by_y ? pattern_y : pattern_dy);
};

}  // namespace manyfold
