#pragma once
// Files that must not be left behind, however the process ends.
#include <string>

namespace manyfold {

/// Names a file, from its construction to its destruction, as one that a signal handler removes.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

  /// Removes all that are named; false: there were none. For signal handlers of a process that ends with them.
  static bool remove_all() noexcept;

 private:
  int place_ = -1;  ///< in the list of all; -1: none
};

}  // namespace manyfold
