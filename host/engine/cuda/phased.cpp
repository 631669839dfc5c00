#include "host/engine/cuda/phased.hpp"

#include <algorithm>
#include <bit>

namespace manyfold::cuda {
namespace {

constexpr int lists = 7;

}  // namespace

PhasedFunctions PhasedFunctions::of(CUmodule module) {
  const auto find = [module](const char* name) {
    CUfunction function = nullptr;
    driver().check(driver().get_function(&function, module, name), name);
    return function;
  };
  return {find("manyfold_phased_initialize"),
          find("manyfold_phased_start"),
          find("manyfold_phased_jacobian"),
          find("manyfold_phased_assemble"),
          find("manyfold_phased_finish"),
          find("manyfold_phased_permute_corrections"),
          find("manyfold_phased_permute_estimates"),
          find("manyfold_phased_factorize"),
          find("manyfold_phased_solve_corrections"),
          find("manyfold_phased_solve_estimates"),
          find("manyfold_phased_correct"),
          find("manyfold_phased_estimate"),
          find("manyfold_phased_attempt"),
          find("manyfold_phased_turn")};
}

std::size_t phased_bytes_per_slot(const DeviceLayout& layout) {
  const std::size_t of_matrices = layout.phased.sparse ? static_cast<std::size_t>(layout.phased.factors_size)
                                                       : full_matrices_bytes_per_slot(layout);
  return static_cast<std::size_t>(layout.phased.frame_words) * sizeof(unsigned long long) +
         static_cast<std::size_t>(layout.phased.workspace_size) + lists * sizeof(int) + of_matrices;
}

std::size_t phased_bytes_per_stream(LinearSolver solver, const DeviceLayout& layout) {
  return layout.phased.sparse ? 0 : full_matrices_bytes_per_stream(solver, layout);
}

PhasedStream::PhasedStream(const PhasedFunctions& functions, const DeviceLayout& layout, LinearSolver solver, int slots,
                           CUstream stream)
    : functions_(functions),
      layout_(layout),
      stream_(stream),
      batch_(1),
      supply_(total(layout.phased.supply_size, 1)),
      frames_(total(layout.phased.frame_words, slots)),
      workspaces_(total(layout.phased.workspace_size, slots + 1)),
      counts_(1),
      lists_(total(lists, slots)),
      factors_(total(layout.phased.factors_size, slots)),
      full_(layout.phased.sparse ? nullptr : full_matrices(solver, layout, slots, stream)),
      host_counts_(1),
      host_batch_(1),
      in_graphs_(!full_ || full_->in_graphs()),
      captures_(in_graphs_) {
  memory_.slots = slots;
  memory_.batch = batch_.get();
  memory_.supply = supply_.get();
  memory_.frames = frames_.get();
  memory_.workspaces = workspaces_.get();
  memory_.counts = counts_.get();
  memory_.lists = lists_.get();
  memory_.factors = factors_.get();
  if (full_) full_->enter(memory_);
  workspaces_.clear(stream);
  frames_.clear(stream);
}

PhasedStream::~PhasedStream() {
  driver().synchronize_stream(stream_);
  for (const auto& [key, recorded] : recorded_) {
    if (recorded.graph != nullptr) driver().destroy_executable_graph(recorded.graph);
  }
}

void PhasedStream::integrate(const DeviceBatch& batch, const std::function<void()>& watch, Utilisation& utilisation) {
  host_batch_[0] = batch;
  batch_.copy_from(host_batch_.data(), 1, stream_);
  counts_.clear(stream_);
  const int slots = std::min(memory_.slots, batch.count);
  launch_kernel(functions_.initialize, slots, 1, "manyfold_phased_initialize");
  launch_kernel(functions_.start, slots, 1, "manyfold_phased_start");
  run(Phase::attempts, slots);
  // How many wait for what decides how much is launched, so the host reads it after every pass. While it does, this
  // stream rests; those of other workers do not.
  while (true) {
    driver().check(driver().synchronize_stream(stream_), "cuStreamSynchronize");
    watch();
    const PhasedCounts counts = host_counts_[0];
    const int factors = counts.factors[counts.present];
    const int corrections = counts.corrections[counts.present];
    const int estimates = counts.estimates[counts.present];
    if (corrections + estimates == 0) break;
    if (factors > 0) run(Phase::factors, factors);
    if (corrections > 0) run(Phase::corrections, corrections);
    if (estimates > 0) run(Phase::estimates, estimates);
    run(Phase::attempts, corrections + estimates);
    utilisation.lane_iterations += corrections;
    utilisation.iterations += padded(corrections);
    utilisation.lane_ticks += estimates;
    utilisation.ticks += padded(estimates);
  }
}

int PhasedStream::padded(int count) const {
  if (count == 0 || !in_graphs_) return count;
  const int step = std::max(static_cast<int>(std::bit_floor(static_cast<unsigned>(count))) / 4, 1);
  return std::min((count + step - 1) / step * step, memory_.slots);
}

void PhasedStream::run(Phase phase, int count) {
  const int size = padded(count);
  // The first time as it is, which is also when libraries load what they need; a size that comes again is worth a
  // graph.
  Recorded& recorded = recorded_[{phase, size}];
  if (recorded.uses++ == 1 && captures_) {
    recorded.graph = capture(phase, size);
    captures_ = recorded.graph != nullptr;
  }
  if (recorded.graph != nullptr) {
    driver().check(driver().launch_graph(recorded.graph, stream_), "cuGraphLaunch");
  } else {
    enqueue(phase, size);
  }
}

CUgraphExec PhasedStream::capture(Phase phase, int size) {
  const Driver& cu = driver();
  const std::lock_guard lock(captures());
  if (cu.begin_capture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) return nullptr;
  bool good = true;
  try {
    enqueue(phase, size);
  } catch (const DeviceError&) {
    good = false;  // told again, if it is more than the capture that fails, by the launch without it
  }
  CUgraph graph = nullptr;
  good = cu.end_capture(stream_, &graph) == CUDA_SUCCESS && graph != nullptr && good;
  CUgraphExec executable = nullptr;
  if (good && cu.instantiate_graph(&executable, graph, 0) != CUDA_SUCCESS) executable = nullptr;
  if (graph != nullptr) cu.destroy_graph(graph);
  return executable;
}

void PhasedStream::enqueue(Phase phase, int size) {
  const int n = layout_.variables;
  const int systems = systems_of(layout_);
  switch (phase) {
    case Phase::factors:
      launch_kernel(functions_.jacobian, size, layout_.phased.jacobian_shares, "manyfold_phased_jacobian");
      if (full_) {
        launch_kernel(functions_.assemble, size, n, "manyfold_phased_assemble");
        full_->factorize(size);
        launch_kernel(functions_.finish, size, 1, "manyfold_phased_finish");
      } else {
        launch_kernel(functions_.factorize, size, systems, "manyfold_phased_factorize");
      }
      break;
    case Phase::corrections:
      if (full_) {
        launch_kernel(functions_.permute_corrections, size, n, "manyfold_phased_permute_corrections");
        full_->solve(systems, size);
      } else {
        launch_kernel(functions_.solve_corrections, size, systems, "manyfold_phased_solve_corrections");
      }
      launch_kernel(functions_.correct, size, 1, "manyfold_phased_correct");
      break;
    case Phase::estimates:
      if (full_) {
        launch_kernel(functions_.permute_estimates, size, n, "manyfold_phased_permute_estimates");
        full_->solve(1, size);
      } else {
        launch_kernel(functions_.solve_estimates, size, 1, "manyfold_phased_solve_estimates");
      }
      launch_kernel(functions_.estimate, size, 1, "manyfold_phased_estimate");
      break;
    case Phase::attempts:
      launch_kernel(functions_.attempt, size, 1, "manyfold_phased_attempt");
      launch(functions_.turn, 1, 1, 0, stream_, "manyfold_phased_turn", memory_);
      counts_.copy_to(host_counts_.data(), 1, stream_);
      break;
  }
}

void PhasedStream::launch_kernel(CUfunction function, int size, int threads_per_instance, const char* name) {
  const int threads = size * threads_per_instance;
  // Where a thread has an instance for itself it has much to do: small blocks spread over more multiprocessors.
  constexpr int warp = 32;
  const int block = threads_per_instance == 1 ? std::min(layout_.block_size, warp) : layout_.block_size;
  launch(function, (threads + block - 1) / block, block, 0, stream_, name, memory_, size);
}

}  // namespace manyfold::cuda
