#pragma once
// Where this program lies: kernels, headers and backends are found from there.
#include <filesystem>

namespace manyfold {

/// The folder of the running program; empty if the system does not tell.
std::filesystem::path executable_folder();

}  // namespace manyfold
