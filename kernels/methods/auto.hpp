#pragma once
// method = "auto": the method that the form of the equations and the tolerance ask for. The rule is that of
// docs/choosing.md, where the measurements are.
#include "all.hpp"

namespace manyfold {

/// What the tolerance asks for: `loose` from 1e-3 up, `medium` from 1e-6 up, else `tight`.
enum class Accuracy { loose, medium, tight };

template <class Method>
struct Chosen {
  using type = Method;
};

/// Rosenbrock methods need M y' = f(t, y) of index 1 and matrices that are exact, not rounded to single precision.
template <Accuracy accuracy, class System, class Real>
constexpr auto choose_method() {
  if constexpr (System::highest_index() == 3) {
    return Chosen<Radau9<System, Real>>();
  } else if constexpr (System::highest_index() == 1 && System::constant_mass() &&
                       !has_single_precision_factors<System>()) {
    if constexpr (accuracy == Accuracy::loose) {
      return Chosen<Rodas4<System, Real>>();
    } else {
      return Chosen<Rodas5p<System, Real>>();
    }
  } else if constexpr (accuracy == Accuracy::tight) {
    return Chosen<Radau9<System, Real>>();
  } else {
    return Chosen<Radau5<System, Real>>();
  }
}

/// The methods, for the run-time table.
template <class System, class Real>
using AutoLoose = typename decltype(choose_method<Accuracy::loose, System, Real>())::type;
template <class System, class Real>
using AutoMedium = typename decltype(choose_method<Accuracy::medium, System, Real>())::type;
template <class System, class Real>
using AutoTight = typename decltype(choose_method<Accuracy::tight, System, Real>())::type;

}  // namespace manyfold
