#include "host/modelica/tables.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace manyfold::modelica {
namespace {

/// Slopes at the abscissas of Akima's spline, J. ACM 17 (1970), two differences being added on each side. `little`: the
/// weight of the sum of two differences, which keeps the spline flat where three points are level.
std::vector<double> akima_slopes(const std::vector<double>& differences, double little) {
  const std::size_t intervals = differences.size();
  std::vector<double> d(intervals + 4);
  std::copy(differences.begin(), differences.end(), d.begin() + 2);
  d[1] = 2.0 * d[2] - d[3];
  d[0] = 2.0 * d[1] - d[2];
  d[intervals + 2] = 2.0 * d[intervals + 1] - d[intervals];
  d[intervals + 3] = 2.0 * d[intervals + 2] - d[intervals + 1];
  std::vector<double> slopes;
  for (std::size_t i = 0; i <= intervals; ++i) {
    const double before = std::abs(d[i + 1] - d[i]) + little * std::abs(d[i + 1] + d[i]);
    const double after = std::abs(d[i + 3] - d[i + 2]) + little * std::abs(d[i + 3] + d[i + 2]);
    const double sum = before + after;
    if (sum > 0.0) {
      slopes.push_back((after * d[i + 1] + before * d[i + 2]) / sum);
    } else {
      slopes.push_back(little > 0.0 ? 0.0 : 0.5 * (d[i + 1] + d[i + 2]));
    }
  }
  return slopes;
}

/// `inside(h0, h1, d0, d1)`: the slope between two intervals that have one sign; otherwise it is level there.
std::vector<double> monotone_slopes(const std::vector<double>& x, const std::vector<double>& d,
                                    const std::function<double(double, double, double, double)>& inside) {
  std::vector<double> slopes = {d.front()};
  for (std::size_t i = 1; i < d.size(); ++i) {
    slopes.push_back(d[i - 1] * d[i] > 0.0 ? inside(x[i] - x[i - 1], x[i + 1] - x[i], d[i - 1], d[i]) : 0.0);
  }
  slopes.push_back(d.back());
  return slopes;
}

std::vector<double> slopes_of(Smoothness smoothness, const std::vector<double>& x, const std::vector<double>& d) {
  switch (smoothness) {
    case Smoothness::fritsch_butland:
      return monotone_slopes(x, d, [](double h0, double h1, double d0, double d1) {
        return 3.0 * (h0 + h1) / ((h0 + 2.0 * h1) / d0 + (2.0 * h0 + h1) / d1);
      });
    case Smoothness::steffen:
      return monotone_slopes(x, d, [](double h0, double h1, double d0, double d1) {
        const double parabola = std::abs((d0 * h1 + d1 * h0) / (h0 + h1));
        return std::copysign(2.0 * std::min({std::abs(d0), std::abs(d1), 0.5 * parabola}), d0);
      });
    case Smoothness::modified_akima:
      return akima_slopes(d, 0.5);
    default:
      return akima_slopes(d, 0.0);
  }
}

bool is_spline(const Table& table) {
  return table.smoothness != Smoothness::linear && table.smoothness != Smoothness::constant && table.x.size() > 2;
}

void add_extrapolation(const Table& table, const std::vector<double>& y, Pieces& result) {
  result.left = {table.x.front(), {y.front()}};
  result.right = {table.x.back(), {y.back()}};
  const std::size_t n = table.x.size();
  if (table.extrapolation != Extrapolation::last_two_points || n < 2) return;
  if (is_spline(table)) {
    const Piece& last = result.inner.back();
    const double h = table.x[n - 1] - last.from;
    result.left.c[1] = result.inner.front().c[1];
    result.right.c[1] = last.c[1] + h * (2.0 * last.c[2] + 3.0 * h * last.c[3]);
    return;
  }
  const auto slope = [&](std::size_t i) {
    const double h = table.x[i + 1] - table.x[i];
    return h > 0.0 ? (y[i + 1] - y[i]) / h : 0.0;
  };
  result.left.c[1] = slope(0);
  result.right.c[1] = slope(n - 2);
}

}  // namespace

Pieces pieces_of(const Table& table, std::size_t column) {
  const std::vector<double>& x = table.x;
  const std::vector<double>& y = table.columns[column];
  Pieces result;
  std::vector<double> differences;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i > 0 && x[i] == x[i - 1]) {
      if (is_spline(table)) return {};
      result.jumps.back() = true;
      continue;
    }
    result.bounds.push_back(x[i]);
    result.jumps.push_back(table.smoothness == Smoothness::constant);
  }
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double h = x[i + 1] - x[i];
    if (h == 0.0) continue;
    differences.push_back((y[i + 1] - y[i]) / h);
    result.inner.push_back({x[i], {y[i], table.smoothness == Smoothness::constant ? 0.0 : differences.back()}});
  }
  if (is_spline(table)) {
    const std::vector<double> slopes = slopes_of(table.smoothness, x, differences);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double h = x[i + 1] - x[i];
      double(&c)[4] = result.inner[i].c;
      c[1] = slopes[i];
      c[2] = (3.0 * differences[i] - 2.0 * slopes[i] - slopes[i + 1]) / h;
      c[3] = (slopes[i] + slopes[i + 1] - 2.0 * differences[i]) / (h * h);
    }
  }
  add_extrapolation(table, y, result);
  return result;
}

}  // namespace manyfold::modelica
