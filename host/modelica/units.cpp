#include "host/modelica/units.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace manyfold::modelica {
namespace {

struct NamedUnit {
  const char* symbol;
  Unit unit;
};

/// Derived units of the SI, what is used beside it (BIPM, The International System of Units, 9th edition, tables 2, 4
/// and 8), and a few that Modelica's library has. `text_of` takes the first of those that are equal.
const std::vector<NamedUnit>& named_units() {
  const double pi = std::numbers::pi;
  static const std::vector<NamedUnit> units = {
      {"m", {{1}}},
      {"s", {{0, 0, 1}}},
      {"A", {{0, 0, 0, 1}}},
      {"K", {{0, 0, 0, 0, 1}}},
      {"mol", {{0, 0, 0, 0, 0, 1}}},
      {"cd", {{0, 0, 0, 0, 0, 0, 1}}},
      {"kg", {{0, 1}}},
      {"N", {{1, 1, -2}}},
      {"Pa", {{-1, 1, -2}}},
      {"J", {{2, 1, -2}}},
      {"W", {{2, 1, -3}}},
      {"C", {{0, 0, 1, 1}}},
      {"V", {{2, 1, -3, -1}}},
      {"F", {{-2, -1, 4, 2}}},
      {"Ohm", {{2, 1, -3, -2}}},
      {"S", {{-2, -1, 3, 2}}},
      {"Wb", {{2, 1, -2, -1}}},
      {"T", {{0, 1, -2, -1}}},
      {"H", {{2, 1, -2, -2}}},
      {"Hz", {{0, 0, -1}}},
      {"kat", {{0, 0, -1, 0, 0, 1}}},
      {"Gy", {{2, 0, -2}}},
      {"Sv", {{2, 0, -2}}},
      {"Bq", {{0, 0, -1}}},
      {"lm", {{0, 0, 0, 0, 0, 0, 1}}},
      {"lx", {{-2, 0, 0, 0, 0, 0, 1}}},
      {"ohm", {{2, 1, -3, -2}}},
      {"var", {{2, 1, -3}}},
      {"rad", {}},
      {"sr", {}},
      {"degC", {{0, 0, 0, 0, 1}}},
      {"g", {{0, 1}, 1e-3}},
      {"t", {{0, 1}, 1e3}},
      {"l", {{3}, 1e-3}},
      {"L", {{3}, 1e-3}},
      {"bar", {{-1, 1, -2}, 1e5}},
      {"min", {{0, 0, 1}, 60.0}},
      {"h", {{0, 0, 1}, 3600.0}},
      {"d", {{0, 0, 1}, 86400.0}},
      {"deg", {{}, pi / 180.0}},
      {"rev", {{}, 2.0 * pi}},
      {"rpm", {{0, 0, -1}, pi / 30.0}},
      {"eV", {{2, 1, -2}, 1.602176634e-19}},
      {"degF", {{0, 0, 0, 0, 1}, 5.0 / 9.0}},
      {"degRk", {{0, 0, 0, 0, 1}, 5.0 / 9.0}},
      {"cal", {{2, 1, -2}, 4.184}},
      {"atm", {{-1, 1, -2}, 101325.0}},
  };
  return units;
}

constexpr std::pair<std::string_view, double> prefixes[] = {
    {"da", 1e1}, {"Y", 1e24},  {"Z", 1e21},  {"E", 1e18},  {"P", 1e15},  {"T", 1e12}, {"G", 1e9},
    {"M", 1e6},  {"k", 1e3},   {"h", 1e2},   {"d", 1e-1},  {"c", 1e-2},  {"m", 1e-3}, {"u", 1e-6},
    {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}, {"a", 1e-18}, {"z", 1e-21}, {"y", 1e-24}};

std::optional<Unit> with_symbol(std::string_view symbol) {
  const auto found = [](std::string_view name) -> const NamedUnit* {
    const auto& units = named_units();
    const auto it = std::find_if(units.begin(), units.end(), [&](const NamedUnit& one) { return one.symbol == name; });
    return it != units.end() ? &*it : nullptr;
  };
  if (const NamedUnit* whole = found(symbol)) return whole->unit;
  for (const auto& [prefix, factor] : prefixes) {
    if (!symbol.starts_with(prefix)) continue;
    const NamedUnit* rest = found(symbol.substr(prefix.size()));
    if (rest == nullptr) continue;
    Unit unit = rest->unit;
    unit.factor *= factor;
    return unit;
  }
  return std::nullopt;
}

/// unit = factor {("." | "/" | " ") factor}; factor = "1", "(" unit ")" or symbol [exponent]. Blanks are those of the
/// conventions of netCDF files, whose exponents may have fractions.
class UnitText {
 public:
  explicit UnitText(std::string_view text) : text_(text) {}

  std::optional<Unit> whole() {
    const auto result = unit(0);
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int deepest = 20;

  bool take(char letter) {
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }

  bool is_digit(std::size_t at) const {
    return at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at])) != 0;
  }

  std::optional<Unit> unit(int depth) {
    std::optional<Unit> result = factor(depth);
    while (result) {
      const bool divides = take('/');
      if (!divides && !take('.') && !take(' ')) return result;
      const auto next = factor(depth);
      if (!next) return std::nullopt;
      result = result->times(*next, divides ? -1.0 : 1.0);
    }
    return std::nullopt;
  }

  std::optional<Unit> factor(int depth) {
    if (take('1')) return Unit{};
    if (take('(')) {
      const auto inner = depth < deepest ? unit(depth + 1) : std::nullopt;
      return take(')') ? inner : std::nullopt;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const auto symbol = with_symbol(text_.substr(begin, at_ - begin));
    if (!symbol) return std::nullopt;
    const std::size_t sign = at_;
    if (!take('-')) take('+');
    const std::size_t digits = at_;
    const auto pass_digits = [&] {
      while (is_digit(at_)) ++at_;
    };
    pass_digits();
    if (at_ > digits && is_digit(at_ + 1) && take('.')) pass_digits();
    if (at_ == digits) return digits == sign ? symbol : std::nullopt;
    return symbol->to_power(std::atof(std::string(text_.substr(sign, at_ - sign)).c_str()));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Does a product with the number have the unit of its other factor? Halves, small counts and multiples of pi have no
/// unit themselves, and convert none.
bool is_pure(double value) {
  const auto is_plain = [](double x) {
    const auto known = {0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0};
    return std::any_of(known.begin(), known.end(), [&](double one) { return std::abs(x - one) < 1e-12 * one; });
  };
  const double size = std::abs(value);
  return is_plain(size) || is_plain(1.0 / size) || is_plain(size / std::numbers::pi);
}

class UnitCheck {
 public:
  UnitCheck(const FlatModel& model, Diagnostics& diagnostics)
      : model_(model),
        graph_(model.graph),
        diagnostics_(diagnostics),
        units_(model.graph.size()),
        known_(model.graph.size()) {}

  void check() {
    read_declarations();
    for (const FlatVariable& variable : model_.variables) {
      if (!variable.is_parameter() || variable.binding == no_node) continue;
      compare(declared(variable), unit_of(variable.binding, variable.place), variable.place,
              "the value has another unit than '" + variable.name + "'");
    }
    for (const auto* equations : {&model_.equations, &model_.initial_equations, &model_.discrete_equations}) {
      for (const FlatEquation& equation : *equations) {
        compare(unit_of(equation.left, equation.place), unit_of(equation.right, equation.place), equation.place,
                "the sides of this equation have different units");
      }
    }
    for (const FlatAction& action : model_.actions) {
      if (action.kind != FlatAction::Kind::reinit) continue;
      const FlatVariable& variable = model_.variables[static_cast<std::size_t>(action.variable)];
      compare(declared(variable), unit_of(action.value, action.place), action.place,
              "reinit sets '" + variable.name + "' to a value with another unit");
    }
  }

 private:
  using Known = std::optional<Unit>;

  void warn(Place place, const std::string& message) {
    if (++warnings_ == most_warnings) {
      diagnostics_.warn(place, message + "; what follows is not checked by units");
    } else if (warnings_ < most_warnings) {
      diagnostics_.warn(place, message);
    }
  }

  void read_declarations() {
    for (const FlatVariable& variable : model_.variables) {
      if (variable.unit.empty() || declared_.contains(variable.unit)) continue;
      declared_[variable.unit] = modelica::unit_of(variable.unit);
      if (declared_[variable.unit]) continue;
      warn(variable.place,
           fmt::format("'{}' is no unit: expected one such as \"V\", \"kg.m2\", \"J/(kg.K)\" or \"1\"", variable.unit));
    }
  }
  Known declared(const FlatVariable& variable) const {
    const auto found = declared_.find(variable.unit);
    return found != declared_.end() ? found->second : std::nullopt;
  }

  /// The unit of both, as far as it is known; nothing after a warning.
  Known compare(const Known& a, const Known& b, Place place, const std::string& what) {
    if (!a || !b) return a ? a : b;
    if (*a == *b) return a;
    warn(place, fmt::format("{}: {} and {}", what, text_of(*a), text_of(*b)));
    return std::nullopt;
  }

  /// `place`: of the equation in which the node stands.
  Known unit_of(Node root, Place place) {
    for (const Node node : graph_.below(root)) {
      const auto k = static_cast<std::size_t>(node);
      if (known_[k]) continue;
      known_[k] = true;
      units_[k] = of_node(graph_[node], place);
    }
    return units_[static_cast<std::size_t>(root)];
  }
  const Known& operand(const NodeData& data, int k) const { return units_[static_cast<std::size_t>(data.operand[k])]; }
  /// Of a factor: numbers that are pure have the unit 1.
  Known factor(const NodeData& data, int k) const {
    const Node node = data.operand[k];
    return graph_.is_number(node) && is_pure(graph_.value(node)) ? Unit{} : operand(data, k);
  }

  Known of_node(const NodeData& data, Place place) {
    switch (data.op) {
      case Op::variable:
      case Op::pre: {
        const Known unit = declared(model_.variables[static_cast<std::size_t>(data.index)]);
        return unit ? unit->times(*modelica::unit_of("s"), -data.order) : unit;
      }
      case Op::negate:
        return operand(data, 0);
      case Op::add:
        return compare(operand(data, 0), operand(data, 1), place, "a sum of different units");
      case Op::subtract:
        return compare(operand(data, 0), operand(data, 1), place, "a difference of different units");
      case Op::multiply:
      case Op::divide: {
        const Known a = factor(data, 0);
        const Known b = factor(data, 1);
        return a && b ? a->times(*b, data.op == Op::divide ? -1.0 : 1.0) : Known{};
      }
      case Op::power: {
        const Known base = operand(data, 0);
        const bool constant = graph_.is_number(data.operand[1]);
        return base && constant ? base->to_power(graph_.value(data.operand[1])) : Known{};
      }
      case Op::call:
        return of_call(data, place);
      case Op::choice:
        return compare(operand(data, 1), operand(data, 2), place, "the branches of a choice have different units");
      case Op::less:
      case Op::less_equal:
      case Op::equal:
        compare(operand(data, 0), operand(data, 1), place, "quantities of different units are compared");
        return {};
      default:
        return {};
    }
  }

  Known of_call(const NodeData& data, Place place) {
    const auto function = static_cast<Function>(data.index);
    const Known of = operand(data, 0);
    switch (function) {
      case Function::sqrt:
        return of ? of->to_power(0.5) : of;
      case Function::abs:
        return of;
      case Function::floor:
        return {};
      case Function::min:
      case Function::max:
        return compare(of, operand(data, 1), place,
                       fmt::format("{} of different units", function_names[static_cast<std::size_t>(function)]));
      case Function::atan2:
        compare(of, operand(data, 1), place, "atan2 of different units");
        return {};
      // log(p) of a pressure is common, its unit is that of the constants beside it.
      case Function::log:
      case Function::log10:
        return {};
      default:
        if (of && !(*of == Unit{})) {
          warn(place, fmt::format("the argument of {} has the unit {}: expected a number without a unit",
                                  function_names[static_cast<std::size_t>(function)], text_of(*of)));
        }
        return {};
    }
  }

  static constexpr int most_warnings = 10;

  const FlatModel& model_;
  const Graph& graph_;
  Diagnostics& diagnostics_;
  std::map<std::string, Known> declared_;
  std::vector<Known> units_;  ///< of nodes
  std::vector<bool> known_;
  int warnings_ = 0;
};

}  // namespace

Unit Unit::times(const Unit& other, double power) const {
  Unit result = *this;
  for (std::size_t k = 0; k < exponents.size(); ++k) result.exponents[k] += power * other.exponents[k];
  result.factor *= std::pow(other.factor, power);
  return result;
}

bool Unit::operator==(const Unit& other) const {
  for (std::size_t k = 0; k < exponents.size(); ++k) {
    if (std::abs(exponents[k] - other.exponents[k]) > 1e-6) return false;
  }
  return std::abs(factor - other.factor) <= 1e-9 * std::abs(factor);
}

std::optional<Unit> unit_of(std::string_view text) {
  return UnitText(text).whole();
}

std::string text_of(const Unit& unit) {
  for (const NamedUnit& one : named_units()) {
    if (unit == one.unit) return one.symbol == std::string_view("rad") ? "1" : one.symbol;
  }
  std::string above;
  std::string below;
  for (std::size_t k = 0; k < unit.exponents.size(); ++k) {
    const double exponent = unit.exponents[k];
    if (std::abs(exponent) < 1e-6) continue;
    std::string& side = exponent > 0.0 ? above : below;
    const bool first = std::abs(std::abs(exponent) - 1.0) < 1e-6;
    side += fmt::format("{}{}{}", side.empty() ? "" : ".", Unit::base[k],
                        first ? "" : fmt::format("{:.3g}", std::abs(exponent)));
  }
  const bool several = below.find('.') != std::string::npos;
  const std::string whole = fmt::format("{}{}{}{}{}", above.empty() ? "1" : above, below.empty() ? "" : "/",
                                        several ? "(" : "", below, several ? ")" : "");
  const bool coherent = std::abs(unit.factor - 1.0) < 1e-9;
  return coherent ? whole : fmt::format("{:.6g} {}", unit.factor, whole);
}

void check_units(const FlatModel& model, Diagnostics& diagnostics) {
  UnitCheck(model, diagnostics).check();
}

}  // namespace manyfold::modelica
