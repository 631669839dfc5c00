// Tables of any bytes: they are refused with a place, or are rectangular and finite.
#include <cmath>

#include "host/sampling/table.hpp"
#include "tests/fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace manyfold;
  const fuzz::InputFile file(data, size, ".csv");
  try {
    const Table table = read_table(file.path());
    if (table.rows() < 1) fuzz::fail("no rows");
    if (table.values.size() % table.names.size() != 0) fuzz::fail("a ragged row");
    for (const double value : table.values) {
      if (!std::isfinite(value)) fuzz::fail("a number that is not finite");
    }
    for (const std::string& name : table.names) {
      if (name.empty()) fuzz::fail("an empty name");
    }
  } catch (const UsageError& error) {
    fuzz::expect_place(error.what(), file.path());
  }
  return 0;
}
