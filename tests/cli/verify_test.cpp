// `verify` and `run --verify` as users meet them. Models that cheat show that a wrong answer is found.
#include <gtest/gtest.h>
#include <netcdf.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Outcome;
using nlohmann::json;

/// Decays at a rate that is off by one in a thousand, unless it is compiled with dual numbers, as references are: an
/// integrator that errs and does not know: references never call a model's own Jacobian.
constexpr const char* cheat = R"cpp(#include <manyfold/model.hpp>
                                    static double errs = 0.0;  // of this library alone
                                    struct Cheat {
                                      static constexpr const char* name = "cheat";
                                      static constexpr double t_span[] = {0.0, 2.0};
                                      static constexpr manyfold::Variable variables[] = {{.name = "y", .initial = 1.0}, {.name = "z", .algebraic = true}};
                                      static constexpr manyfold::Parameter parameters[] = {{.name = "k", .value = 1.0}, {.name = "off", .value = 1e-3}};
                                      static void rhs(const auto&, const auto& y, const auto& p, auto& f) {
                                        f[0] = -(1.0 + errs * p[1]) * p[0] * y[0];
                                        f[1] = y[1] - 3.0;
                                      }
                                      static void jacobian(const auto&, const auto&, const auto& p, auto& J) {
                                        if constexpr (requires { J.values; }) errs = 1.0;  // not what checks the model
                                        J(0, 0) = -(1.0 + p[1]) * p[0];
                                        J(1, 1) = 1.0;
                                      }
                                    };
                                    MANYFOLD_MODEL(Cheat);
)cpp";

/// Lorenz's equations: after a while no two solutions agree.
constexpr const char* chaos =
    R"cpp(#include <manyfold/model.hpp>
          struct Chaos {
            static constexpr const char* name = "chaos";
            static constexpr double t_span[] = {0.0, 60.0};
            static constexpr manyfold::Variable variables[] = {
                {.name = "x", .initial = 1.0}, {.name = "y", .initial = 1.0}, {.name = "z", .initial = 1.0}};
            static constexpr manyfold::Parameter parameters[] = {{.name = "r", .value = 28.0}};
            static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
              f[0] = 10.0 * (y[1] - y[0]);
              f[1] = y[0] * (p[0] - y[2]) - y[1];
              f[2] = y[0] * y[1] - 8.0 / 3.0 * y[2];
            }
          };
          MANYFOLD_MODEL(Chaos);
    )cpp";

class Verify : public manyfold::test::CommandTest {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  json verified(const std::string& arguments, int code) const {
    const Outcome outcome = call("verify " + arguments + " --json");
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    return json::parse(outcome.out);
  }
};

TEST_F(Verify, AnAccurateSolutionIsVerified) {
  const json found = verified("robertson --instances 4 --rtol 1e-3,1e-7", 0);
  EXPECT_EQ(found["verdict"], "verified");
  EXPECT_EQ(found["instances"], 5);
  EXPECT_EQ(found["times"], 101);
  ASSERT_EQ(found["results"].size(), 2U);
  EXPECT_EQ(found["results"][0]["method"], "rodas4");
  EXPECT_EQ(found["results"][1]["method"], "rodas5p");
  for (const json& result : found["results"]) {
    EXPECT_EQ(result["by_verdict"]["verified"], 5);
    EXPECT_EQ(result["references"], (json{"radau9", "esdirk54"}));
    ASSERT_EQ(result["variables"].size(), 3U);
    EXPECT_GT(result["variables"][0]["largest"], 1e-3);
    EXPECT_LT(result["variables"][0]["largest"], 30.0);
    EXPECT_LT(result["variables"][0]["doubt"], 1.0);
    EXPECT_LE(result["error"]["median"], result["error"]["largest"]);
  }
}

TEST_F(Verify, AWrongAnswerIsFoundWithItsSize) {
  write("cheat.hpp", cheat);
  const json found = verified("cheat.hpp --instances 3 --perturb 0", 3);
  EXPECT_EQ(found["verdict"], "inaccurate");
  const json& result = found["results"][0];
  EXPECT_EQ(result["by_verdict"]["inaccurate"], 4);
  // At t = 2 it is 2 e^-2 in a thousand, where the largest |y| within a tenth of the time span is e^-1.8.
  EXPECT_NEAR(result["variables"][0]["largest"].get<double>(), 2e-3 * std::exp(-0.2) / 1e-6, 20.0);
  EXPECT_TRUE(result["variables"][0]["exceeds"]);
  EXPECT_FALSE(result["variables"][1]["exceeds"]);
  EXPECT_LT(result["variables"][0]["digits"], 3.0);
  ASSERT_EQ(result["not_verified"].size(), 4U);
  EXPECT_EQ(result["not_verified"][0]["status"], "success");
  EXPECT_EQ(result["not_verified"][0]["parameters"]["k"], 1.0);

  const Outcome table = call("verify cheat.hpp --instances 0");
  EXPECT_EQ(table.code, 3);
  EXPECT_NE(table.out.find("beyond the limit"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("verdict: inaccurate (1 inaccurate)"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("manyfold solve cheat.hpp"), std::string::npos) << table.out;
  // What it was off by no longer exceeds the tolerance.
  EXPECT_EQ(verified("cheat.hpp --set off=1e-6 --rtol 1e-5 --instances 2", 0)["verdict"], "verified");
}

TEST_F(Verify, ParametersArePerturbedByTheShareThatIsAskedFor) {
  write("cheat.hpp", cheat);
  const json found = verified("cheat.hpp --instances 40 --perturb 0.2 --set k=-2 --seed 3", 3);
  double least = 0.0;
  double most = -10.0;
  for (const json& instance : found["results"][0]["not_verified"]) {
    const double k = instance["parameters"]["k"];
    if (instance["instance"] == 0) {
      EXPECT_EQ(k, -2.0);
    }
    least = std::min(least, k);
    most = std::max(most, k);
  }
  EXPECT_GE(least, -2.4);
  EXPECT_LT(least, -2.3);
  EXPECT_LE(most, -1.6);
  EXPECT_GT(most, -1.7);
  // The same by the same seed.
  EXPECT_EQ(verified("cheat.hpp --instances 40 --perturb 0.2 --set k=-2 --seed 3", 3), found);
}

TEST_F(Verify, WhereReferencesDisagreeNobodyIsBlamed) {
  write("chaos.hpp", chaos);
  const json found = verified("chaos.hpp --instances 2", 3);
  EXPECT_EQ(found["verdict"], "uncertain");
  EXPECT_EQ(found["results"][0]["by_verdict"]["uncertain"], 3);
  EXPECT_EQ(verified("chaos.hpp --instances 2 --t-end 1", 0)["verdict"], "verified");
}

TEST_F(Verify, EventsAreComparedToo) {
  const json found = verified("bouncing_ball --instances 3 --t-end 1.5", 0);
  const json& events = found["results"][0]["events"];
  EXPECT_EQ(events["instances_with_other_sequences"], 0);
  EXPECT_EQ(events["compared"], 8);
}

TEST_F(Verify, MisuseIsToldWhatIsNeeded) {
  expect_misuse("verify robertsen", {"robertsen", "robertson"});
  expect_misuse("verify robertson --rtol 1e-120", {"--rtol is 1e-120", "at least 2.220446e-15"});
  expect_misuse("verify robertson --atol -1", {"--atol is -1"});
  expect_misuse("verify robertson --perturb 1", {"--perturb 1"});
  expect_misuse("verify robertson --instances -1", {"--instances is '-1'"});
  expect_misuse("verify robertson --instances 9223372036854775807",
                {"--instances 9223372036854775807", "at most 442961"});
  expect_misuse("verify robertson --seed -1", {"--seed is '-1'"});
  expect_misuse("cache --limit nan", {"--limit is 'nan'"});
  expect_misuse("verify robertson --set k9=1", {"k9", "parameter"});
  expect_misuse("verify robertson --t-end 0", {"--t-end 0"});
  expect_misuse("verify pendulum_index3 --method esdirk54", {"'esdirk54' does not converge for index 3", "'radau9'"});
  EXPECT_NE(call("verify --help").out.find("Exit codes"), std::string::npos);
}

std::vector<double> numbers(int file, const char* name, std::size_t count) {
  int id = -1;
  EXPECT_EQ(nc_inq_varid(file, name, &id), NC_NOERR) << name;
  std::vector<double> values(count);
  EXPECT_EQ(nc_get_var_double(file, id, values.data()), NC_NOERR) << name;
  return values;
}

std::string text(int file, const char* name) {
  std::size_t length = 0;
  EXPECT_EQ(nc_inq_attlen(file, NC_GLOBAL, name, &length), NC_NOERR) << name;
  std::string value(length, ' ');
  nc_get_att_text(file, NC_GLOBAL, name, value.data());
  return value;
}

TEST_F(Verify, ARunVerifiesASampleOfItsInstances) {
  write("cheat.hpp", cheat);
  const std::string sweep = R"toml(model = "cheat.hpp"
[solver]
method = "radau5"
rtol = 1e-6
verify = 0.1
[ensemble]
instances = 100
[parameters]
off = { distribution = "choice", values = [0.0, 1e-3] }
[output]
times = 21
variables = ["y"]
file = "cheat.nc"
)toml";
  write("cheat.toml", sweep);
  const Outcome outcome = call("run cheat.toml");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("verdict: inaccurate"), std::string::npos) << outcome.out;
  int file = -1;
  ASSERT_EQ(nc_open((folder_ / "cheat.nc").c_str(), NC_NOWRITE, &file), NC_NOERR);
  int dimension = -1;
  std::size_t samples = 0;
  ASSERT_EQ(nc_inq_dimid(file, "verify_sample", &dimension), NC_NOERR);
  nc_inq_dimlen(file, dimension, &samples);
  EXPECT_GT(samples, 2U);
  EXPECT_LT(samples, 25U);
  const auto off = numbers(file, "param_off", 100);
  const auto instances = numbers(file, "verify_instance", samples);
  const auto verdicts = numbers(file, "verify_verdict", samples);
  const auto errors = numbers(file, "verify_error", samples);
  const auto doubts = numbers(file, "verify_doubt", samples);
  for (std::size_t k = 0; k < samples; ++k) {
    const bool wrong = off[static_cast<std::size_t>(instances[k])] > 0.0;
    EXPECT_EQ(verdicts[k], wrong ? 2.0 : 0.0);
    EXPECT_EQ(errors[k] > 100.0, wrong) << errors[k];
    EXPECT_LT(doubts[k], 1.0);
  }
  EXPECT_EQ(text(file, "verify_method"), "rodas5p");
  EXPECT_EQ(text(file, "verify_second_method"), "esdirk54");
  EXPECT_EQ(text(file, "verify_result"), "inaccurate");
  nc_close(file);

  // On the command line, and with another share; 0 turns it off.
  const json all = json::parse(call("run cheat.toml --force --json --verify 1").out);
  EXPECT_GT(all["verification"]["by_verdict"]["verified"], 20);
  EXPECT_GT(all["verification"]["by_verdict"]["inaccurate"], 20);
  EXPECT_EQ(call("run cheat.toml --force --verify 0").code, 0);
  expect_misuse("run cheat.toml --verify 2", {"--verify 2"});
  std::string wrong = sweep;
  wrong.replace(wrong.find("0.1\n"), 3, "1.5");
  write("wrong.toml", wrong);
  expect_misuse("run wrong.toml", {"wrong.toml:5:10: error: verify is 1.5, but must be the share"});
}

}  // namespace
