// The routines of cuSOLVER that the phased tier calls, on the processor and in the streams of the emulated driver: LU
// with partial pivoting and the solution with one right-hand side, as LAPACK defines them.
//
// MANYFOLD_EMULATED_FAILURE=solver makes factorisations fail.
#include <cusolverDn.h>

#include <cstdlib>
#include <string_view>

#include "tests/cuda/emulated_lapack.hpp"

struct cusolverDnContext {
  CUstream stream = nullptr;
};

namespace {

/// Elements of a workspace, which the routines clear to its end.
constexpr int workspace_elements = 1000;

template <class Number>
cusolverStatus_t factorize(cusolverDnHandle_t handle, int n, Number* matrix, int stride, Number* workspace, int* pivots,
                           int* info) {
  const char* wish = std::getenv("MANYFOLD_EMULATED_FAILURE");
  if (wish != nullptr && std::string_view(wish) == "solver") return CUSOLVER_STATUS_EXECUTION_FAILED;
  add_task(handle->stream, [=] {
    for (int k = 0; k < workspace_elements; ++k) workspace[k] = Number(0);
    *info = lapack::factorize(n, matrix, stride, pivots);
    initialise(reinterpret_cast<CUdeviceptr>(pivots), static_cast<std::size_t>(n) * sizeof(int));
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class Number>
cusolverStatus_t solve(cusolverDnHandle_t handle, cublasOperation_t operation, int n, int columns, const Number* matrix,
                       int stride, const int* pivots, Number* right, int* info) {
  if (operation != CUBLAS_OP_N || columns != 1) return CUSOLVER_STATUS_NOT_SUPPORTED;
  add_task(handle->stream, [=] {
    for (int k = 0; k < n; ++k) std::swap(right[k], right[pivots[k] - 1]);
    lapack::solve(true, true, n, matrix, stride, right);
    lapack::solve(false, false, n, matrix, stride, right);
    *info = 0;
  });
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = new cusolverDnContext;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
#define ROUTINES(LETTER, NUMBER, LIBRARY_NUMBER)                                                                       \
  cusolverStatus_t cusolverDn##LETTER##getrf_bufferSize(cusolverDnHandle_t, int, int, LIBRARY_NUMBER*, int,            \
                                                        int* elements) {                                               \
    *elements = workspace_elements;                                                                                    \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##LETTER##getrf(cusolverDnHandle_t handle, int m, int n, LIBRARY_NUMBER* matrix,          \
                                             int stride, LIBRARY_NUMBER* workspace, int* pivots, int* info) {          \
    if (m != n) return CUSOLVER_STATUS_NOT_SUPPORTED;                                                                  \
    return factorize(handle, n, reinterpret_cast<NUMBER*>(matrix), stride, reinterpret_cast<NUMBER*>(workspace),       \
                     pivots, info);                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##LETTER##getrs(cusolverDnHandle_t handle, cublasOperation_t operation, int n,            \
                                             int columns, const LIBRARY_NUMBER* matrix, int stride, const int* pivots, \
                                             LIBRARY_NUMBER* right, int, int* info) {                                  \
    return solve(handle, operation, n, columns, reinterpret_cast<const NUMBER*>(matrix), stride, pivots,               \
                 reinterpret_cast<NUMBER*>(right), info);                                                              \
  }
ROUTINES(D, double, double)
ROUTINES(S, float, float)
ROUTINES(Z, std::complex<double>, cuDoubleComplex)
ROUTINES(C, std::complex<float>, cuComplex)
}
