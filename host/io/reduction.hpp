#pragma once
// Numbers of an instance that follow from its saved values, as `[output] reduce` asks for them.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/statistics/reduction.hpp"

namespace manyfold {

/// A number such as "max(y1)", or a criterion such as "max(y1) < 2 and final(y2) >= 0.1", which is 1 or 0.
class Reduction {
 public:
  struct Term : ReductionTerm {
    std::string variable;
  };

  /// Throws UsageError with what is wrong with the text.
  static Reduction parse(std::string_view text);

  const std::string& text() const { return text_; }
  bool criterion() const { return terms_.front().relation != Relation::none; }
  const std::vector<Term>& terms() const { return terms_; }
  std::vector<Term>& terms() { return terms_; }

  /// Of an instance with `values` [times][saved] at `times`.
  double of(std::span<const double> times, const double* values, std::size_t saved) const;

 private:
  std::string text_;
  std::vector<Term> terms_;
};

}  // namespace manyfold
