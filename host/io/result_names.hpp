#pragma once
// Names that result files, and the variables in them, cannot have.
#include <filesystem>
#include <string>
#include <vector>

#include <manyfold/description.hpp>

namespace manyfold {

/// Why netCDF does not take the name as it is; empty: it does.
std::string unfit_for_netcdf(const std::string& name);

/// Throws UsageError if netCDF takes `path` for that of another file.
void check_result_path(const std::filesystem::path& path);

/// What is wrong with the names of the model's variables, parameters, events and discrete numbers in result files: what
/// netCDF does not take or changes, and what is another variable's name there. One sentence per name.
std::vector<std::string> unfit_names(const ModelDescription& model);

}  // namespace manyfold
