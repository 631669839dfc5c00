#pragma once
// Names that result files, and the variables in them, cannot have.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <manyfold/description.hpp>

namespace manyfold {

/// Why netCDF does not take the name as it is; empty: it does.
std::string unfit_for_netcdf(const std::string& name);

/// Throws UsageError if netCDF takes `path` for that of another file.
void check_result_path(const std::filesystem::path& path);

/// The name of a statistic of the variable, which begins with `stat_` where the model has a variable of that name.
std::string statistic_name(const ModelDescription& model, const std::string& variable, std::string_view what);

/// Throws UsageError if a quantity that is saved, as in `Job::saved`, has a name that result files use themselves.
void check_saved_names(const ModelDescription& model, const std::vector<int>& saved);

/// What is wrong with the names of the model's variables, parameters and discrete numbers in result files: what
/// netCDF does not take or changes, and what is another variable's name there. One sentence per name.
std::vector<std::string> unfit_names(const ModelDescription& model);

}  // namespace manyfold
