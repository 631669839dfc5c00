#pragma once
// Bodies that exchange heat, each with all others and each with a source of its own: full matrices, for the phased
// tier, and a solution in closed form. With s_i = (i - m)/m, which add up to zero, the mean temperature stays zero and
// T_i(t) = q s_i (1 - exp(-k t))/k.
#include <manyfold/model.hpp>

/// f := T' for the temperatures y; returns their mean. `bodies` is odd: 2 m + 1.
template <int bodies>
constexpr auto exchange(const auto& y, const auto& p, auto& f) {
  constexpr double m = (bodies - 1) / 2;
  auto sum = y[0];
  for (int i = 1; i < bodies; ++i) sum = sum + y[i];
  const auto mean = sum * (1.0 / bodies);
  for (int i = 0; i < bodies; ++i) f[i] = p[0] * (mean - y[i]) + p[1] * ((i - m) / m);
  return mean;
}

template <int bodies>
struct ExchangeOf {
  static constexpr const char* name = "exchange";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "T", .count = bodies},
                                                     {.name = "mean", .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .value = 3.0}, {.name = "q", .value = 1.0}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[bodies] = y[bodies] - exchange<bodies>(y, p, f);
  }
};
