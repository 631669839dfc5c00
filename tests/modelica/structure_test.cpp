// Structural index, degrees of freedom, states and loops of the examples of F. E. Cellier's lectures (ETH, 2013), of
// Pryce's pendulum, and of systems whose structure says more than there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <manyfold/error.hpp>

#include "host/modelica/structure.hpp"
#include "tests/modelica/compiled.hpp"

namespace {

using manyfold::modelica::CompiledModel;
using manyfold::test::compiled;
using manyfold::test::model_text;

using Names = std::vector<std::string>;

const std::string circuit = "parameter Real R1 = 1, R2 = 2, R3 = 3, L = 0.5, C = 0.25, C1 = 0.3, C2 = 0.2, R = 1;\n";

CompiledModel rlc_index0() {
  return compiled(model_text(circuit + "Real u0, u1, u2, uL, uC, i0, i1, i2, iL, iC;",
                             "u0 = sin(time); u1 = R1 * i1; u2 = R2 * i2; uL = L * der(iL); iC = C * der(uC);"
                             "u0 = u1 + uC; uL = u1 + u2; uC = u2; i0 = i1 + iL; i1 = i2 + iC;"));
}

CompiledModel rlc_index1() {
  return compiled(model_text(circuit + "Real u0, u1, u2, u3, uL, i0, i1, i2, i3, iL;",
                             "u0 = sin(time); u1 = R1 * i1; u2 = R2 * i2; u3 = R3 * i3; uL = L * der(iL);"
                             "u0 = u1 + u3; uL = u1 + u2; u3 = u2; i0 = i1 + iL; i1 = i2 + i3;"));
}

CompiledModel rlc_index2() {
  return compiled(model_text(circuit + "Real u0, u1, u2, uL, uC, i0, i1, i2, iL, iC;",
                             "u0 = sin(time); u1 = R1 * i1; u2 = R2 * i2; uL = L * der(iL); iC = C * der(uC);"
                             "u0 = u1 + uL; uC = u1 + u2; uL = u2; i0 = i1 + iC; i1 = i2 + iL;"));
}

TEST(ModelStructure, ACircuitWithoutLoop) {
  const CompiledModel model = rlc_index0();
  EXPECT_EQ(model.structural_index, 1);
  EXPECT_EQ(model.freedoms, 2);
  EXPECT_EQ(model.states.size(), 2U);
  EXPECT_EQ(model.largest_block, 1);
  EXPECT_EQ(model.newton_dimension, 2);
}

// The loop of u1, i1, u2, i2, u3, i3, without the alias u3 = u2; it is linear, and no tearing variable is left.
TEST(ModelStructure, ACircuitWithALoop) {
  const CompiledModel model = rlc_index1();
  EXPECT_EQ(model.structural_index, 1);
  EXPECT_EQ(model.freedoms, 1);
  EXPECT_EQ(model.states, Names{"iL"});
  EXPECT_EQ(model.largest_block, 5);
  EXPECT_TRUE(model.tearing_variables.empty());
}

TEST(ModelStructure, ACircuitOfIndex2) {
  const CompiledModel model = rlc_index2();
  EXPECT_EQ(model.structural_index, 2);
  EXPECT_EQ(model.freedoms, 1);
  EXPECT_EQ(model.states, Names{"iL"});
}

TEST(ModelStructure, TwoCapacitorsInParallel) {
  const CompiledModel model =
      compiled(model_text(circuit + "Real u0, uR, u1, u2, i0, i1, i2;",
                          "u0 = sin(time); uR = R * i0; i1 = C1 * der(u1); i2 = C2 * der(u2); u0 = uR + u1; u2 = u1;"
                          "i0 = i1 + i2;"));
  EXPECT_EQ(model.structural_index, 2);
  EXPECT_EQ(model.freedoms, 1);
  EXPECT_EQ(model.states.size(), 1U);
}

// No choice of states is good everywhere: all stay, and every step is projected on the constraint and its derivative.
// The force follows from them, by one linear equation.
TEST(ModelStructure, APendulum) {
  const CompiledModel model =
      compiled(model_text("parameter Real g = 9.81, L = 1; Real x(start = 1), y, u, v, lam;",
                          "der(x) = u; der(y) = v; der(u) = lam * x; der(v) = lam * y - g; 0 = x^2 + y^2 - L^2;"));
  EXPECT_EQ(model.structural_index, 3);
  EXPECT_EQ(model.freedoms, 2);
  EXPECT_EQ(model.states, (Names{"x", "y", "u", "v"}));
  EXPECT_EQ(model.tearing_variables, Names{});
  EXPECT_NE(model.header.find("invariants = 2"), std::string::npos) << model.header;
}

// With constant coefficients a choice is good everywhere, and follows what the model prefers.
TEST(ModelStructure, StatesAreChosenAsTheModelPrefers) {
  const std::string equations = "der(x) = u; der(y) = v; x = 2 * y; der(u) + der(v) = 1 - u;";
  EXPECT_EQ(compiled(model_text("Real x(stateSelect = StateSelect.prefer), y, u, v(stateSelect = StateSelect.avoid);",
                                equations))
                .states,
            (Names{"x", "u"}));
  EXPECT_EQ(compiled(model_text("Real x, y(stateSelect = StateSelect.always), u(stateSelect = StateSelect.avoid), v;",
                                equations))
                .states,
            (Names{"y", "v"}));
}

// The matrix has index 1; the structure says 3.
TEST(ModelStructure, StructureMaySayMoreThanTheIndex) {
  const CompiledModel model =
      compiled(model_text("Real x1(start = 1), x2(start = 1), x3, x4, x5;",
                          "der(x2) + der(x3) + x1 = 0; der(x2) + der(x3) + x2 = 0; der(x4) + der(x5) + x3 = 0;"
                          "der(x4) + der(x5) + x4 = 0; x5 = 0;"));
  EXPECT_EQ(model.structural_index, 3);
  EXPECT_EQ(model.freedoms, 2);
}

TEST(ModelStructure, NothingIsFree) {
  const CompiledModel model = compiled(model_text("Real x1, x2, x3; parameter Real u = 1;",
                                                  "der(x1) = x1 + x2 + x3 + u; 0 = -2 * x1 + x2; 0 = x1 + x2 + u;"));
  EXPECT_EQ(model.structural_index, 2);
  EXPECT_EQ(model.freedoms, 0);
  EXPECT_TRUE(model.states.empty());
}

TEST(ModelStructure, AReactorOfIndex2) {
  const CompiledModel model = compiled(
      model_text("parameter Real Fa = 1, F = 1, CA0 = 1, Keq = 2, k2 = 0.5; Real V(start = 1), CA, CB, CC, R1, R2;",
                 "der(V) = Fa - F; der(CA) = Fa / V * (CA0 - CA) - R1; der(CB) = -Fa / V * CB + R1 - R2;"
                 "der(CC) = -Fa / V * CC + R2; 0 = CA - CB / Keq; 0 = R2 - k2 * CB;"));
  EXPECT_EQ(model.structural_index, 2);
  EXPECT_EQ(model.freedoms, 3);
  EXPECT_EQ(model.states.size(), 3U);
}

TEST(ModelStructure, ANonlinearLoopIsTorn) {
  const CompiledModel model =
      compiled(model_text("Real x(start = 1), a, b, c;", "der(x) = -a; a + exp(b) = x; b = 2 * c + a; c = a / 3 + x;"));
  EXPECT_EQ(model.tearing_variables.size(), 1U);
  EXPECT_EQ(model.newton_dimension, 2);
}

// The velocity of a stage as the difference of two positions over the step has rounding errors that no tolerance of
// its own allows once the step is short: it follows from the force, and the position from it.
TEST(ModelStructure, VelocitiesOfStagesAreNoQuotients) {
  const CompiledModel model = compiled(model_text("Real x(start = 1), v;", "der(x) = v; der(v) = -9 * x;"));
  EXPECT_EQ(model.stage_dimension, 0);
  EXPECT_EQ(model.header.find("* over_gamma_h;"), std::string::npos) << model.header;
}

// Two heat capacities in series: the temperature of the second follows from the heat flow that the first one takes,
// which over a short step is no difference of two temperatures either.
TEST(ModelStructure, SlopesOfStagesAreTorn) {
  const CompiledModel model =
      compiled(model_text("Real a(start = 300), b(start = 290), q;",
                          "der(a) = 1 - a ^ 4 * 1e-9 - q; q = 12 * (a - b); der(b) = q - b ^ 2 * 1e-3;"));
  EXPECT_EQ(model.stage_dimension, 1);
  EXPECT_NE(model.header.find("z[0] = (a - base[0]) * over_gamma_h;"), std::string::npos) << model.header;
  EXPECT_NE(model.header.find("const auto a = base[0] + gamma_h * der_a;"), std::string::npos) << model.header;
}

// The slope of a stage's voltage as (v - base)/(gamma h) would have the rounding errors of v, divided by the step.
TEST(Structure, StagesMultiplyByTheirStep) {
  const CompiledModel model = compiled(model_text(
      "parameter Real C = 1e-8, R = 1e4;\nReal v(start = 1, fixed = true), i;", "i = -v / R;\nC * der(v) = i;"));
  EXPECT_EQ(model.stage_dimension, 0);
  EXPECT_NE(model.header.find("constants[0] = 1.0 / (1.0 + gamma_h * p["), std::string::npos) << model.header;
}

// Of two equations for y2, the one whose coefficient no parameter makes zero.
TEST(Structure, TornLoopsAreNotDividedByCouplings) {
  const CompiledModel model =
      compiled(model_text("parameter Real a = 0.5;\nReal y1, y2;", "y1 + a * y2 = time;\na * y1 + y2 = 2 * time + 1;"));
  EXPECT_NE(model.header.find("y2 = e - a * y1"), std::string::npos) << model.header;
}

// The time to tear a chain grows with its length, not with the square of it, which would be minutes.
TEST(Structure, TearingOfLongChains) {
  constexpr int links = 50'000;
  manyfold::modelica::Incidence incidence;
  std::vector<int> all;
  for (int i = 0; i < links; ++i) {
    all.push_back(i);
    incidence.push_back({i});
    if (i > 0) incidence.back().push_back(i - 1);
    if (i + 1 < links) incidence.back().push_back(i + 1);
  }
  const auto begin = std::chrono::steady_clock::now();
  using manyfold::modelica::Solvable;
  const auto tearing = manyfold::modelica::tear(
      all, all, incidence, [](int i, int j) { return i == j ? Solvable::always : Solvable::no; },
      [](int) { return 0; });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(tearing.torn.size() + tearing.steps.size(), all.size());
  EXPECT_LT(took.count(), 20.0);
}

// An inductance of zero leaves no state: the equation with it is none for the slope of the current.
TEST(Structure, ParametersThatAreZeroShapeTheEquations) {
  const std::string equations = "v = sin(time);\nv = R * i + u;\nu = L * der(i);";
  const CompiledModel zero = compiled(model_text("parameter Real R = 2.0, L = 0.0;\nReal v, i, u;", equations));
  EXPECT_TRUE(zero.states.empty());
  EXPECT_EQ(zero.structural_index, 1);
  ASSERT_EQ(zero.warnings.size(), 1U);
  EXPECT_NE(zero.warnings[0].find("'L' is 0, and an equation would be divided by it"), std::string::npos);
  // One without a value is set by whoever runs the model.
  const CompiledModel open = compiled(model_text("parameter Real R = 2.0, L;\nReal v, i, u;", equations));
  EXPECT_EQ(open.states, std::vector<std::string>{"i"});
  ASSERT_EQ(open.warnings.size(), 1U);
  EXPECT_NE(open.warnings[0].find("the parameter 'L' has no value"), std::string::npos) << open.warnings[0];
}

}  // namespace
