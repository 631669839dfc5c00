// Where models in Modelica start: loops of initial equations, and numbers that are set beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"

namespace {

using manyfold::test::Outcome;
using nlohmann::json;

class ModelicaStart : public manyfold::test::CommandTest {
 protected:
  json solution(const std::string& arguments) const {
    const Outcome outcome = call("solve " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json::object();
  }
};

TEST_F(ModelicaStart, ExponentialsMayBeginFarOff) {
  const std::string pair =
      "  ia{0} = 1e-12 * (exp(va{0} / 0.025) - 1);\n  ib{0} = 1e-12 * (exp(vb{0} / 0.025) - 1);\n"
      "  (va{0} - vb{0}) / 500 = ib{0};\n";
  std::ofstream(folder_ / "diodes.mo")
      << "model diodes\n  Real va1(start = 3), vb1(start = 3), ia1, ib1, va2(start = 3), vb2(start = 3), ia2, ib2;\n"
         "  Real u(start = 3), i;\ninitial equation\n  der(u) = 0;\nequation\n  1e-6 * der(u) = (5 - u) / 1e3 - i;\n"
         "  i = (u - va1) / 10;\n  i = ia1 + (va1 - vb1) / 500;\n  (5 - va2) / 1e3 = ia2 + ib2;\n"
      << fmt::format(fmt::runtime(pair), 1) << fmt::format(fmt::runtime(pair), 2) << "end diodes;\n";
  const json found = solution("diodes.mo --t-end 1e-3 --method radau5")["values"];
  EXPECT_NEAR(found["u"].get<double>(), 0.598206925, 1e-8);
  EXPECT_NEAR(found["va1"].get<double>(), 0.554188994, 1e-8);
  EXPECT_NEAR(found["va2"].get<double>(), 0.554443505, 1e-8);
  EXPECT_NEAR(found["vb2"].get<double>(), 0.472781243, 1e-8);
}

// A ball that begins on the floor and falls bounces at once, and a sine has its first edge at 0: the language evaluates
// relations as they are there, and then has their events. The ball fell through, with success.
TEST_F(ModelicaStart, ConditionsThatBecomeTrueAtTheStartAct) {
  std::ofstream(folder_ / "floor.mo")
      << "model floor\n  parameter Real h0 = 0;\n  Real h(start = h0, fixed = true), v(start = -1, fixed = true);\n"
         "  Boolean up, late;\n  Integer n(start = 0, fixed = true), turns(start = 0, fixed = true);\n"
         "  Integer starts(start = 0, fixed = true);\nequation\n  der(h) = v;\n  der(v) = -9.81;\n"
         "  when h < 0 then\n    reinit(v, -0.5 * pre(v));\n  end when;\n  up = sin(6.283185307179586 * time) > 0;\n"
         "  late = time >= 0;\n  when up then\n    n = pre(n) + 1;\n  end when;\n  when change(up) then\n"
         "    turns = pre(turns) + 1;\n  end when;\n  when late then\n    starts = pre(starts) + 1;\n  end when;\n"
         "end floor;\n";
  // The first flight ends at 2 v / g = 0.1019.
  const json found = solution("floor.mo --t-end 0.05 --method radau5")["values"];
  EXPECT_NEAR(found["h"].get<double>(), 0.5 * 0.05 - 0.5 * 9.81 * 0.05 * 0.05, 1e-9);
  EXPECT_EQ(found["n"], 1.0);
  EXPECT_EQ(found["turns"], 1.0);
  EXPECT_EQ(found["starts"], 0.0);
  const json above = solution("floor.mo --set h0=0.1 --t-end 0.05 --method radau5")["values"];
  EXPECT_NEAR(above["h"].get<double>(), 0.1 - 0.05 - 0.5 * 9.81 * 0.05 * 0.05, 1e-9);
}

// The search is for H, of which the user has guessed the logarithm: from 0 there was no value of Kw / H. Reference: the
// root of the balance of charges, by SciPy's brentq.
TEST_F(ModelicaStart, AGuessMayBeThatOfAnotherVariable) {
  std::ofstream(folder_ / "acid.mo")
      << "model acid\n  parameter Real Ka = 1.8e-5, Kw = 1e-14;\n  Real na(start = 0.1, fixed = true), "
         "nb(start = 0.001, fixed = true), H, OH, A, pH(start = 7);\nequation\n  der(na) = 0;\n  der(nb) = 0.01;\n"
         "  H = 10^(-pH);\n  OH = Kw / H;\n  A = na * Ka / (Ka + H);\n  H + nb = OH + A;\nend acid;\n";
  const json found = solution("acid.mo --t-end 1 --method radau5 --rtol 1e-8 --atol 1e-12")["values"];
  EXPECT_NEAR(found["pH"].get<double>(), 3.843061166567374, 1e-8);
}

// Newton's method alone goes from 1 to the zero at 1.2, finds none of the logarithm, and needs no help with valves.
TEST_F(ModelicaStart, HomotopyLeadsFromSimplifiedEquations) {
  std::ofstream(folder_ / "homotopy.mo")
      << "model homotopy_\n  Real x(start = 1), z(start = -5), p(start = 1.9), m, n, y(start = 0, fixed = true);\n"
         "equation\n  homotopy(actual = (x - 1.2) * (x - 3) * (x + 2), simplified = x - 4) = 0;\n"
         "  homotopy(log(z) - 1, z - 2) = 0;\n  m = homotopy(sqrt(2 - p), 2 - p);\n"
         "  n = homotopy(sqrt(p - 1), p - 1);\n  m = n;\n  der(y) = x + z + m;\nend homotopy_;\n";
  const json found = solution("homotopy.mo --t-end 1 --method radau5")["values"];
  EXPECT_NEAR(found["x"].get<double>(), 3.0, 1e-9);
  EXPECT_NEAR(found["z"].get<double>(), std::exp(1.0), 1e-9);
  EXPECT_NEAR(found["p"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(found["y"].get<double>(), 3.0 + std::exp(1.0) + std::sqrt(0.5), 1e-7);
}

// A search that ends without a solution is no start.
TEST_F(ModelicaStart, AStartWithoutSolutionIsNoSuccess) {
  std::ofstream(folder_ / "start.mo") << "model start\n  Real x(start = 1), y(start = 2, fixed = true);\n"
                                         "initial equation\n  x^2 = -4;\nequation\n  der(x) = -x;\n"
                                         "  der(y) = x;\nend start;\n";
  const std::string cause = "initial: x^2 = -4, from x = 1";
  const auto solved = call("solve start.mo");
  EXPECT_EQ(solved.code, 3);
  EXPECT_NE(solved.err.find("inconsistent_initial_conditions"), std::string::npos) << solved.err;
  EXPECT_NE(solved.err.find("x follows from " + cause), std::string::npos) << solved.err;
  expect_misuse("check start.mo", {"start.mo: error: the initial value of 'x' is not finite", cause});
}

// x, w and v are free: what initial equations say of the others follows from the numbers that are set. A number for one
// of the others would contradict its equation.
TEST_F(ModelicaStart, NumbersThatAreSetMeetInitialEquations) {
  std::ofstream(folder_ / "start.mo")
      << "model start\n  parameter Real a = 2, k = 4;\n  Real x(start = 1, fixed = true), w(start = a, fixed = true), "
         "v;\n  Real z, q, s, r;\ninitial equation\n  v = a;\n  z = 2 * x + v;\n  q = 3 * w;\n  der(s) = 0;\n"
         "  r^3 + r = w;\nequation\n  der(x) = 0;\n  der(w) = 0;\n  der(v) = 0;\n  der(z) = 0;\n  der(q) = 0;\n"
         "  der(s) = x - k * s;\n  der(r) = 0;\nend start;\n";
  const auto expect_start = [&](const std::string& arguments, double x, double w, double v, double r) {
    const json found = solution("start.mo --method radau5 --t-end 1 " + arguments)["values"];
    const std::map<std::string, double> expected = {{"x", x},     {"w", w},     {"v", v}, {"z", 2 * x + v},
                                                    {"q", 3 * w}, {"s", x / 4}, {"r", r}};
    for (const auto& [name, value] : expected) {
      EXPECT_NEAR(found[name].get<double>(), value, 1e-8) << name << " with " << arguments;
    }
  };
  expect_start("", 1.0, 2.0, 2.0, 1.0);
  expect_start("--initial x=3 --initial w=10 --initial v=5", 3.0, 10.0, 5.0, 2.0);
  expect_start("--set a=10 --initial v=0", 1.0, 10.0, 0.0, 2.0);
  expect_misuse("solve start.mo --initial z=3",
                {"--initial z: the initial value of 'z' follows from equations of the start", "z = 2 * x + v"});
  expect_misuse("solve start.mo --initial s=3", {"'s' follows from", "name the variables whose values are given"});
  expect_misuse("solve start.mo --initial r=3", {"'r' follows from"});
  std::ofstream(folder_ / "sweep.toml")
      << "model = \"start.mo\"\n[ensemble]\ninstances = 2\n[initial]\nx = 2.0\nz = 3.0\n"
         "[output]\nfile = \"out.nc\"\n";
  expect_misuse("run sweep.toml", {"sweep.toml:6:1: error: the initial value of 'z' follows from"});
  std::ofstream(folder_ / "table.csv") << "x,z\n1,2\n";
  std::ofstream(folder_ / "tabled.toml")
      << "model = \"start.mo\"\n[ensemble]\nsampler = \"table\"\ntable = \"table.csv\"\n"
         "[output]\nfile = \"out.nc\"\n";
  expect_misuse("run tabled.toml", {"table.csv:1:3: error: the initial value of 'z' follows from"});
  const json given = solution("start.mo --method radau5 --t-end 1 --initial-conditions x,w,v,z,q,s,r --initial z=7");
  EXPECT_NEAR(given["values"]["z"].get<double>(), 7.0, 1e-12);
}

// A generator at rest at an infinite bus has a mirror image with a negative excitation. The user has guessed the angle
// and the currents, not all voltages. The other solution was found at these loads. Reference: by phasors.
TEST_F(ModelicaStart, TheSearchBeginsWithWhatTheUserHasGuessed) {
  std::ofstream(folder_ / "generator.mo")
      << "model generator\n  parameter Real P0 = 0.8, V0 = 1.02, xl = 0.5, xt = 0.15, xd = 1.8, xdp = 0.3, xq = 1.7;\n"
         "  parameter Real Pm(fixed = false, start = 0.8), Efd(fixed = false, start = 1.0);\n"
         "  Real delta(start = 0.8), w(start = 0), Eq(start = 1);\n"
         "  Real id(start = 0.5), iq(start = 0.5), vd, vq, V(start = 1), Pe, vmd, vmq, ild, ilq, ifd, ifq;\n"
         "initial equation\n  der(delta) = 0;\n  der(w) = 0;\n  der(Eq) = 0;\n  Pe = P0;\n  V = V0;\nequation\n"
         "  der(delta) = 314 * w;\n  7 * der(w) = Pm - Pe - 1.5 * w;\n  6 * der(Eq) = Efd - Eq - (xd - xdp) * id;\n"
         "  vd = xq * iq;\n  vq = Eq - xdp * id;\n  V = sqrt(vd^2 + vq^2);\n  Pe = vd * id + vq * iq;\n"
         "  vd = vmd - xt * iq;\n  vq = vmq + xt * id;\n  id = ild + ifd;\n  iq = ilq + ifq;\n"
         "  vmd = sin(delta) - xl * ilq;\n  vmq = cos(delta) + xl * ild;\n"
         "  ifd = if time > 1 then vmq / 0.05 else 0;\n  ifq = if time > 1 then -vmd / 0.05 else 0;\nend generator;\n";
  struct Load {
    double P, V, xl, xd;
  };
  for (const Load& load :
       {Load{0.514, 0.972, 0.331, 1.317}, Load{0.403, 1.06, 0.386, 1.172}, Load{0.629, 0.983, 0.27, 2.081},
        Load{0.582, 1.005, 0.455, 2.038}, Load{0.8, 1.02, 0.5, 1.8}}) {
    const double x = load.xl + 0.15;
    const std::complex<double> j(0.0, 1.0);
    const std::complex<double> V = std::polar(load.V, std::asin(load.P * x / load.V));
    const std::complex<double> current = (V - 1.0) / (j * x);
    const double delta = std::arg(V + 1.7 * j * current);
    const std::complex<double> turned = std::polar(1.0, -delta);
    const double Eq = std::real(V * turned) - 0.3 * std::imag(current * turned);
    const json found = solution(
        fmt::format("generator.mo --method radau5 --t-end 0.01 --set P0={} --set V0={} --set xl={} --set xd={}", load.P,
                    load.V, load.xl, load.xd))["values"];
    EXPECT_NEAR(found["delta"].get<double>(), delta, 1e-7) << load.P;
    EXPECT_NEAR(found["Eq"].get<double>(), Eq, 1e-7) << load.P;
  }
  const Outcome explained = call("compile generator.mo --explain");
  EXPECT_NE(explained.out.find("The search begins with delta from 0.8, iq from 0.5, id from 0.5"), std::string::npos)
      << explained.out;
}

}  // namespace
