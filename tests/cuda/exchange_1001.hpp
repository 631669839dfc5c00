#pragma once
// As exchange_of.hpp, without the mean: what the compiler finds out of algebraic variables takes long among so many.
#include "exchange_of.hpp"

struct Exchange1001 {
  static constexpr int bodies = 1001;
  static constexpr const char* name = "exchange_1001";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr manyfold::Variable variables[] = {{.name = "T", .count = bodies}};
  static constexpr manyfold::Parameter parameters[] = {{.name = "k", .value = 3.0}, {.name = "q", .value = 1.0}};

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) { exchange<bodies>(y, p, f); }
};
MANYFOLD_MODEL(Exchange1001);
