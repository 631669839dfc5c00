#include "host/engine/cuda/driver.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "build_config.hpp"
#include "host/engine/device.hpp"
#include "host/text/loader_error.hpp"

// The name of a function after cuda.h has replaced it by its present version.
#define MANYFOLD_NAME_OF(function) MANYFOLD_TEXT_OF(function)
#define MANYFOLD_TEXT_OF(function) #function

namespace manyfold::cuda {
namespace {

namespace fs = std::filesystem;

/// Major versions of the toolkit that are looked for.
constexpr int newest_known = 13;
constexpr int oldest_known = 12;

/// NVRTC opens its companion by a bare name, which the loader does not look for beside it.
void open_companion(const fs::path& library) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(library.parent_path(), error)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.")) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
}

/// One of several names of a library; `failure` says why none could be opened.
void* open_one_of(const std::vector<std::string>& names, std::string& failure) {
  for (const std::string& name : names) {
    if (name.starts_with('/') && name.ends_with("/libnvrtc.so")) open_companion(name);
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const std::string reason = loader_error(name + " cannot be opened");
    if (failure.empty()) failure = reason;
  }
  return nullptr;
}

/// Where a library of the toolkit may be: first with the newest version that the driver takes. `behind`: by how much
/// its own version is less than the toolkit's.
std::vector<std::string> places_of(const std::string& library, int behind = 0) {
  std::vector<std::string> places;
  const int newest = driver().newest_cuda();
  for (int major = newest > 0 ? newest : newest_known; major >= oldest_known; --major) {
    places.push_back(fmt::format("{}.{}", library, major - behind));
  }
  places.push_back(library);
  for (const std::string& folder : {std::string("/usr/local/cuda/lib64"), std::string(build::cuda_libraries)}) {
    places.push_back(folder + "/" + library);
  }
  return places;
}

/// A library of the toolkit: the one that the environment variable `choice` names, or one of `places`. Null: `failure`
/// says that there is no `kind`, and why.
void* open_library(const char* choice, const std::vector<std::string>& places, const char* kind, const char* name,
                   std::string& failure) {
  const char* chosen = std::getenv(choice);
  void* library = open_one_of(chosen != nullptr ? std::vector<std::string>{chosen} : places, failure);
  failure = library != nullptr ? "" : fmt::format("no {}: {}; install the CUDA toolkit's {}", kind, failure, name);
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& function, std::string& failure) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && failure.empty()) failure = fmt::format("{} is missing: the library is too old", name);
}

Driver open_driver() {
  Driver d;
  const char* chosen = std::getenv("MANYFOLD_CUDA_DRIVER");
  void* library = open_one_of({chosen != nullptr ? chosen : "libcuda.so.1"}, d.failure);
  if (library == nullptr) {
    const bool absent = d.failure.find("No such file") != std::string::npos;
    d.failure = absent ? "no NVIDIA driver" : "no NVIDIA driver: " + d.failure;
    return d;
  }
  d.failure.clear();
  find(library, MANYFOLD_NAME_OF(cuInit), d.init, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDriverGetVersion), d.get_version, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGetErrorName), d.get_error_name, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGetErrorString), d.get_error_string, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDeviceGetCount), d.device_get_count, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDeviceGet), d.device_get, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDeviceGetName), d.device_get_name, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDeviceGetAttribute), d.device_get_attribute, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDeviceTotalMem), d.device_total_memory, d.failure);
  find(library, MANYFOLD_NAME_OF(cuDevicePrimaryCtxRetain), d.retain_context, d.failure);
  find(library, MANYFOLD_NAME_OF(cuCtxSetCurrent), d.set_current, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemGetInfo), d.memory_info, d.failure);
  find(library, MANYFOLD_NAME_OF(cuModuleLoadData), d.load_module, d.failure);
  find(library, MANYFOLD_NAME_OF(cuModuleUnload), d.unload_module, d.failure);
  find(library, MANYFOLD_NAME_OF(cuModuleGetFunction), d.get_function, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemAlloc), d.allocate, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemFree), d.free, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemAllocHost), d.allocate_host, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemFreeHost), d.free_host, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemcpyHtoDAsync), d.copy_to_device, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemcpyDtoHAsync), d.copy_to_host, d.failure);
  find(library, MANYFOLD_NAME_OF(cuMemsetD8Async), d.set_bytes, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamCreate), d.create_stream, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamDestroy), d.destroy_stream, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamSynchronize), d.synchronize_stream, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamQuery), d.query_stream, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamWaitEvent), d.wait_for_event, d.failure);
  find(library, MANYFOLD_NAME_OF(cuEventCreate), d.create_event, d.failure);
  find(library, MANYFOLD_NAME_OF(cuEventDestroy), d.destroy_event, d.failure);
  find(library, MANYFOLD_NAME_OF(cuEventRecord), d.record_event, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamBeginCapture), d.begin_capture, d.failure);
  find(library, MANYFOLD_NAME_OF(cuStreamEndCapture), d.end_capture, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGraphInstantiate), d.instantiate_graph, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGraphLaunch), d.launch_graph, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGraphDestroy), d.destroy_graph, d.failure);
  find(library, MANYFOLD_NAME_OF(cuGraphExecDestroy), d.destroy_executable_graph, d.failure);
  find(library, MANYFOLD_NAME_OF(cuLaunchKernel), d.launch, d.failure);
  find(library, MANYFOLD_NAME_OF(cuFuncGetAttribute), d.get_function_attribute, d.failure);
  find(library, MANYFOLD_NAME_OF(cuFuncSetAttribute), d.set_function_attribute, d.failure);
  find(library, MANYFOLD_NAME_OF(cuOccupancyMaxActiveBlocksPerMultiprocessor), d.occupancy, d.failure);
  if (!d.failure.empty()) return d;
  if (const CUresult result = d.init(0); result != CUDA_SUCCESS) d.failure = "cuInit: " + d.words(result);
  return d;
}

Compiler open_compiler() {
  Compiler c;
  void* library = open_library("MANYFOLD_NVRTC", places_of("libnvrtc.so"), "run-time compiler", "NVRTC", c.failure);
  if (library == nullptr) return c;
  find(library, "nvrtcVersion", c.version, c.failure);
  find(library, "nvrtcGetErrorString", c.get_error_string, c.failure);
  find(library, "nvrtcGetNumSupportedArchs", c.get_architecture_count, c.failure);
  find(library, "nvrtcGetSupportedArchs", c.get_architectures, c.failure);
  find(library, "nvrtcCreateProgram", c.create_program, c.failure);
  find(library, "nvrtcDestroyProgram", c.destroy_program, c.failure);
  find(library, "nvrtcCompileProgram", c.compile_program, c.failure);
  find(library, "nvrtcGetProgramLogSize", c.get_log_size, c.failure);
  find(library, "nvrtcGetProgramLog", c.get_log, c.failure);
  find(library, "nvrtcGetCUBINSize", c.get_cubin_size, c.failure);
  find(library, "nvrtcGetCUBIN", c.get_cubin, c.failure);
  find(library, "nvrtcGetPTXSize", c.get_ptx_size, c.failure);
  find(library, "nvrtcGetPTX", c.get_ptx, c.failure);
  if (!c.failure.empty()) return c;
  int major = 0;
  int minor = 0;
  c.version(&major, &minor);
  const int newest = driver().newest_cuda();
  if (newest > 0 && major > newest) {
    c.failure = fmt::format(
        "NVRTC {}.{} is newer than the driver, which takes the code of CUDA {} at most: update the "
        "driver, or install the NVRTC of CUDA {}",
        major, minor, newest, newest);
  }
  return c;
}

Blas open_blas() {
  Blas b;
  void* library = open_library("MANYFOLD_CUBLAS", places_of("libcublas.so"), "cuBLAS", "cuBLAS", b.failure);
  if (library == nullptr) return b;
  find(library, MANYFOLD_NAME_OF(cublasGetStatusString), b.get_status_string, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasCreate), b.create, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasDestroy), b.destroy, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasSetStream), b.set_stream, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasSetWorkspace), b.set_workspace, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasDgetrfBatched), b.factorize, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasZgetrfBatched), b.factorize_complex, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasSgetrfBatched), b.factorize_single, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasCgetrfBatched), b.factorize_single_complex, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasDtrsmBatched), b.solve, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasZtrsmBatched), b.solve_complex, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasStrsmBatched), b.solve_single, b.failure);
  find(library, MANYFOLD_NAME_OF(cublasCtrsmBatched), b.solve_single_complex, b.failure);
  return b;
}

DenseSolver open_dense_solver() {
  DenseSolver s;
  void* library = open_library("MANYFOLD_CUSOLVER", places_of("libcusolver.so", 1), "cuSOLVER", "cuSOLVER", s.failure);
  if (library == nullptr) return s;
  find(library, "cusolverDnCreate", s.create, s.failure);
  find(library, "cusolverDnDestroy", s.destroy, s.failure);
  find(library, "cusolverDnSetStream", s.set_stream, s.failure);
  find(library, "cusolverDnDgetrf_bufferSize", s.workspace_size, s.failure);
  find(library, "cusolverDnZgetrf_bufferSize", s.workspace_size_complex, s.failure);
  find(library, "cusolverDnSgetrf_bufferSize", s.workspace_size_single, s.failure);
  find(library, "cusolverDnCgetrf_bufferSize", s.workspace_size_single_complex, s.failure);
  find(library, "cusolverDnDgetrf", s.factorize, s.failure);
  find(library, "cusolverDnZgetrf", s.factorize_complex, s.failure);
  find(library, "cusolverDnSgetrf", s.factorize_single, s.failure);
  find(library, "cusolverDnCgetrf", s.factorize_single_complex, s.failure);
  find(library, "cusolverDnDgetrs", s.solve, s.failure);
  find(library, "cusolverDnZgetrs", s.solve_complex, s.failure);
  find(library, "cusolverDnSgetrs", s.solve_single, s.failure);
  find(library, "cusolverDnCgetrs", s.solve_single_complex, s.failure);
  return s;
}

}  // namespace

int Driver::newest_cuda() const {
  int version = 0;
  if (!failure.empty() || get_version(&version) != CUDA_SUCCESS) return 0;
  return version / 1000;
}

std::string Driver::words(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name != nullptr) get_error_name(result, &name);
  if (get_error_string != nullptr) get_error_string(result, &text);
  return fmt::format("{} ({})", text != nullptr ? text : "unknown error", name != nullptr ? name : "?");
}

void Driver::check(CUresult result, const char* call) const {
  if (result != CUDA_SUCCESS) throw DeviceError(fmt::format("CUDA: {}: {}", call, words(result)));
}

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

void Blas::check(cublasStatus_t result, const char* call) const {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(fmt::format("cuBLAS: {}: {}", call, get_status_string(result)));
}

const Blas& blas() {
  static const Blas instance = open_blas();
  return instance;
}

void DenseSolver::check(cusolverStatus_t result, const char* call) const {
  if (result == CUSOLVER_STATUS_SUCCESS) return;
  // It has no words for them.
  throw DeviceError(fmt::format("cuSOLVER: {}: status {} of cusolverStatus_t", call, static_cast<int>(result)));
}

const DenseSolver& dense_solver() {
  static const DenseSolver instance = open_dense_solver();
  return instance;
}

const Compiler& compiler() {
  static const Compiler instance = open_compiler();
  return instance;
}

}  // namespace manyfold::cuda
