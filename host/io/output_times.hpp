#pragma once
// When results are saved.
#include <optional>
#include <string>
#include <vector>

namespace manyfold {

/// The output times of an instance. Equal steps and the end follow each instance's time span; lists are absolute.
class OutputTimes {
 public:
  static OutputTimes equal_steps(int count);                  ///< count >= 2, both ends included
  static OutputTimes end();                                   ///< the end of the time span only
  static OutputTimes list(std::vector<double> times);         ///< not empty, strictly monotone, finite
  static OutputTimes log(double from, double to, int count);  ///< from, to > 0 and different, count >= 2; ends exact

  int count() const { return count_; }
  /// The same times for every instance, whatever its time span.
  bool absolute() const { return !times_.empty(); }
  const std::vector<double>& absolute_times() const { return times_; }  ///< empty unless absolute()
  /// Why these times cannot be reached from t_begin to t_end; `inside`: all of them must be.
  std::optional<std::string> problem(double t_begin, double t_end, bool inside) const;
  /// Writes count() times, in the direction of integration, in the model's time unit.
  void fill(double t_begin, double t_end, double* times) const;

 private:
  OutputTimes(int count, std::vector<double> times);

  int count_;
  std::vector<double> times_;
};

}  // namespace manyfold
