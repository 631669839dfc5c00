#pragma once
// Radio-labelled antibodies penetrate a tissue that a tumour has infected and react there: Test Set for IVP Solvers,
// problem "Medical Akzo Nobel" (van der Houwen & de Swart). A reaction and diffusion in one dimension by the method of
// lines, on zeta in [0, 1], to which the half line is mapped; the supply at zeta = 0 ends at t_off.
#include <manyfold/model.hpp>

template <int cells>
struct MedicalAkzoNobel {
  static_assert(cells >= 10 && cells <= 400);
  static constexpr const char* name = "medical_akzo_nobel";
  static constexpr const char* description =
      "antibodies that diffuse into a tissue and react there: method of lines, supply that ends";
  static constexpr manyfold::Structural structural = {"cells", cells, 10, 400};
  static constexpr double t_span[] = {0.0, 20.0};
  static constexpr manyfold::Variable variables[] = {
      {.name = "u", .description = "concentration of the antibody", .count = cells},
      {.name = "v", .description = "concentration of the substrate", .initial = 1.0, .count = cells}};
  enum { k, c, phi, t_off, scale, supply };
  static constexpr manyfold::Parameter parameters[] = {
      {.name = "k", .description = "rate of the reaction", .value = 100.0},
      {.name = "c", .description = "of the map of the half line, x = c zeta/(1 - zeta)", .value = 4.0},
      {.name = "phi", .description = "concentration supplied", .value = 2.0},
      {.name = "t_off", .description = "end of the supply", .value = 5.0}};
  static constexpr int derived = 1;
  static constexpr void derive(auto& p) { p[scale] = 1.0 / (p[c] * p[c]); }

  static constexpr manyfold::Discrete discrete[] = {{.name = "supply", .description = "concentration at zeta = 0"}};
  static constexpr void initial_discrete(const auto&, const auto& p, auto& d) { d[0] = p[phi]; }
  static constexpr manyfold::Event events[] = {{.name = "off", .description = "the supply ends", .scheduled = 1}};
  static constexpr void event_times(const auto& p, auto& times) { times[0] = p[t_off]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto&, auto& d) { d[0] = 0.0; }

  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    const auto reaction = [&](int j) { return p[k] * y[j] * y[cells + j]; };
    // Convection and diffusion at zeta = (j + 1)/cells, the factors of the map being those of one node.
    const auto transport = [&](int j, const auto& left, const auto& here, const auto& right) {
      const double x = (j + 1.0) / cells - 1.0;
      const double convection = x * x * x * cells;
      const double diffusion = x * x * x * x * cells * cells;
      return p[scale] * (convection * (right - left) + diffusion * (left - 2.0 * here + right));
    };
    f[0] = transport(0, p[supply], y[0], y[1]) - reaction(0);
    for (int j = 1; j < cells - 1; ++j) f[j] = transport(j, y[j - 1], y[j], y[j + 1]) - reaction(j);
    f[cells - 1] = -reaction(cells - 1);
    for (int j = 0; j < cells; ++j) f[cells + j] = -reaction(j);
  }
};
MANYFOLD_MODEL(MedicalAkzoNobel<manyfold::structural_value(200)>);
