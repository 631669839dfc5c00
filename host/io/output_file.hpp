#pragma once
// A file that a run writes: of this run alone, and under its final name only once it is whole.
#include <filesystem>
#include <vector>

#include "host/io/unfinished_file.hpp"

namespace manyfold {

/// Who writes `path` holds a lock on the file `<path>.lock`, which goes away with the run or loses its lock with it.
class OutputFile {
 public:
  /// Throws UsageError if `path` is anything but a regular file or new, is one of `inputs`, is there already unless
  /// `replace`, is written by another run, or cannot be.
  OutputFile(std::filesystem::path path, bool replace, const std::vector<std::filesystem::path>& inputs = {});
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the unfinished file.
  ~OutputFile();

  const std::filesystem::path& path() const { return path_; }
  /// Creates `<path>.<16 hexadecimal digits>.partial`, to be written to. Throws UsageError if that is not possible.
  const std::filesystem::path& create();
  const std::filesystem::path& partial() const { return partial_; }
  /// Gives what was created its final name. Throws std::runtime_error if that is not possible, for instance because a
  /// file has appeared there; what was created stays.
  void commit();

 private:
  void lock();
  void unlock();

  std::filesystem::path path_;
  bool replace_;
  std::filesystem::path lock_path_;
  int lock_ = -1;
  std::filesystem::path partial_;  ///< empty: there is none
  UnfinishedFile unfinished_lock_;
  UnfinishedFile unfinished_partial_;
};

}  // namespace manyfold
