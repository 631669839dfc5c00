#include "host/compiler/cache_key.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "host/compiler/kernel_cache.hpp"
#include "host/compiler/model_source.hpp"
#include "host/compiler/toolchain.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace manyfold
