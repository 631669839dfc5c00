#pragma once
// Tests that write files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace manyfold::test {

/// Every test has a folder of its own, which goes with it.
class InTemporaryFolder : public testing::Test {
 protected:
  InTemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "manyfold-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~InTemporaryFolder() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

}  // namespace manyfold::test
