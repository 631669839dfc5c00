#include "host/io/result_statuses.hpp"

#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace manyfold {

void put_status_flags(const ResultTarget& target, int variable) {
  signed char values[status_count];
  std::string meanings;
  for (int i = 0; i < status_count; ++i) {
    values[i] = static_cast<signed char>(i);
    meanings += fmt::format("{}{}", i == 0 ? "" : " ", status_names[static_cast<std::size_t>(i)]);
  }
  target.check(nc_put_att_schar(target.file(), variable, "flag_values", NC_BYTE, status_count, values), "written");
  target.put_text(variable, "flag_meanings", meanings);
}

ResultStatuses::ResultStatuses(const ResultTarget& target) : target_(target) {
  const int dimension = target.define_dimension("status_kind", status_count);
  kind_ = target.define_variable("status_kind", NC_BYTE, {dimension}, "", "ways in which an integration ends");
  put_status_flags(target, kind_);
  count_ = target.define_variable("status_count", NC_INT64, {dimension}, "1", "instances that ended in this way");
}

void ResultStatuses::write_what_is_known() const {
  std::vector<signed char> kinds(status_count);
  std::iota(kinds.begin(), kinds.end(), static_cast<signed char>(0));
  target_.check(nc_put_var_schar(target_.file(), kind_, kinds.data()), "written");
}

void ResultStatuses::write(const std::array<std::int64_t, status_count>& by_status) const {
  const std::vector<long long> counts(by_status.begin(), by_status.end());
  target_.check(nc_put_var_longlong(target_.file(), count_, counts.data()), "written");
}

}  // namespace manyfold
