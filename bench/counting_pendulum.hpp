#pragma once
// The pendulum of `problems/pendulum` with an event at every passage of its lowest point, until there were `limit`.
#include <manyfold/model.hpp>

struct CountingPendulum {
  static constexpr const char* name = "counting_pendulum";
  static constexpr double t_span[] = {0.0, 100.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "x"}, {.name = "z"}, {.name = "u"}, {.name = "w"}, {.name = "lambda", .algebraic = true}};
  enum Constants { g, L, angle, limit, passages };
  static constexpr manyfold::Parameter parameters[] = {{.name = "g", .value = 13.7503716360407456549801915596},
                                                       {.name = "L", .value = 1.0},
                                                       {.name = "angle", .value = 1.57079632679489662},
                                                       {.name = "limit", .value = 100.0}};
  static constexpr manyfold::Event events[] = {{.name = "passes"}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "passages"}};

  static constexpr void initial(const auto& p, auto& y) {
    y[0] = p[L] * sin(p[angle]);
    y[1] = -p[L] * cos(p[angle]);
    y[4] = -p[g] * y[1] / (p[L] * p[L]);
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[4] * y[0];
    f[3] = -y[4] * y[1] - p[g];
    f[4] = y[2] * y[2] + y[3] * y[3] - y[4] * p[L] * p[L] - p[g] * y[1];
  }
  static constexpr void jacobian(const auto&, const auto& y, const auto& p, auto& J) {
    J(0, 2) = 1.0;
    J(1, 3) = 1.0;
    J(2, 0) = -y[4];
    J(2, 4) = -y[0];
    J(3, 1) = -y[4];
    J(3, 4) = -y[1];
    J(4, 1) = -p[g];
    J(4, 2) = 2.0 * y[2];
    J(4, 3) = 2.0 * y[3];
    J(4, 4) = -p[L] * p[L];
  }
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& value) {
    value[0] = select(p[passages] < p[limit], y[0], 1.0 + 0.0 * y[0]);
  }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto& p, auto& d) {
    d[0] = p[passages] + 1.0;
  }
};
MANYFOLD_MODEL(CountingPendulum);
