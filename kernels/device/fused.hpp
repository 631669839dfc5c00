#pragma once
// The fused tier on a GPU: a persistent kernel whose threads, or tiles of threads, pull instances from a queue, so that
// a slow instance holds up its warp's lanes but for the step they share. A thread is a lane of width one; a tile is one
// too, whose threads divide the matrices.
//
// Initial points are found by a kernel of their own: within the integration one thread's search would stall 31 others.
#include "../drive/lane_driver.hpp"
#include "batch.hpp"

namespace manyfold {

/// What hands out the numbers 0, 1, 2, ... to threads, each once.
struct AtomicQueue {
  static MANYFOLD_INLINE int take(int* next) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(next, 1);
#else
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
#endif
  }
};

/// The supply of one thread, or of a team.
template <class Method>
class BatchSupply {
 public:
  using System = typename Method::System;
  using Initial = typename Integrator<Method>::Initial;
  using Team = TeamOf<System>;

  MANYFOLD_INLINE BatchSupply(const DeviceBatch& batch, const Team& team) : batch_(&batch), team_(team) {}

  MANYFOLD_INLINE const Team& team() const { return team_; }

  /// What the model decides of the shape is known when the kernel is compiled.
  static MANYFOLD_INLINE InstanceShape shape(const DeviceBatch& batch) {
    return {System::parameters,         System::initial_size, System::n,
            System::discrete,           System::events,       System::observables,
            batch.saved.count,          batch.shape.times,    batch.shape.event_capacity,
            batch.end_states != nullptr};
  }

  static MANYFOLD_INLINE Assignment assignment(const DeviceBatch& batch, int i) {
    return assignment_of(shape(batch), batch, batch.first, i);
  }

  /// The place of an instance in the batch. What follows from it would take registers as long as the instance lasts.
  using Held = int;
  MANYFOLD_INLINE Assignment assignment(int i) const { return assignment(*batch_, i); }

  MANYFOLD_INLINE ReadyInstance<Method, Held> next(bool /*wait*/) {
    const int i = team_.broadcast(leads(team_) ? AtomicQueue::take(batch_->next) : 0);
    if (i >= batch_->count) return {};
    return {static_cast<const Initial*>(batch_->ready) + i, 0, i};
  }

  MANYFOLD_INLINE void store(int i, const InstanceOutcome& outcome) {
    if (leads(team_)) batch_->outcomes[i] = outcome;
  }

  /// What the host may write at any time is read slowly.
  static constexpr unsigned ticks_between_polls = 32;

  MANYFOLD_INLINE bool cancelled() const {
    // One of a team looks, so that all see the same.
    return team_.broadcast(leads(team_) ? *static_cast<const volatile int*>(batch_->cancelled) : 0) != 0;
  }

  /// Instances that no thread has taken keep the outcome they came with: cancelled.
  MANYFOLD_INLINE void cancel_ready() {}

 private:
  const DeviceBatch* batch_;
  Team team_;
};

/// Begins the results of instance `i` and makes its initial conditions consistent.
template <class Method>
MANYFOLD_INLINE void initialize_instance(const DeviceBatch& batch, int i,
                                         typename Integrator<Method>::Conditions& conditions) {
  using System = typename Method::System;
  const auto& options = *static_cast<const IntegratorOptions<System::n>*>(batch.options);
  auto& ready = static_cast<typename Integrator<Method>::Initial*>(batch.ready)[i];
  const Assignment assignment = BatchSupply<Method>::assignment(batch, i);
  for_each_column(
      BatchSupply<Method>::shape(batch),
      []<class T>(const Column& column, T* row) {
        if (column.role != ColumnRole::result) return;
        for (std::int64_t k = 0; k < column.width; ++k) row[k] = missing<T>();
      },
      assignment);
  // What it keeps if nobody comes to integrate it.
  assignment.outcomes->t_reached = assignment.t_begin;
  System::complete_initial(assignment.parameters, assignment.initial);
  ready.t = assignment.t_begin;
  ready.t_end = assignment.t_end;
  System::distribute_initial(
      assignment.initial, [&](int k, double value) { ready.y[k] = value; },
      [&](int k, double value) { ready.dy[k] = value; });
  for (int k = 0; k < System::parameters; ++k) ready.p[k] = assignment.parameters[k];
  Integrator<Method>::initialize(options, ready, conditions);
}

/// Integrates instances, one after another, until the queue is empty; a team's threads call this together.
template <class Method>
MANYFOLD_INLINE void integrate_instances(const DeviceBatch& batch, const IntegratorOptions<Method::n>& options,
                                         typename Method::Workspace& workspace,
                                         const TeamOf<typename Method::System>& team, Utilisation& utilisation) {
  BatchSupply<Method> supply(batch, team);
  LaneDriver<Method, BatchSupply<Method>> driver(options, batch.saved, supply, workspace);
  driver.run(utilisation);
}

template <class Method>
MANYFOLD_INLINE DeviceLayout device_layout(int block_size, bool block_size_forced) {
  constexpr int team_size = TeamOf<typename Method::System>::size;
  return {kernel_interface_version,
          Method::System::n,
          Method::System::parameters,
          Method::System::initial_size,
          Method::System::events,
          Method::System::discrete,
          Method::System::observables,
          static_cast<int>(sizeof(typename Integrator<Method>::Initial)),
          static_cast<int>(sizeof(IntegratorOptions<Method::n>)),
          block_size,
          block_size_forced,
          team_size,
          team_size > 1 ? static_cast<int>(sizeof(typename Method::Workspace)) : 0,
          {}};
}

}  // namespace manyfold
