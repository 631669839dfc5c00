// Texts replace files as a whole, and flow into pipes and devices.
#include "host/io/text_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <manyfold/error.hpp>

#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

class TextFile : public test::InTemporaryFolder {
 protected:
  static std::string read(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

TEST_F(TextFile, ReplacesAFileAndWhatALinkStandsFor) {
  const fs::path file = folder_ / "a.csv";
  write_text(file, "a long text");
  write_text(file, "short");
  EXPECT_EQ(read(file), "short");
  fs::create_symlink("a.csv", folder_ / "link.csv");
  write_text(folder_ / "link.csv", "by the link");
  EXPECT_EQ(read(file), "by the link");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(TextFile, FlowsIntoAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_text(pipe, "text");
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 4);
  close(reader);
  EXPECT_EQ(std::string(text), "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// /dev/stdout was opened once more: the next command wrote where the text began.
TEST_F(TextFile, KeepsItsPlaceInStandardOutput) {
  for (const char* name : {"-", "/dev/stdout"}) {
    testing::internal::CaptureStdout();
    std::cout << "before ";
    write_text(name, "text ");
    EXPECT_EQ(::write(STDOUT_FILENO, "behind", 6), 6);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "before text behind");
  }
}

TEST_F(TextFile, TellsWhatCannotBeWritten) {
  EXPECT_THROW(write_text("/dev/full", "text"), std::runtime_error);
  EXPECT_THROW(write_text(folder_ / "none" / "a.csv", "text"), UsageError);
  EXPECT_THROW(check_text_target(folder_, {}), UsageError);
  EXPECT_THROW(check_text_target("", {}), UsageError);
  EXPECT_THROW(check_text_target(folder_ / "none" / "a.csv", {}), UsageError);
  EXPECT_NO_THROW(check_text_target("/dev/stdout", {}));
  std::ofstream(folder_ / "model.mo") << "model";
  fs::create_symlink("model.mo", folder_ / "link.hpp");
  EXPECT_THROW(check_text_target(folder_ / "link.hpp", {folder_ / "model.mo"}), UsageError);
  EXPECT_NO_THROW(check_text_target(folder_ / "new.hpp", {folder_ / "model.mo"}));
}

}  // namespace
}  // namespace manyfold
