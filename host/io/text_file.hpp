#pragma once
// Texts that a command writes where its user says.
#include <filesystem>
#include <string_view>
#include <vector>

namespace manyfold {

/// Throws UsageError if `path` is a folder, is in one that cannot be written to, or is one of `inputs`, which the
/// command reads.
void check_text_target(const std::filesystem::path& path, const std::vector<std::filesystem::path>& inputs);

/// Writes `text` into the device or pipe `path`, or makes it the content of the file `path`: all of it, or the file
/// stays as it was. Links are followed. Throws UsageError if there can be no such file, std::runtime_error if it cannot
/// be written.
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace manyfold
