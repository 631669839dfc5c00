#pragma once
// The structure of a system F(t, y, y') = 0: how often each equation must be differentiated until the highest
// derivatives of all variables are determined. Pantelides, SIAM J. Sci. Stat. Comput. 9 (1988), finds the least such
// numbers; Pryce, BIT 41 (2001), shows what they say of the system: with the offsets c_i of the equations and d_j of
// the variables, the equations F_i^(c_i - lag) determine the y_j^(d_j - lag), stage by stage, where lag falls from the
// largest d_j to 0. One matrix serves all stages: dF_i/dy_j^(d_j - c_i).
#include "../algebra/ordering.hpp"

namespace manyfold {

template <int n>
struct Offsets {
  /// False if equations and variables cannot be paired: the system is singular whatever its numbers.
  bool regular = true;
  short equation[n] = {};  ///< c_i: how often equation i is differentiated
  short variable[n] = {};  ///< d_j: order of the highest derivative of variable j that is determined then

  constexpr int differentiations() const { return largest(equation); }
  constexpr int highest_derivative() const { return largest(variable); }
  /// Of how many numbers the initial values are free.
  constexpr int freedoms() const {
    int total = 0;
    for (int i = 0; i < n; ++i) total += variable[i] - equation[i];
    return total;
  }
  /// The index that goes with them; no smaller than that of the system.
  constexpr int index() const {
    for (int j = 0; j < n; ++j) {
      if (variable[j] == 0) return differentiations() + 1;
    }
    return differentiations();
  }

 private:
  static constexpr int largest(const short (&offset)[n]) {
    int result = 0;
    for (int i = 0; i < n; ++i) result = offset[i] > result ? offset[i] : result;
    return result;
  }
};

/// Pairs of an equation and a variable, made one by one along augmenting paths.
template <int n>
class Pairing {
 public:
  constexpr Pairing() {
    for (int j = 0; j < n; ++j) {
      partner_[j] = -1;
      free_.insert(j);
    }
  }

  /// Gives equation `i` a partner among the variables j of its row with leads(i, j). Where there is none, `reached`
  /// equations and variables compete for each other.
  constexpr bool add(int i, const Pattern<n>& rows, auto&& leads) {
    const IndexSet<n> free = rows.row[i].intersection(free_);
    for (int j = free.next(0); j >= 0; j = free.next(j + 1)) {
      if (!leads(i, j)) continue;
      from_[j] = static_cast<short>(i);
      exchange(i, j);
      return true;
    }
    reached_variables = IndexSet<n>{};
    reached = 1;
    reached_equation[0] = static_cast<short>(i);
    for (int k = 0; k < reached; ++k) {
      const int equation = reached_equation[k];
      const IndexSet<n>& row = rows.row[equation];
      for (int j = row.next(0); j >= 0; j = row.next(j + 1)) {
        if (reached_variables.contains(j) || !leads(equation, j)) continue;
        reached_variables.insert(j);
        from_[j] = static_cast<short>(equation);
        if (partner_[j] < 0) {
          exchange(i, j);
          return true;
        }
        reached_equation[reached++] = partner_[j];
      }
    }
    return false;
  }

  /// The equation that has variable `j`; -1: none.
  constexpr int equation_of(int j) const { return partner_[j]; }

  int reached = 0;
  short reached_equation[n + 1] = {};
  IndexSet<n> reached_variables;

 private:
  /// Along the path from equation `i` to the free variable `j` every equation takes the variable that it reached.
  constexpr void exchange(int i, int j) {
    free_.erase(j);
    for (;;) {
      const short equation = from_[j];
      const int before = variable_[equation];
      partner_[j] = equation;
      variable_[equation] = static_cast<short>(j);
      if (equation == i) return;
      j = before;
    }
  }

  IndexSet<n> free_;        ///< variables without an equation
  short partner_[n] = {};   ///< equation of a variable; -1: none
  short variable_[n] = {};  ///< of an equation that has one
  short from_[n] = {};      ///< equation that reached a variable
};

/// `by_y`, `by_dy`: patterns of F_y and F_y'.
template <int n>
constexpr Offsets<n> find_offsets(const Pattern<n>& by_y, const Pattern<n>& by_dy) {
  const Pattern<n> rows = by_y | by_dy;
  Offsets<n> result;
  Pairing<n> pairs;
  for (int i = 0; i < n; ++i) {
    result.regular = result.regular && pairs.add(i, rows, [](int, int) { return true; });
    for (int j = by_dy.row[i].next(0); j >= 0; j = by_dy.row[i].next(j + 1)) result.variable[j] = 1;
  }
  if (!result.regular) return result;
  const auto leads = [&](int i, int j) {
    return result.equation[i] + (by_dy.contains(i, j) ? 1 : 0) == result.variable[j];
  };
  pairs = Pairing<n>();
  for (int i = 0; i < n; ++i) {
    while (!pairs.add(i, rows, leads)) {
      for (int k = 0; k < pairs.reached; ++k) ++result.equation[pairs.reached_equation[k]];
      for (int j = pairs.reached_variables.next(0); j >= 0; j = pairs.reached_variables.next(j + 1)) {
        ++result.variable[j];
      }
    }
  }
  return result;
}

/// Can the algebraic variables of a semi-explicit system that state index 1 be found from its algebraic equations as
/// they are?
template <class System>
constexpr bool determines_index_1() {
  constexpr int n = System::n;
  Pattern<n> equations;
  for (int i = 0; i < n; ++i) {
    if (!System::algebraic(i)) continue;
    for (int j = System::pattern_y.row[i].next(0); j >= 0; j = System::pattern_y.row[i].next(j + 1)) {
      equations.insert(j, i);
    }
  }
  Pairing<n> pairs;
  for (int j = 0; j < n; ++j) {
    if (!System::algebraic(j) || System::index(j) > 1) continue;
    if (!pairs.add(j, equations, [](int, int) { return true; })) return false;
  }
  return true;
}

/// What the pattern of a system says of its consistent values.
///
/// A constraint that comes and goes, as select(attached, x^2 + y^2 - L^2, lambda) does, contains its multiplier in one
/// mode and not in the other. The pattern is that of both, and its index too low: where such an equation binds, it is
/// differentiated as if the multiplier did not stand in it. Where it does not, it determines the multiplier as it is.
template <class System>
struct Structure {
  static constexpr int n = System::n;

  static constexpr bool is_multiplier(int j) { return System::algebraic(j) && System::index(j) > 1; }

 private:
  struct Found {
    Offsets<n> offsets;
    IndexSet<n> leaving;  ///< equations that bind in some modes only
  };
  static constexpr Found find() {
    Found found{find_offsets(System::pattern_y, System::pattern_dy), {}};
    if constexpr (System::highest_index() == 1) return found;
    Pattern<n> pattern = System::pattern_y;
    for (int i = 0; i < n && found.offsets.regular; ++i) {
      if (!System::algebraic_equation(i)) continue;
      Pattern<n> bound = pattern;
      bound.row[i] = IndexSet<n>{};
      for (int j = pattern.row[i].next(0); j >= 0; j = pattern.row[i].next(j + 1)) {
        if (!is_multiplier(j)) bound.insert(i, j);
      }
      // A law of forces that contains multipliers alone is no constraint.
      if (bound.row[i].size() == pattern.row[i].size() || bound.row[i].size() == 0) continue;
      const Offsets<n> offsets = find_offsets(bound, System::pattern_dy);
      bool determines = offsets.regular && offsets.index() <= System::highest_index() && offsets.equation[i] > 0;
      for (int j = 0; j < n; ++j) determines = determines && (!is_multiplier(j) || offsets.variable[j] == 0);
      if (!determines) continue;
      pattern = bound;
      found.offsets = offsets;
      found.leaving.insert(i);
    }
    return found;
  }
  static constexpr Found found = find();

 public:
  static constexpr Offsets<n> offsets = found.offsets;
  static_assert(offsets.regular,
                "manyfold: the equations do not determine the variables, whatever the numbers: there is no way to give "
                "every equation a variable of its own that it contains. One equation too many contains the same "
                "variables as others, or a variable stands in no equation");
  /// Does equation i bind in some modes only?
  static constexpr bool leaves(int i) { return found.leaving.contains(i); }
  static constexpr bool has_modes = found.leaving.next(0) >= 0;
  /// Is (i, j) an entry of such an equation that is zero where it binds?
  static constexpr bool releases(int i, int j) {
    return leaves(i) && is_multiplier(j) && System::pattern_y.contains(i, j);
  }
  static constexpr int differentiations = offsets.differentiations();
  static constexpr int highest = offsets.highest_derivative();

  static constexpr int of_equation(int i) { return offsets.equation[i]; }
  static constexpr int of_variable(int j) { return offsets.variable[j]; }

  /// Equations of the stage.
  static constexpr int equations_of(int lag) {
    int total = 0;
    for (int i = 0; i < n; ++i) total += of_equation(i) >= lag ? 1 : 0;
    return total;
  }
  /// Constraints on the variables whose derivatives stand in equations: as many as those are more than free.
  static constexpr int constraints() {
    int total = -offsets.freedoms();
    for (int j = 0; j < n; ++j) total += System::derivative_occurs(j) ? 1 : 0;
    return total;
  }

  /// The matrix of the stages.
  struct Leading {
    static constexpr int n = System::n;
    static constexpr Pattern<n> entries(bool of_derivatives, bool of_values) {
      Pattern<n> result;
      for (int i = 0; i < n; ++i) {
        const auto insert = [&](const IndexSet<n>& row, int order) {
          for (int j = row.next(0); j >= 0; j = row.next(j + 1)) {
            if (of_variable(j) - of_equation(i) == order) result.insert(i, j);
          }
        };
        if (of_derivatives) insert(System::pattern_dy.row[i], 1);
        if (of_values) insert(System::pattern_y.row[i], 0);
        for (int j = 0; j < n && of_values; ++j) {
          if (releases(i, j)) result.insert(i, j);
        }
      }
      return result;
    }
    static constexpr Pattern<n> preferred = entries(true, false);
    static constexpr Pattern<n> matrix = entries(true, true);
  };
};

}  // namespace manyfold
