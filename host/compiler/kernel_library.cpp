#include "host/compiler/kernel_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>

#include "build_config.hpp"
#include "host/compiler/catalog.hpp"
#include "host/compiler/model_errors.hpp"
#include "host/engine/installation.hpp"
#include "host/io/nearest_name.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

/// Threads of a block on a GPU at most: enough to fill a multiprocessor's registers with few blocks, few enough that
/// blocks that have run out of instances make room for others.
constexpr int most_threads_of_block = 128;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw UsageError(
        fmt::format("cannot read the model file '{}': it does not exist or is not readable", path.string()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A model as the compiler sees it.
struct ModelSource {
  fs::path file;
  bool builtin = false;
};

ModelSource find_model(const std::string& model) {
  std::vector<std::string> names;
  for (const ModelDescription& builtin : builtin_models()) names.push_back(builtin.name);
  if (std::find(names.begin(), names.end(), model) != names.end()) {
    return {header_root() / "problems" / model / (model + ".hpp"), true};
  }
  const fs::path path(model);
  if (path.extension() == ".hpp") {
    if (!fs::is_regular_file(path)) throw UsageError(fmt::format("model file '{}' does not exist", model));
    return {fs::canonical(path), false};
  }
  if (path.extension() == ".mo") {
    throw UsageError(
        fmt::format("model '{}': this version does not read .mo files; give a .hpp file or a built-in model", model));
  }
  throw UsageError(
      fmt::format("unknown model '{}'{}; a model is a built-in name (see 'manyfold list') or the path of a .hpp file",
                  model, did_you_mean(model, names)));
}

/// How a kernel names its method in files, and the class template in kernels/methods.
struct KernelMethod {
  std::string name;
  std::string template_name;
};

/// Rosenbrock methods rest on matrices that are exact and new; the multistep method and Cameron's have rules of their
/// own.
void check_choices(const KernelRequest& request, const std::string& family) {
  const auto check = [](const char* what, const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw UsageError(fmt::format("unknown {} '{}'{}", what, name, did_you_mean(name, known)));
  };
  check("error_test", request.error_test, error_tests);
  check("jacobian", request.jacobian, jacobian_sources);
  check("jacobian_reuse", request.jacobian_reuse, jacobian_reuses);
  if (request.jacobian == "finite_differences" && (family == "Rosenbrock" || family.empty())) {
    throw UsageError(
        fmt::format("method '{}' needs exact Jacobians: finite differences are for Newton's method, as in "
                    "'radau5' or 'bdf'",
                    request.method));
  }
  if (request.jacobian_reuse != "automatic" && family != "Radau IIA" && family != "Lobatto IIIC" &&
      family != "ESDIRK" && family != "SDIRK") {
    throw UsageError(
        fmt::format("method '{}' has no choice of jacobian_reuse: take 'automatic', or a Radau, Lobatto or "
                    "diagonally implicit method",
                    request.method));
  }
}

/// `automatic`: what "auto" stands for, if that is known.
KernelMethod find_method(const KernelRequest& request, const std::optional<AutomaticMethods>& automatic) {
  std::string name = request.method;
  if (name == "auto") {
    check_choices(request, "");
    if (!automatic) {
      static const AutomaticMethods templates = {"AutoLoose", "AutoMedium", "AutoTight"};
      return {"auto", templates.at(request.rtol)};
    }
    name = automatic->at(request.rtol);
  }
  for (const MethodDescription& method : methods()) {
    if (method.name != name) continue;
    if (request.method != "auto") check_choices(request, method.family);
    return {method.name, method.template_name};
  }
  throw UsageError(fmt::format("unknown method '{}'{}", request.method, did_you_mean(request.method, method_names())));
}

std::string instruction_set_flags(const std::string& name) {
  if (name == "avx512") return build::flags_avx512;
  if (name == "avx2") return build::flags_avx2;
  if (name == "baseline" || name == "scalar") return build::flags_baseline;
  throw UsageError(fmt::format("unknown instruction set '{}': one of avx512, avx2, baseline, scalar", name));
}

std::string precision_flag(const std::string& precision) {
  if (precision == "float64") return "";
  if (precision == "float32") return " -DMANYFOLD_SINGLE";
  if (precision == "mixed") return " -DMANYFOLD_MIXED";
  throw UsageError(fmt::format("unknown precision '{}': one of float64, float32, mixed", precision));
}

/// Adds the text of a file and of the files it includes with quotes to the hash.
void hash_file(XXH3_state_t& state, const fs::path& path, std::set<fs::path>& seen) {
  if (!seen.insert(path.lexically_normal()).second) return;
  const std::string text = read_file(path);
  XXH3_128bits_update(&state, text.data(), text.size());
  static const std::regex include(R"re((^|\n)[ \t]*#[ \t]*include[ \t]*"([^"\n]+)")re");
  for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
    const fs::path beside = path.parent_path() / (*match)[2].str();
    if (fs::is_regular_file(beside)) hash_file(state, beside, seen);
  }
}

/// Every header that can change a kernel, and the compiler, its version and its flags.
std::string cache_key(const std::string& unit, const fs::path& model, const std::string& flags,
                      const fs::path& compiler) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add = [&](const std::string& text) { XXH3_128bits_update(state, text.data(), text.size() + 1); };
  add(unit);
  add(flags);
  add(compiler.string());
  std::error_code error;
  const fs::path binary = fs::canonical(compiler, error);
  add(fmt::format("{} {} {}", binary.string(), fs::file_size(binary, error),
                  fs::last_write_time(binary, error).time_since_epoch().count()));
  std::set<fs::path> seen;
  hash_file(*state, model, seen);
  std::vector<fs::path> headers;
  const fs::path root = header_root();
  for (const fs::path& folder : {root / "kernels", root / "include" / "manyfold", root / "manyfold"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".hpp") headers.push_back(entry.path());
    }
  }
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) hash_file(*state, header, seen);
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct CompilerResult {
  int status = 0;
  std::string output;
};

CompilerResult run_compiler(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  // In the language that `model_errors` reads.
  std::string language = "LC_ALL=C";
  std::vector<char*> variables = {language.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LC_ALL=")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw UsageError(
        fmt::format("cannot start the compiler '{}': {}", arguments[0], std::generic_category().message(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::ifstream stream(log);
  return {status, {std::istreambuf_iterator<char>(stream), {}}};
}

std::optional<LoadedKernel> open_library(const fs::path& path, const std::string& origin) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  // A pack of an instruction set that libraries share symbols of would be mixed up if they were unloaded and reloaded:
  // kernels stay loaded until the process ends.
  const std::shared_ptr<void> library(handle, [](void*) {});
  const auto entry = reinterpret_cast<const Kernel* (*)()>(dlsym(handle, "manyfold_kernel"));
  if (entry == nullptr || entry()->interface_version != kernel_interface_version) return std::nullopt;
  LoadedKernel loaded;
  loaded.kernel = entry();
  loaded.kernel->describe(loaded.model);
  loaded.library = library;
  loaded.origin = origin;
  return loaded;
}

void check_structural_value(const std::string& model, const StructuralParameter& parameter, long value) {
  if (parameter.name.empty()) {
    throw UsageError(fmt::format("model '{}' has no structural parameter", model));
  }
  if (value < parameter.minimum || value > parameter.maximum) {
    throw UsageError(fmt::format("{} = {} is out of range for model '{}': from {} to {}", parameter.name, value, model,
                                 parameter.minimum, parameter.maximum));
  }
}

/// The text that is compiled for a kernel.
struct KernelUnit {
  std::string text;
  std::string content;  ///< the same wherever the model's file lies, for the key in the cache
};

/// The translation unit of a kernel: the model, the library's part and its entry point.
KernelUnit kernel_unit(const KernelRequest& request, const ModelSource& source, const std::string& header,
                       const std::string& entry_point) {
  if (read_file(source.file).find("MANYFOLD_MODEL") == std::string::npos) {
    throw UsageError(fmt::format(
        "{}: error: the file does not say which struct is the model: end it with MANYFOLD_MODEL(YourStruct);",
        source.file.string()));
  }
  std::string choices;
  if (request.structural_value)
    choices += fmt::format("#define MANYFOLD_STRUCTURAL_VALUE {}\n", *request.structural_value);
  const auto choose = [&](const char* macro, const std::string& choice, const std::vector<std::string>& known) {
    const auto number = std::find(known.begin(), known.end(), choice) - known.begin();
    if (number > 0) choices += fmt::format("#define {} {}\n", macro, number);
  };
  choose("MANYFOLD_JACOBIAN", request.jacobian, jacobian_sources);
  choose("MANYFOLD_JACOBIAN_REUSE", request.jacobian_reuse, jacobian_reuses);
  choose("MANYFOLD_ERROR_TEST", request.error_test, error_tests);
  if (request.projection) choices += "#define MANYFOLD_PROJECTED\n";
  if (!request.given.empty()) choices += fmt::format("#define MANYFOLD_GIVEN {}\n", fmt::join(request.given, ", "));
  const auto unit = [&](const std::string& model) {
    return fmt::format("{}#define MANYFOLD_KERNEL_UNIT\n#include \"{}\"\n#include \"{}\"\n{}\n", choices, model, header,
                       entry_point);
  };
  return {unit(source.file.string()), unit("")};
}

/// The compiler to use.
fs::path needed_compiler() {
  const fs::path compiler = kernel_compiler();
  if (compiler.empty()) {
    throw UsageError(
        "no C++ compiler found to compile the kernel with: install g++, or name one with the environment variable CXX");
  }
  return compiler;
}

/// Compiles the text to a library in the cache, under a name that begins with `stem` and is this process's own.
fs::path compile(const std::string& text, const std::string& stem, const std::string& flags, const fs::path& compiler,
                 const ModelSource& source, const std::string& model) {
  const fs::path cache = kernel_cache();
  std::error_code error;
  fs::create_directories(cache, error);
  if (error) throw UsageError(fmt::format("cannot create the kernel cache '{}': {}", cache.string(), error.message()));
  const std::string own = fmt::format("{}.{}", stem, getpid());
  const fs::path unit_file = cache / (own + ".cpp");
  const fs::path object = cache / (own + ".so");
  const fs::path log = cache / (own + ".log");
  std::ofstream(unit_file) << text;
  std::vector<std::string> arguments = {compiler.string()};
  for (const std::string& flag : words(flags)) arguments.push_back(flag);
  const fs::path root = header_root();
  for (const std::string& argument : {std::string("-shared"), std::string("-fPIC"), std::string("-fvisibility=hidden"),
                                      "-I" + (root / "include").string(), "-I" + root.string(), std::string("-o"),
                                      object.string(), unit_file.string(), std::string("-lmvec"), std::string("-lm")}) {
    arguments.push_back(argument);
  }
  const CompilerResult result = run_compiler(arguments, log);
  fs::remove(unit_file, error);
  fs::remove(log, error);
  if (result.status != 0) {
    fs::remove(object, error);
    throw UsageError(fmt::format("{}\nmanyfold: error: the model '{}' does not compile",
                                 model_errors(result.output, source.file), model));
  }
  return object;
}

/// What "auto" stands for is known of built-in models, and of others once one of their kernels has been loaded: a file
/// beside the kernels keeps it.
class AutomaticMethodsFile {
 public:
  AutomaticMethodsFile(const KernelRequest& request, const ModelSource& source)
      : builtin_(source.builtin), model_(request.model), mixed_(request.precision == "mixed") {
    if (builtin_) return;
    const std::string key = cache_key(kernel_unit(request, source, "", request.precision).content, source.file, "", "");
    path_ = kernel_cache() / fmt::format("{}-auto-{}.txt", source.file.stem().string(), key);
  }

  std::optional<AutomaticMethods> read() const {
    if (builtin_) {
      const auto& models = builtin_models();
      return of(*std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.name == model_; }));
    }
    std::ifstream stream(path_);
    AutomaticMethods names;
    if (!(stream >> names.loose >> names.medium >> names.tight)) return std::nullopt;
    return names;
  }

  /// Without it the next "auto" compiles again, which is all that a failure to write costs.
  void write(const ModelDescription& model) const {
    std::error_code error;
    if (builtin_ || fs::exists(path_, error)) return;
    const fs::path own = fmt::format("{}.{}", path_.string(), getpid());
    const AutomaticMethods& names = of(model);
    std::ofstream(own) << fmt::format("{}\n{}\n{}\n", names.loose, names.medium, names.tight);
    fs::rename(own, path_, error);
  }

 private:
  const AutomaticMethods& of(const ModelDescription& model) const {
    return mixed_ ? model.automatic_mixed : model.automatic;
  }

  bool builtin_;
  std::string model_;
  bool mixed_;
  fs::path path_;
};

}  // namespace

DeviceSource device_source(const KernelRequest& request, const DeviceShape& shape,
                           const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  const KernelMethod method = find_method(request, AutomaticMethodsFile(request, source).read());
  DeviceSource result;
  result.tier = shape.tier;
  const int block = shape.block > 0 ? shape.block : most_threads_of_block;
  const KernelUnit unit =
      shape.tier == Tier::lockstep
          ? kernel_unit(
                request, source, "kernels/cuda/lockstep_kernel.hpp",
                fmt::format("MANYFOLD_LOCKSTEP_KERNEL({}, {}, {})", method.template_name, request.precision, block))
          : kernel_unit(request, source, "kernels/cuda/kernel.hpp",
                        fmt::format("MANYFOLD_DEVICE_KERNEL({}, {}, {}, {}, {})", method.template_name,
                                    request.precision, block, shape.block > 0, shape.tile));
  result.text = unit.text;
  result.stem = fmt::format("{}-{}-{}", source.file.stem().string(), method.name, request.precision);
  result.key = cache_key(unit.content, source.file, "", "");
  result.include_paths = {header_root() / "include", header_root()};
  result.cache = kernel_cache();
  result.announce = announce;
  return result;
}

DeviceSource sampling_source(const std::function<void(const std::string&)>& announce) {
  const fs::path header = header_root() / "kernels" / "cuda" / "sampling_kernel.hpp";
  DeviceSource result;
  result.text = fmt::format("#include \"{}\"\n", header.string());
  result.stem = "sampling";
  result.key = cache_key(result.text, header, "", "");
  result.include_paths = {header_root() / "include", header_root()};
  result.cache = kernel_cache();
  result.announce = announce;
  result.contracted = false;
  return result;
}

std::string default_instruction_set() {
  const std::string forced = environment("MANYFOLD_ISA");
  if (!forced.empty()) {
    instruction_set_flags(forced);
    return forced;
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    return "avx512";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
  return "baseline";
}

fs::path header_root() {
  const fs::path installed = executable_folder() / ".." / "include" / "manyfold-kit";
  if (fs::is_directory(installed / "kernels")) return installed.lexically_normal();
  return build::source_root;
}

fs::path kernel_cache() {
  const std::string own = environment("MANYFOLD_CACHE");
  if (!own.empty()) return own;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty()) return fs::path(xdg) / "manyfold";
  const std::string home = environment("HOME");
  return home.empty() ? fs::temp_directory_path() / "manyfold-cache" : fs::path(home) / ".cache" / "manyfold";
}

fs::path kernel_compiler() {
  const auto on_path = [](const std::string& name) -> fs::path {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? fs::path(name) : fs::path();
    std::istringstream folders(environment("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder) / name;
      if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
    }
    return {};
  };
  const std::string chosen = environment("CXX");
  if (!chosen.empty()) return on_path(chosen);
  for (const char* name : {build::compiler, "g++", "clang++"}) {
    const fs::path found = on_path(name);
    if (!found.empty()) return found;
  }
  return {};
}

LoadedKernel load_kernel(const KernelRequest& request, const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  const AutomaticMethodsFile automatic(request, source);
  const KernelMethod method = find_method(request, automatic.read());
  const std::string instruction_set =
      request.instruction_set.empty() ? default_instruction_set() : request.instruction_set;
  const std::string flags =
      fmt::format("{} {}{}{}", build::kernel_flags, instruction_set_flags(instruction_set),
                  instruction_set == "scalar" ? " -DMANYFOLD_ONE_LANE" : "", precision_flag(request.precision));
  if (source.builtin) {
    const auto& models = builtin_models();
    const auto model =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == request.model; });
    if (request.structural_value) check_structural_value(request.model, model->structural, *request.structural_value);
    check_method(*model, method.name);
    if (request.projection && model->constraints == 0) {
      throw UsageError(
          fmt::format("projection: model '{}' has nothing to project on: it needs constraints of index 2 or 3, or "
                      "invariants",
                      request.model));
    }
  }

  const bool as_built = !request.structural_value && request.given.empty() && !request.projection &&
                        request.precision == "float64" && request.jacobian == "automatic" &&
                        request.jacobian_reuse == "automatic" && request.error_test == "all";
  if (source.builtin && as_built) {
    const std::string name = fmt::format("{}-{}-{}.so", request.model, method.name, instruction_set);
    for (const fs::path& folder :
         {executable_folder() / "kernels", executable_folder() / ".." / "lib" / "manyfold" / "kernels"}) {
      if (auto loaded = open_library(folder / name, "built ahead")) return *loaded;
    }
  }

  const KernelUnit unit =
      kernel_unit(request, source, "kernels/kernel.hpp", fmt::format("MANYFOLD_KERNEL({})", method.template_name));
  const fs::path compiler = needed_compiler();
  const fs::path cache = kernel_cache();
  const auto stem_of = [&](const KernelMethod& of, const KernelUnit& unit_of) {
    return fmt::format("{}-{}-{}-{}-{}", source.file.stem().string(), of.name, request.precision, instruction_set,
                       cache_key(unit_of.content, source.file, flags, compiler));
  };
  const auto checked = [&](const LoadedKernel& loaded) {
    if (!loaded.model.wrong.empty()) {
      throw UsageError(fmt::format("{}: error: {}", source.file.string(), loaded.model.wrong));
    }
    if (request.structural_value)
      check_structural_value(request.model, loaded.model.structural, *request.structural_value);
    check_method(loaded.model, loaded.kernel->method);
    return loaded;
  };
  const std::string stem = stem_of(method, unit);
  if (auto loaded = open_library(cache / (stem + ".so"), "cache")) {
    automatic.write(loaded->model);
    return checked(*loaded);
  }

  std::error_code error;
  if (announce) {
    announce(fmt::format("compiling {} with {}{} in {} for {} ...", request.model, method.name,
                         request.projection ? " and projection" : "", request.precision, instruction_set));
  }
  const auto start = std::chrono::steady_clock::now();
  // Under a name of this process, then renamed: two runs may compile the same kernel at once.
  const fs::path object = compile(unit.text, stem, flags, compiler, source, request.model);
  auto loaded = open_library(object, "compiled");
  if (!loaded) {
    const char* reason = dlerror();
    const std::string message = reason != nullptr ? reason : "it does not fit this version";
    fs::remove(object, error);
    throw std::runtime_error(fmt::format("the compiled kernel '{}' cannot be loaded: {}", object.string(), message));
  }
  // What "auto" stood for until now is known from here on: it is kept as the method that it is.
  std::string final_stem = stem;
  if (request.method == "auto" && method.name != loaded->kernel->method) {
    KernelRequest concrete = request;
    concrete.method = loaded->kernel->method;
    const KernelMethod found = find_method(concrete, std::nullopt);
    final_stem = stem_of(found, kernel_unit(concrete, source, "kernels/kernel.hpp",
                                            fmt::format("MANYFOLD_KERNEL({})", found.template_name)));
  }
  fs::rename(object, cache / (final_stem + ".so"), error);
  if (error)
    throw UsageError(fmt::format("cannot write to the kernel cache '{}': {}", cache.string(), error.message()));
  automatic.write(loaded->model);
  loaded->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return checked(*loaded);
}

InspectedModel inspect_model(const std::string& model) {
  const ModelSource source = find_model(model);
  KernelRequest request;
  request.model = model;
  const KernelUnit unit = kernel_unit(request, source, "kernels/inspection.hpp", "MANYFOLD_INSPECTION");
  const std::string flags = fmt::format("{} -O1 {}", build::kernel_flags, instruction_set_flags("scalar"));
  const fs::path object =
      compile(unit.text, source.file.stem().string() + "-inspection", flags, needed_compiler(), source, model);
  void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* reason = library == nullptr ? dlerror() : nullptr;
  std::error_code error;
  fs::remove(object, error);
  if (library == nullptr) throw std::runtime_error(fmt::format("the inspection cannot be loaded: {}", reason));
  InspectedModel result;
  result.file = source.file;
  const auto inspect =
      reinterpret_cast<void (*)(ModelDescription&, std::vector<std::string>&)>(dlsym(library, "manyfold_inspection"));
  inspect(result.model, result.problems);
  return result;
}

}  // namespace manyfold
