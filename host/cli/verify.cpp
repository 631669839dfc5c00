// `verify`: achieved against asked accuracy.
#include <limits>
#include <map>
#include <numeric>

#include <manyfold/error.hpp>
#include <manyfold/tolerances.hpp>

#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/references.hpp"
#include "host/sampling/ensemble_inputs.hpp"
#include "host/text/time_text.hpp"

namespace manyfold::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int time_count = 101;
/// Irrational, so that no period of a solution is met at one phase only.
constexpr double golden = 0.6180339887498949;

/// A time in every hundredth of the time span, and the end.
void fill_times(double t_begin, double t_end, double* times) {
  for (int k = 0; k + 1 < time_count; ++k) {
    const double inside = golden * (k + 1) - std::floor(golden * (k + 1));
    times[k] = std::lerp(t_begin, t_end, (k + inside) / (time_count - 1));
  }
  times[time_count - 1] = t_end;
}

/// Digits that are right, in proportion to |y| + atol / rtol; infinite where there is no error.
double digits(double error, double rtol) {
  return error == 0.0 ? std::numeric_limits<double>::infinity() : -std::log10(error * rtol);
}

/// NaN where nothing was compared.
double largest_error(const VerifiedVariable& variable) {
  return variable.worst.instance < 0 ? std::numeric_limits<double>::quiet_NaN() : variable.worst.error;
}

/// The number of instance `i` of those compared.
std::string instance_name(std::int64_t i, const std::vector<std::int64_t>& instances) {
  return i < 0 ? "-" : fmt::format("{}", instances[static_cast<std::size_t>(i)]);
}

/// JSON has no infinity.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

double median(std::vector<double> numbers) {
  std::erase_if(numbers, [](double number) { return std::isnan(number); });
  if (numbers.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::vector<double> scaled_errors(const Verification& verification) {
  std::vector<double> errors;
  for (const VerifiedInstance& instance : verification.instances) errors.push_back(instance.scaled);
  return errors;
}

std::int64_t count_if(const Verification& verification, bool (*property)(const VerifiedInstance&)) {
  return std::count_if(verification.instances.begin(), verification.instances.end(), property);
}

bool events_differ(const VerifiedInstance& instance) {
  return instance.events_differ;
}
bool first_reference_failed(const VerifiedInstance& instance) {
  return instance.reference_failed[0];
}
bool second_reference_failed(const VerifiedInstance& instance) {
  return instance.reference_failed[1];
}

bool failed_everywhere(const VerifiedInstance& instance) {
  return instance.verdict == Verdict::failed && first_reference_failed(instance) && second_reference_failed(instance);
}

const char* explanation(Verdict verdict) {
  switch (verdict) {
    case Verdict::verified:
      return "all instances agree with the references";
    case Verdict::uncertain:
      return "the references do not agree with one another, or failed: the problem makes small errors large, or the "
             "tolerance is beyond what they reach";
    case Verdict::inaccurate:
      return "the references agree, and solutions called success are off by more than the limit: tighten rtol, or take "
             "another method";
    case Verdict::failed:
      return "the integration of some instances failed";
  }
  return "";
}

}  // namespace

void print_verification(const Verification& verification, const ModelDescription& model, const std::vector<int>& saved,
                        const std::vector<std::int64_t>& instances, double rtol) {
  std::cout << fmt::format("{:<16} {:>5} {:>10} {:>10} {:>7} {:>10} {:>9} {:>14}\n", "variable", "index", "largest",
                           "median", "digits", "doubt", "instance", "time");
  for (std::size_t v = 0; v < saved.size(); ++v) {
    const VariableDescription& variable = model.output_quantity(saved[v]);
    const VerifiedVariable& found = verification.variables[v];
    std::cout << fmt::format(
        "{:<16} {:>5} {:>10.3g} {:>10.3g} {:>7.1f} {:>10.2g} {:>9} {:>14}{}{}\n", variable.name, variable.index,
        largest_error(found), found.median, digits(largest_error(found), rtol), found.doubt,
        instance_name(found.worst.instance, instances), time_text(found.worst.time, model.t_begin, 7),
        found.exceeds ? "  beyond the limit" : "",
        variable.index > 1 && found.exceeds ? fmt::format(" of {:.3g}", verification_limit * found.allowance) : "");
  }
  if (!model.events.empty()) {
    std::cout << fmt::format(
        "events: {} compared, times within {:.3g} rtol (t_end - t_begin){}; {} values between the times of an event in "
        "two solutions left out\n",
        verification.events_compared, verification.event_time.error,
        verification.event_time.instance < 0 ? ""
                                             : fmt::format(", worst in instance {} at t = {}",
                                                           instance_name(verification.event_time.instance, instances),
                                                           time_text(verification.event_time.time, model.t_begin, 7)),
        verification.values_left_out);
    if (const auto differ = count_if(verification, events_differ); differ > 0) {
      std::cout << fmt::format("events: other sequences than the reference has in {} instances\n", differ);
    }
  }
  const std::int64_t without_first = count_if(verification, first_reference_failed);
  const std::int64_t without_second = count_if(verification, second_reference_failed);
  if (without_first + without_second > 0) {
    std::cout << fmt::format("references: the first failed in {} instances, the second in {}\n", without_first,
                             without_second);
  }
  std::string counts;
  for (std::size_t k = 0; k < verdict_names.size(); ++k) {
    if (verification.by_verdict[k] == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", verification.by_verdict[k], verdict_names[k]);
  }
  if (const auto everywhere = count_if(verification, failed_everywhere); everywhere > 0) {
    counts += fmt::format(", {} of them in the references too", everywhere);
  }
  std::cout << fmt::format("verdict: {} ({}): {}\n", verdict_name(verification.verdict), counts,
                           explanation(verification.verdict));
}

Json verification_json(const Verification& verification, const ModelDescription& model, const std::vector<int>& saved,
                       const std::vector<std::int64_t>& instances, double rtol) {
  const auto instance = [&](const WorstError& worst) {
    return worst.instance < 0 ? Json(nullptr) : Json(instances[static_cast<std::size_t>(worst.instance)]);
  };
  Json result = {{"verdict", std::string(verdict_name(verification.verdict))}, {"by_verdict", Json::object()}};
  for (std::size_t k = 0; k < verdict_names.size(); ++k) {
    if (verification.by_verdict[k] > 0)
      result["by_verdict"][std::string(verdict_names[k])] = verification.by_verdict[k];
  }
  const std::vector<double> errors = scaled_errors(verification);
  result["error"] = {{"first", errors.empty() ? Json(nullptr) : finite(errors.front())},
                     {"median", finite(median(errors))},
                     {"largest", finite(std::accumulate(errors.begin(), errors.end(), 0.0,
                                                        [](double a, double b) { return b > a ? b : a; }))}};
  result["variables"] = Json::array();
  for (std::size_t v = 0; v < saved.size(); ++v) {
    const VariableDescription& variable = model.output_quantity(saved[v]);
    const VerifiedVariable& found = verification.variables[v];
    result["variables"].push_back({{"name", variable.name},
                                   {"index", variable.index},
                                   {"largest", finite(largest_error(found))},
                                   {"median", finite(found.median)},
                                   {"digits", finite(digits(largest_error(found), rtol))},
                                   {"limit", verification_limit * found.allowance},
                                   {"exceeds", found.exceeds},
                                   {"doubt", finite(found.doubt)},
                                   {"instance", instance(found.worst)},
                                   {"t", finite(found.worst.time)}});
  }
  result["events"] = {{"compared", verification.events_compared},
                      {"time_error", finite(verification.event_time.error)},
                      {"instances_with_other_sequences", count_if(verification, events_differ)},
                      {"values_left_out", verification.values_left_out}};
  result["failed_everywhere"] = count_if(verification, failed_everywhere);
  result["references_failed"] = {count_if(verification, first_reference_failed),
                                 count_if(verification, second_reference_failed)};
  return result;
}

namespace {

void check(const VerifyArguments& arguments) {
  for (const double rtol : arguments.rtol) {
    if (const std::string problem = rtol_problem(rtol); !problem.empty()) throw UsageError("--rtol " + problem);
  }
  if (arguments.atol) {
    if (const std::string problem = atol_problem(*arguments.atol); !problem.empty()) {
      throw UsageError("--atol " + problem);
    }
  }
  if (!(arguments.perturb >= 0.0 && arguments.perturb < 1.0)) {
    throw UsageError(fmt::format("--perturb {}: needs a number from 0 to less than 1", arguments.perturb));
  }
}

/// The perturbed instances, of parameters that the model accepts.
EnsembleInputs perturbed(const ModelDescription& model, const std::vector<double>& nominal,
                         const VerifyArguments& arguments) {
  std::vector<SampledQuantity> quantities;
  for (std::size_t p = 0; p < nominal.size(); ++p) {
    const Bounds& bounds = model.parameters[p].bounds;
    const auto [low, high] = std::minmax({std::clamp((1.0 - arguments.perturb) * nominal[p], bounds.min, bounds.max),
                                          std::clamp((1.0 + arguments.perturb) * nominal[p], bounds.min, bounds.max)});
    quantities.push_back({SampledQuantity::Kind::parameter, model.parameters[p].name,
                          low < high ? Distribution::uniform(low, high) : Distribution::constant(nominal[p])});
  }
  return EnsembleInputs::sampled(
      model,
      {"monte_carlo", std::max<std::int64_t>(arguments.instances, 1), static_cast<std::uint64_t>(arguments.seed)},
      quantities);
}

/// The solutions with one tolerance, and what was found.
struct Checked {
  std::string method;
  double rtol;
  double atol;
  std::int64_t steps;
  const Solutions* asked;
  std::array<std::string, 2> reference_methods;
  const std::array<Solutions, 2>* references;
  Verification verification;
};

Json unverified_json(const Checked& checked, const EnsembleRun& run, const ModelDescription& model) {
  Json all = Json::array();
  for (std::size_t i = 0; i < checked.verification.instances.size(); ++i) {
    const Verdict verdict = checked.verification.instances[i].verdict;
    if (verdict == Verdict::verified) continue;
    Json parameters = Json::object();
    const std::vector<double> values = inputs_of(run, model, static_cast<std::int64_t>(i)).parameters;
    for (std::size_t p = 0; p < values.size(); ++p) parameters[model.parameters[p].name] = values[p];
    const InstanceOutcome& outcome = checked.asked->outcomes[i];
    all.push_back({{"instance", i},
                   {"verdict", std::string(verdict_name(verdict))},
                   {"status", std::string(status_name(outcome.status))},
                   {"reference_status",
                    {std::string(status_name((*checked.references)[0].outcomes[i].status)),
                     std::string(status_name((*checked.references)[1].outcomes[i].status))}},
                   {"t", outcome.t_reached},
                   {"parameters", parameters}});
  }
  return all;
}

/// How to see the first instance that is not verified.
void print_unverified(const Checked& checked, const EnsembleRun& run, const ModelDescription& model,
                      const std::string& model_name, double t_end) {
  const auto& instances = checked.verification.instances;
  const auto found = std::find_if(instances.begin(), instances.end(), [](const VerifiedInstance& instance) {
    return instance.verdict != Verdict::verified;
  });
  if (found == instances.end()) return;
  const auto i = static_cast<std::size_t>(found - instances.begin());
  const InstanceOutcome& outcome = checked.asked->outcomes[i];
  std::cout << fmt::format("instance {} is {}: {} at t = {}, references {} and {}; to see it:\n  manyfold solve {}", i,
                           verdict_name(found->verdict), status_name(outcome.status),
                           time_text(outcome.t_reached, model.t_begin, 7),
                           status_name((*checked.references)[0].outcomes[i].status),
                           status_name((*checked.references)[1].outcomes[i].status), model_name);
  if (!model.structural.name.empty())
    std::cout << fmt::format(" --set {}={}", model.structural.name, model.structural.value);
  const std::vector<double> values = inputs_of(run, model, static_cast<std::int64_t>(i)).parameters;
  for (std::size_t p = 0; p < values.size(); ++p) {
    if (values[p] != model.parameters[p].value)
      std::cout << fmt::format(" --set {}={}", model.parameters[p].name, values[p]);
  }
  std::cout << fmt::format(" --t-end {} --method {} --rtol {:.6g} --atol {:.6g}\n", t_end, checked.method, checked.rtol,
                           checked.atol);
}

/// The job at the first tolerance.
Job job_of(const VerifyArguments& arguments) {
  const ParameterSettings settings = parameter_settings(arguments.parameters);
  Job job;
  job.announce = announce;
  job.model = arguments.model;
  job.options.method = arguments.method;
  job.options.backend = "cpu";
  job.options.rtol = arguments.rtol.front();
  job.options.event_log = 1000;
  choose_structural_value(job, [&](const std::string& name) { return structural_setting(settings, name); });
  const ModelDescription model = describe(job);
  const double t_end = arguments.t_end.value_or(model.t_end);
  if (!std::isfinite(t_end) || t_end == model.t_begin) {
    throw UsageError(fmt::format("--t-end {}: needs a finite number other than {}", t_end, model.t_begin));
  }
  const double most =
      std::floor(most_numbers_to_verify / static_cast<double>(time_count * model.output_quantities().size())) - 1.0;
  if (static_cast<double>(arguments.instances) > most) {
    throw UsageError(
        fmt::format("--instances {}: their solutions do not fit the memory that is meant for them: at most "
                    "{} of this model do",
                    arguments.instances, most));
  }
  const std::vector<double> nominal = parameters_as_set(model, settings);
  job.instances = 1 + arguments.instances;
  job.fill_instance = [nominal, inputs = perturbed(model, nominal, arguments), t_begin = model.t_begin, t_end](
                          std::int64_t instance, double* parameters, double* initial, double* t_span) {
    inputs.fill(std::max<std::int64_t>(instance - 1, 0), parameters, initial, t_span);
    if (instance == 0) std::copy(nominal.begin(), nominal.end(), parameters);
    t_span[0] = t_begin;
    t_span[1] = t_end;
  };
  job.shape.times = time_count;
  job.fill_times = fill_times;
  return job;
}

/// The runs of a `verify`, and what was found so far.
class Verifier {
 public:
  explicit Verifier(const VerifyArguments& arguments)
      : arguments_(arguments),
        job_(job_of(arguments)),
        tightest_(*std::min_element(arguments.rtol.begin(), arguments.rtol.end())),
        instances_(static_cast<std::size_t>(job_.instances)) {
    std::iota(instances_.begin(), instances_.end(), 0);
  }

  void verify_at(double rtol) {
    const double atol = arguments_.atol.value_or(rtol / 1000.0);
    job_.options.rtol = rtol;
    job_.options.atol = {atol};
    PreparedJob prepared(job_);
    if (const std::string warning = prepared.warning(); !warning.empty() && !warned_) announce("warning: " + warning);
    warned_ = true;
    announce(fmt::format("{} instances with {} at rtol {:.3g} ...", job_.instances, prepared.method(), rtol));
    ProgressBar bar;
    prepared.job().progress = [&](const Progress& progress) { bar.show(progress); };
    SolutionSink asked;
    const RunSummary summary = prepared.run(asked);
    bar.clear();
    Checked checked{prepared.method(), rtol, atol, summary.totals.steps, &asked.solutions(), {}, nullptr, {}};
    checked.reference_methods = reference_methods(prepared.model(), checked.method);
    checked.references = &references_of(prepared, asked.solutions());
    checked.verification =
        manyfold::verify(verification_settings(prepared.model(), prepared.job().saved, prepared.job().options),
                         asked.solutions(), {&(*checked.references)[0], &(*checked.references)[1]});
    verdict_ = std::max(verdict_, checked.verification.verdict);
    name_ = prepared.model().name;
    if (arguments_.json) {
      add_json(checked, prepared);
    } else {
      print_table(checked, prepared);
    }
  }

  Verdict verdict() const { return verdict_; }

  Json json() const {
    return {{"model", name_},
            {"instances", job_.instances},
            {"times", time_count},
            {"perturb", arguments_.perturb},
            {"seed", arguments_.seed},
            {"limit", verification_limit},
            {"reference_rtol", reference_rtol(tightest_)},
            {"verdict", std::string(verdict_name(verdict_))},
            {"results", results_}};
  }

 private:
  /// References serve all tolerances.
  const std::array<Solutions, 2>& references_of(const PreparedJob& prepared, const Solutions& asked) {
    const auto methods = reference_methods(prepared.model(), prepared.method());
    if (!references_.contains(methods)) {
      SolverOptions tight = prepared.job().options;
      tight.rtol = tightest_;
      tight.atol.assign(prepared.model().variables.size(), arguments_.atol.value_or(tightest_ / 1000.0));
      references_.emplace(methods, References(prepared, tight).integrate(instances_, asked));
    }
    return references_.at(methods);
  }

  void add_json(const Checked& checked, const PreparedJob& prepared) {
    Json result = {{"method", checked.method},
                   {"rtol", checked.rtol},
                   {"atol", checked.atol},
                   {"references", {checked.reference_methods[0], checked.reference_methods[1]}},
                   {"steps", checked.steps}};
    result.update(
        verification_json(checked.verification, prepared.model(), prepared.job().saved, instances_, checked.rtol));
    result["not_verified"] = unverified_json(checked, prepared.job(), prepared.model());
    results_.push_back(result);
  }

  void print_table(const Checked& checked, const PreparedJob& prepared) const {
    const ModelDescription& model = prepared.model();
    std::cout << fmt::format(
        "{}: {} at rtol {:.3g}, atol {:.3g}; {} instances at {} times; references {} and {} at rtol {:.3g}\n",
        model.name, checked.method, checked.rtol, checked.atol, job_.instances, time_count,
        checked.reference_methods[0], checked.reference_methods[1], reference_rtol(tightest_));
    print_verification(checked.verification, model, prepared.job().saved, instances_, checked.rtol);
    print_unverified(checked, prepared.job(), model, arguments_.model, checked.asked->t_span[0][1]);
    std::cout << '\n';
  }

  const VerifyArguments& arguments_;
  Job job_;
  double tightest_;
  std::vector<std::int64_t> instances_;  ///< all
  std::map<std::array<std::string, 2>, std::array<Solutions, 2>> references_;
  Json results_ = Json::array();
  Verdict verdict_ = Verdict::verified;
  std::string name_;
  bool warned_ = false;
};

}  // namespace

int verify(const VerifyArguments& arguments) {
  check(arguments);
  Verifier verifier(arguments);
  for (const double rtol : arguments.rtol) verifier.verify_at(rtol);
  if (arguments.json) print(verifier.json());
  return verifier.verdict() == Verdict::verified ? all_succeeded : some_failed;
}

}  // namespace manyfold::cli
