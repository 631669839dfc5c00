#pragma once
// In what measure errors of the built-in problems are compared with the tolerance.
#include <string>
#include <vector>

namespace manyfold::test {

/// Components that are small beside the others count relative to this: the tolerance does not ask for more.
inline std::vector<double> error_scales(const std::string& model, std::size_t n) {
  if (model == "robertson") return {1.0, 1e-4, 1.0};
  if (model == "rlc_index0") return {10, 10, 10, 10, 10, 1, 1, 1, 1, 1};
  if (model == "rlc_index1") return {10, 10, 10, 10, 10, 1, 1, 1, 1, 1};
  if (model == "rlc_index2") return {10, 10, 10, 10, 10, 0.1, 0.1, 0.1, 0.1, 0.1};
  if (model == "das1") return {5, 5, 5, 5, 17, 3.5, 54, 71};
  if (model == "transistor_amplifier") return std::vector<double>(n, 6.0);
  if (model == "das2") return {100, 1, 2, 300, 1, 20, 20, 100, 100, 200};
  // Positions, velocities and accelerations, of rotation, sliding and elastic coordinates each; multipliers.
  if (model == "slider_crank") {
    return {1,   1,   0.1,  1e-3, 1e-3, 1e-4, 1e-4, 100,  100,  10,  1,   1,
            0.1, 0.1, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 100, 100, 100};
  }
  if (model == "thermostat") return {20};
  if (model == "rectifier") return {10, 1, 10};
  return std::vector<double>(n, 1.0);
}

/// The multiple of rtol that the error may have: 30, and 100 where a constraint drifts.
inline double error_allowance(const std::string& model) {
  return model == "pendulum" || model == "bouncing_ball_track" ? 100.0 : 30.0;
}

}  // namespace manyfold::test
