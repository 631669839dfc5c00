#pragma once
// What a model is: a struct that names its variables and parameters and writes down its equations once, for every kind
// of number they are evaluated with (doubles, SIMD packs, dual numbers, GPU threads).
//
//   struct Decay {
//     static constexpr const char* name = "decay";
//     static constexpr double t_span[] = {0.0, 1.0};
//     static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0}};
//     static constexpr manyfold::Parameter parameters[] = {{.name = "k", .unit = "1/s", .value = 2.0}};
//     static constexpr void residual(auto, const auto& y, const auto& dy, const auto& p, auto& F) {
//       F[0] = dy[0] + p[0] * y[0];
//     }
//   };
//   MANYFOLD_MODEL(Decay)
//
// Equations, one of
//   residual(t, y, dy, p, F)  F(t, y, y', p) = 0, one F[i] per variable
//   rhs(t, y, p, f)           M y' = f(t, y, p); M is 1 for differential and 0 for algebraic variables, or
//   mass_matrix(p, M)         writes it: M(i, j) = value; entries not written are zero.
// Optional
//   jacobian(t, y, dy, p, J, M)  for `residual`: J(i, j) = dF_i/dy_j and M(i, j) = dF_i/dy'_j
//   jacobian(t, y, p, J)         for `rhs`: J(i, j) = df_i/dy_j
//   initial(p, y)                initial values that depend on parameters; they replace `Variable::initial`. `y` has
//                                what is set, elsewhere `Variable::initial`. Values of
//                                differential variables of index 2 or 3 must satisfy the constraints and what
//                                differentiating them yields, unless Variable::given says that they are guesses
//   derived, derive(p)           `derived` further numbers per instance, p[number of parameters], ..., from
//                                the parameters, computed once and for all (reciprocals, conductances)
//   equations                    names of the equations, one each, for messages: `const char* equations[]`
//   singular_mass_matrix = true  when algebraic relations hide in combinations of rows, as in circuits with capacitors
//                                between nodes, so that no single variable is algebraic
//   invariants                   how many functions of t, y, p the model knows that vanish along every solution, and
//   invariant(t, y, p, g)        those: g[i], i < invariants. Projection keeps them, beside the constraints
//                                of equations of index 2 and 3, which it finds itself
//   projection = true            every step is projected, whatever the options say: of equations whose index was
//                                lowered by differentiation, `invariant` has what was differentiated
//   observables                  further numbers that follow from the solution, saved and summarised like variables,
//   and observe(t, y, dy, p, o)  those: o[i]. They are computed where output is saved, at no cost to the integration;
//                                y' between steps is that of the dense output, one order less accurate than y
//   operations                   how many the equations have, about; `manyfold compile` writes it. Many make kernels
//                                that compile faster and evaluate Jacobians in more passes
//   stage_unknowns               inline integration, for diagonally implicit methods; `manyfold compile` writes it. How
//                                many unknowns z are left of a stage y = base + gamma_h y', and
//   stage(t, gamma_h, over_gamma_h, constants, terms, base, offset, z, p, y, r)
//                                y of the stage for given z, and their residuals r. The right-hand sides of algebraic
//                                equations i are to be -offset[i]
//   stage_guess(t, over_gamma_h, base, y, p, z)
//                                z of a given y; if there are any
//   stage_constant_count, stage_constants(gamma_h, over_gamma_h, p, constants)
//                                numbers that all stages of a step share
//   stage_term_count, stage_terms(t, gamma_h, over_gamma_h, constants, base, p, terms)
//                                numbers that all iterations of a stage share
//   description, time_unit, structural
//   caution                      what users of the model are warned of at every run
// Events, all optional, see docs/events.md
//   events                       named changes: where a root function crosses zero, or at scheduled times
//   root(t, y, dy, p, g)         g[i] of every event i that is not scheduled
//   sides(p, side)               side[i] 1 or -1 where the discrete state says whether g[i] is positive or negative,
//                                else 0: an instance that begins on the other side, or goes there, has the event at
//                                once
//   event_times(p, times)        times of the scheduled events, `scheduled` of them for each, in the order of `events`
//   action(event, t, y, dy, p, d)  what event number `event` changes: differential variables y and the discrete state d
//   actions(fires, t, y, dy, p, d, unsettled)  in its place, what all events of one time change together: fires[k] is 1
//                                for those that occur, else 0; unsettled = 1 where the discrete state finds no rest
//   discrete                     numbers that change at events only; the equations see them as p[constants], ..., after
//                                parameters and derived numbers
//   initial_discrete(y, p, d)    initial discrete state that depends on parameters and initial values
// Equations are `static constexpr` and use `auto` for local numbers, and `manyfold::NumberOf<decltype(F)> z[3]` for
// local arrays, F being what they write; a branch that depends on data is `select(condition, a, b)`, since the
// instances of a pack may disagree.

#include "plain_numbers.hpp"

namespace manyfold {

template <class Reference>
struct Referenced;
template <class Number>
struct Referenced<Number&> {
  using type = Number;
};
template <class Number>
struct Referenced<const Number&> {
  using type = Number;
};

/// The type of the numbers of an array that a function of a model gets: NumberOf<decltype(F)> of what it writes holds
/// whatever it computes.
template <class Array>
using NumberOf = typename Referenced<decltype(static_cast<Array& (*)()>(nullptr)()[0])>::type;

/// What is given of a variable where integration starts; the rest is found from the equations. As many numbers must be
/// given as there are variables whose derivative stands in an equation; with variables of index 2 or 3, values that
/// meet the constraints, or no more than are free.
enum class Given {
  by_kind = 0,  ///< the value of a differential variable, nothing of an algebraic one
  value = 1,
  derivative = 2,
  value_and_derivative = 3,
  nothing = 4,    ///< the value is where the search starts
  projected = 5,  ///< values of differential variables, moved to where they meet constraints and invariants
};

/// A bound of a range that is none.
inline constexpr double no_bound = 1.7976931348623157e308;

/// A variable, or `count` variables called name1 ... nameN that share a description.
struct Variable {
  const char* name;
  const char* unit = "1";        ///< UDUNITS spelling
  const char* description = "";  ///< `long_name` in result files
  double initial = 0.0;          ///< initial value; the start of the search if it is not given
  bool algebraic = false;        ///< its derivative does not appear in the equations
  int count = 1;
  /// Of the variable in a system of higher index: one more than the number of times that equations must be
  /// differentiated to find the variable itself. Forces of constraints have 2 (velocities constrained) or 3 (positions
  /// constrained; the velocities then have 2). Errors and corrections count times h^(index - 1).
  int index = 1;
  Given given = Given::by_kind;
  double initial_derivative = 0.0;  ///< if it is given
  /// Of an initial value that follows from equations: which ones, for the message where they have no solution.
  const char* initial_from = "";
  double min = -no_bound;  ///< range of values that make sense: of several solutions the start is one within
  double max = no_bound;
};

struct Parameter {
  const char* name;
  const char* unit = "1";
  const char* description = "";
  double value = 0.0;      ///< default
  double min = -no_bound;  ///< range of values that are accepted
  double max = no_bound;
};

/// A number that users may take for a parameter, and that nobody can set: `reason` says why.
struct FixedParameter {
  const char* name;
  const char* reason;
};

/// Something that happens at an instant. Without `scheduled`: where the root function of the same index crosses zero.
struct Event {
  const char* name;
  const char* description = "";
  int direction = 0;      ///< of the crossing in the direction of integration: +1 upwards, -1 downwards, 0 both
  bool terminal = false;  ///< ends the instance; its action is not carried out
  int stop_after = 0;     ///< > 0: the event is terminal when it occurs for this time
  int scheduled = 0;      ///< > 0: occurs at so many times, which `event_times` gives
  bool failure = false;   ///< of a terminal event: what the model asserts is violated, and the instance has failed
};

/// A number of the instance that changes at events only: a mode, a counter, a set point.
struct Discrete {
  const char* name;
  const char* unit = "1";
  const char* description = "";
  double initial = 0.0;
  bool internal = false;  ///< nobody reads it: tables and lists leave it out
};

/// A number that follows from t, y, y' and p.
struct Observable {
  const char* name;
  const char* unit = "1";
  const char* description = "";
  double min = -no_bound;  ///< range of values that make sense
  double max = no_bound;
};

/// An integer that shapes the equations, such as a number of grid points.
struct Structural {
  const char* name;
  int value;
  int minimum;
  int maximum;
};

/// The value asked for of the model's structural parameter; `otherwise` if none was.
constexpr int structural_value(int otherwise) {
#if defined(MANYFOLD_STRUCTURAL_VALUE)
  return MANYFOLD_STRUCTURAL_VALUE;
#else
  return otherwise;
#endif
}

// Says which struct of a model file is the model. Elsewhere than in a kernel that is compiled on demand it does
// nothing, so that a program may include any number of models. The struct is named outside of namespace manyfold, where
// Model and System are names of other things.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_MODEL(...)                  \
  using ManyfoldModelOfFile = __VA_ARGS__;   \
  namespace manyfold {                       \
  using ModelOfFile = ::ManyfoldModelOfFile; \
  }
#else
#define MANYFOLD_MODEL(...) static_assert(true)
#endif

namespace model_check {

template <class Model>
concept HasVariables = requires {
  Model::variables[0].name;
  Model::variables[0].algebraic;
};

template <class Model>
concept HasParameters = requires {
  Model::parameters[0].value;
};

template <class Model>
concept HasTimeSpan = sizeof(Model::t_span) == 2 * sizeof(Model::t_span[0]);

template <class Model>
concept HasName = requires {
  Model::name[0];
};

template <class Array>
constexpr int length(const Array& array) {
  return static_cast<int>(sizeof(array) / sizeof(array[0]));
}

/// Number of scalar variables of a model.
template <class Model>
constexpr int variable_count() {
  int total = 0;
  for (const Variable& variable : Model::variables) total += variable.count;
  return total;
}

/// Number of parameters, without the derived ones.
template <class Model>
constexpr int parameter_count() {
  if constexpr (HasParameters<Model>) {
    return length(Model::parameters);
  } else {
    return 0;
  }
}

template <class Model>
constexpr int derived_count() {
  if constexpr (requires { int{Model::derived}; }) {
    return Model::derived;
  } else {
    return 0;
  }
}

/// Models with more of them are large: see `operations`.
inline constexpr int most_operations = 400;

template <class Model>
constexpr int operation_count() {
  if constexpr (requires(int number) { number = Model::operations; }) {
    return Model::operations;
  } else {
    return 0;
  }
}

template <class Model>
constexpr bool always_projected() {
  if constexpr (requires { Model::projection; }) {
    return Model::projection;
  } else {
    return false;
  }
}

template <class Model>
constexpr int invariant_count() {
  if constexpr (requires { int{Model::invariants}; }) {
    return Model::invariants;
  } else {
    return 0;
  }
}

template <class Model>
concept HasEquationNames = requires {
  Model::equations[0][0];
}
&&length(Model::equations) == variable_count<Model>();

template <class Model>
concept HasFixedParameters = requires {
  Model::fixed_parameters[0].name;
  Model::fixed_parameters[0].reason;
};

template <class Model>
concept HasEvents = requires {
  Model::events[0].name;
  Model::events[0].direction;
};

template <class Model>
concept HasDiscrete = requires {
  Model::discrete[0].name;
  Model::discrete[0].initial;
};

template <class Model>
constexpr int event_count() {
  if constexpr (HasEvents<Model>) {
    return length(Model::events);
  } else {
    return 0;
  }
}

template <class Model>
concept HasObservables = requires {
  Model::observables[0].name;
  Model::observables[0].unit;
};

template <class Model>
constexpr int observable_count() {
  if constexpr (HasObservables<Model>) {
    return length(Model::observables);
  } else {
    return 0;
  }
}

/// Unknowns of a stage of a model that gives stages; -1: it does not.
template <class Model>
constexpr int stage_unknown_count() {
  if constexpr (requires { Model::stage_unknowns; }) {
    return Model::stage_unknowns;
  } else {
    return -1;
  }
}

/// Numbers that all stages of a step share.
template <class Model>
constexpr int stage_constant_count() {
  if constexpr (requires { Model::stage_constant_count; }) {
    return Model::stage_constant_count;
  } else {
    return 0;
  }
}

/// Numbers that all iterations of a stage share.
template <class Model>
constexpr int stage_term_count() {
  if constexpr (requires { Model::stage_term_count; }) {
    return Model::stage_term_count;
  } else {
    return 0;
  }
}

template <class Model>
constexpr int discrete_count() {
  if constexpr (HasDiscrete<Model>) {
    return length(Model::discrete);
  } else {
    return 0;
  }
}

/// Number of scheduled times of all events.
template <class Model>
constexpr int schedule_count() {
  int total = 0;
  if constexpr (HasEvents<Model>) {
    for (const Event& event : Model::events) total += event.scheduled;
  }
  return total;
}

/// Has the model an event that is found by its root function?
template <class Model>
constexpr bool has_state_events() {
  if constexpr (HasEvents<Model>) {
    for (const Event& event : Model::events) {
      if (event.scheduled == 0) return true;
    }
  }
  return false;
}

template <class Model>
constexpr bool event_settings_in_range() {
  if constexpr (HasEvents<Model>) {
    for (const Event& event : Model::events) {
      if (event.direction < -1 || event.direction > 1 || event.stop_after < 0 || event.scheduled < 0) return false;
    }
  }
  return true;
}

/// Numbers per instance that the equations see as p: parameters, derived numbers, discrete state.
template <class Model>
constexpr int constant_count() {
  return parameter_count<Model>() + derived_count<Model>() + discrete_count<Model>();
}

// Arrays of the sizes of a model, never of size zero.
template <class Number, int n>
using Array = Number[n > 0 ? n : 1];

/// Stands for a matrix in which a model writes entries: M(i, j) = value.
struct AnyMatrix {
  double& operator()(int, int) const;
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>()>
concept HasResidual = requires(double t, const Array<double, n>& y, const Array<double, np>& p, Array<double, n>& F) {
  Model::residual(t, y, y, p, F);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>()>
concept HasRhs = requires(double t, const Array<double, n>& y, const Array<double, np>& p, Array<double, n>& f) {
  Model::rhs(t, y, p, f);
};

template <class Model, int np = constant_count<Model>()>
concept HasMassMatrix = requires(const Array<double, np>& p, AnyMatrix& M) {
  Model::mass_matrix(p, M);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>()>
concept HasResidualJacobian = requires(double t, const Array<double, n>& y, const Array<double, np>& p, AnyMatrix& J) {
  Model::jacobian(t, y, y, p, J, J);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>()>
concept HasRhsJacobian = requires(double t, const Array<double, n>& y, const Array<double, np>& p, AnyMatrix& J) {
  Model::jacobian(t, y, p, J);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>()>
concept HasInitial = requires(const Array<double, np>& p, Array<double, n>& y) {
  Model::initial(p, y);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(),
          int count = invariant_count<Model>()>
concept HasInvariant = requires(double t, const Array<double, n>& y, const Array<double, np>& p,
                                Array<double, count>& g) {
  Model::invariant(t, y, p, g);
};

// What writes through its arguments takes arrays of the sizes that it gets from the integrator.
template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(), int ne = event_count<Model>()>
concept HasRoot = requires(double t, const Array<double, n>& y, const Array<double, np>& p, Array<double, ne>& g) {
  Model::root(t, y, y, p, g);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(),
          int count = observable_count<Model>()>
concept HasObserve = requires(double t, const Array<double, n>& y, const Array<double, np>& p,
                              Array<double, count>& o) {
  Model::observe(t, y, y, p, o);
};

template <class Model, int np = constant_count<Model>(), int events = event_count<Model>()>
concept HasSides = requires(const Array<double, np>& p, Array<double, events>& side) {
  Model::sides(p, side);
};

template <class Model, int np = constant_count<Model>(), int times = schedule_count<Model>()>
concept HasEventTimes = requires(const Array<double, np>& p, Array<double, times>& t) {
  Model::event_times(p, t);
};

/// Stands for the number of an event; an action may use it in constant expressions.
struct AnyEvent {
  static constexpr int value = 0;
  constexpr operator int() const { return 0; }
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(),
          int nd = discrete_count<Model>()>
concept HasAction = requires(double t, Array<double, n>& y, const Array<double, n>& dy, const Array<double, np>& p,
                             Array<double, nd>& d) {
  Model::action(AnyEvent{}, t, y, dy, p, d);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(),
          int nd = discrete_count<Model>(), int events = event_count<Model>()>
concept HasActions = requires(const Array<double, events>& fires, double t, Array<double, n>& y,
                              const Array<double, n>& dy, const Array<double, np>& p, Array<double, nd>& d,
                              double& unsettled) {
  Model::actions(fires, t, y, dy, p, d, unsettled);
};

template <class Model, int n = variable_count<Model>(), int np = constant_count<Model>(),
          int nd = discrete_count<Model>()>
concept HasInitialDiscrete = requires(const Array<double, n>& y, const Array<double, np>& p, Array<double, nd>& d) {
  Model::initial_discrete(y, p, d);
};

// Functions that a model may have. One that takes other arguments than the integrator gives would be passed over in
// silence: a class derived from the model and from this one names it twice, and taking its address is an error. Numbers
// of these names, such as constants, are no functions.
struct OptionalFunctions {
  int action, actions, initial, initial_discrete, jacobian, mass_matrix, sides;
};
template <class Model>
struct WithOptionalFunctions : Model, OptionalFunctions {};

template <class Model>
concept NamesAction = !requires {
  &WithOptionalFunctions<Model>::action;
}
&&!requires(double number) {
  number = Model::action;
};
template <class Model>
concept NamesActions = !requires {
  &WithOptionalFunctions<Model>::actions;
}
&&!requires(double number) {
  number = Model::actions;
};
template <class Model>
concept NamesInitial = !requires {
  &WithOptionalFunctions<Model>::initial;
}
&&!requires(double number) {
  number = Model::initial;
};
template <class Model>
concept NamesInitialDiscrete = !requires {
  &WithOptionalFunctions<Model>::initial_discrete;
}
&&!requires(double number) {
  number = Model::initial_discrete;
};
template <class Model>
concept NamesJacobian = !requires {
  &WithOptionalFunctions<Model>::jacobian;
}
&&!requires(double number) {
  number = Model::jacobian;
};
template <class Model>
concept NamesMassMatrix = !requires {
  &WithOptionalFunctions<Model>::mass_matrix;
}
&&!requires(double number) {
  number = Model::mass_matrix;
};
template <class Model>
concept NamesSides = !requires {
  &WithOptionalFunctions<Model>::sides;
}
&&!requires(double number) {
  number = Model::sides;
};

/// Fails to compile, with a message that says what is missing, unless `Model` is a model.
template <class Model>
struct Check {
  static_assert(HasName<Model>, "manyfold: the model needs a name: static constexpr const char* name = \"...\";");
  static_assert(HasVariables<Model>,
                "manyfold: the model needs variables: static constexpr manyfold::Variable variables[] = {{.name = "
                "\"y\", .initial = 1.0}, ...};");
  static_assert(
      HasTimeSpan<Model>,
      "manyfold: the model needs a default time span of two numbers: static constexpr double t_span[] = {0.0, 1.0};");
  static_assert(
      !requires { Model::parameters; } || HasParameters<Model>,
      "manyfold: parameters must be an array: static constexpr manyfold::Parameter parameters[] = {{.name = "
      "\"k\", .value = 1.0}, ...};");
  static_assert(
      HasResidual<Model> || HasRhs<Model>,
      "manyfold: the model needs equations: static constexpr void residual(auto t, const auto& y, const auto& "
      "dy, const auto& p, auto& F), or rhs(auto t, const auto& y, const auto& p, auto& f)");
  static_assert(!(HasResidual<Model> && HasRhs<Model>),
                "manyfold: the model has residual and rhs: keep one, so that there is one set of equations");
  static_assert(!HasMassMatrix<Model> || HasRhs<Model>, "manyfold: mass_matrix(p, M) goes with rhs(t, y, p, f)");
  static_assert(
      derived_count<Model>() == 0 || requires(Array<double, constant_count<Model>()> & p) { Model::derive(p); },
      "manyfold: `derived` needs static constexpr void derive(auto& p), which fills p[number of parameters] and on");
  static_assert(
      (invariant_count<Model>() > 0) == HasInvariant<Model>,
      "manyfold: invariants come as static constexpr int invariants = their number; and static constexpr void "
      "invariant(const auto& t, const auto& y, const auto& p, auto& g), which fills g[0] ... g[invariants - 1]");
  static_assert(!always_projected<Model>() || invariant_count<Model>() > 0,
                "manyfold: projection = true is for models with invariants");
  static_assert(
      !requires { Model::observables; } || HasObservables<Model>,
      "manyfold: observables must be an array: static constexpr manyfold::Observable observables[] = {{.name = "
      "\"power\", .unit = \"W\"}, ...};");
  static_assert((observable_count<Model>() > 0) == HasObserve<Model>,
                "manyfold: observables come with static constexpr void observe(const auto& t, const auto& y, const "
                "auto& dy, const auto& p, auto& o), which fills o[i] of every observable");
  static_assert(
      !requires { Model::equations; } || HasEquationNames<Model>,
      "manyfold: equations must be an array with one name for each variable: static constexpr const char* equations[] "
      "= {\"balance\", ...};");
  static_assert(
      !requires { Model::fixed_parameters; } || HasFixedParameters<Model>,
      "manyfold: fixed_parameters must be an array: static constexpr manyfold::FixedParameter fixed_parameters[] = "
      "{{.name = \"cells\", .reason = \"it shapes the equations\"}, ...};");
  static_assert(
      !requires { Model::events; } || HasEvents<Model>,
      "manyfold: events must be an array: static constexpr manyfold::Event events[] = {{.name = \"hit\", .direction "
      "= -1}, ...};");
  static_assert(
      !requires { Model::discrete; } || HasDiscrete<Model>,
      "manyfold: discrete must be an array: static constexpr manyfold::Discrete discrete[] = {{.name = \"mode\"}, "
      "...};");
  static_assert(event_settings_in_range<Model>(),
                "manyfold: an event has a direction other than -1, 0 and +1, or a negative stop_after or scheduled");
  static_assert(!has_state_events<Model>() || HasRoot<Model>,
                "manyfold: events that are not scheduled need static constexpr void root(const auto& t, const auto& y, "
                "const auto& dy, const auto& p, auto& g), which fills g[i] of event i");
  static_assert(schedule_count<Model>() == 0 || HasEventTimes<Model>,
                "manyfold: scheduled events need static constexpr void event_times(const auto& p, auto& times), which "
                "fills as many times as the events have scheduled, in their order");
  static_assert(event_count<Model>() > 0 || discrete_count<Model>() == 0,
                "manyfold: discrete state changes at events only, and the model has none: use a parameter");
  static_assert(!HasAction<Model> || !HasActions<Model>,
                "manyfold: a model has action, for one event at a time, or actions, for all events of a time");
  static_assert(discrete_count<Model>() == 0 || HasAction<Model> || HasActions<Model>,
                "manyfold: discrete state needs static constexpr void action(auto event, const auto& t, auto& y, const "
                "auto& dy, const auto& p, auto& d), which changes it at events");
  static_assert(!NamesAction<Model> || HasAction<Model>,
                "manyfold: action must be static constexpr void action(auto event, const auto& t, auto& y, const auto& "
                "dy, const auto& p, auto& d)");
  static_assert(!NamesActions<Model> || HasActions<Model>,
                "manyfold: actions must be static constexpr void actions(const auto& fires, const auto& t, auto& y, "
                "const auto& dy, const auto& p, auto& d, auto& unsettled)");
  static_assert(!NamesInitial<Model> || HasInitial<Model>,
                "manyfold: initial must be static constexpr void initial(const auto& p, auto& y)");
  static_assert(!NamesInitialDiscrete<Model> || HasInitialDiscrete<Model>,
                "manyfold: initial_discrete must be static constexpr void initial_discrete(const auto& y, const auto& "
                "p, auto& d)");
  static_assert(
      !NamesJacobian<Model> || HasResidualJacobian<Model> || HasRhsJacobian<Model>,
      "manyfold: jacobian must be static constexpr void jacobian(const auto& t, const auto& y, const auto& dy, "
      "const auto& p, auto& J_y, auto& J_dy) with residual, or jacobian(const auto& t, const auto& y, const "
      "auto& p, auto& J) with rhs");
  static_assert(!NamesMassMatrix<Model> || HasMassMatrix<Model>,
                "manyfold: mass_matrix must be static constexpr void mass_matrix(const auto& p, auto& M)");
  static_assert(!NamesSides<Model> || HasSides<Model>,
                "manyfold: sides must be static constexpr void sides(const auto& p, auto& side)");
  static constexpr bool passed = true;
};

}  // namespace model_check

/// A struct from which an ensemble can be made. Use `model_check::Check` for an explanation of what is missing.
template <class Type>
concept Model = model_check::Check<Type>::passed;

}  // namespace manyfold
