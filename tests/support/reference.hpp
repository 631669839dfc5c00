#pragma once
// The references of the built-in problems. They are read in a file of their own: a reader of JSON takes seconds to
// compile.
#include <string>
#include <vector>

namespace manyfold::test {

/// What problems/NAME/reference.json has; the rest is empty.
struct Reference {
  double t_end = 0.0;
  std::vector<double> initial;
  std::vector<double> values;  ///< at `t_end`
  std::vector<double> times;
  std::vector<std::vector<double>> at_times;
  std::vector<double> event_times;
};

Reference reference_of(const std::string& model);

}  // namespace manyfold::test
