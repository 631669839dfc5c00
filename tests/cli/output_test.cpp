// What runs write: results are not lost to reruns, other runs or signals, and what cannot be printed is told.
#include <gtest/gtest.h>
#include <netcdf.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include <manyfold/status.hpp>

#include "tests/support/command.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/netcdf_content.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Outcome;
using manyfold::test::slurp;

class Output : public manyfold::test::CommandTest {
 protected:
  Output() { sweep("sweep.toml", 20); }
  /// Into result.nc.
  void sweep(const std::string& name, std::int64_t instances) const {
    std::ofstream(folder_ / name) << "model = \"robertson\"\nt_span = [0.0, 1.0]\n[solver]\nmethod = \"radau5\"\n"
                                     "[ensemble]\ninstances = "
                                  << instances
                                  << "\n[parameters]\nk1 = { distribution = \"uniform\", min = 0.02, max = 0.06 }\n"
                                     "[output]\nfile = \"result.nc\"\ntimes = \"end\"\n";
  }
  /// A run that takes long, once it has begun to write results.
  pid_t start_long(std::int64_t instances = 3000000) const {
    sweep("long.toml", instances);
    const pid_t child = start("run long.toml --force");
    for (int i = 0; i < 500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (const auto& item : fs::directory_iterator(folder_)) {
        if (item.path().extension() == ".partial" && fs::file_size(item.path()) > 1000000) return child;
      }
    }
    return child;
  }
  /// y' = -y, with an evaluation that does what the environment variable WRONG says, and a sweep of it.
  void wrong_model() const {
    std::ofstream(folder_ / "wrong.hpp")
        << "#include <manyfold/model.hpp>\n#include <atomic>\n#include <cstdlib>\n#include <stdexcept>\n#include "
           "<string>\n"
           "[[gnu::noipa]] inline int deep(volatile int* from) { volatile int here[1000] = {}; return deep(here) + "
           "*from; }\n"
           "inline void go_wrong() {\n  static std::atomic<int> calls = 0;\n  if (++calls < 20) return;\n"
           "  const std::string how = std::getenv(\"WRONG\");\n  volatile int number = 1;\n"
           "  if (how == \"throws\") throw std::runtime_error(\"thrown by the model\");\n"
           "  if (how == \"overflows\") deep(&number);\n  while (how == \"hangs\" && number == 1) {}\n}\n"
           "struct Wrong {\n  static constexpr const char* name = \"wrong\";\n"
           "  static constexpr double t_span[] = {0.0, 1.0};\n"
           "  static constexpr manyfold::Variable variables[] = {{.name = \"x\", .initial = 1.0}};\n"
           "  static constexpr void rhs(const auto&, const auto& y, const auto&, auto& f) {\n"
           "    f[0] = -y[0];\n    go_wrong();\n  }\n};\nMANYFOLD_MODEL(Wrong);\n";
    std::ofstream(folder_ / "wrong.toml")
        << "model = \"wrong.hpp\"\n[ensemble]\ninstances = 100\n[output]\nfile = \"result.nc\"\n";
  }
  /// Files in the folder, but for what the command printed.
  void expect_only(const std::set<std::string>& names) const {
    std::set<std::string> found;
    for (const auto& item : fs::directory_iterator(folder_)) found.insert(item.path().filename());
    found.erase("out.txt");
    found.erase("err.txt");
    EXPECT_EQ(found, names);
  }
  fs::path result() const { return folder_ / "result.nc"; }
};

TEST_F(Output, AResultIsReplacedOnlyByForce) {
  EXPECT_EQ(call("run sweep.toml").code, 0);
  const std::string before = slurp(result());
  EXPECT_FALSE(before.empty());
  expect_misuse("run sweep.toml", {"output file result.nc exists already: --force replaces it"});
  EXPECT_EQ(slurp(result()), before);
  EXPECT_EQ(call("run sweep.toml --force").code, 0);
  EXPECT_NE(slurp(result()), before) << "the history has the command line";
  EXPECT_FALSE(fs::exists(folder_ / "result.nc.lock"));
}

TEST_F(Output, InputsAndWhatIsNoFileAreRefused) {
  std::ofstream(folder_ / "cases.csv") << "k1\n0.04\n";
  std::ofstream(folder_ / "table.toml")
      << "model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"cases.csv\"\n";
  expect_misuse("run sweep.toml --force --out ./sweep.toml", {"sweep.toml, which this run reads"});
  expect_misuse("run table.toml --force --out cases.csv", {"cases.csv, which this run reads"});
  expect_misuse("run sweep.toml --force --out /dev/null", {"is a device"});
  expect_misuse("run sweep.toml --out " + std::string(300, 'a'), {"File name too long"});
  expect_misuse("run .", {"sweep file cannot be read: Is a directory"});
  fs::create_directories(folder_ / "models");
  fs::copy_file(fs::path(manyfold::test::from_environment("MANYFOLD_SOURCE")) / "tests/engine/hopper.hpp",
                folder_ / "models" / "m.hpp");
  std::ofstream(folder_ / "model.toml") << "model = \"models/m.hpp\"\n[ensemble]\ninstances = 1\n";
  expect_misuse("run model.toml --force --out models/m.hpp", {"m.hpp, which this run reads"});
  expect_misuse("solve models/m.hpp --csv models/./m.hpp", {"is the same file as models/m.hpp, which is read"});
  EXPECT_EQ(slurp(folder_ / "cases.csv"), "k1\n0.04\n");
}

TEST_F(Output, NamesThatAreNotUtf8AreWrittenToo) {
  const Outcome outcome = call("run sweep.toml --json --out $(printf 'a\\377.nc')");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["output"], "a\xEF\xBF\xBD.nc");
  EXPECT_TRUE(fs::exists(folder_ / "a\xFF.nc"));
}

TEST_F(Output, NamesThatNetcdfReadsAsOthersAreWrittenOrRefused) {
  for (const std::string name : {" a.nc", "\ta.nc", "a#mode=zarr.nc", "file:a.nc", "c:a.nc", "~a.nc", "a.nc "}) {
    EXPECT_EQ(call("run sweep.toml --out '" + name + "'").code, 0) << name;
    const manyfold::test::Content content = manyfold::test::content_of(folder_ / name);
    EXPECT_EQ(content.count("status"), 1U) << name;
    fs::remove(folder_ / name);
    expect_only({"sweep.toml"});
  }
  expect_misuse("run sweep.toml --out '\\\\srv\\a.nc'", {"netCDF takes no '\\'"});
  expect_misuse("run sweep.toml --out 'a\\b.nc'", {"netCDF takes no '\\'"});
  expect_only({"sweep.toml"});
}

TEST_F(Output, AnyNumberOfInstancesBeginsAtOnce) {
  const pid_t child = start_long(1'000'000'000'000);
  kill(child, SIGTERM);
  EXPECT_EQ(finish(child).code, 130);
  int id = 0;
  ASSERT_EQ(nc_open(result().c_str(), NC_NOWRITE, &id), NC_NOERR);
  int variable = 0;
  ASSERT_EQ(nc_inq_varid(id, "status", &variable), NC_NOERR);
  signed char status[2] = {};
  const std::size_t first = 0;
  const std::size_t last = 999'999'999'999;
  EXPECT_EQ(nc_get_var1_schar(id, variable, &first, &status[0]), NC_NOERR);
  EXPECT_EQ(nc_get_var1_schar(id, variable, &last, &status[1]), NC_NOERR);
  nc_close(id);
  EXPECT_EQ(status[0], 0) << "success";
  EXPECT_EQ(status[1], static_cast<int>(manyfold::Status::cancelled));
}

TEST_F(Output, NamesWithControlCharactersDoNotReachTheTerminal) {
  const Outcome outcome = call("run sweep.toml --out \"$(printf 'a\\033[31m\\nb.nc')\"");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("result: a\\x1b[31m\\x0ab.nc"), std::string::npos) << outcome.out;
  expect_misuse("run sweep.toml --out \"$(printf 'a\\033[31m\\nb.nc')\"", {"output file a\\x1b[31m\\x0ab.nc exists"});
  std::ofstream(folder_ / "cases.csv") << "k1,k2\n0.04,1\x01\x1b[2J3\n";
  std::ofstream(folder_ / "table.toml")
      << "model = \"robertson\"\n[ensemble]\nsampler = \"table\"\ntable = \"cases.csv\"\n";
  expect_misuse("run table.toml", {"column \"k2\" has \"1\\x01\\x1b[2J3\", but needs a decimal number"});
  std::ofstream(folder_ / "nul.toml") << "model = \"robertson\"\n[output]\nfile = \"a\\u0000b.nc\"\n";
  expect_misuse("run nul.toml", {"nul.toml:3:8: error: output.file is \"a\\x00b.nc\", but must be a text without NUL"});
}

TEST_F(Output, ASecondRunIsToldWhoWrites) {
  const pid_t child = start_long();
  // Its own files for standard output and error.
  const std::string line = "cd '" + folder_.string() + "' && '" + manyfold::test::from_environment("MANYFOLD_COMMAND") +
                           "' run sweep.toml --force >out2.txt 2>err2.txt";
  const int status = std::system(line.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  const std::string message = slurp(folder_ / "err2.txt");
  EXPECT_NE(message.find("is being written by another run, process " + std::to_string(child)), std::string::npos)
      << message;
  kill(child, SIGKILL);
  finish(child);
  EXPECT_TRUE(fs::exists(folder_ / "result.nc.lock")) << "the run did not take so long";
  EXPECT_EQ(call("run sweep.toml").code, 0) << "a run that was killed holds nothing";
}

TEST_F(Output, AnInterruptedRunReplacesAResultOnlyByForce) {
  const pid_t child = start_long();
  std::ofstream(result()) << "has appeared since";
  kill(child, SIGTERM);
  EXPECT_EQ(finish(child).code, 130) << "--force";
  int id = 0;
  ASSERT_EQ(nc_open(result().c_str(), NC_NOWRITE, &id), NC_NOERR);
  long long finished = 0;
  EXPECT_EQ(nc_get_att_longlong(id, NC_GLOBAL, "instances_finished", &finished), NC_NOERR);
  int variable = 0;
  ASSERT_EQ(nc_inq_varid(id, "status", &variable), NC_NOERR);
  std::vector<signed char> status(3000000);
  ASSERT_EQ(nc_get_var_schar(id, variable, status.data()), NC_NOERR);
  nc_close(id);
  EXPECT_EQ(std::count(status.begin(), status.end(), 0), finished);
  EXPECT_GT(finished, 0);
  const std::string before = slurp(result());
  expect_misuse("run long.toml", {"--force"});
  EXPECT_EQ(slurp(result()), before);
}

TEST_F(Output, ALimitOfFileSizesEndsTheRunWithAMessage) {
  std::ofstream(folder_ / "limit.toml")
      << "model = \"robertson\"\n[solver]\nmethod = \"radau5\"\n[ensemble]\ninstances = 20000\n"
         "[output]\nfile = \"result.nc\"\n";
  const Outcome outcome = call("run limit.toml", "", "ulimit -f 1000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("(ulimit -f), is reached"), std::string::npos) << outcome.err;
  expect_only({"sweep.toml", "limit.toml"});
}

// Quantiles that fit the memory need no file: 20000 instances of 3 variables at 101 times are 48 MB.
TEST_F(Output, ALimitOfFileSizesIsOfFilesAlone) {
  std::ofstream(folder_ / "limit.toml")
      << "model = \"robertson\"\n[solver]\nmethod = \"radau5\"\n[ensemble]\ninstances = 20000\n[output]\n"
         "file = \"result.nc\"\ninstances = false\nstatistics = [\"quantile(0.5)\"]\n";
  const Outcome outcome = call("run limit.toml", "", "ulimit -f 1000");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Output, ALimitOfProcessorTimeInterruptsTheRun) {
  sweep("long.toml", 3000000);
  const Outcome outcome = call("run long.toml", "", "ulimit -St 1");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  expect_only({"sweep.toml", "long.toml", "result.nc"});
}
TEST_F(Output, ThreadsThatCannotBeStartedEndTheRun) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than this test leaves";
#endif
  // Every stack takes a gigabyte of four.
  const Outcome outcome = call("run sweep.toml --threads 8", "", "ulimit -s 1000000; ulimit -v 4000000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("of 9 threads can be started"), std::string::npos) << outcome.err;
  expect_only({"sweep.toml"});
}

TEST_F(Output, MemoryIsBoundedWhateverTheNumberOfInstances) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const auto peak = [&](int instances) {
    std::ofstream(folder_ / "long.toml") << "model = \"robertson\"\nt_span = [0.0, 1e-3]\n[solver]\n"
                                            "method = \"radau5\"\nthreads = 2\n[ensemble]\ninstances = "
                                         << instances
                                         << "\n[output]\nfile = \"result.nc\"\ntimes = 20001\n"
                                            "trajectories = false\nstatistics = [\"mean\"]\n";
    const Outcome outcome = call("run long.toml --force");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return static_cast<double>(outcome.peak);
  };
  // Four numbers at each time: 16 chunks of 16 instances, and 64 instances of which three numbers are kept for the
  // statistics. The program itself takes 30 MB.
  const double bound = 20001 * 8.0 * (4 * 16 * 16 + 3 * 64) + 5e7;
  const double many = peak(700);
  EXPECT_LT(many, bound);
  EXPECT_GT(many, bound / 4) << "the bound says something";
  EXPECT_LT(peak(1400), bound);
}

TEST_F(Output, AModelThatThrowsEndsTheRun) {
  wrong_model();
  const Outcome outcome = call("run wrong.toml", "MANYFOLD_ISA=scalar WRONG=throws");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("the model threw an exception: thrown by the model"), std::string::npos) << outcome.err;
  expect_only({"sweep.toml", "wrong.hpp", "wrong.toml"});
}

TEST_F(Output, AModelThatCrashesEndsTheRunWithAMessage) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers report crashes themselves";
#endif
  wrong_model();
  const Outcome outcome = call("run wrong.toml --threads 8", "MANYFOLD_ISA=scalar WRONG=overflows");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("manyfold: error: crashed: Segmentation fault"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("a stack that is too small"), std::string::npos) << outcome.err;
  expect_only({"sweep.toml", "wrong.hpp", "wrong.toml"});
}

TEST_F(Output, ASecondSignalEndsTheRunAtOnceAndLeavesNothing) {
  wrong_model();
  const pid_t child = start("run wrong.toml --threads 1", "MANYFOLD_ISA=scalar WRONG=hangs");
  const auto there = [&](const std::string& extension) {
    const fs::directory_iterator items(folder_);
    return std::any_of(begin(items), end(items),
                       [&](const auto& item) { return item.path().extension() == extension; });
  };
  for (int i = 0; i < 2000 && !there(".partial"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(there(".partial") && there(".lock"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(there(".partial")) << "the first one waits for the model";
  kill(child, SIGINT);
  EXPECT_EQ(finish(child).code, 128 + SIGINT);
  expect_only({"sweep.toml", "wrong.hpp", "wrong.toml"});
}

TEST_F(Output, OneSignalEndsTheWaitForASweepFileThatIsAPipe) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.toml").c_str(), 0600), 0);
  const pid_t child = start("run pipe.toml");
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  kill(child, SIGTERM);
  EXPECT_EQ(finish(child).code, 128 + SIGTERM);
}

TEST_F(Output, ASignalAtAnyInstantLeavesAWholeFileOrNone) {
  sweep("long.toml", 1000000);
  int interrupted = 0;
  for (int i = 0; i < 20; ++i) {
    fs::remove(result());
    const pid_t child = start("run long.toml");
    std::this_thread::sleep_for(std::chrono::milliseconds(15 * i));
    kill(child, SIGTERM);
    const int code = finish(child).code;
    EXPECT_TRUE(code == 0 || code == 130 || code == 128 + SIGTERM) << code;
    interrupted += code == 130 ? 1 : 0;
    // The signal itself ends the process only where it has not begun yet.
    EXPECT_TRUE(code != 128 + SIGTERM || !fs::exists(result()));
    EXPECT_TRUE(code != 0 || fs::exists(result()));
    if (fs::exists(result())) {
      expect_only({"sweep.toml", "long.toml", "result.nc"});
      int id = 0;
      ASSERT_EQ(nc_open(result().c_str(), NC_NOWRITE, &id), NC_NOERR);
      std::size_t length = 0;
      EXPECT_EQ(nc_inq_attlen(id, NC_GLOBAL, "interrupted", &length), code == 130 ? NC_NOERR : NC_ENOTATT);
      nc_close(id);
    } else {
      expect_only({"sweep.toml", "long.toml"});
    }
  }
  EXPECT_GT(interrupted, 2);
}

TEST_F(Output, ASignalBeforeTheIntegrationLeavesNothing) {
  const fs::path compiler = folder_ / "compiler";
  std::ofstream(compiler) << "#!/bin/sh\necho >running\nexec sleep 100\n";
  fs::permissions(compiler, fs::perms::owner_all);
  wrong_model();
  const pid_t child = start("run wrong.toml", "MANYFOLD_CACHE=cache WRONG= CXX=" + compiler.string());
  for (int i = 0; i < 1000 && !fs::exists(folder_ / "running"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(fs::exists(folder_ / "result.nc.lock"));
  kill(child, SIGTERM);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_NE(outcome.err.find("interrupted before the integration; there is no result"), std::string::npos)
      << outcome.err;
  expect_only({"sweep.toml", "wrong.hpp", "wrong.toml", "compiler", "running", "cache"});
}

TEST_F(Output, WhatCannotBePrintedIsTold) {
  for (const std::string arguments :
       {"list", "list --json", "describe robertson", "info", "info --json", "solve robertson --t-end 1 --method radau5",
        "solve robertson --t-end 1 --method radau5 --json", "run sweep.toml --force", "run sweep.toml --force --json",
        "cache", "cache --json", "--help", "--version"}) {
    const std::string line = "cd '" + folder_.string() + "' && '" +
                             manyfold::test::from_environment("MANYFOLD_COMMAND") + "' " + arguments +
                             " >/dev/full 2>err.txt";
    const int status = std::system(line.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
    EXPECT_NE(slurp(folder_ / "err.txt").find("standard output cannot be written: No space left on device"),
              std::string::npos)
        << arguments << ": " << slurp(folder_ / "err.txt");
  }
}

}  // namespace
