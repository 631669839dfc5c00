// Prints a digest of every variable of result files: what a change of the code that should change no result must keep.
#include <netcdf.h>

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

void check(int code) {
  if (code != NC_NOERR) throw std::runtime_error(nc_strerror(code));
}

/// FNV-1a, 64 bits; Fowler, Noll and Vo.
std::uint64_t digest(const std::vector<unsigned char>& bytes) {
  std::uint64_t value = 14695981039346656037U;
  for (const unsigned char byte : bytes) value = (value ^ byte) * 1099511628211U;
  return value;
}

void print_digests(int group) {
  int count = 0;
  check(nc_inq_nvars(group, &count));
  for (int variable = 0; variable < count; ++variable) {
    char name[NC_MAX_NAME + 1];
    nc_type type = 0;
    int rank = 0;
    int dimensions[NC_MAX_VAR_DIMS];
    check(nc_inq_var(group, variable, name, &type, &rank, dimensions, nullptr));
    std::size_t size = 0;
    check(nc_inq_type(group, type, nullptr, &size));
    if (type == NC_STRING) continue;
    std::string shape;
    for (int k = 0; k < rank; ++k) {
      std::size_t length = 0;
      check(nc_inq_dimlen(group, dimensions[k], &length));
      size *= length;
      shape += fmt::format("[{}]", length);
    }
    std::vector<unsigned char> bytes(size);
    check(nc_get_var(group, variable, bytes.data()));
    std::cout << fmt::format("  {}{} {:016x}\n", name, shape, digest(bytes));
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    for (int k = 1; k < argument_count; ++k) {
      int file = 0;
      check(nc_open(arguments[k], NC_NOWRITE, &file));
      print_digests(file);
      check(nc_close(file));
    }
  } catch (const std::exception& error) {
    std::cerr << "result_digest: " << error.what() << '\n';
    return 1;
  }
}
