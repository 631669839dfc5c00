#include "host/compiler/kernel_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

namespace manyfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format = "manyfold kernel cache 1";
constexpr std::string_view entry_suffix = ".entry";
constexpr std::string_view unfinished = ".manyfold-";  // begins the names of files that are being written
constexpr std::size_t checksum_digits = 32;
/// After so long no process is about to make an entry of a file that belongs to none.
constexpr std::chrono::hours longest_compilation{1};

std::string reason() {
  return std::generic_category().message(errno);
}

/// Fields end with a zero byte, which no path has.
std::string text_of(const CacheEntry& entry) {
  std::string text;
  const auto add = [&](std::string_view field) { text.append(field).push_back('\0'); };
  for (const std::string_view field :
       {format, std::string_view(entry.label.model), std::string_view(entry.label.method),
        std::string_view(entry.label.target), std::string_view(entry.content)}) {
    add(field);
  }
  for (const CacheDependency& dependency : entry.dependencies) {
    add(dependency.checksum);
    add(dependency.file.native());
  }
  return text + checksum(text);
}

std::optional<CacheEntry> parse(const std::string& name, const std::string& text) {
  if (text.size() < checksum_digits) return std::nullopt;
  const std::string_view body = std::string_view(text).substr(0, text.size() - checksum_digits);
  if (checksum(body) != std::string_view(text).substr(body.size())) return std::nullopt;
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = body.find('\0', begin);
    fields.emplace_back(body.substr(begin, end - begin));
    begin = end + 1;
  }
  if (fields.size() % 2 == 0 || fields.size() < 5 || fields[0] != format) return std::nullopt;
  CacheEntry entry{name, {fields[1], fields[2], fields[3]}, fields[4], {}};
  for (std::size_t i = 5; i < fields.size(); i += 2) entry.dependencies.push_back({fields[i + 1], fields[i]});
  return entry;
}

/// Whether a file of this name was written by a cache: others are never deleted.
bool of_cache(const std::string& name) {
  if (name.starts_with(unfinished)) return true;
  const std::string stem = fs::path(name).stem().string();
  return fs::path(name).has_extension() && stem.size() >= checksum_digits &&
         stem.find_first_not_of("0123456789abcdef", stem.size() - checksum_digits) == std::string::npos;
}

}  // namespace

std::string checksum(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::optional<std::string> file_content(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char part[65536];
  while (const std::size_t count = std::fread(part, 1, sizeof part, file.get())) text.append(part, count);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path below = fs::temp_directory_path(error);
  std::string name = (below / "manyfold-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw UsageError(fmt::format("cannot make a temporary folder '{}': {}; the environment variable TMPDIR names where",
                                 name, error ? error.message() : reason()));
  }
  path_ = name;
}

void TemporaryFolder::remove() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string folder_problem(const fs::path& folder) {
  std::error_code error;
  fs::path absolute = fs::absolute(folder, error).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  if (!error) fs::create_directories(absolute.parent_path(), error);
  if (!error && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) error = {errno, std::generic_category()};
  if (error) return fmt::format("it cannot be made: {}", error.message());
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return reason();
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != geteuid()) {
    return fmt::format("it belongs to user {}, but this is user {}", status.st_uid, geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("others may write to it (mode {:o}): 'chmod go-w' it, if nobody has", status.st_mode & 07777);
  }
  return "";
}

KernelCache::KernelCache(const fs::path& folder, Note note, std::uintmax_t most)
    : folder_(folder), note_(std::move(note)), most_(most) {
  const std::string problem = folder_problem(folder_);
  if (problem.empty()) return;
  static const TemporaryFolder substitute;
  static std::set<fs::path> told;
  folder_ = substitute.path();
  if (!told.insert(folder).second) return;
  tell(fmt::format("note: the kernel cache '{}' is not used, and this run's kernels are not kept: {}", folder.string(),
                   problem));
}

std::optional<CacheEntry> KernelCache::find(const std::string& name) const {
  const fs::path file = folder_ / (name + std::string(entry_suffix));
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return std::nullopt;
  const auto text = file_content(file);
  std::optional<CacheEntry> entry = text ? parse(name, *text) : std::nullopt;
  const auto content = entry ? file_content(path(*entry)) : std::nullopt;
  if (!content || checksum(*content) != fs::path(entry->content).stem()) {
    tell(fmt::format("note: '{}' is damaged and is made again", (entry ? path(*entry) : file).string()));
    return std::nullopt;
  }
  for (const CacheDependency& dependency : entry->dependencies) {
    const auto now = file_content(dependency.file);
    if (!now || checksum(*now) != dependency.checksum) return std::nullopt;
  }
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return entry;
}

bool KernelCache::write(const std::string& name, const std::string& content) const {
  std::string own = (folder_ / unfinished).string() + "XXXXXX";
  const int descriptor = mkostemp(own.data(), O_CLOEXEC);
  bool good = descriptor >= 0;
  for (std::size_t done = 0; good && done < content.size();) {
    const ssize_t count = ::write(descriptor, content.data() + done, content.size() - done);
    if (count >= 0) done += static_cast<std::size_t>(count);
    good = count >= 0 || errno == EINTR;
  }
  // Some file systems tell of a full disk only then.
  good = good && fsync(descriptor) == 0;
  std::string why = good ? "" : reason();
  if (descriptor >= 0 && close(descriptor) != 0 && good) {
    good = false;
    why = reason();
  }
  const fs::path file = folder_ / name;
  if (good && std::rename(own.c_str(), file.c_str()) != 0) {
    good = false;
    why = reason();
  }
  if (good) return true;
  if (descriptor >= 0) unlink(own.c_str());
  tell(fmt::format("note: this kernel is not kept: '{}' cannot be written: {}", file.string(), why));
  return false;
}

std::optional<std::string> KernelCache::put(const std::string& content, const std::string& suffix) const {
  std::string name = checksum(content) + suffix;
  if (!write(name, content)) return std::nullopt;
  return name;
}

void KernelCache::keep(const CacheEntry& entry) const {
  const std::string name = entry.name + std::string(entry_suffix);
  const auto text = file_content(folder_ / name);
  const auto before = text ? parse(entry.name, *text) : std::nullopt;
  if (!write(name, text_of(entry))) return;
  std::error_code ignored;
  if (before && before->content != entry.content) fs::remove(path(*before), ignored);
  if (size() > most_) limit(most_);
}

/// Of all its files, without a look into them.
std::uintmax_t KernelCache::size() const {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder_, error)) {
    const auto of_file = of_cache(item.path().filename().string()) ? item.file_size(error) : 0;
    if (!error) bytes += of_file;
  }
  return bytes;
}

struct KernelCache::Stored {
  CacheUse use;
  fs::path file;
  fs::path content;
};

std::vector<KernelCache::Stored> KernelCache::stored() const {
  std::vector<Stored> result;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder_, error)) {
    if (item.path().extension() != entry_suffix || !of_cache(item.path().filename().string())) continue;
    const auto text = file_content(item.path());
    const auto entry = text ? parse(item.path().stem().string(), *text) : std::nullopt;
    if (!entry) continue;
    const auto size = fs::file_size(path(*entry), error);
    if (error) continue;
    result.push_back({{entry->label, size + text->size(), item.last_write_time(error)}, item.path(), path(*entry)});
  }
  std::sort(result.begin(), result.end(), [](const Stored& a, const Stored& b) {
    return std::pair(a.use.last_use, a.file) < std::pair(b.use.last_use, b.file);
  });
  return result;
}

std::vector<CacheUse> KernelCache::list() const {
  std::vector<CacheUse> result;
  for (const Stored& one : stored()) result.push_back(one.use);
  return result;
}

std::uintmax_t KernelCache::limit(std::uintmax_t bytes) const {
  const std::vector<Stored> all = stored();
  std::set<fs::path> kept;
  std::set<fs::path> dropped;
  std::uintmax_t total = 0;
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    total += one->use.bytes;
    (total <= bytes ? kept : dropped).insert({one->file, one->content});
  }
  std::uintmax_t deleted = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& item : fs::directory_iterator(folder_, error)) {
    if (!of_cache(item.path().filename().string()) || kept.contains(item.path()) || !item.is_regular_file(error)) {
      continue;
    }
    if (!dropped.contains(item.path()) && now - item.last_write_time(error) < longest_compilation) continue;
    const auto size = item.file_size(error);
    if (fs::remove(item.path(), error)) deleted += size;
  }
  return deleted;
}

}  // namespace manyfold
