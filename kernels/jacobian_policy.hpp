#pragma once
// Where Jacobians come from and how long they serve: what a kernel that is compiled on demand may be asked for.

namespace manyfold {

enum class JacobianSource {
  automatic = 0,     ///< the model's, or dual numbers if it has none
  dual_numbers = 1,  ///< also where the model has one
  finite_differences = 2,
};

enum class JacobianReuse {
  automatic = 0,    ///< every_step where factors are cheap, else contraction
  every_step = 1,   ///< Jacobian and factors are new in every attempt
  contraction = 2,  ///< Hairer & Wanner II, IV.8
  cameron = 3,      ///< Cameron, IMA J. Numer. Anal. 3 (1983), section 4.1, with a copy of the Jacobian
  dassl = 4,        ///< Brenan, Campbell & Petzold, section 5.2.2
};

/// The numbers of such a rule.
struct ReuseRule {
  double rate_to_keep;  ///< a Jacobian is renewed after a step in which Newton's method contracted more slowly
  double recent;        ///< where Newton's method fails with a Jacobian of fewer accepted steps, the step is shortened;
                        ///< with an older one it is tried again with a new one
  double after_failure;  ///< factor by which it is shortened
  double least_ratio;    ///< matrices serve while h_old/h is above this and below its inverse, corrections being scaled
                         ///< by 2/(1 + h_old/h); 1: they are factorised again for every change of the step
};

constexpr ReuseRule reuse_rule(JacobianReuse reuse) {
  constexpr double any_age = 1e300;
  switch (reuse) {
    case JacobianReuse::cameron:
      return {0.2, 3.0, 0.5, 1.0};
    case JacobianReuse::dassl:
      return {1.0, 1.0, 0.25, 0.6};
    default:
      return {1e-3, any_age, 0.5, 1.0};
  }
}

#if defined(MANYFOLD_JACOBIAN)
inline constexpr auto jacobian_source = static_cast<JacobianSource>(MANYFOLD_JACOBIAN);
#else
inline constexpr auto jacobian_source = JacobianSource::automatic;
#endif

#if defined(MANYFOLD_JACOBIAN_REUSE)
inline constexpr auto jacobian_reuse = static_cast<JacobianReuse>(MANYFOLD_JACOBIAN_REUSE);
#else
inline constexpr auto jacobian_reuse = JacobianReuse::automatic;
#endif

}  // namespace manyfold
