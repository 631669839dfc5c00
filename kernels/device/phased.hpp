#pragma once
// The phased tier on a GPU: the state of many instances in device memory, word by word, so that neighbouring threads
// read neighbouring words; kernels that take each instance from one linear solve to the next; and between them what
// factorises and solves for all that wait: for full matrices a library's batched routines, for sparse ones kernels,
// which have one pattern for all. A pass serves every instance once: some get their matrices, then some a correction of
// Newton's method and the others an error estimate, then those whose attempt is over begin another.
//
// Kernels append the slots of their instances to lists of what they wait for next, so that every kernel and every
// batched routine works on those alone that need it, and an instance never waits for the iterations of another. The
// order in lists is left to chance; what an instance computes does not depend on it.
#include "../methods/phased_dirk.hpp"
#include "../methods/phased_radau.hpp"
#include "fused.hpp"

namespace manyfold {

/// An instance in flight and, one after another, those that follow it in its slot.
template <class Method>
class PhasedInstance {
 public:
  using System = typename Method::System;
  using Supply = BatchSupply<Method>;

  MANYFOLD_INLINE PhasedInstance(const IntegratorOptions<System::n>& options, const SavedVariables& saved,
                                 Supply& supply, typename Method::Workspace& workspace)
      : driver_(options, saved, supply, workspace) {}

  /// Where it is to stand.
  static MANYFOLD_INLINE void* operator new(decltype(sizeof(0)), void* at) { return at; }

  /// Ends the step attempt that is over and begins another one; false: there is nothing left to do.
  MANYFOLD_INLINE bool attempt(const Supply& supply) {
    auto& integrator = driver_.integrator();
    if (attempting_) {
      const bool accepted = integrator.end_step(step_, integrator.method().result());
      driver_.settle(true, accepted);
    }
    if (supply.cancelled()) {
      driver_.cancel_remaining();
    } else {
      driver_.refill();
    }
    attempting_ = integrator.live();
    if (!attempting_) return false;
    step_ = integrator.begin_step();
    integrator.begin_attempt(step_);
    return true;
  }

  MANYFOLD_INLINE Wait take_corrections() { return driver_.integrator().take_corrections(); }
  MANYFOLD_INLINE Wait take_estimate() { return driver_.integrator().take_estimate(); }
  MANYFOLD_INLINE bool wants_factors() { return driver_.integrator().method().wants_factors(); }

 private:
  LaneDriver<Method, Supply> driver_;
  typename Integrator<Method>::Step step_;
  bool attempting_ = false;
};

/// Words of an object in device memory.
template <class T>
inline constexpr int words_of = static_cast<int>((sizeof(T) + sizeof(unsigned long long) - 1) /
                                                 sizeof(unsigned long long));

/// Objects in device memory whose words are interleaved: word k of that in slot j stands at words[k * slots + j].
/// Threads work on copies in their own memory.
template <class T>
class Interleaved {
 public:
  static MANYFOLD_INLINE void make(const PhasedMemory& memory, int slot, auto&&... arguments) {
    const Copy made(arguments...);
    store(memory, slot, made);
  }
  /// What `work` returns, which it does with the object.
  static MANYFOLD_INLINE auto visit(const PhasedMemory& memory, int slot, auto&& work) {
    Copy copy;
    for (int k = 0; k < words_of<T>; ++k) copy.word[k] = word(memory, slot, k);
    const auto result = work(copy.object);
    store(memory, slot, copy);
    return result;
  }

 private:
  union Copy {
    T object;
    unsigned long long word[words_of<T>];
    MANYFOLD_INLINE Copy() {}
    MANYFOLD_INLINE explicit Copy(auto&... arguments) : object(arguments...) {}
  };

  static MANYFOLD_INLINE void store(const PhasedMemory& memory, int slot, const Copy& from) {
    for (int k = 0; k < words_of<T>; ++k) word(memory, slot, k) = from.word[k];
  }
  static MANYFOLD_INLINE unsigned long long& word(const PhasedMemory& memory, int slot, int k) {
    return memory.frames[static_cast<long long>(k) * memory.slots + slot];
  }
};

/// The same for objects that are too large for copies, since a device sets memory aside for as many threads as it can
/// have: they stand whole, and threads work on them where they are.
template <class T>
class Whole {
 public:
  static MANYFOLD_INLINE void make(const PhasedMemory& memory, int slot, auto&&... arguments) {
    new (at(memory, slot)) T(arguments...);
  }
  static MANYFOLD_INLINE auto visit(const PhasedMemory& memory, int slot, auto&& work) {
    return work(*at(memory, slot));
  }

 private:
  static_assert(alignof(T) <= alignof(unsigned long long), "they stand at any word");
  static MANYFOLD_INLINE T* at(const PhasedMemory& memory, int slot) {
    return reinterpret_cast<T*>(memory.frames + static_cast<long long>(slot) * words_of<T>);
  }
};

/// The kernels: what thread number `thread` of each does. `size`: instances of the batch, whose list may be shorter.
template <class Method>
class PhasedKernels {
 public:
  using System = typename Method::System;
  using Instance = PhasedInstance<Method>;
  using Supply = BatchSupply<Method>;
  using Workspace = typename Method::Workspace;
  using Matrices = typename Method::Matrices;
  using Conditions = typename Integrator<Method>::Conditions;
  static constexpr int n = System::n;
  static constexpr bool sparse = SymbolicLU<typename Matrices::Structure>::sparse;
  /// Beside the work on a full matrix of so many rows, that neighbouring threads read words far apart counts little.
  static constexpr bool large = !sparse && sizeof(Instance) > 32768;
  using Frames = typename Either<large, Whole<Instance>, Interleaved<Instance>>::type;
  static_assert(__is_trivially_copyable(Instance), "instances move word by word");

  static MANYFOLD_INLINE PhasedLayout layout() {
    return {static_cast<int>(sizeof(Supply)),
            words_of<Instance>,
            workspace_size,
            Matrices::shares(),
            Method::reals,
            Method::pairs,
            has_single_precision_factors<System>() || !is_same<typename Method::Real, double>,
            sparse,
            factors_size()};
  }

  /// Consistent initial conditions of the batch; every thread works through a share of it in the memory of its slot,
  /// which is idle. In a thread's own memory the matrices would be as many as a device has threads.
  static MANYFOLD_INLINE void initialize(const PhasedMemory& memory, int size, int thread) {
    if (thread >= size) return;
    auto& conditions = *reinterpret_cast<Conditions*>(place(memory, thread));
    for (int i = thread; i < memory.batch->count; i += size) initialize_instance<Method>(*memory.batch, i, conditions);
  }

  /// Every slot, without an instance yet.
  static MANYFOLD_INLINE void start(const PhasedMemory& memory, int size, int thread) {
    if (thread >= size) return;
    auto& supply = *static_cast<Supply*>(memory.supply);
    if (thread == 0) supply = Supply(*memory.batch, {});
    Workspace& own = workspace(memory, thread);
    Matrices::forget_request(own.matrices);
    if constexpr (sparse) {
      char* at = memory.factors;
      Method::for_each_matrix(own, [&](auto, auto& lu, auto&&) {
        lu.use(at, memory.slots, thread);
        at += static_cast<long long>(lu.values_size) * memory.slots;
      });
    }
    const auto& options = *static_cast<const IntegratorOptions<n>*>(memory.batch->options);
    Frames::make(memory, thread, options, memory.batch->saved, supply, own);
    append(memory, thread, attempts, memory.counts->attempts);
  }

  /// Jacobians, where they are wanted; `Matrices::shares()` threads per instance.
  static MANYFOLD_INLINE void jacobian(const PhasedMemory& memory, int size, int thread) {
    const int j = thread / Matrices::shares();
    if (j >= size || j >= present(memory, memory.counts->factors)) return;
    Matrices::evaluate_recorded(workspace(memory, slot_of(memory, factors, j)).matrices, thread % Matrices::shares());
  }

  // Of the kernels for full and for sparse matrices the others are empty.

  /// Full iteration matrices; `n` threads per instance, one per row.
  static MANYFOLD_INLINE void assemble(const PhasedMemory& memory, int size, int thread) {
    if constexpr (!sparse) {
      const int j = thread / n;
      const int row = thread % n;
      if (j >= size) return;
      const bool wanted = j < present(memory, memory.counts->factors);
      Workspace& own = workspace(memory, wanted ? slot_of(memory, factors, j) : memory.slots);
      if (wanted) {
        Method::for_each_matrix(own, [&](auto, auto& lu, auto&& entry) { lu.assemble(row, entry); });
      }
      if (row == 0) point(memory, j, own);
    }
  }

  /// After their factorisation.
  static MANYFOLD_INLINE void finish(const PhasedMemory& memory, int size, int thread) {
    if constexpr (!sparse) {
      if (thread >= size || thread >= present(memory, memory.counts->factors)) return;
      Workspace& own = workspace(memory, slot_of(memory, factors, thread));
      Method::for_each_matrix(own, [&](auto system, auto& lu, auto&&) {
        lu.finish(memory.pivots + (static_cast<long long>(system) * memory.slots + thread) * n);
      });
      Matrices::forget_request(own.matrices);
    }
  }

  /// Right-hand sides of the instances that wait for corrections or, else, for estimates; `n` threads per instance.
  template <bool of_corrections>
  static MANYFOLD_INLINE void permute(const PhasedMemory& memory, int size, int thread) {
    if constexpr (!sparse) {
      const int j = thread / n;
      const int row = thread % n;
      if (j >= size) return;
      const bool wanted = j < waiting<of_corrections>(memory);
      Workspace& own = workspace(memory, wanted ? slot_waiting<of_corrections>(memory, j) : memory.slots);
      Method::for_each_matrix(own, [&](auto system, auto& lu, auto&&) {
        if (wanted && (of_corrections || system == 0)) lu.permute(row);
      });
      if (row == 0) point(memory, j, own);
    }
  }

  /// Sparse iteration matrices and their factors; a thread per system of an instance, those of one system side by side.
  static MANYFOLD_INLINE void factorize(const PhasedMemory& memory, int size, int thread) {
    if constexpr (sparse) {
      const int j = thread % size;
      if (j >= present(memory, memory.counts->factors)) return;
      Workspace& own = workspace(memory, slot_of(memory, factors, j));
      Method::for_each_matrix(own, [&](auto system, auto& lu, auto&& entry) {
        if (system == thread / size) lu.factor(entry);
      });
      if (thread < size) Matrices::forget_request(own.matrices);
    }
  }

  /// Solutions for corrections, of all systems, or, else, for estimates, of the first one; threads as before.
  template <bool of_corrections>
  static MANYFOLD_INLINE void solve(const PhasedMemory& memory, int size, int thread) {
    if constexpr (sparse) {
      const int j = thread % size;
      if (j >= waiting<of_corrections>(memory)) return;
      Workspace& own = workspace(memory, slot_waiting<of_corrections>(memory, j));
      Method::for_each_matrix(own, [&](auto system, auto& lu, auto&&) {
        if ((of_corrections || system == 0) && system == thread / size) lu.solve();
      });
    }
  }

  /// After the solution for corrections.
  static MANYFOLD_INLINE void correct(const PhasedMemory& memory, int size, int thread) {
    if (thread >= size || thread >= waiting<true>(memory)) return;
    resume(memory, slot_waiting<true>(memory, thread), [](Instance& instance) { return instance.take_corrections(); });
  }

  /// After the solution for error estimates.
  static MANYFOLD_INLINE void estimate(const PhasedMemory& memory, int size, int thread) {
    if (thread >= size || thread >= waiting<false>(memory)) return;
    resume(memory, slot_waiting<false>(memory, thread), [](Instance& instance) { return instance.take_estimate(); });
  }

  /// From the end of one attempt to the first corrections of the next.
  static MANYFOLD_INLINE void attempt(const PhasedMemory& memory, int size, int thread) {
    if (thread >= size || thread >= memory.counts->attempts) return;
    const int slot = memory.lists[attempts * memory.slots + thread];
    Frames::visit(memory, slot, [&](Instance& instance) {
      const bool begun = instance.attempt(*static_cast<const Supply*>(memory.supply));
      if (begun) {
        append(memory, slot, corrections + next(memory), memory.counts->corrections[next(memory)]);
        if (instance.wants_factors()) {
          append(memory, slot, factors + next(memory), memory.counts->factors[next(memory)]);
        }
      }
      return begun;
    });
  }

  /// One thread: what has filled up is served by the next pass.
  static MANYFOLD_INLINE void turn(const PhasedMemory& memory) {
    PhasedCounts& counts = *memory.counts;
    const int done = counts.present;
    counts.present = 1 - done;
    counts.factors[done] = counts.corrections[done] = counts.estimates[done] = 0;
    counts.attempts = 0;
  }

 private:
  // Numbers of the lists; of the first three, which exist twice, the first one's.
  static constexpr int factors = 0;
  static constexpr int corrections = 2;
  static constexpr int estimates = 4;
  static constexpr int attempts = 6;

  static MANYFOLD_INLINE int present(const PhasedMemory& memory, const int (&count)[2]) {
    return count[memory.counts->present];
  }
  static MANYFOLD_INLINE int next(const PhasedMemory& memory) { return 1 - memory.counts->present; }
  static MANYFOLD_INLINE int slot_of(const PhasedMemory& memory, int list, int j) {
    return memory.lists[(list + memory.counts->present) * memory.slots + j];
  }
  /// Of the instances that wait for corrections or, else, for estimates: how many, and where number j is.
  template <bool of_corrections>
  static MANYFOLD_INLINE int waiting(const PhasedMemory& memory) {
    return present(memory, of_corrections ? memory.counts->corrections : memory.counts->estimates);
  }
  template <bool of_corrections>
  static MANYFOLD_INLINE int slot_waiting(const PhasedMemory& memory, int j) {
    return slot_of(memory, of_corrections ? corrections : estimates, j);
  }
  static MANYFOLD_INLINE void append(const PhasedMemory& memory, int slot, int list, int& count) {
    memory.lists[list * memory.slots + AtomicQueue::take(&count)] = slot;
  }

  static constexpr int factors_size() {
    int size = 0;
    if constexpr (sparse) {
      size += Method::reals * Method::RealFactors::Workspace::values_size;
      if constexpr (Method::pairs > 0) size += Method::pairs * Method::ComplexFactors::Workspace::values_size;
    }
    return size;
  }

  static constexpr int larger =
      static_cast<int>(sizeof(Workspace) > sizeof(Conditions) ? sizeof(Workspace) : sizeof(Conditions));
  static constexpr int workspace_size = (larger + 15) / 16 * 16;
  static MANYFOLD_INLINE char* place(const PhasedMemory& memory, int slot) {
    return static_cast<char*>(memory.workspaces) + static_cast<long long>(slot) * workspace_size;
  }
  static MANYFOLD_INLINE Workspace& workspace(const PhasedMemory& memory, int slot) {
    return *reinterpret_cast<Workspace*>(place(memory, slot));
  }

  /// The matrices and right-hand sides of `workspace` are number j of the batch.
  static MANYFOLD_INLINE void point(const PhasedMemory& memory, int j, Workspace& workspace) {
    Method::for_each_matrix(workspace, [&](auto system, auto& lu, auto&&) {
      const long long at = static_cast<long long>(system) * memory.slots + j;
      memory.matrices[at] = lu.matrix;
      memory.solutions[at] = lu.solution;
    });
  }

  static MANYFOLD_INLINE void resume(const PhasedMemory& memory, int slot, auto&& go_on) {
    const Wait wait = Frames::visit(memory, slot, go_on);
    if (wait == Wait::corrections) {
      append(memory, slot, corrections + next(memory), memory.counts->corrections[next(memory)]);
    } else if (wait == Wait::filter) {
      append(memory, slot, estimates + next(memory), memory.counts->estimates[next(memory)]);
    } else {
      append(memory, slot, attempts, memory.counts->attempts);
    }
  }
};

}  // namespace manyfold
