#pragma once
// How long Jacobians and factors serve.
#include "../model/kernel_spec.hpp"

namespace manyfold {

/// The numbers of a rule.
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

}  // namespace manyfold
