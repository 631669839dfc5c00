#pragma once
// What a kernel is compiled for, beside its model and its method: one constant, which everything asks. Enumerators are
// called and ordered as `choice_settings` in <manyfold/options.hpp> has them.
#include <manyfold/model.hpp>

namespace manyfold {

enum class Precision {
  float64,
  mixed,    ///< factors in single precision, all else in double
  float32,  ///< but for the initial conditions and the tolerances
};

/// Where Jacobians come from.
enum class JacobianSource {
  automatic,     ///< the model's, or dual numbers if it has none
  dual_numbers,  ///< also where the model has one
  finite_differences,
};

/// How long they serve.
enum class JacobianReuse {
  automatic,    ///< every_step where factors are cheap, else contraction
  every_step,   ///< Jacobian and factors are new in every attempt
  contraction,  ///< Hairer & Wanner II, IV.8
  cameron,      ///< Cameron, IMA J. Numer. Anal. 3 (1983), section 4.1, with a copy of the Jacobian
  dassl,        ///< Brenan, Campbell & Petzold, section 5.2.2
};

/// Do implicit stages have the formula of the method among the model's equations, so that Newton's method solves for
/// fewer unknowns? Only diagonally implicit methods do, with models that say how.
enum class InlineIntegration {
  automatic,  ///< where that is less work
  always,
  never,
};

/// Which errors the error test bounds.
enum class ErrorTest {
  all,           ///< of all variables, over the whole step
  differential,  ///< what the embedded formula of the method sees at the end of the step
};

/// `given_count`: the number of variables, to say what is given of each at the start; 0: what the model declares.
template <int given_count = 0>
struct KernelSpec {
  Precision precision = Precision::float64;
  JacobianSource jacobian = JacobianSource::automatic;
  JacobianReuse jacobian_reuse = JacobianReuse::automatic;
  ErrorTest error_test = ErrorTest::all;
  InlineIntegration inline_integration = InlineIntegration::automatic;
  bool projection = false;  ///< every accepted step is projected on the constraints and invariants
  Given given[given_count > 0 ? given_count : 1] = {};

  static constexpr bool says_what_is_given = given_count > 0;

  /// Calls visit(name, choice) for all that have names; they are those of `SolverOptions`.
  constexpr void for_each_choice(auto&& visit) const {
    visit("precision", precision);
    visit("jacobian", jacobian);
    visit("jacobian_reuse", jacobian_reuse);
    visit("error_test", error_test);
    visit("inline_integration", inline_integration);
  }
};

}  // namespace manyfold
