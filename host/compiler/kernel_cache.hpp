#pragma once
// Compiled code, kept from run to run: what is loaded is whole, is ours, and is what the compiler would make now.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manyfold {

/// 128 bits as 32 hexadecimal digits.
std::string checksum(std::string_view text);

/// The text of a regular file; nothing if it cannot be read.
std::optional<std::string> file_content(const std::filesystem::path& path);

/// A private folder below the temporary one (TMPDIR), removed with all that is in it. Throws UsageError if it cannot be
/// made.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  void remove();

 private:
  std::filesystem::path path_;
};

/// A file that a compiler read.
struct CacheDependency {
  std::filesystem::path file;
  std::string checksum;
};

/// What an entry of the cache holds, in words.
struct CacheLabel {
  std::string model;
  std::string method;
  std::string target;  ///< precision and instruction set or architecture
};

struct CacheEntry {
  std::string name;
  CacheLabel label;
  std::string content;  ///< name of the file that holds it, which is its checksum and a suffix
  std::vector<CacheDependency> dependencies;
};

/// An entry as users see it.
struct CacheUse {
  CacheLabel label;
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type last_use;
};

/// Why code is not loaded from `folder`; empty: it is a folder of the effective user that nobody else may write to.
/// Makes the folder where it is missing.
std::string folder_problem(const std::filesystem::path& folder);

/// An entry is a file with a name, a label and what the compiler read; its content is another file, named by its
/// checksum. Both are written under names that nobody can foresee and renamed, so that many processes may share a
/// cache.
class KernelCache {
 public:
  using Note = std::function<void(const std::string&)>;

  /// In `folder`, or in a temporary one that ends with the process if `folder` is not private: `note` is told why.
  /// `most`: bytes to which `keep` limits the cache.
  explicit KernelCache(const std::filesystem::path& folder, Note note = {},
                       std::uintmax_t most = std::numeric_limits<std::uintmax_t>::max());

  /// The entry called `name` if it is whole and what was read for it has not changed. Counts as a use.
  std::optional<CacheEntry> find(const std::string& name) const;
  std::filesystem::path path(const CacheEntry& entry) const { return folder_ / entry.content; }

  /// Writes content; returns its file's name. Nothing if that is not possible: `note` is told which file and why.
  std::optional<std::string> put(const std::string& content, const std::string& suffix) const;
  /// Writes the entry of what `put` has written. Replaces an entry of the same name, and deletes the least recently
  /// used ones of a cache that has become too large.
  void keep(const CacheEntry& entry) const;

  /// The least recently used first.
  std::vector<CacheUse> list() const;
  /// Deletes the least recently used entries until the rest has at most `bytes`, and what belongs to no entry. Returns
  /// how many bytes were deleted.
  std::uintmax_t limit(std::uintmax_t bytes) const;

 private:
  struct Stored;
  std::vector<Stored> stored() const;
  bool write(const std::string& name, const std::string& content) const;
  std::uintmax_t size() const;
  void tell(const std::string& line) const {
    if (note_) note_(line);
  }

  std::filesystem::path folder_;
  Note note_;
  std::uintmax_t most_;
};

}  // namespace manyfold
