#include "host/engine/cuda/batch_worker.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace manyfold::cuda {

BatchWorker::BatchWorker(const LoadedDevice& device, Tier tier, const DeviceDemand& demand, std::size_t batch_size,
                         int slots, const KernelOptions& options)
    : device_(device),
      sampled_(demand.sampling.has_value()),
      memory_(batch_size, device.layout, demand),
      atol_(options.atol, static_cast<std::size_t>(device.layout.variables)),
      place_(options.saved.place,
             static_cast<std::size_t>(device.layout.variables + device.layout.observables + device.layout.discrete)),
      settings_(static_cast<std::size_t>(device.layout.options_size)),
      settings_at_host_(static_cast<std::size_t>(device.layout.options_size)),
      cancelled_(1),
      used_(1),
      saved_(options.saved) {
  if (sampled_) plan_.emplace(demand.sampling->plan);
  if (demand.sums) sums_.emplace(demand.sums->request, demand.shape, batch_size, device.sums_module, device.kept);
  memory_.clear_logs(stream_.get());
  cancelled_.clear(stream_.get());
  used_.clear(stream_.get());
  saved_.place = place_.get();
  KernelOptions device_options = options;
  device_options.atol = atol_.get();
  device_options.saved = saved_;
  launch(device.prepare, 1, 1, 0, stream_.get(), "manyfold_prepare", device_options, settings_.address());
  settings_.copy_to(settings_at_host_.data(), settings_at_host_.size(), stream_.get());
  stream_.synchronize();
  if (tier == Tier::phased) {
    phased_.emplace(device.phased, device.layout, demand.linear_solver, slots, stream_.get());
  }
}

void BatchWorker::integrate(DeviceFeed& feed, std::atomic<std::int64_t>& copied_back, Utilisation& utilisation) {
  while (Chunk* chunk = feed.take(!sampled_)) {
    DeviceBatch batch = begin(*chunk);
    if (phased_) {
      phased_->integrate(
          batch, [&] { watch(feed); }, utilisation);
    } else {
      integrate_fused(batch);
    }
    copied_back += begin_copy_out(batch);
    while (stream_.busy()) {
      watch(feed);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    copy_out(*chunk);
    feed.store(*chunk);
  }
  add_to(utilisation);
}

DeviceBatch BatchWorker::begin(const Chunk& chunk) {
  DeviceBatch batch = memory_.batch(static_cast<std::size_t>(chunk.count), stream_.get());
  batch.first = chunk.first;
  batch.saved = saved_;
  batch.options = reinterpret_cast<const void*>(settings_.address());
  batch.cancelled = cancelled_.get();
  batch.utilisation = used_.get();
  if (sums_) sums_->begin(batch);
  if (!sampled_) {
    memory_.copy_in(chunk, stream_.get());
    return batch;
  }
  const DeviceInputs inputs{batch.parameters, batch.initial, batch.t_span, batch.times};
  constexpr int block = 128;
  launch(device_.sample, (batch.count + block - 1) / block, block, 0, stream_.get(), "manyfold_sample", plan_->get(),
         inputs, batch.first, batch.count);
  return batch;
}

void BatchWorker::integrate_fused(DeviceBatch& batch) {
  const int block = device_.layout.block_size;
  launch(device_.initialize, (batch.count + block - 1) / block, block, 0, stream_.get(), "manyfold_initialize", batch);
  const int instances = device_.instances_of_block();
  void* arguments[] = {&batch, settings_at_host_.data()};
  launch_with(device_.integrate, std::min((batch.count + instances - 1) / instances, device_.resident_blocks),
              device_.threads, device_.shared_memory, stream_.get(), "manyfold_integrate", arguments);
}

std::int64_t BatchWorker::begin_copy_out(const DeviceBatch& batch) {
  if (sums_) return sums_->begin_copy_out(batch, stream_.get());
  return memory_.begin_copy_out(static_cast<std::size_t>(batch.count), sampled_, stream_.get());
}

void BatchWorker::copy_out(Chunk& chunk) {
  if (sums_) {
    chunk.digest = sums_->copy_out();
  } else {
    memory_.copy_out(chunk, sampled_);
  }
}

void BatchWorker::watch(DeviceFeed& feed) {
  if (told_ || !feed.cancelled()) return;
  const int yes = 1;
  cancelled_.copy_from(&yes, 1, signals_.get());
  signals_.synchronize();
  told_ = true;
}

void BatchWorker::add_to(Utilisation& utilisation) {
  Utilisation mine;
  used_.copy_to(&mine, 1, stream_.get());
  stream_.synchronize();
  utilisation.lane_ticks += mine.lane_ticks;
  utilisation.ticks += mine.ticks;
  utilisation.lane_iterations += mine.lane_iterations;
  utilisation.iterations += mine.iterations;
}

}  // namespace manyfold::cuda
