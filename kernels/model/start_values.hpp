#pragma once
// What an instance starts from: the values and derivatives that are given, derived numbers, the discrete state.
#include "kernel_spec.hpp"
#include "patterns.hpp"

namespace manyfold {

template <Model Equations, auto spec>
struct StartValues : ModelPatterns<Equations> {
  using Base = ModelPatterns<Equations>;
  using Base::constants_size;
  using Base::derivative_occurs;
  using Base::discrete;
  using Base::discrete_size;
  using Base::first_discrete;
  using Base::highest_index;
  using Base::n;
  using Base::parameters;

  /// What is given of variable i at the start: as the kernel was asked for, else as the model declares it.
  static constexpr Given given(int i) {
    if (spec.says_what_is_given) return spec.given[i];
    for (const Variable& variable : Equations::variables) {
      if (i < variable.count) return variable.given;
      i -= variable.count;
    }
    return Given::by_kind;
  }
  static constexpr bool gives_value(int i) {
    if (given(i) == Given::by_kind) return derivative_occurs(i);
    return given(i) == Given::value || given(i) == Given::value_and_derivative || given(i) == Given::projected;
  }
  /// Does the model itself find the initial value, if it says that it follows from equations?
  static constexpr bool determined(int i) { return given(i) == Given::by_kind && derivative_occurs(i); }
  static constexpr bool gives_derivative(int i) {
    return given(i) == Given::derivative || given(i) == Given::value_and_derivative;
  }
  /// Is nothing but the values of the differential variables given?
  static constexpr bool gives_by_kind() {
    for (int i = 0; i < n; ++i) {
      if (gives_value(i) != derivative_occurs(i) || gives_derivative(i)) return false;
    }
    return true;
  }
  static constexpr bool starts_projected() {
    for (int i = 0; i < n; ++i) {
      if (given(i) == Given::projected) return true;
    }
    return false;
  }
  static constexpr int count_given_derivatives() {
    int count = 0;
    for (int i = 0; i < n; ++i) count += gives_derivative(i) ? 1 : 0;
    return count;
  }
  static constexpr int given_derivatives = count_given_derivatives();
  /// Numbers that an instance starts from: all initial values, then the derivatives that are given.
  static constexpr int initial_size = n + given_derivatives;
  static_assert(given_derivatives == 0 || highest_index() == 1,
                "manyfold: of variables of index 2 and 3 the values are given, not derivatives");
  /// Are values of differential variables no more than guesses?
  static constexpr bool guesses_values() {
    for (int i = 0; i < n; ++i) {
      if (derivative_occurs(i) && given(i) == Given::nothing) return true;
    }
    return false;
  }

  /// The constants of the variables, as initial values are numbered.
  struct Defaults {
    double number[initial_size] = {};
  };
  static constexpr Defaults find_defaults() {
    Defaults defaults;
    int i = 0;
    int next = n;
    for (const Variable& variable : Equations::variables) {
      for (int k = 0; k < variable.count; ++k) {
        if (gives_derivative(i)) defaults.number[next++] = variable.initial_derivative;
        defaults.number[i++] = variable.initial;
      }
    }
    return defaults;
  }

  /// Splits the numbers that an instance starts from; `put_y(i, value)` and `put_dy(i, value)` take them.
  static MANYFOLD_INLINE void distribute_initial(const double* initial, auto&& put_y, auto&& put_dy) {
    for (int i = 0; i < n; ++i) put_y(i, initial[i]);
    int next = n;
    for_each_index<n>([&](auto i) {
      if (gives_derivative(i)) {
        put_dy(static_cast<int>(i), initial[next++]);
      } else {
        put_dy(static_cast<int>(i), 0.0);
      }
    });
  }

  /// Puts the model's own numbers for an instance with these parameters, those of `initial(p, y)` or the constants of
  /// the variables, where `initial` [initial_size] has NaN.
  static MANYFOLD_INLINE void complete_initial(const double* parameter_values, double* initial) {
    constexpr Defaults defaults = find_defaults();
    double own[initial_size];
    for (int i = 0; i < initial_size; ++i) own[i] = defaults.number[i];
    if constexpr (model_check::HasInitial<Equations>) {
      double p[constants_size] = {};
      for (int i = 0; i < parameters; ++i) p[i] = parameter_values[i];
      derive(p);
      double y[n];
      // What follows from numbers that are set follows from these.
      for (int i = 0; i < n; ++i) y[i] = initial[i] == initial[i] ? initial[i] : own[i];
      Equations::initial(p, y);
      for (int i = 0; i < n; ++i) own[i] = y[i];
    }
    for (int i = 0; i < initial_size; ++i) {
      if (!(initial[i] == initial[i])) initial[i] = own[i];
    }
  }

  /// Completes `p` with the derived numbers.
  template <class Real>
  static MANYFOLD_INLINE void derive(Real (&p)[constants_size]) {
    if constexpr (first_discrete > parameters) Equations::derive(p);
  }

  /// Completes `p` with the initial discrete state. `y`: initial values, which need not be consistent yet.
  template <class Real>
  static MANYFOLD_INLINE void start_discrete(const Real (&y)[n], Real (&p)[constants_size]) {
    if constexpr (discrete > 0) {
      Real d[discrete_size];
      static_for<discrete>([&](auto k) {
        constexpr double initial = Equations::discrete[k].initial;
        p[first_discrete + k] = d[k] = Real(initial);
      });
      if constexpr (model_check::HasInitialDiscrete<Equations>) Equations::initial_discrete(y, p, d);
      for (int k = 0; k < discrete; ++k) p[first_discrete + k] = d[k];
    }
  }
};

}  // namespace manyfold
