#pragma once
// Projection on the constraints: after a step, a change of the values with which they meet the constraints of a system
// of higher index, the derivatives of these, and the invariants that the model states. Hairer & Wanner II, section
// VII.2; Hairer, Lubich & Wanner, Geometric Numerical Integration, section IV.4; Eich, SIAM J. Numer. Anal. 30 (1993).
#include "consistency.hpp"

namespace manyfold {

/// The functions that vanish along every solution: how many there are, and which way invariants move y.
template <class System>
struct Manifold {
  static constexpr int n = System::n;
  static constexpr int invariants = System::invariants;

 private:
  static constexpr int count_constraints() {
    if constexpr (System::highest_index() > 1 && System::known_pattern) {
      return Structure<System>::constraints();
    } else {
      return 0;
    }
  }

 public:
  static constexpr int constraints = count_constraints();
  static constexpr int count = invariants + constraints;
};

/// How far from the constraints y may lie.
enum class Distance {
  near,  ///< after a step: gradients and directions are those at the start, simplified Newton
  far,   ///< of numbers that a user gave: they are new in every iteration, and given values stay
};

/// The invariants of a model at one point: their gradients, and the directions in which y is moved to meet them, the
/// least change in the norm with weights 1/atol that keeps the constraints. (Not the weights of the error norm, which
/// forbid a component that passes zero to move, and so turn the change into the tangent.)
template <class System, Distance expected, class Real>
class Invariants {
 public:
  static constexpr int n = System::n;
  static constexpr int count = System::invariants;
  using Mask = MaskOf<Real>;
  using Stages = Consistency<System, Real>;
  using Derivatives = typename Stages::template Derivatives<Real>;

  /// Evaluates them at x; `stages` has the matrix of the constraints there. Returns the lanes of `mask` where the
  /// invariants can be met.
  MANYFOLD_INLINE Mask linearise(const Mask& mask, const Real& t, const Derivatives& x,
                                 const Real (&p)[System::constants_size], const Tolerances<n>& tolerances,
                                 const Stages& stages) {
    Real gradient[count][n];
    differentiate(t, x[0], p, gradient);
    for (int k = 0; k < count; ++k) {
      for (int l = 0; l < Stages::orders; ++l) {
        for (int j = 0; j < n; ++j) direction_[k][l][j] = Real(0.0);
      }
      for (int j = 0; j < n; ++j) {
        const Real scale = System::derivative_occurs(j) ? Real(tolerances.atol[j] + epsilon<Real>) : Real(0.0);
        direction_[k][0][j] = square(scale) * gradient[k][j];
      }
      if constexpr (expected == Distance::far) {
        static_for<n>([&](auto j) {
          if constexpr (System::given(j) != Given::projected) direction_[k][0][j] *= Real(square(given_moves));
        });
      }
      if constexpr (Manifold<System>::constraints > 0) keep_constraints(t, x, p, stages, direction_[k]);
    }
    Real product[count][count];
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < count; ++k) {
        product[i][k] = Real(0.0);
        for (int j = 0; j < n; ++j) product[i][k] += gradient[i][j] * direction_[k][0][j];
      }
    }
    return factors_.factor(mask, product);
  }

  /// Moves x by one step of Newton's method; returns the largest invariant before.
  MANYFOLD_INLINE Real correct(const Real& t, Derivatives& x, const Real (&p)[System::constants_size]) const {
    Real g[count];
    System::invariant(t, x[0], p, g);
    Real largest(0.0);
    for (int k = 0; k < count; ++k) largest = max(largest, abs(g[k]));
    factors_.solve(g);
    for (int l = 0; l < Stages::orders; ++l) {
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k < count; ++k) x[l][j] -= direction_[k][l][j] * g[k];
      }
    }
    return largest;
  }

 private:
  /// Gradients, by dual numbers.
  static MANYFOLD_INLINE void differentiate(const Real& t, const Real (&y)[n], const Real (&p)[System::constants_size],
                                            Real (&gradient)[count][n]) {
    constexpr int directions = System::directions_of(n);
    static_for<(n + directions - 1) / directions>([&](auto pass) {
      constexpr int first = pass * directions;
      constexpr int used = n - first < directions ? n - first : directions;
      using Number = Dual<Real, directions>;
      Number seeded[n];
      Number g[count];
      for (int j = 0; j < n; ++j) seeded[j] = Number(y[j]);
      for (int k = 0; k < used; ++k) seeded[first + k].tangent[k] = Real(1.0);
      System::invariant(t, seeded, p, g);
      for (int i = 0; i < count; ++i) {
        for (int k = 0; k < used; ++k) gradient[i][first + k] = g[i].tangent[k];
      }
    });
  }

  /// Turns a direction into one along which the residuals of all stages do not change.
  static MANYFOLD_INLINE void keep_constraints(const Real& t, const Derivatives& x,
                                               const Real (&p)[System::constants_size], const Stages& stages,
                                               Derivatives& direction) {
    using Number = Dual<Real, 1>;
    static_for<Stages::highest>([&](auto stage) {
      constexpr int lag = Stages::highest - stage;
      if constexpr (Stages::Form::equations_of(lag) > 0) {
        Number moving[Stages::orders][n];
        for (int l = 0; l < Stages::orders; ++l) {
          for (int j = 0; j < n; ++j) {
            moving[l][j] = Number(x[l][j]);
            moving[l][j].tangent[0] = direction[l][j];
          }
        }
        Number r[n];
        Stages::template residuals<lag>(t, moving, p, r);
        Real change[n];
        for (int i = 0; i < n; ++i) change[i] = r[i].tangent[0];
        stages.template solve<lag>(change);
        Stages::template move<lag>(Real(1.0), change, direction);
      }
    });
  }

  /// So little do given values move that one may not notice; nothing at all would make some matrices singular.
  static constexpr double given_moves = 1e-7;

  Derivatives direction_[count];
  PivotedLU<Real, count> factors_;
};

template <class Real>
struct Projected {
  MaskOf<Real> met;  ///< the constraints are met
  Real distance;     ///< of the first correction, in the error norm
  Real violation;    ///< max-norm of g before
};

/// Moves y in the lanes of `lanes` to where constraints and invariants hold, by Newton's method. For the constraints
/// values move as impulses of the multipliers would move them: the errors that the method leaves there at a lower order
/// lie in these directions, and another one would spread them to the rest of y. Variables that no constraint contains
/// stay. Lanes in which that does not converge keep their y.
template <class System, Distance expected = Distance::near, class Real>
MANYFOLD_INLINE Projected<Real> project(const MaskOf<Real>& lanes, const Real& t, Real (&y)[System::n],
                                        const Real (&p)[System::constants_size],
                                        const Tolerances<System::n>& tolerances) {
  using Mask = MaskOf<Real>;
  using Constraints = Manifold<System>;
  using Stages = Consistency<System, Real>;
  constexpr int n = System::n;
  constexpr int most_iterations = expected == Distance::near ? 6 : 20;
  // A correction leaves of the violation what it is itself relative to y, or rounding.
  const Real small(max(1e-4, norm_of_rounding<Real>(tolerances.rtol)));

  Real weight[n];
  error_weights(tolerances, y, weight);
  Stages stages;
  typename Stages::Workspace workspace;
  stages.use(workspace);
  typename Either<(Constraints::invariants > 0), Invariants<System, expected, Real>, None>::type invariants;
  typename Stages::template Derivatives<Real> x;
  Stages::begin(t, y, p, x);
  const auto linearise = [&](Mask mask) {
    if constexpr (Constraints::constraints > 0) mask = stages.linearise(mask, t, x, p, weight, tolerances.rtol);
    if constexpr (Constraints::invariants > 0) mask = invariants.linearise(mask, t, x, p, tolerances, stages);
    return mask;
  };

  Projected<Real> result{Mask(false), Real(0.0), Real(0.0)};
  Real last(largest_number);
  Mask moving = linearise(lanes);
  for (int iteration = 0; iteration < most_iterations && any(moving); ++iteration) {
    if (expected == Distance::far && iteration > 0) moving = linearise(moving);
    Real before[n];
    for (int j = 0; j < n; ++j) before[j] = x[0][j];
    Real violation(0.0);
    if constexpr (Constraints::constraints > 0) {
      static_for<Stages::highest>([&](auto stage) {
        constexpr int lag = Stages::highest - stage;
        if constexpr (Stages::Form::equations_of(lag) > 0) {
          Real r[n];
          Stages::template residuals<lag>(t, x, p, r);
          violation = max(violation, Stages::template largest_violation<lag>(r).size);
          stages.template solve<lag>(r);
          Stages::template move<lag>(Real(1.0), r, x);
        }
      });
    }
    if constexpr (Constraints::invariants > 0) violation = max(violation, invariants.correct(t, x, p));
    Real correction[n];
    for (int j = 0; j < n; ++j) correction[j] = x[0][j] - before[j];
    const Real size = weighted_norm(correction, weight);
    if (iteration == 0) {
      result.violation = violation;
      result.distance = size;
    }
    // Corrections below the tolerance that fall no more are rounding errors, of a component near zero, say.
    const Mask stays = (size <= Real(0.1)) & (size > Real(0.25) * last);
    const Mask done = moving & ((size <= small) | stays);
    last = size;
    for (int j = 0; j < n; ++j) y[j] = select(done, x[0][j], y[j]);
    result.met = result.met | done;
    moving = moving & !done & is_finite(size);
  }
  return result;
}

/// Is every accepted step projected?
template <class System>
constexpr bool projects() {
  static_assert(!System::spec.projection || Manifold<System>::count > 0,
                "manyfold: projection needs constraints: variables of index 2 or 3, or invariant(t, y, p, g)");
  return System::spec.projection || System::always_projected;
}

}  // namespace manyfold
