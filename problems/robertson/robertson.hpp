#pragma once
// Robertson's chemical kinetics as a differential-algebraic system: three species, one of them from conservation of
// mass. Rates span nine orders of magnitude. H. H. Robertson (1966); Hairer & Wanner II, (IV.1.4); the DAE form is that
// of SUNDIALS' idaRoberts_dns.
#include <manyfold/model.hpp>

struct Robertson {
  static constexpr const char* name = "robertson";
  static constexpr const char* description =
      "Robertson's chemical kinetics, conservation of mass as algebraic equation";
  static constexpr double t_span[] = {0.0, 1e5};
  static constexpr manyfold::Variable variables[] = {
      {.name = "y1", .description = "species A", .initial = 1.0},
      {.name = "y2", .description = "species B", .initial = 0.0},
      {.name = "y3", .description = "species C", .initial = 0.0, .algebraic = true}};
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k1", .unit = "s-1", .description = "rate of A -> B", .value = 0.04},
      {.name = "k2", .unit = "s-1", .description = "rate of B + C -> A + C", .value = 1e4},
      {.name = "k3", .unit = "s-1", .description = "rate of 2 B -> B + C", .value = 3e7}};

  static constexpr void rhs(auto, const auto& y, const auto& p, auto& f) {
    const auto consumed = p[0] * y[0];
    const auto returned = p[1] * y[1] * y[2];
    f[0] = returned - consumed;
    f[1] = consumed - returned - p[2] * y[1] * y[1];
    f[2] = y[0] + y[1] + y[2] - 1.0;
  }

  static constexpr void jacobian(auto, const auto& y, const auto& p, auto& J) {
    J(0, 0) = -p[0];
    J(0, 1) = p[1] * y[2];
    J(0, 2) = p[1] * y[1];
    J(1, 0) = p[0];
    J(1, 1) = -(p[1] * y[2]) - 2.0 * p[2] * y[1];
    J(1, 2) = -(p[1] * y[1]);
    J(2, 0) = 1.0;
    J(2, 1) = 1.0;
    J(2, 2) = 1.0;
  }
};
MANYFOLD_MODEL(Robertson);
