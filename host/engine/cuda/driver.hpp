#pragma once
// The CUDA driver, NVRTC, cuBLAS and cuSOLVER, opened at run time: a machine that lacks one of them, or has another
// version, is told so instead of failing to start.
#include <cublas_v2.h>
#include <cuda.h>
#include <cusolverDn.h>
#include <nvrtc.h>

#include <string>

namespace manyfold::cuda {

/// Functions of libcuda.so.1; the names are those of the library, with the versions that cuda.h declares.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) get_version = nullptr;
  decltype(&cuGetErrorName) get_error_name = nullptr;
  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuDeviceGetCount) device_get_count = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetName) device_get_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_total_memory = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
  decltype(&cuMemGetInfo) memory_info = nullptr;
  decltype(&cuModuleLoadData) load_module = nullptr;
  decltype(&cuModuleUnload) unload_module = nullptr;
  decltype(&cuModuleGetFunction) get_function = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemAllocHost) allocate_host = nullptr;
  decltype(&cuMemFreeHost) free_host = nullptr;
  decltype(&cuMemcpyHtoDAsync) copy_to_device = nullptr;
  decltype(&cuMemcpyDtoHAsync) copy_to_host = nullptr;
  decltype(&cuMemsetD8Async) set_bytes = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuStreamSynchronize) synchronize_stream = nullptr;
  decltype(&cuStreamQuery) query_stream = nullptr;
  decltype(&cuStreamWaitEvent) wait_for_event = nullptr;
  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record_event = nullptr;
  decltype(&cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&cuStreamEndCapture) end_capture = nullptr;
  decltype(&cuGraphInstantiate) instantiate_graph = nullptr;
  decltype(&cuGraphLaunch) launch_graph = nullptr;
  decltype(&cuGraphDestroy) destroy_graph = nullptr;
  decltype(&cuGraphExecDestroy) destroy_executable_graph = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuFuncGetAttribute) get_function_attribute = nullptr;
  decltype(&cuFuncSetAttribute) set_function_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy = nullptr;

  std::string failure;  ///< why the driver cannot be used; empty if it can

  /// Throws DeviceError if `result` is an error; `call` says what was tried.
  void check(CUresult result, const char* call) const;
  /// The newest major version of CUDA whose code the driver takes; 0 without a driver.
  int newest_cuda() const;
  std::string words(CUresult result) const;
};

const Driver& driver();

/// Functions of NVRTC.
struct Compiler {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetErrorString) get_error_string = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) get_architecture_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) get_architectures = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcGetProgramLogSize) get_log_size = nullptr;
  decltype(&nvrtcGetProgramLog) get_log = nullptr;
  decltype(&nvrtcGetCUBINSize) get_cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) get_cubin = nullptr;
  decltype(&nvrtcGetPTXSize) get_ptx_size = nullptr;
  decltype(&nvrtcGetPTX) get_ptx = nullptr;

  std::string failure;  ///< why there is no run-time compiler; empty if there is
};

const Compiler& compiler();

/// Functions of cuBLAS, in single precision where the name says so.
struct Blas {
  decltype(&cublasGetStatusString) get_status_string = nullptr;
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasSetWorkspace) set_workspace = nullptr;
  decltype(&cublasDgetrfBatched) factorize = nullptr;
  decltype(&cublasZgetrfBatched) factorize_complex = nullptr;
  decltype(&cublasSgetrfBatched) factorize_single = nullptr;
  decltype(&cublasCgetrfBatched) factorize_single_complex = nullptr;
  decltype(&cublasDtrsmBatched) solve = nullptr;
  decltype(&cublasZtrsmBatched) solve_complex = nullptr;
  decltype(&cublasStrsmBatched) solve_single = nullptr;
  decltype(&cublasCtrsmBatched) solve_single_complex = nullptr;

  std::string failure;  ///< why the library cannot be used; empty if it can

  /// Throws DeviceError if `result` is an error; `call` says what was tried.
  void check(cublasStatus_t result, const char* call) const;
};

const Blas& blas();

/// Functions of cuSOLVER for full matrices, in single precision where the name says so.
struct DenseSolver {
  decltype(&cusolverDnCreate) create = nullptr;
  decltype(&cusolverDnDestroy) destroy = nullptr;
  decltype(&cusolverDnSetStream) set_stream = nullptr;
  decltype(&cusolverDnDgetrf_bufferSize) workspace_size = nullptr;
  decltype(&cusolverDnZgetrf_bufferSize) workspace_size_complex = nullptr;
  decltype(&cusolverDnSgetrf_bufferSize) workspace_size_single = nullptr;
  decltype(&cusolverDnCgetrf_bufferSize) workspace_size_single_complex = nullptr;
  decltype(&cusolverDnDgetrf) factorize = nullptr;
  decltype(&cusolverDnZgetrf) factorize_complex = nullptr;
  decltype(&cusolverDnSgetrf) factorize_single = nullptr;
  decltype(&cusolverDnCgetrf) factorize_single_complex = nullptr;
  decltype(&cusolverDnDgetrs) solve = nullptr;
  decltype(&cusolverDnZgetrs) solve_complex = nullptr;
  decltype(&cusolverDnSgetrs) solve_single = nullptr;
  decltype(&cusolverDnCgetrs) solve_single_complex = nullptr;

  std::string failure;  ///< why the library cannot be used; empty if it can

  /// Throws DeviceError if `result` is an error; `call` says what was tried.
  void check(cusolverStatus_t result, const char* call) const;
};

const DenseSolver& dense_solver();

}  // namespace manyfold::cuda
