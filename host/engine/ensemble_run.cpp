#include "host/engine/ensemble_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "host/engine/chunk_queue.hpp"
#include "host/engine/processors.hpp"
#include "host/engine/signal_stack.hpp"

namespace manyfold {
namespace {

/// One pack on one thread, or one stream of a device.
class Worker : public DeviceFeed {
 public:
  Worker(ChunkQueue& queue, const EnsembleRun& run, const ResultSink& sink, int number)
      : queue_(queue), run_(run), shape_(run.instance_shape()), sink_(sink), number_(number) {}

  void integrate() {
    try {
      const SignalStack stack;
      integrate_instances();
      // Those that a stopped run leaves behind.
      while (!open_.empty()) close(*open_.front());
    } catch (...) {
      fail();
    }
  }

  const RunSummary& summary() const { return summary_; }
  const Utilisation& utilisation() const { return utilisation_; }
  std::int64_t finished() const { return finished_.load(std::memory_order_relaxed); }
  std::int64_t failed() const { return failed_.load(std::memory_order_relaxed); }
  /// Throws what ended the worker, if anything did.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void integrate_instances() {
    KernelFeed feed{this,
                    [](void* self, Assignment* assignments, int most, bool wait) {
                      return static_cast<Worker*>(self)->take(assignments, most, wait);
                    },
                    [](void* self, const Assignment& assignment, const InstanceOutcome& outcome) {
                      static_cast<Worker*>(self)->store(assignment, outcome);
                    },
                    [](void* self) { return static_cast<Worker*>(self)->cancelled(); }};
    const SolverOptions& options = run_.options;
    std::vector<int> places(static_cast<std::size_t>(run_.shape.quantities()), -1);
    for (std::size_t k = 0; k < run_.saved.size(); ++k)
      places[static_cast<std::size_t>(run_.saved[k])] = static_cast<int>(k);
    const KernelOptions settings{options.rtol,
                                 options.atol.data(),
                                 options.step_settings(run_.fixed_step),
                                 {places.data(), static_cast<int>(run_.saved.size())},
                                 run_.observer};
    if (run_.device != nullptr) {
      run_.device->integrate(number_, settings, *this, utilisation_);
    } else {
      integrate_on_processor(settings, feed);
    }
  }

  /// Models are users' code.
  void integrate_on_processor(const KernelOptions& settings, KernelFeed& feed) {
    try {
      run_.kernel->run(settings, feed, utilisation_);
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("no memory is left for the integration: take fewer threads");
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string("the model threw an exception: ") + error.what());
    } catch (...) {
      throw std::runtime_error("the model threw an exception");
    }
  }

  void fail() {
    if (!failure_) failure_ = std::current_exception();
    queue_.stop();
  }

  // Kernels know no exceptions: what `take` and `store` meet is kept for the caller of the run.

  int take(Assignment* assignments, int most, bool wait) {
    try {
      int count = 0;
      while (count < most && !queue_.stopped()) {
        if (current_ == nullptr) current_ = open(wait && count == 0);
        if (current_ == nullptr) break;
        assignments[count++] = next_of(*current_);
        if (current_->handed_out == current_->chunk.count) current_ = nullptr;
      }
      return count;
    } catch (...) {
      fail();
      return 0;
    }
  }

  void store(const Assignment& assignment, const InstanceOutcome& outcome) {
    try {
      OpenChunk& open = **std::find_if(open_.begin(), open_.end(), [&](const OpenChunk* candidate) {
        return assignment.instance >= candidate->chunk.first &&
               assignment.instance < candidate->chunk.first + candidate->chunk.count;
      });
      open.chunk.outcomes[static_cast<std::size_t>(assignment.instance - open.chunk.first)] = outcome;
      count(1, succeeded(outcome.status) ? 0 : 1);
      if (++open.finished == open.chunk.count) close(open);
    } catch (...) {
      fail();
    }
  }

  Chunk* take(bool with_inputs) override {
    OpenChunk* const next = open(true);
    if (next == nullptr) return nullptr;
    next->handed_out = next->chunk.count;
    const bool with_results = !run_.device->adds_up();
    if (!with_results && !with_inputs) return &next->chunk;
    sampled_on_device_ = !with_inputs;
    for (std::int64_t k = 0; k < next->chunk.count; ++k) {
      if (with_results) next->chunk.clear(k, true);
      if (with_inputs) fill_inputs(next->chunk, k);
    }
    return &next->chunk;
  }

  void store(Chunk& chunk) override {
    if (sampled_on_device_) fill_times(chunk);
    const std::int64_t instances = chunk.count;
    const std::int64_t failures = summary_.failures();
    close(**std::find_if(open_.begin(), open_.end(), [&](const OpenChunk* open) { return &open->chunk == &chunk; }));
    count(instances, summary_.failures() - failures);
  }

  bool cancelled() override { return queue_.stopped(); }

  OpenChunk* open(bool wait) {
    OpenChunk* const next = queue_.open(wait);
    if (next != nullptr) open_.push_back(next);
    return next;
  }

  void close(OpenChunk& open) {
    open_.erase(std::find(open_.begin(), open_.end(), &open));
    for (std::int64_t k = open.handed_out; k < open.chunk.count; ++k) open.chunk.clear(k, true);
    summary_.add(open.chunk);
    sink_.prepare(open.chunk);
    queue_.close(open);
  }

  Assignment next_of(OpenChunk& open) const {
    const std::int64_t k = open.handed_out++;
    open.chunk.clear(k, false);
    fill_inputs(open.chunk, k);
    return assignment_of(shape_, open.chunk.columns(), open.chunk.first, k);
  }

  /// The inputs of instance number `k` of the chunk.
  void fill_inputs(Chunk& chunk, std::int64_t k) const {
    double* const parameters = chunk.parameters.data() + k * shape_.parameters;
    double* const initial = chunk.initial.data() + k * shape_.initial;
    double* const t_span = chunk.t_span.data() + 2 * k;
    run_.fill_instance(chunk.first + k, parameters, initial, t_span);
    run_.kernel->complete_initial(parameters, initial);
    run_.fill_times(t_span[0], t_span[1], chunk.times.data() + k * shape_.times);
  }

  /// The output times of instances whose time spans came from the device.
  void fill_times(Chunk& chunk) const {
    for (std::int64_t k = 0; k < chunk.count; ++k) {
      const Columns<ColumnPointer> row = row_of(shape_, chunk.columns(), k);
      run_.fill_times(row.t_span[0], row.t_span[1], row.times);
    }
  }

  /// Read by the thread that reports progress, written by this one alone.
  void count(std::int64_t finished, std::int64_t failed) {
    finished_.store(finished_.load(std::memory_order_relaxed) + finished, std::memory_order_relaxed);
    failed_.store(failed_.load(std::memory_order_relaxed) + failed, std::memory_order_relaxed);
  }

  ChunkQueue& queue_;
  const EnsembleRun& run_;
  const InstanceShape shape_;
  const ResultSink& sink_;
  const int number_;
  bool sampled_on_device_ = false;
  OpenChunk* current_ = nullptr;  // the one whose instances are handed out
  std::vector<OpenChunk*> open_;  // with instances on their way
  RunSummary summary_;
  Utilisation utilisation_;
  std::exception_ptr failure_;
  alignas(64) std::atomic<std::int64_t> finished_ = 0;
  std::atomic<std::int64_t> failed_ = 0;
};

int thread_count(const EnsembleRun& run) {
  if (run.device != nullptr) return run.device->workers();
  if (run.options.threads > 0) return run.options.threads;
  return available_processors();
}

ChunkSizes sizes_of(const EnsembleRun& run, int threads) {
  const auto workers = static_cast<std::size_t>(threads);
  if (run.device != nullptr) {
    // A chunk is a batch of the device, and may be large: one is integrated, one is written.
    const std::int64_t batch = run.device->batch_size();
    const ChunkRows rows = !run.device->adds_up() ? ChunkRows::all : run.plan ? ChunkRows::none : ChunkRows::inputs;
    return {run.chunk_size > 0 ? std::min(run.chunk_size, batch) : batch, rows, false, 2 * workers};
  }
  if (run.chunk_size > 0) return {run.chunk_size, ChunkRows::all, false, 4 * workers + 8};
  return chunk_sizes(bytes_of_instance(run.instance_shape()), threads);
}

/// The writer and all workers, each in a thread of its own, until they have ended. Throws if threads cannot be started,
/// and what the sink throws.
void run_threads(ChunkQueue& queue, std::deque<Worker>& workers, const std::function<void()>& write,
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
    while (!queue.wait_for_workers()) report();
    report();
  }
  if (start_failure) std::rethrow_exception(start_failure);
  if (write_failure) std::rethrow_exception(write_failure);
}

}  // namespace

RunSummary run_ensemble(const EnsembleRun& run, ResultSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  RunSummary summary;
  summary.events.resize(static_cast<std::size_t>(run.shape.events));
  summary.instances = run.instances;
  summary.threads = thread_count(run);
  ChunkQueue queue(run.instance_shape(), run.first, run.first + run.instances, summary.threads,
                   sizes_of(run, summary.threads), run.stop);
  std::deque<Worker> workers;
  for (int i = 0; i < summary.threads; ++i) workers.emplace_back(queue, run, sink, i);
  run_threads(
      queue, workers, [&] { queue.write_all(sink); },
      [&] {
        if (!run.progress) return;
        Progress progress{run.instances, 0, 0, seconds()};
        for (const Worker& worker : workers) {
          progress.finished += worker.finished();
          progress.failed += worker.failed();
        }
        run.progress(progress);
      });
  Utilisation total;
  for (const Worker& worker : workers) {
    worker.check();
    summary.add(worker.summary());
    total.ticks += worker.utilisation().ticks;
    total.lane_ticks += worker.utilisation().lane_ticks;
    total.iterations += worker.utilisation().iterations;
    total.lane_iterations += worker.utilisation().lane_iterations;
  }
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
