#include "host/io/result_verification.hpp"

#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <manyfold/error.hpp>

namespace manyfold {

ResultVerification::ResultVerification(const ResultTarget& target) : target_(target) {
  const VerificationPlan& plan = *target_.settings().verification;
  const int sample = target_.define_dimension("verify_sample", plan.instances.size());
  const int variable = target_.define_dimension("verify_variable", target_.saved());
  variable_ = target_.define_variable("verify_variable", NC_SHORT, {variable}, "", "variables that are verified");
  std::vector<std::string> variables;
  for (const int index : target_.settings().saved) {
    variables.push_back(target_.settings().model.output_quantity(index).name);
  }
  target_.put_flags(variable_, variables);
  instance_ = target_.define_variable("verify_instance", NC_INT64, {sample}, "1", "instance that was verified");
  verdict_ = target_.define_variable("verify_verdict", NC_BYTE, {sample}, "", "whether its solution is accurate");
  signed char flags[verdict_names.size()];
  std::string names;
  for (std::size_t k = 0; k < verdict_names.size(); ++k) {
    flags[k] = static_cast<signed char>(k);
    names += fmt::format("{}{}", k == 0 ? "" : " ", verdict_names[k]);
  }
  target_.check(nc_put_att_schar(target_.file(), verdict_, "flag_values", NC_BYTE, verdict_names.size(), flags),
                "written");
  target_.put_text(verdict_, "flag_meanings", names);
  error_ = target_.define_variable("verify_error", NC_DOUBLE, {sample, variable}, "1",
                                   "largest error over the output times, in units of atol + rtol |y|");
  doubt_ = target_.define_variable("verify_doubt", NC_DOUBLE, {sample, variable}, "1",
                                   "largest difference of the two references, in the same units");
  target_.put_text(NC_GLOBAL, "verify_method", plan.references[0]);
  target_.put_text(NC_GLOBAL, "verify_second_method", plan.references[1]);
  const auto put_number = [&](const char* name, double value) {
    target_.check(nc_put_att_double(target_.file(), NC_GLOBAL, name, NC_DOUBLE, 1, &value), "written");
  };
  put_number("verify_rtol", plan.rtol);
  put_number("verify_limit", verification_limit);
  put_number("verify_share", plan.share);
  target_.put_text(NC_GLOBAL, "verify_result", "not finished");
}

void ResultVerification::write(const Verification& verification) const {
  const VerificationPlan& plan = target_.settings().verification.value();
  if (verification.instances.size() != plan.instances.size()) {
    throw UsageError(fmt::format("a verification has {} instances, but the result file {}",
                                 verification.instances.size(), plan.instances.size()));
  }
  std::vector<short> variables(target_.saved());
  std::iota(variables.begin(), variables.end(), short{0});
  std::vector<long long> instances(plan.instances.begin(), plan.instances.end());
  std::vector<signed char> verdicts;
  std::vector<double> errors;
  std::vector<double> doubts;
  for (const VerifiedInstance& instance : verification.instances) {
    verdicts.push_back(static_cast<signed char>(instance.verdict));
    errors.insert(errors.end(), instance.error.begin(), instance.error.end());
    doubts.insert(doubts.end(), instance.doubt.begin(), instance.doubt.end());
  }
  target_.check(nc_put_var_short(target_.file(), variable_, variables.data()), "written");
  target_.check(nc_put_var_longlong(target_.file(), instance_, instances.data()), "written");
  target_.check(nc_put_var_schar(target_.file(), verdict_, verdicts.data()), "written");
  target_.check(nc_put_var_double(target_.file(), error_, errors.data()), "written");
  target_.check(nc_put_var_double(target_.file(), doubt_, doubts.data()), "written");
  target_.put_text(NC_GLOBAL, "verify_result", std::string(verdict_name(verification.verdict)));
}

}  // namespace manyfold
