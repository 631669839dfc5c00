#pragma once
// What the engine and the command know of GPUs. The CUDA backend implements it in a library of its own, opened at run
// time, so that the command starts on machines without a driver or toolkit.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <manyfold/result.hpp>

#include "host/engine/group_sums.hpp"
#include "kernels/drive/interface.hpp"
#include "kernels/sampling/input_plan.hpp"

namespace manyfold {

/// A device, its driver or its compiler failed. The message names the call and gives the reason in the driver's words.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceDescription {
  std::string name;
  std::string architecture;  ///< as compilers spell it: "sm_90"
  double memory_gib = 0.0;
  int multiprocessors = 0;
};

/// How instances are integrated on a device.
enum class Tier {
  fused,  ///< one kernel does everything; linear systems are solved in its threads
  phased  ///< phases of a step as kernels; linear systems of all instances are solved at once
};

/// As users name it.
inline const char* tier_name(Tier tier) {
  return tier == Tier::fused ? "fused" : "phased";
}

/// Who factorises the full matrices of the phased tier, and solves with them.
enum class LinearSolver {
  cublas,   ///< batched routines: all matrices at once
  cusolver  ///< routines for one matrix, on several streams
};

/// As users name it.
inline const char* solver_name(LinearSolver solver) {
  return solver == LinearSolver::cublas ? "cublas" : "cusolver";
}

/// How a kernel divides the threads of a device; 0 leaves the choice to the kernel.
struct DeviceShape {
  int tile = 0;   ///< threads per instance: 1, 2, 4, 8, 16 or 32
  int block = 0;  ///< threads per block: a multiple of 32 up to 1024
  Tier tier = Tier::fused;
};

/// The text of a kernel for a device, and what its compiled form is kept under.
struct DeviceSource {
  std::string text;
  Tier tier = Tier::fused;
  std::string stem;                                  ///< model and method, in words
  std::vector<std::filesystem::path> include_paths;  ///< of the library's headers
  std::function<void(const std::string&)> announce;  ///< called with one line before a compilation; may be empty
  /// Compiled code from run to run, by what it was compiled for and with; may be empty.
  std::function<std::optional<std::string>(const std::string& target)> find;
  std::function<void(const std::string& target, const std::string& code)> keep;
  bool contracted = true;  ///< products and sums may be rounded once
};

/// Compiled code for one architecture.
struct DeviceCode {
  std::string binary;  ///< a cubin, or PTX where the compiler does not know the architecture
  std::string log;     ///< of the compiler and assembler; empty from the cache
  bool cached = false;
};

/// Inputs that devices compute themselves.
struct DeviceSampling {
  DeviceSource source;
  InputPlan plan;  ///< its numbers outlive the program
};

/// Sums that devices compute themselves.
struct DeviceSumming {
  DeviceSource source;
  SumRequest request;
};

/// How much of a device a run may use, and what an instance brings along.
struct DeviceDemand {
  std::int64_t instances = 0;
  InstanceShape shape;
  double memory_mib = 0.0;                                ///< most device memory; 0: half of what is free
  std::optional<DeviceSampling> sampling = std::nullopt;  ///< none: inputs come from the host
  LinearSolver linear_solver = LinearSolver::cublas;      ///< of full matrices in the phased tier
  std::optional<DeviceSumming> sums = std::nullopt;       ///< none: all rows come back
};

/// Where a device's batches come from and go to. One feed serves one worker; calls come from one thread.
class DeviceFeed {
 public:
  virtual ~DeviceFeed() = default;
  /// The next instances, with room for their results, at most `DeviceProgram::batch_size()`; null: there are no more.
  /// `with_inputs`: parameters, initial values, time spans and output times are filled in.
  virtual Chunk* take(bool with_inputs) = 0;
  /// Gives a chunk back with all results, and with the inputs, except output times, if it came without. Of a program
  /// that adds up: without results, with `GroupSums`.
  virtual void store(Chunk& chunk) = 0;
  virtual bool cancelled() = 0;
};

/// A kernel on the devices of this machine.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Host threads that keep the devices busy; while one waits for its batch, the others copy.
  virtual int workers() const = 0;
  /// Instances that a worker integrates at once.
  virtual std::int64_t batch_size() const = 0;
  /// Chunks have `GroupSums` in place of rows, as was asked for: whole groups fit the memory of the devices.
  virtual bool adds_up() const = 0;
  /// How threads are divided among instances, in words.
  virtual std::string shape() const = 0;
  /// What `Kernel::run` is for a pack: integrates instances of `feed` until there are no more. Throws DeviceError.
  virtual void integrate(int worker, const KernelOptions& options, DeviceFeed& feed, Utilisation& utilisation) = 0;
  /// Inputs and results that the devices have sent to the host so far.
  virtual std::int64_t bytes_copied_back() const = 0;
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual const std::vector<DeviceDescription>& devices() const = 0;
  /// Why there are no devices, in the driver's words; empty if there are.
  virtual const std::string& unavailable() const = 0;
  /// Why `solver` is not there, of which the phased tier needs one for full matrices; empty if it is.
  virtual const std::string& unavailable(LinearSolver solver) const = 0;
  /// Version of the run-time compiler, or why there is none.
  virtual std::string compiler() const = 0;
  virtual std::vector<std::string> architectures() const = 0;  ///< that the compiler knows
  /// Compiles for `architecture`, or takes the result from the cache. Throws UsageError with the compiler's words.
  virtual DeviceCode compile(const DeviceSource& source, const std::string& architecture) const = 0;
  /// Throws DeviceError without a device.
  virtual std::unique_ptr<DeviceProgram> load(const DeviceSource& source, const DeviceDemand& demand) const = 0;
};

/// The backend `name`, which libmanyfold_NAME.so has under manyfold_NAME_backend(), or the reason why there is none in
/// `reason`. The same at every call.
const DeviceBackend* device_backend(std::string& reason, const std::string& name = "cuda");

}  // namespace manyfold
