#pragma once
// What a user asks of the integrator; the same for every instance of an ensemble. A setting is a field and, if it is a
// number or a choice among names, a row of the tables below: sweep files and all checks go by them.
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <manyfold/step_settings.hpp>

namespace manyfold {

struct SolverOptions {
  /// A name that `manyfold info` lists. Empty: radau5, and for `Ensemble` the method that it is compiled with.
  std::string method = "";
  double rtol = 1e-6;                 ///< relative tolerance, at least ten times the rounding error
  std::vector<double> atol = {1e-9};  ///< absolute tolerance: one for all variables, or one each; >= 0
  /// What is given at the start: variables and derivatives, der(variable), as many as there are differential variables;
  /// or "steady_state" alone. Empty: what the model says, else the values of its differential variables.
  std::vector<std::string> initial_conditions = {};
  std::string backend = "auto";        ///< auto | cpu | cuda
  std::string precision = "float64";   ///< float64 | float32 | mixed
  std::string tier = "auto";           ///< auto | fused | phased: how a GPU integrates
  std::string linear_solver = "auto";  ///< auto | own | cublas | cusolver: who factorises Newton's matrices on a GPU
  bool projection = false;             ///< after every step, project y on the model's constraints and invariants
  std::string jacobian = "automatic";  ///< automatic | dual_numbers | finite_differences
  /// automatic | every_step | contraction | cameron | dassl: when Jacobian and factors are renewed
  std::string jacobian_reuse = "automatic";
  std::string error_test = "all";  ///< all | differential: whether errors of algebraic variables count
  /// automatic | always | never: whether diagonally implicit methods solve for the unknowns that are left of a stage
  std::string inline_integration = "automatic";
  double device_memory = 0.0;          ///< MiB of a GPU's memory to use at most; 0: half of what is free
  int device_tile = 0;                 ///< threads of a GPU per instance: 1, 2, ... 32; 0: chosen by the kernel
  int device_block = 0;                ///< threads of a GPU's block, a multiple of 32; 0: chosen from the occupancy
  int threads = 0;                     ///< worker threads; 0: one per processor
  std::int64_t max_steps = 1'000'000;  ///< step attempts per instance before it ends with `max_steps`
  double first_step = 0.0;             ///< |h| of the first step in the model's time unit; 0: chosen from y and y'
  int event_log = 64;                  ///< events per instance that are kept with time and values; the rest is counted
  double max_step = std::numeric_limits<double>::infinity();  ///< largest |h|

  /// What of this kernels are told.
  StepSettings step_settings(double fixed_step = 0.0) const {
    return {static_cast<double>(max_steps), first_step, max_step, fixed_step};
  }
};

/// A setting that is one of some names.
struct ChoiceSetting {
  const char* name;  ///< of the field, and the key in sweep files
  std::string SolverOptions::*field;
  std::vector<std::string> names;
  /// What it is in kernels, which are compiled for it: a member of `KernelSpec` called `name`, whose enumerators are
  /// called and ordered like `names`. Empty: it is the host's alone.
  std::string type = "";
};

/// Those of kernels stand in the order of the members of `KernelSpec`.
inline const std::vector<ChoiceSetting> choice_settings = {
    {"backend", &SolverOptions::backend, {"auto", "cpu", "cuda"}},
    {"tier", &SolverOptions::tier, {"auto", "fused", "phased"}},
    {"linear_solver", &SolverOptions::linear_solver, {"auto", "own", "cublas", "cusolver"}},
    {"precision", &SolverOptions::precision, {"float64", "mixed", "float32"}, "Precision"},
    {"jacobian", &SolverOptions::jacobian, {"automatic", "dual_numbers", "finite_differences"}, "JacobianSource"},
    {"jacobian_reuse",
     &SolverOptions::jacobian_reuse,
     {"automatic", "every_step", "contraction", "cameron", "dassl"},
     "JacobianReuse"},
    {"error_test", &SolverOptions::error_test, {"all", "differential"}, "ErrorTest"},
    {"inline_integration", &SolverOptions::inline_integration, {"automatic", "always", "never"}, "InlineIntegration"},
};

/// The choice of this name.
inline const ChoiceSetting& choice_setting(std::string_view name) {
  for (const ChoiceSetting& choice : choice_settings) {
    if (name == choice.name) return choice;
  }
  throw std::out_of_range("manyfold::choice_setting: " + std::string(name));
}

/// A setting that is a number. Its default is always allowed.
struct NumberSetting {
  const char* name;  ///< of the field, and the key in sweep files
  std::variant<int SolverOptions::*, std::int64_t SolverOptions::*, double SolverOptions::*> field;
  double least;
  double most;
  const char* need;                ///< what is allowed, in words
  bool (*good)(double) = nullptr;  ///< what is allowed beside that range; null: all of it

  bool is_integer() const { return !std::holds_alternative<double SolverOptions::*>(field); }
  double get(const SolverOptions& options) const {
    return std::visit([&](auto member) { return static_cast<double>(options.*member); }, field);
  }
  void set(SolverOptions& options, double value) const {
    const auto put = [value]<class Number>(Number& target) { target = static_cast<Number>(value); };
    std::visit([&](auto member) { put(options.*member); }, field);
  }
  bool allows(double value) const {
    return value == get({}) || (value >= least && value <= most && (good == nullptr || good(value)));
  }
};

inline constexpr double largest_setting = std::numeric_limits<double>::max();
inline constexpr double unbounded_setting = std::numeric_limits<double>::infinity();

inline const std::vector<NumberSetting> number_settings = {
    {"threads", &SolverOptions::threads, 0.0, 65536.0, "at least 0 (0: one per processor)"},
    {"max_steps", &SolverOptions::max_steps, 1.0, 0x1p62, "at least 1"},
    {"event_log", &SolverOptions::event_log, 0.0, std::numeric_limits<int>::max(), "at least 0"},
    {"first_step", &SolverOptions::first_step, 0.0, largest_setting, "at least 0 (0: chosen by the method)"},
    {"max_step", &SolverOptions::max_step, 0.0, unbounded_setting, "more than 0", [](double x) { return x > 0.0; }},
    {"device_memory", &SolverOptions::device_memory, 0.0, largest_setting, "more than 0 MiB",
     [](double x) { return x > 0.0; }},
    {"device_tile", &SolverOptions::device_tile, 0.0, 32.0, "1, 2, 4, 8, 16 or 32 (0: chosen by the kernel)",
     [](double x) { return (static_cast<int>(x) & (static_cast<int>(x) - 1)) == 0; }},
    {"device_block", &SolverOptions::device_block, 0.0, 1024.0, "a multiple of 32 (0: chosen from the occupancy)",
     [](double x) { return static_cast<int>(x) % 32 == 0; }},
};

}  // namespace manyfold
