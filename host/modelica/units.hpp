#pragma once
// Units of measurement, as far as equations are checked by them.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "host/modelica/diagnostics.hpp"
#include "host/modelica/flat_model.hpp"

namespace manyfold::modelica {

/// A product of powers of the base units of the SI, times a factor.
struct Unit {
  static constexpr std::array<const char*, 7> base = {"m", "kg", "s", "A", "K", "mol", "cd"};

  std::array<double, 7> exponents{};  ///< of `base`
  double factor = 1.0;

  Unit times(const Unit& other, double power = 1.0) const;
  Unit to_power(double power) const { return Unit{}.times(*this, power); }
  /// But for rounding. Units of plane angle are numbers; degrees Celsius are as long as kelvins.
  bool operator==(const Unit& other) const;
};

/// The unit that Modelica's text stands for (Modelica 3.6, chapter 19): "N.m/rad", "kg.m2/s2", "1/(m2.K)", "mm";
/// nothing if that is none.
std::optional<Unit> unit_of(std::string_view text);

/// The shortest that stands for the unit, as "V" or "kg.m/s2".
std::string text_of(const Unit& unit);

/// Warns of units that do not exist, and where two that are known meet and are different: two sides of an equation,
/// terms of a sum, branches of a choice, both sides of a relation, and functions of what is no number. What has no unit
/// fits everything. So do the time, which models may count in hours, sin(time), which may be a voltage, and products
/// with numbers that may convert units or have one, such as 1000 or 9.81.
void check_units(const FlatModel& model, Diagnostics& diagnostics);

}  // namespace manyfold::modelica
