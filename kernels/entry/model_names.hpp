#pragma once
// The names that a model gives: each is there, and differs from the others of its kind. Host side only.
#include "../model/system.hpp"
#include "text_builder.hpp"

namespace manyfold {

/// The names of one kind, each with the number of elements that it stands for.
struct NameOfModel {
  const char* name;
  int count;
};

constexpr bool is_empty(const char* name) {
  return name == nullptr || *name == '\0';
}

/// Is `a` before (-1) or after (1) `b` in the order of their letters, or the same (0)?
constexpr int compare(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a) ++b;
  return *a < *b ? -1 : *a > *b ? 1 : 0;
}

/// Have elements of both the same name? Names of arrays are followed by a number.
constexpr bool clash(const NameOfModel& a, const NameOfModel& b, TextBuilder& common) {
  for (int i = 1; i <= a.count; ++i) {
    TextBuilder of_a;
    of_a << a.name;
    if (a.count > 1) of_a << i;
    for (int k = 1; k <= b.count; ++k) {
      TextBuilder of_b;
      of_b << b.name;
      if (b.count > 1) of_b << k;
      if (!(of_a == of_b)) continue;
      common = of_a;
      return true;
    }
  }
  return false;
}

/// Sorts the names by their letters: by heap, since compilers count the operations of constant expressions.
template <int count>
constexpr void sort_names(NameOfModel (&names)[count]) {
  const auto sink = [&](int root, int size) {
    for (int child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && compare(names[child].name, names[child + 1].name) < 0) ++child;
      if (compare(names[root].name, names[child].name) >= 0) return;
      const NameOfModel other = names[root];
      names[root] = names[child];
      names[child] = other;
      root = child;
    }
  };
  for (int root = count / 2 - 1; root >= 0; --root) sink(root, count);
  for (int size = count - 1; size > 0; --size) {
    const NameOfModel other = names[0];
    names[0] = names[size];
    names[size] = other;
    sink(0, size);
  }
}

/// Says that two of the names are the same, if so.
template <int count>
constexpr TextBuilder duplicates_text(const char* kinds, NameOfModel (&names)[count]) {
  TextBuilder text;
  sort_names(names);
  for (int i = 0; i < count; ++i) {
    // Arrays against all, others against their neighbour.
    const bool is_array = names[i].count > 1;
    const int last = is_array || i + 2 > count ? count : i + 2;
    for (int k = is_array ? 0 : i + 1; k < last; ++k) {
      if (k == i || (!is_array && compare(names[i].name, names[k].name) != 0)) continue;
      TextBuilder common;
      if (!clash(names[k], names[i], common)) continue;
      return text << "two " << kinds << " have the name '" << common.letters << "': each needs its own";
    }
  }
  return text;
}

/// What is wrong with the names of one kind, of which one is a `kind` and several are `kinds`.
template <class Description, int count>
constexpr TextBuilder names_text(const char* kind, const char* kinds, const Description (&descriptions)[count]) {
  NameOfModel names[count] = {};
  TextBuilder text;
  for (int i = 0; i < count; ++i) {
    names[i] = {descriptions[i].name, 1};
    if constexpr (is_same<Description, const Variable> || is_same<Description, Variable>) {
      names[i].count = descriptions[i].count;
    }
    if (is_empty(names[i].name)) return text << kind << ' ' << i + 1 << " has no name: needs .name = ...";
    if (names[i].count < 1) {
      return text << kind << ' ' << names[i].name << " has a count below 1: needs at least 1 element";
    }
  }
  return duplicates_text(kinds, names);
}

/// Variables and observables share their names in results.
template <class Equations>
constexpr auto saved_names() {
  constexpr int variables = model_check::length(Equations::variables);
  struct {
    NameOfModel names[variables + System<Equations>::observables] = {};
  } result;
  int i = 0;
  for (const Variable& variable : Equations::variables) result.names[i++] = {variable.name, variable.count};
  for (const Observable& observable : Equations::observables) result.names[i++] = {observable.name, 1};
  return result;
}

template <class Equations>
constexpr TextBuilder wrong_names() {
  TextBuilder text = names_text("variable", "variables", Equations::variables);
  if constexpr (model_check::HasParameters<Equations>) {
    if (text.size == 0) text = names_text("parameter", "parameters", Equations::parameters);
  }
  if constexpr (model_check::HasEvents<Equations>) {
    if (text.size == 0) text = names_text("event", "events", Equations::events);
  }
  if constexpr (model_check::HasObservables<Equations>) {
    if (text.size == 0) text = names_text("observable", "observables", Equations::observables);
    if (text.size == 0) {
      auto saved = saved_names<Equations>();
      text = duplicates_text("variables or observables", saved.names);
    }
  }
  if constexpr (model_check::HasDiscrete<Equations>) {
    if (text.size == 0) text = names_text("discrete number", "discrete numbers", Equations::discrete);
  }
  return text;
}

}  // namespace manyfold
