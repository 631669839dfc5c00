#include "host/io/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/text/printable.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

fs::path with_suffix(fs::path path, std::string_view suffix) {
  path += suffix;
  return path;
}

std::string reason() {
  return std::generic_category().message(errno);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Of what must not be replaced by a file; null: of a regular file.
const char* kind_of(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a fifo";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

OutputFile::OutputFile(fs::path path, bool replace, const std::vector<fs::path>& inputs)
    : path_(std::move(path)), replace_(replace) {
  if (path_.empty()) throw UsageError("the output file's name is empty");
  const std::string name = printable(path_.string());
  struct stat target {};
  if (lstat(path_.c_str(), &target) == 0) {
    if (const char* kind = kind_of(target.st_mode)) {
      throw UsageError(fmt::format("output file {} is {}, but must be a file or new", name, kind));
    }
    for (const fs::path& input : inputs) {
      struct stat status {};
      if (stat(input.c_str(), &status) == 0 && same_file(status, target)) {
        throw UsageError(fmt::format("output file {} is the same file as {}, which this run reads", name,
                                     printable(input.string())));
      }
    }
    if (!replace_) throw UsageError(fmt::format("output file {} exists already: --force replaces it", name));
  }
  lock();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      replace_(other.replace_),
      lock_path_(std::move(other.lock_path_)),
      lock_(std::exchange(other.lock_, -1)),
      partial_(std::exchange(other.partial_, {})),
      unfinished_lock_(std::move(other.unfinished_lock_)),
      unfinished_partial_(std::move(other.unfinished_partial_)) {}

OutputFile::~OutputFile() {
  if (!partial_.empty()) unlink(partial_.c_str());
  unlock();
}

void OutputFile::lock() {
  lock_path_ = with_suffix(path_, ".lock");
  while (true) {
    lock_ = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (lock_ < 0) {
      throw UsageError(fmt::format("output file {} cannot be written: {}: {}", printable(path_.string()),
                                   printable(lock_path_.string()), reason()));
    }
    char text[32] = {};
    const bool known = pread(lock_, text, sizeof text - 1, 0) > 0;
    if (text[std::strspn(text, "0123456789")] != '\0') {
      close(std::exchange(lock_, -1));
      throw UsageError(fmt::format("output file {} cannot be written: {} is there, and is no lock of a run",
                                   printable(path_.string()), printable(lock_path_.string())));
    }
    // File systems without locks have none to respect.
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(lock_, -1));
      throw UsageError(fmt::format("output file {} is being written by another run{}", printable(path_.string()),
                                   known ? fmt::format(", process {}", text) : ""));
    }
    // The run that had it may have removed it since it was opened.
    struct stat opened {};
    struct stat named {};
    if (fstat(lock_, &opened) == 0 && lstat(lock_path_.c_str(), &named) == 0 && same_file(opened, named)) break;
    close(std::exchange(lock_, -1));
  }
  unfinished_lock_ = UnfinishedFile(lock_path_.string());
  const std::string own = std::to_string(getpid());
  // Without it others are refused too, but cannot say for whom.
  if (ftruncate(lock_, 0) == 0 && pwrite(lock_, own.data(), own.size(), 0) < 0) errno = 0;
}

void OutputFile::unlock() {
  if (lock_ < 0) return;
  unlink(lock_path_.c_str());
  unfinished_lock_ = {};
  close(std::exchange(lock_, -1));
}

const fs::path& OutputFile::create() {
  std::random_device random;
  while (partial_.empty()) {
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    const fs::path candidate = with_suffix(path_, fmt::format(".{:016x}.partial", number));
    const int descriptor = open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) {
      throw UsageError(fmt::format("output file {} cannot be written: {}: {}", printable(path_.string()),
                                   printable(candidate.string()), reason()));
    }
    close(descriptor);
    partial_ = candidate;
    unfinished_partial_ = UnfinishedFile(candidate.string());
  }
  return partial_;
}

void OutputFile::commit() {
  const fs::path partial = std::exchange(partial_, {});
  // Whole from here on: it stays, even where it cannot be renamed.
  unfinished_partial_ = {};
  int failure = renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path_.c_str(), replace_ ? 0 : RENAME_NOREPLACE);
  // Not every file system can refuse to replace.
  if (failure != 0 && errno == EINVAL) {
    failure = link(partial.c_str(), path_.c_str());
    if (failure == 0) unlink(partial.c_str());
  }
  if (failure != 0) {
    throw std::runtime_error(fmt::format("{}: holds the result, but cannot be renamed to {}: {}",
                                         printable(partial.string()), printable(path_.string()), reason()));
  }
  unlock();
}

}  // namespace manyfold
