// What the cache gives out is whole, and lies in a folder that nobody else writes to.
#include "host/compiler/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace manyfold {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public testing::Test {
 protected:
  KernelCache cache(const fs::path& folder) {
    return KernelCache(folder, [this](const std::string& line) { notes_.push_back(line); });
  }
  /// An entry with a content of `size` bytes.
  CacheEntry keep(const KernelCache& in, const std::string& name, std::size_t size = 5000) const {
    std::string content;
    std::mt19937 random(static_cast<unsigned>(size));
    for (std::size_t i = 0; i < size; ++i) content += static_cast<char>(random());
    CacheEntry entry{name, {"model", "radau5", "float64 avx2"}, in.put(content, ".so").value(), {}};
    entry.dependencies = {{header_, checksum(file_content(header_).value())}};
    in.keep(entry);
    return entry;
  }
  static void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

  TemporaryFolder scratch_;
  fs::path folder_ = scratch_.path() / "below" / "cache";
  fs::path header_ = scratch_.path() / "a header\nof two lines.hpp";
  std::vector<std::string> notes_;

  void SetUp() override { write(header_, "one"); }
};

TEST_F(KernelCacheTest, TheFolderIsMadeForItsOwnerAlone) {
  const KernelCache kernels = cache(folder_);
  keep(kernels, "a");
  struct stat status {};
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  EXPECT_TRUE(kernels.find("a"));
  EXPECT_TRUE(cache(folder_).find("a"));
  EXPECT_FALSE(kernels.find("b"));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(KernelCacheTest, FoldersThatOthersWriteToAreNotUsed) {
  fs::create_directories(folder_);
  keep(cache(folder_), "planted");
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  const KernelCache other = cache(folder_);
  EXPECT_FALSE(other.find("planted"));
  const fs::path substitute = other.path(keep(other, "own"));
  EXPECT_NE(substitute.parent_path(), folder_);
  EXPECT_TRUE(folder_problem(substitute.parent_path()).empty());
  EXPECT_TRUE(other.find("own"));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("others may write to it (mode 777)"), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[0].find(folder_.string()), std::string::npos) << notes_[0];
  ASSERT_EQ(chmod(folder_.c_str(), 0775), 0);
  EXPECT_NE(folder_problem(folder_), "");
}

TEST_F(KernelCacheTest, FoldersOfOthersAndWhatIsNoFolderAreNotUsed) {
  write(scratch_.path() / "file", "");
  EXPECT_EQ(folder_problem(scratch_.path() / "file"), "it is not a folder");
  EXPECT_NE(folder_problem(scratch_.path() / "file" / "below"), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  fs::create_directories(folder_);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_NE(folder_problem(folder_).find("belongs to user 12345"), std::string::npos);
}

TEST_F(KernelCacheTest, DamagedEntriesAreNeverGivenOut) {
  const KernelCache kernels = cache(folder_);
  const CacheEntry entry = keep(kernels, "a");
  std::mt19937 random(1);
  for (const fs::path& file : {kernels.path(entry), folder_ / "a.entry"}) {
    const std::string good = file_content(file).value();
    for (int i = 0; i < 60; ++i) {
      std::string bad = good;
      bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
      write(file, bad);
      EXPECT_FALSE(kernels.find("a")) << file << ", corruption " << i;
    }
    for (int i = 0; i < 30; ++i) {
      write(file, good.substr(0, random() % good.size()));
      EXPECT_FALSE(kernels.find("a")) << file << ", truncation " << i;
    }
    write(file, good + "more");
    EXPECT_FALSE(kernels.find("a"));
    fs::remove(file);
    EXPECT_FALSE(kernels.find("a"));
    fs::create_directory(file);
    EXPECT_FALSE(kernels.find("a"));
    fs::remove(file);
    write(file, good);
    EXPECT_TRUE(kernels.find("a"));
  }
}

TEST_F(KernelCacheTest, AChangeOfWhatTheCompilerReadIsNoticed) {
  const KernelCache kernels = cache(folder_);
  const CacheEntry before = keep(kernels, "a", 10);
  write(header_, "two");
  EXPECT_FALSE(kernels.find("a"));
  const CacheEntry after = keep(kernels, "a", 20);
  EXPECT_EQ(kernels.find("a").value().content, after.content);
  EXPECT_FALSE(fs::exists(kernels.path(before))) << "what was replaced is deleted";
  fs::remove(header_);
  EXPECT_FALSE(kernels.find("a"));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(KernelCacheTest, TheLeastRecentlyUsedAreDeletedFirst) {
  const KernelCache kernels = cache(folder_);
  const auto age = [&](const std::string& name, int hours) {
    fs::last_write_time(folder_ / (name + ".entry"), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const auto& [name, size] : {std::pair("a", 10000), std::pair("b", 20000), std::pair("c", 30000)}) {
    keep(kernels, name + std::string(32, '0'), static_cast<std::size_t>(size));
  }
  write(folder_ / "thesis.txt", "a user's own");
  age("a" + std::string(32, '0'), 3);
  age("b" + std::string(32, '0'), 2);
  age("c" + std::string(32, '0'), 1);
  EXPECT_TRUE(kernels.find("a" + std::string(32, '0'))) << "a use";
  const auto uses = kernels.list();
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_NEAR(static_cast<double>(uses[0].bytes), 20000, 500) << "b is the oldest now";
  EXPECT_EQ(uses[0].label.method, "radau5");
  EXPECT_GT(kernels.limit(42000), 19999U);
  EXPECT_FALSE(kernels.find("b" + std::string(32, '0')));
  EXPECT_TRUE(kernels.find("a" + std::string(32, '0')));
  EXPECT_TRUE(kernels.find("c" + std::string(32, '0')));
  kernels.limit(0);
  EXPECT_TRUE(kernels.list().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "the user's own file stays";
}

TEST_F(KernelCacheTest, ACacheThatGrowsTooLargeDropsTheLeastRecentlyUsed) {
  const KernelCache kernels(folder_, {}, 50000);
  const auto name = [](char letter) { return std::string(32, letter); };
  for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
    keep(kernels, name(letter), 20000 + static_cast<std::size_t>(letter));
    // A tenth of a second is more than times of files are rounded to.
    fs::last_write_time(folder_ / (name(letter) + ".entry"),
                        fs::file_time_type::clock::now() - std::chrono::milliseconds(100 * ('f' - letter)));
  }
  std::uintmax_t bytes = 0;
  for (const CacheUse& use : kernels.list()) bytes += use.bytes;
  EXPECT_LE(bytes, 50000U);
  EXPECT_TRUE(kernels.find(name('d')));
  EXPECT_TRUE(kernels.find(name('e')));
  EXPECT_FALSE(kernels.find(name('c')));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);
}

TEST_F(KernelCacheTest, ManyProcessesShareAFolder) {
  keep(cache(folder_), std::string(32, 'a'));
  std::vector<pid_t> children;
  for (unsigned number = 0; number < 8; ++number) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    std::mt19937 random(number);
    const KernelCache kernels(folder_, {}, 60000);
    for (int i = 0; i < 100; ++i) {
      const std::string name(32, "abcd"[random() % 4]);
      if (random() % 2 == 0) keep(kernels, name, 10000 + random() % 4);
      const auto entry = kernels.find(name);
      if (!entry) continue;
      // Another process may have deleted or replaced it since.
      const auto content = file_content(kernels.path(*entry));
      if (content && checksum(*content) != fs::path(entry->content).stem()) _exit(1);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::uintmax_t bytes = 0;
  for (const CacheUse& use : cache(folder_).list()) bytes += use.bytes;
  EXPECT_LE(bytes, 60000U);
}

TEST_F(KernelCacheTest, AReadOnlyFolderIsNamed) {
  fs::create_directories(folder_);
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", MS_RDONLY, "size=64k,mode=0700") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs is not permitted: " << std::strerror(errno);
  }
  const auto put = cache(folder_).put("content", ".so");
  const bool found = cache(folder_).find("a").has_value();
  ::umount(folder_.c_str());
  EXPECT_FALSE(put || found);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("cannot be written: Read-only file system"), std::string::npos) << notes_[0];
}

TEST_F(KernelCacheTest, AFullDiskIsNamed) {
  fs::create_directories(folder_);
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs is not permitted: " << std::strerror(errno);
  }
  const auto put = cache(folder_).put(std::string(1 << 20, 'x'), ".so");
  const bool empty = fs::is_empty(folder_);
  ::umount(folder_.c_str());
  EXPECT_FALSE(put);
  EXPECT_TRUE(empty);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("cannot be written: No space left on device"), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[0].find(folder_.string()), std::string::npos) << notes_[0];
}

}  // namespace
}  // namespace manyfold
