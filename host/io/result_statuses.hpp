#pragma once
// How many instances ended in which way, in a result file without rows.
#include <array>
#include <cstdint>
#include "host/io/result_target.hpp"

namespace manyfold {

/// The names of the codes of `Status` as attributes of `variable`, which is of bytes.
void put_status_flags(const ResultTarget& target, int variable);

class ResultStatuses {
 public:
  /// Defines the variables.
  explicit ResultStatuses(const ResultTarget& target);
  void write_what_is_known() const;
  /// `by_status`: of all instances.
  void write(const std::array<std::int64_t, status_count>& by_status) const;

 private:
  const ResultTarget& target_;
  int kind_ = -1;
  int count_ = -1;
};

}  // namespace manyfold
