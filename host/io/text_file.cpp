#include "host/io/text_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/io/output_file.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

void append(const fs::path& file, std::string_view text, const fs::path& named) {
  std::ofstream stream(file, std::ios::binary | std::ios::app);
  stream << text;
  stream.close();
  if (stream) return;
  throw std::runtime_error(fmt::format("output file {} cannot be written: {}", printable(named.string()),
                                       std::generic_category().message(errno)));
}

/// Standard output, as users write it. What /dev/stdout opens has a position of its own: what other commands write
/// behind it would stand in the same place.
bool is_standard_output(const fs::path& path) {
  return path == "-" || path == "/dev/stdout";
}

/// Is it written to as it is, like a pipe? What /dev/stderr stands for may be a file.
bool is_stream(const fs::path& path) {
  std::error_code not_there;
  const fs::file_status status = fs::status(path, not_there);
  return fs::exists(status) && (!fs::is_regular_file(status) || path.native().starts_with("/dev/"));
}

/// What links stand for.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(path), error);
  return error ? path : target;
}

}  // namespace

void check_text_target(const fs::path& path, const std::vector<fs::path>& inputs) {
  if (is_standard_output(path)) return;
  if (path.empty()) throw UsageError("the output file's name is empty");
  std::error_code not_there;
  if (fs::is_directory(path, not_there)) {
    throw UsageError(fmt::format("output file {} is a directory", printable(path.string())));
  }
  for (const fs::path& input : inputs) {
    if (!fs::equivalent(path, input, not_there)) continue;
    throw UsageError(fmt::format("output file {} is the same file as {}, which is read", printable(path.string()),
                                 printable(input.string())));
  }
  if (is_stream(path)) return;
  const fs::path folder = target_of(path).parent_path();
  if (access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw UsageError(fmt::format("output file {} cannot be written: {}", printable(path.string()),
                               std::generic_category().message(errno)));
}

void write_text(const fs::path& path, std::string_view text) {
  if (is_standard_output(path)) {
    std::cout << text << std::flush;  // the command tells if that fails, as of all that it prints
    return;
  }
  if (is_stream(path)) return append(path, text, path);
  OutputFile file(target_of(path), true);
  append(file.create(), text, path);
  file.commit();
}

}  // namespace manyfold
