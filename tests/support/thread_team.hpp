#pragma once
// A team whose threads are those of the processor: what a tile is on a GPU, run truly concurrently.
#include <barrier>
#include <thread>
#include <vector>

#include "kernels/lane/team.hpp"

namespace manyfold::test {

template <int size_>
class ThreadTeam {
 public:
  static constexpr int size = size_;

  /// What the threads of a team have in common.
  struct Meeting {
    std::barrier<> barrier{size};
    double value[size];
    int index[size];
    int word = 0;
  };

  ThreadTeam() = default;  // trivial, as what a method keeps between attempts has to be
  ThreadTeam(Meeting& meeting, int rank) : meeting_(&meeting), rank_(rank) {}

  int rank() const { return rank_; }
  void synchronize() const { meeting_->barrier.arrive_and_wait(); }
  int broadcast(int value) const {
    if (rank_ == 0) meeting_->word = value;
    synchronize();
    const int result = meeting_->word;
    synchronize();
    return result;
  }
  void largest(double& value, int& index) const {
    meeting_->value[rank_] = value;
    meeting_->index[rank_] = index;
    synchronize();
    for (int k = 0; k < size; ++k) {
      const double other = meeting_->value[k];
      if (other > value || (other == value && meeting_->index[k] < index)) {
        value = other;
        index = meeting_->index[k];
      }
    }
    synchronize();
  }

 private:
  Meeting* meeting_;
  int rank_;
};

/// body(team), run by the threads of `teams` teams at once.
template <int size>
void run_teams(int teams, auto&& body) {
  std::vector<typename ThreadTeam<size>::Meeting> meetings(static_cast<std::size_t>(teams));
  std::vector<std::jthread> threads;
  for (int k = 0; k < teams * size; ++k) {
    threads.emplace_back(
        [&, k] { body(k / size, ThreadTeam<size>(meetings[static_cast<std::size_t>(k / size)], k % size)); });
  }
}

}  // namespace manyfold::test
