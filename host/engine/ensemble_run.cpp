#include "host/engine/ensemble_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace manyfold {
namespace {

/// A chunk some of whose instances are still on their way.
struct OpenChunk {
  Chunk chunk;
  std::int64_t handed_out = 0;
  std::int64_t finished = 0;
};

/// Hands instances to packs and finished chunks to the writer. At most `most_open` chunks exist at a time: that bounds
/// the memory, whatever the number of instances and however slow one of them is.
class WorkQueue {
 public:
  WorkQueue(const EnsembleRun& run, std::int64_t chunk_size, std::size_t most_open)
      : run_(run), shape_(run.instance_shape()), chunk_size_(chunk_size), most_open_(most_open) {}

  int take(Assignment* assignments, int most, bool wait) {
    OpenChunk* open = nullptr;
    std::int64_t first = 0;
    int count = 0;
    {
      std::unique_lock lock(mutex_);
      while (true) {
        if (stopped() || (next_ == end_ && no_spare_instances())) return 0;
        open = chunk_with_spare_instances();
        if (open != nullptr) break;
        if (!wait) return 0;
        changed_.wait_for(lock, std::chrono::milliseconds(100));
      }
      first = open->handed_out;
      count = static_cast<int>(std::min<std::int64_t>(most, open->chunk.count - first));
      open->handed_out += count;
    }
    for (int k = 0; k < count; ++k) {
      fill_inputs(open->chunk, first + k);
      assignments[k] = assignment_of(shape_, open->chunk.columns(), open->chunk.first, first + k);
    }
    return count;
  }

  /// The next chunk as a whole, for a device; null: there are no more.
  Chunk* take_chunk(bool with_inputs) {
    OpenChunk* open = nullptr;
    {
      std::unique_lock lock(mutex_);
      while (open == nullptr) {
        if (stopped() || next_ == end_) return nullptr;
        open = chunk_with_spare_instances();
        if (open == nullptr) changed_.wait_for(lock, std::chrono::milliseconds(100));
      }
      open->handed_out = open->chunk.count;
    }
    if (with_inputs) {
      for (std::int64_t k = 0; k < open->chunk.count; ++k) fill_inputs(open->chunk, k);
    }
    return &open->chunk;
  }

  void store_chunk(const Chunk& chunk) {
    const std::int64_t failed = std::count_if(chunk.outcomes.begin(), chunk.outcomes.end(),
                                              [](const auto& outcome) { return !succeeded(outcome.status); });
    const std::lock_guard lock(mutex_);
    (*std::find_if(open_.begin(), open_.end(), [&](const auto& open) { return &open->chunk == &chunk; }))->finished =
        chunk.count;
    progress_.finished += chunk.count;
    progress_.failed += failed;
    changed_.notify_all();
  }

  void store(const Assignment& assignment, const InstanceOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    OpenChunk& open = **std::find_if(open_.begin(), open_.end(), [&](const auto& candidate) {
      return assignment.instance < candidate->chunk.first + candidate->chunk.count;
    });
    open.chunk.outcomes[static_cast<std::size_t>(assignment.instance - open.chunk.first)] = outcome;
    ++open.finished;
    progress_.finished += 1;
    progress_.failed += succeeded(outcome.status) ? 0 : 1;
    if (open.finished == open.chunk.count) changed_.notify_all();
  }

  /// Writes chunks as they finish, in order if the sink asks for that, until all are written or the run is stopped;
  /// then what is open, finished or not.
  void write_all(ResultSink& sink, RunSummary& summary) {
    while (true) {
      std::unique_ptr<OpenChunk> done;
      {
        std::unique_lock lock(mutex_);
        const auto finished = [](const auto& open) { return open->finished == open->chunk.count; };
        auto next = open_.begin();
        changed_.wait(lock, [&] {
          next = open_.begin();
          if (!sink.in_order()) next = std::find_if(next, open_.end(), finished);
          return workers_left_ == 0 || (next != open_.end() && finished(*next));
        });
        if (open_.empty()) return;
        if (next == open_.end()) next = open_.begin();
        done = std::move(*next);
        open_.erase(next);
        changed_.notify_all();
      }
      for (const InstanceOutcome& outcome : done->chunk.outcomes) add(outcome, summary);
      add_first_times(done->chunk.first_event_times, summary.events);
      sink.write(done->chunk);
    }
  }

  void start_workers(int count) { workers_left_ = count; }
  void worker_left() {
    const std::lock_guard lock(mutex_);
    --workers_left_;
    changed_.notify_all();
  }

  void stop() {
    halted_ = true;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  bool stopped() const { return halted_ || (run_.stop != nullptr && *run_.stop); }

  Progress progress() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }
  /// Returns after `patience`, or as soon as all workers have left: true in that case.
  bool wait_for_workers(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return workers_left_ == 0; });
  }

 private:
  bool no_spare_instances() const {
    return std::all_of(open_.begin(), open_.end(),
                       [](const auto& open) { return open->handed_out == open->chunk.count; });
  }

  OpenChunk* chunk_with_spare_instances() {
    for (const auto& open : open_) {
      if (open->handed_out < open->chunk.count) return open.get();
    }
    if (next_ == end_ || open_.size() >= most_open_) return nullptr;
    Chunk chunk(shape_, next_, std::min(chunk_size_, end_ - next_));
    open_.push_back(std::make_unique<OpenChunk>(OpenChunk{std::move(chunk)}));
    next_ += open_.back()->chunk.count;
    return open_.back().get();
  }

  /// The inputs of instance number `k` of the chunk. Needs no lock: its part of the chunk belongs to the caller until
  /// it is stored.
  void fill_inputs(Chunk& chunk, std::int64_t k) const {
    const Columns<ColumnPointer> row = row_of(shape_, chunk.columns(), k);
    run_.fill_instance(chunk.first + k, row.parameters, row.initial, row.t_span);
    run_.kernel->complete_initial(row.parameters, row.initial);
    run_.fill_times(row.t_span[0], row.t_span[1], row.times);
  }

  static void add(const InstanceOutcome& outcome, RunSummary& summary) {
    ++summary.by_status[static_cast<std::size_t>(outcome.status)];
    summary.totals.steps += outcome.counters.steps;
    summary.totals.rejected += outcome.counters.rejected;
    summary.totals.newton_failures += outcome.counters.newton_failures;
    summary.totals.newton_iterations += outcome.counters.newton_iterations;
    summary.totals.residuals += outcome.counters.residuals;
    summary.totals.jacobians += outcome.counters.jacobians;
    summary.totals.factorizations += outcome.counters.factorizations;
    summary.totals.solves += outcome.counters.solves;
    summary.totals.events += outcome.counters.events;
  }

  /// `times` [instances][events]
  static void add_first_times(const std::vector<double>& times, std::vector<EventSummary>& events) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (std::isnan(times[i])) continue;
      EventSummary& event = events[i % events.size()];
      ++event.instances;
      event.earliest = std::min(event.earliest, times[i]);
      event.latest = std::max(event.latest, times[i]);
    }
  }

  const EnsembleRun& run_;
  const InstanceShape shape_;
  const std::int64_t chunk_size_;
  const std::size_t most_open_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<OpenChunk>> open_;
  const std::int64_t end_ = run_.first + run_.instances;
  std::int64_t next_ = run_.first;  ///< first instance that is in no chunk yet
  int workers_left_ = 0;
  std::atomic<bool> halted_ = false;
  Progress progress_;
};

/// One pack on one thread, or one stream of a device.
struct Worker : DeviceFeed {
  Worker(WorkQueue& work_queue, const EnsembleRun& ensemble, int worker)
      : queue(work_queue), run(ensemble), number(worker) {}

  WorkQueue& queue;
  const EnsembleRun& run;
  const int number;
  Utilisation utilisation;
  std::exception_ptr failure;

  void integrate() {
    KernelFeed feed{this,
                    [](void* self, Assignment* assignments, int most, bool wait) {
                      return static_cast<Worker*>(self)->take(assignments, most, wait);
                    },
                    [](void* self, const Assignment& assignment, const InstanceOutcome& outcome) {
                      static_cast<Worker*>(self)->queue.store(assignment, outcome);
                    },
                    [](void* self) { return static_cast<Worker*>(self)->cancelled(); }};
    const SolverOptions& options = run.options;
    std::vector<int> places(static_cast<std::size_t>(run.shape.variables + run.shape.observables), -1);
    for (std::size_t k = 0; k < run.saved.size(); ++k)
      places[static_cast<std::size_t>(run.saved[k])] = static_cast<int>(k);
    const KernelOptions settings{options.rtol,
                                 options.atol.data(),
                                 options.step_settings(run.fixed_step),
                                 {places.data(), static_cast<int>(run.saved.size())}};
    try {
      if (run.device != nullptr) {
        run.device->integrate(number, settings, *this, utilisation);
      } else {
        integrate_on_processor(settings, feed);
      }
    } catch (...) {
      failure = std::current_exception();
      queue.stop();
    }
  }

  /// Models are users' code.
  void integrate_on_processor(const KernelOptions& settings, KernelFeed& feed) {
    try {
      run.kernel->run(settings, feed, utilisation);
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("no memory is left for the integration: take fewer threads");
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string("the model threw an exception: ") + error.what());
    } catch (...) {
      throw std::runtime_error("the model threw an exception");
    }
  }

  int take(Assignment* assignments, int most, bool wait) {
    try {
      return queue.take(assignments, most, wait);
    } catch (...) {
      // Kernels know no exceptions: keep this one for the caller of the run.
      failure = std::current_exception();
      queue.stop();
      return 0;
    }
  }

  Chunk* take(bool with_inputs) override { return queue.take_chunk(with_inputs); }
  void store(Chunk& chunk) override { queue.store_chunk(chunk); }
  bool cancelled() override { return queue.stopped(); }
};

int thread_count(const EnsembleRun& run) {
  if (run.device != nullptr) return run.device->workers();
  if (run.options.threads > 0) return run.options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct ChunkSizes {
  std::int64_t instances = 0;
  std::size_t most_open = 0;  ///< chunks that exist at a time
};

ChunkSizes chunk_sizes(const EnsembleRun& run, int threads) {
  const auto workers = static_cast<std::size_t>(threads);
  if (run.device != nullptr) {
    // A chunk is a batch of the device, and may be large: one is integrated, one is written.
    const std::int64_t batch = run.device->batch_size();
    return {run.chunk_size > 0 ? std::min(run.chunk_size, batch) : batch, 2 * workers};
  }
  if (run.chunk_size > 0) return {run.chunk_size, 4 * workers + 8};
  // Large enough that locks and writes do not count, small enough to keep all threads busy and the memory bounded.
  const std::int64_t by_memory = (std::int64_t{1} << 23) / bytes_of_instance(run.instance_shape());
  const std::int64_t by_threads = run.instances / (std::int64_t{threads} * 8);
  return {std::clamp<std::int64_t>(std::min(by_memory, by_threads), 64, 16384), 4 * workers + 8};
}

/// The writer and all workers, each in a thread of its own, until they have ended. Throws if threads cannot be started,
/// and what the sink throws.
void run_threads(WorkQueue& queue, std::deque<Worker>& workers, const std::function<void()>& write,
                 const std::function<void()>& report) {
  std::exception_ptr write_failure;
  std::exception_ptr start_failure;
  {
    std::vector<std::jthread> threads;
    try {
      threads.emplace_back([&] {
        try {
          write();
        } catch (...) {
          write_failure = std::current_exception();
          queue.stop();
        }
      });
      for (Worker& worker : workers) {
        threads.emplace_back([&queue, &worker] {
          worker.integrate();
          queue.worker_left();
        });
      }
    } catch (const std::system_error& error) {
      start_failure = std::make_exception_ptr(
          std::runtime_error("only " + std::to_string(threads.size()) + " of " + std::to_string(workers.size() + 1) +
                             " threads can be started: " + error.code().message() + "; take fewer threads"));
      queue.stop();
      for (std::size_t started = std::max<std::size_t>(threads.size(), 1) - 1; started < workers.size(); ++started) {
        queue.worker_left();
      }
    }
    while (!queue.wait_for_workers(std::chrono::milliseconds(100))) report();
    report();
  }
  if (start_failure) std::rethrow_exception(start_failure);
  if (write_failure) std::rethrow_exception(write_failure);
}

/// Throws what a worker threw.
Utilisation utilisation_of(const std::deque<Worker>& workers) {
  Utilisation total;
  for (const Worker& worker : workers) {
    if (worker.failure) std::rethrow_exception(worker.failure);
    total.ticks += worker.utilisation.ticks;
    total.lane_ticks += worker.utilisation.lane_ticks;
    total.iterations += worker.utilisation.iterations;
    total.lane_iterations += worker.utilisation.lane_iterations;
  }
  return total;
}

}  // namespace

RunSummary run_ensemble(const EnsembleRun& run, ResultSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  RunSummary summary;
  summary.events.resize(static_cast<std::size_t>(run.shape.events));
  summary.instances = run.instances;
  summary.threads = thread_count(run);
  const ChunkSizes sizes = chunk_sizes(run, summary.threads);
  WorkQueue queue(run, sizes.instances, sizes.most_open);
  queue.start_workers(summary.threads);
  std::deque<Worker> workers;
  for (int i = 0; i < summary.threads; ++i) workers.emplace_back(queue, run, i);
  run_threads(
      queue, workers, [&] { queue.write_all(sink, summary); },
      [&] {
        if (!run.progress) return;
        Progress progress = queue.progress();
        progress.instances = run.instances;
        progress.seconds = seconds();
        run.progress(progress);
      });
  const Utilisation total = utilisation_of(workers);
  std::int64_t accounted = 0;
  for (const std::int64_t count : summary.by_status) accounted += count;
  // Instances that were never begun.
  summary.by_status[static_cast<std::size_t>(Status::cancelled)] += run.instances - accounted;
  summary.interrupted = queue.stopped();
  summary.wall_seconds = seconds();
  summary.lane_utilisation = total.ticks > 0.0 ? total.lane_ticks / total.ticks : 1.0;
  summary.newton_utilisation = total.iterations > 0.0 ? total.lane_iterations / total.iterations : 1.0;
  return summary;
}

}  // namespace manyfold
