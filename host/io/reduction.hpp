#pragma once
// Numbers of an instance that follow from its saved values, as `[output] reduce` asks for them.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manyfold {

/// A number such as "max(y1)", or a criterion such as "max(y1) < 2 and final(y2) >= 0.1", which is 1 or 0.
class Reduction {
 public:
  enum class Kind { minimum, maximum, mean, final, time_of_minimum, time_of_maximum };
  enum class Relation { none, less, at_most, greater, at_least };

  /// One number of an instance and, in a criterion, what it is compared with.
  struct Term {
    Kind kind = Kind::final;
    std::string variable;
    int place = -1;  ///< of the variable among those that are saved
    Relation relation = Relation::none;
    double bound = 0.0;
  };

  /// Throws UsageError with what is wrong with the text.
  static Reduction parse(std::string_view text);

  const std::string& text() const { return text_; }
  bool criterion() const { return terms_.front().relation != Relation::none; }
  const std::vector<Term>& terms() const { return terms_; }
  std::vector<Term>& terms() { return terms_; }

  /// Of an instance with `values` [times][saved] at `times`. The mean is that over time, by the trapezoidal rule. NaN
  /// where there are no finite values.
  double of(std::span<const double> times, const double* values, std::size_t saved) const;

 private:
  std::string text_;
  std::vector<Term> terms_;
};

}  // namespace manyfold
