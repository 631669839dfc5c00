#include "host/io/kept_numbers.hpp"

#include <algorithm>
#include <utility>

#include "kernels/statistics/ranks.hpp"

namespace manyfold {
namespace {

/// Keys with the same leading bits, of which some are asked for.
struct Branch {
  std::uint64_t leading = 0;
  std::vector<std::size_t> places;  // in `Ranks::ranks`
  std::vector<std::size_t> ranks;   // of the same, counted from the smallest of these keys
};

/// How far the search in one column has come.
struct Search {
  int shift = -1;  // bits below the digit that comes next; negative: the search is over
  std::vector<Branch> branches;
};

/// Begins with the digit where the smallest and the largest number differ; what is above it all have in common.
Search begin_search(const KeptNumbers::Ranks& column) {
  Search search;
  const std::uint64_t differing = key_of(column.min) ^ key_of(column.max);
  if (column.ranks.empty() || differing == 0) return search;
  search.shift = 64 - bits_of_digit;
  while (search.shift > 0 && leading_bits(differing, search.shift - bits_of_digit) == 0) search.shift -= bits_of_digit;
  Branch branch{leading_bits(key_of(column.min), search.shift), {}, column.ranks};
  for (std::size_t k = 0; k < column.ranks.size(); ++k) branch.places.push_back(k);
  search.branches.push_back(std::move(branch));
  return search;
}

/// Divides `branch` by its next digit, whose values occur as often as `counts` says.
void divide(const Branch& branch, const std::int64_t* counts, std::vector<Branch>& branches) {
  std::size_t below = 0;
  std::size_t next = 0;
  for (int digit = 0; digit < digit_values; ++digit) {
    const auto count = static_cast<std::size_t>(counts[digit]);
    Branch part{branch.leading << bits_of_digit | static_cast<std::uint64_t>(digit), {}, {}};
    for (; next < branch.ranks.size() && branch.ranks[next] < below + count; ++next) {
      part.places.push_back(branch.places[next]);
      part.ranks.push_back(branch.ranks[next] - below);
    }
    below += count;
    if (!part.ranks.empty()) branches.push_back(std::move(part));
  }
}

}  // namespace

void KeptNumbers::add(const std::shared_ptr<KeptColumns>& columns) {
  if (columns == nullptr || std::find(parts_.begin(), parts_.end(), columns) != parts_.end()) return;
  parts_.push_back(columns);
}

std::vector<std::int64_t> KeptNumbers::counts(const auto& question, std::size_t size) const {
  std::vector<std::int64_t> result(size);
  for (const auto& part : parts_) part->ask(question);
  for (const auto& part : parts_) part->answer(result);
  return result;
}

std::vector<std::vector<double>> KeptNumbers::of_ranks(std::span<const Ranks> columns) const {
  std::vector<std::vector<double>> found;
  std::vector<Search> searches;
  for (const Ranks& column : columns) {
    found.emplace_back(column.ranks.size(), column.min + 0.0);
    searches.push_back(begin_search(column));
  }
  while (true) {
    DigitQuestion question;
    for (const Search& search : searches) {
      question.first.push_back(static_cast<int>(question.leading.size()));
      question.shifts.push_back(std::max(search.shift, 0));
      for (const Branch& branch : search.branches) question.leading.push_back(branch.leading);
    }
    if (question.leading.empty()) return found;
    question.first.push_back(static_cast<int>(question.leading.size()));
    const std::vector<std::int64_t> all = counts(question, question.leading.size() * digit_values);
    const std::int64_t* of_branch = all.data();
    for (std::size_t c = 0; c < searches.size(); ++c) {
      Search& search = searches[c];
      std::vector<Branch> branches;
      for (const Branch& branch : search.branches) {
        divide(branch, of_branch, branches);
        of_branch += digit_values;
      }
      search.branches = std::move(branches);
      search.shift -= bits_of_digit;
      if (search.shift >= 0) continue;
      for (const Branch& branch : std::exchange(search.branches, {})) {
        for (const std::size_t place : branch.places) found[c][place] = number_of_key(branch.leading);
      }
    }
  }
}

std::vector<std::vector<std::int64_t>> KeptNumbers::in_bins(std::span<const std::vector<double>> edges) const {
  BinQuestion question;
  for (const std::vector<double>& of_column : edges) {
    question.first.push_back(static_cast<int>(question.edges.size()));
    question.edges.insert(question.edges.end(), of_column.begin(), of_column.end());
  }
  question.first.push_back(static_cast<int>(question.edges.size()));
  const std::vector<std::int64_t> all = counts(question, question.edges.size() + edges.size());
  std::vector<std::vector<std::int64_t>> result;
  auto next = all.begin();
  for (const std::vector<double>& of_column : edges) {
    const auto end = next + std::ssize(of_column) + 1;
    result.emplace_back(next, end);
    next = end;
  }
  return result;
}

}  // namespace manyfold
