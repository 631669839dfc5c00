#pragma once
// The supply of a pack on the CPU: takes instances from the engine by the pack and makes their initial conditions
// consistent, all lanes at once, before they are needed, so that refilling one lane stalls no other.
#include "lane_driver.hpp"

namespace manyfold {

template <class Method>
class PackSupply {
 public:
  using System = typename Method::System;
  using Real = typename Integrator<Method>::InitialReal;
  using Lanes = LaneTraits<Real>;
  static constexpr int width = lane_width<Real>;
  using Held = Assignment;

  PackSupply(const IntegratorOptions<System::n>& options, KernelFeed& feed) : options_(options), feed_(feed) {}

  ReadyInstance<Method, Held> next(bool wait) {
    if (next_ == count_ && !make_ready(wait)) return {};
    const int from = next_++;
    return {&ready_, from, assignments_[from]};
  }

  MANYFOLD_INLINE const Assignment& assignment(const Held& held) const { return held; }

  void store(const Assignment& assignment, const InstanceOutcome& outcome) {
    feed_.store(feed_.context, assignment, outcome);
  }

  static constexpr OneThread team() { return {}; }

  static constexpr unsigned ticks_between_polls = 1;
  bool cancelled() const { return feed_.cancelled(feed_.context); }

  void cancel_ready() {
    for (; next_ < count_; ++next_) {
      InstanceOutcome outcome;
      outcome.t_reached = assignments_[next_].t_begin;
      store(assignments_[next_], outcome);
    }
  }

 private:
  bool make_ready(bool wait) {
    next_ = 0;
    count_ = feed_.take(feed_.context, assignments_, width, wait);
    if (count_ == 0) return false;
    for (int lane = 0; lane < width; ++lane) {
      // Spare lanes repeat the first instance.
      const Assignment& assignment = assignments_[lane < count_ ? lane : 0];
      Lanes::set(ready_.t, lane, assignment.t_begin);
      Lanes::set(ready_.t_end, lane, assignment.t_end);
      System::distribute_initial(
          assignment.initial, [&](int i, double value) { Lanes::set(ready_.y[i], lane, value); },
          [&](int i, double value) { Lanes::set(ready_.dy[i], lane, value); });
      for (int i = 0; i < System::parameters; ++i) Lanes::set(ready_.p[i], lane, assignment.parameters[i]);
    }
    Integrator<Method>::initialize(options_, ready_, conditions_);
    return true;
  }

  IntegratorOptions<System::n> options_;
  KernelFeed& feed_;
  typename Integrator<Method>::Initial ready_;
  typename Integrator<Method>::Conditions conditions_;
  Assignment assignments_[width];
  int count_ = 0;
  int next_ = 0;
};

}  // namespace manyfold
