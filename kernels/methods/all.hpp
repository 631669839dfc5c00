#pragma once
// All methods, in the order in which `manyfold info` lists them. A method is a family, which is a class template, with
// a tableau or what takes its place: name, family, order and limits.
#include "bdf.hpp"
#include "dirk.hpp"
#include "dirka.hpp"
#include "dirks.hpp"
#include "explicit.hpp"
#include "radau.hpp"
#include "rosenbrock.hpp"
#include "variable_radau.hpp"

// METHOD(name of the template, family, tableau)
#define MANYFOLD_METHODS(METHOD)                                  \
  METHOD(Radau5, Collocation, RadauIIA5)                          \
  METHOD(Radau, VariableRadau, RadauIIAVariable)                  \
  METHOD(Radau1, Collocation, RadauIIA1)                          \
  METHOD(Radau3, Collocation, RadauIIA3)                          \
  METHOD(Radau9, Collocation, RadauIIA9)                          \
  METHOD(Radau13, Collocation, RadauIIA13)                        \
  METHOD(Lobatto2, Collocation, LobattoIIIC2)                     \
  METHOD(Lobatto4, Collocation, LobattoIIIC4)                     \
  METHOD(Lobatto6, Collocation, LobattoIIIC6)                     \
  METHOD(Esdirk54, DiagonallyImplicit, Esdirk54Tableau)           \
  METHOD(Esdirk43, DiagonallyImplicit, Esdirk43Tableau)           \
  METHOD(Kvaerno54, DiagonallyImplicit, Kvaerno54Tableau)         \
  METHOD(Kvaerno43, DiagonallyImplicit, Kvaerno43Tableau)         \
  METHOD(Trbdf2, DiagonallyImplicit, Trbdf2Tableau)               \
  METHOD(Sdirk4, DiagonallyImplicit, Sdirk4Tableau)               \
  METHOD(Sdirk3, DiagonallyImplicit, Sdirk3Tableau)               \
  METHOD(Sdirk2, DiagonallyImplicit, Sdirk2Tableau)               \
  METHOD(BackwardEuler, DiagonallyImplicit, BackwardEulerTableau) \
  METHOD(Cash4, DiagonallyImplicit, Cash4Tableau)                 \
  METHOD(Dirks, VariableDirk, DirksTriples)                       \
  METHOD(Dirka, Cameron, CameronVariable)                         \
  METHOD(Dirka4, Cameron, CameronOrder4)                          \
  METHOD(Dirka3, Cameron, CameronOrder3)                          \
  METHOD(Dirka2, Cameron, CameronOrder2)                          \
  METHOD(Rodas5p, Rosenbrock, Rodas5PTableau)                     \
  METHOD(Rodas4, Rosenbrock, Rodas4Tableau)                       \
  METHOD(Rodas3, Rosenbrock, Rodas3PTableau)                      \
  METHOD(Bdf, BackwardDifferentiation, BdfFormulas)               \
  METHOD(Dopri54, ExplicitRungeKutta, Dopri54Tableau)             \
  METHOD(Rk4, ExplicitRungeKutta, Rk4Tableau)

namespace manyfold {

#define MANYFOLD_DEFINE_METHOD(NAME, FAMILY, TABLEAU) \
  template <class System, class Real>                 \
  using NAME = FAMILY<TABLEAU, System, Real>;
MANYFOLD_METHODS(MANYFOLD_DEFINE_METHOD)
#undef MANYFOLD_DEFINE_METHOD

}  // namespace manyfold
