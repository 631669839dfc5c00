#pragma once
// As exchange_of.hpp, without the mean: what the compiler finds out of algebraic variables takes long among so many.
#include <manyfold/model.hpp>

struct Exchange1001 {
  static constexpr int bodies = 1001;
  static constexpr const char* name = "exchange_1001";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "T", .count = bodies}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .value = 3.0}, {.name = "q", .value = 1.0}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    constexpr double m = (bodies - 1) / 2;
    auto sum = y[0];
    for (int i = 1; i < bodies; ++i) sum = sum + y[i];
    const auto mean = sum * (1.0 / bodies);
    for (int i = 0; i < bodies; ++i) f[i] = p[0] * (mean - y[i]) + p[1] * ((i - m) / m);
  }
};
MANYFOLD_MODEL(Exchange1001);
