// Modelica files as models of every subcommand, and their solutions against the references of the hand-written models.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/environment.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using manyfold::test::Outcome;
using manyfold::test::slurp;

// Six ideal diodes between sources with inductances: three phases and a load. At the start all of them rest where they
// switch. The reference enumerates the 64 combinations for every evaluation (SciPy 1.17, Radau at 1e-8).
std::string bridge() {
  std::string text =
      "model bridge\n  parameter Real V = 325, f = 50, Ron = 1e-3, Goff = 1e-5, R = 10, L = 0.02, Ls = 1e-3, Rs = "
      "0.05;\n"
      "  Real iL(start = 0, fixed = true), vp, vn, ia(start = 0, fixed = true), ib(start = 0, fixed = true), ic, n;\n";
  std::string equations =
      "equation\n  ia + ib + ic = 0;\n  iap + ibp + icp = iL + 1e-6 * vp;\n  ian + ibn + icn = iL - 1e-6 * vn;\n"
      "  L * der(iL) = vp - vn - R * iL;\n";
  for (int k = 0; k < 3; ++k) {
    const std::string x(1, static_cast<char>('a' + k));
    text += fmt::format("  Real v{};\n", x);
    for (const std::string side : {"p", "n"}) {
      const std::string d = x + side;
      text += fmt::format("  Real s{0}, i{0}, v{0};\n  Boolean off{0}(start = true);\n", d);
      equations += fmt::format(
          "  off{0} = s{0} < 0;\n  v{0} = s{0} * (if off{0} then 1 else Ron);\n  i{0} = s{0} * (if off{0} then Goff "
          "else "
          "1);\n",
          d);
    }
    equations += fmt::format(
        "  v{0}p = v{0} - vp;\n  v{0}n = vn - v{0};\n  i{0} + i{0}n = i{0}p;\n  Ls * der(i{0}) = V * "
        "cos(6.283185307179586 * f * time - {1} * 2.0943951023931953) - Rs * i{0} - v{0} + n;\n",
        x, k);
  }
  return text + equations + "end bridge;\n";
}

class ModelicaFiles : public manyfold::test::CommandTest {
 protected:
  // One lane compiles fastest.
  ModelicaFiles() { setenv("MANYFOLD_ISA", "scalar", 1); }

  static fs::path problem(const std::string& name, const std::string& file) {
    return fs::path(manyfold::test::from_environment("MANYFOLD_SOURCE")) / "problems" / name / file;
  }
  static std::string model(const std::string& name) {
    return fmt::format("\'{}\'", problem(name, name + ".mo").string());
  }
  static json reference(const std::string& name) { return json::parse(slurp(problem(name, "reference.json"))); }

  json solution(const std::string& arguments) const {
    const Outcome outcome = call("solve " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json::object();
  }

  /// The end of the solution by name, against the reference of the hand-written model, whose variables have this order.
  void expect_reference(const std::string& name, const std::string& arguments, double tolerance) const {
    const json expected = reference(name);
    const json found = solution(model(name) + " --t-end " + expected["t_end"].dump() + " " + arguments);
    const json twin = json::parse(call("describe " + name + " --json").out);
    ASSERT_EQ(twin["variables"].size(), expected["values"].size());
    for (std::size_t i = 0; i < twin["variables"].size(); ++i) {
      const auto variable = twin["variables"][i]["name"].get<std::string>();
      const auto value = expected["values"][i].get<double>();
      ASSERT_TRUE(found["values"].contains(variable)) << variable;
      EXPECT_NEAR(found["values"][variable].get<double>(), value, tolerance * (std::abs(value) + 1e-3)) << variable;
    }
  }

  /// The same where the reference has names.
  void expect_named_reference(const std::string& name, const std::string& arguments, double tolerance) const {
    const json expected = reference(name);
    const json found = solution(model(name) + " --t-end " + expected["t_end"].dump() + " " + arguments);
    for (const auto& [variable, value] : expected["values"].items()) {
      ASSERT_TRUE(found["values"].contains(variable)) << variable;
      EXPECT_NEAR(found["values"][variable].get<double>(), value.get<double>(),
                  tolerance * (std::abs(value.get<double>()) + 1e-3))
          << variable;
    }
  }

  /// Times of all events, against those of the reference within the span.
  static void expect_event_times(const json& found, const json& expected, double tolerance) {
    std::size_t count = 0;
    for (const json& time : expected["event_times"]) count += time.get<double>() <= expected["t_end"].get<double>();
    ASSERT_EQ(found["events"].size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(found["events"][i]["t"].get<double>(), expected["event_times"][i].get<double>(), tolerance);
    }
  }
};

// Of eight node voltages, differences of which are differential: five states and the iterated voltages of two diodes.
TEST_F(ModelicaFiles, TheAmplifierAgreesWithItsReference) {
  expect_reference("transistor_amplifier", "--rtol 1e-8 --atol 1e-10 --method radau5", 1e-6);
}

// Esdirk54 with its formula among the equations: of a stage four, and two, unknowns are iterated.
TEST_F(ModelicaFiles, InlinedStagesAgreeWithTheReference) {
  const std::string options = "--rtol 1e-8 --atol 1e-10 --method esdirk54 --inline ";
  expect_reference("transistor_amplifier", options + "always", 1e-6);
  expect_reference("das2", options + "always", 1e-6);
}

// The time decides which branch a stage takes, and the branches have what is iterated for. Reference: SciPy 1.17
// (DOP853 at 1e-13), from switch to switch.
TEST_F(ModelicaFiles, InlinedStagesHaveConditionsOfTheTime) {
  std::ofstream(folder_ / "gate.mo")
      << "model Gate\n  Real x(start = 1, fixed = true), w(start = 0.7), u;\nequation\n  u = sin(3 * time);\n"
         "  der(x) = -w;\n  w + w^3 = x + (if noEvent(u > 0.5) then 0.1 * w else 0.2 * w);\nend Gate;\n";
  const json found = solution("gate.mo --t-end 2 --rtol 1e-8 --atol 1e-10 --method esdirk54 --inline always");
  EXPECT_NEAR(found["values"]["x"].get<double>(), 0.1402594752334, 1e-7);
  EXPECT_NEAR(found["values"]["w"].get<double>(), 0.1692626574495, 1e-7);
}

// From the voltage at a small resistance follows the current of a coil: over a short step, not to rounding. The diode
// does not conduct, so that the coil's current is known.
TEST_F(ModelicaFiles, InlinedStagesKeepSmallResistances) {
  std::ofstream(folder_ / "coil.mo")
      << "model Coil\n  parameter Real E = 12, Ron = 0.02, R = 3, L = 1e-4;\n"
         "  Real i(start = 0, fixed = true), v(start = 12), id;\nequation\n  id = 1e-9 * (exp(-v/0.04) - 1);\n"
         "  i = (E - v)/Ron + id;\n  L*der(i) = v - R*i;\nend Coil;\n";
  const json found = solution("coil.mo --t-end 1e-4 --rtol 1e-8 --atol 1e-10 --method esdirk54 --inline always");
  EXPECT_NEAR(found["values"]["i"].get<double>(), 12.0 / 3.02 * -std::expm1(-3.02), 1e-7);
}

// `compile` alone said so; once each. A clause that never becomes active is no event, and its variable is discrete all
// the same.
TEST_F(ModelicaFiles, WarningsAreToldOnce) {
  std::ofstream(folder_ / "coil.mo") << "model coil\n  parameter Real R(unit = \"Ohm\") = 2, L = 0;\n"
                                        "  Real v(unit = \"V\"), i(unit = \"V\"), u, last(start = 3);\nequation\n"
                                        "  v = sin(time);\n  v = R*i + u;\n  u = L*der(i);\n"
                                        "  when terminal() then\n    last = i;\n  end when;\nend coil;\n";
  for (const std::string command : {"check coil.mo", "solve coil.mo --times 0,1 --json"}) {
    const auto outcome = call(command);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const std::string text : {"coil.mo:2:39: warning: the parameter 'L' is 0",
                                   "coil.mo:6:3: warning: the sides of this equation have different units: V and",
                                   "coil.mo:8:8: warning: nothing happens at the end of an instance"}) {
      const std::size_t first = outcome.err.find(text);
      ASSERT_NE(first, std::string::npos) << text << " " << command << ": " << outcome.err;
      EXPECT_TRUE(first == 0 || outcome.err[first - 1] == '\n') << "at the beginning of a line: " << outcome.err;
      EXPECT_EQ(outcome.err.find(text, first + 1), std::string::npos) << command << ": " << outcome.err;
    }
    if (command.starts_with("solve")) {
      EXPECT_EQ(json::parse(outcome.out)["values"]["last"], 3.0);
    }
  }
}

// Half of the values are zero, and compared within 1e-7.
TEST_F(ModelicaFiles, APositionConstraintIsKept) {
  expect_reference("pendulum_index3", "--rtol 1e-8 --atol 1e-10", 1e-4);
  expect_reference("pendulum_index3", "--rtol 1e-8 --atol 1e-10 --method esdirk54 --inline always", 1e-4);
}

// The load of a crane follows a path, and force and winch follow from that: index 5, nothing is free. Where the search
// begins, the rope hangs straight and loose, and nothing determines the trolley. By hand: the tension from the height,
// the trolley from the tension.
TEST_F(ModelicaFiles, AnIndexAboveThreeIsReduced) {
  std::ofstream(folder_ / "crane.mo")
      << "model crane\n  parameter Real M = 10, m = 2, g = 9.81;\n"
         "  Real x, z, s, v, r(start = 3), w, T, F, C, u, p;\nequation\n  der(x) = u;\n  der(z) = p;\n"
         "  m*der(u) = -T*(x - s)/r;\n  m*der(p) = m*g - T*z/r;\n  der(s) = v;\n  M*der(v) = F + T*(x - s)/r;\n"
         "  (x - s)^2 + z^2 = r^2;\n  der(r) = w;\n  0.5*der(w) = C - T;\n"
         "  x = sin(time)^4;\n  z = 3 + 0.3*sin(time);\nend crane;\n";
  const json found = solution("crane.mo --t-end 2 --rtol 1e-8 --atol 1e-10");
  const double sine = std::sin(2.0);
  const double cosine = std::cos(2.0);
  const double x = std::pow(sine, 4);
  const double z = 3.0 + 0.3 * sine;
  const double acceleration = 12.0 * sine * sine * cosine * cosine - 4.0 * x;
  const double s = x + acceleration * z / (9.81 + 0.3 * sine);
  EXPECT_NEAR(found["values"]["s"].get<double>(), s, 1e-7);
  EXPECT_NEAR(found["values"]["r"].get<double>(), std::hypot(x - s, z), 1e-7);
  EXPECT_NEAR(found["values"]["T"].get<double>(), 2.0 * (9.81 + 0.3 * sine) * std::hypot(x - s, z) / z, 1e-6);
}

// The blade of Chaplygin's sleigh does not slip. At the start it says nothing of the velocity along the blade, and
// decides the one across, whose start value contradicts it. The speeds obey vx' = a om^2, om' = -m a om vx / (J + m
// a^2) in the body's frame: m vx^2 + (J + m a^2) om^2 is constant.
TEST_F(ModelicaFiles, AConstraintOnVelocitiesIsKept) {
  std::ofstream(folder_ / "sleigh.mo")
      << "model sleigh\n  parameter Real m = 1, J = 0.5, a = 0.3;\n"
         "  Real x(fixed = true), y(fixed = true), th(fixed = true), vx(start = 1), vy, om(start = 1.5, fixed = true), "
         "l;\n"
         "equation\n  der(x) = vx;\n  der(y) = vy;\n  der(th) = om;\n  m*der(vx) = -l*sin(th);\n"
         "  m*der(vy) = l*cos(th);\n  J*der(om) = -a*l;\n"
         "  -sin(th)*(vx + a*om*sin(th)) + cos(th)*(vy - a*om*cos(th)) = 0;\nend sleigh;\n";
  const json found = solution("sleigh.mo --t-end 6 --rtol 1e-8 --atol 1e-10");
  const auto value = [&](const char* name) { return found["values"][name].get<double>(); };
  const double along = std::cos(value("th")) * value("vx") + std::sin(value("th")) * value("vy");
  const double inertia = 0.5 + 0.3 * 0.3;
  EXPECT_NEAR(along * along + inertia * value("om") * value("om"), 1.0 + inertia * 1.5 * 1.5, 1e-7);
  EXPECT_NEAR(std::cos(value("th")) * value("vy") - std::sin(value("th")) * value("vx"), 0.3 * value("om"), 1e-12);
}

// Level at the start, where the constraint says nothing of the height and its derivative nothing of the speed: both
// stay where the search for them begins. The values are those of the equation of the angle, by another code at 1e-12.
TEST_F(ModelicaFiles, ChainsOfConstraintsAreKept) {
  expect_named_reference("double_pendulum", "--rtol 1e-8 --atol 1e-10", 1e-5);
}

// Twelve cells with three temperatures each, and twelve loops for the temperature of the fouling: of 48 unknowns 36 are
// left of a stage.
TEST_F(ModelicaFiles, AHeatExchangerAgreesWithItsReference) {
  expect_named_reference("heat_exchanger", "--rtol 1e-8 --atol 1e-8 --method esdirk54", 1e-6);
}

TEST_F(ModelicaFiles, AThousandEquationsAreReducedAtOnce) {
  const json found = json::parse(call("compile " + model("diffusion") + " --json").out);
  EXPECT_EQ(found["equations"], 1021);
  EXPECT_EQ(found["states"].size(), 340U);
  EXPECT_EQ(found["tearing_variables"].size(), 0U);
  // A stage in one unknown would divide by its step 340 times over.
  EXPECT_EQ(found["newton_dimension_inlined"], 340);
}

TEST_F(ModelicaFiles, AConstraintMayBeSilentAtTheStart) {
  std::ofstream(folder_ / "pendulum.mo")
      << "model Pendulum\n  parameter Real m = 1, g = 9.81, L = 1;\n"
         "  Real x(start = L, fixed = true), y(start = 0), vx(start = 0, fixed = true), "
         "vy(start = 0), F;\nequation\n  der(x) = vx;\n  der(y) = vy;\n"
         "  m*der(vx) = -x/L*F;\n  m*der(vy) = -y/L*F - m*g;\n  x^2 + y^2 = L^2;\n"
         "end Pendulum;\n";
  const json found = solution("pendulum.mo --t-end 1 --rtol 1e-8 --atol 1e-10");
  EXPECT_NEAR(found["values"]["x"].get<double>(), -0.9862917511, 1e-6);
  EXPECT_NEAR(found["values"]["y"].get<double>(), -0.1650108531, 1e-6);
}

TEST_F(ModelicaFiles, ScheduledChangesAgreeWithTheirReference) {
  expect_reference("das2", "--rtol 1e-8 --atol 1e-10", 1e-7);
}

TEST_F(ModelicaFiles, BouncesAgreeWithTheFormula) {
  const json expected = reference("bouncing_ball");
  const json found = solution(model("bouncing_ball") + " --rtol 1e-9 --atol 1e-11 --t-end " + expected["t_end"].dump());
  expect_event_times(found, expected, 1e-9);
}

// The loop is solved by iteration, and decides its own switches: at the start off2 is decided by where the search
// begins. References by SciPy 1.17 (DOP853 at 1e-11, steps of at most 0.01), which solves the loop with its switches.
TEST_F(ModelicaFiles, LoopsDecideTheirOwnSwitches) {
  const auto model = [](const std::string& name, const std::string& factor) {
    return fmt::format(
        "model {}\n  Real x(start = 0.1, fixed = true), s1(start = 1), s2(start = 1);\n  Boolean off1, off2;\n"
        "equation\n  off1 = s1 < 0;\n  off2 = s2 < 0;\n  der(x) = -x + s1;\n"
        "  s1 + exp(s1) + (if off2 then 0.1 else 0.5) * s2 = sin(time) + x;\n"
        "  s2 + s2^3 + {} * s1 = cos(time) - x;\nend {};\n",
        name, factor, name);
  };
  std::ofstream(folder_ / "single.mo") << model("single", "0.7");
  std::ofstream(folder_ / "coupled.mo") << model("coupled", "(if off1 then 0.2 else 0.7)");
  const json single = solution("single.mo --t-end 3 --method radau5 --rtol 1e-8 --atol 1e-10");
  EXPECT_NEAR(single["values"]["x"].get<double>(), -0.4429195141340, 1e-8);
  const json coupled = solution("coupled.mo --t-end 3 --method radau5 --rtol 1e-8 --atol 1e-10");
  EXPECT_NEAR(coupled["values"]["x"].get<double>(), -0.3880080116199, 1e-8);
}

// Masses that a fluid couples, where the coupling is small or zero: loops were divided by it. With b = 1e-12 `radau5`
// took 248,534 steps and was off by 3,400 tolerances, with b = 0 no start was found. Alone, a mass is at cos(sqrt(k/m)
// t); y2 is what follows from its own equation.
TEST_F(ModelicaFiles, CouplingsMayVanish) {
  std::ofstream(folder_ / "masses.mo")
      << "model masses\n  parameter Real m1 = 1, m2 = 2, m3 = 3, a = 0.1, b = 0.2, c = 0.05, k = 10, d = 0.5;\n"
         "  Real x1(start = 1, fixed = true), x2(start = 0, fixed = true), x3(start = 0, fixed = true);\n"
         "  Real v1(start = 0, fixed = true), v2(start = 0, fixed = true), v3(start = 0, fixed = true), y1, y2;\n"
         "equation\n  der(x1) = v1;\n  der(x2) = v2;\n  der(x3) = v3;\n"
         "  m1 * der(v1) + a * der(v2) + b * der(v3) = -k * x1;\n"
         "  a * der(v1) + m2 * der(v2) + c * der(v3) = -k * x2;\n"
         "  b * der(v1) + c * der(v2) + m3 * der(v3) = -k * x3;\n"
         "  y1 + d * y2 = x1;\n  d * y1 + y2 = 2 * x1 + 1;\nend masses;\n";
  for (const char* method : {"radau5", "esdirk54"}) {
    for (const char* coupling : {"0", "1e-12"}) {
      const json found =
          solution(fmt::format("masses.mo --set a=0 --set b={0} --set c=0 --set d={0} --t-end 5 --method {1} "
                               "--rtol 1e-8 --atol 1e-8",
                               coupling, method));
      const double x1 = std::cos(std::sqrt(10.0) * 5.0);
      // Twenty tolerances, as of an undamped oscillation.
      EXPECT_NEAR(found["values"]["x1"].get<double>(), x1, 2e-7) << method;
      EXPECT_NEAR(found["values"]["x3"].get<double>(), 0.0, 2e-7) << method;
      EXPECT_NEAR(found["values"]["y2"].get<double>(), 2.0 * x1 + 1.0, 4e-7) << method;
      EXPECT_LE(found["stats"]["steps"].get<int>(), 1000) << method;
    }
  }
}

TEST_F(ModelicaFiles, IdealDiodesBeginWhereTheySwitch) {
  std::ofstream(folder_ / "bridge.mo") << bridge();
  const json found = solution("bridge.mo --t-end 0.01 --method radau5 --rtol 1e-6 --atol 1e-7");
  EXPECT_NEAR(found["values"]["ia"].get<double>(), -51.7273545, 1e-3);
  EXPECT_NEAR(found["values"]["ib"].get<double>(), 51.72086638, 1e-3);
  EXPECT_NEAR(found["values"]["iL"].get<double>(), 51.71253394, 1e-3);
  // A hundredth of the resistance, fifteen commutations. Reference: SciPy (Radau at 1e-9), which tries all
  // combinations.
  const json small = solution("bridge.mo --set Ron=1e-5 --t-end 0.05 --method radau5 --rtol 1e-6 --atol 1e-6");
  EXPECT_NEAR(small["values"]["ia"].get<double>(), -52.1680018, 1e-4);
  EXPECT_NEAR(small["values"]["ib"].get<double>(), 52.16213789, 1e-4);
  EXPECT_NEAR(small["values"]["iL"].get<double>(), 52.15317165, 1e-4);
}

// Of two diodes in series, which switch together, rounding decided whether the second one would: in 9 of 20 such
// bridges with auto, and in 4 with esdirk54, it found no rest, and the instance ended in an event storm. By symmetry
// both diodes of a pair have half of |vs| - vc. Reference: SciPy, LSODA at 1e-10, steps of 1e-5.
TEST_F(ModelicaFiles, DiodesInSeriesSwitchTogether) {
  std::ofstream(folder_ / "pairs.mo") << R"(model pairs
  parameter Real C = 1e-3, R = 50, V = 10;
  Real vc(start = 0, fixed = true), vs, iac, s[4], v[4], i[4];
  Boolean off[4];
equation
  vs = V * sin(314.1592653589793 * time);
  for k in 1:4 loop
    off[k] = s[k] < 0;
    v[k] = s[k] * (if off[k] then 1 else 1e-2) + 0.6;
    i[k] = s[k] * (if off[k] then 1e-5 else 1) + 1e-5 * 0.6;
  end for;
  vs = v[1] + vc + v[4];
  -vs = v[2] + vc + v[3];
  vs = v[1] - v[2];
  iac = i[1] - i[3];
  iac = i[4] - i[2];
  C * der(vc) + vc / R = i[1] + i[2];
end pairs;
)";
  const std::tuple<const char*, double, double> bridges[] = {
      {"--set V=11.07326089 --set R=34.92650083", 8.58744131613553, 8.58744131752959},
      {"--set V=9.3 --set R=55.0", 7.406379581438233, 7.406379580682599},
      {"--set V=8.4 --set R=71.0", 6.715698133889579, 6.715698132694431},
      {"--set V=10.2 --set R=33.0", 7.765869188318418, 7.765869179844001}};
  for (const char* method : {"auto", "radau5", "esdirk54"}) {
    for (const auto& [parameters, early, late] : bridges) {
      const std::string options =
          fmt::format("pairs.mo {} --method {} --rtol 1e-6 --atol 1e-9 --t-end ", parameters, method);
      // Six tolerances.
      EXPECT_NEAR(solution(options + "0.03")["values"]["vc"].get<double>(), early, 5e-5) << options;
      EXPECT_NEAR(solution(options + "0.06")["values"]["vc"].get<double>(), late, 5e-5) << options;
    }
  }
}

TEST_F(ModelicaFiles, CommutationsAgreeWithTheirReference) {
  const json expected = reference("rectifier");
  const json found = solution(model("rectifier") + " --rtol 1e-9 --atol 1e-11 --t-end " + expected["t_end"].dump());
  expect_event_times(found, expected, 1e-8);
}

// Parameters by their names in the file; variables that are eliminated are saved like the others.
TEST_F(ModelicaFiles, ASweepRuns) {
  std::ofstream(folder_ / "circuit.mo")
      << "//! base 0.1.0\npackage 'RC'\n  model 'RC'\n    parameter Real 'R.R'(unit = "
         "\"Ohm\") = 2.0;\n    parameter Real 'C.C'(unit = \"F\") = 0.5;\n    Real "
         "'C.v'(unit = \"V\", start = 1.0, fixed = true);\n    Real 'C.i'(unit = "
         "\"A\");\n    Integer 'n'(start = 0, fixed = true);\n  equation\n    'C.i' = 'C.C' * der('C.v');\n"
         "    when 'C.v' < 0.7 then\n      'n' = pre('n') + 1;\n    end when;\n    'C.v' = -'R.R' * "
         "'C.i';\n    annotation(experiment(StopTime = 1.0));\n  end 'RC';\nend 'RC';\n";
  std::ofstream(folder_ / "sweep.toml")
      << "model = \"circuit.mo\"\nt_span = [0.5, 1.5]\n[solver]\nmethod = \"radau5\"\n"
         "rtol = 1e-8\natol = 1e-10\n[ensemble]\ninstances = 50\nsampler = \"sobol\"\n"
         "[parameters]\n\"R.R\" = { distribution = \"uniform\", min = 1.0, max = 3.0 }\n"
         "[output]\nfile = \"out.nc\"\nvariables = [\"C.v\", \"C.i\", \"n\"]\n";
  const Outcome outcome = call("run sweep.toml --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["by_status"]["success"], 50);
  EXPECT_NE(outcome.err.find("warning: t_span begins at 0.5, but start values"), std::string::npos) << outcome.err;
  const json one = solution("circuit.mo --set R.R=4 --method radau5 --rtol 1e-8");
  EXPECT_NEAR(one["values"]["C.v"].get<double>(), std::exp(-0.5), 1e-6);
  EXPECT_NEAR(one["values"]["C.i"].get<double>(), -std::exp(-0.5) / 4.0, 1e-6);
  expect_misuse("solve circuit.mo --set RR=4", {"has no parameter 'RR'", "did you mean \"R.R\"?"});
}

TEST_F(ModelicaFiles, CompileTellsTheStructure) {
  const Outcome outcome = call("compile " + model("rlc_index2") + " --json --emit model.hpp --picture incidence.svg");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["structural_index"], 2);
  EXPECT_EQ(found["states"], json::array({"iL"}));
  EXPECT_EQ(found["newton_dimension_plain"], 10);
  EXPECT_EQ(found["newton_dimension_reduced"], 1);
  EXPECT_EQ(found["newton_dimension_inlined"], 0);
  EXPECT_NE(slurp(folder_ / "incidence.svg").find("</svg>"), std::string::npos);
  const std::string first = slurp(folder_ / "model.hpp");
  EXPECT_NE(first.find("MANYFOLD_MODEL("), std::string::npos);
  call("compile " + model("rlc_index2") + " --emit again.hpp");
  EXPECT_EQ(slurp(folder_ / "again.hpp"), first);
  const Outcome words = call("compile " + model("rlc_index2") + " --explain");
  EXPECT_NE(words.out.find("structural index 2, 1 degree of freedom"), std::string::npos) << words.out;
  const Outcome both = call("compile " + model("rlc_index2") + " --explain --json");
  EXPECT_EQ(json::parse(both.out)["explanation"], words.out);
  EXPECT_NE(call("compile " + model("rlc_index2")).out.find(" index 2, 1 state, "), std::string::npos);
}

// Diodes, from 3 V with exponents of 120: at rest, and in a loop of algebraic equations. From one voltage of each the
// other voltages follow, to where no number is. References by SciPy's brentq.
TEST_F(ModelicaFiles, CompileDoesNotWriteOverTheModel) {
  const std::string text = "model M\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -x;\nend M;\n";
  std::ofstream(folder_ / "m.mo") << text;
  expect_misuse("compile m.mo --emit ./m.mo", {"./m.mo is the same file as m.mo, which is read"});
  expect_misuse("compile m.mo --picture m.mo", {"m.mo is the same file as m.mo, which is read"});
  expect_misuse("compile m.mo --emit m.svg --picture m.svg", {"--emit and --picture both name m.svg"});
  EXPECT_EQ(slurp(folder_ / "m.mo"), text);
  EXPECT_FALSE(fs::exists(folder_ / "m.svg"));
}

// Where they hold at the start, where a function is called, and for parameters of this instance.
TEST_F(ModelicaFiles, ViolatedAssertionsAreFailures) {
  std::ofstream(folder_ / "asserted.mo")
      << "package P\nfunction f\n  input Real u;\n  output Real y;\nalgorithm\n  if u > 1 then\n"
         "    assert(u < 3, \"f is left upwards\");\n    y := sqrt(u);\n    return;\n  end if;\n"
         "  assert(u > -1, \"f is left downwards\");\n  y := u;\nend f;\n"
         "function check\n  input Real u;\nalgorithm\n  assert(u < 2.5, \"checked\");\nend check;\n"
         "model asserted\n  parameter Real a = 1, x0 = 0, T = 300;\n  Real x(start = x0, fixed = true), w;\n"
         "initial equation\n  assert(T < 400, \"T is high\");\nequation\n  der(x) = a;\n"
         "  w = f(x) + (if x > 0.5 then 1 else f(0.1 - 2 * x));\n  if a > 1.5 then\n    check(x);\n  end if;\n"
         "  assert(T > 200, \"T is low\");\nend asserted;\nend P;\n";
  const auto expect_violation = [&](const std::string& settings, const std::string& what) {
    const auto outcome = call("solve asserted.mo --t-end 2 --method radau5 " + settings);
    EXPECT_EQ(outcome.code, 3) << settings;
    EXPECT_NE(outcome.err.find("assertion_violated at t = " + what), std::string::npos) << outcome.err;
  };
  EXPECT_EQ(call("solve asserted.mo --t-end 2 --method radau5").code, 0);
  expect_violation("--set T=100", "0: what the model asserts does not hold: event 'assert: T is low'");
  expect_violation("--set T=500", "0: what the model asserts does not hold: event 'assert: T is high'");
  expect_violation("--set x0=4", "0: what the model asserts does not hold: event 'assert: f is left upwards'");
  expect_violation("--set x0=2", "1: what the model asserts does not hold: event 'assert: f is left upwards'");
  expect_violation("--set a=2 --set x0=1", "0.75: what the model asserts does not hold: event 'assert: checked'");
  // Of the other branch, whose argument is 0.1 - 2 x, too.
  expect_violation("--set a=-1", "1: what the model asserts does not hold: event 'assert: f is left downwards'");
}

// At the start, while it varies, and as a when clause sets it.
TEST_F(ModelicaFiles, ASubscriptThatLeavesItsArrayEndsTheInstance) {
  std::ofstream(folder_ / "table.mo")
      << "model table\n  parameter Real p[3] = {1, 2, 4}, a = 0;\n  parameter Integer first = 1;\n"
         "  Real z(start = 0, fixed = true), y(start = 0, fixed = true);\n  Integer k(start = first, fixed = true);\n"
         "equation\n  when sample(1.5, 1) then\n    k = pre(k) + 1;\n  end when;\n  der(z) = p[integer(1 + a * "
         "time)];\n"
         "  der(y) = p[k] + (if time < 10 then 0 else p[k + 7]);\nend table;\n";
  const auto expect_end = [&](const std::string& settings, const std::string& at) {
    const auto outcome = call("solve table.mo --method radau5 " + settings);
    EXPECT_EQ(outcome.code, at.empty() ? 0 : 3) << outcome.err;
    const std::string what = "what the model asserts does not hold: event 'assert: a subscript of p is out of range: ";
    const std::string said = at.empty() ? "" : "assertion_violated at t = " + at + ": " + what + "from 1 to 3";
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  expect_end("--t-end 3.4", "");
  expect_end("--t-end 4", "3.5");
  expect_end("--t-end 4 --set a=1", "3");
  expect_end("--t-end 4 --set first=0", "0");
}

// Inlined stages need a method, a model and matrices that allow it, which is told before anything is compiled.
TEST_F(ModelicaFiles, WhatCannotBeInlinedIsMisuse) {
  for (const std::string method : {"radau5", "bdf", "rodas5p"}) {
    expect_misuse("solve robertson --inline always --method " + method, {"inline = true needs a diagonally implicit"});
  }
  expect_misuse("solve robertson --method esdirk54 --inline always", {"model 'robertson' is none"});
  const std::string tank = "solve " + model("das2") + " --method esdirk54 --inline always ";
  expect_misuse(tank + "--jacobian finite_differences", {"inline = true needs exact Jacobians"});
  expect_misuse(tank + "--jacobian-reuse cameron", {"but jacobian_reuse is 'cameron'"});
}

// A number of turns is part of the equations. Whoever sets it, or what follows from others, is told.
TEST_F(ModelicaFiles, ParametersThatCannotBeSetSayWhy) {
  std::ofstream(folder_ / "chain.mo")
      << "model chain\n  parameter Integer n = 3;\n  parameter Real a = 2, half = a / n, s(fixed = false);\n  Real "
         "x(start = 1, fixed = true), w;\ninitial equation\n  s ^ 3 = 8 + x;\nalgorithm\n  w := 0;\n  for i in 1:n "
         "loop\n    w := w + half ^ i;\n  end for;\nequation\n  der(x) = -w * x + s;\nend chain;\n";
  const std::string refused = "the parameter '{}' of model 'chain' cannot be set: {}";
  expect_misuse("solve chain.mo --set n=4", {fmt::format(fmt::runtime(refused), "n", "its value in the file shapes")});
  expect_misuse("solve chain.mo --set half=4", {fmt::format(fmt::runtime(refused), "half", "it follows from a")});
  expect_misuse("solve chain.mo --set s=4", {fmt::format(fmt::runtime(refused), "s", "initial equations determine")});
  std::ofstream(folder_ / "values.csv") << "a,n\n1,2\n";
  std::ofstream(folder_ / "constants.toml")
      << "model = \"chain.mo\"\n[ensemble]\ninstances = 2\n[parameters]\nhalf = 1.0\n";
  std::ofstream(folder_ / "rows.toml")
      << "model = \"chain.mo\"\n[ensemble]\nsampler = \"table\"\ntable = \"values.csv\"\n";
  expect_misuse("run constants.toml",
                {"constants.toml:5:1: error: the parameter 'half' of model 'chain' cannot be set"});
  expect_misuse("run rows.toml", {"values.csv:1:3: error: the parameter 'n' of model 'chain' cannot be set"});
  const std::string listed = call("describe chain.mo").out;
  EXPECT_NE(listed.find("\nparameters that cannot be set\n  n "), std::string::npos) << listed;
}

TEST_F(ModelicaFiles, NamesWithLineBreaksDoNotBreakMessages) {
  std::ofstream(folder_ / "a\nb.mo") << "model A\n  Real x(start = 1);\nequation\n  der(x) = -y;\nend A;\n";
  for (const std::string command : {"solve", "check", "compile"}) {
    const Outcome outcome = call(command + " 'a\nb.mo'");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("a\\x0ab.mo:4:13: error: unknown name 'y'"), std::string::npos) << outcome.err;
  }
}

TEST_F(ModelicaFiles, WrongFilesAreMisuse) {
  std::ofstream(folder_ / "wrong.mo") << "model m\n  Real x;\nequation\n  x = y;\nend m;\n";
  expect_misuse("solve wrong.mo", {"wrong.mo:4:7: error: unknown name 'y'", "    x = y;"});
  expect_misuse("compile wrong.mo", {"wrong.mo:4:7: error: unknown name 'y'"});
  expect_misuse("compile robertson", {"compile takes a .mo file"});
  expect_misuse("solve missing.mo", {"model file 'missing.mo' does not exist"});
  fs::create_directory(folder_ / "folder.mo");
  expect_misuse("solve folder.mo", {"model file 'folder.mo' is no file"});
}

}  // namespace
