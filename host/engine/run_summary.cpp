#include "host/engine/run_summary.hpp"

#include <algorithm>
#include <cmath>

#include "host/engine/group_sums.hpp"

namespace manyfold {
namespace {

void add(Counters& totals, const Counters& counters) {
  totals.steps += counters.steps;
  totals.rejected += counters.rejected;
  totals.newton_failures += counters.newton_failures;
  totals.newton_iterations += counters.newton_iterations;
  totals.residuals += counters.residuals;
  totals.jacobians += counters.jacobians;
  totals.factorizations += counters.factorizations;
  totals.solves += counters.solves;
  totals.events += counters.events;
}

}  // namespace

std::int64_t RunSummary::failures() const {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < by_status.size(); ++i) {
    if (!succeeded(static_cast<Status>(i))) result += by_status[i];
  }
  return result;
}

void RunSummary::add(const Chunk& chunk) {
  if (const GroupSums* sums = GroupSums::of(chunk)) {
    for (const OutcomeSums& group : sums->outcomes) {
      for (std::size_t i = 0; i < by_status.size(); ++i) by_status[i] += group.by_status[i];
      manyfold::add(totals, group.totals);
      if (group.first_failed >= 0) first_failure.add(chunk.first + group.first_failed, group.failure);
    }
    events.resize(static_cast<std::size_t>(chunk.shape.events));
    for (std::size_t k = 0; k < sums->first_event_times.size(); ++k) {
      const ColumnMoments& times = sums->first_event_times[k];
      EventSummary& event = events[k % events.size()];
      event.instances += static_cast<std::int64_t>(times.count);
      event.earliest = std::min(event.earliest, times.min);
      event.latest = std::max(event.latest, times.max);
    }
    return;
  }
  for (std::size_t i = 0; i < chunk.outcomes.size(); ++i) {
    const InstanceOutcome& outcome = chunk.outcomes[i];
    ++by_status[static_cast<std::size_t>(outcome.status)];
    manyfold::add(totals, outcome.counters);
    if (failed(outcome.status)) first_failure.add(chunk.first + static_cast<std::int64_t>(i), outcome);
  }
  events.resize(static_cast<std::size_t>(chunk.shape.events));
  for (std::size_t i = 0; i < chunk.first_event_times.size(); ++i) {
    const double time = chunk.first_event_times[i];
    if (std::isnan(time)) continue;
    EventSummary& event = events[i % events.size()];
    ++event.instances;
    event.earliest = std::min(event.earliest, time);
    event.latest = std::max(event.latest, time);
  }
}

void RunSummary::add(const RunSummary& other) {
  for (std::size_t i = 0; i < by_status.size(); ++i) by_status[i] += other.by_status[i];
  manyfold::add(totals, other.totals);
  first_failure.add(other.first_failure.instance, other.first_failure.outcome);
  for (std::size_t i = 0; i < other.events.size(); ++i) {
    events[i].instances += other.events[i].instances;
    events[i].earliest = std::min(events[i].earliest, other.events[i].earliest);
    events[i].latest = std::max(events[i].latest, other.events[i].latest);
  }
}

}  // namespace manyfold
