#include "host/compiler/model_source.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/compiler/catalog.hpp"
#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/toolchain.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  if (auto text = file_content(path)) return *text;
  throw UsageError(fmt::format("cannot read the model file '{}': it does not exist or is not readable", path.string()));
}

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

std::string short_stem(const ModelSource& source) {
  return source.file.stem().string().substr(0, 100);
}

}  // namespace manyfold
