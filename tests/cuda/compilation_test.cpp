// Kernels compile for GPUs without a GPU: for every architecture, without warnings, and within the registers, stack and
// spills that bench/results/registers.tsv records. After a change that is meant to alter them, write the table anew:
//   MANYFOLD_WRITE_REGISTERS=all build/release/tests/cuda_compilation_test
// which compiles everything (half an hour), while the test compiles a part; the name of one architecture or of one
// model renews its rows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_library.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/methods.hpp"
#include "tests/support/sample.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

/// One family each, from the oldest that the toolkit compiles for.
const std::vector<std::string>& architectures() {
  static const std::vector<std::string> all = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
  return all;
}

struct Usage {
  int registers = 0;
  int stack = 0;
  int spill_stores = 0;
  int spill_loads = 0;
};

/// What the assembler says of the entry point `name`.
Usage usage_of(const std::string& log, const std::string& name) {
  const std::regex pattern("Function properties for " + name +
                           "\\s+ptxas\\s+\\.\\s+(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes "
                           "spill loads\\s+ptxas info\\s+: Used (\\d+) registers");
  std::smatch match;
  if (!std::regex_search(log, match, pattern)) {
    ADD_FAILURE() << "the assembler's report lacks " << name << ":\n" << log;
    return {};
  }
  return {std::stoi(match[4]), std::stoi(match[1]), std::stoi(match[2]), std::stoi(match[3])};
}

class Compilation : public testing::Test {
 protected:
  Compilation() : cache_(fs::temp_directory_path() / fmt::format("manyfold-compilation-{}", getpid())) {
    std::string reason;
    backend_ = device_backend(reason);
    EXPECT_NE(backend_, nullptr) << reason;
    fs::remove_all(cache_);
    setenv("MANYFOLD_CACHE", cache_.c_str(), 1);
  }
  ~Compilation() override { fs::remove_all(cache_); }

  /// Compiled anew, so that there is a report, once.
  const DeviceCode& compile(const std::string& model, const std::string& method, const std::string& architecture,
                            int tile = 1, const std::string& precision = "float64", bool projection = false,
                            Tier tier = Tier::fused) const {
    static std::map<std::string, DeviceCode> compiled;
    const std::string key = fmt::format("{} {} {} {} {} {} {}", model, method, architecture, tile, precision,
                                        projection, tier == Tier::fused);
    if (const auto known = compiled.find(key); known != compiled.end()) return known->second;
    return compiled[key] = compile_anew(model, method, architecture, tile, precision, projection, tier);
  }
  DeviceCode compile_anew(const std::string& model, const std::string& method, const std::string& architecture,
                          int tile = 1, const std::string& precision = "float64", bool projection = false,
                          Tier tier = Tier::fused) const {
    const KernelRequest request{model, {.method = method, .precision = precision, .projection = projection}};
    return backend_->compile(device_source(request, {tile, 0, tier}), architecture);
  }

  /// The same for the phased tier, which has to be free of warnings; `kernel`: whose usage is returned.
  Usage compile_phased(const std::string& model, const std::string& method, const std::string& architecture,
                       const std::string& precision = "float64", const std::string& kernel = "attempt") const {
    const DeviceCode& code = compile(model, method, architecture, 1, precision, false, Tier::phased);
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << method << ": " << code.log;
    return usage_of(code.log, "manyfold_phased_" + kernel);
  }

  void SetUp() override {
    if (!backend_->compiler().starts_with("NVRTC")) GTEST_SKIP() << backend_->compiler();
  }

  const DeviceBackend* backend_ = nullptr;
  fs::path cache_;
};

std::string table_path() {
  return test::from_environment("MANYFOLD_SOURCE") + "/bench/results/registers.tsv";
}

std::string key(const std::string& model, const std::string& method, const std::string& architecture, int tile = 1,
                const std::string& kernel = "integrate") {
  return fmt::format("{}\t{}\t{}\t{}\t{}", model, method, architecture, tile, kernel);
}

std::map<std::string, Usage> read_table() {
  std::map<std::string, Usage> table;
  std::ifstream file(table_path());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string model;
    std::string method;
    std::string architecture;
    int tile = 1;
    std::string kernel;
    Usage usage;
    words >> model >> method >> architecture >> tile >> kernel >> usage.registers >> usage.stack >>
        usage.spill_stores >> usage.spill_loads;
    table[key(model, method, architecture, tile, kernel)] = usage;
  }
  return table;
}

/// Problems that a thread can hold; the others are for tiles and the phased tier.
std::vector<std::string> small_problems() {
  std::vector<std::string> result;
  for (const ModelDescription& model : builtin_models()) {
    if (model.variables.size() <= 12) result.push_back(model.name);
  }
  return result;
}

/// Those of the phased tier that factorise sparse matrices and solve with them.
const std::vector<std::string>& sparse_kernels() {
  static const std::vector<std::string> all = {"phased_factorize", "phased_solve_corrections",
                                               "phased_solve_estimates"};
  return all;
}

/// Those that are there for full matrices too, and some problems that have these.
const std::vector<std::string>& full_kernels() {
  static const std::vector<std::string> all = {"phased_initialize", "phased_start",    "phased_jacobian",
                                               "phased_assemble",   "phased_finish",   "phased_permute_corrections",
                                               "phased_correct",    "phased_estimate", "phased_attempt"};
  return all;
}
const std::vector<std::string>& full_problems() {
  static const std::vector<std::string> all = {"robertson", "pendulum", "transistor_amplifier", "das2"};
  return all;
}

TEST_F(Compilation, TheOldestAndTheNewestArchitectureTakeTheKernelWithoutWarnings) {
  for (const std::string& architecture : {architectures().front(), architectures().back()}) {
    const DeviceCode& code = compile("robertson", "radau5", architecture);
    EXPECT_GT(code.binary.size(), 10000U) << architecture;
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  }
}

TEST_F(Compilation, EveryMethodIsTakenWithoutWarnings) {
  for (const std::string& method : test::sampled(test::methods_with_code_of_their_own())) {
    const DeviceCode& code = compile("van_der_pol", method, "sm_90");
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << method << ": " << code.log;
  }
}

TEST_F(Compilation, TilesTakeTheKernelWithoutWarnings) {
  for (const int tile : {2, 32}) {
    const DeviceCode& code = compile("pendulum", "radau5", "sm_90", tile);
    EXPECT_GT(code.binary.size(), 10000U);
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  }
}

TEST_F(Compilation, ProjectionIsTakenWithoutWarnings) {
  for (const int tile : {1, 4}) {
    const DeviceCode& code = compile("pendulum_index2", "radau3", "sm_90", tile, "float64", true);
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  }
}

TEST_F(Compilation, ObservablesAreTakenWithoutWarnings) {
  const std::string circuit = test::from_environment("MANYFOLD_SOURCE") + "/tests/support/observed_circuit.hpp";
  const DeviceCode& code = compile(circuit, "radau5", "sm_90", 1);
  EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  compile_phased(circuit, "radau5", "sm_90");
}

TEST_F(Compilation, EveryPrecisionTakesTheKernelWithoutWarnings) {
  if (!test::nightly) GTEST_SKIP() << "three kernels of which others are alike: at night";
  for (const char* precision : {"float32", "mixed"}) {
    const DeviceCode& code = compile("robertson", "radau5", "sm_90", 1, precision);
    EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
    const Usage usage = usage_of(code.log, "manyfold_integrate");
    // Single precision keeps to 128 registers, for more warps, and that costs a dozen of them.
    EXPECT_LE(usage.spill_stores, 48) << precision;
    std::cout << precision << ": " << usage.registers << " registers, " << usage.spill_stores << " bytes spilled\n";
  }
  const DeviceCode& team = compile("robertson", "radau5", "sm_90", 4, "mixed");
  EXPECT_EQ(team.log.find("warning"), std::string::npos) << team.log;
}

TEST_F(Compilation, TheOldestAndTheNewestArchitectureTakeThePhasesOfThePhasedTier) {
  for (const std::string& architecture : {architectures().front(), architectures().back()})
    compile_phased("robertson", "radau5", architecture);
}

TEST_F(Compilation, EveryMethodOfThePhasedTierIsTaken) {
  const std::vector<std::string>& phased = phased_methods();
  for (const std::string& method : test::sampled(test::methods_with_code_of_their_own())) {
    if (std::find(phased.begin(), phased.end(), method) != phased.end()) compile_phased("van_der_pol", method, "sm_90");
  }
}

TEST_F(Compilation, ThePhasedTierTakesEveryPrecisionAndEvents) {
  compile_phased("robertson", "radau5", "sm_90", "float32");
  compile_phased("robertson", "radau5", "sm_90", "mixed");
  compile_phased("bouncing_ball", "radau5", "sm_90");
}

TEST_F(Compilation, AThousandVariablesFitTheThreadsOfThePhasedTier) {
  if (!test::nightly) GTEST_SKIP() << "this compiles for a minute: at night";
  // What threads have on their stacks a device sets aside for as many as it has: vectors, no matrices. 144 bytes per
  // variable are 36 GiB on an H100, for all threads that it can have; 80 GiB is what it has.
  const std::string model = test::from_environment("MANYFOLD_SOURCE") + "/tests/cuda/exchange_1001.hpp";
  const DeviceCode& code = compile(model, "esdirk54", "sm_90", 1, "float64", false, Tier::phased);
  EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  for (const char* kernel :
       {"initialize", "start", "jacobian", "assemble", "finish", "correct", "estimate", "attempt"}) {
    EXPECT_LE(usage_of(code.log, std::string("manyfold_phased_") + kernel).stack, 144 * 1001) << kernel;
  }
}

TEST_F(Compilation, TheToolkitsLibrariesHaveAllRoutines) {
  for (const LinearSolver solver : {LinearSolver::cublas, LinearSolver::cusolver}) {
    const std::string& reason = backend_->unavailable(solver);
    if (reason.starts_with("no cu")) GTEST_SKIP() << reason;
    EXPECT_EQ(reason, "");
  }
}

TEST_F(Compilation, AnArchitectureOfTheFutureGetsPortableCode) {
  const DeviceCode& code = compile("van_der_pol", "radau5", "sm_999");
  EXPECT_NE(code.binary.find(".target sm_"), std::string::npos) << "not PTX";
}

TEST_F(Compilation, TheSecondTimeTheCodeComesFromTheCache) {
  EXPECT_FALSE(compile_anew("van_der_pol", "radau5", "sm_90").cached);
  EXPECT_TRUE(compile_anew("van_der_pol", "radau5", "sm_90").cached);
  int truncated = 0;
  for (const auto& item : fs::directory_iterator(cache_)) {
    if (item.path().extension() != ".device") continue;
    fs::resize_file(item.path(), item.file_size() / 2);
    ++truncated;
  }
  EXPECT_EQ(truncated, 1);
  EXPECT_FALSE(compile_anew("van_der_pol", "radau5", "sm_90").cached) << "damaged";
}

TEST_F(Compilation, CodeInTheCacheGoesByTheHeadersOfTheModel) {
  const fs::path folder = cache_ / "models";
  fs::create_directories(folder);
  const auto write =
      [&](const std::string& include, const std::string& rate) {
        std::ofstream(folder / "rate.hpp") << "inline constexpr double rate = " << rate << ";\n";
        std::ofstream(folder / "decay.hpp")
            << "#include <manyfold/model.hpp>\n"
            << include
            << "\nstruct Decay {\n  static constexpr const char* name = \"decay\";\n"
               "  static constexpr double t_span[] = {0.0, 1.0};\n"
               "  static constexpr manyfold::Variable variables[] = {{.name = \"y\", .initial = 1.0}};\n"
               "  static constexpr void rhs(auto, const auto& y, const auto&, auto& f) { f[0] = -rate * y[0]; }\n};\n"
               "MANYFOLD_MODEL(Decay);\n";
      };
  const auto cached = [&] { return compile_anew((folder / "decay.hpp").string(), "rk4", "sm_90").cached; };
  write("#include \"rate.hpp\"", "1.0");
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  write("#include \"rate.hpp\"", "2.0");
  EXPECT_FALSE(cached());
  // What a macro names is not known.
  write("#define RATE \"rate.hpp\"\n#include RATE", "2.0");
  EXPECT_FALSE(cached());
  EXPECT_FALSE(cached());
}

TEST_F(Compilation, AModelThatOnlyTheProcessorCanCompileIsShownAtTheUsersLine) {
  fs::create_directories(cache_);
  const fs::path file = cache_ / "host_only.hpp";
  std::ofstream(file) << "#include <manyfold/model.hpp>\n#if !defined(__CUDACC_RTC__)\n#include <cmath>\n#endif\n"
                         "struct HostOnly {\n  static constexpr const char* name = \"host_only\";\n"
                         "  static constexpr double t_span[] = {0.0, 1.0};\n"
                         "  static constexpr manyfold::Variable variables[] = {{.name = \"y\", .initial = 1.0}};\n"
                         "  static constexpr void rhs(auto, const auto& y, const auto&, auto& f) {\n"
                         "    f[0] = -std::fabs(2.0) * y[0];\n  }\n};\nMANYFOLD_MODEL(HostOnly);\n";
  try {
    compile(file.string(), "radau5", "sm_90");
    FAIL() << "compiled";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("host_only.hpp(10)"), std::string::npos) << error.what();
  }
}

TEST_F(Compilation, RegistersStackAndSpillsAreThoseOfTheTable) {
  if (const char* renewed = std::getenv("MANYFOLD_WRITE_REGISTERS")) {
    const auto wanted = [&](const std::string& model, const std::string& architecture) {
      return std::string(renewed) == "all" || renewed == architecture || renewed == model;
    };
    auto rows = read_table();
    const auto write_table = [&] {
      std::ofstream file(table_path());
      file
          << "# Blocks of 128 threads, `tile` threads per instance; compiled by " << backend_->compiler()
          << "\n# "
             "model\tmethod\tarchitecture\ttile\tkernel\tregisters\tstack_bytes\tspill_store_bytes\tspill_load_bytes\n";
      for (const auto& [row, usage] : rows) {
        file << row << '\t' << usage.registers << '\t' << usage.stack << '\t' << usage.spill_stores << '\t'
             << usage.spill_loads << '\n';
      }
    };
    const auto write_usage = [&](const std::string& row, const Usage& usage) {
      rows[row] = usage;
      write_table();
    };
    const auto write = [&](const std::string& model, const std::string& method, const std::string& architecture,
                           int tile) {
      write_usage(key(model, method, architecture, tile),
                  usage_of(compile(model, method, architecture, tile).log, "manyfold_integrate"));
    };
    for (const std::string& architecture : architectures()) {
      if (!wanted("diffusion", architecture)) continue;
      const DeviceCode& code = compile("diffusion", "radau5", architecture, 1, "float64", false, Tier::phased);
      for (const std::string& kernel : sparse_kernels()) {
        write_usage(key("diffusion", "radau5", architecture, 1, kernel), usage_of(code.log, "manyfold_" + kernel));
      }
    }
    for (const std::string& model : full_problems()) {
      for (const std::string& architecture : architectures()) {
        if (!wanted(model, architecture)) continue;
        const DeviceCode& code = compile(model, "radau5", architecture, 1, "float64", false, Tier::phased);
        for (const std::string& kernel : full_kernels()) {
          write_usage(key(model, "radau5", architecture, 1, kernel), usage_of(code.log, "manyfold_" + kernel));
        }
      }
    }
    for (const std::string& architecture : architectures()) {
      if (wanted("transistor_amplifier", architecture)) write("transistor_amplifier", "radau5", architecture, 8);
    }
    for (const std::string& model : small_problems()) {
      for (const char* method : {"radau5", "esdirk54"}) {
        for (const std::string& architecture : architectures()) {
          if (wanted(model, architecture)) write(model, method, architecture, 1);
        }
      }
    }
  }
  fs::remove_all(cache_);
  const auto table = read_table();
  ASSERT_FALSE(table.empty()) << table_path();
  std::ifstream file(table_path());
  std::string first;
  std::getline(file, first);
  if (first.find(backend_->compiler()) == std::string::npos) {
    GTEST_SKIP() << "the table is of another compiler than " << backend_->compiler() << ": " << first;
  }
  const auto expect_recorded = [&](const std::string& row, const Usage& usage) {
    const auto recorded = table.find(row);
    ASSERT_NE(recorded, table.end()) << row;
    // Room for the assembler's whims; a kernel that has outgrown its registers shows by far more.
    EXPECT_LE(usage.registers, recorded->second.registers + 8) << row;
    EXPECT_LE(usage.stack, recorded->second.stack + 64) << row;
    EXPECT_LE(usage.spill_stores, recorded->second.spill_stores + 64) << row;
  };
  // A part of them: each compiles for five seconds, and what differs is the residual alone.
  for (const std::string model : {"robertson", "pendulum_index3"}) {
    expect_recorded(key(model, "radau5", "sm_90"),
                    usage_of(compile(model, "radau5", "sm_90").log, "manyfold_integrate"));
  }
  // Those of the phased tier, for another minute and a half.
  if (!test::nightly) return;
  const DeviceCode& full = compile("pendulum", "radau5", "sm_90", 1, "float64", false, Tier::phased);
  for (const std::string& kernel : full_kernels()) {
    expect_recorded(key("pendulum", "radau5", "sm_90", 1, kernel), usage_of(full.log, "manyfold_" + kernel));
  }
  const DeviceCode& code = compile("diffusion", "radau5", "sm_90", 1, "float64", false, Tier::phased);
  EXPECT_EQ(code.log.find("warning"), std::string::npos) << code.log;
  for (const std::string& kernel : sparse_kernels()) {
    expect_recorded(key("diffusion", "radau5", "sm_90", 1, kernel), usage_of(code.log, "manyfold_" + kernel));
  }
  // Of 42 variables a thread has two vectors, the sizes of the rows before the elimination and before row exchanges.
  // The factors would be 4 KiB, a full matrix 28.
  EXPECT_LE(usage_of(code.log, "manyfold_phased_factorize").stack, 3 * 42 * 8);
}

TEST(RegisterTable, ThreadsOfSmallProblemsSpillNothing) {
  for (const ModelDescription& model : builtin_models()) {
    if (model.variables.size() > 4) continue;
    for (const std::string& architecture : architectures()) {
      for (const char* method : {"radau5", "esdirk54"}) {
        const auto table = read_table();
        const auto found = table.find(key(model.name, method, architecture));
        ASSERT_NE(found, table.end()) << model.name << ' ' << architecture;
        // Events and output times come once in many steps: what they spill, some hundred numbers at most, is paid then.
        // What Newton's method keeps to judge itself by takes sixteen numbers more than there are registers.
        const int allowed = model.events.empty() ? 128 : 832;
        EXPECT_LE(found->second.spill_stores, allowed) << model.name << ' ' << method << ' ' << architecture;
        EXPECT_LE(found->second.spill_loads, allowed) << model.name << ' ' << method << ' ' << architecture;
      }
    }
  }
}

TEST_F(Compilation, KernelsThatSampleAndAddUpContractNoProductsAndSums) {
  for (const auto& [source, names] :
       {std::pair(sampling_source(), std::vector{"manyfold_sample", "div.rn.f64", "sqrt.rn.f64"}),
        std::pair(sums_source(), std::vector{"manyfold_reduce", "manyfold_add_up", "div.rn.f64"})}) {
    // A device that the compiler does not know gets the text of its portable code.
    const std::string text = backend_->compile(source, "sm_999").binary;
    for (const char* name : names) EXPECT_NE(text.find(name), std::string::npos) << name;
    EXPECT_EQ(text.find("fma."), std::string::npos) << source.stem;
    for (const std::string& architecture : architectures()) {
      EXPECT_NO_THROW(backend_->compile(source, architecture)) << source.stem << ' ' << architecture;
    }
  }
}

}  // namespace
}  // namespace manyfold
