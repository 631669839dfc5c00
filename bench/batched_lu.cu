// Many systems A x = b, each factorised and solved once: our LU by a thread and by a tile of threads against cuBLAS
// getrfBatched + getrsBatched and cuSOLVER getrf + getrs over six streams, as the phased tier calls them, all with
// partial pivoting in double precision. Needs a device; prints a table of systems per second and checks every solution's
// residual.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/device/tile.hpp"
#include "kernels/algebra/pivoted_lu.hpp"
#include "kernels/algebra/team_lu.hpp"

namespace {

using namespace manyfold;

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "batched_lu: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "batched_lu: %s: %s\n", call, cublasGetStatusString(status));
  std::exit(1);
}

void check(cusolverStatus_t status, const char* call) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  std::fprintf(stderr, "batched_lu: %s: status %d\n", call, static_cast<int>(status));
  std::exit(1);
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return data_; }
  void copy_from(const std::vector<T>& host) {
    check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<T> to_host() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

/// One thread per system. `a`: [batch][n][n] by columns, as cuBLAS wants it; `x`: [batch][n], right-hand side, then
/// solution.
template <int n>
__global__ void solve_by_threads(const double* a, double* x, int batch) {
  const int system = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (system >= batch) return;
  const double* source = a + static_cast<std::size_t>(system) * n * n;
  double matrix[n][n];
  double b[n];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) matrix[i][j] = source[j * n + i];
    b[i] = x[static_cast<std::size_t>(system) * n + i];
  }
  PivotedLU<double, n> lu;
  lu.factor(true, matrix);
  lu.solve(b);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(system) * n + i] = b[i];
}

/// A tile of threads per system, its matrix in shared memory.
template <int n, int size>
__global__ void solve_by_tiles(const double* a, double* x, int batch) {
  using Team = Tile<size>;
  using LU = TeamLU<double, n, Team>;
  extern __shared__ double shared_memory[];
  auto& workspace = reinterpret_cast<typename LU::Workspace*>(shared_memory)[threadIdx.x / size];
  const int system = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / size);
  if (system >= batch) return;
  const double* source = a + static_cast<std::size_t>(system) * n * n;
  LU lu;
  lu.use(workspace, Team());
  lu.factor([&](int i, auto& row) {
    for (int j = 0; j < n; ++j) row[j] = source[j * n + i];
  });
  double b[n];
  for (int i = 0; i < n; ++i) b[i] = x[static_cast<std::size_t>(system) * n + i];
  lu.solve(b);
  for (int i = Team().rank(); i < n; i += size) x[static_cast<std::size_t>(system) * n + i] = b[i];
}

/// Systems of one size with their solutions' check.
class Systems {
 public:
  Systems(int n, int batch) : n_(n), batch_(batch), a_(size() * n), b_(size()) {
    std::mt19937_64 engine(7);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (double& value : a_) value = uniform(engine);
    for (double& value : b_) value = uniform(engine);
  }
  std::size_t size() const { return static_cast<std::size_t>(n_) * batch_; }
  const std::vector<double>& matrices() const { return a_; }
  const std::vector<double>& right_hand_sides() const { return b_; }

  /// Largest |A x - b| / (|A| |x|) of some of the systems.
  double residual(const std::vector<double>& x) const {
    double worst = 0.0;
    const int stride = std::max(1, batch_ / 1000);
    for (int system = 0; system < batch_; system += stride) {
      const std::size_t at = static_cast<std::size_t>(system) * n_;
      double largest = 1.0;
      for (int i = 0; i < n_; ++i) largest = std::max(largest, std::abs(x[at + i]));
      for (int i = 0; i < n_; ++i) {
        double r = -b_[at + i];
        for (int j = 0; j < n_; ++j) r += a_[(at + j) * n_ + i] * x[at + j];
        worst = std::max(worst, std::abs(r) / (n_ * largest));
      }
    }
    return worst;
  }

 private:
  int n_;
  int batch_;
  std::vector<double> a_;
  std::vector<double> b_;
};

/// Median seconds of `run` over some rounds; `prepare` puts its input back before each.
double median_seconds(const std::function<void()>& prepare, const std::function<void()>& run) {
  cudaEvent_t begin;
  cudaEvent_t end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> milliseconds;
  for (int round = 0; round < 6; ++round) {
    prepare();
    check(cudaEventRecord(begin), "cudaEventRecord");
    run();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "kernel");
    float elapsed = 0.0F;
    check(cudaEventElapsedTime(&elapsed, begin, end), "cudaEventElapsedTime");
    if (round > 0) milliseconds.push_back(elapsed);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(milliseconds.begin(), milliseconds.begin() + 2, milliseconds.end());
  return milliseconds[2] * 1e-3;
}

void report(const char* solver, int n, int batch, double seconds, double residual) {
  std::printf("%s\t%d\t%d\t%.4g\t%.1e\n", solver, n, batch, batch / seconds, residual);
  std::fflush(stdout);
  // Partial pivoting of random matrices: a few rounding errors per operation of a row.
  if (!(residual < 1e-12)) {
    std::fprintf(stderr, "batched_lu: wrong solutions\n");
    std::exit(1);
  }
}

template <int n>
void measure_ours(const Systems& systems, int batch, DeviceArray<double>& a, DeviceArray<double>& x) {
  const auto prepare = [&] { x.copy_from(systems.right_hand_sides()); };
  a.copy_from(systems.matrices());
  if constexpr (n <= 32) {
    constexpr int threads = 64;
    const double seconds = median_seconds(
        prepare, [&] { solve_by_threads<n><<<(batch + threads - 1) / threads, threads>>>(a.get(), x.get(), batch); });
    report("thread", n, batch, seconds, systems.residual(x.to_host()));
  }
  if constexpr (n >= 4) {
    constexpr int tile = n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : 32;
    using Workspace = typename TeamLU<double, n, Tile<tile>>::Workspace;
    constexpr int tiles = n <= 32 ? 64 / tile : 1;
    constexpr int shared = tiles * static_cast<int>(sizeof(Workspace));
    check(cudaFuncSetAttribute(solve_by_tiles<n, tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
          "cudaFuncSetAttribute");
    const double seconds = median_seconds(prepare, [&] {
      solve_by_tiles<n, tile><<<(batch + tiles - 1) / tiles, tiles * tile, shared>>>(a.get(), x.get(), batch);
    });
    report("tile", n, batch, seconds, systems.residual(x.to_host()));
  }
}

void measure_cublas(cublasHandle_t handle, const Systems& systems, int n, int batch, DeviceArray<double>& a,
                    DeviceArray<double>& x) {
  std::vector<double*> matrices(batch);
  std::vector<double*> vectors(batch);
  for (int k = 0; k < batch; ++k) {
    matrices[k] = a.get() + static_cast<std::size_t>(k) * n * n;
    vectors[k] = x.get() + static_cast<std::size_t>(k) * n;
  }
  DeviceArray<double*> matrix_pointers(batch);
  DeviceArray<double*> vector_pointers(batch);
  matrix_pointers.copy_from(matrices);
  vector_pointers.copy_from(vectors);
  DeviceArray<int> pivots(static_cast<std::size_t>(n) * batch);
  DeviceArray<int> infos(batch);
  int info = 0;
  const double seconds = median_seconds(
      [&] {
        a.copy_from(systems.matrices());
        x.copy_from(systems.right_hand_sides());
      },
      [&] {
        check(cublasDgetrfBatched(handle, n, matrix_pointers.get(), n, pivots.get(), infos.get(), batch),
              "cublasDgetrfBatched");
        check(cublasDgetrsBatched(handle, CUBLAS_OP_N, n, 1, matrix_pointers.get(), n, pivots.get(),
                                  vector_pointers.get(), n, &info, batch),
              "cublasDgetrsBatched");
      });
  report("cublas", n, batch, seconds, systems.residual(x.to_host()));
}

/// A handle of cuSOLVER with a stream of its own, behind the legacy stream, whose events take the time.
struct SideStream {
  SideStream() {
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cusolverDnCreate(&handle), "cusolverDnCreate");
    check(cusolverDnSetStream(handle, stream), "cusolverDnSetStream");
  }
  ~SideStream() {
    cusolverDnDestroy(handle);
    cudaStreamDestroy(stream);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  cudaStream_t stream = nullptr;
  cusolverDnHandle_t handle = nullptr;
};

void measure_cusolver(const Systems& systems, int n, int batch, DeviceArray<double>& a, DeviceArray<double>& x) {
  constexpr int streams = 6;
  const SideStream side[streams];
  int elements = 0;
  check(cusolverDnDgetrf_bufferSize(side[0].handle, n, n, a.get(), n, &elements), "cusolverDnDgetrf_bufferSize");
  DeviceArray<double> workspaces(static_cast<std::size_t>(elements) * streams);
  DeviceArray<int> pivots(static_cast<std::size_t>(n) * batch);
  DeviceArray<int> infos(batch);
  const double seconds = median_seconds(
      [&] {
        a.copy_from(systems.matrices());
        x.copy_from(systems.right_hand_sides());
      },
      [&] {
        for (int k = 0; k < batch; ++k) {
          const cusolverDnHandle_t handle = side[k % streams].handle;
          double* matrix = a.get() + static_cast<std::size_t>(k) * n * n;
          int* of_matrix = pivots.get() + static_cast<std::size_t>(k) * n;
          double* workspace = workspaces.get() + static_cast<std::size_t>(k % streams) * elements;
          check(cusolverDnDgetrf(handle, n, n, matrix, n, workspace, of_matrix, infos.get() + k), "cusolverDnDgetrf");
          check(cusolverDnDgetrs(handle, CUBLAS_OP_N, n, 1, matrix, n, of_matrix,
                                 x.get() + static_cast<std::size_t>(k) * n, n, infos.get() + k),
                "cusolverDnDgetrs");
        }
      });
  report("cusolver", n, batch, seconds, systems.residual(x.to_host()));
}

template <int n>
void measure(cublasHandle_t handle) {
  // Up to 2 GiB of matrices.
  for (const int batch : {100, 1000, 10000, 100000, 1000000}) {
    if (8.0 * n * n * batch > 2147483648.0) continue;
    const Systems systems(n, batch);
    DeviceArray<double> a(systems.size() * n);
    DeviceArray<double> x(systems.size());
    if constexpr (n <= 64) measure_ours<n>(systems, batch, a, x);
    measure_cublas(handle, systems, n, batch, a, x);
    // One by one they take as long however many there are.
    if (n >= 32 && batch <= 1000) measure_cusolver(systems, n, batch, a, x);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    const bool help = std::string(arguments[1]) == "--help" || std::string(arguments[1]) == "-h";
    std::fprintf(help ? stdout : stderr, "usage: batched_lu      systems per second, by solver, size and batch\n");
    return help ? 0 : 2;
  }
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "batched_lu: no device: %s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::printf("# %s\n# solver\tn\tbatch\tsystems_per_second\tresidual\n", properties.name);
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  measure<2>(handle);
  measure<3>(handle);
  measure<4>(handle);
  measure<6>(handle);
  measure<8>(handle);
  measure<12>(handle);
  measure<16>(handle);
  measure<24>(handle);
  measure<32>(handle);
  measure<48>(handle);
  measure<64>(handle);
  measure<96>(handle);
  measure<128>(handle);
  measure<192>(handle);
  measure<256>(handle);
  measure<384>(handle);
  measure<512>(handle);
  measure<768>(handle);
  measure<1000>(handle);
  cublasDestroy(handle);
}
