#pragma once
// What each method can integrate, by the form of a model's equations and its index. The command, `Ensemble` and
// docs/choosing.md all go by this table.
#include <string_view>

namespace manyfold {

/// The form in which a model states its equations, the most general first.
enum class Form {
  residual,       ///< F(t, y, y') = 0
  mass_matrix,    ///< M y' = f(t, y)
  semi_explicit,  ///< the same with a diagonal M of ones and zeros
};

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

inline constexpr MethodLimits method_limits[] = {
    {"radau5", 5, Form::residual, true, 5, 4},      {"radau", 13, Form::residual, true, 13, 12},
    {"radau1", 1, Form::residual, true, 1, 0},      {"radau3", 3, Form::residual, true, 3, 2},
    {"radau9", 9, Form::residual, true, 9, 8},      {"radau13", 13, Form::residual, true, 13, 12},
    {"lobatto2", 2, Form::residual, true, 2, 0},    {"lobatto4", 4, Form::residual, true, 4, 2},
    {"lobatto6", 6, Form::residual, true, 6, 4},    {"esdirk54", 5, Form::residual, true, 3, 0},
    {"esdirk43", 4, Form::residual, true, 3, 0},    {"kvaerno54", 5, Form::residual, true, 3, 0},
    {"kvaerno43", 4, Form::residual, true, 4, 0},   {"trbdf2", 2, Form::residual, true, 2, 0},
    {"sdirk4", 4, Form::residual, true, 2, 0},      {"sdirk3", 3, Form::residual, true, 2, 0},
    {"sdirk2", 2, Form::residual, true, 2, 0},      {"backward_euler", 1, Form::residual, true, 1, 0},
    {"cash4", 4, Form::residual, true, 2, 0},       {"dirks", 4, Form::residual, true, 2, 0},
    {"dirka", 4, Form::semi_explicit, true, 0, 0},  {"dirka4", 4, Form::semi_explicit, true, 0, 0},
    {"dirka3", 3, Form::semi_explicit, true, 0, 0}, {"dirka2", 2, Form::semi_explicit, true, 0, 0},
    {"rodas5p", 5, Form::mass_matrix, true, 0, 0},  {"rodas4", 4, Form::mass_matrix, true, 0, 0},
    {"rodas3", 3, Form::mass_matrix, true, 0, 0},   {"bdf", 5, Form::residual, true, 5, 0},
    {"dopri54", 5, Form::residual, false, 0, 0},    {"rk4", 4, Form::residual, false, 0, 0},
};

/// The row of `name`; null if it is not there.
constexpr const MethodLimits* limits_of(std::string_view name) {
  for (const MethodLimits& limits : method_limits) {
    if (limits.name == name) return &limits;
  }
  return nullptr;
}

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
