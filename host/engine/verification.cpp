#include "host/engine/verification.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/statistics/split_mix.hpp"

namespace manyfold {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();

/// The references must agree so much better with one another than with a solution that is blamed.
constexpr double agreement = 0.1;

/// |y| of the tolerance is the largest within this part of the time span on both sides: integrators carry errors along
/// from where a variable was large, so that none is accurate in proportion to a value that passes through zero.
constexpr double neighbourhood = 0.1;

/// Times between which two solutions are on different sides of an event.
struct Disagreement {
  double begin;
  double end;
};

struct EventComparison {
  bool differ = false;
  WorstError worst;
  std::int64_t compared = 0;
  std::vector<Disagreement> between;
};

/// Event by event of the same kind: events of different kinds at nearly the same time may change places.
EventComparison compare_events(const std::vector<EventRecord>& a, const std::vector<EventRecord>& b, bool complete,
                               int kinds, const std::array<double, 2>& t_span, double rtol) {
  EventComparison result;
  const double unit = rtol * std::abs(t_span[1] - t_span[0]);
  const auto near_end = [&](double time) { return std::abs(t_span[1] - time) <= verification_limit * unit; };
  for (int kind = 0; kind < kinds; ++kind) {
    const auto times_of = [kind](const std::vector<EventRecord>& log) {
      std::vector<double> times;
      for (const EventRecord& record : log) {
        if (record.event == kind) times.push_back(record.time);
      }
      return times;
    };
    const std::vector<double> of_a = times_of(a);
    const std::vector<double> of_b = times_of(b);
    const std::size_t common = std::min(of_a.size(), of_b.size());
    for (std::size_t k = 0; k < common; ++k) {
      const double apart = std::abs(of_a[k] - of_b[k]);
      ++result.compared;
      if (apart / unit > result.worst.error) result.worst = {apart / unit, -1, of_b[k]};
      if (apart <= rounding * std::abs(of_b[k])) continue;
      result.between.push_back({std::min(of_a[k], of_b[k]), std::max(of_a[k], of_b[k])});
    }
    if (!complete) continue;
    for (const std::vector<double>* more : {&of_a, &of_b}) {
      for (std::size_t k = common; k < more->size(); ++k) result.differ = result.differ || !near_end((*more)[k]);
    }
  }
  if (result.worst.error > verification_limit) result.differ = true;
  return result;
}

/// One instance.
class Comparison {
 public:
  Comparison(const VerificationSettings& settings, const Solutions& asked,
             const std::array<const Solutions*, 2>& references, std::size_t instance)
      : settings_(settings),
        asked_(asked),
        references_(references),
        instance_(instance),
        variables_(settings.atol.size()),
        times_(asked.outcomes.empty() ? 0 : asked.times.size() / asked.outcomes.size()) {}

  VerifiedInstance run(Verification& all, std::vector<std::vector<double>>& errors) {
    VerifiedInstance result;
    result.error.assign(variables_, std::numeric_limits<double>::quiet_NaN());
    result.doubt = result.error;
    std::vector<const Solutions*> good;
    for (std::size_t k = 0; k < 2; ++k) {
      result.reference_failed[k] = !succeeded(references_[k]->outcomes[instance_].status);
      if (!result.reference_failed[k]) good.push_back(references_[k]);
    }
    if (!succeeded(outcome(asked_).status)) {
      result.verdict = Verdict::failed;
      return result;
    }
    if (good.empty()) {
      result.verdict = Verdict::uncertain;
      return result;
    }
    // `blamed`: off where the references agree; `unclear`: off where they hardly do; `apart`: the references differ by
    // more than a solution may, so that the problem makes small errors large.
    bool blamed = false;
    bool unclear = false;
    bool apart = false;
    compare_all_events(good, result, all, blamed, unclear, apart);
    result.scaled = 0.0;
    for (std::size_t v = 0; v < variables_; ++v) {
      const double allowance = allowance_of(v);
      result.error[v] = 0.0;
      if (good.size() == 2) result.doubt[v] = 0.0;
      for (std::size_t t = 0; t < times_; ++t) {
        if (left_out(t)) {
          all.values_left_out += v == 0 ? 1 : 0;
          continue;
        }
        const double error = difference(asked_, *good[0], *good[0], t, v);
        const double doubt = good.size() == 2 ? difference(*good[0], *good[1], *good[0], t, v) : infinity;
        if (std::isnan(error)) continue;
        errors[v].push_back(error);
        VerifiedVariable& variable = all.variables[v];
        if (error / allowance > variable.worst.error / variable.allowance || variable.worst.instance < 0) {
          variable.worst = {error, static_cast<std::int64_t>(instance_), time(t)};
          variable.allowance = allowance;
        }
        result.error[v] = std::max(result.error[v], error);
        result.scaled = std::max(result.scaled, error / allowance);
        if (good.size() == 2) {
          result.doubt[v] = std::max(result.doubt[v], doubt);
          variable.doubt = std::fmax(variable.doubt, doubt);
          apart = apart || doubt > verification_limit * allowance;
        }
        if (error > verification_limit * allowance) {
          variable.exceeds = true;
          (doubt <= agreement * error ? blamed : unclear) = true;
        }
      }
    }
    result.verdict = apart     ? Verdict::uncertain
                     : blamed  ? Verdict::inaccurate
                     : unclear ? Verdict::uncertain
                               : Verdict::verified;
    return result;
  }

 private:
  const InstanceOutcome& outcome(const Solutions& of) const { return of.outcomes[instance_]; }
  double time(std::size_t t) const { return asked_.times[instance_ * times_ + t]; }
  double value(const Solutions& of, std::size_t t, std::size_t v) const {
    return of.values[(instance_ * times_ + t) * variables_ + v];
  }
  double span() const { return std::abs(asked_.t_span[instance_][1] - asked_.t_span[instance_][0]); }

  /// Errors of variables of index 2 and 3 count times h and h^2 in the test of a step.
  double allowance_of(std::size_t v) const {
    const auto steps = static_cast<double>(std::max<std::int64_t>(outcome(asked_).counters.steps, 1));
    return std::pow(std::max(1.0, steps / span()), settings_.index[v] - 1);
  }

  /// The size of a variable: its largest value near the time.
  double size(const Solutions& of, std::size_t t, std::size_t v) const {
    double largest = 0.0;
    const auto look = [&](std::size_t k) {
      if (std::abs(time(k) - time(t)) > neighbourhood * span()) return false;
      if (std::isfinite(value(of, k, v))) largest = std::max(largest, std::abs(value(of, k, v)));
      return true;
    };
    for (std::size_t k = t; look(k) && k > 0;) --k;
    for (std::size_t k = t + 1; k < times_ && look(k);) ++k;
    return largest;
  }

  /// NaN where neither solution has arrived.
  double difference(const Solutions& a, const Solutions& b, const Solutions& unit, std::size_t t, std::size_t v) const {
    const double of_a = value(a, t, v);
    const double of_b = value(b, t, v);
    if (std::isnan(of_a) && std::isnan(of_b)) return of_a;
    if (!std::isfinite(of_a) || !std::isfinite(of_b)) return infinity;
    const double tolerance = settings_.atol[v] + settings_.rtol * size(unit, t, v);
    const double apart = std::abs(of_a - of_b);
    return apart == 0.0 ? 0.0 : apart / tolerance;
  }

  void compare_all_events(const std::vector<const Solutions*>& good, VerifiedInstance& result, Verification& all,
                          bool& blamed, bool& unclear, bool& apart) {
    const auto compare = [&](const Solutions& a, const Solutions& b) {
      const auto complete = [&](const Solutions& of) {
        return outcome(of).counters.events == std::ssize(of.events[instance_]);
      };
      EventComparison compared = compare_events(a.events[instance_], b.events[instance_], complete(a) && complete(b),
                                                settings_.event_kinds, asked_.t_span[instance_], settings_.rtol);
      if (outcome(a).status != outcome(b).status) compared.differ = true;
      if (outcome(a).status == Status::terminated_by_event && !compared.differ) {
        // Saved values end at the event.
        compared.between.push_back({std::min(outcome(a).t_reached, outcome(b).t_reached),
                                    std::max(outcome(a).t_reached, outcome(b).t_reached)});
      }
      between_.insert(between_.end(), compared.between.begin(), compared.between.end());
      return compared;
    };
    const EventComparison of_asked = compare(asked_, *good[0]);
    if (good.size() == 2) {
      const EventComparison of_references = compare(*good[0], *good[1]);
      compare(asked_, *good[1]);
      apart = of_references.differ;
    }
    all.events_compared += of_asked.compared;
    if (of_asked.worst.error > all.event_time.error) {
      all.event_time = of_asked.worst;
      all.event_time.instance = static_cast<std::int64_t>(instance_);
    }
    result.events_differ = of_asked.differ;
    if (of_asked.differ) (good.size() == 2 && !apart ? blamed : unclear) = true;
  }

  bool left_out(std::size_t t) const {
    const double margin = rounding * std::abs(time(t));
    return std::any_of(between_.begin(), between_.end(), [&](const Disagreement& interval) {
      return time(t) >= interval.begin - margin && time(t) <= interval.end + margin;
    });
  }

  const VerificationSettings& settings_;
  const Solutions& asked_;
  const std::array<const Solutions*, 2>& references_;
  const std::size_t instance_;
  const std::size_t variables_;
  const std::size_t times_;
  std::vector<Disagreement> between_;
};

double median_of(std::vector<double>& numbers) {
  if (numbers.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

std::vector<std::int64_t> instances_to_verify(std::int64_t instances, double share, std::uint64_t seed) {
  std::vector<std::int64_t> chosen;
  if (share <= 0.0) return chosen;
  const std::uint64_t stream = split_mix(seed);
  for (std::int64_t i = 0; i < instances; ++i) {
    const double place = std::ldexp(static_cast<double>(split_mix(stream ^ static_cast<std::uint64_t>(i)) >> 11U), -53);
    if (place < share) chosen.push_back(i);
  }
  if (chosen.empty()) chosen.push_back(0);
  return chosen;
}

void Solutions::add(const Chunk& chunk, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  const auto count = static_cast<std::size_t>(chunk.count);
  outcomes.push_back(chunk.outcomes[at]);
  t_span.push_back({chunk.t_span[2 * at], chunk.t_span[2 * at + 1]});
  const auto append = [&](const std::vector<double>& from, std::vector<double>& to) {
    const auto row = std::ssize(from) / static_cast<std::ptrdiff_t>(count);
    to.insert(to.end(), from.begin() + i * row, from.begin() + (i + 1) * row);
  };
  append(chunk.times, times);
  append(chunk.values, values);
  const auto log = chunk.event_log(i);
  events.emplace_back(log.begin(), log.end());
}

void Solutions::replace(std::size_t i, const Solutions& other, std::size_t from) {
  outcomes[i] = other.outcomes[from];
  events[i] = other.events[from];
  const auto row = static_cast<std::ptrdiff_t>(values.size() / outcomes.size());
  const auto begin = other.values.begin() + static_cast<std::ptrdiff_t>(from) * row;
  std::copy(begin, begin + row, values.begin() + static_cast<std::ptrdiff_t>(i) * row);
}

void SolutionSink::write(const Chunk& chunk) {
  if (next_ == nullptr) {
    for (std::int64_t i = 0; i < chunk.count; ++i) solutions_.add(chunk, i);
    return;
  }
  next_->write(chunk);
  for (; wanted_ < which_.size() && which_[wanted_] < chunk.first + chunk.count; ++wanted_) {
    solutions_.add(chunk, which_[wanted_] - chunk.first);
  }
}

Verification verify(const VerificationSettings& settings, const Solutions& asked,
                    const std::array<const Solutions*, 2>& references) {
  Verification result;
  result.variables.resize(settings.atol.size());
  std::vector<std::vector<double>> errors(settings.atol.size());
  for (std::size_t i = 0; i < asked.outcomes.size(); ++i) {
    result.instances.push_back(Comparison(settings, asked, references, i).run(result, errors));
    const Verdict verdict = result.instances.back().verdict;
    ++result.by_verdict[static_cast<std::size_t>(verdict)];
    result.verdict = std::max(result.verdict, verdict);
  }
  for (std::size_t v = 0; v < errors.size(); ++v) result.variables[v].median = median_of(errors[v]);
  return result;
}

}  // namespace manyfold
