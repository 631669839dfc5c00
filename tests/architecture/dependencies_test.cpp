// Dependencies point one way: a file includes what stands in its own folder or in one that is further down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/environment.hpp"

namespace {

namespace fs = std::filesystem;

/// Headers of the C++ interface that compile the user's model into the program: users find them among the lowest, but
/// they stand on everything else.
const std::vector<std::string> interface = {"include/manyfold/ensemble.hpp"};

fs::path root() {
  return fs::path(manyfold::test::from_environment("MANYFOLD_SOURCE"));
}

/// The folders of floors.txt, the lowest first.
const std::vector<std::string>& floors() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> folders;
    std::ifstream stream(root() / "tests" / "architecture" / "floors.txt");
    for (std::string line; std::getline(stream, line);) {
      const std::string folder = line.substr(0, line.find_first_of(" #"));
      if (!folder.empty()) folders.push_back(folder);
    }
    return folders;
  }();
  return all;
}

bool is_interface(const std::string& file) {
  return std::find(interface.begin(), interface.end(), file) != interface.end();
}

/// The files of the library and the command, by their path from the root.
std::vector<std::string> files() {
  std::vector<std::string> result;
  for (const char* top : {"include", "kernels", "problems", "host"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root() / top)) {
      const std::string extension = entry.path().extension();
      if (extension == ".hpp" || extension == ".cpp") result.push_back(fs::relative(entry.path(), root()));
    }
  }
  return result;
}

std::optional<std::string> resolve(const std::string& from, const std::string& name) {
  for (const fs::path& folder : {root() / fs::path(from).parent_path(), root(), root() / "include"}) {
    const fs::path candidate = (folder / name).lexically_normal();
    if (fs::exists(candidate)) return fs::relative(candidate, root());
  }
  return std::nullopt;
}

std::vector<std::string> names_of_includes(const std::string& file) {
  static const std::regex directive(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<std::string> result;
  std::ifstream stream(root() / file);
  std::smatch match;
  for (std::string line; std::getline(stream, line);) {
    if (std::regex_search(line, match, directive)) result.push_back(match[1]);
  }
  return result;
}

/// Which floor a file stands on; -1: none.
int floor_of(const std::string& file) {
  if (is_interface(file)) return static_cast<int>(floors().size());
  fs::path folder = fs::path(file).parent_path();
  if (folder.begin()->string() == "problems") folder = "problems";
  auto found = std::find(floors().begin(), floors().end(), folder.string());
  if (found == floors().end()) {
    found = std::find(floors().begin(), floors().end(), (folder.parent_path() / "*").string());
  }
  return found == floors().end() ? -1 : static_cast<int>(found - floors().begin());
}

TEST(Dependencies, EveryFolderHasAFloor) {
  for (const std::string& file : files()) EXPECT_GE(floor_of(file), 0) << file;
}

TEST(Dependencies, PointDown) {
  int arrows = 0;
  for (const std::string& file : files()) {
    for (const std::string& name : names_of_includes(file)) {
      const auto target = resolve(file, name);
      if (!target) continue;
      ++arrows;
      EXPECT_LE(floor_of(*target), floor_of(file)) << file << " includes " << *target;
    }
  }
  EXPECT_GT(arrows, 300);
}

// Within a folder too: no header includes itself, on whatever way.
TEST(Dependencies, HaveNoCircle) {
  std::map<std::string, std::vector<std::string>> targets;
  for (const std::string& file : files()) {
    for (const std::string& name : names_of_includes(file)) {
      if (const auto target = resolve(file, name)) targets[file].push_back(*target);
    }
  }
  std::map<std::string, int> state;  // 1: on the way, 2: done
  const auto visit = [&](const auto& self, const std::string& file) -> void {
    state[file] = 1;
    for (const std::string& target : targets[file]) {
      if (state[target] == 1) ADD_FAILURE() << file << " closes a circle with " << target;
      if (state[target] == 0) self(self, target);
    }
    state[file] = 2;
  };
  for (const std::string& file : files()) {
    if (state[file] == 0) visit(visit, file);
  }
}

// What runs inside an instance is compiled for devices too, where there is no standard library. The entry points of the
// processor's kernels are compiled for it alone.
TEST(Dependencies, KernelsNeedNoStandardLibrary) {
  const std::vector<std::string> allowed = {"math.h", "xsimd/xsimd.hpp"};
  for (const std::string& file : files()) {
    if (!file.starts_with("kernels/") || file.starts_with("kernels/entry/")) continue;
    for (const std::string& name : names_of_includes(file)) {
      const bool good = resolve(file, name) || std::find(allowed.begin(), allowed.end(), name) != allowed.end();
      EXPECT_TRUE(good) << file << " includes " << name;
    }
  }
}

}  // namespace
