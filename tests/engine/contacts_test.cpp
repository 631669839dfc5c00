// Contacts that end, or that a bounce leaves, close to where the next one begins: no contact is lost. Between events
// the models are linear, and the references have their closed solutions.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/accuracy.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

/// A force pushes a mass against a damped spring. The contact ends where its force vanishes: a little before the spring
/// is as long as without load, in the way of the mass that begins the next contact.
struct Wall {
  static constexpr const char* name = "wall";
  static constexpr double t_span[] = {0.0, 4.0};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "v"}};
  enum { k, c, place, contact };
  static constexpr Parameter parameters[] = {
      {.name = "k", .value = 400.0}, {.name = "c", .value = 4.0}, {.name = "place", .value = 100.0}};
  static constexpr Discrete discrete[] = {{.name = "contact"}};
  static constexpr Event events[] = {{.name = "touch", .direction = 1}, {.name = "free", .direction = -1}};
  static constexpr void initial(const auto& p, auto& y) { y[0] = p[place] - 0.1; }
  static constexpr auto force(const auto& y, const auto& p) { return p[k] * (y[0] - p[place]) + p[c] * y[1]; }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = 0.5 - p[contact] * force(y, p);
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = select(p[contact] == 0.0, y[0] - p[place], -1.0);
    g[1] = select(p[contact] == 1.0, force(y, p), 1.0);
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    d[0] = event == 0 ? 1.0 : 0.0;
  }
};

/// A force that turns presses a mass against a stop from which it bounces, the last time for a moment only.
struct Stop {
  static constexpr const char* name = "stop";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0}, {.name = "v"}};
  static constexpr Parameter parameters[] = {{.name = "e", .value = 0.6}, {.name = "w", .value = 1.0}};
  static constexpr Event events[] = {{.name = "hit", .direction = 1}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = cos(p[1] * t);
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0] - 1.5; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto&) { y[1] = -p[0] * y[1]; }
};

/// A ball is thrown up against a stiff pad, which it touches near the top of its flight: no event, and no time in the
/// equations. The flight is a parabola, of which no error estimate says where it ends.
struct Pad {
  static constexpr const char* name = "pad";
  static constexpr double t_span[] = {0.0, 1.6};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "v"}};
  enum { speed, height, stiffness };
  static constexpr Parameter parameters[] = {
      {.name = "initial_speed", .value = 10.0}, {.name = "height", .value = 4.9}, {.name = "stiffness", .value = 1e4}};
  static constexpr void initial(const auto& p, auto& y) { y[1] = p[speed]; }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = -10.0 - p[stiffness] * max(y[0] - p[height], 0.0);
  }
};

/// Three wagons, the first of which is braked for a while, with slack and damped couplings: a coupling pushes beyond a
/// gap and pulls beyond it on the other side, until its force vanishes. One begins while the other ends.
struct Train {
  static constexpr const char* name = "train";
  static constexpr double t_span[] = {0.0, 12.0};
  static constexpr Variable variables[] = {{.name = "x", .count = 3},
                                           {.name = "v", .initial = 2.0, .count = 3},
                                           {.name = "F", .algebraic = true, .count = 2}};
  enum { m, k, c, gap, braking, begin, mode };
  static constexpr Parameter parameters[] = {{.name = "m", .value = 2.0},       {.name = "k", .value = 400.0},
                                             {.name = "c", .value = 4.0},       {.name = "gap", .value = 0.1},
                                             {.name = "braking", .value = 3.0}, {.name = "begin", .value = 1.0}};
  static constexpr Discrete discrete[] = {{.name = "mode1"}, {.name = "mode2"}, {.name = "brake"}};
  static constexpr Event events[] = {
      {.name = "push1", .direction = 1},  {.name = "free1", .direction = -1}, {.name = "pull1", .direction = -1},
      {.name = "loose1", .direction = 1}, {.name = "push2", .direction = 1},  {.name = "free2", .direction = -1},
      {.name = "pull2", .direction = -1}, {.name = "loose2", .direction = 1}, {.name = "brake", .scheduled = 2}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < 3; ++i) f[i] = y[3 + i];
    f[3] = (y[6] - p[mode + 2] * p[braking]) / p[m];
    f[4] = (y[7] - y[6]) / p[m];
    f[5] = (0.5 - y[7]) / p[m];
    for (int i = 0; i < 2; ++i) {
      const auto d = y[i + 1] - y[i];
      const auto w = y[4 + i] - y[3 + i];
      f[6 + i] = select(p[mode + i] == 0.0, 0.0 * d, p[k] * (d - p[mode + i] * p[gap]) + p[c] * w) - y[6 + i];
    }
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    for (int i = 0; i < 2; ++i) {
      const auto d = y[i + 1] - y[i];
      g[4 * i] = select(p[mode + i] == 0.0, d - p[gap], -1.0);
      g[4 * i + 1] = select(p[mode + i] == 1.0, y[6 + i], 1.0);
      g[4 * i + 2] = select(p[mode + i] == 0.0, d + p[gap], 1.0);
      g[4 * i + 3] = select(p[mode + i] == -1.0, y[6 + i], -1.0);
    }
  }
  static constexpr void event_times(const auto& p, auto& times) {
    times[0] = p[begin];
    times[1] = p[begin] + 3.0;
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto& p, auto& d) {
    if constexpr (event == 8) {
      d[2] = 1.0 - p[mode + 2];
    } else {
      d[event / 4] = event % 4 == 0 ? 1.0 : event % 4 == 2 ? -1.0 : 0.0;
    }
  }
};

/// The first zero behind `begin`, from below, of a function that is sampled at steps of 1e-4; `end` if there is none.
double first_rise(double begin, double end, auto&& function) {
  constexpr double step = 1e-4;
  for (double t = begin; t < end; t += step) {
    if (!(function(t) < 0.0 && function(t + step) >= 0.0)) continue;
    double low = t;
    double high = t + step;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (low + high);
      (function(middle) < 0.0 ? low : high) = middle;
    }
    return std::min(high, end);
  }
  return end;
}

struct Exact {
  double x = 0.0;
  double v = 0.0;
  int events = 0;
  double depth = 1.0;  ///< least distance that the mass goes from its place, or into it, between events
};

/// The mass in front of a wall at 100.
Exact exact_wall(double k, double c, double t_end) {
  Exact result;
  double x = -0.1;
  double v = 0.0;
  double t = 0.0;
  bool contact = false;
  while (t < t_end) {
    const double rest = 0.5 / k;
    const std::complex<double> rate(-0.5 * c, std::sqrt(k - 0.25 * c * c));
    // x = rest + Re(A exp(rate s)) in contact.
    const std::complex<double> A(x - rest, (0.5 * c * (rest - x) - v) / rate.imag());
    const auto position = [&](double s) { return rest + std::real(A * std::exp(rate * s)); };
    const auto speed = [&](double s) { return std::real(A * rate * std::exp(rate * s)); };
    double end;
    if (contact) {
      end = t + first_rise(1e-6, t_end - t, [&](double s) { return -k * position(s) - c * speed(s); });
    } else {
      // Down first, if it begins behind the place.
      end = t + first_rise(0.0, t_end - t, [&](double s) { return x + s * (v + 0.25 * s); });
      result.depth = std::min(result.depth, v < 0.0 ? v * v - x : 1.0);
    }
    const double s = end - t;
    const double next_x = contact ? position(s) : x + s * (v + 0.25 * s);
    v = contact ? speed(s) : v + 0.5 * s;
    x = next_x;
    t = end;
    if (t >= t_end) break;
    contact = !contact;
    ++result.events;
  }
  result.x = 100.0 + x;
  result.v = v;
  return result;
}

Exact exact_stop(double e, double w, double t_end) {
  Exact result;
  double x = 1.0;
  double v = 0.0;
  double t = 0.0;
  while (true) {
    const double A = x + std::cos(w * t) / (w * w);
    const double B = v - std::sin(w * t) / w;
    const auto position = [&, from = t](double s) { return A + B * (s - from) - std::cos(w * s) / (w * w); };
    double farthest = 0.0;
    for (double s = t; s < t_end; s += 1e-4) {
      farthest = std::max(farthest, 1.5 - position(s));
      if (s > t + 1e-3 && position(s) > 1.5) break;
    }
    result.depth = std::min(result.depth, farthest);
    const double end = first_rise(t + 1e-9, t_end, [&](double s) { return position(s) - 1.5; });
    x = position(end);
    v = B + std::sin(w * end) / w;
    t = end;
    if (t >= t_end) break;
    x = 1.5;
    v = -e * v;
    ++result.events;
  }
  result.x = x;
  result.v = v;
  return result;
}

/// The wagons, by the classical Runge-Kutta method with steps of 1e-3, whose error is below 1e-8; events are bisected.
class ExactTrain {
 public:
  explicit ExactTrain(const std::vector<double>& p) : p_(p) {}

  /// Positions at the end, and the number of events.
  std::pair<std::array<double, 6>, int> solve() {
    std::array<double, 6> y = {0.0, 0.0, 0.0, 2.0, 2.0, 2.0};
    int events = 0;
    const double stops[] = {p_[Train::begin], p_[Train::begin] + 3.0, Train::t_span[1]};
    double t = 0.0;
    for (int phase = 0; phase < 3; ++phase) {
      brake_ = phase == 1 ? 1.0 : 0.0;
      while (t < stops[phase]) {
        double h = std::min(1e-3, stops[phase] - t);
        const auto before = crossings(y);
        int which = crossed(before, crossings(step(y, h)));
        if (which >= 0) {
          double low = 0.0;
          double high = h;
          for (int k = 0; k < 50; ++k) {
            const double middle = 0.5 * (low + high);
            const int found = crossed(before, crossings(step(y, middle)));
            if (found >= 0) which = found;
            (found >= 0 ? high : low) = middle;
          }
          h = high;
        }
        y = step(y, h);
        t = stops[phase] - t <= h ? stops[phase] : t + h;
        if (which < 0) continue;
        mode_[which / 4] = which % 4 == 0 ? 1.0 : which % 4 == 2 ? -1.0 : 0.0;
        ++events;
      }
    }
    return {y, events + 2};
  }

 private:
  using State = std::array<double, 6>;

  double force(const State& y, std::size_t i) const {
    if (mode_[i] == 0.0) return 0.0;
    return p_[Train::k] * (y[i + 1] - y[i] - mode_[i] * p_[Train::gap]) + p_[Train::c] * (y[4 + i] - y[3 + i]);
  }
  State slopes(const State& y) const {
    const double m = p_[Train::m];
    return {y[3],
            y[4],
            y[5],
            (force(y, 0) - brake_ * p_[Train::braking]) / m,
            (force(y, 1) - force(y, 0)) / m,
            (0.5 - force(y, 1)) / m};
  }
  State step(const State& y, double h) const {
    const auto beside = [&](const State& slope, double length) {
      State result = y;
      for (std::size_t i = 0; i < 6; ++i) result[i] += length * slope[i];
      return result;
    };
    const State k1 = slopes(y);
    const State k2 = slopes(beside(k1, 0.5 * h));
    const State k3 = slopes(beside(k2, 0.5 * h));
    const State k4 = slopes(beside(k3, h));
    State sum;
    for (std::size_t i = 0; i < 6; ++i) sum[i] = (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]) / 6.0;
    return beside(sum, h);
  }
  /// Functions whose rise through zero is an event; those of other modes are NaN.
  std::array<double, 8> crossings(const State& y) const {
    std::array<double, 8> g;
    g.fill(std::nan(""));
    for (std::size_t i = 0; i < 2; ++i) {
      const double d = y[i + 1] - y[i];
      if (mode_[i] == 0.0) {
        g[4 * i] = d - p_[Train::gap];
        g[4 * i + 2] = -d - p_[Train::gap];
      } else {
        g[4 * i + (mode_[i] > 0.0 ? 1 : 3)] = -mode_[i] * force(y, i);
      }
    }
    return g;
  }
  static int crossed(const std::array<double, 8>& before, const std::array<double, 8>& after) {
    for (std::size_t i = 0; i < 8; ++i) {
      if (before[i] < 0.0 && after[i] >= 0.0) return static_cast<int>(i);
    }
    return -1;
  }

  const std::vector<double>& p_;
  std::array<double, 2> mode_ = {0.0, 0.0};
  double brake_ = 0.0;
};

/// Instances with the parameters `rows`, against `exact`. `size`: of x.
void expect_contacts(const LoadedKernel& kernel, const std::vector<std::vector<double>>& rows,
                     const std::vector<Exact>& exact, double size, double rtol) {
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.t_end = kernel.model.t_end;
  ensemble.rtol = rtol;
  ensemble.atol.assign(2, 0.01 * rtol);
  for (const auto& row : rows) ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
  const test::Results result = ensemble.solve();
  const double tolerance = rtol * size;
  double largest = 0.0;
  int compared = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // What a mass does within the tolerance may be taken for nothing.
    if (exact[i].depth < 3.0 * tolerance) continue;
    ++compared;
    ASSERT_EQ(result.outcomes[i].status, Status::success) << kernel.kernel->method << " " << rtol << " " << i;
    EXPECT_EQ(result.outcomes[i].counters.events, exact[i].events) << kernel.kernel->method << " " << rtol << " " << i;
    largest = std::max(largest, std::abs(result.values[2 * i] - exact[i].x) / tolerance);
    largest = std::max(largest, std::abs(result.values[2 * i + 1] - exact[i].v) / tolerance);
  }
  std::cout << kernel.model.name << " " << kernel.kernel->method << " " << rtol << ": " << compared << " of "
            << rows.size() << ", largest error " << largest << " tolerances\n";
  EXPECT_GT(compared, static_cast<int>(rows.size()) / 2);
  // Errors of the many steps of bdf add up: 32 in the speed at the wall, at 1e-8.
  EXPECT_LT(largest, kernel.kernel->method == std::string("bdf") ? 60.0 : 30.0);
}

template <class Model>
void expect_contacts_with_all(const std::vector<std::vector<double>>& rows, const std::vector<Exact>& exact,
                              double size) {
  const auto expect = [&](const LoadedKernel& kernel) {
    for (const double rtol : {1e-6, 1e-8}) expect_contacts(kernel, rows, exact, size, rtol);
  };
  test::for_each_kernel<Model, Radau5, Rodas5p, Esdirk54, Bdf>(expect);
}

/// A wheel of spokes without a rim: it stands on one of them and falls over it, to either side. Every impact puts it on
/// the surface of the other event.
struct SpokedWheel {
  static constexpr const char* name = "spoked_wheel";
  static constexpr double t_span[] = {0.0, 15.0};
  static constexpr Variable variables[] = {{.name = "angle"}, {.name = "speed"}};
  enum { half, slope, speed, damping };
  static constexpr Parameter parameters[] = {{.name = "half", .value = 0.3},
                                             {.name = "slope", .value = 0.1},
                                             {.name = "start", .value = 0.6},
                                             {.name = "damping", .value = 0.02}};
  static constexpr Event events[] = {{.name = "forwards", .direction = 1}, {.name = "backwards", .direction = -1}};
  static constexpr void initial(const auto& p, auto& y) {
    y[0] = p[slope] - p[half] + 1e-3;
    y[1] = p[speed];
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = sin(y[0]) - p[damping] * y[1];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - p[slope] - p[half];
    g[1] = y[0] - p[slope] + p[half];
  }
  static constexpr void action(auto event, const auto&, auto& y, const auto&, const auto& p, auto&) {
    constexpr double forwards = event == 0 ? 1.0 : -1.0;
    y[0] = p[slope] - forwards * p[half];
    y[1] = forwards * cos(2.0 * p[half]) * abs(y[1]);
  }
};

/// A driven cart with a pendulum between two stops. It comes to rest at one of them, for a while, by weaker and weaker
/// impacts.
struct CartBetweenStops {
  static constexpr const char* name = "cart_between_stops";
  static constexpr double t_span[] = {0.0, 6.0};
  static constexpr Variable variables[] = {
      {.name = "x"}, {.name = "angle", .initial = 0.3}, {.name = "v"}, {.name = "turn"}};
  enum { M, m, length, amplitude, frequency, restitution, stop };
  static constexpr Parameter parameters[] = {{.name = "M", .value = 1.0},         {.name = "m", .value = 0.3},
                                             {.name = "length", .value = 0.5},    {.name = "amplitude", .value = 8.0},
                                             {.name = "frequency", .value = 5.0}, {.name = "restitution", .value = 0.6},
                                             {.name = "stop", .value = 0.15}};
  static constexpr Event events[] = {{.name = "right", .direction = 1}, {.name = "left", .direction = -1}};
  static constexpr void residual(const auto& t, const auto& y, const auto& dy, const auto& p, auto& F) {
    const auto inertia = p[m] * p[length];
    F[0] = dy[0] - y[2];
    F[1] = dy[1] - y[3];
    F[2] = (p[M] + p[m]) * dy[2] + inertia * (cos(y[1]) * dy[3] - sin(y[1]) * square(y[3])) + 0.5 * y[2] -
           p[amplitude] * sin(p[frequency] * t);
    F[3] = cos(y[1]) * dy[2] + p[length] * dy[3] + 9.81 * sin(y[1]) + 0.2 * y[3];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - p[stop];
    g[1] = y[0] + p[stop];
  }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto&) {
    const auto v = -p[restitution] * y[2];
    y[3] = y[3] - (v - y[2]) * cos(y[1]) / p[length];
    y[2] = v;
  }
};

/// A ball in air that bounces with a loss and never rests.
struct RestlessBall {
  static constexpr const char* name = "restless_ball";
  static constexpr double t_span[] = {0.0, 12.0};
  static constexpr Variable variables[] = {{.name = "x", .initial = 1.0}, {.name = "v"}};
  enum { g, restitution, drag };
  static constexpr Parameter parameters[] = {
      {.name = "g", .value = 9.81}, {.name = "restitution", .value = 0.8}, {.name = "drag", .value = 0.0}};
  static constexpr Event events[] = {{.name = "bounce", .direction = -1}};
  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[0] = dy[0] - y[1];
    F[1] = dy[1] + p[g] + p[drag] * y[1] * abs(y[1]);
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto&, auto& g) { g[0] = y[0]; }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto& p, auto&) {
    y[1] = -p[restitution] * y[1];
  }
};

/// An oscillator that a relay watches: below a threshold next to its lowest point a clock runs, until it is above
/// again.
struct WatchedDip {
  static constexpr const char* name = "watched_dip";
  static constexpr double t_span[] = {0.0, 60.0};
  static constexpr Variable variables[] = {{.name = "x"}, {.name = "v", .initial = 1.0}};
  enum { frequency, depth, below, due };
  static constexpr Parameter parameters[] = {{.name = "frequency", .value = 1.0}, {.name = "depth", .value = 1e-4}};
  static constexpr Discrete discrete[] = {{.name = "below"}, {.name = "due", .initial = 1e30}};
  static constexpr Event events[] = {{.name = "trip", .terminal = true, .scheduled = 1},
                                     {.name = "low", .direction = -1},
                                     {.name = "high", .direction = 1}};
  static constexpr void initial(const auto& p, auto& y) { y[1] = p[frequency]; }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[1];
    f[1] = -square(p[frequency]) * y[0];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    const auto above = y[0] + 1.0 - p[depth];
    g[1] = select(p[below] > 0.5, 1.0 + 0.0 * above, above);
    g[2] = select(p[below] > 0.5, above, -1.0 + 0.0 * above);
  }
  static constexpr void event_times(const auto& p, auto& times) { times[0] = p[due]; }
  static constexpr void action(auto event, const auto& t, auto&, const auto&, const auto&, auto& d) {
    if constexpr (event > 0) d[0] = event == 1 ? 1.0 : 0.0;
    if constexpr (event == 1) d[1] = t + 1.0;
    if constexpr (event == 2) d[1] = 1e30 + 0.0 * t;
  }
};

/// Three oscillators of nearly one speed, each of which counts when it passes a height.
struct NearlyEqual {
  static constexpr const char* name = "nearly_equal";
  static constexpr double t_span[] = {0.0, 30.0};
  static constexpr Variable variables[] = {{.name = "x", .count = 3}, {.name = "v", .count = 3}};
  enum { apart, frequency, height };
  static constexpr Parameter parameters[] = {
      {.name = "apart", .value = 1e-12}, {.name = "frequency", .value = 1.3}, {.name = "height", .value = 0.3}};
  static constexpr Event events[] = {
      {.name = "first", .direction = 1}, {.name = "second", .direction = 1}, {.name = "third", .direction = 1}};
  static constexpr void initial(const auto& p, auto& y) {
    for (int i = 0; i < 3; ++i) y[3 + i] = 1.0 + i * p[apart];
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    for (int i = 0; i < 3; ++i) {
      f[i] = y[3 + i];
      f[3 + i] = -square(p[frequency]) * y[i];
    }
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    for (int i = 0; i < 3; ++i) g[i] = y[i] - p[height];
  }
};

/// The same, where the discrete state remembers who is above it, and counts how often each has come to be: an action
/// looks at all of them, as those of Modelica models do.
struct NearlyEqualRemembered : NearlyEqual {
  static constexpr const char* name = "nearly_equal_remembered";
  static constexpr Event events[] = {{.name = "first", .direction = 1},        {.name = "second", .direction = 1},
                                     {.name = "third", .direction = 1},        {.name = "first down", .direction = -1},
                                     {.name = "second down", .direction = -1}, {.name = "third down", .direction = -1}};
  static constexpr Discrete discrete[] = {
      {.name = "first above"}, {.name = "second above"}, {.name = "third above"}, {.name = "count of all"}};
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    for (int i = 0; i < 3; ++i) g[i] = g[3 + i] = y[i] - p[height];
  }
  static constexpr void sides(const auto& p, auto& side) {
    for (int i = 0; i < 3; ++i) side[i] = side[3 + i] = select(p[3 + i] > 0.5, 1.0, -1.0);
  }
  static constexpr void actions(const auto& occurring, const auto&, auto& y, const auto&, const auto& p, auto& d,
                                auto&) {
    for (int i = 0; i < 3; ++i) {
      const auto above = ((y[i] > p[height]) | (occurring[i] > 0.5)) & (occurring[3 + i] < 0.5);
      d[3] = d[3] + select(above, 1.0 - d[i], 0.0);
      d[i] = select(above, 1.0, 0.0);
    }
  }
};

/// A ramp that rests at a limit, until what it feeds comes to a height: then it goes back to zero.
struct Ramp {
  static constexpr const char* name = "ramp";
  static constexpr double t_span[] = {0.0, 8.0};
  static constexpr Variable variables[] = {{.name = "T"}, {.name = "s"}};
  enum { limit, rate, height, rises, below, above_zero };
  static constexpr Parameter parameters[] = {
      {.name = "limit", .value = 1.0}, {.name = "rate", .value = 3.0}, {.name = "height", .value = 2.0}};
  static constexpr Event events[] = {{.name = "above zero", .direction = 1},
                                     {.name = "at zero", .direction = -1},
                                     {.name = "below the limit", .direction = 1},
                                     {.name = "at the limit", .direction = -1},
                                     {.name = "high", .direction = 1}};
  static constexpr Discrete discrete[] = {
      {.name = "rises", .initial = 1.0}, {.name = "below", .initial = 1.0}, {.name = "above_zero", .initial = 1.0}};
  static constexpr void initial(const auto&, auto&) {}
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto up = (p[rises] > 0.5) & (p[below] > 0.5);
    const auto down = (p[rises] < 0.5) & (p[above_zero] > 0.5);
    f[0] = select(up, p[rate], select(down, -p[rate], 0.0));
    f[1] = y[0] - 0.3 * y[1];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = g[1] = y[0];
    g[2] = g[3] = p[limit] - y[0];
    g[4] = y[1] - p[height];
  }
  static constexpr void sides(const auto& p, auto& side) {
    side[0] = side[1] = select(p[above_zero] > 0.5, 1.0, -1.0);
    side[2] = side[3] = select(p[below] > 0.5, 1.0, -1.0);
    side[4] = 0.0;
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto&, auto& d) {
    if constexpr (event == 0) d[2] = 1.0;
    if constexpr (event == 1) d[2] = 0.0;
    if constexpr (event == 2) d[1] = 1.0;
    if constexpr (event == 3) d[1] = 0.0;
    if constexpr (event == 4) d[0] = 0.0;
  }
};

constexpr int instances = test::nightly ? 200 : 40;

TEST(Contacts, MayBeginInTheWayOfTheNext) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  std::vector<std::vector<double>> rows;
  std::vector<Exact> exact;
  for (int i = 0; i < instances; ++i) {
    rows.push_back({400.0 * factor(random), 4.0 * factor(random), 100.0});
    exact.push_back(exact_wall(rows.back()[0], rows.back()[1], Wall::t_span[1]));
  }
  expect_contacts_with_all<Wall>(rows, exact, 100.0);
}

TEST(Contacts, MayBeginAgainAtOnce) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  // Its last bounce goes 13 tolerances far. With radau5 the mass was found across late: its speed was off by 194
  // tolerances.
  std::vector<std::vector<double>> rows = {{0.2403788731684082, 0.6995915436147254}};
  std::vector<Exact> exact = {exact_stop(rows[0][0], rows[0][1], Stop::t_span[1])};
  for (int i = 1; i < instances; ++i) {
    rows.push_back({0.2 + 0.5 * uniform(random), 0.6 + 0.8 * uniform(random)});
    exact.push_back(exact_stop(rows.back()[0], rows.back()[1], Stop::t_span[1]));
  }
  expect_contacts_with_all<Stop>(rows, exact, 1.5);
}

/// Every instance ends with success and has `exact` events; where the model counts itself, that count is exact.
void expect_counts(const LoadedKernel& kernel, const std::vector<double>& parameters,
                   const std::vector<std::int64_t>& exact, bool counts_itself = false) {
  test::Ensemble ensemble;
  ensemble.loaded = &kernel;
  ensemble.parameters = parameters;
  ensemble.t_end = kernel.model.t_end;
  ensemble.rtol = 1e-6;
  ensemble.discrete = counts_itself;
  const test::Results result = ensemble.solve();
  const std::size_t columns = result.values.size() / exact.size();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_EQ(result.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
    const double counted =
        counts_itself ? result.values[columns * (i + 1) - 1] : static_cast<double>(result.outcomes[i].counters.events);
    EXPECT_EQ(counted, static_cast<double>(exact[i])) << kernel.kernel->method << " " << i;
  }
}

// The second one occurs where the step to the first ended, and the third was taken to have crossed: of 150 instances
// 75 with rodas5p and 69 with bdf lost it. Where the actions looked at all three, rounding put those back that had
// crossed before, and they crossed again: in 41 of 200 with rodas5p. The counts follow from x = v/w sin(w t).
TEST(Contacts, AtNearlyOneTimeAreAllFound) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> parameters;
  std::vector<std::int64_t> exact;
  for (int i = 0; i < instances; ++i) {
    const double apart = std::pow(10.0, -16.0 + 6.0 * uniform(random));
    const double frequency = 0.8 + 0.8 * uniform(random);
    const double height = 0.1 + 0.3 * uniform(random);
    parameters.insert(parameters.end(), {apart, frequency, height});
    const double turns = (30.0 * frequency - std::asin(frequency * height)) / (2.0 * std::numbers::pi);
    exact.push_back(3 * (1 + static_cast<std::int64_t>(turns)));
  }
  const auto expect = [&](const LoadedKernel& kernel) { expect_counts(kernel, parameters, exact); };
  test::for_each_kernel<NearlyEqual, Rodas5p>(expect);
  test::for_each_kernel<NearlyEqual, Radau5, Esdirk54, Rodas4, Bdf>(expect);
  const auto expect_own = [&](const LoadedKernel& kernel) { expect_counts(kernel, parameters, exact, true); };
  test::for_each_kernel<NearlyEqualRemembered, Rodas5p>(expect_own);
  test::for_each_kernel<NearlyEqualRemembered, Esdirk54, Radau5, Bdf>(expect_own);
}

// Where it rests, errors have put the ramp behind its limit: it leaves that at once when it is to go back, and rounding
// put back the height that had just been reached. In 24 of 400 instances that was reached twice with rodas5p. Before
// it has come to its limit, t = T/rate and s = rate (t/a - (1 - exp(-a t))/a^2) with a = 0.3.
TEST(Contacts, OfWhatRestsAtALimit) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> parameters;
  std::vector<std::int64_t> exact;
  for (int i = 0; i < 4 * instances; ++i) {
    const double limit = 0.8 + 2.2 * uniform(random);
    const double rate = 0.5 + 19.5 * uniform(random);
    const double height = 0.5 + 2.0 * uniform(random);
    parameters.insert(parameters.end(), {limit, rate, height});
    const double t = limit / rate;
    const double s = rate * (t / 0.3 + std::expm1(-0.3 * t) / 0.09);
    exact.push_back(s < height ? 4 : 2);
  }
  const auto expect = [&](const LoadedKernel& kernel) { expect_counts(kernel, parameters, exact); };
  test::for_each_kernel<Ramp, Rodas5p>(expect);
  test::for_each_kernel<Ramp, Radau5, Esdirk54, Rodas4, Bdf>(expect);
}

/// Calls visit(rtol, results) with the ensemble solved at three tolerances, rtol = atol.
void solve_at_tolerances(test::Ensemble& ensemble, const LoadedKernel& kernel, auto&& visit) {
  ensemble.loaded = &kernel;
  ensemble.t_end = kernel.model.t_end;
  ensemble.max_steps = 20000;
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    ensemble.rtol = rtol;
    ensemble.atol.assign(kernel.model.variables.size(), rtol);
    visit(rtol, ensemble.solve());
  }
}

// Where it rocks to rest, impacts have a limit in time. With radau5 an impact below 1e-10 had no side, and up to 8 of
// these 200 wheels fell through the slope, with success.
TEST(Contacts, ThatBecomeWeakerAreNotLost) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  test::Ensemble ensemble;
  for (int i = 0; i < instances; ++i) {
    const double half = 0.2 + 0.2 * uniform(random);
    const double slope = 0.15 * uniform(random);
    const double speed = 0.3 + 0.7 * uniform(random);
    ensemble.parameters.insert(ensemble.parameters.end(), {half, slope, speed, 0.05 * uniform(random)});
  }
  // Rocks to rest: its impacts end in a storm.
  ensemble.parameters.insert(ensemble.parameters.end(),
                             {0.36100058474907604, 0.013916875292676477, 0.3873344652110154, 0.03621540059052211});
  const auto expect = [&](const LoadedKernel& kernel) {
    solve_at_tolerances(ensemble, kernel, [&](double rtol, const test::Results& result) {
      for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        if (result.outcomes[i].status != Status::success) continue;
        const double* p = ensemble.parameters.data() + 4 * i;
        EXPECT_LE(std::abs(result.values[2 * i] - p[1]), 1.001 * p[0])
            << kernel.kernel->method << " " << rtol << " " << i;
      }
      if (kernel.kernel->method == std::string("bdf")) return;
      EXPECT_EQ(result.outcomes.back().status, Status::event_storm) << kernel.kernel->method << " " << rtol;
    });
  };
  test::for_each_kernel<SpokedWheel, Radau5>(expect);
  test::for_each_kernel<SpokedWheel, Rodas5p, Rodas4, Radau9, Bdf>(expect);
}

// An implicit Euler step of half a flight ends on the floor and at rest, and a longer one sinks from its begin,
// whatever the velocity there. Of 200 such balls 1 to 24 with bdf and 26 to 117 with backward_euler went through the
// floor, with success.
TEST(Contacts, OfRestlessBallsEndOnTheFloor) {
  std::mt19937 random(12);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  test::Ensemble ensemble;
  for (int i = 0; i < 5 * instances; ++i) {
    const double drag = i % 2 == 0 ? 0.0 : 0.2 * uniform(random);
    ensemble.parameters.insert(ensemble.parameters.end(),
                               {3.0 + 12.0 * uniform(random), 0.5 + 0.4 * uniform(random), drag});
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    solve_at_tolerances(ensemble, kernel, [&](double rtol, const test::Results& result) {
      std::size_t through = 0;
      for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        through += result.outcomes[i].status == Status::success && result.values[2 * i] < -1e-3 ? 1 : 0;
      }
      std::cout << kernel.kernel->method << " " << rtol << ": " << through << " through the floor\n";
      // Orders above one still lose some, below the tolerance.
      EXPECT_LE(through, kernel.kernel->method == std::string("bdf") ? result.outcomes.size() / 50 : 0) << rtol;
    });
  };
  test::for_each_kernel<RestlessBall, Bdf>(expect);
  test::for_each_kernel<RestlessBall, BackwardEuler>(expect);
  test::for_each_kernel<RestlessBall, Radau5, Esdirk54, Rodas5p, Trbdf2>(expect);
}

// The polynomial of a long step was off by more than weak flights rise. Of 100 random carts 14 come to rest. With
// radau9 at 1e-6 three of them went through the stop, with success, one as far as 0.95 for a stop at 0.05; with
// esdirk54 others went on for 200,000 impacts. These four went through at one tolerance or another.
TEST(Contacts, OfWeakFlightsEndInAStorm) {
  const double rows[][7] = {{1.1741977424125825, 0.34308230563188979, 0.73063334239349698, 7.3957086770566205,
                             5.8454761748759392, 0.34200238388838733, 0.095249571511255016},
                            {0.83307093589168213, 0.17296463929189815, 0.42563378908554089, 4.4469757202549696,
                             4.4040954505383478, 0.34359412049437593, 0.12371050383992199},
                            {1.382229169317962, 0.31794208309371119, 0.37717681627370214, 11.869999434186301,
                             4.665679794221397, 0.36901808585627294, 0.050745872457277574},
                            {1.3662916632305482, 0.35236839780771612, 0.50732508057062431, 4.2956775840055741,
                             3.6491493376092796, 0.33547515537220379, 0.090188564105208702}};
  test::Ensemble ensemble;
  for (const auto& row : rows) ensemble.parameters.insert(ensemble.parameters.end(), std::begin(row), std::end(row));
  const auto expect = [&](const LoadedKernel& kernel) {
    solve_at_tolerances(ensemble, kernel, [&](double rtol, const test::Results& result) {
      for (const InstanceOutcome& outcome : result.outcomes) {
        EXPECT_EQ(outcome.status, Status::event_storm) << kernel.kernel->method << " " << rtol;
      }
    });
  };
  test::for_each_kernel<CartBetweenStops, Radau9>(expect);
  test::for_each_kernel<CartBetweenStops, Radau5, Esdirk54, Sdirk4, Lobatto6>(expect);
}

// No dip lasts longer than 0.36. Where errors of the steps hide it, its end has a direction, and belongs to the side
// from which that comes. Of 2,000 such dips, 9, 404 and 349 had no end with radau5 at the three tolerances, 291, 622
// and 156 with radau9, with success.
TEST(Contacts, OfDipsThatErrorsHideHaveTheirEnd) {
  std::mt19937 random(21);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  test::Ensemble ensemble;
  for (int i = 0; i < 200; ++i) {
    ensemble.parameters.push_back(0.8 + 0.4 * uniform(random));
    ensemble.parameters.push_back(std::pow(10.0, -9.0 + 7.0 * uniform(random)));
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    solve_at_tolerances(ensemble, kernel, [&](double rtol, const test::Results& result) {
      for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        EXPECT_EQ(result.outcomes[i].status, Status::success) << kernel.kernel->method << " " << rtol << " " << i;
      }
    });
  };
  test::for_each_kernel<WatchedDip, Radau5>(expect);
  test::for_each_kernel<WatchedDip, Radau9, Sdirk4, Rodas5p, Esdirk54, Bdf>(expect);
}

/// The ball at time t, behind the contact.
Exact exact_pad(double speed, double height, double stiffness, double t) {
  const double g = 10.0;
  const double entry = std::sqrt(speed * speed - 2.0 * g * height);
  const double frequency = std::sqrt(stiffness);
  const double since = t - (speed - entry) / g - 2.0 / frequency * std::atan2(entry * frequency, g);
  return {height - entry * since - 0.5 * g * since * since, -entry - g * since, 0, 1.0};
}

// Of 200 such balls 134 with bdf, 41 with radau5, 38 with esdirk54 and 10 with rodas5p flew through the pad.
TEST(Contacts, WithoutEventsAreSeenWithinSteps) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<std::vector<double>> rows;
  std::vector<Exact> exact;
  for (int i = 0; i < instances; ++i) {
    // From 13 to 50 % of the flight would be beyond the pad.
    const double share = std::pow(10.0, -0.9 + 0.6 * uniform(random));
    const double speed = 5.0 + 7.0 * uniform(random);
    rows.push_back({speed, speed * speed / 20.0 * (1.0 - share * share), std::pow(10.0, 3.0 + 2.0 * uniform(random))});
    exact.push_back(exact_pad(rows.back()[0], rows.back()[1], rows.back()[2], Pad::t_span[1]));
  }
  expect_contacts_with_all<Pad>(rows, exact, 10.0);
}

// While one coupling is slack for a moment, the other one begins or ends. Of 50 such trains, 17 with radau5, 8 with
// esdirk54 and 5 with rodas5p had another number of events, and 11, 3 and 1 were far off.
TEST(Contacts, OfOneCouplingDoNotHideThoseOfAnother) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  const std::vector<double> nominal = {2.0, 400.0, 4.0, 0.1, 3.0, 1.0};
  std::vector<std::vector<double>> rows;
  std::vector<std::pair<std::array<double, 6>, int>> exact;
  for (int i = 0; i < instances; ++i) {
    rows.push_back(nominal);
    for (double& value : rows.back()) value *= factor(random);
    exact.push_back(ExactTrain(rows.back()).solve());
  }
  const auto expect = [&](const LoadedKernel& kernel) {
    test::Ensemble ensemble;
    ensemble.loaded = &kernel;
    ensemble.t_end = kernel.model.t_end;
    ensemble.rtol = 1e-6;
    ensemble.atol.assign(8, 1e-9);
    for (const auto& row : rows) ensemble.parameters.insert(ensemble.parameters.end(), row.begin(), row.end());
    const test::Results result = ensemble.solve();
    int miscounted = 0;
    int far = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(result.outcomes[i].status, Status::success) << kernel.kernel->method << " " << i;
      miscounted += result.outcomes[i].counters.events == exact[i].second ? 0 : 1;
      double error = 0.0;
      for (std::size_t j = 0; j < 3; ++j) {
        const double x = exact[i].first[j];
        error = std::max(error, std::abs(result.values[8 * i + j] - x) / (1e-6 * (1.0 + std::abs(x))));
      }
      far += error < 100.0 ? 0 : 1;
    }
    std::cout << kernel.kernel->method << ": " << miscounted << " counts are wrong, " << far << " are far off\n";
    // Contacts of less than a tolerance may be lost: 1 of 200 with radau5, with esdirk54 2 that change little.
    EXPECT_LE(miscounted, instances / 40);
    EXPECT_LE(far, instances / 40);
  };
  test::for_each_kernel<Train, Radau5, Rodas5p, Esdirk54>(expect);
}

}  // namespace
}  // namespace manyfold
