#pragma once
// Achieved against asked accuracy: solutions compared with two references. docs/verify.md has the rules and their
// reasons.
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <manyfold/result.hpp>

namespace manyfold {

/// Solutions of some instances, in memory.
struct Solutions {
  std::vector<InstanceOutcome> outcomes;         ///< [instances]
  std::vector<std::array<double, 2>> t_span;     ///< [instances]
  std::vector<double> times;                     ///< [instances][times]
  std::vector<double> values;                    ///< [instances][times][variables]; NaN where one did not arrive
  std::vector<std::vector<EventRecord>> events;  ///< [instances]: the log

  /// Adds instance `first + i` of the chunk.
  void add(const Chunk& chunk, std::int64_t i);
  /// Puts instance `from` of `other`, of the same ensemble, in the place of instance `i`.
  void replace(std::size_t i, const Solutions& other, std::size_t from);
};

/// Keeps the solutions of some instances, or of all.
class SolutionSink : public ResultSink {
 public:
  SolutionSink() = default;
  /// Those of the instances `which` alone, ascending; all chunks go on to `next`.
  SolutionSink(std::vector<std::int64_t> which, ResultSink& next) : which_(std::move(which)), next_(&next) {}

  void prepare(Chunk& chunk) const override {
    if (next_ != nullptr) next_->prepare(chunk);
  }
  void write(const Chunk& chunk) override;

  const Solutions& solutions() const { return solutions_; }

 private:
  Solutions solutions_;
  std::vector<std::int64_t> which_;
  std::size_t wanted_ = 0;  ///< in `which_`: the next one
  ResultSink* next_ = nullptr;
};

/// The instances of an ensemble to verify, ascending: about `share` of them, at least one if share > 0. Whether an
/// instance is among them depends on the seed and its number alone (but for the one that is always there).
std::vector<std::int64_t> instances_to_verify(std::int64_t instances, double share, std::uint64_t seed);

/// How an instance fared, from good to bad.
enum class Verdict : std::int8_t {
  verified = 0,
  uncertain = 1,   ///< the references do not agree with one another, or both failed
  inaccurate = 2,  ///< the references agree, and the solution is off by more than the limit
  failed = 3,      ///< the integration failed
};

inline constexpr std::array<std::string_view, 4> verdict_names = {"verified", "uncertain", "inaccurate", "failed"};

constexpr std::string_view verdict_name(Verdict verdict) {
  return verdict_names[static_cast<std::size_t>(verdict)];
}

/// An error may be so many times the tolerance. Integrators bound errors of steps; those of solutions are larger by
/// what the steps add up to and by the sensitivity of the problem.
inline constexpr double verification_limit = 100.0;

struct VerificationSettings {
  double rtol = 1e-6;
  std::vector<double> atol;  ///< [variables]
  std::vector<int> index;    ///< [variables]
  int event_kinds = 0;       ///< events of the model
};

/// A number of the comparison and where it was found. Errors are in units of atol + rtol |y|.
struct WorstError {
  double error = 0.0;
  std::int64_t instance = -1;
  double time = std::numeric_limits<double>::quiet_NaN();
};

struct VerifiedInstance {
  Verdict verdict = Verdict::failed;
  std::vector<double> error;  ///< [variables]: the largest over the times
  std::vector<double> doubt;  ///< [variables]: the largest difference of the references; NaN with fewer than two
  double scaled = std::numeric_limits<double>::quiet_NaN();  ///< largest error, with the index taken into account
  bool events_differ = false;                                ///< another sequence of events than the references have
  std::array<bool, 2> reference_failed = {false, false};
};

struct VerifiedVariable {
  WorstError worst;
  double median = 0.0;                                      ///< over instances and times; NaN: nothing was compared
  double doubt = std::numeric_limits<double>::quiet_NaN();  ///< largest difference of the references; NaN: none
  double allowance = 1.0;  ///< at the worst error: the limit counts times so much; 1 for index 1
  bool exceeds = false;    ///< beyond the limit somewhere
};

struct Verification {
  Verdict verdict = Verdict::verified;  ///< the worst of the instances
  std::array<std::int64_t, 4> by_verdict{};
  std::vector<VerifiedInstance> instances;
  std::vector<VerifiedVariable> variables;
  WorstError event_time;  ///< in units of rtol times the length of the time span
  std::int64_t events_compared = 0;
  std::int64_t values_left_out = 0;  ///< between the times at which solutions have an event
};

/// Compares `asked` with two references of the same instances at the same times.
Verification verify(const VerificationSettings& settings, const Solutions& asked,
                    const std::array<const Solutions*, 2>& references);

}  // namespace manyfold
