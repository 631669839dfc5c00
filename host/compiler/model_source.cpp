#include "host/compiler/model_source.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/toolchain.hpp"
#include "host/modelica/compile.hpp"
#include "host/text/nearest_name.hpp"
#include "host/text/printable.hpp"

namespace manyfold {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  if (auto text = file_content(path)) return *text;
  throw UsageError(
      fmt::format("cannot read the model file '{}': it does not exist or is not readable", printable(path.string())));
}

bool is_modelica(const std::string& model) {
  const fs::path extension = fs::path(model).extension();
  return extension == ".mo" || extension == ".bmo";
}

namespace {

void check_is_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return;
  throw UsageError(fmt::format("model file '{}' {}", printable(path.string()),
                               fs::exists(path, error) ? "is no file" : "does not exist"));
}

struct Translated {
  fs::path header;
  std::vector<std::string> warnings;
};

/// What the Modelica file becomes; the header is in the cache of kernels under the name of its content.
Translated translated(const fs::path& path) {
  check_is_file(path);
  const std::string text = read_file(path);
  std::error_code error;
  static std::mutex one_at_a_time;
  static std::map<std::string, Translated> done;  // by content
  const std::lock_guard lock(one_at_a_time);
  Translated& result = done[path.string() + "\n" + text];
  fs::path& header = result.header;
  if (!header.empty() && fs::exists(header, error)) return result;
  const modelica::CompiledModel compiled = modelica::compile_model(text, path.string());
  const std::string& content = compiled.header;
  result.warnings = compiled.warnings;
  static const KernelCache cache(kernel_cache(), {}, kernel_cache_limit());
  const std::string name = fmt::format("model-{}", checksum(content));
  if (const auto entry = cache.find(name)) {
    header = cache.path(*entry);
    return result;
  }
  if (const auto file = cache.put(content, ".hpp")) {
    const CacheEntry entry{name, {path.string(), "C++", "host"}, *file, {}};
    cache.keep(entry);
    header = cache.path(entry);
    return result;
  }
  static const TemporaryFolder folder;
  header = folder.path() / (checksum(content) + ".hpp");
  std::ofstream(header) << content;
  return result;
}

}  // namespace

ModelSource find_model(const std::string& model) {
  std::vector<std::string> names;
  for (const ModelDescription& builtin : builtin_models()) names.push_back(builtin.name);
  if (std::find(names.begin(), names.end(), model) != names.end()) {
    return {header_root() / "problems" / model / (model + ".hpp"), true, model, {}};
  }
  const fs::path path(model);
  if (path.extension() == ".hpp") {
    check_is_file(path);
    const fs::path file = fs::canonical(path);
    if (file.native().find_first_of("\"\n\r") != std::string::npos) {
      throw UsageError(
          fmt::format("model file '{}': its path has a quotation mark or a line break, which no #include can name: "
                      "rename it",
                      file.string()));
    }
    return {file, false, file.stem().string(), {}};
  }
  if (is_modelica(model)) {
    const Translated found = translated(path);
    return {found.header, false, path.stem().string(), found.warnings};
  }
  throw UsageError(fmt::format("unknown model '{}'{}; a model is a built-in name or the path of a .hpp or .mo file",
                               model, did_you_mean(model, names)));
}

std::string short_stem(const ModelSource& source) {
  return source.stem.substr(0, 100);
}

}  // namespace manyfold
