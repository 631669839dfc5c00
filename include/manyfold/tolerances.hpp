#pragma once
// Which tolerances make sense. The command, sweep files and `Ensemble` ask here.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace manyfold {

/// The least rtol: ten times the distance from 1 to the next number, as RADAU5 has it. In single precision rounding
/// errors add up to more.
inline double least_rtol(const std::string& precision) {
  return precision == "float32" ? 1e-5 : 10.0 * 2.220446049250313e-16;
}

/// What is wrong with rtol, "is X, but ..."; empty: nothing.
inline std::string rtol_problem(double rtol, const std::string& precision = "float64") {
  if (rtol >= least_rtol(precision) && rtol < 1.0) return "";
  char text[200];
  if (rtol > 0.0 && rtol < 1.0 && precision == "float32") {
    std::snprintf(text, sizeof text,
                  "is %g, but precision 'float32' needs at least %g: 'mixed' and 'float64' reach less", rtol,
                  least_rtol(precision));
  } else {
    std::snprintf(text, sizeof text, "is %g, but must be at least %.7g, ten times the rounding error, and less than 1",
                  rtol, least_rtol(precision));
  }
  return text;
}

/// Shorter time spans have steps that are no normal numbers.
inline constexpr double least_span = 1e-290;

/// What is wrong with an absolute tolerance; empty: nothing.
inline std::string atol_problem(double atol) {
  if (atol > 0.0 && std::isfinite(atol)) return "";
  char text[80];
  std::snprintf(text, sizeof text, "is %g, but must be finite and greater than 0", atol);
  return text;
}

}  // namespace manyfold
