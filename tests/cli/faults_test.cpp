// A run in which one call of the system fails: every call in turn, and every call with all that follow. Whatever fails,
// the run ends by itself, says what went wrong, and leaves a result that is whole, or none, or the older one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/command.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/netcdf_content.hpp"
#include "tests/support/sample.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Content;
using manyfold::test::content_of;
using manyfold::test::Outcome;
using manyfold::test::slurp;

class Faults : public manyfold::test::CommandTest {
 protected:
  Faults() {
    // Several chunks for each thread, and whatever is made of them.
    std::ofstream(folder_ / "sweep.toml")
        << "model = \"robertson\"\nt_span = [0.0, 1e-3]\n[solver]\nmethod = \"radau5\"\nthreads = 2\n"
           "[ensemble]\ninstances = 150\n[parameters]\nk1 = { distribution = \"uniform\", min = 0.02, max = 0.06 }\n"
           "[output]\nfile = \"result.nc\"\ntimes = 201\ncompression = 1\nstatistics = [\"mean\", \"quantile(0.1)\"]\n"
           "reduce = [\"max(y1)\", \"final(y2) < 1\"]\n";
    sweep_ = slurp(folder_ / "sweep.toml");
  }

  std::string layer(const std::string& kinds, long at, bool stays) const {
    return std::string("LD_PRELOAD=") + manyfold::test::from_environment("MANYFOLD_FAULT_LAYER") +
           " MANYFOLD_FAULT_KINDS=" + kinds + " MANYFOLD_FAULT_AT=" + std::to_string(at) +
           (stays ? " MANYFOLD_FAULT_STAYS=1" : "") + " MANYFOLD_FAULT_COUNT='" + (folder_ / "count").string() + "'";
  }

  void expect_nothing_is_lost(const std::string& kinds, long least_calls) {
    ASSERT_EQ(call("run sweep.toml").code, 0);
    const Content whole = content_of(result());
    ASSERT_FALSE(whole.empty());
    fs::rename(result(), folder_ / "older.nc");
    ASSERT_EQ(call("run sweep.toml", layer(kinds, 0, false)).code, 0);
    const long calls = std::stol(slurp(folder_ / "count"));
    EXPECT_GE(calls, least_calls) << "the layer sees what the run does";
    int failures = 0;
    int runs = 0;
    for (const bool stays : {false, true}) {
      for (long at = 1; at <= calls; ++at) {
        // By day a third of the calls is left out, not the same third with `stays` as without.
        if (!manyfold::test::nightly && at % 3 == (stays ? 1 : 2)) continue;
        ++runs;
        // Over an older result, and where there is none.
        const bool replaces = at % 2 == 0;
        fs::remove(result());
        if (replaces) fs::copy_file(folder_ / "older.nc", result());
        SCOPED_TRACE("call " + std::to_string(at) + " of " + kinds + (stays ? " and all that follow" : ""));
        failures += expect_sane_end(layer(kinds, at, stays), replaces, whole);
      }
    }
    EXPECT_GE(8 * failures, runs) << "most of what fails matters";
  }

  int expect_sane_end(const std::string& environment, bool replaces, const Content& whole) {
    // A run that turns round and round, and one that waits for ever, are killed. Other programs may be busy.
    const Outcome outcome = call(std::string("run sweep.toml") + (replaces ? " --force" : ""),
                                 "timeout -s KILL 120 env " + environment, "ulimit -t 10");
    EXPECT_TRUE(outcome.code >= 0 && outcome.code <= 3) << outcome.code;
    EXPECT_TRUE(outcome.code == 0 || !outcome.err.empty());
    EXPECT_TRUE(!replaces || fs::exists(result())) << "an older result is kept";
    EXPECT_TRUE(outcome.code != 0 || fs::exists(result()));
    EXPECT_TRUE(!fs::exists(result()) || content_of(result()) == whole) << outcome.err;
    EXPECT_EQ(slurp(folder_ / "sweep.toml"), sweep_);
    for (const auto& item : fs::directory_iterator(folder_)) {
      if (item.path().extension() == ".partial" || item.path().extension() == ".lock") fs::remove(item.path());
    }
    return outcome.code != 0 ? 1 : 0;
  }

  fs::path result() const { return folder_ / "result.nc"; }

  std::string sweep_;
};

TEST_F(Faults, OfFilesLoseNothing) {
  expect_nothing_is_lost("f", 50);
}
TEST_F(Faults, OfMemoryLoseNothing) {
  expect_nothing_is_lost("m", 30);
}
/// Locks of mutexes, and pieces of memory of any size.
TEST_F(Faults, LocksAndAllocationsDoNotGrowWithTheInstances) {
  const auto calls = [&](const std::string& kind, int instances) {
    std::ofstream(folder_ / "many.toml") << "model = \"robertson\"\nt_span = [0.0, 1e-3]\n[solver]\n"
                                            "method = \"radau5\"\nthreads = 2\n[ensemble]\ninstances = "
                                         << instances << "\n[output]\nfile = \"many.nc\"\ntimes = \"end\"\n";
    const std::string counting = layer(kind, 0, false) + " MANYFOLD_FAULT_MEMORY=1";
    EXPECT_EQ(call("run many.toml --force", counting).code, 0);
    return std::stol(slurp(folder_ / "count"));
  };
  for (const std::string kind : {"l", "m"}) {
    const long few = calls(kind, 20000);
    const long many = calls(kind, 120000);
    EXPECT_GT(few, 1000) << "the layer sees what the run does";
    // Some for every chunk of thousands of instances, and for every piece that is written.
    EXPECT_LT(many - few, 10000) << "of 100,000 instances, " << (kind == "l" ? "locks" : "allocations");
  }
}

TEST_F(Faults, OfProcessesLoseNothing) {
  expect_nothing_is_lost("p", 3);
}

}  // namespace
