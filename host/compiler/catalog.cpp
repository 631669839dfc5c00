#include "host/compiler/catalog.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "kernels/entry/describe.hpp"
#include "kernels/entry/method_limits.hpp"
#include "kernels/methods/tableaux/conditions.hpp"
#include "problems/bouncing_ball/bouncing_ball.hpp"
#include "problems/bouncing_ball_track/bouncing_ball_track.hpp"
#include "problems/bouncing_ball_track_index2/bouncing_ball_track_index2.hpp"
#include "problems/cstr/cstr.hpp"
#include "problems/das1/das1.hpp"
#include "problems/das2/das2.hpp"
#include "problems/diffusion/diffusion.hpp"
#include "problems/medical_akzo_nobel/medical_akzo_nobel.hpp"
#include "problems/overflow_tank/overflow_tank.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/pendulum_ggl/pendulum_ggl.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/rlc_index0/rlc_index0.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/rlc_index2/rlc_index2.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/slider_crank/slider_crank.hpp"
#include "problems/stick_slip/stick_slip.hpp"
#include "problems/thermostat/thermostat.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "problems/van_der_pol/van_der_pol.hpp"

namespace manyfold {
namespace {

template <class... Models>
std::vector<ModelDescription> describe_all() {
  std::vector<ModelDescription> result(sizeof...(Models));
  std::size_t at = 0;
  (describe_model<Models>(result[at++]), ...);
  return result;
}

template <class Tableau>
MethodDescription describe_method(const char* template_name) {
  static_assert(conditions::hold<Tableau>(), "the coefficients do not satisfy their conditions");
  // Fully implicit methods of one order, whose stage systems are transformed, and diagonally implicit ones.
  constexpr bool fully_implicit = requires {
    Tableau::T_inverse;
  };
  constexpr bool diagonally_implicit = requires {
    Tableau::gamma;
    Tableau::dense;
  };
  constexpr bool in_phases = fully_implicit || diagonally_implicit;
  return {Tableau::name, Tableau::family, Tableau::order, template_name, in_phases, limits_of_tableau<Tableau>()};
}

}  // namespace

const std::vector<ModelDescription>& builtin_models() {
  static const auto models =
      describe_all<Robertson, TransistorAmplifier, Das1, Pendulum, RlcIndex0, RlcIndex1, BouncingBall,
                   BouncingBallTrack, BouncingBallTrackIndex2, Das2, Thermostat, OverflowTank, StickSlip, Rectifier,
                   VanDerPol, Diffusion<structural_value(40)>, PendulumIndex2, PendulumIndex3, PendulumGgl, RlcIndex2,
                   Cstr, SliderCrank, MedicalAkzoNobel<structural_value(200)>>();
  return models;
}

#define MANYFOLD_DESCRIBE(NAME, FAMILY, TABLEAU) describe_method<TABLEAU>(#NAME),
const std::vector<MethodDescription>& methods() {
  static const std::vector<MethodDescription> all = {MANYFOLD_METHODS(MANYFOLD_DESCRIBE)};
  return all;
}
#undef MANYFOLD_DESCRIBE

const MethodDescription* described_method(std::string_view name) {
  const auto& all = methods();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& method) { return method.name == name; });
  return found != all.end() ? &*found : nullptr;
}

const std::vector<std::string>& phased_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const MethodDescription& method : methods()) {
      if (method.in_phases) result.push_back(method.name);
    }
    return result;
  }();
  return names;
}

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const MethodDescription& method : methods()) result.push_back(method.name);
    result.emplace_back("auto");
    return result;
  }();
  return names;
}

std::string check_method(const ModelDescription& model, const std::string& method) {
  const MethodDescription* known = described_method(method);
  if (known == nullptr) return "";
  const MethodLimits& limits = known->limits;
  const std::string& family = known->family;
  const int index = model.highest_index();
  const std::string_view other = method_to_take(index);
  if (model.form < limits.form) {
    const bool linear = limits.form == Form::linear_residual;
    throw UsageError(fmt::format(
        "method '{}': {} methods need {}, but model '{}' {}: take '{}'", method, family,
        linear ? "equations that are M y' = f(t, y), with a constant M" : "rhs(t, y, p, f) without mass_matrix",
        model.name,
        linear                            ? "has y' in its residual in another way"
        : model.form == Form::mass_matrix ? "has a mass matrix"
                                          : "is in residual form",
        other));
  }
  if (!limits.algebraic && model.has_algebraic_variables()) {
    throw UsageError(
        fmt::format("method '{}': {} methods need equations from which all derivatives can be found, but model '{}' "
                    "has algebraic variables: take '{}'",
                    method, family, model.name, other));
  }
  switch (suitability(limits, index)) {
    case Suitability::suits:
      return "";
    case Suitability::reduced:
      return fmt::format(
          "method '{}' has order {} for index {}, which model '{}' has, instead of {}: '{}' needs fewer "
          "steps and is more accurate",
          method, limits.order_of_index(index), index, model.name, limits.order, other);
    case Suitability::refused:
      break;
  }
  throw UsageError(fmt::format("method '{}' does not converge for index {}, which model '{}' has: take '{}'", method,
                               index, model.name, other));
}

double largest_initial_value(const ModelDescription& model) {
  double largest = 0.0;
  for (const VariableDescription& variable : model.variables) {
    largest = std::max(largest, std::abs(variable.initial));
  }
  return largest;
}

bool carries_rounding_errors(const ModelDescription& model, const MethodDescription& method,
                             const std::vector<double>& atol) {
  if (method.family != "Rosenbrock" || atol.empty()) return false;
  constexpr double part = 1e-3 * std::numeric_limits<double>::epsilon();
  return *std::min_element(atol.begin(), atol.end()) < part * std::min(largest_initial_value(model), 1.0);
}

std::array<std::string, 2> reference_methods(const ModelDescription& model, const std::string& method) {
  // Radau and Lobatto methods are carried out by the same code, as are all that are diagonally implicit.
  const auto kin = [](const std::string& name) -> std::string {
    const MethodDescription* known = described_method(name);
    const std::string family = known != nullptr ? known->family : "";
    if (family == "Lobatto IIIC") return "Radau IIA";
    return family == "SDIRK" || family == "embedded SDIRK" ? "ESDIRK" : family;
  };
  if (model.highest_index() >= 2) {
    // Diagonally implicit methods lose too much of their order for a tight tolerance, and BDF of its accuracy. Lobatto
    // methods have another estimate and another damping than Radau methods.
    if (method.starts_with("lobatto")) return {"radau9", "radau13"};
    if (kin(method) != "Radau IIA") return {"radau9", "lobatto6"};
    return {"lobatto6", method == "radau9" ? "radau13" : "radau9"};
  }
  std::vector<std::string> candidates = {"radau9"};
  if (model.form >= Form::linear_residual) candidates.emplace_back("rodas5p");
  candidates.emplace_back("esdirk54");
  candidates.emplace_back("bdf");
  std::erase_if(candidates, [&](const std::string& candidate) { return kin(candidate) == kin(method); });
  return {candidates[0], candidates[1]};
}

std::string method_table() {
  const auto cell = [](const MethodLimits& limits, int index) -> std::string {
    switch (suitability(limits, index)) {
      case Suitability::suits:
        return "yes";
      case Suitability::reduced:
        return fmt::format("warns: order {}", limits.order_of_index(index));
      case Suitability::refused:
        break;
    }
    return "no";
  };
  std::string table = "| method | order | equations | index 2 | index 3 |\n|---|---|---|---|---|\n";
  for (const MethodDescription& method : methods()) {
    const MethodLimits& limits = method.limits;
    const char* equations = !limits.algebraic                    ? "without algebraic variables"
                            : limits.form == Form::semi_explicit ? "`y' = f(t, y, z), 0 = g(t, y, z)`"
                            : limits.form == Form::residual      ? "all"
                                                                 : "`M y' = f(t, y)`";
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", limits.name, limits.order, equations, cell(limits, 2),
                         cell(limits, 3));
  }
  return table;
}

}  // namespace manyfold
