#pragma once
// What a model does with the arrays it is given, and the names it gives: each of its functions is evaluated once, in a
// constant expression, in which the compiler refuses an index out of range and shows the line. Where that cannot be,
// for functions that are not constexpr, a guarded evaluation at run time says what it finds. Host side only.
#include <string>

#include "../algebra/sparsity.hpp"
#include "../lane/static_for.hpp"
#include "../model/system.hpp"

namespace manyfold {

/// A text, ended by 0, that a template can have as its argument, so that error messages of the compiler show it.
template <int Size>
struct Text {
  char letters[Size];
};

/// Composes a text in a constant expression.
struct TextBuilder {
  static constexpr int capacity = 400;
  char letters[capacity + 1] = {};  ///< ends with 0
  int size = 0;

  constexpr TextBuilder& operator<<(char letter) {
    if (size < capacity) letters[size++] = letter;
    return *this;
  }
  constexpr TextBuilder& operator<<(const char* text) {
    for (; *text != '\0'; ++text) *this << *text;
    return *this;
  }
  constexpr TextBuilder& operator<<(int number) {
    if (number >= 10) *this << number / 10;
    return *this << static_cast<char>('0' + number % 10);
  }
  constexpr bool operator==(const TextBuilder& other) const {
    if (size != other.size) return false;
    for (int i = 0; i < size; ++i) {
      if (letters[i] != other.letters[i]) return false;
    }
    return true;
  }
  std::string string() const { return {letters, static_cast<std::size_t>(size)}; }
  template <int Size>
  constexpr Text<Size> text() const {
    Text<Size> result{};
    for (int i = 0; i < Size; ++i) result.letters[i] = letters[i];
    return result;
  }
};

/// Has no definition: what needs one fails to compile, with the text in the message.
template <Text text>
struct WrongModel;

/// What a guarded evaluation of a function of a model knows of a number.
enum Origin { unwritten, absent, beyond_y, beyond_dy, beyond_p, beyond_written, origins };
using Traced = Dependency<origins>;

constexpr Traced traced(Origin origin) {
  Traced result;
  result.on.insert(origin);
  return result;
}

// Arrays that functions of models are evaluated with.

template <class Number, int size>
struct PlainArray {
  Number numbers[size] = {};
  constexpr PlainArray(Origin, const Number& value) {
    for (Number& number : numbers) number = value;
  }
  constexpr auto& array() { return numbers; }
  constexpr bool intact() const { return true; }
};
/// Of the right size: beyond it, constant evaluation ends with an error.
template <class Number, int n>
struct ExactArray : PlainArray<Number, (n > 0 ? n : 1)> {
  using PlainArray<Number, (n > 0 ? n : 1)>::PlainArray;
};
/// With room beyond: a function that can be evaluated with these alone has an index out of range.
template <class Number, int n>
struct RoomyArray : PlainArray<Number, n + (n > 64 ? n : 64)> {
  using PlainArray<Number, n + (n > 64 ? n : 64)>::PlainArray;
};

/// Between guards that tell what was read or written there.
template <class Number, int n>
class GuardedArray {
 public:
  GuardedArray(Origin beyond, const Number& value) : beyond_(beyond) {
    for (int i = 0; i < size; ++i) numbers_[i] = guards(i) ? traced(beyond) : value;
  }
  auto& array() { return reinterpret_cast<Number(&)[n > 0 ? n : 1]>(numbers_[guard]); }
  bool intact() const {
    for (int i = 0; i < size; ++i) {
      if (guards(i) && !numbers_[i].on.contains(beyond_)) return false;
    }
    return true;
  }

 private:
  static constexpr int guard = n > 64 ? n : 64;
  static constexpr int size = 2 * guard + (n > 0 ? n : 1);
  static constexpr bool guards(int i) { return i < guard || i >= size - guard; }
  Origin beyond_;
  Number numbers_[size];
};
/// Plain numbers cannot tell.
template <int n>
struct GuardedArray<double, n> : ExactArray<double, n> {
  using ExactArray<double, n>::ExactArray;
};

/// What is wrong with one function of a model.
struct Misuse {
  int number = 0;  ///< of the first wrong number that it writes, from 1; -1: it wrote beyond an array
  Origin origin = unwritten;
};

/// The functions of a model, evaluated once each with arrays of such a kind. A function is left out where the model has
/// none, or none that takes such arrays.
template <class Equations, template <class, int> class ArrayOf>
struct ModelUse {
  using S = System<Equations>;
  static constexpr int n = S::n;
  template <int count>
  using Array = ArrayOf<Traced, count>;

  /// Stands for a matrix: rows and columns are indices of arrays too.
  struct Matrix {
    Array<n> index{beyond_written, Traced()};
    Traced entry;
    constexpr Traced& operator()(int i, int j) {
      index.array()[i] = Traced();
      index.array()[j] = Traced();
      return entry;
    }
  };

  struct Arguments {
    Traced t;
    Array<n> y{beyond_y, Traced()};
    Array<n> dy{beyond_dy, Traced()};
    Array<S::constants> p{beyond_p, S::constants > 0 ? Traced() : traced(absent)};
  };

  /// The first of `count` numbers that has no value, or none that the function may use. `needed(i)`: must be written.
  template <int count>
  static constexpr Misuse first_wrong(Array<count>& written, auto&& needed) {
    if (!written.intact()) return {-1, beyond_written};
    for (int i = 0; i < count; ++i) {
      const int origin = written.array()[i].on.next(0);
      if (origin >= 0 && (origin != unwritten || needed(i))) return {i + 1, static_cast<Origin>(origin)};
    }
    return {};
  }
  static constexpr bool every(int) { return true; }

  static constexpr Misuse equations() {
    Arguments given;
    Array<n> F{beyond_written, traced(unwritten)};
    if constexpr (S::mass_form) {
      if constexpr (requires { Equations::rhs(given.t, given.y.array(), given.p.array(), F.array()); }) {
        Equations::rhs(given.t, given.y.array(), given.p.array(), F.array());
        return first_wrong<n>(F, every);
      }
    } else if constexpr (requires {
                           Equations::residual(given.t, given.y.array(), given.dy.array(), given.p.array(), F.array());
                         }) {
      Equations::residual(given.t, given.y.array(), given.dy.array(), given.p.array(), F.array());
      return first_wrong<n>(F, every);
    }
    return {};
  }

  static constexpr Misuse mass_matrix() {
    Arguments given;
    Matrix M;
    if constexpr (requires { Equations::mass_matrix(given.p.array(), M); }) Equations::mass_matrix(given.p.array(), M);
    return M.index.intact() ? Misuse() : Misuse{-1, beyond_written};
  }

  static constexpr Misuse jacobian() {
    Arguments given;
    Matrix J;
    Matrix M;
    if constexpr (requires { Equations::jacobian(given.t, given.y.array(), given.p.array(), J); }) {
      Equations::jacobian(given.t, given.y.array(), given.p.array(), J);
    } else if constexpr (requires {
                           Equations::jacobian(given.t, given.y.array(), given.dy.array(), given.p.array(), J, M);
                         }) {
      Equations::jacobian(given.t, given.y.array(), given.dy.array(), given.p.array(), J, M);
    }
    return J.index.intact() && M.index.intact() ? Misuse() : Misuse{-1, beyond_written};
  }

  static constexpr Misuse derive() {
    Array<S::constants> p{beyond_written, Traced()};
    if constexpr (S::first_discrete > S::parameters) {
      if constexpr (requires { Equations::derive(p.array()); }) {
        for (int i = S::parameters; i < S::constants; ++i) p.array()[i] = traced(unwritten);
        Equations::derive(p.array());
        return first_wrong<S::constants>(p, [](int i) { return i < S::first_discrete; });
      }
    }
    return {};
  }

  static constexpr Misuse invariant() {
    Arguments given;
    Array<S::invariants> g{beyond_written, traced(unwritten)};
    if constexpr (requires { Equations::invariant(given.t, given.y.array(), given.p.array(), g.array()); }) {
      Equations::invariant(given.t, given.y.array(), given.p.array(), g.array());
      return first_wrong<S::invariants>(g, every);
    }
    return {};
  }

  static constexpr Misuse root() {
    Arguments given;
    Array<S::events> g{beyond_written, traced(unwritten)};
    if constexpr (S::has_state_events && requires {
                    Equations::root(given.t, given.y.array(), given.dy.array(), given.p.array(), g.array());
                  }) {
      Equations::root(given.t, given.y.array(), given.dy.array(), given.p.array(), g.array());
      return first_wrong<S::events>(g, [](int i) { return S::event(i).scheduled == 0; });
    }
    return {};
  }

  static constexpr Misuse event_times() {
    Arguments given;
    Array<S::scheduled_times> times{beyond_written, traced(unwritten)};
    if constexpr (requires { Equations::event_times(given.p.array(), times.array()); }) {
      Equations::event_times(given.p.array(), times.array());
      return first_wrong<S::scheduled_times>(times, every);
    }
    return {};
  }

  static constexpr Misuse action() {
    Arguments given;
    Array<S::discrete> d{beyond_written, Traced()};
    Array<S::events> fires{beyond_written, Traced()};
    Traced unsettled;
    if constexpr (requires {
                    Equations::actions(fires.array(), given.t, given.y.array(), given.dy.array(), given.p.array(),
                                       d.array(), unsettled);
                  }) {
      Equations::actions(fires.array(), given.t, given.y.array(), given.dy.array(), given.p.array(), d.array(),
                         unsettled);
    }
    const auto act = [&](auto k) {
      if constexpr (requires {
                      Equations::action(k, given.t, given.y.array(), given.dy.array(), given.p.array(), d.array());
                    }) {
        Equations::action(k, given.t, given.y.array(), given.dy.array(), given.p.array(), d.array());
      }
    };
    [&]<int... k>(Sequence<k...>) {
      (act(Constant<k>{}), ...);
    }
    (CountTo<S::events>{});
    if (!given.y.intact()) return {-1, beyond_written};
    return first_wrong<S::discrete>(d, every);
  }

  static constexpr Misuse initial_discrete() {
    Arguments given;
    Array<S::discrete> d{beyond_written, Traced()};
    if constexpr (requires { Equations::initial_discrete(given.y.array(), given.p.array(), d.array()); }) {
      Equations::initial_discrete(given.y.array(), given.p.array(), d.array());
    }
    return first_wrong<S::discrete>(d, every);
  }

  /// With plain numbers, those of the model: a model may do with them what it cannot do with others.
  static constexpr Misuse initial() {
    ArrayOf<double, n> y{beyond_written, 0.0};
    ArrayOf<double, S::constants> p{beyond_p, 0.0};
    if constexpr (requires { Equations::initial(p.array(), y.array()); }) {
      int i = 0;
      if constexpr (model_check::HasParameters<Equations>) {
        for (const Parameter& parameter : Equations::parameters) p.array()[i++] = parameter.value;
      }
      if constexpr (requires { Equations::derive(p.array()); }) Equations::derive(p.array());
      i = 0;
      for (const Variable& variable : Equations::variables) {
        for (int k = 0; k < variable.count; ++k) y.array()[i++] = variable.initial;
      }
      Equations::initial(p.array(), y.array());
    }
    return {};
  }

  static constexpr Misuse observe() {
    Arguments given;
    Array<S::observables> o{beyond_written, traced(unwritten)};
    if constexpr (requires {
                    Equations::observe(given.t, given.y.array(), given.dy.array(), given.p.array(), o.array());
                  }) {
      Equations::observe(given.t, given.y.array(), given.dy.array(), given.p.array(), o.array());
      return first_wrong<S::observables>(o, every);
    }
    return {};
  }

  static constexpr int functions = 11;
  /// Function number `k`.
  template <int k>
  static constexpr Misuse evaluate() {
    constexpr Misuse (*all[functions])() = {&equations,   &mass_matrix, &jacobian,         &derive,  &invariant, &root,
                                            &event_times, &action,      &initial_discrete, &initial, &observe};
    return all[k]();
  }
};

/// How messages call a function and what it writes.
struct FunctionWords {
  const char* name;
  const char* written;
  int count;
};

/// Of the functions of `ModelUse`, in their order.
template <class Equations>
constexpr FunctionWords function_words(int k) {
  using S = System<Equations>;
  const FunctionWords all[] = {{S::mass_form ? "rhs" : "residual", S::mass_form ? "f" : "F", S::n},
                               {"mass_matrix", "M", S::n},
                               {"jacobian", "J", S::n},
                               {"derive", "p", S::constants},
                               {"invariant", "g", S::invariants},
                               {"root", "g", S::events},
                               {"event_times", "times", S::scheduled_times},
                               {"action", "d", S::discrete},
                               {"initial_discrete", "d", S::discrete},
                               {"initial", "y", S::n},
                               {"observe", "o", S::observables}};
  return all[k];
}

/// What is wrong with a function of a model, in words; empty if nothing is.
constexpr TextBuilder misuse_text(const Misuse& misuse, const FunctionWords& function, bool equations) {
  TextBuilder text;
  if (misuse.number == 0) return text;
  if (misuse.number < 0) {
    return text << function.name << " writes beyond " << function.written << ", which has " << function.count
                << (function.count == 1 ? " number" : " numbers");
  }
  if (equations) text << "equation " << misuse.number << ": ";
  text << function.written << '[' << misuse.number - 1 << "] in " << function.name;
  switch (misuse.origin) {
    case unwritten:
      return text << " is never written, or used before it is: needs " << function.written << '[' << misuse.number - 1
                  << "] = ...";
    case absent:
      return text << " uses p, but the model has no parameters";
    case beyond_y:
      return text << " uses an index out of range of y";
    case beyond_dy:
      return text << " uses an index out of range of dy";
    default:
      return text << " uses an index out of range of p";
  }
}

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

/// Can function `k` be evaluated in a constant expression?
template <class Use, int k>
inline constexpr bool is_constant = requires {
  typename Constant<(Use::template evaluate<k>(), 0)>;
};

/// Fails to compile with the text, unless there is none. Of clang's messages the text is no part: there it is returned,
/// and said at run time.
template <TextBuilder text>
TextBuilder refuse() {
#if !defined(__clang__)
  if constexpr (text.size > 0) static_assert(sizeof(WrongModel<text.template text<text.size + 1>()>) > 0);
#endif
  return text;
}

template <class Equations, int k>
TextBuilder check_function() {
  using Exact = ModelUse<Equations, ExactArray>;
  constexpr FunctionWords words = function_words<Equations>(k);
  if constexpr (is_constant<Exact, k>) {
    return refuse<misuse_text(Exact::template evaluate<k>(), words, k == 0)>();
  } else if constexpr (is_constant<ModelUse<Equations, RoomyArray>, k>) {
    // The compiler shows the index that is out of range.
    constexpr Misuse out_of_range = Exact::template evaluate<k>();
    return misuse_text(out_of_range, words, k == 0);
  } else {
    return misuse_text(ModelUse<Equations, GuardedArray>::template evaluate<k>(), words, k == 0);
  }
}

/// What is wrong with the model; empty if nothing is. Most of it does not compile.
template <class Equations>
std::string wrong_with_model() {
  TextBuilder text = refuse<wrong_names<Equations>()>();
  const auto check = [&](auto k) {
    if (text.size == 0) text = check_function<Equations, k>();
  };
  [&]<int... k>(Sequence<k...>) {
    (check(Constant<k>{}), ...);
  }
  (CountTo<ModelUse<Equations, ExactArray>::functions>{});
  return text.string();
}

}  // namespace manyfold
