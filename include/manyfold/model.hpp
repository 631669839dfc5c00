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
//   rhs(t, y, p, f)           M y' = f(t, y, p); M is 1 for differential and 0 for algebraic variables, or what
//   mass_matrix(p, M)         writes: M(i, j) = value; entries not written are zero.
// Optional
//   jacobian(t, y, dy, p, J, M)  for `residual`: J(i, j) = dF_i/dy_j and M(i, j) = dF_i/dy'_j
//   jacobian(t, y, p, J)         for `rhs`: J(i, j) = df_i/dy_j
//   initial(p, y)                initial values that depend on parameters; they replace `Variable::initial`. Models
//   with
//                                variables of index 2 or 3 are started from these values as they are: they must satisfy
//                                the constraints and what differentiating them yields
//   derived, derive(p)           `derived` further numbers per instance, p[number of parameters], ..., computed from
//   the
//                                parameters once and for all (reciprocals, conductances)
//   singular_mass_matrix = true  when algebraic relations hide in combinations of rows, as in circuits with capacitors
//                                between nodes, so that no single variable is algebraic
//   description, time_unit, structural
// Equations are `static constexpr` and use `auto` for local numbers; a branch that depends on data is
// `select(condition, a, b)`, since the instances of a pack may disagree.

#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

namespace manyfold {

/// A variable, or `count` variables called name1 ... nameN that share a description.
struct Variable {
  const char* name;
  const char* unit = "1";        ///< UDUNITS spelling
  const char* description = "";  ///< `long_name` in result files
  double initial = 0.0;          ///< initial value; the start of the search if the variable is algebraic
  bool algebraic = false;        ///< its derivative does not appear in the equations
  int count = 1;
  /// Of the variable in a system of higher index: one more than the number of times that equations must be
  /// differentiated to find the variable itself. Forces of constraints have 2 (velocities constrained) or 3 (positions
  /// constrained; the velocities then have 2). Errors and corrections count times h^(index - 1).
  int index = 1;
};

struct Parameter {
  const char* name;
  const char* unit = "1";
  const char* description = "";
  double value = 0.0;  ///< default
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
// nothing, so that a program may include any number of models.
#if defined(MANYFOLD_KERNEL_UNIT)
#define MANYFOLD_MODEL(...)        \
  namespace manyfold {             \
  using ModelOfFile = __VA_ARGS__; \
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
concept HasTimeSpan = requires {
  Model::t_span[0];
  Model::t_span[1];
};

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
  if constexpr (requires { Model::derived; }) {
    return Model::derived;
  } else {
    return 0;
  }
}

// Arrays of the sizes of a model, never of size zero.
template <class Number, int n>
using Array = Number[n > 0 ? n : 1];

/// Stands for a matrix in which a model writes entries: M(i, j) = value.
struct AnyMatrix {
  double& operator()(int, int) const;
};

template <class Model, int n = variable_count<Model>(), int np = parameter_count<Model>() + derived_count<Model>()>
concept HasResidual = requires(double t, const Array<double, n>& y, const Array<double, np>& p, Array<double, n>& F) {
  Model::residual(t, y, y, p, F);
};

template <class Model, int n = variable_count<Model>(), int np = parameter_count<Model>() + derived_count<Model>()>
concept HasRhs = requires(double t, const Array<double, n>& y, const Array<double, np>& p, Array<double, n>& f) {
  Model::rhs(t, y, p, f);
};

template <class Model, int np = parameter_count<Model>() + derived_count<Model>()>
concept HasMassMatrix = requires(const Array<double, np>& p, AnyMatrix& M) {
  Model::mass_matrix(p, M);
};

template <class Model, int n = variable_count<Model>(), int np = parameter_count<Model>() + derived_count<Model>()>
concept HasResidualJacobian = requires(double t, const Array<double, n>& y, const Array<double, np>& p, AnyMatrix& J) {
  Model::jacobian(t, y, y, p, J, J);
};

template <class Model, int n = variable_count<Model>(), int np = parameter_count<Model>() + derived_count<Model>()>
concept HasRhsJacobian = requires(double t, const Array<double, n>& y, const Array<double, np>& p, AnyMatrix& J) {
  Model::jacobian(t, y, p, J);
};

template <class Model, int n = variable_count<Model>(), int np = parameter_count<Model>() + derived_count<Model>()>
concept HasInitial = requires(const Array<double, np>& p, Array<double, n>& y) {
  Model::initial(p, y);
};

/// Fails to compile, with a message that says what is missing, unless `Model` is a model.
template <class Model>
struct Check {
  static_assert(HasName<Model>, "manyfold: the model needs a name: static constexpr const char* name = \"...\";");
  static_assert(HasVariables<Model>,
                "manyfold: the model needs variables: static constexpr manyfold::Variable variables[] = {{.name = "
                "\"y\", .initial = 1.0}, ...};");
  static_assert(HasTimeSpan<Model>,
                "manyfold: the model needs a default time span: static constexpr double t_span[] = {0.0, 1.0};");
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
      derived_count<Model>() == 0 ||
          requires(Array<double, parameter_count<Model>() + derived_count<Model>()> & p) { Model::derive(p); },
      "manyfold: `derived` needs static constexpr void derive(auto& p), which fills p[number of parameters] and on");
  static constexpr bool passed = true;
};

}  // namespace model_check

/// A struct from which an ensemble can be made. Use `model_check::Check` for an explanation of what is missing.
template <class Type>
concept Model = model_check::Check<Type>::passed;

}  // namespace manyfold
