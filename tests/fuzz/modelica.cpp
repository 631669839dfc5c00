// Modelica files of any bytes: they are refused with a place, or become C++.
#include <string>

#include <manyfold/error.hpp>

#include "host/modelica/compile.hpp"
#include "tests/fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const manyfold::modelica::CompiledModel model = manyfold::modelica::compile_model(text, "fuzz.mo");
    if (model.header.find("MANYFOLD_MODEL") == std::string::npos) manyfold::fuzz::fail("no model in the header");
  } catch (const manyfold::UsageError& error) {
    manyfold::fuzz::expect_place(error.what(), "fuzz.mo");
  }
  return 0;
}
