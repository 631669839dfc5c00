// The CUDA backend: what devices there are, and how kernels are compiled for them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/engine/cuda/driver.hpp"
#include "host/engine/cuda/full_matrices.hpp"
#include "host/engine/cuda/program.hpp"

namespace manyfold::cuda {
namespace {

/// Architecture number of "sm_90": 90.
int number_of(const std::string& architecture) {
  return std::atoi(architecture.substr(architecture.find('_') + 1).c_str());
}

class Backend : public DeviceBackend {
 public:
  Backend() { find_devices(); }

  const std::vector<DeviceDescription>& devices() const override { return descriptions_; }
  const std::string& unavailable() const override { return unavailable_; }

  const std::string& unavailable(LinearSolver solver) const override { return cuda::unavailable(solver); }

  std::string compiler() const override {
    const Compiler& nvrtc = cuda::compiler();
    if (!nvrtc.failure.empty()) return nvrtc.failure;
    int major = 0;
    int minor = 0;
    nvrtc.version(&major, &minor);
    return fmt::format("NVRTC {}.{}", major, minor);
  }

  std::vector<std::string> architectures() const override {
    const Compiler& nvrtc = cuda::compiler();
    int count = 0;
    if (!nvrtc.failure.empty() || nvrtc.get_architecture_count(&count) != NVRTC_SUCCESS) return {};
    std::vector<int> numbers(static_cast<std::size_t>(count));
    nvrtc.get_architectures(numbers.data());
    std::vector<std::string> result;
    for (const int number : numbers) result.push_back(fmt::format("sm_{}", number));
    return result;
  }

  DeviceCode compile(const DeviceSource& source, const std::string& architecture) const override {
    const Compiler& nvrtc = cuda::compiler();
    if (!nvrtc.failure.empty()) throw UsageError("backend 'cuda': " + nvrtc.failure);
    const std::vector<std::string> known = architectures();
    if (known.empty()) throw UsageError("backend 'cuda': " + compiler() + " knows no architectures");
    // A device newer than the compiler gets portable code, which its driver translates.
    std::string target = architecture;
    const bool native = std::find(known.begin(), known.end(), architecture) != known.end();
    if (!native) {
      const auto older = std::find_if(known.rbegin(), known.rend(), [&](const std::string& candidate) {
        return number_of(candidate) <= number_of(architecture);
      });
      if (older == known.rend()) {
        throw UsageError(fmt::format("backend 'cuda': {} does not know {}, only {} to {}", compiler(), architecture,
                                     known.front(), known.back()));
      }
      target = fmt::format("compute_{}", number_of(*older));
    }
    std::string version = compiler();
    std::replace(version.begin(), version.end(), ' ', '-');
    const std::string kind = fmt::format("{}-{}", target, version);
    if (source.find) {
      if (auto kept = source.find(kind)) return {std::move(*kept), "", true};
    }
    if (source.announce) source.announce(fmt::format("compiling {} for {} ...", source.stem, target));
    DeviceCode code = compile_now(source, target, native);
    if (source.keep) source.keep(kind, code.binary);
    return code;
  }

  std::unique_ptr<DeviceProgram> load(const DeviceSource& source, const DeviceDemand& demand) const override {
    if (!unavailable_.empty()) throw DeviceError(unavailable_);
    std::vector<ProgramCode> codes;
    for (const DeviceDescription& description : descriptions_) {
      ProgramCode code{compile(source, description.architecture), {}, {}};
      if (demand.sampling) code.sampling = compile(demand.sampling->source, description.architecture);
      if (demand.sums) code.sums = compile(demand.sums->source, description.architecture);
      codes.push_back(std::move(code));
    }
    return std::make_unique<Program>(handles_, codes, source.tier, demand);
  }

 private:
  void find_devices() {
    const Driver& cu = driver();
    unavailable_ = cu.failure;
    if (!unavailable_.empty()) return;
    int count = 0;
    if (const CUresult result = cu.device_get_count(&count); result != CUDA_SUCCESS) {
      unavailable_ = "cuDeviceGetCount: " + cu.words(result);
      return;
    }
    for (int i = 0; i < count; ++i) {
      CUdevice device = 0;
      char name[256] = {};
      std::size_t bytes = 0;
      int major = 0;
      int minor = 0;
      DeviceDescription description;
      const bool good =
          cu.device_get(&device, i) == CUDA_SUCCESS && cu.device_get_name(name, sizeof(name), device) == CUDA_SUCCESS &&
          cu.device_total_memory(&bytes, device) == CUDA_SUCCESS &&
          cu.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS &&
          cu.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) == CUDA_SUCCESS &&
          cu.device_get_attribute(&description.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ==
              CUDA_SUCCESS;
      if (!good) continue;
      description.name = name;
      description.architecture = fmt::format("sm_{}{}", major, minor);
      description.memory_gib = static_cast<double>(bytes) / (1 << 30);
      descriptions_.push_back(description);
      handles_.push_back(device);
    }
    if (descriptions_.empty()) unavailable_ = "the driver is there, but no device";
  }

  static DeviceCode compile_now(const DeviceSource& source, const std::string& target, bool native) {
    const Compiler& nvrtc = cuda::compiler();
    const std::string name = source.stem + ".cu";
    nvrtcProgram program = nullptr;
    if (nvrtc.create_program(&program, source.text.c_str(), name.c_str(), 0, nullptr, nullptr) != NVRTC_SUCCESS) {
      throw UsageError("backend 'cuda': NVRTC cannot begin a program");
    }
    std::vector<std::string> options = {"-std=c++20", "-default-device", "--gpu-architecture=" + target,
                                        "--ptxas-options=-v"};
    if (!source.contracted) options.push_back("--fmad=false");
    for (const auto& path : source.include_paths) options.push_back("-I" + path.string());
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const nvrtcResult result = nvrtc.compile_program(program, static_cast<int>(pointers.size()), pointers.data());
    DeviceCode code;
    std::size_t size = 0;
    nvrtc.get_log_size(program, &size);
    code.log.resize(size);
    nvrtc.get_log(program, code.log.data());
    code.log.resize(code.log.empty() ? 0 : code.log.size() - 1);
    if (result == NVRTC_SUCCESS) {
      (native ? nvrtc.get_cubin_size : nvrtc.get_ptx_size)(program, &size);
      code.binary.resize(size);
      (native ? nvrtc.get_cubin : nvrtc.get_ptx)(program, code.binary.data());
    }
    nvrtc.destroy_program(&program);
    if (result != NVRTC_SUCCESS) {
      throw UsageError(fmt::format("{}\nmanyfold: error: {} does not compile for {}: {}", code.log.substr(0, 4000),
                                   source.stem, target, nvrtc.get_error_string(result)));
    }
    return code;
  }

  std::vector<DeviceDescription> descriptions_;
  std::vector<CUdevice> handles_;
  std::string unavailable_;
};

}  // namespace
}  // namespace manyfold::cuda

extern "C" __attribute__((visibility("default"))) const manyfold::DeviceBackend* manyfold_cuda_backend() {
  static const manyfold::cuda::Backend backend;
  return &backend;
}
