#pragma once
// The matrix of searches for algebraic variables along their branch, with the derivatives that belong to them.
#include "../algebra/factors.hpp"
#include "../control/error_norm.hpp"
#include "../stage/linearisation.hpp"
#include "initial_unknowns.hpp"

namespace manyfold {

/// Do algebraic variables have branches? On devices the code would cost every step registers.
template <class System>
constexpr bool has_branches() {
#if defined(__CUDACC__)
  return false;
#else
  if (System::highest_index() > 1 || System::singular_mass_matrix()) return false;
  for (int j = 0; j < System::n; ++j) {
    if (!System::derivative_occurs(j)) return true;
  }
  return false;
#endif
}

/// Matrices with more entries would fill the stack of a thread, for the lanes of a pack.
inline constexpr int most_branch_entries = 4096;

/// May there be several branches? Where algebraic variables stand in their equations as a sum, with factors that the
/// others determine, there is one solution.
template <class System>
constexpr bool several_branches() {
  if constexpr (has_branches<System>()) {
    return SearchStructure<System, false>::matrix.size() <= most_branch_entries && System::has_nonlinear_constraints();
  } else {
    return false;
  }
}

/// The derivatives of F with respect to the unknowns behind an event: algebraic variables, and y' of the others. Its
/// factors, and lengths of corrections.
template <class System, class Real>
class SearchMatrix {
 public:
  using Mask = MaskOf<Real>;
  static constexpr int n = System::n;
  using Unknowns = InitialUnknowns<System, false>;
  static constexpr Unknowns unknowns = {};

  SearchMatrix() { factors_.use(workspace_); }

  /// Tolerances that lengths are measured in, those at y.
  MANYFOLD_INLINE void measure(const Tolerances<n>& tolerances, const Real (&y)[n]) {
    rtol_ = tolerances.rtol;
    error_weights(tolerances, y, weight_);
  }

  /// Unknown k among the numbers y and y'.
  static MANYFOLD_INLINE Real& unknown(int k, Real (&y)[n], Real (&dy)[n]) {
    return unknowns.derivative[k] ? dy[unknowns.variable[k]] : y[unknowns.variable[k]];
  }

  /// Evaluates the matrix at a point, in place of the one before.
  MANYFOLD_INLINE void evaluate(const Mask& lanes, const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                const Real (&p)[System::constants_size]) {
    evaluate_at(lanes, t, y, dy, p);
    for_each_index<entries.size>([&](auto k) { entry_[k] = evaluated(k); });
  }

  /// (1 - part) times the matrix + part times that of another point, in the lanes where the part is not 0.
  MANYFOLD_INLINE void blend(const Mask& lanes, const Real& part, const Real& t, const Real (&y)[n],
                             const Real (&dy)[n], const Real (&p)[System::constants_size]) {
    const Mask blended = lanes & (part > Real(0.0));
    if (!any(blended)) return;
    evaluate_at(blended, t, y, dy, p);
    for_each_index<entries.size>([&](auto k) {
      const Real rest = select(part < Real(1.0), (Real(1.0) - part) * entry_[k], Real(0.0));
      entry_[k] = select(blended, rest + part * evaluated(k), entry_[k]);
    });
  }

  /// Returns the lanes of `lanes` in which the matrix is not singular.
  MANYFOLD_INLINE Mask factor(const Mask& lanes) {
    return factors_.template factor<false>(lanes, [&](auto k) { return entry_[k]; });
  }

  MANYFOLD_INLINE void solve(Real (&x)[n]) const { factors_.solve(x); }
  MANYFOLD_INLINE Real sign_of_determinant() const { return factors_.sign_of_determinant(); }
  MANYFOLD_INLINE Real reciprocal_of_determinant() const { return factors_.reciprocal_of_determinant(); }

  /// The scalar product of the algebraic variables, in tolerances.
  MANYFOLD_INLINE Real product(const Real (&a)[n], const Real (&b)[n]) const {
    Real sum(0.0);
    for (int k = 0; k < n; ++k) {
      const Real weight = unknowns.derivative[k] ? Real(0.0) : weight_[unknowns.variable[k]];
      sum += (a[k] * weight) * (b[k] * weight);
    }
    return sum;
  }
  MANYFOLD_INLINE Real length(const Real (&a)[n]) const { return sqrt(product(a, a)); }

 private:
  using Structure = SearchStructure<System, false>;
  static constexpr auto entries = entries_of<Structure::matrix.size()>(Structure::matrix);

  MANYFOLD_RARE void evaluate_at(const Mask& lanes, const Real& t, const Real (&y)[n], const Real (&dy)[n],
                                 const Real (&p)[System::constants_size]) {
    const Real step(1e-6);
    matrices_.evaluate(lanes, LinearisationPoint<System, Real>{t, y, dy, p, weight_, rtol_, step});
  }
  MANYFOLD_INLINE Real evaluated(auto k) const {
    const int i = entries.row[k];
    const int unknown = entries.column[k];
    const int j = unknowns.variable[unknown];
    return unknowns.derivative[unknown] ? matrices_.entry_dy(System::entries_dy.slot(i, j)) : matrices_.entry_y(i, j);
  }

  double rtol_;
  Real weight_[n];
  Real entry_[entries.size > 0 ? entries.size : 1];
  Factors<Real, Structure> factors_;
  typename Factors<Real, Structure>::Workspace workspace_;
  Linearisation<System, Real> matrices_;
};

/// The lanes of `lanes` in which the determinants of the matrices at two points have different signs: no branch leads
/// from one to the other without a fold or a pole. Points have t, y, dy and p.
template <class System, class Real>
MANYFOLD_RARE MaskOf<Real> folds_between(const MaskOf<Real>& lanes, const Tolerances<System::n>& tolerances,
                                         const auto& from, const auto& to) {
  SearchMatrix<System, Real> matrix;
  matrix.measure(tolerances, from.y);
  matrix.evaluate(lanes, from.t, from.y, from.dy, from.p);
  MaskOf<Real> good = matrix.factor(lanes);
  const Real sign = matrix.sign_of_determinant();
  matrix.evaluate(good, to.t, to.y, to.dy, to.p);
  good = matrix.factor(good);
  return good & (matrix.sign_of_determinant() != sign);
}

}  // namespace manyfold
