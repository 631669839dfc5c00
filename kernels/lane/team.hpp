#pragma once
// Threads that integrate one instance together. All run the same step on the same numbers, so that they take every
// decision alike without asking; what they divide is the work on matrices, which they keep in memory that they share.
//
// A team is a handle that each of its threads holds:
//   static constexpr int size
//   int rank() const                  of this thread, 0 ... size - 1
//   void synchronize()                waits for all; what they wrote to shared memory before is visible after
//   int broadcast(int value)          the value of rank 0
//   void largest(double& value, int& index)   the largest value and the smallest index that goes with it, to all;
//                                     values that are not numbers do not count
// On a GPU it is a tile of a warp (cuda/tile.hpp).
#include "qualifiers.hpp"

namespace manyfold {

/// A lane that works alone.
struct OneThread {
  static constexpr int size = 1;
  static constexpr int rank() { return 0; }
  static constexpr int broadcast(int value) { return value; }
};

/// Does this thread write what its instance leaves in memory?
template <class Team>
MANYFOLD_INLINE bool leads(const Team& team) {
  return team.rank() == 0;
}

/// The team that integrates the instances of a system.
template <class System>
struct TeamOfSystem {
  using type = OneThread;
};
template <class System>
requires requires {
  typename System::Team;
}
struct TeamOfSystem<System> {
  using type = typename System::Team;
};
template <class System>
using TeamOf = typename TeamOfSystem<System>::type;

/// `Base` as a team integrates it.
template <class Base, class Team_>
struct SharedSystem : Base {
  using Team = Team_;
};

/// A system as one thread sees it, in full precision.
template <class System>
struct AloneSystem {
  using type = System;
};
template <class Base, class Team>
struct AloneSystem<SharedSystem<Base, Team>> : AloneSystem<Base> {};
template <class System>
using Alone = typename AloneSystem<System>::type;

}  // namespace manyfold
