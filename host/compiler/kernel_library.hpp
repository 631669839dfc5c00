#pragma once
// Kernels by model, method and instruction set: built ahead, in the cache, or compiled now with the system compiler.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <manyfold/description.hpp>
#include <manyfold/options.hpp>

#include "host/compiler/toolchain.hpp"
#include "host/engine/device.hpp"
#include "kernels/drive/interface.hpp"

namespace manyfold {

/// Which kernel.
struct KernelRequest {
  std::string model;                          ///< a built-in name, or the path of a model file (.hpp)
  SolverOptions options = {};                 ///< the choices that it is compiled for; `rtol` is for the method "auto"
  std::optional<long> structural_value = {};  ///< of the model's structural parameter
  std::vector<int> given = {};                ///< numbers of `Given`, one per variable; empty: as the model says
  bool observed = false;                      ///< an `ObserverCall` sees every accepted step
  std::string instruction_set = "";           ///< avx512 | avx2 | baseline | scalar; empty: the best this processor has
};

/// A kernel and the library that holds it; the pointer stays good as long as this object lives.
struct LoadedKernel {
  const Kernel* kernel = nullptr;
  ModelDescription model;
  std::shared_ptr<void> library;
  std::string origin;            ///< "built ahead" | "cache" | "compiled"
  double compile_seconds = 0.0;  ///< 0 unless compiled
};

/// What the model of the request says of itself, with its structural parameter and what is given at the start; no
/// integrator is compiled for it. Throws UsageError as `load_kernel` does.
ModelDescription describe(const KernelRequest& request, const std::function<void(const std::string&)>& announce = {});

/// The same as a kernel that does not integrate: `Kernel::run` is null.
LoadedKernel load_description(const KernelRequest& request,
                              const std::function<void(const std::string&)>& announce = {});

/// The method of the request; "auto" is resolved. Throws UsageError for an unknown model or method, a method or
/// projection that is not for the model, and choices that the method does not have.
std::string check_kernel(const KernelRequest& request, const std::function<void(const std::string&)>& announce = {});

/// Loads the kernel, compiling it if it is not there yet. `announce` is called with one line before a
/// compilation. Throws UsageError for an unknown model or method, a value of the structural parameter outside its
/// range, projection of a model without constraints, a model file that cannot be read or does not compile (the
/// compiler's words about the user's file are in the message), and where no compiler is found.
LoadedKernel load_kernel(const KernelRequest& request, const std::function<void(const std::string&)>& announce = {});

/// A model and what is wrong with it where its instances start.
struct InspectedModel {
  std::filesystem::path file;
  ModelDescription model;
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
};

/// Compiles the model without a method and evaluates its functions once. Throws UsageError as `load_kernel` does.
InspectedModel inspect_model(const std::string& model);

/// The text of the kernel for a device, for the backend to compile. Throws UsageError for an unknown model or method
/// and for a model file that cannot be read.
DeviceSource device_source(const KernelRequest& request, const DeviceShape& shape = {},
                           const std::function<void(const std::string&)>& announce = {});

/// The text of the kernel that computes inputs on a device.
DeviceSource sampling_source(const std::function<void(const std::string&)>& announce = {});

/// The text of the kernels that add up instances on a device.
DeviceSource sums_source(const std::function<void(const std::string&)>& announce = {});

}  // namespace manyfold
