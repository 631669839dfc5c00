#pragma once
// Where the text of a model is.
#include <filesystem>
#include <string>
#include <vector>

namespace manyfold {

/// A model as the compiler sees it.
struct ModelSource {
  std::filesystem::path file;
  bool builtin = false;
  std::string stem;                   ///< what files made of the model are called
  std::vector<std::string> warnings;  ///< of the compiler of a .mo file
};

/// The model of a built-in name or the path of a .hpp file, or of the C++ that a .mo file becomes. Throws UsageError
/// for others, for files that are not there, and with what is wrong with a .mo file.
ModelSource find_model(const std::string& model);

/// Is it the path of a Modelica file?
bool is_modelica(const std::string& model);

/// The text of a file that the user named. Throws UsageError if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// What files made of the model are called: at most 100 bytes, as names may have 255.
std::string short_stem(const ModelSource& source);

}  // namespace manyfold
