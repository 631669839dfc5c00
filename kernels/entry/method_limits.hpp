#pragma once
// What the methods can integrate, as their tableaux say.
#include <manyfold/method_limits.hpp>

#include "../methods/all.hpp"

namespace manyfold {

/// What a tableau says of the models that its method can integrate. What it does not say suits all.
template <class Tableau>
constexpr MethodLimits limits_of_tableau() {
  MethodLimits limits{Tableau::name, Tableau::order,           Form::residual,
                      true,          Tableau::order_of_index2, Tableau::order_of_index3};
  if constexpr (requires { Tableau::form; }) limits.form = Tableau::form;
  if constexpr (requires { Tableau::takes_algebraic; }) limits.algebraic = Tableau::takes_algebraic;
  return limits;
}

}  // namespace manyfold
