#pragma once
// The input of a fuzz target as a file, and what every reader must keep to.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <manyfold/error.hpp>

namespace manyfold::fuzz {

/// Ends the process where libFuzzer sees it.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// A file in memory with a path.
class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size, const char* suffix) {
    path_ = "/dev/shm/manyfold-fuzz-" + std::to_string(getpid()) + suffix;
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail(path_ + " cannot be written");
    if (write(file, data, size) != static_cast<ssize_t>(size)) fail(path_ + " is cut off");
    close(file);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline long refused = 0;  ///< inputs

/// What is refused is refused with its place: the message begins with FILE:LINE:COLUMN.
inline void expect_place(const std::string& message, const std::string& path) {
  ++refused;
  int line = 0;
  int column = 0;
  const bool placed = message.starts_with(path + ":") &&
                      std::sscanf(message.c_str() + path.size(), ":%d:%d:", &line, &column) == 2 && line > 0 &&
                      column > 0;
  if (!placed) fail("no place in: " + message);
}

}  // namespace manyfold::fuzz
