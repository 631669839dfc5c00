#pragma once
// The progress bar: on standard error, and only where somebody looks.
#include <unistd.h>

#include <cmath>

#include <cstdio>

#include <fmt/format.h>

#include "host/engine/ensemble_run.hpp"

namespace manyfold::cli {

/// Seconds as a person says them.
inline std::string duration(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

class ProgressBar {
 public:
  ProgressBar() : visible_(isatty(STDERR_FILENO) != 0) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  void show(const Progress& progress) {
    if (!visible_ || progress.seconds < 0.3) return;
    constexpr int width = 30;
    const double part = static_cast<double>(progress.finished) / static_cast<double>(progress.instances);
    const int filled = static_cast<int>(part * width);
    const double rate = static_cast<double>(progress.finished) / progress.seconds;
    const std::string left =
        progress.finished > 0 ? duration(static_cast<double>(progress.instances - progress.finished) / rate) + " left"
                              : "";
    const std::string failures = progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "";
    fmt::print(stderr, "\r\033[K[{:=<{}}{: <{}}] {:5.1f} %  {:.3g} instances/s  {}{}", "", filled, "", width - filled,
               100.0 * part, rate, left, failures);
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  bool visible_;
  bool shown_ = false;
};

}  // namespace manyfold::cli
