#pragma once
// How accurate a sample of the instances is, in a result file.
#include "host/io/result_target.hpp"

namespace manyfold {

class ResultVerification {
 public:
  /// Defines the variables.
  explicit ResultVerification(const ResultTarget& target);
  void write(const Verification& verification) const;

 private:
  const ResultTarget& target_;
  int variable_ = -1;
  int instance_ = -1;
  int verdict_ = -1;
  int error_ = -1;
  int doubt_ = -1;
};

}  // namespace manyfold
