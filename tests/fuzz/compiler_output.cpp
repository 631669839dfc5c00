// What a compiler prints, of any bytes: it becomes a message, in bounded time.
#include "host/compiler/model_errors.hpp"
#include "tests/fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string output(reinterpret_cast<const char*>(data), size);
  const std::string message = manyfold::model_errors(output, "model.hpp");
  if (message.size() > 2 * output.size() + 4096) manyfold::fuzz::fail("a message longer than what it is made of");
  return 0;
}
