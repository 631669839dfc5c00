#include "host/engine/cuda/full_matrices.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace manyfold::cuda {
namespace {

/// Workspace of cuBLAS per stream. A handle's own would not do: graphs must not allocate, and results must not depend
/// on what other streams do.
constexpr std::size_t blas_workspace_bytes = std::size_t{4} << 20;

/// Matrices that cuSOLVER works on at the same time for one stream: one alone leaves most of a device idle.
constexpr int side_streams_of_cusolver = 6;

/// call(routine, 1) with the routine for the numbers of a matrix, and 1 as such a number.
void with_routine(const DeviceLayout& layout, bool is_complex, auto real, auto complex, auto single,
                  auto single_complex, auto&& call) {
  if (layout.phased.single_precision) {
    is_complex ? call(single_complex, cuComplex{1.0F, 0.0F}) : call(single, 1.0F);
  } else {
    is_complex ? call(complex, cuDoubleComplex{1.0, 0.0}) : call(real, 1.0);
  }
}

/// By batched routines of cuBLAS.
class MatricesAtOnce : public FullMatrices {
 public:
  MatricesAtOnce(const DeviceLayout& layout, int slots, CUstream stream)
      : FullMatrices(layout, slots, stream), workspace_(blas_workspace_bytes) {
    const std::lock_guard lock(captures());
    blas().check(blas().create(&blas_), "cublasCreate");
    blas().check(blas().set_stream(blas_, stream), "cublasSetStream");
    blas().check(blas().set_workspace(blas_, workspace_.get(), blas_workspace_bytes), "cublasSetWorkspace");
  }
  ~MatricesAtOnce() override {
    const std::lock_guard lock(captures());
    blas().destroy(blas_);
  }
  MatricesAtOnce(const MatricesAtOnce&) = delete;
  MatricesAtOnce& operator=(const MatricesAtOnce&) = delete;

  bool in_graphs() const override { return true; }

  void factorize(int size) override {
    const Blas& b = blas();
    const int n = layout_.variables;
    for (int system = 0; system < systems_of(layout_); ++system) {
      // What is singular is found out by the pivots themselves, not by `info`, which knows exact zeros only.
      const auto call = [&]<class Number>(auto routine, const Number&) {
        b.check(routine(blas_, n, reinterpret_cast<Number**>(matrices(system)), n, pivots(system), info(system), size),
                "getrfBatched");
      };
      with_routine(layout_, complex(system), b.factorize, b.factorize_complex, b.factorize_single,
                   b.factorize_single_complex, call);
    }
  }

  void solve(int systems, int size) override {
    const Blas& b = blas();
    const int n = layout_.variables;
    for (int system = 0; system < systems; ++system) {
      const auto call = [&]<class Number>(auto routine, const Number& one) {
        auto** left = reinterpret_cast<Number**>(matrices(system));
        auto** right = reinterpret_cast<Number**>(solutions(system));
        b.check(routine(blas_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, 1, &one,
                        left, n, right, n, size),
                "trsmBatched");
        b.check(routine(blas_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, 1, &one,
                        left, n, right, n, size),
                "trsmBatched");
      };
      with_routine(layout_, complex(system), b.solve, b.solve_complex, b.solve_single, b.solve_single_complex, call);
    }
  }

 private:
  cublasHandle_t blas_ = nullptr;
  DeviceArray<char> workspace_;
};

/// A handle of cuSOLVER.
class SolverHandle {
 public:
  SolverHandle() {
    const std::lock_guard lock(captures());
    dense_solver().check(dense_solver().create(&handle_), "cusolverDnCreate");
  }
  ~SolverHandle() {
    const std::lock_guard lock(captures());
    dense_solver().destroy(handle_);
  }
  SolverHandle(const SolverHandle&) = delete;
  SolverHandle& operator=(const SolverHandle&) = delete;
  cusolverDnHandle_t get() const { return handle_; }

  /// Bytes that the factorisation of any of the matrices works in.
  std::size_t workspace_bytes(const DeviceLayout& layout) const {
    const DenseSolver& s = dense_solver();
    std::size_t bytes = 0;
    const auto ask = [&]<class Number>(auto routine, const Number&) {
      int elements = 0;
      s.check(routine(handle_, layout.variables, layout.variables, static_cast<Number*>(nullptr), layout.variables,
                      &elements),
              "getrf_bufferSize");
      bytes = std::max(bytes, static_cast<std::size_t>(elements) * sizeof(Number));
    };
    for (const bool is_complex : {false, true}) {
      with_routine(layout, is_complex, s.workspace_size, s.workspace_size_complex, s.workspace_size_single,
                   s.workspace_size_single_complex, ask);
    }
    return bytes;
  }

 private:
  cusolverDnHandle_t handle_ = nullptr;
};

/// By routines of cuSOLVER for one matrix, which several streams work through.
class MatricesOneByOne : public FullMatrices {
 public:
  MatricesOneByOne(const DeviceLayout& layout, int slots, CUstream stream)
      : FullMatrices(layout, slots, stream),
        no_exchanges_(static_cast<std::size_t>(layout.variables)),
        host_matrices_(total(systems_of(layout), slots)),
        host_solutions_(total(systems_of(layout), slots)) {
    std::vector<int> rows(static_cast<std::size_t>(layout.variables));
    std::iota(rows.begin(), rows.end(), 1);
    no_exchanges_.copy_from(rows.data(), rows.size(), stream);
    driver().check(driver().synchronize_stream(stream), "cuStreamSynchronize");
    for (int k = 0; k < side_streams_of_cusolver; ++k) sides_.push_back(std::make_unique<SideStream>(layout));
  }

  /// The addresses of matrices are arguments of the routines. They differ from pass to pass.
  bool in_graphs() const override { return false; }

  void factorize(int size) override {
    fetch(matrices_, host_matrices_, systems_of(layout_), size);
    const DenseSolver& s = dense_solver();
    const int n = layout_.variables;
    for_each(systems_of(layout_), size, [&](const SideStream& side, int system, int j) {
      void* matrix = host_matrices_[total(system, slots_) + static_cast<std::size_t>(j)];
      int* of_matrix = pivots(system) + total(j, n);
      const auto call = [&]<class Number>(auto routine, const Number&) {
        s.check(routine(side.handle.get(), n, n, static_cast<Number*>(matrix), n,
                        reinterpret_cast<Number*>(side.workspace.get()), of_matrix, info(system) + j),
                "getrf");
      };
      with_routine(layout_, complex(system), s.factorize, s.factorize_complex, s.factorize_single,
                   s.factorize_single_complex, call);
    });
  }

  void solve(int systems, int size) override {
    fetch(matrices_, host_matrices_, systems, size);
    fetch(solutions_, host_solutions_, systems, size);
    const DenseSolver& s = dense_solver();
    const int n = layout_.variables;
    for_each(systems, size, [&](const SideStream& side, int system, int j) {
      const std::size_t at = total(system, slots_) + static_cast<std::size_t>(j);
      // The kernel before has exchanged the rows of the right-hand side.
      const auto call = [&]<class Number>(auto routine, const Number&) {
        s.check(routine(side.handle.get(), CUBLAS_OP_N, n, 1, static_cast<const Number*>(host_matrices_[at]), n,
                        no_exchanges_.get(), static_cast<Number*>(host_solutions_[at]), n, info(system) + j),
                "getrs");
      };
      with_routine(layout_, complex(system), s.solve, s.solve_complex, s.solve_single, s.solve_single_complex, call);
    });
  }

 private:
  /// What works on one matrix at a time. The stream goes first: it waits for what uses the others.
  struct SideStream {
    explicit SideStream(const DeviceLayout& layout) : workspace(handle.workspace_bytes(layout)) {
      dense_solver().check(dense_solver().set_stream(handle.get(), stream.get()), "cusolverDnSetStream");
    }
    SolverHandle handle;
    DeviceArray<char> workspace;
    Event end;
    Stream stream;
  };

  /// The addresses that kernels have written, `size` of each of `systems`, on the host. It waits for the stream.
  void fetch(const DeviceArray<void*>& from, const PinnedArray<void*>& to, int systems, int size) const {
    from.copy_to(to.data(), total(systems - 1, slots_) + static_cast<std::size_t>(size), stream_);
    driver().check(driver().synchronize_stream(stream_), "cuStreamSynchronize");
  }

  /// Calls work(side, system, j) for all matrices. The side streams may begin at once, since the stream has been waited
  /// for. It goes on when they are done.
  void for_each(int systems, int size, auto&& work) const {
    std::size_t next = 0;
    for (int system = 0; system < systems; ++system) {
      for (int j = 0; j < size; ++j) work(*sides_[next++ % sides_.size()], system, j);
    }
    for (const auto& side : sides_) side->end.order(side->stream.get(), stream_);
  }

  DeviceArray<int> no_exchanges_;  ///< pivots that leave all rows where they are
  PinnedArray<void*> host_matrices_;
  PinnedArray<void*> host_solutions_;
  std::vector<std::unique_ptr<SideStream>> sides_;
};

}  // namespace

std::mutex& captures() {
  static std::mutex mutex;
  return mutex;
}

const std::string& unavailable(LinearSolver solver) {
  return solver == LinearSolver::cublas ? blas().failure : dense_solver().failure;
}

FullMatrices::FullMatrices(const DeviceLayout& layout, int slots, CUstream stream)
    : layout_(layout),
      slots_(slots),
      stream_(stream),
      matrices_(total(systems_of(layout), slots)),
      solutions_(total(systems_of(layout), slots)),
      pivots_(total(systems_of(layout) * layout.variables, slots)),
      info_(total(systems_of(layout), slots)) {}

void FullMatrices::enter(PhasedMemory& memory) const {
  memory.matrices = matrices_.get();
  memory.solutions = solutions_.get();
  memory.pivots = pivots_.get();
}

std::unique_ptr<FullMatrices> full_matrices(LinearSolver solver, const DeviceLayout& layout, int slots,
                                            CUstream stream) {
  if (solver == LinearSolver::cublas) return std::make_unique<MatricesAtOnce>(layout, slots, stream);
  return std::make_unique<MatricesOneByOne>(layout, slots, stream);
}

std::size_t full_matrices_bytes_per_slot(const DeviceLayout& layout) {
  const auto systems = static_cast<std::size_t>(systems_of(layout));
  return systems * (2 * sizeof(void*) + static_cast<std::size_t>(layout.variables + 1) * sizeof(int));
}

std::size_t full_matrices_bytes_per_stream(LinearSolver solver, const DeviceLayout& layout) {
  if (solver == LinearSolver::cublas) return blas_workspace_bytes;
  return side_streams_of_cusolver * SolverHandle().workspace_bytes(layout) +
         static_cast<std::size_t>(layout.variables) * sizeof(int);
}

}  // namespace manyfold::cuda
