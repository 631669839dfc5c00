#pragma once
// Tables of the Modelica Standard Library: what its C functions compute, as pieces of polynomials.
#include <vector>

namespace manyfold::modelica {

/// Numbered as the literals of the library's enumerations.
enum class Smoothness { linear = 1, akima, constant, fritsch_butland, steffen, modified_akima };
enum class Extrapolation { hold = 1, last_two_points, periodic, none };
enum class TimeEvents { always = 1, at_jumps, never };

struct Table {
  std::vector<double> x;
  std::vector<std::vector<double>> columns;  ///< those that are asked for; of two abscissas one for each of the first
  std::vector<double> rows;                  ///< the first of two abscissas, of which x is then the second
  Smoothness smoothness = Smoothness::linear;
  Extrapolation extrapolation = Extrapolation::hold;
  TimeEvents events = TimeEvents::always;
  bool of_time = false;
  double start_time = -1e60;
  double shift_time = 0.0;

  double period() const { return x.back() - x.front(); }
};

/// c[0] + d (c[1] + d (c[2] + d c[3])) with d = x - from.
struct Piece {
  double from = 0.0;
  double c[4] = {};
};

/// One piece for each interval between two abscissas that differ; then those on the left and on the right of all.
struct Pieces {
  std::vector<double> bounds;  ///< abscissas that differ
  std::vector<bool> jumps;     ///< does the function jump there?
  std::vector<Piece> inner;
  Piece left;
  Piece right;
};

/// Empty bounds: a spline through abscissas that repeat.
Pieces pieces_of(const Table& table, std::size_t column);

}  // namespace manyfold::modelica
