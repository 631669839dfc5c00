#pragma once
// What methods can integrate, by the form of a model's equations and its index. The command, `Ensemble` and
// docs/choosing.md all go by what the tableaux say: see kernels/entry/method_limits.hpp.
#include <string_view>

#include <manyfold/form.hpp>

namespace manyfold {

/// The highest index that can be stated.
inline constexpr int most_index = 3;

struct MethodLimits {
  std::string_view name;
  int order;       ///< for index 1
  Form form;       ///< the most general that the method takes
  bool algebraic;  ///< it takes equations without derivatives
  /// Order of the differential variables (of the positions) for index 2 and 3, 0: not convergent, or not with steps
  /// that vary. Hairer, Lubich & Roche, The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta Methods
  /// (1989); Brenan, Campbell & Petzold (1996), sections 3.2 and 4.2 (BDF); measured in tests/numerics.
  int order_of_index2;
  int order_of_index3;

  constexpr int order_of_index(int index) const {
    return index <= 1 ? order : index == 2 ? order_of_index2 : order_of_index3;
  }
};

enum class Suitability {
  suits,
  reduced,  ///< it converges, but by two orders or more slower than for index 1: expect many steps and larger errors
  refused,
};

/// How the method suits models of the index, whatever their form.
constexpr Suitability suitability(const MethodLimits& limits, int index) {
  const int order = limits.order_of_index(index);
  if (order == 0) return Suitability::refused;
  return limits.order - order >= 2 ? Suitability::reduced : Suitability::suits;
}

/// What to take for models of the index instead of a method that does not suit.
constexpr std::string_view method_to_take(int index) {
  return index >= 3 ? "radau9" : "radau5";
}

}  // namespace manyfold
