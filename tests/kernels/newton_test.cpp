// What Newton's method concludes of a lane is the same beside neighbours that iterate longer.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/entry/kernel.hpp"

namespace manyfold {
namespace {

using Lanes = LaneTraits<KernelLane<>>;

struct Verdict {
  double contraction;
  bool converged;
  double iterations;
  double rate;
  double last_rate;
  bool operator==(const Verdict&) const = default;
};

/// Lanes whose corrections have the norms of `sequences`, in turn; beyond its end a sequence repeats its last.
template <int index>
std::vector<Verdict> solve(const std::vector<std::vector<double>>& sequences, double rounding = 0.0) {
  const NewtonControl control{1e-3, 7, rounding};
  KernelLane<> contraction(0.1);
  std::size_t k = 0;
  const auto result = solve_newton<KernelLane<>, index>(
      control, MaskOf<KernelLane<>>(true), MaskOf<KernelLane<>>(false), contraction, [&](const auto&) {
        KernelLane<> size(0.0);
        for (int lane = 0; lane < Lanes::width; ++lane) {
          const auto& own = sequences[static_cast<std::size_t>(lane) % sequences.size()];
          Lanes::set(size, lane, own[std::min(k, own.size() - 1)]);
        }
        ++k;
        return size;
      });
  std::vector<Verdict> verdicts;
  for (int lane = 0; lane < Lanes::width; ++lane) {
    verdicts.push_back({Lanes::get(contraction, lane), Lanes::test(result.converged, lane),
                        Lanes::get(result.iterations, lane), Lanes::get(result.rate, lane),
                        Lanes::get(result.last_rate, lane)});
  }
  return verdicts;
}

template <int index>
void expect_independence() {
  // Done at once, done after two and four, diverging at once and after a while, too slow.
  const std::vector<std::vector<double>> sequences = {
      {1e-4, 5e-5, 1.0},     {1e-2, 1e-4, 2.0, 3.0},         {1.0, 4.0, 1e-2, 1e-5},   {1.0, 8.0, 64.0, 512.0},
      {1.0, 0.1, 0.01, 0.5}, {1.0, 0.9, 0.8, 0.7, 0.6, 0.5}, {1e-4, 1e-3, 1e-2, 1e-1}, {1.0, 1e-2, 1e-3, 1e-5}};
  const std::vector<Verdict> together = solve<index>(sequences);
  for (std::size_t lane = 0; lane < together.size(); ++lane) {
    EXPECT_EQ(together[lane], solve<index>({sequences[lane % sequences.size()]})[0]) << index << ", lane " << lane;
  }
}

TEST(NewtonIteration, DoesNotSeeItsNeighbours) {
  expect_independence<1>();
  expect_independence<3>();
}

// At index 3 the ratio of the first two corrections says nothing.
TEST(NewtonIteration, JudgesFromTheThirdCorrectionOnAtIndex3) {
  const std::vector<std::vector<double>> growing_once = {{1.0, 4.0, 1e-2, 1e-5}};
  EXPECT_FALSE(solve<1>(growing_once)[0].converged);
  EXPECT_TRUE(solve<3>(growing_once)[0].converged);
  EXPECT_FALSE(solve<3>({{1.0, 4.0, 16.0}})[0].converged);
}

// Multipliers have rounding errors that no iteration makes smaller.
TEST(NewtonIteration, EndsInRoundingErrorsAtIndexTwoAndThree) {
  const std::vector<std::vector<double>> noise = {{1.0, 0.1, 0.02, 0.009, 0.008, 0.009}};
  EXPECT_FALSE(solve<3>(noise)[0].converged);
  EXPECT_FALSE(solve<1>(noise, 0.01)[0].converged);
  for (const Verdict& verdict : {solve<2>(noise, 0.01)[0], solve<3>(noise, 0.01)[0]}) {
    EXPECT_TRUE(verdict.converged);
    EXPECT_EQ(verdict.iterations, 6.0);
    EXPECT_LT(verdict.rate, 0.9) << "the growth of rounding errors is no rate";
  }
  EXPECT_FALSE(solve<3>({{1.0, 0.1, 0.02, 0.015, 0.017}}, 0.01)[0].converged);
  // What falls slowly is no rounding error.
  const std::vector<std::vector<double>> slow = {
      {1.0, 0.1, 0.01, 7e-3, 5e-3, 3.5e-3, 2.5e-3, 1.7e-3, 1.2e-3, 8e-4, 5e-4, 3e-4}};
  EXPECT_EQ(solve<3>(slow, 0.01)[0].iterations, 11.0);
}

}  // namespace
}  // namespace manyfold
