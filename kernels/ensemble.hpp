#pragma once
// Keeps the lanes of one pack busy: ready instances wait beside the pack, finished lanes are refilled at once.
#include "integrator.hpp"
#include "interface.hpp"

namespace manyfold {

template <class Method>
class PackDriver {
 public:
  using System = typename Method::System;
  using Real = typename Method::Real;
  using Mask = MaskOf<Real>;
  using Lanes = LaneTraits<Real>;
  static constexpr int n = System::n;
  static constexpr int width = lane_width<Real>;

  PackDriver(const KernelOptions& options, KernelFeed& feed)
      : options_(integrator_options(options)),
        saved_(options.saved),
        saved_count_(options.saved_count),
        feed_(feed),
        integrator_(options_) {}

  /// Integrates instances until the feed has no more, or the run is cancelled.
  void run(Utilisation& utilisation) {
    while (!feed_.cancelled(feed_.context)) {
      refill();
      const Mask live = integrator_.live();
      if (!any(live)) break;
      const Mask accepted = integrator_.tick();
      utilisation.ticks += width;
      utilisation.lane_ticks += count(live);
      save(accepted);
      const Mask ended = live & !integrator_.live();
      if (any(ended)) {
        for (int lane = 0; lane < width; ++lane) {
          if (Lanes::test(ended, lane)) store(lane);
        }
      }
    }
    cancel_remaining();
    utilisation.iterations += integrator_.newton_passes() * width;
    utilisation.lane_iterations += lane_iterations_;
  }

 private:
  static IntegratorOptions<n> integrator_options(const KernelOptions& options) {
    IntegratorOptions<n> result{};
    const double scale = Method::internal_rtol(options.rtol) / options.rtol;
    result.tolerances.rtol = options.rtol * scale;
    for (int i = 0; i < n; ++i) result.tolerances.atol[i] = options.atol[i] * scale;
    result.newton = {Method::newton_tolerance(result.tolerances.rtol), Method::most_newton_iterations};
    // Steps that may not shrink must be solved, however slowly Newton's method converges.
    if (options.fixed_step > 0.0) result.newton.most_iterations = 50;
    result.max_steps = options.max_steps;
    result.first_step = options.first_step;
    result.max_step = options.max_step;
    result.fixed_step = options.fixed_step;
    return result;
  }

  void refill() {
    const Mask live = integrator_.live();
    if (all(live)) return;
    for (int lane = 0; lane < width; ++lane) {
      if (Lanes::test(live, lane)) continue;
      while (true) {
        if (next_ready_ == ready_count_ && !make_ready()) return;
        const int from = next_ready_++;
        assignment_[lane] = ready_assignment_[from];
        integrator_.load(lane, ready_, from);
        start_output(lane);
        if (Lanes::test(integrator_.live(), lane)) break;
        store(lane, Lanes::get(ready_.residual_norm, from));
      }
    }
  }

  /// Takes up to a pack of instances and makes their initial conditions consistent, all lanes at once.
  bool make_ready() {
    next_ready_ = 0;
    ready_count_ = feed_.take(feed_.context, ready_assignment_, width, !any(integrator_.live()));
    if (ready_count_ == 0) return false;
    for (int lane = 0; lane < width; ++lane) {
      // Spare lanes repeat the first instance.
      const Assignment& assignment = ready_assignment_[lane < ready_count_ ? lane : 0];
      Lanes::set(ready_.t, lane, assignment.t_begin);
      Lanes::set(ready_.t_end, lane, assignment.t_end);
      for (int i = 0; i < n; ++i) Lanes::set(ready_.y[i], lane, assignment.initial[i]);
      for (int i = 0; i < System::parameters; ++i) Lanes::set(ready_.p[i], lane, assignment.parameters[i]);
    }
    Integrator<Method>::initialize(options_, ready_);
    return true;
  }

  /// Saves what falls on the initial point, and finds the first output time after it.
  void start_output(int lane) {
    const Assignment& assignment = assignment_[lane];
    const bool forward = assignment.t_end >= assignment.t_begin;
    int& next = next_time_[lane];
    next = 0;
    while (next < assignment.time_count) {
      const double time = assignment.times[next];
      if (forward ? time > assignment.t_begin : time < assignment.t_begin) break;
      if (time == assignment.t_begin) {
        for (int k = 0; k < saved_count_; ++k) {
          assignment.values[next * saved_count_ + k] = Lanes::get(integrator_.y(saved_[k]), lane);
        }
      }
      ++next;
    }
    set_output_time(lane);
  }

  void set_output_time(int lane) {
    const Assignment& assignment = assignment_[lane];
    const int next = next_time_[lane];
    const bool forward = assignment.t_end >= assignment.t_begin;
    const double never = forward ? __builtin_inf() : -__builtin_inf();
    Lanes::set(output_time_, lane, next < assignment.time_count ? assignment.times[next] : never);
  }

  /// Output times passed by the accepted steps, in all lanes that have one, until none is left.
  void save(const Mask& accepted) {
    const auto pending = [&] {
      const Real beyond = output_time_ - integrator_.t();
      return accepted & (select(integrator_.h_accepted() > Real(0.0), beyond, -beyond) <= Real(0.0));
    };
    for (Mask lanes = pending(); any(lanes); lanes = pending()) {
      for (int k = 0; k < saved_count_; ++k) {
        const Real value = integrator_.dense(saved_[k], output_time_);
        for (int lane = 0; lane < width; ++lane) {
          if (!Lanes::test(lanes, lane)) continue;
          assignment_[lane].values[next_time_[lane] * saved_count_ + k] = Lanes::get(value, lane);
        }
      }
      for (int lane = 0; lane < width; ++lane) {
        if (!Lanes::test(lanes, lane)) continue;
        ++next_time_[lane];
        set_output_time(lane);
      }
    }
  }

  void store(int lane, double residual_norm = 0.0) {
    const Assignment& assignment = assignment_[lane];
    InstanceOutcome outcome;
    outcome.status = integrator_.status(lane);
    outcome.t_reached = Lanes::get(integrator_.t(), lane);
    outcome.residual_norm = residual_norm;
    outcome.counters = integrator_.counters(lane);
    lane_iterations_ += static_cast<double>(outcome.counters.newton_iterations);
    if (assignment.end_state != nullptr) {
      for (int i = 0; i < n; ++i) {
        assignment.end_state[i] = Lanes::get(integrator_.y(i), lane);
        assignment.end_state[n + i] = Lanes::get(integrator_.dy(i), lane);
      }
    }
    feed_.store(feed_.context, assignment, outcome);
  }

  void cancel_remaining() {
    const Mask live = integrator_.live();
    for (int lane = 0; lane < width; ++lane) {
      if (!Lanes::test(live, lane)) continue;
      integrator_.cancel(lane);
      store(lane);
    }
    for (; next_ready_ < ready_count_; ++next_ready_) {
      InstanceOutcome outcome;
      outcome.t_reached = ready_assignment_[next_ready_].t_begin;
      feed_.store(feed_.context, ready_assignment_[next_ready_], outcome);
    }
  }

  IntegratorOptions<n> options_;
  const int* saved_;
  int saved_count_;
  KernelFeed& feed_;
  Integrator<Method> integrator_;
  Assignment assignment_[width];
  int next_time_[width] = {};
  Real output_time_ = Real(0.0);
  double lane_iterations_ = 0.0;

  InitialLanes<System, Real> ready_;
  Assignment ready_assignment_[width];
  int ready_count_ = 0;
  int next_ready_ = 0;
};

}  // namespace manyfold
