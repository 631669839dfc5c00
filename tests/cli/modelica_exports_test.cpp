// Models in the form in which mechanisms of frames and media of the Modelica Standard Library are exported.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"

namespace {

using manyfold::test::Outcome;
using nlohmann::json;

class ModelicaExports : public manyfold::test::CommandTest {
 protected:
  // One lane compiles fastest.
  ModelicaExports() { setenv("MANYFOLD_ISA", "scalar", 1); }

  json values(const std::string& arguments) const {
    const Outcome outcome = call("solve " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out)["values"] : json::object();
  }
};

// A slider crank whose frames are matrices and whose loop is closed by a constraint. What the frames are follows from
// the two joints, whose positions and speeds are all the states. Along the closed loop the one angle obeys an equation
// of its own; its solution is SciPy's (DOP853 at 1e-12). The solver's is off by 2e-7.
TEST_F(ModelicaExports, LoopsOfFramesAreLeftToTheirJoints) {
  std::ofstream(folder_ / "crank.mo")
      << "model crank\n  parameter Real l1 = 0.3, l2 = 1, m1 = 2, m2 = 1, m3 = 0.5, J1 = 0.02, J2 = 0.1, g = 9.81;\n"
         "  Real phi(start = 0.4, fixed = true, stateSelect = StateSelect.prefer);\n"
         "  Real w(start = 5, fixed = true, stateSelect = StateSelect.prefer);\n"
         "  Real psi(start = -0.5, stateSelect = StateSelect.prefer), v(stateSelect = StateSelect.prefer), s, wb;\n"
         "  Real R0[2, 2], A[2, 2], B[2, 2], C[2, 2], r0[2], r1[2], c1[2], c2[2], r2[2], v1[2], v2[2], v3[2];\n"
         "  Real f0[2], f1[2], f2[2], z1, z2;\nequation\n  r0 = {0.0, 0.0};\n  R0 = {{1.0, 0.0}, {0.0, 1.0}};\n"
         "  w = der(phi);\n  v = der(psi);\n  A[1, 1] = R0[1, 1] * cos(phi) - R0[1, 2] * sin(phi);\n"
         "  A[1, 2] = R0[1, 1] * sin(phi) + R0[1, 2] * cos(phi);\n"
         "  A[2, 1] = R0[2, 1] * cos(phi) - R0[2, 2] * sin(phi);\n"
         "  A[2, 2] = R0[2, 1] * sin(phi) + R0[2, 2] * cos(phi);\n"
         "  B[1, 1] = cos(psi);\n  B[1, 2] = sin(psi);\n  B[2, 1] = -sin(psi);\n  B[2, 2] = cos(psi);\n  C = B * A;\n"
         "  c1 = r0 + l1 / 2 * {A[1, 1], A[1, 2]};\n  r1 = r0 + l1 * {A[1, 1], A[1, 2]};\n"
         "  c2 = r1 + l2 / 2 * {C[1, 1], C[1, 2]};\n  r2 = r1 + l2 * {C[1, 1], C[1, 2]};\n  s = r2[1];\n"
         "  r2[2] = 0.0;\n  wb = w + v;\n  v1 = der(c1);\n  v2 = der(c2);\n  v3 = der(r2);\n  z1 = der(w);\n"
         "  z2 = der(wb);\n  m1 * der(v1[1]) = f0[1] - f1[1];\n  m1 * der(v1[2]) = f0[2] - f1[2] - m1 * g;\n"
         "  m2 * der(v2[1]) = f1[1] - f2[1];\n  m2 * der(v2[2]) = f1[2] - f2[2] - m2 * g;\n"
         "  m3 * der(v3[1]) = f2[1];\n"
         "  J1 * z1 = (r0[1] - c1[1]) * f0[2] - (r0[2] - c1[2]) * f0[1] - (r1[1] - c1[1]) * f1[2]\n"
         "    + (r1[2] - c1[2]) * f1[1];\n"
         "  J2 * z2 = (r1[1] - c2[1]) * f1[2] - (r1[2] - c2[2]) * f1[1] - (r2[1] - c2[1]) * f2[2]\n"
         "    + (r2[2] - c2[2]) * f2[1];\nend crank;\n";
  const json structure = json::parse(call("compile crank.mo --json").out);
  EXPECT_EQ(structure["states"], json({"phi", "w", "psi", "v"}));
  EXPECT_EQ(structure["newton_dimension_reduced"], 4);
  const json found = values("crank.mo --t-end 2 --rtol 1e-9 --atol 1e-9");
  EXPECT_NEAR(found["phi"].get<double>(), 0.73367988, 1e-6);
  EXPECT_NEAR(found["w"].get<double>(), -1.82565759, 1e-6);
  EXPECT_NEAR(found["s"].get<double>(), 1.20243002, 1e-6);
}

// A vessel of two gases, with the equations and without the functions of Modelica.Media: comprehensions over arrays of
// records, members of bracketed choices between records. The reference is SciPy's at 1e-11.
TEST_F(ModelicaExports, MixturesOfGasesWithoutTheirFunctions) {
  const std::string data =
      "({'Modelica.Media.IdealGases.Common.DataRecord'(\"N2\", 0.0280134, 0.0, 309498.4543111511, 1000.0, "
      "{22103.71497, "
      "-381.846182, 6.08273836, -0.00853091441, 1.384646189e-5, -9.62579362e-9, 2.519705809e-12}, {710.846086, "
      "-10.76003744}, {587712.406, -2239.249073, 6.06694922, -6.1396855e-4, 1.491806679e-7, -1.923105485e-11, "
      "1.061954386e-15}, {12832.10415, -15.86640027}, 296.80474344420884), "
      "'Modelica.Media.IdealGases.Common.DataRecord'(\"O2\", 0.0319988, 0.0, 271263.4223783392, 1000.0, {-34255.6342, "
      "484.700097, 1.119010961, 0.00429388924, -6.83630052e-7, -2.0233727e-9, 1.039040018e-12}, {-3391.45487, "
      "18.4969947}, {-1.037939022e6, 2344.830282, 1.819732036, 0.001267847582, -2.188067988e-7, 2.053719572e-11, "
      "-8.193467050000001e-16}, {-16890.10929, 17.38716506}, 259.8381814318037)})['i']";
  const std::string state =
      "(if size('X', 1) == 2 then 'State'('p', 'T', 'X') else 'State'('p', 'T', cat(1, 'X', {1.0 - sum('X')})))";
  std::ofstream(folder_ / "vessel.mo")
      << "//! base 0.1.0\npackage 'Vessel'\n  record 'Modelica.Media.IdealGases.Common.DataRecord'\n    String "
         "'name';\n"
         "    Real 'MM';\n    Real 'Hf';\n    Real 'H0';\n    Real 'Tlimit';\n    Real[7] 'alow';\n    Real[2] "
         "'blow';\n"
         "    Real[7] 'ahigh';\n    Real[2] 'bhigh';\n    Real 'R_s';\n"
         "  end 'Modelica.Media.IdealGases.Common.DataRecord';\n\n  record 'State'\n    Real 'p';\n    Real 'T';\n"
         "    Real[2] 'X'(min = fill(0.0, 2), unit = fill(\"kg/kg\", 2));\n  end 'State';\n\n"
         "  type 'Reference' = enumeration('ZeroAt0K', 'ZeroAt25C', 'UserDefined');\n\n  model 'Vessel'\n"
         "    Real 'p'(fixed = true, start = 1e5, stateSelect = StateSelect.prefer);\n"
         "    Real 'T'(fixed = true, start = 300.0, stateSelect = StateSelect.prefer);\n"
         "    Real 'X[1]'(fixed = true, start = 0.8);\n    Real 'X[2]'(fixed = true, start = 0.2);\n    Real 'h';\n"
         "    Real 'u';\n    Real 'm';\n    Real 'U';\n    Real 'R_s';\n    Real 'cp';\n    Real 'x2';\n  equation\n"
         "    'cp' = {'Modelica.Media.IdealGases.Common.Functions.cp_T'("
      << data << ", 'T') for 'i' in 1:2} * 'X';\n    'h' = 'X' * {'Modelica.Media.IdealGases.Common.Functions.h_T'("
      << data
      << ", 'T', true, 'Reference'.'ZeroAt0K', 0.0) for 'i' in 1:2};\n"
         "    'R_s' = {296.80474344420884, 259.8381814318037} * 'X';\n    'u' = 'h' - 'R_s' * ("
      << state << ").T;\n    'm' = 'p' / ('R_s' * 'T');\n    'U' = 'm' * 'u';\n    'x2' = ((" << state
      << ").X)[2];\n    der('m') = 0.01;\n    der('U') = 5000.0;\n    der('X[1]') = 0.01 * ('X[2]' - 'X[1]');\n"
         "    der('X[2]') = 0.01 * ('X[1]' - 'X[2]');\n  end 'Vessel';\nend 'Vessel';\n";
  const json found = values("vessel.mo --t-end 10 --rtol 1e-8 --atol 1e-8");
  EXPECT_NEAR(found["T"].get<double>(), 333.364894, 1e-5);
  EXPECT_NEAR(found["m"].get<double>(), 1.25176285, 1e-7);
  EXPECT_NEAR(found["cp"].get<double>(), 1010.97907703, 1e-4);
  EXPECT_NEAR(found["x2"].get<double>(), 0.254380774, 1e-7);
}

// After a break or return in some cases the rest may leave in others: the search found 4, and the steps were 3.
TEST_F(ModelicaExports, EveryTurnOfALoopMayBeTheLast) {
  std::ofstream(folder_ / "search.mo")
      << "package P\n  function search\n    input Real x;\n    output Real y;\n  algorithm\n    y := 1.0;\n"
         "    for i in 2:5 loop\n      if x < i then\n        break;\n      end if;\n      y := i;\n    end for;\n"
         "  end search;\n  function steps\n    input Real x;\n    output Real y;\n  algorithm\n"
         "    if x < 1 then\n      y := 1;\n      return;\n    end if;\n"
         "    if x < 2 then\n      y := 2;\n      return;\n    end if;\n    y := 3;\n  end steps;\n"
         "  model P\n    Real x(start = 0.2, fixed = true), y, z;\n  equation\n    der(x) = 1;\n"
         "    y = search(x);\n    z = steps(x - 1.7);\n  end P;\nend P;\n";
  const json end = values("search.mo --t-end 3");
  EXPECT_EQ(end["y"], 3.0);
  EXPECT_EQ(end["z"], 2.0);
}

// What a condition without an event adds is no constant, though the slope is the same on both sides: the condition was
// evaluated at zero, so that x was 6, and w 2 where stages are inlined.
TEST_F(ModelicaExports, ConditionsWithoutEventsAreNotLinear) {
  std::ofstream(folder_ / "bend.mo")
      << "model bend\n  Real w(start = 0, fixed = true), x, z(start = 0, fixed = true);\nequation\n"
         "  der(w) = 1 + noEvent(if w > 1 then 1 else 0);\n  x + noEvent(if x > 2 then 1 else 0) = 4 + time;\n"
         "  der(z) = x;\nend bend;\n";
  for (const char* method : {"esdirk54", "rodas5p"}) {
    const json end = values(std::string("bend.mo --t-end 2 --method ") + method);
    // A kink without an event costs digits.
    EXPECT_NEAR(end["w"].get<double>(), 3.0, 1e-4) << method;
    EXPECT_NEAR(end["x"].get<double>(), 5.0, 1e-9) << method;
    EXPECT_NEAR(end["z"].get<double>(), 8.0, 1e-5) << method;
  }
}

// A planar four-bar linkage, which is projected. The forces were compared with what the projected positions ask for, to
// the tolerance: where one of them passes zero, steps of 1e-7 s failed again and again, 53,000 in all.
TEST_F(ModelicaExports, ForcesThatPassZeroBesideAProjection) {
  std::ofstream(folder_ / "four_bar.mo")
      << "model four_bar\n  parameter Real g = 9.81, l1 = 0.22378325509800690, l2 = 1.090405853745237;\n"
         "  parameter Real l3 = 0.7308707265094808, d = 0.902060649947737, m1 = 0.6440028750192577;\n"
         "  parameter Real m2 = 2.4347434522124694, m3 = 1.1644695211427292, I1 = 0.02, I2 = 0.12682679502435668;\n"
         "  parameter Real I3 = 0.1, tau = 3.275923084023094, b = 0.1, c = 3.374177689488118;\n"
         "  Real phi1(start = 0.6, fixed = true), w1(start = 3, fixed = true), phi2(start = 0.5), w2;\n"
         "  Real phi3(start = 1.2), w3, r1[2], v1[2], r2[2](start = {0.6, 0.5}), v2[2], r3[2], v3[2];\n"
         "  Real fA[2], fB[2], fC[2], fD[2], E, Wd(start = 0, fixed = true);\nequation\n"
         "  w1 = der(phi1);\n  w2 = der(phi2);\n  w3 = der(phi3);\n  r1 = 0.5 * l1 * {cos(phi1), sin(phi1)};\n"
         "  r2 = 2.0 * r1 + 0.5 * l2 * {cos(phi2), sin(phi2)};\n"
         "  r2 + 0.5 * l2 * {cos(phi2), sin(phi2)} = {d, 0.0} + l3 * {cos(phi3), sin(phi3)};\n"
         "  r3 = {d, 0.0} + 0.5 * l3 * {cos(phi3), sin(phi3)};\n"
         "  v1 = der(r1);\n  v2 = der(r2);\n  v3 = der(r3);\n  m1 * der(v1) = fA - fB - m1 * {0.0, g};\n"
         "  m2 * der(v2) = fB - fC - m2 * {0.0, g};\n  m3 * der(v3) = fC + fD - m3 * {0.0, g};\n"
         "  I1 * der(w1) = tau - b * w1 - 0.5 * l1 * (cos(phi1) * (fA[2] + fB[2]) - sin(phi1) * (fA[1] + fB[1]));\n"
         "  I2 * der(w2) = -0.5 * l2 * (cos(phi2) * (fB[2] + fC[2]) - sin(phi2) * (fB[1] + fC[1]));\n"
         "  I3 * der(w3) = 0.5 * l3 * (cos(phi3) * (fC[2] - fD[2]) - sin(phi3) * (fC[1] - fD[1])) - c * w3 * abs(w3);\n"
         "  E = 0.5 * (m1 * v1 * v1 + m2 * v2 * v2 + m3 * v3 * v3 + I1 * w1 ^ 2 + I2 * w2 ^ 2 + I3 * w3 ^ 2)\n"
         "    + g * (m1 * r1[2] + m2 * r2[2] + m3 * r3[2]) - tau * phi1 + Wd;\n"
         "  der(Wd) = b * w1 ^ 2 + c * w3 ^ 2 * abs(w3);\nend four_bar;\n";
  const std::string arguments = "solve four_bar.mo --method bdf --rtol 1e-8 --atol 1e-10 --json --t-end ";
  const Outcome start = call(arguments + "1e-6");
  const Outcome end = call(arguments + "0.9");
  ASSERT_EQ(start.code, 0) << start.err;
  ASSERT_EQ(end.code, 0) << end.err;
  const json result = json::parse(end.out);
  // Energy that neither damper takes is kept, up to ten tolerances.
  EXPECT_NEAR(result["values"]["E"].get<double>(), json::parse(start.out)["values"]["E"].get<double>(), 1e-6);
  EXPECT_LT(result["stats"]["steps"].get<int>(), 5000);
}

// A vessel runs dry: h = (1 - a t / 2)^2 until t = 2 / a, and then rests, with the derivative of its flow.
TEST_F(ModelicaExports, RootsThatRestAtZeroHaveASlope) {
  std::ofstream(folder_ / "dry.mo")
      << "model dry\n  parameter Real a = 0.02;\n  Real h(start = 1, fixed = true), q, p, x, y;\nequation\n"
         "  der(h) = -q;\n  q = a * sqrt(max(h, 0));\n  p = a * max(h, 0)^0.5;\n  x = der(q);\n  y = der(p);\nend "
         "dry;\n";
  for (const auto& [end, slope] : {std::pair<const char*, double>{"50", -2e-4}, {"150", 0.0}}) {
    const json found = values(std::string("dry.mo --rtol 1e-8 --atol 1e-10 --t-end ") + end);
    ASSERT_TRUE(found["x"].is_number()) << end;
    EXPECT_NEAR(found["x"].get<double>(), slope, 1e-10) << end;
    EXPECT_NEAR(found["y"].get<double>(), slope, 1e-10) << end;
  }
}

}  // namespace
