#pragma once
// The seam between the CUDA backend and the kernels that NVRTC compiles for it: plain structs of device pointers.
#include "../drive/interface.hpp"

namespace manyfold {

/// Instances in the memory of a device; each column has `count` rows.
struct DeviceBatch : Columns<ColumnPointer> {
  std::int64_t first;  ///< number of the first instance in the ensemble
  int count;           ///< instances
  InstanceShape shape;
  SavedVariables saved;
  void* ready;               ///< [count] initial points, `DeviceLayout::ready_size` bytes each
  const void* options;       ///< `DeviceLayout::options_size` bytes, written by manyfold_prepare
  int* next;                 ///< the queue: first instance that no thread has taken; zero before a launch
  const int* cancelled;      ///< not zero: end soon
  Utilisation* utilisation;  ///< added up over launches
};

/// What the instances in flight of the phased tier wait for.
struct PhasedCounts {
  int present;     ///< 0 or 1: which of the two is that of this pass; the other one fills up for the next
  int factors[2];  ///< instances whose matrices must be factorised first
  int corrections[2];
  int estimates[2];
  int attempts;  ///< instances whose step attempt is over, or that have not begun one
};

/// Memory of the phased tier on a device. `slots`: instances in flight; `systems`: linear systems of an instance.
struct PhasedMemory {
  int slots;
  const DeviceBatch* batch;
  void* supply;                ///< `PhasedLayout::supply_size` bytes
  unsigned long long* frames;  ///< [frame_words][slots]: the state of the instances, word by word
  void* workspaces;  ///< [slots + 1], `workspace_size` bytes each; the last stands in where a batch is not full
  PhasedCounts* counts;
  int* lists;  ///< [7][slots]: the slots that `counts` counts, in the order of its members
  // Of sparse matrices:
  char* factors;  ///< [factors_size][slots]: values and solutions, number by number
  // Of full ones, those of this pass, for the batched routines:
  void** matrices;   ///< [systems][slots]
  void** solutions;  ///< [systems][slots]
  int* pivots;       ///< [systems][slots][variables]
};

/// What the host must know of the kernels of the phased tier.
struct PhasedLayout {
  int supply_size;
  int frame_words;
  int workspace_size;
  int jacobian_shares;  ///< threads that share the evaluation of a Jacobian
  int real_systems;
  int complex_systems;    ///< they come after the real ones
  bool single_precision;  ///< of the matrices
  bool sparse;            ///< the kernels factorise and solve; else routines of a library do
  int factors_size;       ///< bytes of an instance's sparse factors and solutions
};

/// What the host must know of a compiled kernel to make room for its data.
struct DeviceLayout {
  int interface_version;
  int variables;
  int parameters;
  int initial;  ///< numbers that an instance starts from: all values and the derivatives that are given
  int events;
  int discrete;
  int observables;
  int ready_size;    ///< bytes of an initial point
  int options_size;  ///< bytes of the method's settings
  int block_size;    ///< threads of a block, at most
  bool block_size_forced;
  int team_size;        ///< threads of an instance
  int shared_memory;    ///< bytes per instance in flight
  PhasedLayout phased;  ///< if the kernels are those of that tier
};

}  // namespace manyfold
