#pragma once
// What a model does with the arrays it is given: each of its functions is evaluated once, in a constant expression, in
// which the compiler refuses an index out of range and shows the line. Where that cannot be, for functions that are not
// constexpr, a guarded evaluation at run time says what it finds. Host side only.
#include <string>

#include "../algebra/sparsity.hpp"
#include "../lane/static_for.hpp"
#include "../model/system.hpp"
#include "model_names.hpp"
#include "text_builder.hpp"

namespace manyfold {

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
