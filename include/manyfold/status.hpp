#pragma once
// How the integration of one instance ended, and what it cost. The only error channel of kernel code.
#include <manyfold/integers.hpp>

#if !defined(__CUDACC_RTC__)
#include <array>
#include <string_view>
#endif

namespace manyfold {

enum class Status : std::int8_t {
  success = 0,
  terminated_by_event = 1,
  max_steps = 2,
  step_too_small = 3,
  newton_failure = 4,
  singular_jacobian = 5,
  nonfinite_residual = 6,
  inconsistent_initial_conditions = 7,
  event_storm = 8,
  cancelled = 9,
  assertion_violated = 10,
};

inline constexpr int status_count = 11;

#if !defined(__CUDACC_RTC__)
/// The names in the order of `Status`, as they appear in result files and on the command line.
inline constexpr std::array<std::string_view, status_count> status_names = {
    "success",        "terminated_by_event", "max_steps",          "step_too_small",
    "newton_failure", "singular_jacobian",   "nonfinite_residual", "inconsistent_initial_conditions",
    "event_storm",    "cancelled",           "assertion_violated"};

/// One sentence per status that tells the user what happened and what to try.
inline constexpr std::array<std::string_view, status_count> status_messages = {
    "reached the end of the time span",
    "stopped at a terminal event",
    "took max_steps step attempts before the end of the time span: raise max_steps or loosen rtol",
    "the error test failed until the step was too small for the resolution of t: a singularity of the solution, or a "
    "jump? What is switched at a known time or condition is better an event",
    "Newton's method did not converge even with very small steps: a turning point of the constraints, or a kink, a "
    "jump or an infinite slope in an equation? A kink is better an event that switches between the branches",
    "the iteration matrix is singular: the index is above 1 here, an equation lost its unknown, or a derivative is "
    "infinite, as that of a root at zero",
    "the residual became infinite or not a number even with very small steps: outside the model's domain?",
    "no consistent initial conditions were found from the initial values given: see residual_norm",
    "events followed each other without progress in time",
    "cancelled before the end of the time span",
    "what the model asserts does not hold"};

/// The name of `status`; "unknown" for a value outside the enumeration.
constexpr std::string_view status_name(Status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < status_names.size() ? status_names[index] : std::string_view("unknown");
}
#endif

/// An instance that ended as asked for: at t_end or at a terminal event.
constexpr bool succeeded(Status status) {
  return status == Status::success || status == Status::terminated_by_event;
}

/// Work counters of one instance (DESIGN of SUNDIALS' and RADAU5's statistics).
struct Counters {
  std::int64_t steps = 0;              ///< accepted steps
  std::int64_t rejected = 0;           ///< steps rejected by the error test
  std::int64_t newton_failures = 0;    ///< step attempts given up because Newton's method failed
  std::int64_t newton_iterations = 0;  ///< Newton iterations, over all stages
  std::int64_t residuals = 0;          ///< residual evaluations
  std::int64_t jacobians = 0;          ///< Jacobian evaluations
  std::int64_t factorizations = 0;     ///< factorisations of the iteration matrix (a real and a complex one count once)
  std::int64_t solves = 0;             ///< linear solves (a real and a complex one count once)
  std::int64_t events = 0;             ///< located events
};

}  // namespace manyfold
