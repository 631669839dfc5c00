#pragma once
// All that a netCDF file holds, for comparison.
#include <netcdf.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace manyfold::test {

using Content = std::map<std::string, std::vector<unsigned char>>;

/// The bytes of all variables; empty if the file cannot be read.
inline Content content_of(const std::filesystem::path& path) {
  Content result;
  int file = 0;
  if (nc_open(path.c_str(), NC_NOWRITE, &file) != NC_NOERR) return result;
  int count = 0;
  nc_inq_nvars(file, &count);
  for (int variable = 0; variable < count; ++variable) {
    char name[NC_MAX_NAME + 1];
    nc_type type = 0;
    int rank = 0;
    int dimensions[NC_MAX_VAR_DIMS];
    nc_inq_var(file, variable, name, &type, &rank, dimensions, nullptr);
    std::size_t size = 0;
    nc_inq_type(file, type, nullptr, &size);
    if (type == NC_STRING) continue;
    for (int k = 0; k < rank; ++k) {
      std::size_t length = 0;
      nc_inq_dimlen(file, dimensions[k], &length);
      size *= length;
    }
    std::vector<unsigned char> bytes(size);
    if (nc_get_var(file, variable, bytes.data()) != NC_NOERR) return {};
    result[name] = bytes;
  }
  nc_close(file);
  return result;
}

/// The numbers of a variable of doubles.
inline std::vector<double> doubles_of(const Content& content, const std::string& name) {
  const std::vector<unsigned char>& bytes = content.at(name);
  const auto* numbers = reinterpret_cast<const double*>(bytes.data());
  return {numbers, numbers + bytes.size() / sizeof(double)};
}

}  // namespace manyfold::test
