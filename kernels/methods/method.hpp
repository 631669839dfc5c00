#pragma once
// What the integrator asks of a method. A method says which of the optional functions it has: one that is misspelt, or
// that nobody would call, does not compile.
#include "step.hpp"

namespace manyfold {

template <class Method>
concept ChoosesOrder = requires(Method& method, typename Method::State& state,
                                const StepAttempt<typename Method::Real>& attempt,
                                const MaskOf<typename Method::Real>& lanes, const typename Method::Real& x) {
  method.choose_order(state, attempt, x, lanes, lanes);
  method.error_root(state, x);
};

template <class Method>
concept ChoosesStep = requires(Method& method, typename Method::State& state,
                               const MaskOf<typename Method::Real>& lanes, const typename Method::Real& h) {
  method.next_step(state, h, lanes, lanes, lanes);
};

template <class Method>
concept MakesPast = requires(typename Method::State& state, const MaskOf<typename Method::Real>& lanes,
                             const typename Method::Real& h, const Tolerances<Method::n>& tolerances) {
  Method::begin(lanes, state, h, tolerances);
};

template <class Method>
concept CompletesPath = requires(const Method& method, typename Method::State& state,
                                 const MaskOf<typename Method::Real>& lanes) {
  method.complete_path(lanes, state);
};

/// The method whose attempts `Method` makes: itself, or that which it makes in phases.
template <class Method>
struct WholeMethod {
  using type = Method;
};
template <class Method>
requires requires {
  typename Method::Whole;
}
struct WholeMethod<Method> {
  using type = typename Method::Whole;
};

/// Lanes are refilled, and what a method knows of an instance must end with it: it stands in the `Path` and the
/// `Memory` of the state, which the integrator starts. What else a method has is of one attempt, and written there
/// before it is read. It needs no initial value, so that a member with one is memory in the wrong place.
template <class Method>
concept RemembersInState = __is_trivially_constructible(typename WholeMethod<Method>::type);

/// `attempt` tries a step, `commit` makes it the last one.
template <class Method>
concept TakesSteps = requires(Method& method, typename Method::State& state, const MaskOf<typename Method::Real>& lanes,
                              const typename Method::Real& h, typename Method::Workspace& workspace,
                              const NewtonControl& control, WorkCounters<typename Method::Real>& work) {
  method.use(workspace, TeamOf<typename Method::System>{});
  StepAttempt<typename Method::Real>(method.attempt(lanes, lanes, lanes, state, h, control, work));
  method.commit(lanes, state, h);
  state.path.start(lanes, h, state.dy);
  state.memory.start(lanes);
};

/// Has a method the optional functions that it says it has, and no others? `makes_past`: it computes, in `begin`, the
/// past that it steps from, and its first step. `path_on_request`: `commit` leaves the path of the step incomplete, and
/// `complete_path` adds what is missing, before the next attempt.
template <class Method>
constexpr bool keeps_its_word() {
  return Method::makes_past == MakesPast<Method> && Method::path_on_request == CompletesPath<Method> &&
         (Method::step_choice == StepChoice::with_order) == ChoosesOrder<Method> &&
         (Method::step_choice == StepChoice::by_method) == ChoosesStep<Method>;
}

template <class Method>
concept SteppingMethod = TakesSteps<Method> && RemembersInState<Method> && keeps_its_word<Method>();

}  // namespace manyfold
