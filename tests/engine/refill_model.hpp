#pragma once
// Robertson's kinetics with what may happen to an instance, each chosen by a parameter: events that add reactant, a
// rate that ceases to be a number, and a forcing that takes very many steps. Without the algebraic equation for
// explicit methods.
#include <manyfold/model.hpp>

template <bool algebraic>
struct RefillModel {
  static constexpr const char* name = "refill";
  static constexpr double t_span[] = {0.0, 0.1};
  static constexpr manyfold::Variable variables[] = {
      {.name = "y1", .initial = 1.0}, {.name = "y2"}, {.name = "y3", .algebraic = algebraic}};
  enum { k1, k2, k3, threshold, domain, frequency, total };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k1", .value = 0.04},
      {.name = "k2", .value = 1e4},
      {.name = "k3", .value = 3e7},
      {.name = "threshold", .description = "where y1 falls below, reactant is added; never for -1", .value = -1.0},
      {.name = "domain", .description = "a rate contains sqrt(1 - domain t)", .value = 0.0},
      {.name = "frequency", .description = "of a forcing: very many steps for 1e7", .value = 1.0}};
  static constexpr manyfold::Discrete discrete[] = {{.name = "total", .initial = 1.0}};
  static constexpr manyfold::Event events[] = {{.name = "low", .direction = -1}};
  static constexpr void root(const auto&, const auto& y, const auto&, const auto& p, auto& g) {
    g[0] = y[0] - p[threshold];
  }
  static constexpr void action(auto, const auto&, auto& y, const auto&, const auto&, auto& d) {
    y[0] += 0.001;
    d[0] += 0.001;
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    const auto consumed = p[k1] * y[0] * sqrt(1.0 - p[domain] * t);
    const auto returned = p[k2] * y[1] * y[2];
    const auto forced = p[k1] * sin(p[frequency] * t);
    f[0] = returned - consumed + forced;
    f[1] = consumed - forced - returned - p[k3] * y[1] * y[1];
    if constexpr (algebraic) {
      f[2] = y[0] + y[1] + y[2] - p[total];
    } else {
      f[2] = p[k3] * y[1] * y[1];
    }
  }
};
