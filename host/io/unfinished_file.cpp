#include "host/io/unfinished_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

namespace manyfold {
namespace {

// In memory of their own, which signal handlers may read: a run names two. What finds no place is not removed.
std::array<std::atomic<char*>, 64> names{};

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) {
  char* const name = new char[path.size() + 1];
  std::memcpy(name, path.c_str(), path.size() + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    char* free = nullptr;
    if (!names[i].compare_exchange_strong(free, name)) continue;
    place_ = static_cast<int>(i);
    return;
  }
  delete[] name;
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept : place_(std::exchange(other.place_, -1)) {}

UnfinishedFile& UnfinishedFile::operator=(UnfinishedFile&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

UnfinishedFile::~UnfinishedFile() {
  if (place_ >= 0) delete[] names[static_cast<std::size_t>(place_)].exchange(nullptr);
}

bool UnfinishedFile::remove_all() noexcept {
  bool any = false;
  for (std::atomic<char*>& place : names) {
    // Taken from its owner, who would free it meanwhile.
    const char* const name = place.exchange(nullptr);
    if (name != nullptr && unlink(name) == 0) any = true;
  }
  return any;
}

}  // namespace manyfold
