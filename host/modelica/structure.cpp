#include "host/modelica/structure.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_map>

namespace manyfold::modelica {
namespace {

/// The equations of every unknown.
Incidence transpose(const Incidence& equations, int unknowns) {
  Incidence result(at(unknowns));
  for (std::size_t i = 0; i < equations.size(); ++i) {
    for (const int j : equations[i]) result[at(j)].push_back(static_cast<int>(i));
  }
  return result;
}

/// From the members of one side that have no partner along alternating paths: `own` and `others` are what is reached on
/// either side.
void reach(const Incidence& others_of, const std::vector<int>& partner, const std::vector<int>& partner_of_other,
           std::vector<int>& own, std::vector<int>& others) {
  std::vector<bool> seen(partner.size());
  std::vector<bool> other_seen(partner_of_other.size());
  std::vector<int> open;
  for (std::size_t i = 0; i < partner.size(); ++i) {
    if (partner[i] < 0) open.push_back(static_cast<int>(i));
  }
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (seen[at(i)]) continue;
    seen[at(i)] = true;
    own.push_back(i);
    for (const int j : others_of[at(i)]) {
      if (other_seen[at(j)]) continue;
      other_seen[at(j)] = true;
      others.push_back(j);
      if (partner_of_other[at(j)] >= 0) open.push_back(partner_of_other[at(j)]);
    }
  }
}

}  // namespace

Matching match(const Incidence& equations, int unknowns) {
  std::vector<int> all(at(unknowns));
  std::iota(all.begin(), all.end(), 0);
  return match(equations, unknowns, all);
}

Matching match(const Incidence& equations, int unknowns, const std::vector<int>& preference) {
  const Incidence rows = transpose(equations, unknowns);
  Matching result;
  result.unknown_of.assign(equations.size(), -1);
  result.equation_of.assign(at(unknowns), -1);
  std::vector<int> seen(equations.size(), -1);
  std::vector<int> from(equations.size(), -1);  // the unknown that reached an equation
  for (std::size_t round = 0; round < preference.size(); ++round) {
    // Breadth first from the unknown to an equation that is free.
    std::vector<int> open = {preference[round]};
    int free = -1;
    for (std::size_t k = 0; k < open.size() && free < 0; ++k) {
      for (const int i : rows[at(open[k])]) {
        if (seen[at(i)] == static_cast<int>(round)) continue;
        seen[at(i)] = static_cast<int>(round);
        from[at(i)] = open[k];
        if (result.unknown_of[at(i)] < 0) {
          free = i;
          break;
        }
        open.push_back(result.unknown_of[at(i)]);
      }
    }
    while (free >= 0) {
      const int j = from[at(free)];
      const int before = result.equation_of[at(j)];
      result.unknown_of[at(free)] = j;
      result.equation_of[at(j)] = free;
      free = before;
    }
  }
  return result;
}

Excess excess(const Incidence& equations, int unknowns, const Matching& matching) {
  const Incidence rows = transpose(equations, unknowns);
  Excess result;
  reach(equations, matching.unknown_of, matching.equation_of, result.equations, result.their_unknowns);
  reach(rows, matching.equation_of, matching.unknown_of, result.unknowns, result.their_equations);
  for (auto* list : {&result.equations, &result.their_unknowns, &result.unknowns, &result.their_equations}) {
    std::sort(list->begin(), list->end());
  }
  return result;
}

/// Tarjan's strongly connected components, SIAM J. Comput. 1 (1972), with a stack of its own: an equation comes after
/// those that its unknowns are matched to.
std::vector<std::vector<int>> blocks(const Incidence& equations, const Matching& matching) {
  const std::size_t n = equations.size();
  std::vector<std::vector<int>> result;
  std::vector<int> number(n, -1);
  std::vector<int> low(n, 0);
  std::vector<bool> on_stack(n);
  std::vector<int> stack;
  int next = 0;
  struct Visit {
    int equation;
    std::size_t edge;
  };
  for (std::size_t start = 0; start < n; ++start) {
    if (number[start] >= 0 || matching.unknown_of[start] < 0) continue;
    std::vector<Visit> visits = {{static_cast<int>(start), 0}};
    while (!visits.empty()) {
      const int i = visits.back().equation;
      const std::size_t edge = visits.back().edge++;
      if (edge == 0) {
        number[at(i)] = low[at(i)] = next++;
        stack.push_back(i);
        on_stack[at(i)] = true;
      }
      if (edge < equations[at(i)].size()) {
        const int j = equations[at(i)][edge];
        const int other = matching.equation_of[at(j)];
        if (other < 0 || other == i) continue;
        if (number[at(other)] < 0) {
          visits.push_back({other, 0});
        } else if (on_stack[at(other)]) {
          low[at(i)] = std::min(low[at(i)], number[at(other)]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) {
        const int parent = visits.back().equation;
        low[at(parent)] = std::min(low[at(parent)], low[at(i)]);
      }
      if (low[at(i)] != number[at(i)]) continue;
      std::vector<int> block;
      int member = -1;
      do {
        member = stack.back();
        stack.pop_back();
        on_stack[at(member)] = false;
        block.push_back(member);
      } while (member != i);
      std::sort(block.begin(), block.end());
      result.push_back(std::move(block));
    }
  }
  return result;
}

int SystemOffsets::freedoms() const {
  return std::accumulate(unknown.begin(), unknown.end(), 0) - std::accumulate(equation.begin(), equation.end(), 0);
}

int SystemOffsets::index() const {
  const int most = equation.empty() ? 0 : *std::max_element(equation.begin(), equation.end());
  const bool algebraic = std::find(unknown.begin(), unknown.end(), 0) != unknown.end();
  return most + (algebraic ? 1 : 0);
}

SystemOffsets find_system_offsets(const Signature& signature, int unknowns) {
  const std::size_t n = signature.size();
  SystemOffsets result;
  result.equation.assign(n, 0);
  result.unknown.assign(at(unknowns), 0);
  result.matching.unknown_of.assign(n, -1);
  result.matching.equation_of.assign(at(unknowns), -1);
  Incidence all(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (const SignatureEntry& entry : signature[i]) {
      all[i].push_back(entry.unknown);
      result.unknown[at(entry.unknown)] = std::max(result.unknown[at(entry.unknown)], entry.order);
    }
  }
  const Matching plain = match(all, unknowns);
  result.regular = static_cast<int>(n) == unknowns &&
                   std::find(plain.unknown_of.begin(), plain.unknown_of.end(), -1) == plain.unknown_of.end();
  if (!result.regular) return result;
  Matching& matching = result.matching;
  std::vector<int> stamp(at(unknowns), -1);
  std::vector<int> from(at(unknowns), -1);
  int round = 0;
  for (std::size_t start = 0; start < n; ++start) {
    for (;; ++round) {
      std::vector<int> reached = {static_cast<int>(start)};
      std::vector<int> reached_unknowns;
      int free = -1;
      for (std::size_t k = 0; k < reached.size() && free < 0; ++k) {
        const int i = reached[k];
        for (const SignatureEntry& entry : signature[at(i)]) {
          const int j = entry.unknown;
          if (stamp[at(j)] == round || entry.order + result.equation[at(i)] != result.unknown[at(j)]) continue;
          stamp[at(j)] = round;
          from[at(j)] = i;
          reached_unknowns.push_back(j);
          if (matching.equation_of[at(j)] < 0) {
            free = j;
            break;
          }
          reached.push_back(matching.equation_of[at(j)]);
        }
      }
      if (free < 0) {
        for (const int i : reached) ++result.equation[at(i)];
        for (const int j : reached_unknowns) ++result.unknown[at(j)];
        continue;
      }
      while (free >= 0) {
        const int i = from[at(free)];
        const int before = matching.unknown_of[at(i)];
        matching.unknown_of[at(i)] = free;
        matching.equation_of[at(free)] = i;
        free = before;
      }
      ++round;
      break;
    }
  }
  return result;
}

namespace {

/// The search for unknowns to guess, from which the equations give the others one by one.
class TearingSearch {
 public:
  TearingSearch(const std::vector<int>& equations, const std::vector<int>& unknowns, const Incidence& incidence,
                const std::function<Solvable(int, int)>& solvable, const std::function<int(int)>& weight)
      : unknowns_(unknowns), solvable_(solvable), weight_(weight) {
    const std::set<int> inside(unknowns.begin(), unknowns.end());
    for (const int i : equations) {
      for (const int j : incidence[at(i)]) {
        if (!inside.contains(j)) continue;
        open_[i].insert(j);
        equations_of_[j].push_back(i);
      }
      open_.try_emplace(i);
    }
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      key_of_[unknowns[k]] = {-score_of(unknowns[k]), static_cast<int>(k)};
      by_score_.insert(key_of_[unknowns[k]]);
    }
    for (const int i : equations) consider(i);
  }

  Tearing run() {
    // No equation gives these: they are guessed first, whatever else is.
    for (const int j : unknowns_) {
      const std::vector<int>& of_unknown = equations_of_[j];
      if (std::any_of(of_unknown.begin(), of_unknown.end(), [&](int i) { return solvable_(i, j) != Solvable::no; }))
        continue;
      guess(j);
    }
    while (!by_score_.empty()) {
      if (!ready_.empty()) {
        solve(*ready_.begin());
      } else {
        guess(unknowns_[at(by_score_.begin()->second)]);
      }
    }
    for (const auto& [i, rest] : open_) result_.residuals.push_back(i);
    return result_;
  }

 private:
  /// The best to guess is the unknown of most open equations; of equals, the one that makes most of them solvable.
  long score_of(int j) {
    long degree = 0;
    long helps = 0;
    for (const int i : equations_of_[j]) {
      const auto entry = open_.find(i);
      if (entry == open_.end()) continue;
      ++degree;
      if (entry->second.size() == 2) ++helps;
    }
    return static_cast<long>(weight_(j)) * 1'000'000 + helps * 1000 + degree;
  }

  void consider(int i) {
    const auto entry = open_.find(i);
    if (entry == open_.end() || entry->second.size() != 1) return;
    if (solvable_(i, *entry->second.begin()) != Solvable::no) ready_.insert(i);
  }

  void guess(int j) {
    result_.torn.push_back(j);
    settle(j);
  }

  /// Solves equation i for its unknown, or another one that no parameter makes unsolvable.
  void solve(int i) {
    const int j = *open_[i].begin();
    if (solvable_(i, j) != Solvable::always) {
      const std::vector<int>& all = equations_of_[j];
      const auto is_sure = [&](int k) { return ready_.contains(k) && solvable_(k, j) == Solvable::always; };
      if (const auto sure = std::find_if(all.begin(), all.end(), is_sure); sure != all.end()) i = *sure;
    }
    ready_.erase(i);
    open_.erase(i);
    result_.steps.push_back({i, j});
    settle(j);
  }

  /// Unknown j is known from here on.
  void settle(int j) {
    by_score_.erase(key_of_[j]);
    for (const int i : equations_of_[j]) {
      const auto entry = open_.find(i);
      if (entry == open_.end()) continue;
      entry->second.erase(j);
      ready_.erase(i);
      consider(i);
      if (entry->second.size() > 2) continue;
      for (const int other : entry->second) {
        if (by_score_.erase(key_of_[other]) == 0) continue;
        key_of_[other].first = -score_of(other);
        by_score_.insert(key_of_[other]);
      }
    }
  }

  const std::vector<int>& unknowns_;
  const std::function<Solvable(int, int)>& solvable_;
  const std::function<int(int)>& weight_;
  std::map<int, std::vector<int>> equations_of_;  ///< by unknown
  std::map<int, std::set<int>> open_;             ///< unknowns of an equation that gives none yet
  std::set<int> ready_;                           ///< equations with one unknown that they can be solved for
  std::map<int, std::pair<long, int>> key_of_;    ///< by unknown: less its score, and its place among equals
  std::set<std::pair<long, int>> by_score_;       ///< keys of those that are not known
  Tearing result_;
};

}  // namespace

Tearing tear(const std::vector<int>& equations, const std::vector<int>& unknowns, const Incidence& incidence,
             const std::function<Solvable(int, int)>& solvable, const std::function<int(int)>& weight) {
  return TearingSearch(equations, unknowns, incidence, solvable, weight).run();
}

}  // namespace manyfold::modelica
