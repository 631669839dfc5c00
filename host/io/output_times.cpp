#include "host/io/output_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "kernels/sampling/input_plan.hpp"

namespace manyfold {

OutputTimes::OutputTimes(int count, std::vector<double> times) : count_(count), times_(std::move(times)) {}

OutputTimes OutputTimes::equal_steps(int count) {
  if (count < 2) throw UsageError(fmt::format("times is the count {}, but must be at least 2: both ends", count));
  return OutputTimes(count, {});
}

OutputTimes OutputTimes::end() {
  return OutputTimes(1, {});
}

OutputTimes OutputTimes::list(std::vector<double> times) {
  if (times.empty()) throw UsageError("times is an empty list, but must have at least one time");
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!std::isfinite(times[i])) throw UsageError(fmt::format("times contains {}, but must be finite", times[i]));
    if (i == 0) continue;
    const bool ahead = times[1] > times[0] ? times[i] > times[i - 1] : times[i] < times[i - 1];
    if (!ahead) {
      throw UsageError(fmt::format("times must be strictly monotone, but {} follows {}", times[i], times[i - 1]));
    }
  }
  const int count = static_cast<int>(times.size());
  return OutputTimes(count, std::move(times));
}

OutputTimes OutputTimes::log(double from, double to, int count) {
  if (!(from > 0.0 && to > 0.0 && std::isfinite(from) && std::isfinite(to)) || from == to) {
    throw UsageError(
        fmt::format("the ends of log times are {} and {}, but must be positive, finite and different", from, to));
  }
  if (!std::isnormal(to / from)) {
    throw UsageError(fmt::format(
        "the ends of log times are {} and {}, but their quotient must be what a double holds (2.2e-308 to 1.8e308)",
        from, to));
  }
  if (count < 2)
    throw UsageError(fmt::format("the count of log times is {}, but must be at least 2: both ends", count));
  std::vector<double> times;
  const double ratio = std::log(to / from) / (count - 1);
  for (int i = 0; i < count; ++i) times.push_back(from * std::exp(ratio * i));
  times.back() = to;
  return list(std::move(times));
}

std::optional<std::string> OutputTimes::problem(double t_begin, double t_end, bool inside) const {
  if (times_.size() > 1 && (times_[1] > times_[0]) != (t_end > t_begin)) {
    return fmt::format("times run from {} to {}, but the time span from {} to {}", times_.front(), times_.back(),
                       t_begin, t_end);
  }
  if (!absolute() && count_ > 1) {
    // Of steps that are wider than two neighbouring doubles are apart, none is empty.
    const double last = std::max(std::abs(t_begin), std::abs(t_end));
    const double gap = std::nextafter(last, std::numeric_limits<double>::infinity()) - last;
    const double step = std::abs(t_end - t_begin) / (count_ - 1);
    if (step < 2.0 * gap) {
      std::vector<double> all(static_cast<std::size_t>(count_));
      fill(t_begin, t_end, all.data());
      const auto equal = std::adjacent_find(all.begin(), all.end());
      if (equal != all.end()) {
        return fmt::format("times has {} equal steps, of which two end at {}: between {} and {} doubles are {} apart",
                           count_ - 1, *equal, t_begin, t_end, gap);
      }
    }
  }
  const auto [low, high] = std::minmax(t_begin, t_end);
  for (const double time : times_) {
    if (inside && !(time >= low && time <= high)) {
      return fmt::format("times has {}, but the time span is from {} to {}", time, t_begin, t_end);
    }
  }
  return std::nullopt;
}

void OutputTimes::fill(double t_begin, double t_end, double* times) const {
  if (absolute()) {
    std::copy(times_.begin(), times_.end(), times);
    return;
  }
  fill_equal_steps(t_begin, t_end, count_, times);
}

}  // namespace manyfold
