// The routines of cuBLAS that the phased tier calls, on the processor and in the streams of the emulated driver: LU
// with partial pivoting and triangular solves, as LAPACK and BLAS define them, matrix by matrix.
//
// MANYFOLD_EMULATED_FAILURE=blas makes factorisations fail.
#include <cublas_v2.h>
#include <cuda.h>

#include <cstdlib>
#include <string_view>

#include "tests/cuda/emulated_lapack.hpp"

struct cublasContext {
  CUstream stream = nullptr;
};

namespace {

template <class Number>
cublasStatus_t factorize_all(cublasHandle_t handle, int n, Number* const* matrices, int stride, int* pivots, int* info,
                             int count) {
  const char* wish = std::getenv("MANYFOLD_EMULATED_FAILURE");
  if (wish != nullptr && std::string_view(wish) == "blas") return CUBLAS_STATUS_EXECUTION_FAILED;
  add_task(handle->stream, [=] {
    for (int k = 0; k < count; ++k) info[k] = lapack::factorize(n, matrices[k], stride, pivots + k * n);
    initialise(reinterpret_cast<CUdeviceptr>(pivots), static_cast<std::size_t>(n * count) * sizeof(int));
  });
  return CUBLAS_STATUS_SUCCESS;
}

template <class Number>
cublasStatus_t solve_all(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                         cublasOperation_t operation, cublasDiagType_t diagonal, int n, int columns,
                         const Number* const* matrices, int stride, Number* const* right, int count) {
  if (side != CUBLAS_SIDE_LEFT || operation != CUBLAS_OP_N || columns != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool lower = triangle == CUBLAS_FILL_MODE_LOWER;
  const bool unit = diagonal == CUBLAS_DIAG_UNIT;
  add_task(handle->stream, [=] {
    for (int k = 0; k < count; ++k) lapack::solve(lower, unit, n, matrices[k], stride, right[k]);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {
const char* cublasGetStatusString(cublasStatus_t) {
  return "the function failed to launch on the device";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
#define FACTORIZE(NAME, NUMBER, LIBRARY_NUMBER)                                                                \
  cublasStatus_t NAME(cublasHandle_t handle, int n, LIBRARY_NUMBER* const matrices[], int stride, int* pivots, \
                      int* info, int count) {                                                                  \
    return factorize_all(handle, n, reinterpret_cast<NUMBER* const*>(matrices), stride, pivots, info, count);  \
  }
#define SOLVE(NAME, NUMBER, LIBRARY_NUMBER)                                                       \
  cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,    \
                      cublasOperation_t operation, cublasDiagType_t diagonal, int n, int columns, \
                      const LIBRARY_NUMBER*, const LIBRARY_NUMBER* const matrices[], int stride,  \
                      LIBRARY_NUMBER* const right[], int, int count) {                            \
    return solve_all(handle, side, triangle, operation, diagonal, n, columns,                     \
                     reinterpret_cast<const NUMBER* const*>(matrices), stride,                    \
                     reinterpret_cast<NUMBER* const*>(right), count);                             \
  }
FACTORIZE(cublasDgetrfBatched, double, double)
FACTORIZE(cublasSgetrfBatched, float, float)
FACTORIZE(cublasZgetrfBatched, std::complex<double>, cuDoubleComplex)
FACTORIZE(cublasCgetrfBatched, std::complex<float>, cuComplex)
SOLVE(cublasDtrsmBatched, double, double)
SOLVE(cublasStrsmBatched, float, float)
SOLVE(cublasZtrsmBatched, std::complex<double>, cuDoubleComplex)
SOLVE(cublasCtrsmBatched, std::complex<float>, cuComplex)
}
