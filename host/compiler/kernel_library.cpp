#include "host/compiler/kernel_library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>

#include "build_config.hpp"
#include "host/compiler/catalog.hpp"
#include "host/compiler/compilation.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/engine/installation.hpp"
#include "host/text/nearest_name.hpp"

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
  if (auto text = file_content(path)) return *text;
  throw UsageError(fmt::format("cannot read the model file '{}': it does not exist or is not readable", path.string()));
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
    std::error_code error;
    if (!fs::is_regular_file(path, error)) throw UsageError(fmt::format("model file '{}' does not exist", model));
    const fs::path file = fs::canonical(path);
    if (file.native().find_first_of("\"\n\r") != std::string::npos) {
      throw UsageError(
          fmt::format("model file '{}': its path has a quotation mark or a line break, which no #include can name: "
                      "rename it",
                      file.string()));
    }
    return {file, false};
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
  check("precision", request.precision, precisions);
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

/// What follows each "include" of `text` that may be a directive, without blanks: `"name"...`, `<name>...`, or other
/// text.
std::vector<std::string_view> after_includes(std::string_view text) {
  constexpr std::string_view word = "include";
  std::vector<std::string_view> result;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    // "#", "%:", the end of a comment or line before it, or "__has_".
    const std::size_t before = text.substr(0, at).find_last_not_of(" \t");
    if (before == std::string_view::npos || std::string_view("#:/_\n").find(text[before]) == std::string_view::npos) {
      continue;
    }
    const std::size_t next = text.find_first_not_of(" \t", at + word.size());
    result.push_back(next == std::string_view::npos ? "" : text.substr(next));
  }
  return result;
}

/// What is hashed for a key, each part ended.
class Key {
 public:
  void add(std::string_view text) { text_.append(checksum(text)); }
  std::string text() const { return checksum(text_); }

 private:
  std::string text_;
};

/// What a kernel depends on and no file says that the compiler reads: those are looked at when the kernel is found.
std::string cache_key(const std::string& unit, const fs::path& model, const std::string& flags,
                      const fs::path& compiler) {
  Key key;
  const std::string text = read_file(model);
  for (const std::string& part : {text, unit, flags, compiler.string(), header_root().string()}) key.add(part);
  std::error_code error;
  const fs::path binary = fs::canonical(compiler, error);
  key.add(fmt::format("{} {} {}", binary.string(), fs::file_size(binary, error),
                      fs::last_write_time(binary, error).time_since_epoch().count()));
  bool relative = false;
  for (const char* variable : {"CPATH", "CPLUS_INCLUDE_PATH"}) {
    key.add(environment(variable));
    relative = relative || !environment(variable).empty();
  }
  if (relative) key.add(fs::current_path(error).native());
  // Other names than <...> mean different files in different folders.
  const std::vector<std::string_view> included = after_includes(text);
  if (std::any_of(included.begin(), included.end(), [](std::string_view name) { return !name.starts_with('<'); })) {
    key.add(model.parent_path().native());
  }
  return key.text();
}

/// Adds a file and what it includes. False: macros say what, so that nobody but the compiler knows.
bool add_with_includes(Key& key, const fs::path& file, std::set<fs::path>& seen) {
  if (!seen.insert(file.lexically_normal()).second) return true;
  const std::string text = read_file(file);
  key.add(text);
  bool known = true;
  for (const std::string_view name : after_includes(text)) {
    if (!name.starts_with('"') && !name.starts_with('<')) {
      known = false;
      continue;
    }
    const std::string_view rest = name.substr(1);
    const fs::path named(rest.substr(0, rest.find_first_of(name[0] == '<' ? ">\n" : "\"\n")));
    for (const fs::path& folder : {file.parent_path(), header_root() / "include", header_root()}) {
      std::error_code error;
      if (fs::is_regular_file(folder / named, error)) known = add_with_includes(key, folder / named, seen) && known;
    }
  }
  return known;
}

/// Of code that NVRTC compiles, which does not list what it reads: the library's headers and those of the model. Empty:
/// they cannot be told.
std::string device_key(const std::string& unit, const fs::path& model) {
  Key key;
  key.add(unit);
  std::set<fs::path> seen;
  if (!add_with_includes(key, model, seen)) return "";
  std::set<fs::path> headers;
  const fs::path root = header_root();
  for (const fs::path& folder : {root / "kernels", root / "include" / "manyfold", root / "manyfold"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".hpp") headers.insert(entry.path());
    }
  }
  for (const fs::path& header : headers) key.add(read_file(header));
  return key.text();
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
  const std::string spec = fmt::format(
      "namespace manyfold {{\ninline constexpr KernelSpec<{}> kernel_spec = {{\n    .precision = Precision::{},\n    "
      ".projection = {},\n    .jacobian = JacobianSource::{},\n    .jacobian_reuse = JacobianReuse::{},\n    "
      ".error_test "
      "= ErrorTest::{}{}}};\n}}",
      request.given.size(), request.precision, request.projection, request.jacobian, request.jacobian_reuse,
      request.error_test,
      request.given.empty() ? "" : fmt::format(",\n    .given = {{Given({})}}", fmt::join(request.given, "), Given(")));
  const auto unit = [&](const std::string& model) {
    return fmt::format("{}#define MANYFOLD_KERNEL_UNIT\n#include \"{}\"\n#include \"{}\"\n{}\n{}\n", choices, model,
                       header, spec, entry_point);
  };
  return {unit(source.file.string()), unit("")};
}

/// File names have at most 255 bytes.
std::string short_stem(const ModelSource& source) {
  return source.file.stem().string().substr(0, 100);
}

/// The flags, and where the headers are.
std::vector<std::string> with_headers(const std::string& flags) {
  std::vector<std::string> result = words(flags);
  result.push_back("-I" + (header_root() / "include").string());
  result.push_back("-I" + header_root().string());
  return result;
}

/// The compiler to use.
fs::path needed_compiler() {
  const fs::path compiler = kernel_compiler();
  if (!compiler.empty()) return compiler;
  const std::string chosen = environment("CXX");
  throw UsageError(
      chosen.empty()
          ? "no C++ compiler found to compile the kernel with: install g++, or name one with the environment "
            "variable CXX"
          : fmt::format("the environment variable CXX is '{}', but must name a program, without options: "
                        "there is none of this name",
                        chosen));
}

/// What "auto" stands for is known of built-in models, and of others once one of their kernels has been loaded: an
/// entry beside the kernels keeps it.
class AutomaticMethodsEntry {
 public:
  AutomaticMethodsEntry(const KernelRequest& request, const ModelSource& source, const KernelCache& cache)
      : builtin_(source.builtin), model_(request.model), mixed_(request.precision == "mixed"), cache_(cache) {
    if (builtin_) return;
    name_ = fmt::format("{}-auto-{}", short_stem(source),
                        cache_key(kernel_unit(request, source, "", request.precision).content, source.file, "", ""));
  }

  std::optional<AutomaticMethods> read() const {
    if (builtin_) {
      const auto& models = builtin_models();
      return of(*std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.name == model_; }));
    }
    const auto entry = cache_.find(name_);
    if (!entry) return std::nullopt;
    std::ifstream stream(cache_.path(*entry));
    AutomaticMethods names;
    if (!(stream >> names.loose >> names.medium >> names.tight)) return std::nullopt;
    return names;
  }

  /// `kernel`: what was compiled for the model. Without the entry the next "auto" compiles again, which is all that a
  /// failure to write costs.
  void write(const ModelDescription& model, const CacheEntry& kernel) const {
    if (builtin_ || cache_.find(name_)) return;
    const AutomaticMethods& names = of(model);
    const auto content = cache_.put(fmt::format("{}\n{}\n{}\n", names.loose, names.medium, names.tight), ".txt");
    if (content) cache_.keep({name_, {kernel.label.model, "auto", "its methods"}, *content, kernel.dependencies});
  }

 private:
  const AutomaticMethods& of(const ModelDescription& model) const {
    return mixed_ ? model.automatic_mixed : model.automatic;
  }

  bool builtin_;
  std::string model_;
  bool mixed_;
  const KernelCache& cache_;
  std::string name_;
};

/// Keeps what is compiled of `source` under `key`.
void keep_in_cache(DeviceSource& source, const CacheLabel& label, const std::string& key) {
  if (key.empty()) return;
  const auto name = [key, stem = source.stem](const std::string& target) {
    return fmt::format("{}-{}-{}", stem, target, key);
  };
  source.find = [name, note = source.announce](const std::string& target) -> std::optional<std::string> {
    const KernelCache cache(kernel_cache(), note);
    const auto entry = cache.find(name(target));
    return entry ? file_content(cache.path(*entry)) : std::nullopt;
  };
  source.keep = [name, label, note = source.announce](const std::string& target, const std::string& code) {
    const KernelCache cache(kernel_cache(), note);
    if (const auto content = cache.put(code, ".device")) {
      cache.keep({name(target), {label.model, label.method, fmt::format("{} {}", label.target, target)}, *content, {}});
    }
  };
}

}  // namespace

DeviceSource device_source(const KernelRequest& request, const DeviceShape& shape,
                           const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  const KernelCache cache(kernel_cache(), announce);
  const KernelMethod method = find_method(request, AutomaticMethodsEntry(request, source, cache).read());
  DeviceSource result;
  result.tier = shape.tier;
  const int block = shape.block > 0 ? shape.block : most_threads_of_block;
  const KernelUnit unit =
      shape.tier == Tier::lockstep
          ? kernel_unit(request, source, "kernels/device/phased_kernel.hpp",
                        fmt::format("MANYFOLD_LOCKSTEP_KERNEL({}, kernel_spec, {})", method.template_name, block))
          : kernel_unit(request, source, "kernels/device/fused_kernel.hpp",
                        fmt::format("MANYFOLD_DEVICE_KERNEL({}, kernel_spec, {}, {}, {})", method.template_name, block,
                                    shape.block > 0, shape.tile));
  result.text = unit.text;
  result.stem = fmt::format("{}-{}-{}", short_stem(source), method.name, request.precision);
  result.include_paths = {header_root() / "include", header_root()};
  result.announce = announce;
  keep_in_cache(result, {request.model, method.name, request.precision}, device_key(unit.content, source.file));
  return result;
}

DeviceSource sampling_source(const std::function<void(const std::string&)>& announce) {
  const fs::path header = header_root() / "kernels" / "cuda" / "sampling_kernel.hpp";
  DeviceSource result;
  result.text = fmt::format("#include \"{}\"\n", header.string());
  result.stem = "sampling";
  result.include_paths = {header_root() / "include", header_root()};
  result.announce = announce;
  result.contracted = false;
  keep_in_cache(result, {"", "sampling", "float64"}, device_key(result.text, header));
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
  if (!home.empty()) return fs::path(home) / ".cache" / "manyfold";
  std::error_code ignored;
  return fs::temp_directory_path(ignored) / fmt::format("manyfold-cache-{}", geteuid());
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
  std::timespec before_all_files{};
  std::timespec_get(&before_all_files, TIME_UTC);
  const ModelSource source = find_model(request.model);
  const KernelCache cache(kernel_cache(), announce);
  const AutomaticMethodsEntry automatic(request, source, cache);
  const KernelMethod method = find_method(request, automatic.read());
  const std::string instruction_set =
      request.instruction_set.empty() ? default_instruction_set() : request.instruction_set;
  const std::string flags = fmt::format("{} {}{}", build::kernel_flags, instruction_set_flags(instruction_set),
                                        instruction_set == "scalar" ? " -DMANYFOLD_ONE_LANE" : "");
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

  const KernelUnit unit = kernel_unit(request, source, "kernels/entry/kernel.hpp",
                                      fmt::format("MANYFOLD_KERNEL({}, manyfold::kernel_spec)", method.template_name));
  const fs::path compiler = needed_compiler();
  const auto name_of = [&](const KernelMethod& of, const KernelUnit& unit_of) {
    return fmt::format("{}-{}-{}-{}-{}", short_stem(source), of.name, request.precision, instruction_set,
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
  const std::string name = name_of(method, unit);
  if (const auto entry = cache.find(name)) {
    if (auto loaded = open_library(cache.path(*entry), "cache")) {
      automatic.write(loaded->model, *entry);
      return checked(*loaded);
    }
  }

  if (announce) {
    announce(fmt::format("compiling {} with {}{} in {} for {} ...", request.model, method.name,
                         request.projection ? " and projection" : "", request.precision, instruction_set));
  }
  const auto start = std::chrono::steady_clock::now();
  CompiledUnit compiled;
  compile(unit.text, with_headers(flags), compiler, source.file, request.model, compiled);
  const std::string library = read_file(compiled.object);
  const auto content = cache.put(library, ".so");
  const fs::path file = content ? cache.path({"", {}, *content, {}}) : compiled.object;
  auto loaded = open_library(file, "compiled");
  // From a file system whose programs must not be executed, for instance.
  if (!loaded && content) loaded = open_library(compiled.object, "compiled");
  if (!loaded) {
    const char* reason = dlerror();
    throw std::runtime_error(fmt::format("the compiled kernel '{}' cannot be loaded: {}", file.string(),
                                         reason != nullptr ? reason : "it does not fit this version"));
  }
  const auto read = dependencies(compiled, source.file, before_all_files, announce);
  if (content && read) {
    // What "auto" stood for until now is known from here on: it is kept as the method that it is.
    CacheEntry entry{name, {request.model, loaded->kernel->method, ""}, *content, *read};
    entry.label.target = fmt::format("{} {}", request.precision, instruction_set);
    if (request.method == "auto" && method.name != loaded->kernel->method) {
      KernelRequest concrete = request;
      concrete.method = loaded->kernel->method;
      const KernelMethod found = find_method(concrete, std::nullopt);
      entry.name =
          name_of(found, kernel_unit(concrete, source, "kernels/entry/kernel.hpp",
                                     fmt::format("MANYFOLD_KERNEL({}, manyfold::kernel_spec)", found.template_name)));
    }
    cache.keep(entry);
    automatic.write(loaded->model, entry);
  }
  loaded->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return checked(*loaded);
}

InspectedModel inspect_model(const std::string& model) {
  const ModelSource source = find_model(model);
  KernelRequest request;
  request.model = model;
  const KernelUnit unit = kernel_unit(request, source, "kernels/entry/inspection.hpp", "MANYFOLD_INSPECTION");
  const std::string flags = fmt::format("{} -O1 {}", build::kernel_flags, instruction_set_flags("scalar"));
  CompiledUnit compiled;
  compile(unit.text, with_headers(flags), needed_compiler(), source.file, model, compiled);
  void* library = dlopen(compiled.object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(fmt::format("the inspection cannot be loaded: {}", dlerror()));
  InspectedModel result;
  result.file = source.file;
  const auto inspect =
      reinterpret_cast<void (*)(ModelDescription&, std::vector<std::string>&)>(dlsym(library, "manyfold_inspection"));
  inspect(result.model, result.problems);
  return result;
}

}  // namespace manyfold
