#pragma once
// What an observer of steps is told.
#include <manyfold/integers.hpp>

namespace manyfold {

/// The end of an accepted step of one instance. Where an event occurs in the step, that is at the event, before its
/// action.
struct AcceptedStep {
  std::int64_t instance;
  double t;
  const double* y;   ///< [variables]; good during the call
  const double* dy;  ///< [variables]: y', as the method knows it
};

/// Called for every accepted step: those of one instance in their order, those of others at the same time in other
/// threads.
template <class Observer>
concept StepObserver = requires(Observer& observer, const AcceptedStep& step) {
  observer(step);
};

/// Nobody looks: no code is made.
struct NoObserver {};

/// An observer that is not known when the kernel is compiled, as that of a `Job`.
struct ObserverCall {
  void (*call)(void* observer, const AcceptedStep& step) = nullptr;
  void* observer = nullptr;
  void operator()(const AcceptedStep& step) const { call(observer, step); }
};

}  // namespace manyfold
