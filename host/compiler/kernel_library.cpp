#include "host/compiler/kernel_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "build_config.hpp"
#include "host/compiler/cache_key.hpp"
#include "host/compiler/catalog.hpp"
#include "host/compiler/compilation.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/kernel_unit.hpp"
#include "host/compiler/model_source.hpp"
#include "host/compiler/toolchain.hpp"
#include "host/engine/installation.hpp"
#include "host/text/loader_error.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

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
  if (loaded.kernel->describe != nullptr) loaded.kernel->describe(loaded.model);
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

/// What is compiled to a library, and what that is called.
struct Library {
  const ModelSource& source;
  const KernelUnit& unit;
  std::string flags;
  std::string stem;  ///< of its name in the cache
  CacheLabel label;
  std::string announcement;
};

/// The library from the cache, or compiled now.
LoadedKernel load_library(const Library& wanted, const std::function<void(const std::string&)>& announce) {
  std::timespec before_all_files{};
  std::timespec_get(&before_all_files, TIME_UTC);
  const KernelCache cache(kernel_cache(), announce, kernel_cache_limit());
  const fs::path compiler = needed_compiler();
  const fs::path& model = wanted.source.file;
  const std::string name =
      fmt::format("{}-{}", wanted.stem, cache_key(wanted.unit.content, model, wanted.flags, compiler));
  if (const auto entry = cache.find(name)) {
    if (auto loaded = open_library(cache.path(*entry), "cache")) return *loaded;
  }
  if (announce) announce(wanted.announcement);
  const auto start = std::chrono::steady_clock::now();
  CompiledUnit compiled;
  compile(wanted.unit.text, compiler_flags(wanted.flags, compiler), compiler, model, wanted.label.model, compiled);
  const auto content = cache.put(read_file(compiled.object), ".so");
  const fs::path file = content ? cache.path({"", {}, *content, {}}) : compiled.object;
  auto loaded = open_library(file, "compiled");
  // From a file system whose programs must not be executed, for instance.
  if (!loaded && content) loaded = open_library(compiled.object, "compiled");
  if (!loaded) {
    throw std::runtime_error(fmt::format("the compiled kernel '{}' cannot be loaded: {}", file.string(),
                                         loader_error("it does not fit this version")));
  }
  const auto read = dependencies(compiled, model, before_all_files, announce);
  if (content && read) cache.keep({name, wanted.label, *content, *read});
  loaded->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *loaded;
}

/// The instruction set of a request, and the flags of its kernels.
std::string instruction_set_of(const KernelRequest& request) {
  return request.instruction_set.empty() ? default_instruction_set() : request.instruction_set;
}
std::string kernel_flags(const std::string& instruction_set) {
  return fmt::format("{} {}{}", build::kernel_flags, instruction_set_flags(instruction_set),
                     instruction_set == "scalar" ? " -DMANYFOLD_ONE_LANE" : "");
}

const ModelDescription* builtin_model(const std::string& name) {
  const auto& models = builtin_models();
  const auto found = std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.name == name; });
  return found != models.end() ? &*found : nullptr;
}

/// The method of the request for a model that is described so.
const MethodDescription& checked_method(const KernelRequest& request, const ModelDescription& model) {
  const MethodDescription& method = method_of(request, model);
  check_method(model, method.name);
  if (request.options.projection && model.constraints == 0) {
    throw UsageError(
        fmt::format("projection: model '{}' has nothing to project on: it needs constraints of index 2 or 3, or "
                    "invariants",
                    request.model));
  }
  return method;
}

/// The kernel that was built ahead, if there is one for the request.
std::optional<LoadedKernel> built_ahead(const KernelRequest& request, const std::string& method,
                                        const std::string& instruction_set) {
  const bool as_built = !request.structural_value && request.given.empty() && !request.observed &&
                        !request.options.projection &&
                        std::all_of(choice_settings.begin(), choice_settings.end(), [&](const ChoiceSetting& choice) {
                          return choice.type.empty() || request.options.*choice.field == SolverOptions{}.*choice.field;
                        });
  if (!as_built || builtin_model(request.model) == nullptr) return std::nullopt;
  const std::string name = fmt::format("{}-{}-{}.so", request.model, method, instruction_set);
  for (const fs::path& folder :
       {executable_folder() / "kernels", executable_folder() / ".." / "lib" / "manyfold" / "kernels"}) {
    if (auto loaded = open_library(folder / name, "built ahead")) return loaded;
  }
  return std::nullopt;
}

/// Tells what the compiler of the model warns of, once.
void tell_warnings(const std::string& model, const ModelSource& source,
                   const std::function<void(const std::string&)>& announce) {
  static std::mutex one_at_a_time;
  static std::set<std::filesystem::path> told;
  constexpr std::size_t most = 10;
  const std::lock_guard lock(one_at_a_time);
  if (!told.insert(source.file).second) return;
  const std::size_t count = source.warnings.size();
  for (std::size_t k = 0; k < std::min(count, most); ++k) announce(source.warnings[k]);
  if (count > most) announce(fmt::format("{} further warnings: see 'manyfold check {}'", count - most, model));
}

}  // namespace

LoadedKernel load_description(const KernelRequest& request, const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  if (announce) tell_warnings(request.model, source, announce);
  if (request.structural_value) {
    KernelRequest as_it_is = request;
    as_it_is.structural_value.reset();
    as_it_is.given.clear();
    check_structural_value(request.model, describe(as_it_is, announce).structural, *request.structural_value);
  }
  KernelRequest of_model;
  of_model.structural_value = request.structural_value;
  of_model.given = request.given;
  const KernelUnit unit =
      kernel_unit(of_model, source, "kernels/entry/description.hpp", "MANYFOLD_DESCRIPTION(manyfold::kernel_spec)");
  const std::string instruction_set = instruction_set_of(request);
  // Rounded as in the kernels: contractions of products and sums are the same at every level of optimisation.
  const std::string flags = kernel_flags(instruction_set) + " -O1";
  LoadedKernel loaded = load_library({source,
                                      unit,
                                      flags,
                                      fmt::format("{}-{}", short_stem(source), instruction_set),
                                      {request.model, "description", instruction_set},
                                      fmt::format("reading {} ...", printable(request.model))},
                                     announce);
  if (!loaded.model.wrong.empty()) {
    throw UsageError(fmt::format("{}: error: {}", source.file.string(), loaded.model.wrong));
  }
  return loaded;
}

ModelDescription describe(const KernelRequest& request, const std::function<void(const std::string&)>& announce) {
  const ModelDescription* builtin = builtin_model(request.model);
  if (builtin == nullptr || !request.given.empty()) return load_description(request, announce).model;
  if (!request.structural_value || *request.structural_value == builtin->structural.value) return *builtin;
  return load_description(request, announce).model;
}

std::string check_kernel(const KernelRequest& request, const std::function<void(const std::string&)>& announce) {
  return checked_method(request, describe(request, announce)).name;
}

LoadedKernel load_kernel(const KernelRequest& request, const std::function<void(const std::string&)>& announce) {
  const ModelSource source = find_model(request.model);
  const ModelDescription model = describe(request, announce);
  const MethodDescription& method = checked_method(request, model);
  const std::string instruction_set = instruction_set_of(request);
  if (auto loaded = built_ahead(request, method.name, instruction_set)) {
    loaded->model = model;
    return *loaded;
  }
  const KernelUnit unit =
      kernel_unit(request, source, "kernels/entry/kernel.hpp",
                  fmt::format("MANYFOLD_KERNEL({}, manyfold::kernel_spec, {})", method.template_name,
                              request.observed ? "ObserverCall" : "NoObserver"));
  LoadedKernel loaded = load_library(
      {source,
       unit,
       kernel_flags(instruction_set),
       fmt::format("{}-{}-{}-{}", short_stem(source), method.name, request.options.precision, instruction_set),
       {request.model, method.name, fmt::format("{} {}", request.options.precision, instruction_set)},
       fmt::format("compiling {} with {}{} in {} for {} ...", printable(request.model), method.name,
                   request.options.projection ? " and projection" : "", request.options.precision, instruction_set)},
      announce);
  loaded.model = model;
  return loaded;
}

InspectedModel inspect_model(const std::string& model) {
  const ModelSource source = find_model(model);
  const KernelUnit unit = kernel_unit({.model = model}, source, "kernels/entry/inspection.hpp", "MANYFOLD_INSPECTION");
  const std::string flags = fmt::format("{} -O1 {}", build::kernel_flags, instruction_set_flags("scalar"));
  CompiledUnit compiled;
  const fs::path compiler = needed_compiler();
  compile(unit.text, compiler_flags(flags, compiler), compiler, source.file, model, compiled);
  void* library = dlopen(compiled.object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error("the inspection cannot be loaded: " + loader_error("the loader does not say why"));
  InspectedModel result;
  result.file = source.file;
  result.warnings = source.warnings;
  const auto inspect =
      reinterpret_cast<void (*)(ModelDescription&, std::vector<std::string>&)>(dlsym(library, "manyfold_inspection"));
  inspect(result.model, result.problems);
  return result;
}

}  // namespace manyfold
