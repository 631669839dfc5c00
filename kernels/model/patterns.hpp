#pragma once
// Which variables and derivatives stand in which equations: the nonzeros of F_y and F_y'.
#include "../algebra/bends.hpp"
#include "../algebra/slope_use.hpp"
#include "../algebra/sparsity.hpp"
#include "../lane/static_for.hpp"
#include "declarations.hpp"

namespace manyfold {

template <Model Equations>
struct ModelPatterns : ModelDeclarations<Equations> {
  using Base = ModelDeclarations<Equations>;
  using Base::algebraic;
  using Base::constants_size;
  using Base::has_indices_in_range;
  using Base::highest_index;
  using Base::mass_form;
  using Base::n;
  using Base::semi_explicit;
  using Base::singular_mass_matrix;

 private:
  // Derivatives begin with a word of their own, and the time is last.
  static constexpr int first_derivative = IndexSet<n>::words * IndexSet<n>::word_bits;
  static constexpr int time = 2 * first_derivative;
  using Mark = Dependency<time + 1>;

  struct MarkEntries {
    Pattern<n>& pattern;
    double ignored = 0.0;
    constexpr double& operator()(int i, int j) {
      pattern.insert(i, j);
      return ignored;
    }
  };

  static constexpr Pattern<n> mass_pattern() {
    Pattern<n> pattern;
    if constexpr (model_check::HasMassMatrix<Equations>) {
      const double p[constants_size] = {};
      MarkEntries entries{pattern};
      Equations::mass_matrix(p, entries);
    } else {
      for (int i = 0; i < n; ++i) {
        if (!algebraic(i)) pattern.insert(i, i);
      }
    }
    return pattern;
  }

  struct Patterns {
    Pattern<n> by_y;
    Pattern<n> by_dy;
    IndexSet<n> by_t;
  };

  static constexpr Patterns evaluate_patterns() {
    Mark y[n];
    Mark dy[n];
    Mark F[n];
    Mark t;
    const Mark p[constants_size] = {};
    t.on.insert(time);
    for (int i = 0; i < n; ++i) {
      y[i].on.insert(i);
      dy[i].on.insert(first_derivative + i);
    }
    Patterns result;
    if constexpr (mass_form) {
      Equations::rhs(t, y, p, F);
      result.by_dy = mass_pattern();
    } else {
      Equations::residual(t, y, dy, p, F);
    }
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < IndexSet<n>::words; ++k) {
        result.by_y.row[i].word[k] = F[i].on.word[k];
        if constexpr (!mass_form) result.by_dy.row[i].word[k] = F[i].on.word[IndexSet<n>::words + k];
      }
      if (F[i].on.contains(time)) result.by_t.insert(i);
    }
    return result;
  }

 public:
  /// Equations that are not `constexpr` can still be integrated: with full matrices.
  static constexpr bool known_pattern = requires { typename Constant<(evaluate_patterns(), 0)>; };
  static_assert(has_indices_in_range(),
                "manyfold: .index of a variable is 1, 2 or 3: how often its equations are differentiated to find it");
  static_assert(highest_index() == 1 || semi_explicit || known_pattern,
                "manyfold: variables of index 2 or 3 need constexpr equations, or the semi-explicit form: rhs(t, y, p, "
                "f) without mass_matrix");

 private:
  static constexpr Patterns patterns() {
    if constexpr (known_pattern) {
      return evaluate_patterns();
    } else if constexpr (semi_explicit) {
      return {Pattern<n>::dense(), mass_pattern(), Pattern<n>::dense().row[0]};
    } else {
      return {Pattern<n>::dense(), Pattern<n>::dense(), Pattern<n>::dense().row[0]};
    }
  }

  /// With too many entries for a list F_y is full.
  static constexpr Patterns listed_or_full(Patterns patterns) {
    if ((patterns.by_y | patterns.by_dy).size() > most_listed_entries) patterns.by_y = Pattern<n>::dense();
    return patterns;
  }
  static constexpr Patterns found = listed_or_full(patterns());

  static constexpr bool evaluate_slope_use() {
    SlopeUse y[n];
    SlopeUse dy[n];
    SlopeUse F[n];
    const SlopeUse p[constants_size] = {};
    for (int i = 0; i < n; ++i) {
      y[i] = SlopeUse::variable();
      dy[i] = SlopeUse::slope();
    }
    Equations::residual(SlopeUse::variable(), y, dy, p, F);
    for (const SlopeUse& residual : F) {
      if (residual.other) return false;
    }
    return true;
  }

  /// The equations in numbers that remember what went into them; time, derivatives and parameters are constants.
  template <class Number>
  static constexpr void evaluate_with(const Number (&y)[n], Number (&F)[n]) {
    const Number p[constants_size] = {};
    if constexpr (mass_form) {
      Equations::rhs(Number(), y, p, F);
    } else {
      const Number dy[n] = {};
      Equations::residual(Number(), y, dy, p, F);
    }
  }

  /// Do the variables that are `sought` stand in equations that are `meant` otherwise than as a sum with factors that
  /// the others determine?
  static constexpr bool evaluate_nonlinear(auto&& sought, auto&& meant) {
    SlopeUse y[n];
    SlopeUse F[n];
    for (int i = 0; i < n; ++i) {
      if (sought(i)) y[i] = SlopeUse::slope();
    }
    evaluate_with(y, F);
    for (int i = 0; i < n; ++i) {
      if (meant(i) && F[i].other) return true;
    }
    return false;
  }

  static constexpr void evaluate_bends(BendUse (&F)[n]) {
    BendUse y[n];
    for (BendUse& variable : y) variable = BendUse::unknown();
    evaluate_with(y, F);
  }
  static constexpr bool evaluate_bent_constraints(bool exponentials_count) {
    BendUse F[n];
    evaluate_bends(F);
    for (int i = 0; i < n; ++i) {
      if (found.by_dy.row[i].next(0) < 0 && (F[i].bends || (exponentials_count && F[i].rises))) return true;
    }
    return false;
  }

 public:
  /// Are the equations M y' = f(t, y), in whatever form they are stated? M may depend on parameters.
  static constexpr bool constant_mass() {
    if constexpr (!mass_form && known_pattern) {
      return evaluate_slope_use();
    } else {
      return mass_form;
    }
  }
  /// Do equations without derivatives bend where a variable takes some value, or by an exponential if these count?
  static constexpr bool has_bent_constraints(bool exponentials_count) {
    if constexpr (known_pattern) {
      return evaluate_bent_constraints(exponentials_count);
    } else {
      return true;
    }
  }
  /// Is variable i an algebraic one of index 2?
  static constexpr bool is_force(int i) { return algebraic(i) && Base::index(i) == 2; }
  /// Do such variables stand in the equations otherwise than as a sum with factors that the others determine?
  static constexpr bool has_bent_forces() {
    if constexpr (highest_index() > 1 && known_pattern) {
      return evaluate_nonlinear([](int i) { return is_force(i); }, [](int) { return true; });
    } else {
      return false;
    }
  }
  /// Do algebraic variables stand in the equations that determine them otherwise than as a sum with factors that the
  /// others determine? Then they may have several solutions.
  static constexpr bool has_nonlinear_constraints() {
    if constexpr (known_pattern) {
      return evaluate_nonlinear([](int i) { return !derivative_occurs(i); },
                                [](int i) { return !mass_form || found.by_dy.row[i].next(0) < 0; });
    } else {
      return true;
    }
  }
  static constexpr Pattern<n> pattern_y = found.by_y;
  static constexpr Pattern<n> pattern_dy = found.by_dy;
  static constexpr auto entries_y = entries_of<pattern_y.size()>(pattern_y);
  static constexpr auto entries_dy = entries_of<pattern_dy.size()>(pattern_dy);
  static constexpr int nonzeros_y = entries_y.size > 0 ? entries_y.size : 1;
  static constexpr int nonzeros_dy = entries_dy.size > 0 ? entries_dy.size : 1;
  /// Those of F_y or F_y'.
  template <bool by_y>
  static constexpr MANYFOLD_INLINE const auto& entries() {
    if constexpr (by_y) {
      return entries_y;
    } else {
      return entries_dy;
    }
  }

 private:
  static constexpr IndexSet<n> find_algebraic() {
    IndexSet<n> result;
    for (int i = 0; i < n; ++i) {
      if (algebraic(i)) result.insert(i);
    }
    return result;
  }
  static constexpr IndexSet<n> find_occurring_derivatives() {
    IndexSet<n> result;
    for (int i = 0; i < n; ++i) result |= pattern_dy.row[i];
    return result;
  }
  static constexpr IndexSet<n> occurring_derivatives = find_occurring_derivatives();
  /// Those of `equations`, and what has derivatives in common with them.
  static constexpr IndexSet<n> with_common_derivatives(IndexSet<n> equations) {
    IndexSet<n> derivatives;
    for (bool grows = true; grows;) {
      grows = false;
      for (int i = 0; i < n; ++i) {
        const IndexSet<n>& row = pattern_dy.row[i];
        if (row.intersects(derivatives)) equations.insert(i);
        if (!equations.contains(i) || row.common(derivatives) == row.size()) continue;
        derivatives |= row;
        grows = true;
      }
    }
    return equations;
  }
  static constexpr IndexSet<n> forced_equations = with_common_derivatives(found.by_t);
  static constexpr IndexSet<n> find_abrupt_equations() {
    IndexSet<n> equations = found.by_t;
    if constexpr (known_pattern) {
      BendUse F[n];
      evaluate_bends(F);
      for (int i = 0; i < n; ++i) {
        if (F[i].bends) equations.insert(i);
      }
    }
    return with_common_derivatives(equations);
  }
  static constexpr IndexSet<n> abrupt_equations = find_abrupt_equations();

 public:
  static constexpr IndexSet<n> algebraic_variables = find_algebraic();
  /// Does the derivative of variable i stand in an equation?
  static constexpr bool derivative_occurs(int i) { return occurring_derivatives.contains(i); }

  static constexpr bool derivative_of_algebraic_occurs() {
    for (int i = 0; i < n; ++i) {
      if (algebraic(i) && derivative_occurs(i)) return true;
    }
    return false;
  }
  static_assert(
      highest_index() == 1 || !known_pattern || !derivative_of_algebraic_occurs(),
      "manyfold: a variable states .algebraic = true, but its derivative stands in an equation, if only with a "
      "factor of zero");

  /// Is equation i forced: does the time stand in it, or in one that has derivatives in common with it? Derivatives
  /// drop out of combinations of such equations, not out of one alone.
  static constexpr bool forced(int i) { return forced_equations.contains(i); }
  /// Is any?
  static constexpr bool forced() { return forced_equations.next(0) >= 0; }
  /// May equation i change within a step as its ends do not tell: is it forced, or does it bend where a variable takes
  /// some value, as the force of a contact does?
  static constexpr bool abrupt(int i) { return abrupt_equations.contains(i); }
  /// May any?
  static constexpr bool abrupt() { return abrupt_equations.next(0) >= 0; }
  /// May the slope of an equation be infinite where a variable is zero, as that of a root?
  static constexpr bool steep() {
    if constexpr (known_pattern) {
      BendUse F[n];
      evaluate_bends(F);
      for (const BendUse& equation : F) {
        if (equation.steep) return true;
      }
    }
    return false;
  }
  /// Does equation i have no derivative in it?
  static constexpr bool algebraic_equation(int i) { return pattern_dy.row[i].next(0) < 0; }
  /// Are there equations without derivatives, or combinations of equations that have none?
  static constexpr bool constrained() {
    if (singular_mass_matrix()) return true;
    for (int i = 0; i < n; ++i) {
      if (algebraic_equation(i)) return true;
    }
    return false;
  }
};

}  // namespace manyfold
