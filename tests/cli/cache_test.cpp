// The cache of kernels as users meet it: what is stale, damaged or foreign is compiled anew.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"

namespace {

namespace fs = std::filesystem;

using manyfold::test::Outcome;

class Cache : public manyfold::test::CommandTest {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  /// y' = -k y with k = `rate`, from a file that begins with `lines`.
  std::string decay(const std::string& lines, const std::string& rate = "rate") const {
    return lines +
           "\n#include <manyfold/model.hpp>\nstruct Decay {\n  static constexpr const char* name = \"decay\";\n"
           "  static constexpr double t_span[] = {0.0, 1.0};\n"
           "  static constexpr manyfold::Variable variables[] = {{.name = \"y\", .initial = 1.0}};\n"
           "  static constexpr void rhs(auto, const auto& y, const auto&, auto& f) { f[0] = -" +
           rate + " * y[0]; }\n};\nMANYFOLD_MODEL(Decay);\n";
  }
  Outcome solve(const std::string& model, const std::string& environment = "") const {
    return call("solve " + model + " --method backward_euler --json", "MANYFOLD_CACHE=cache " + environment);
  }
  /// y(1) and whether it was compiled for that.
  std::pair<double, bool> value(const std::string& model, const std::string& environment = "") const {
    const Outcome outcome = solve(model, environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    if (outcome.code != 0) return {};
    return {nlohmann::json::parse(outcome.out)["values"]["y"], outcome.err.find("compiling") != std::string::npos};
  }
  std::vector<fs::path> cached(const std::string& extension) const {
    std::vector<fs::path> files;
    for (const auto& item : fs::directory_iterator(folder_ / "cache")) {
      if (item.path().extension() == extension) files.push_back(item.path());
    }
    return files;
  }
};

TEST_F(Cache, AHeaderThatOnlyTheCompilerFindsIsPartOfTheModel) {
  const auto write_header = [&](const std::string& rate) {
    write("headers/rates.hpp", "inline constexpr double rate = " + rate + ";\n");
    write("headers/indirect.hpp", "#define RATES \"rates.hpp\"\n#include RATES\n");
  };
  write_header("1.0");
  write("decay.hpp", decay("#include <indirect.hpp>"));
  const std::string path = "CPLUS_INCLUDE_PATH=" + (folder_ / "headers").string();
  const auto [one, first] = value("decay.hpp", path);
  EXPECT_TRUE(first);
  EXPECT_FALSE(value("decay.hpp", path).second);
  write_header("2.0");
  const auto [two, second] = value("decay.hpp", path);
  EXPECT_TRUE(second);
  EXPECT_NEAR(two, one * one, 1e-3);
}

TEST_F(Cache, ModelsInFoldersOfTheirOwnHaveHeadersOfTheirOwn) {
  for (const std::string& folder : {std::string("a"), std::string("b c")}) {
    write(folder + "/rates.hpp",
          "inline constexpr double rate = " + std::string(folder == "a" ? "1.0" : "2.0") + ";\n");
    write(folder + "/decay.hpp", decay("#include \"rates.hpp\""));
  }
  const double one = value("a/decay.hpp").first;
  EXPECT_NEAR(value("'b c/decay.hpp'").first, one * one, 1e-3);
  EXPECT_FALSE(value("a/decay.hpp").second);
  EXPECT_FALSE(value("'b c/decay.hpp'").second);
}

TEST_F(Cache, AHeaderThatChangesDuringTheCompilationIsNotTrusted) {
  write("rates.hpp", "inline constexpr double rate = 1.0;\n");
  write("decay.hpp", decay("#include \"rates.hpp\""));
  fs::last_write_time(folder_ / "rates.hpp", fs::file_time_type::clock::now() + std::chrono::hours(1));
  const Outcome outcome = solve("decay.hpp");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("rates.hpp' was written after its compilation began"), std::string::npos) << outcome.err;
  fs::last_write_time(folder_ / "rates.hpp", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(value("decay.hpp").second);
  EXPECT_FALSE(value("decay.hpp").second);
}

TEST_F(Cache, ADamagedLibraryIsCompiledAnew) {
  write("decay.hpp", decay("", "1.0"));
  const double good = value("decay.hpp").first;
  const std::vector<fs::path> libraries = cached(".so");
  ASSERT_EQ(libraries.size(), 2U);
  // The other one is the description.
  const fs::path library =
      *std::max_element(libraries.begin(), libraries.end(),
                        [](const fs::path& a, const fs::path& b) { return fs::file_size(a) < fs::file_size(b); });
  fs::resize_file(library, fs::file_size(library) / 2);
  const Outcome outcome = solve("decay.hpp");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("is damaged and is made again"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("compiling"), std::string::npos) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["values"]["y"], good);
  EXPECT_FALSE(value("decay.hpp").second);
}

TEST_F(Cache, AFolderThatOthersWriteToIsNotUsed) {
  write("decay.hpp", decay("", "1.0"));
  value("decay.hpp");
  ASSERT_EQ(chmod((folder_ / "cache").c_str(), 0777), 0);
  fs::create_directories(folder_ / "temporary");
  const Outcome outcome = solve("decay.hpp", "TMPDIR=" + (folder_ / "temporary").string());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("others may write to it"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("compiling"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::is_empty(folder_ / "temporary"));
  EXPECT_EQ(call("cache", "MANYFOLD_CACHE=cache").code, 2);
}

TEST_F(Cache, AHundredThousandBlanksAreAModelLikeAnyOther) {
  write("decay.hpp", decay(std::string(100000, ' ') + "// #include \"" + std::string(100000, 'x') + "\"", "1.0"));
  EXPECT_TRUE(value("decay.hpp").second);
  EXPECT_FALSE(value("decay.hpp").second);
}

TEST_F(Cache, NamesThatCannotBeUsedAreNamed) {
  write("decay.hpp", decay("", "1.0"));
  const Outcome options = solve("decay.hpp", "'CXX=g++ -O0'");
  EXPECT_EQ(options.code, 2);
  EXPECT_NE(options.err.find("CXX is 'g++ -O0', but must name a program"), std::string::npos) << options.err;
  for (const auto& [compiler, what] : {std::pair("false", "ended with exit code 1, but wrote no message"),
                                       std::pair("true", "ended with exit code 0, but wrote no kernel")}) {
    const Outcome silent = solve("decay.hpp", std::string("CXX=") + compiler);
    EXPECT_EQ(silent.code, 2);
    EXPECT_NE(silent.err.find(what), std::string::npos) << silent.err;
  }
  write("two\"quotes.hpp", decay("", "1.0"));
  const Outcome quotes = solve("'two\"quotes.hpp'");
  EXPECT_EQ(quotes.code, 2);
  EXPECT_NE(quotes.err.find("a quotation mark"), std::string::npos) << quotes.err;
  write("it's #1 $HOME\\of.hpp", decay("", "1.0"));
  EXPECT_TRUE(value("\"it's #1 \\$HOME\\\\of.hpp\"").second);
  EXPECT_FALSE(value("\"it's #1 \\$HOME\\\\of.hpp\"").second);
  const Outcome nowhere = solve("decay.hpp", "TMPDIR=/nowhere/at/all");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("TMPDIR"), std::string::npos) << nowhere.err;
}

TEST_F(Cache, ASignalEndsTheCompilerToo) {
  // A compiler that starts another program, as g++ does, which says when it is there.
  const fs::path compiler =
      write("compiler", "#!/bin/sh\nsh -c 'echo $$ >running; exec sleep 100'\necho over >>running\n");
  ASSERT_EQ(chmod(compiler.c_str(), 0755), 0);
  write("decay.hpp", decay("", "1.0"));
  fs::create_directories(folder_ / "temporary");
  const pid_t child =
      start("solve decay.hpp --method radau5",
            "MANYFOLD_CACHE=cache TMPDIR=" + (folder_ / "temporary").string() + " CXX=" + compiler.string());
  std::string text;
  for (int i = 0; i < 1000 && !text.ends_with('\n'); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    text = manyfold::test::slurp(folder_ / "running");
  }
  const pid_t grandchild = std::atoi(text.c_str());
  ASSERT_GT(grandchild, 0);
  kill(child, SIGTERM);
  EXPECT_EQ(finish(child).code, 128 + SIGTERM);
  const auto alive = [&] {
    // An orphan that nobody has waited for yet is a zombie.
    const std::string status = manyfold::test::slurp("/proc/" + text.substr(0, text.size() - 1) + "/stat");
    return !status.empty() && status.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 200 && alive(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive());
  EXPECT_TRUE(fs::is_empty(folder_ / "temporary"));
}

TEST_F(Cache, TheCommandShowsAndDeletesWhatIsKept) {
  write("decay.hpp", decay("", "1.0"));
  value("decay.hpp");
  const auto list = [&](const std::string& options) {
    const Outcome outcome = call("cache " + options, "MANYFOLD_CACHE=cache");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto entries = nlohmann::json::parse(list("--json"))["entries"];
  ASSERT_EQ(entries.size(), 2U);  // and the description
  EXPECT_NE(list("--list").find("backward_euler float64 scalar"), std::string::npos) << list("--list");
  EXPECT_NE(list("").find("decay.hpp"), std::string::npos);
  list("--limit 1000");
  EXPECT_EQ(nlohmann::json::parse(list("--json"))["entries"].size(), 2U);
  list("--clear");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
  EXPECT_EQ(call("cache --clear --limit 3").code, 2);
  EXPECT_EQ(call("cache --limit -1").code, 2);
  for (const std::string limit : {"15", "1e1", "16 MiB", "-1", "99999999999999999999"}) {
    const Outcome outcome = solve("decay.hpp", "MANYFOLD_CACHE_LIMIT='" + limit + "'");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("MANYFOLD_CACHE_LIMIT is '" + limit + "', but must be an integer from 16"),
              std::string::npos)
        << outcome.err;
  }
}

}  // namespace
