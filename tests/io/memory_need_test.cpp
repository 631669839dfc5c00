#include "host/io/memory_need.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace manyfold {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// Control groups as a made-up machine shows them.
class Groups : public testing::Test {
 protected:
  Groups() : root_(std::filesystem::path(testing::TempDir()) / ("groups" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~Groups() override { std::filesystem::remove_all(root_); }

  void file(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content << '\n';
  }

  std::int64_t memory(const std::string& own) const {
    file("own", own);
    return group_memory(root_ / "own", root_ / "groups");
  }

 private:
  std::filesystem::path root_;
};

TEST_F(Groups, TheLeastLimitOfAGroupAndThoseAboveItCounts) {
  file("groups/jobs/memory.max", "3000000");
  file("groups/jobs/mine/memory.max", "max");
  file("groups/jobs/mine/part/memory.max", "4000000");
  file("groups/other/memory.max", "1000");
  EXPECT_EQ(memory("0::/jobs/mine/part"), 3000000);
  file("groups/jobs/mine/memory.max", "2000000");
  EXPECT_EQ(memory("0::/jobs/mine/part"), 2000000);
}

TEST_F(Groups, VersionOneHasAFolderOfItsOwnForMemory) {
  file("groups/memory/memory.limit_in_bytes", "9223372036854771712");
  file("groups/memory/docker/memory.limit_in_bytes", "5000000");
  EXPECT_EQ(memory("5:cpu,cpuacct:/elsewhere\n4:hugetlb,memory:/docker\n0::/"), 5000000);
}

TEST_F(Groups, AContainerMaySeeItsGroupAsTheUppermostOne) {
  file("groups/memory.max", "6000000");
  EXPECT_EQ(memory("0::/"), 6000000);
  EXPECT_EQ(memory("0::/docker/0123"), 6000000);
  EXPECT_EQ(memory("0::/../../docker/0123"), 6000000);
}

TEST_F(Groups, WhereNothingCanBeReadThereIsNoLimit) {
  EXPECT_EQ(group_memory("/nowhere", "/nowhere"), no_limit);
  file("groups/memory.max", "");
  for (const char* own : {"", "0", "0:", "0::", "0::/", "nonsense\n:::"}) EXPECT_EQ(memory(own), no_limit) << own;
}

TEST(MemoryNeed, IsComparedWithTheMemoryThereIs) {
  EXPECT_EQ(memory_problem(1e6, 1, 1, 8'000'000), "");
  EXPECT_EQ(memory_problem(1e6, 1, 1, 7'000'000),
            "takes 0.0 GB for the 1 instances that are in memory at once, but there are 0.0");
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace manyfold
