#pragma once
// What the compiler says of a model, in the words of whoever wrote it.
#include <filesystem>
#include <string>

namespace manyfold {

/// The errors in the model's file and what the library says of a wrong model, with places, source lines and cures; the
/// beginning of `output` if there are none. `output`: what g++ or clang++ printed in the language C.
std::string model_errors(const std::string& output, const std::filesystem::path& model);

}  // namespace manyfold
