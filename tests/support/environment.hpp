#pragma once
// What CTest tells the tests.
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace manyfold::test {

/// The environment variable `name`. Throws std::runtime_error where it is not set.
inline std::string from_environment(const char* name) {
  if (const char* value = std::getenv(name)) return value;
  throw std::runtime_error(std::string(name) + " is not set: ctest --test-dir build/PRESET -R NAME sets it");
}

}  // namespace manyfold::test
