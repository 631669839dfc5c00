#pragma once
// The seam between the CUDA backend and the kernels that NVRTC compiles for it: plain structs of device pointers.
#include "../interface.hpp"

namespace manyfold {

/// Instances in the memory of a device. All arrays are row-major with the instance outermost.
struct DeviceBatch {
  std::int64_t first;        ///< number of the first instance in the ensemble
  int count;                 ///< instances
  const double* parameters;  ///< [count][parameters of the model]
  const double* initial;     ///< [count][DeviceLayout::initial]
  const double* t_span;      ///< [count][2]
  const double* times;       ///< [count][time_count]
  int time_count;
  double* values;             ///< [count][time_count][saved variables]; stays where an instance does not arrive
  double* end_states;         ///< [count][2][variables of the model]; may be null
  InstanceOutcome* outcomes;  ///< [count]
  EventRecord* events;        ///< [count][event_capacity]
  double* event_values;       ///< [count][event_capacity][2][saved variables + discrete numbers]
  int event_capacity;
  double* first_event_times;  ///< [count][events of the model]; stays where an event does not occur
  SavedVariables saved;
  void* ready;               ///< [count] initial points, `DeviceLayout::ready_size` bytes each
  const void* options;       ///< `DeviceLayout::options_size` bytes, written by manyfold_prepare
  int* next;                 ///< the queue: first instance that no thread has taken; zero before a launch
  const int* cancelled;      ///< not zero: end soon
  Utilisation* utilisation;  ///< added up over launches
};

/// What the host must know of a compiled kernel to make room for its data.
struct DeviceLayout {
  int interface_version;
  int variables;
  int parameters;
  int initial;  ///< numbers that an instance starts from: all values and the derivatives that are given
  int events;
  int discrete;
  int ready_size;    ///< bytes of an initial point
  int options_size;  ///< bytes of the method's settings
  int block_size;    ///< threads of a block, at most
  bool block_size_forced;
  int team_size;      ///< threads of an instance
  int shared_memory;  ///< bytes per instance in flight
};

}  // namespace manyfold
