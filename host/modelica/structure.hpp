#pragma once
// Which equation has which unknown, and what follows from that alone: matching, order, index.
#include <cstddef>
#include <functional>
#include <vector>

namespace manyfold::modelica {

/// Equations and unknowns are counted by int, with -1 for none.
constexpr std::size_t at(int number) {
  return static_cast<std::size_t>(number);
}

/// For every equation its unknowns.
using Incidence = std::vector<std::vector<int>>;

struct Matching {
  std::vector<int> unknown_of;   ///< by equation; -1: none
  std::vector<int> equation_of;  ///< by unknown; -1: none
};

/// A largest matching. Unknowns are served in the order of `preference`, and those once served stay so.
Matching match(const Incidence& equations, int unknowns, const std::vector<int>& preference);
Matching match(const Incidence& equations, int unknowns);

/// What a matching that is not perfect says: the equations that are too many for their unknowns, and the unknowns that
/// are too many for their equations (Dulmage & Mendelsohn).
struct Excess {
  std::vector<int> equations;
  std::vector<int> their_unknowns;
  std::vector<int> unknowns;
  std::vector<int> their_equations;
};
Excess excess(const Incidence& equations, int unknowns, const Matching& matching);

/// Blocks of equations in the order in which they can be solved, each for the unknowns that are matched to them.
/// Equations without one are left out.
std::vector<std::vector<int>> blocks(const Incidence& equations, const Matching& matching);

struct SignatureEntry {
  int unknown = 0;
  int order = 0;  ///< of the highest derivative of the unknown in the equation
};
using Signature = std::vector<std::vector<SignatureEntry>>;

/// The least offsets c of the equations and d of the unknowns (Pantelides; Pryce, BIT 41, 2001), with the matching of
/// highest derivatives. `regular`: false if there is none.
struct SystemOffsets {
  bool regular = true;
  std::vector<int> equation;
  std::vector<int> unknown;
  Matching matching;

  int freedoms() const;
  /// By Pryce: max c + 1 if some d_j = 0, else max c.
  int index() const;
};
SystemOffsets find_system_offsets(const Signature& signature, int unknowns);

/// What is left of a block of equations when some of its unknowns are taken as known.
struct Tearing {
  struct Step {
    int equation;
    int unknown;
  };
  std::vector<int> torn;       ///< unknowns that are guessed
  std::vector<Step> steps;     ///< the others, in order
  std::vector<int> residuals;  ///< equations that tell whether the guess is good
};
/// May an equation be solved for an unknown in one step?
enum class Solvable {
  no,
  by_parameters,  ///< where these, or a short step, do not make its coefficient small
  always,
};
/// `weight(unknown)`: the larger, the sooner it is guessed.
Tearing tear(const std::vector<int>& equations, const std::vector<int>& unknowns, const Incidence& incidence,
             const std::function<Solvable(int, int)>& solvable, const std::function<int(int)>& weight);

}  // namespace manyfold::modelica
