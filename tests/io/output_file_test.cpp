// What a run writes belongs to it alone, and replaces nothing that it should not.
#include "host/io/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <manyfold/error.hpp>

#include "tests/support/temporary_folder.hpp"

namespace manyfold {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public test::InTemporaryFolder {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string read(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  auto files() const { return std::distance(fs::directory_iterator(folder_), {}); }
  /// The message with which `path` is refused, even with --force.
  static std::string refusal(const fs::path& path, const std::vector<fs::path>& inputs = {}, bool replace = true) {
    try {
      const OutputFile file(path, replace, inputs);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OutputFileTest, OnlyFilesAreReplaced) {
  const fs::path target = folder_ / "target";
  ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
  EXPECT_NE(refusal(target).find("is a fifo"), std::string::npos) << refusal(target);
  fs::remove(target);
  fs::create_directory(target);
  EXPECT_NE(refusal(target).find("is a directory"), std::string::npos) << refusal(target);
  fs::remove(target);
  const fs::path precious = write("precious", "a year's work");
  fs::create_symlink(precious, target);
  EXPECT_NE(refusal(target).find("is a symbolic link"), std::string::npos) << refusal(target);
  fs::remove(target);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, target.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(refusal(target).find("is a socket"), std::string::npos) << refusal(target);
  close(listener);
  EXPECT_NE(refusal("/dev/null").find("is a device"), std::string::npos) << refusal("/dev/null");
  EXPECT_NE(refusal(folder_ / std::string(300, 'a')).find("File name too long"), std::string::npos);
  EXPECT_NE(refusal(folder_ / "none" / "a").find("No such file or directory"), std::string::npos);
  EXPECT_NE(refusal(""), "");
  EXPECT_EQ(read(precious), "a year's work");
}

TEST_F(OutputFileTest, InputsOfTheRunAreNotReplaced) {
  const fs::path input = write("cases.csv", "k\n1\n");
  EXPECT_NE(refusal(folder_ / "." / "cases.csv", {"", folder_ / "none", input}).find("cases.csv, which this run reads"),
            std::string::npos);
  fs::create_hard_link(input, folder_ / "link");
  EXPECT_NE(refusal(folder_ / "link", {input}), "");
  fs::create_symlink(input, folder_ / "symlink");
  EXPECT_NE(refusal(input, {folder_ / "symlink"}), "");
  EXPECT_EQ(refusal(folder_ / "other.csv", {input}), "");
}

TEST_F(OutputFileTest, AResultIsReplacedOnlyWhenAskedFor) {
  const fs::path target = write("result.nc", "earlier");
  EXPECT_NE(refusal(target, {}, false).find("--force"), std::string::npos);
  {
    OutputFile file(target, true);
    write(file.create().filename(), "later");
    EXPECT_EQ(read(target), "earlier");
    file.commit();
  }
  EXPECT_EQ(read(target), "later");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, AFileThatAppearsMeanwhileStays) {
  OutputFile file(folder_ / "result.nc", false);
  const fs::path created = file.create();
  write(created.filename(), "mine");
  write("result.nc", "somebody's");
  try {
    file.commit();
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(created.string() + ": holds the result"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(read(folder_ / "result.nc"), "somebody's");
  EXPECT_EQ(read(created), "mine");
}

TEST_F(OutputFileTest, WhatIsNotCommittedGoesAway) {
  {
    OutputFile one(folder_ / "result.nc", false);
    OutputFile two(folder_ / "other.nc", false);
    EXPECT_NE(one.create().stem().stem(), two.create().stem().stem());
    const OutputFile moved(std::move(two));
    EXPECT_EQ(files(), 4);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFileTest, OneRunWritesAFile) {
  const fs::path target = folder_ / "result.nc";
  {
    const OutputFile file(target, false);
    const std::string message = refusal(target);
    EXPECT_NE(message.find("is being written by another run, process " + std::to_string(getpid())), std::string::npos)
        << message;
    EXPECT_EQ(refusal(folder_ / "other.nc"), "");
  }
  EXPECT_EQ(refusal(target), "");
  // Of a run that was killed the lock's file stays, but not the lock.
  write("result.nc.lock", "123456789");
  EXPECT_EQ(refusal(target), "");
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFileTest, AFileWithTheNameOfTheLockIsKept) {
  const fs::path precious = write("result.nc.lock", "a year's work");
  EXPECT_NE(refusal(folder_ / "result.nc").find("is no lock of a run"), std::string::npos);
  EXPECT_EQ(read(precious), "a year's work");
}

TEST_F(OutputFileTest, LinksInPlaceOfTheLockAreNotFollowed) {
  const fs::path precious = write("precious", "a year's work");
  fs::create_symlink(precious, folder_ / "result.nc.lock");
  EXPECT_NE(refusal(folder_ / "result.nc"), "");
  EXPECT_EQ(read(precious), "a year's work");
}

}  // namespace
}  // namespace manyfold
