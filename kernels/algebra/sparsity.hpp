#pragma once
// The sparsity pattern of a model, found at compile time: its equations are evaluated once, in a constant expression,
// with numbers that remember only which unknowns they depend on.
#include "traced_number.hpp"

namespace manyfold {

/// A set of small integers, usable in constant expressions.
template <int Size>
struct IndexSet {
  static constexpr int word_bits = 64;
  static constexpr int words = (Size + word_bits - 1) / word_bits;
  unsigned long long word[words] = {};

  constexpr void insert(int i) { word[i / word_bits] |= 1ULL << (i % word_bits); }
  constexpr void erase(int i) { word[i / word_bits] &= ~(1ULL << (i % word_bits)); }
  constexpr bool contains(int i) const { return (word[i / word_bits] >> (i % word_bits)) & 1ULL; }
  constexpr bool intersects(const IndexSet& other) const {
    for (int k = 0; k < words; ++k) {
      if ((word[k] & other.word[k]) != 0) return true;
    }
    return false;
  }
  constexpr IndexSet& operator|=(const IndexSet& other) {
    for (int k = 0; k < words; ++k) word[k] |= other.word[k];
    return *this;
  }
  constexpr IndexSet intersection(const IndexSet& other) const {
    IndexSet result;
    for (int k = 0; k < words; ++k) result.word[k] = word[k] & other.word[k];
    return result;
  }
  constexpr int size() const { return common(*this); }
  /// The least element that is at least i; -1: there is none. The set's elements in order:
  ///   for (int i = set.next(0); i >= 0; i = set.next(i + 1))
  constexpr int next(int i) const {
    for (int k = i / word_bits; k < words; ++k, i = k * word_bits) {
      unsigned long long rest = word[k] >> (i % word_bits);
      if (rest == 0) continue;
      for (int half = word_bits / 2; half > 0; half /= 2) {
        if ((rest & ((1ULL << half) - 1)) != 0) continue;
        rest >>= half;
        i += half;
      }
      return i;
    }
    return -1;
  }
  /// Number of elements in both sets.
  constexpr int common(const IndexSet& other) const {
    int total = 0;
    for (int k = 0; k < words; ++k) {
      // Pairs of bits, then fours and eights, hold how many of theirs were set.
      unsigned long long bits = word[k] & other.word[k];
      bits -= (bits >> 1) & 0x5555555555555555ULL;
      bits = (bits & 0x3333333333333333ULL) + ((bits >> 2) & 0x3333333333333333ULL);
      bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
      total += static_cast<int>((bits * 0x0101010101010101ULL) >> 56);
    }
    return total;
  }
};

/// A number known only by the unknowns it depends on.
template <int Size>
struct Dependency : TracedNumber<Dependency<Size>> {
  IndexSet<Size> on = {};

  constexpr Dependency() = default;
  constexpr Dependency(const Dependency&) = default;
  /// A call, so that compilers show where a model assigns beyond an array.
  constexpr Dependency& operator=(const Dependency& other) {
    on = other.on;
    return *this;
  }
  template <class Number>
  requires(__is_constructible(double, Number)) constexpr Dependency(Number) {}

  static constexpr Dependency sum(const Dependency& a, const Dependency& b) {
    Dependency result = a;
    result.on |= b.on;
    return result;
  }
  static constexpr Dependency product(const Dependency& a, const Dependency& b) { return sum(a, b); }
  static constexpr Dependency quotient(const Dependency& a, const Dependency& b) { return sum(a, b); }
  static constexpr Dependency function(const Dependency& a, const Dependency& b) { return sum(a, b); }
  // Masks carry the dependence on to what they select.
  static constexpr Dependency choice(const Dependency& mask, const Dependency& a, const Dependency& b) {
    return sum(mask, sum(a, b));
  }
};

/// The structural nonzeros of an n x n matrix, by rows, and where each is stored.
template <int n>
struct Pattern {
  IndexSet<n> row[n] = {};

  static constexpr Pattern dense() {
    Pattern result;
    for (int j = 0; j < n; ++j) result.row[0].insert(j);
    for (int i = 1; i < n; ++i) result.row[i] = result.row[0];
    return result;
  }
  constexpr bool contains(int i, int j) const { return row[i].contains(j); }
  constexpr void insert(int i, int j) { row[i].insert(j); }
  constexpr int size() const {
    int total = 0;
    for (int i = 0; i < n; ++i) total += row[i].size();
    return total;
  }
  constexpr bool full() const { return size() == n * n; }
  constexpr Pattern transposed() const {
    Pattern result;
    for (int i = 0; i < n; ++i) {
      for (int j = row[i].next(0); j >= 0; j = row[i].next(j + 1)) result.insert(j, i);
    }
    return result;
  }
  friend constexpr Pattern operator|(const Pattern& a, const Pattern& b) {
    Pattern result = a;
    for (int i = 0; i < n; ++i) result.row[i] |= b.row[i];
    return result;
  }
};

/// Entries that are listed one by one at most. Larger patterns are taken for full ones, whose entries need no list.
inline constexpr int most_listed_entries = 32767;

/// The nonzeros of a pattern in row order: entry k stands at (row[k], column[k]).
template <int n, int Count>
struct Entries {
  static constexpr int size = Count;
  /// Beyond, a table of all n^2 places would be long, and rows are short beside it.
  static constexpr int table_size = n <= 64 ? n : 1;
  short row[Count > 0 ? Count : 1] = {};
  short column[Count > 0 ? Count : 1] = {};
  short begin[n + 1] = {};  ///< of row i among the entries
  short table[table_size][table_size] = {};

  /// Index of entry (i, j), or -1 for a structural zero.
  constexpr int slot(int i, int j) const {
    if constexpr (table_size == n) {
      return table[i][j];
    } else {
      for (int k = begin[i]; k < begin[i + 1]; ++k) {
        if (column[k] == j) return k;
      }
      return -1;
    }
  }
};

/// Those of a full pattern.
template <int n, int Count>
requires(Count > most_listed_entries) struct Entries<n, Count> {
  static constexpr int size = Count;
  static_assert(Count == n * n, "manyfold: more than 32767 derivatives of variables in the equations");

  struct Row {
    constexpr int operator[](int k) const { return k / n; }
  };
  struct Column {
    constexpr int operator[](int k) const { return k % n; }
  };
  struct Begin {
    constexpr int operator[](int i) const { return i * n; }
  };
  static constexpr Row row{};
  static constexpr Column column{};
  static constexpr Begin begin{};

  constexpr int slot(int i, int j) const { return i * n + j; }
};

template <int Count, int n>
requires(Count > most_listed_entries) constexpr Entries<n, Count> entries_of(const Pattern<n>&) {
  return {};
}

template <int Count, int n>
requires(Count <= most_listed_entries) constexpr Entries<n, Count> entries_of(const Pattern<n>& pattern) {
  Entries<n, Count> result;
  constexpr int table_size = Entries<n, Count>::table_size;
  for (int i = 0; i < table_size; ++i) {
    for (int j = 0; j < table_size; ++j) result.table[i][j] = -1;
  }
  int k = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = pattern.row[i].next(0); j >= 0; j = pattern.row[i].next(j + 1)) {
      result.row[k] = static_cast<short>(i);
      result.column[k] = static_cast<short>(j);
      if constexpr (table_size == n) result.table[i][j] = static_cast<short>(k);
      ++k;
    }
    result.begin[i + 1] = static_cast<short>(k);
  }
  return result;
}

/// Where the rows begin among entries in row order: row i has the entries of_row[i] ... of_row[i + 1] - 1.
template <int n>
struct RowBegins {
  int of_row[n + 1] = {};
};

template <int n, int Count>
constexpr RowBegins<n> row_begins(const Entries<n, Count>& entries) {
  RowBegins<n> begin;
  for (int i = 0; i <= n; ++i) begin.of_row[i] = entries.begin[i];
  return begin;
}

/// Are n x n matrices on a pattern whose factorisation takes `work` operations sparse ones to a GPU? If one thread is
/// done sooner than each of 32 that share the n^3/3 of a full matrix. Small matrices never are: full ones of at most 32
/// rows are what batched routines are best at.
constexpr bool is_sparse(int n, long work) {
  return n > 32 && work < static_cast<long>(n) * n * n / (3 * 32);
}

/// Columns grouped so that no two of a group meet in a row: one directional derivative per group gives them all.
/// Curtis, Powell & Reid, J. Inst. Maths Applics 13 (1974).
template <int n>
struct ColumnGroups {
  int count = 0;
  short group[n] = {};
};

template <int n>
constexpr ColumnGroups<n> group_columns(const Pattern<n>& pattern) {
  ColumnGroups<n> result;
  if (pattern.full()) {
    result.count = n;
    for (int j = 0; j < n; ++j) result.group[j] = static_cast<short>(j);
    return result;
  }
  const Pattern<n> columns = pattern.transposed();
  IndexSet<n> taken[n] = {};
  for (int j = 0; j < n; ++j) {
    int g = 0;
    while (taken[g].intersects(columns.row[j])) ++g;
    taken[g] |= columns.row[j];
    result.group[j] = static_cast<short>(g);
    if (g + 1 > result.count) result.count = g + 1;
  }
  return result;
}

}  // namespace manyfold
