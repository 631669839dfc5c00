// A CUDA driver without a GPU, for tests: memory is the host's, a stream is a thread that does its tasks in order, and
// a launch runs the same kernel source, compiled by g++ for a few problems. Everything of the backend but the device
// itself is then real: batches, streams, graphs, copies, cancellation, errors.
//
// MANYFOLD_EMULATED_PROBLEM names what the modules that are loaded were compiled from: a problem, for radau5 and double
// precision, or one with another method or precision, PROBLEM-METHOD or PROBLEM-PRECISION; without it, robertson.
// MANYFOLD_EMULATED_TILE=1 makes teams of two threads integrate an instance.
// MANYFOLD_EMULATED_PTX=1 makes the devices newer than NVRTC, which then gives them PTX, and a machine of
// tests/cuda/ptx executes that: what a device would be given, checked as compute-sanitizer would.
// MANYFOLD_EMULATED_COUNTS=FILE: where it adds how often warps and threads carried out the instructions of each kernel.
// MANYFOLD_EMULATED_FAILURE=launch makes every integration fail as a kernel that reads a bad address does;
// MANYFOLD_EMULATED_FAILURE=sample makes the launch of the kernel that computes inputs fail;
// MANYFOLD_EMULATED_FAILURE=capture makes streams refuse to be captured as graphs.
#include <cuda.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/device/phased.hpp"
#include "kernels/device/ranks.hpp"
#include "kernels/device/sampling.hpp"
#include "kernels/device/sketch.hpp"
#include "kernels/device/sums.hpp"
#include "kernels/methods/all.hpp"
#include "problems/das2/das2.hpp"
#include "problems/diffusion/diffusion.hpp"
#include "problems/overflow_tank/overflow_tank.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "tests/cuda/exchange.hpp"
#include "tests/cuda/exchange_1001.hpp"
#include "tests/cuda/exchange_48.hpp"
#include "tests/cuda/ptx/machine.hpp"
#include "tests/cuda/seesaw.hpp"
#include "tests/engine/fragile.hpp"
#include "tests/support/thread_team.hpp"

namespace {

using Team = manyfold::test::ThreadTeam<2>;
constexpr int block_size = 32;
constexpr int concurrent = 8;  ///< threads that a launch has at most
constexpr int multiprocessors = 2;
constexpr int shared_memory_of_block = 8192;

}  // namespace

// A graph, and a graph that can be launched: the tasks of the stream that was captured.
struct CUgraph_st {
  std::vector<std::function<void()>> tasks;
};
struct CUgraphExec_st : CUgraph_st {};

// A place in the work of a stream: how often it has been recorded, and how often been reached.
struct CUevent_st {
  std::mutex mutex;
  std::condition_variable changed;
  int recorded = 0;
  int reached = 0;
};

// A stream: tasks in order on a thread of its own.
struct CUstream_st {
 public:
  CUstream_st() : worker_([this] { work(); }) {}
  ~CUstream_st() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    added_.notify_one();
    worker_.join();
  }
  void add(std::function<void()> task) { add(std::vector{std::move(task)}); }
  void add(const std::vector<std::function<void()>>& tasks) {
    if (captured_) {
      captured_->tasks.insert(captured_->tasks.end(), tasks.begin(), tasks.end());
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
      if (busy_) return;
    }
    added_.notify_one();
  }
  void begin_capture() { captured_ = std::make_unique<CUgraph_st>(); }
  CUgraph end_capture() { return captured_.release(); }
  void fail(CUresult result) {
    const std::lock_guard lock(mutex_);
    failure_ = result;
  }
  CUresult query() {
    const std::lock_guard lock(mutex_);
    if (failure_ != CUDA_SUCCESS) return failure_;
    return tasks_.empty() && !busy_ ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
  CUresult wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return tasks_.empty() && !busy_; });
    return failure_;
  }

 private:
  // All that waits at once: the phased tier has thousands of short tasks, and a switch of threads for each takes longer
  // than they do.
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      added_.wait(lock, [&] { return ended_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      busy_ = true;
      while (!tasks_.empty()) {
        const std::vector<std::function<void()>> tasks = std::exchange(tasks_, {});
        lock.unlock();
        for (const auto& task : tasks) task();
        lock.lock();
      }
      busy_ = false;
      idle_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable idle_;
  std::vector<std::function<void()>> tasks_;
  bool busy_ = false;
  bool ended_ = false;
  CUresult failure_ = CUDA_SUCCESS;
  std::unique_ptr<CUgraph_st> captured_;  // by the thread that launches
  std::thread worker_;
};

struct CUmod_st;
using MakeTask = std::function<void()> (*)(std::string_view function, int threads, void** arguments);

// A function of a module, known by its name.
struct CUfunc_st {
  CUmod_st* module;
  std::string_view name;
  MakeTask make_task;
};

// The module of one problem.
struct CUmod_st {
  std::string_view problem;
  std::size_t team_workspace;  ///< bytes of shared memory that a team needs
  std::vector<CUfunc_st> functions;
  std::optional<manyfold::test::ptx::Module> program;         ///< of a module that is PTX
  std::map<std::string, manyfold::test::ptx::Counts> counts;  ///< of its kernels
};

namespace {

namespace ptx = manyfold::test::ptx;

/// The memory of the devices.
std::mutex memory_mutex;
ptx::GlobalMemory device_memory;

/// Adds `more` to the counts of a kernel; from several streams.
void add_counts(ptx::Counts& counts, const ptx::Counts& more) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  counts.warps.resize(more.warps.size());
  counts.threads.resize(more.threads.size());
  for (std::size_t k = 0; k < more.warps.size(); ++k) {
    counts.warps[k] += more.warps[k];
    counts.threads[k] += more.threads[k];
  }
}

/// Kernel, line of the module, instruction, warps and threads.
void write_counts(const CUmod_st& module, const char* file) {
  FILE* out = std::fopen(file, "a");
  if (out == nullptr) return;
  for (const auto& [kernel, counts] : module.counts) {
    for (std::size_t k = 0; k < counts.warps.size(); ++k) {
      if (counts.warps[k] == 0) continue;
      const ptx::Instruction& instruction = module.program->instructions[k];
      std::fprintf(out, "%s\t%d\t%s\t%llu\t%llu\n", kernel.c_str(), instruction.line, instruction.opcode.c_str(),
                   static_cast<unsigned long long>(counts.warps[k]),
                   static_cast<unsigned long long>(counts.threads[k]));
    }
  }
  std::fclose(out);
}

bool wished(const char* variable) {
  const char* wish = std::getenv(variable);
  return wish != nullptr && std::string_view(wish) == "1";
}

void add_utilisation(manyfold::Utilisation& total, const manyfold::Utilisation& mine) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  total.lane_ticks += mine.lane_ticks;
  total.ticks += mine.ticks;
  total.lane_iterations += mine.lane_iterations;
  total.iterations += mine.iterations;
}

bool teams() {
  return wished("MANYFOLD_EMULATED_TILE");
}

template <class Base>
using AsItIs = Base;

/// What a module is compiled from.
template <class Problem, template <class, class> class Scheme = manyfold::Radau5, template <class> class Wrap = AsItIs,
          class Real = double>
struct Build {
  using System = Wrap<manyfold::System<Problem>>;
  using Method = Scheme<System, Real>;
  using TeamMethod = Scheme<manyfold::SharedSystem<System, Team>, Real>;
  using PhasedMethod = typename manyfold::Phased<Scheme<manyfold::BatchedSystem<System>, Real>>::type;
};

/// A phase of the phased tier, thread by thread.
template <class Code>
std::function<void()> phase_task(std::string_view name, int threads, void** arguments) {
  using Kernels = manyfold::PhasedKernels<typename Code::PhasedMethod>;
  if (name == "manyfold_phased_layout") {
    auto* layout = *static_cast<manyfold::DeviceLayout**>(arguments[0]);
    return [=] {
      *layout = manyfold::device_layout<typename Code::PhasedMethod>(block_size, true);
      layout->phased = Kernels::layout();
    };
  }
  const auto memory = *static_cast<manyfold::PhasedMemory*>(arguments[0]);
  if (name == "manyfold_phased_turn") return [=] { Kernels::turn(memory); };
  const int size = *static_cast<int*>(arguments[1]);
  using Phase = void (*)(const manyfold::PhasedMemory&, int, int);
  const std::pair<std::string_view, Phase> phases[] = {{"initialize", &Kernels::initialize},
                                                       {"start", &Kernels::start},
                                                       {"jacobian", &Kernels::jacobian},
                                                       {"assemble", &Kernels::assemble},
                                                       {"finish", &Kernels::finish},
                                                       {"permute_corrections", &Kernels::template permute<true>},
                                                       {"permute_estimates", &Kernels::template permute<false>},
                                                       {"factorize", &Kernels::factorize},
                                                       {"solve_corrections", &Kernels::template solve<true>},
                                                       {"solve_estimates", &Kernels::template solve<false>},
                                                       {"correct", &Kernels::correct},
                                                       {"estimate", &Kernels::estimate},
                                                       {"attempt", &Kernels::attempt}};
  const auto phase = std::find_if(std::begin(phases), std::end(phases), [&](const auto& candidate) {
                       return name.substr(std::string_view("manyfold_phased_").size()) == candidate.first;
                     })->second;
  // From the last to the first, for the order of threads must not matter.
  return [=] {
    for (int thread = threads - 1; thread >= 0; --thread) phase(memory, size, thread);
  };
}

/// What both tiers have.
template <class Code>
std::function<void()> common_task(std::string_view name, int, void** arguments) {
  using Method = typename Code::Method;
  if (name == "manyfold_prepare") {
    const auto options = *static_cast<manyfold::KernelOptions*>(arguments[0]);
    auto* settings = *static_cast<manyfold::IntegratorOptions<Method::n>**>(arguments[1]);
    return [=] { *settings = manyfold::integrator_options<Method>(options); };
  }
  // From the last to the first, for the order of threads must not matter.
  const auto each_thread = [arguments](auto request, const auto& threads_of, const auto& work) {
    request = *static_cast<decltype(request)*>(arguments[0]);
    return [=] {
      for (int thread = threads_of(request) - 1; thread >= 0; --thread) work(request, thread);
    };
  };
  const auto of_columns = [](const auto& request) { return request.of.columns * request.of.slices; };
  using namespace manyfold;
  if (name == "manyfold_count_digits") return each_thread(DeviceDigits(), of_columns, count_digits);
  if (name == "manyfold_count_bins") return each_thread(DeviceBins(), of_columns, count_bins);
  if (name == "manyfold_sort_runs") return each_thread(DeviceRuns(), threads_that_sort, sort_run);
  if (name == "manyfold_merge_runs") return each_thread(DeviceRuns(), threads_that_merge_runs, merge_runs);
  if (name == "manyfold_count_summaries") return each_thread(DeviceRuns(), threads_that_count, count_summary);
  if (name == "manyfold_merge_summaries") return each_thread(DeviceMerge(), threads_that_merge, merge_summaries);
  if (name == "manyfold_add_up") return each_thread(DeviceSums(), threads_of_sums, add_up);
  if (name == "manyfold_reduce") {
    return each_thread(
        DeviceSums(), [](const DeviceSums& sums) { return sums.count; }, reduce_instance);
  }
  const auto plan = *static_cast<manyfold::InputPlan*>(arguments[0]);
  const auto inputs = *static_cast<manyfold::DeviceInputs*>(arguments[1]);
  const auto first = *static_cast<std::int64_t*>(arguments[2]);
  const int count = *static_cast<int*>(arguments[3]);
  return [=] {
    for (int i = 0; i < count; ++i) manyfold::sample_instance(plan, inputs, first, i);
  };
}

/// The fused tier.
template <class Code>
std::function<void()> fused_task(std::string_view name, int threads, void** arguments) {
  using Method = typename Code::Method;
  using TeamMethod = typename Code::TeamMethod;
  if (name == "manyfold_layout") {
    auto* layout = *static_cast<manyfold::DeviceLayout**>(arguments[0]);
    return [=] {
      *layout = teams() ? manyfold::device_layout<TeamMethod>(block_size, false)
                        : manyfold::device_layout<Method>(block_size, false);
    };
  }
  const auto batch = *static_cast<manyfold::DeviceBatch*>(arguments[0]);
  if (name == "manyfold_initialize") {
    return [=] {
      typename manyfold::Integrator<Method>::Conditions conditions;
      for (int i = 0; i < batch.count; ++i) manyfold::initialize_instance<Method>(batch, i, conditions);
    };
  }
  const auto options = *static_cast<manyfold::IntegratorOptions<Method::n>*>(arguments[1]);
  if (teams()) {
    return [=] {
      const int count = std::min(threads, concurrent) / Team::size;
      std::vector<typename TeamMethod::Workspace> shared(static_cast<std::size_t>(count));
      manyfold::test::run_teams<Team::size>(count, [&](int k, const Team& team) {
        manyfold::Utilisation mine;
        manyfold::integrate_instances<TeamMethod>(batch, options, shared[static_cast<std::size_t>(k)], team, mine);
        if (manyfold::leads(team)) add_utilisation(*batch.utilisation, mine);
      });
    };
  }
  return [=] {
    std::vector<std::jthread> workers;
    for (int k = 0; k < std::min(threads, concurrent); ++k) {
      workers.emplace_back([&batch, &options] {
        manyfold::Utilisation mine;
        typename Method::Workspace workspace;
        manyfold::integrate_instances<Method>(batch, options, workspace, {}, mine);
        add_utilisation(*batch.utilisation, mine);
      });
    }
  };
}

/// `fused`: with that tier, whose kernels take long to compile for many variables.
template <class Code, bool fused = true>
CUmod_st* module_of(const char* problem) {
  static CUmod_st module = [problem] {
    CUmod_st result{problem, 0, {}, std::nullopt, {}};
    for (const char* name : {"manyfold_prepare", "manyfold_sample", "manyfold_reduce", "manyfold_add_up",
                             "manyfold_count_digits", "manyfold_count_bins", "manyfold_sort_runs",
                             "manyfold_merge_runs", "manyfold_count_summaries", "manyfold_merge_summaries"}) {
      result.functions.push_back({nullptr, name, &common_task<Code>});
    }
    if constexpr (fused) {
      result.team_workspace = sizeof(typename Code::TeamMethod::Workspace);
      for (const char* name : {"manyfold_layout", "manyfold_initialize", "manyfold_integrate"}) {
        result.functions.push_back({nullptr, name, &fused_task<Code>});
      }
    }
    for (const char* name :
         {"manyfold_phased_layout", "manyfold_phased_initialize", "manyfold_phased_start", "manyfold_phased_jacobian",
          "manyfold_phased_assemble", "manyfold_phased_finish", "manyfold_phased_permute_corrections",
          "manyfold_phased_permute_estimates", "manyfold_phased_factorize", "manyfold_phased_solve_corrections",
          "manyfold_phased_solve_estimates", "manyfold_phased_correct", "manyfold_phased_estimate",
          "manyfold_phased_attempt", "manyfold_phased_turn"}) {
      result.functions.push_back({nullptr, name, &phase_task<Code>});
    }
    return result;
  }();
  for (CUfunc_st& function : module.functions) function.module = &module;
  return &module;
}

bool fails(std::string_view what) {
  const char* wish = std::getenv("MANYFOLD_EMULATED_FAILURE");
  return wish != nullptr && wish == what;
}

}  // namespace

// For the emulated cuBLAS and cuSOLVER too.

void add_task(CUstream stream, std::function<void()> task) {
  stream->add(std::move(task));
}

/// Notes that bytes have been written.
void initialise(CUdeviceptr to, std::size_t bytes) {
  const std::lock_guard lock(memory_mutex);
  ptx::Region& region = *std::prev(device_memory.upper_bound(to))->second;
  std::fill_n(region.initialised.begin() + static_cast<std::ptrdiff_t>(to - region.begin()), bytes, char{1});
}

extern "C" {
CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "unknown error";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 2;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "emulated device", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? (wished("MANYFOLD_EMULATED_PTX") ? 99 : 9)
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? shared_memory_of_block
                                                                                : multiprocessors;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (wished("MANYFOLD_EMULATED_PTX")) {
    try {
      auto loaded = std::make_unique<CUmod_st>(CUmod_st{"", 0, {}, ptx::parse(static_cast<const char*>(image)), {}});
      for (const ptx::Function& function : loaded->program->functions) {
        if (!function.entry) continue;
        loaded->functions.push_back({loaded.get(), function.name, nullptr});
        loaded->counts[function.name] = {};
      }
      *module = loaded.release();
      return CUDA_SUCCESS;
    } catch (const ptx::Fault& fault) {
      std::fprintf(stderr, "%s\n", fault.what());
      return CUDA_ERROR_INVALID_PTX;
    }
  }
  const char* wish = std::getenv("MANYFOLD_EMULATED_PROBLEM");
  using manyfold::Esdirk54;
  using manyfold::MixedSystem;
  using manyfold::Radau5;
  for (CUmod_st* candidate : {
#ifdef MANYFOLD_NIGHTLY
           // Of the tests that are run at night.
           module_of<Build<Das2>>("das2"), module_of<Build<TransistorAmplifier>>("transistor_amplifier"),
           module_of<Build<PendulumIndex2>>("pendulum_index2"),
           module_of<Build<PendulumIndex2, Esdirk54>>("pendulum_index2-esdirk54"),
           module_of<Build<OverflowTank>>("overflow_tank"),
           module_of<Build<TransistorAmplifier, Esdirk54>>("transistor_amplifier-esdirk54"),
           module_of<Build<Diffusion<40>>>("diffusion"),
           module_of<Build<Diffusion<40>, Esdirk54>>("diffusion-esdirk54"), module_of<Build<Seesaw>>("seesaw"),
           module_of<Build<Seesaw, Radau5, MixedSystem>>("seesaw-mixed"),
           module_of<Build<Exchange48>, false>("exchange_48"),
           module_of<Build<Exchange1001, Esdirk54>, false>("exchange_1001-esdirk54"),
#endif
           module_of<Build<Robertson>>("robertson"), module_of<Build<Rectifier>>("rectifier"),
           module_of<Build<Exchange>>("exchange"), module_of<Build<Exchange, Esdirk54>>("exchange-esdirk54"),
           module_of<Build<Fragile>>("fragile"), module_of<Build<Robertson, Radau5, MixedSystem>>("robertson-mixed"),
           module_of<Build<Robertson, Radau5, AsItIs, manyfold::Single>>("robertson-float32")}) {
    if (candidate->problem != (wish != nullptr ? wish : "robertson")) continue;
    *module = candidate;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleUnload(CUmodule module) {
  if (!module->program) return CUDA_SUCCESS;
  if (const char* file = std::getenv("MANYFOLD_EMULATED_COUNTS")) write_counts(*module, file);
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  for (CUfunc_st& candidate : module->functions) {
    if (candidate.name != name) continue;
    *function = &candidate;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto region = std::make_shared<ptx::Region>(bytes);
  *address = region->begin();
  const std::lock_guard lock(memory_mutex);
  device_memory[region->begin()] = region;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  const std::lock_guard lock(memory_mutex);
  device_memory.erase(address);
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  stream->add([=] {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    initialise(to, bytes);
  });
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  stream->add([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  stream->add([=] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    initialise(to, bytes);
  });
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const std::lock_guard lock(event->mutex);
  ++event->recorded;
  stream->add([event] {
    const std::lock_guard in_task(event->mutex);
    ++event->reached;
    event->changed.notify_all();
  });
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const std::lock_guard lock(event->mutex);
  stream->add([event, awaited = event->recorded] {
    std::unique_lock in_task(event->mutex);
    event->changed.wait(in_task, [&] { return event->reached >= awaited; });
  });
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  stream->begin_capture();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = stream->end_capture();
  return fails("capture") ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = new CUgraphExec_st{*graph};
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  stream->add(graph->tasks);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  return stream->wait();
}
CUresult cuStreamQuery(CUstream stream) {
  return stream->query();
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                        unsigned shared_memory, CUstream stream, void** arguments, void**) {
  if (function->name == "manyfold_integrate" && teams() &&
      shared_memory != block / Team::size * function->module->team_workspace) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (function->name == "manyfold_sample" && fails("sample")) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if ((function->name == "manyfold_integrate" || function->name == "manyfold_phased_correct") && fails("launch")) {
    stream->fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    return CUDA_SUCCESS;
  }
  if (function->module->program) {
    const ptx::Module& program = *function->module->program;
    const ptx::Function& entry = program.function(function->name);
    ptx::Counts& total = function->module->counts.at(entry.name);
    const auto parameters = std::make_shared<ptx::Region>(ptx::parameters_of(entry, arguments));
    stream->add([=, &program, &entry, &total] {
      ptx::GlobalMemory memory;
      {
        const std::lock_guard lock(memory_mutex);
        memory = device_memory;
      }
      try {
        ptx::Counts counts;
        ptx::run(program, entry, static_cast<int>(grid), static_cast<int>(block), shared_memory, *parameters, memory,
                 counts);
        add_counts(total, counts);
      } catch (const ptx::Fault& fault) {
        std::fprintf(stderr, "%s\n", fault.what());
        stream->fail(CUDA_ERROR_ILLEGAL_ADDRESS);
      }
    });
    return CUDA_SUCCESS;
  }
  stream->add(function->make_task(function->name, static_cast<int>(grid * block), arguments));
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 1 << 20;  // of a thread's own memory
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int bytes) {
  return bytes <= shared_memory_of_block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
}
