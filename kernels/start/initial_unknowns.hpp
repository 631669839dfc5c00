#pragma once
// Which of the numbers (y, y') a search for consistent initial conditions finds, and on which of them the equations
// depend.
#include "../model/system.hpp"

namespace manyfold {

/// What is to be found of y and y', n numbers. `at_start`: what is given is what the model says; else, as after events,
/// the values of the differential variables.
template <class System, bool at_start>
struct InitialUnknowns {
  static constexpr int n = System::n;
  int count = 0;
  int variable[2 * n] = {};
  bool derivative[2 * n] = {};  ///< of the variable, rather than its value
  int of_value[n] = {};         ///< number of the unknown that is the value of the variable; -1: it is given
  int of_derivative[n] = {};

  static constexpr bool knows_value(int i) { return at_start ? System::gives_value(i) : System::derivative_occurs(i); }
  static constexpr bool knows_derivative(int i) { return at_start && System::gives_derivative(i); }

  constexpr InitialUnknowns() {
    for (int i = 0; i < n; ++i) {
      of_value[i] = knows_value(i) ? -1 : add(i, false);
      of_derivative[i] = !System::derivative_occurs(i) || knows_derivative(i) ? -1 : add(i, true);
    }
  }

  /// Pattern of the Jacobian with respect to the unknowns: columns of F_y' and of F_y.
  constexpr Pattern<n> pattern(bool only_derivatives) const {
    Pattern<n> result;
    const auto insert_columns = [&](const Pattern<n>& from, const int(&unknown_of)[n]) {
      IndexSet<n> unknown;
      for (int j = 0; j < n; ++j) {
        if (unknown_of[j] >= 0 && unknown_of[j] < n) unknown.insert(j);
      }
      for (int i = 0; i < n; ++i) {
        const IndexSet<n> row = from.row[i].intersection(unknown);
        for (int j = row.next(0); j >= 0; j = row.next(j + 1)) result.insert(i, unknown_of[j]);
      }
    };
    insert_columns(System::pattern_dy, of_derivative);
    if (!only_derivatives) insert_columns(System::pattern_y, of_value);
    return result;
  }

 private:
  constexpr int add(int i, bool is_derivative) {
    variable[count] = i;
    derivative[count] = is_derivative;
    return count++;
  }
};

/// The matrix of that search. Pivots in columns of F_y' are preferred.
template <class System, bool at_start>
struct SearchStructure {
  static constexpr int n = System::n;
  static constexpr Pattern<n> matrix = InitialUnknowns<System, at_start>().pattern(false);
  static constexpr Pattern<n> preferred = InitialUnknowns<System, at_start>().pattern(true);
};

}  // namespace manyfold
