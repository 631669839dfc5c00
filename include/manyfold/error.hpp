#pragma once
// The one exception for misuse at the API boundary and for bad input files.
#include <stdexcept>

namespace manyfold {

/// The caller asked for something impossible. The message names the thing, what it got and what it needs. For files
/// each problem is one line, `FILE:LINE:COLUMN: error: ...`; several problems are separated by newlines.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace manyfold
