#pragma once
// Explicit values per instance, from a CSV or netCDF file or from the caller.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace manyfold {

/// One row per instance, one named column per quantity: parameters, variables (their initial values), `t_begin`,
/// `t_end`.
struct Table {
  std::vector<std::string> names;       ///< [columns]
  std::vector<double> values;           ///< [rows][columns], in the model's units
  std::vector<std::string> units = {};  ///< [columns] as a netCDF file says them, "" where it does not; else empty
  std::vector<std::string> passed_over = {};  ///< variables of a netCDF file that are no columns
  std::string file = {};                      ///< where it was read; empty: made by the caller
  std::vector<int> name_columns = {};         ///< [columns]: text column of each name in the header line, else empty
  int name_line = 1;                          ///< the header line
  std::vector<int> lines = {};                ///< [rows]: line of each row of a CSV file, else empty

  /// Puts `value` into every row of the column, if there is one.
  void fill(const std::string& column, double value);
  std::int64_t rows() const { return names.empty() ? 0 : static_cast<std::int64_t>(values.size() / names.size()); }
};

/// Reads `path`: netCDF if it ends in `.nc` (numeric variables on the single dimension `instance`, but for the one of
/// that name, which numbers them), else CSV: commas, a header of names, `#` comments and blank lines ignored, the last
/// line ended by a newline (else it may be cut off). Throws UsageError with one line per problem (the first 20) when
/// the file cannot be read, has no rows, a ragged row, a name twice, or a field that is not a finite number.
Table read_table(const std::filesystem::path& path);

}  // namespace manyfold
