#include "host/io/result_target.hpp"

#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <manyfold/error.hpp>

#include "host/io/no_value.hpp"
#include "host/io/result_names.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

constexpr std::int64_t elements_per_chunk = 65536;

// HDF5 closes what is open when the process exits. A file whose close failed because the disk is full is half freed
// then, and HDF5 (1.10) crashes; so it is told not to, before its first use, which is when it asks. All files are
// closed by their owners. HDF5 is a dependency of netCDF only, hence the look-up by name.
[[maybe_unused]] const bool hdf5_leaves_exit_alone = [] {
  const auto leave = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "H5dont_atexit"));
  return leave != nullptr && leave() >= 0;
}();

/// Words that are alike, or taken, are told apart by a number.
std::vector<std::string> different_words(const std::vector<std::string>& names, std::set<std::string> taken = {}) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    std::string word = one_word(name);
    if (word.empty()) word = "unnamed";
    std::string different = word;
    for (int number = 2; !taken.insert(different).second; ++number) different = fmt::format("{}_{}", word, number);
    words.push_back(different);
  }
  return words;
}

}  // namespace

std::string one_word(const std::string& name) {
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == ' ') {
      word += '_';
    } else if (c == '<' || c == '>') {
      const bool or_equal = i + 1 < name.size() && name[i + 1] == '=';
      word += fmt::format("{}{}", c == '<' ? 'l' : 'g', or_equal ? 'e' : 't');
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0 ||
               std::string_view("_-.+@").find(c) != std::string_view::npos) {
      word += c;
    }
  }
  return word;
}

std::vector<std::string> event_words(const ModelDescription& model) {
  std::vector<std::string> names;
  for (const EventDescription& event : model.events) names.push_back(event.name);
  // What event_first_time_... is of all events.
  return different_words(names, {"histogram", "quantile"});
}

ResultTarget::ResultTarget(ResultFileSettings settings, OutputFile output)
    : settings_(std::move(settings)), output_(std::move(output)) {
  if (settings_.trajectories) check_saved_names(settings_.model, settings_.saved);
  for (const StatisticRequest& request : settings_.statistics) {
    if (request.kind == StatisticRequest::Kind::quantile) probabilities_.push_back(request.probability);
  }
  check_result_path(output_.path());
  // netCDF passes over blanks and control characters at the beginning of a path.
  const std::filesystem::path partial = std::filesystem::absolute(output_.create());
  check(nc_create(partial.c_str(), NC_NETCDF4 | NC_CLOBBER, &file_), "created");
  open_ = true;
  try {
    if (settings_.instance_rows) {
      instance_dimension_ = define_dimension("instance", static_cast<std::size_t>(settings_.instances));
    }
    time_dimension_ = define_dimension("time", times());
    if (!probabilities_.empty()) quantile_dimension_ = define_dimension("quantile", probabilities_.size());
  } catch (...) {
    close_quietly();
    throw;
  }
}

void ResultTarget::check(int error, std::string_view what) const {
  if (error == NC_NOERR) return;
  std::string reason = nc_strerror(error);
  // HDF5 keeps the operating system's reason to itself.
  constexpr std::uintmax_t next_to_nothing = 1 << 18;
  std::error_code failure;
  const auto space = std::filesystem::space(std::filesystem::absolute(output_.path()).parent_path(), failure);
  if (!failure && space.available < next_to_nothing) reason = "no space left on device (" + reason + ")";
  const auto size = std::filesystem::file_size(output_.partial(), failure);
  rlimit limit{};
  if (!failure && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      size + next_to_nothing >= limit.rlim_cur) {
    reason = fmt::format("the limit of file sizes, {} bytes (ulimit -f), is reached ({})", limit.rlim_cur, reason);
  }
  throw std::runtime_error(fmt::format("{}: cannot be {}: {}", printable(output_.path().string()), what, reason));
}

void ResultTarget::close_quietly() {
  if (!open_) return;
  open_ = false;
  nc_close(file_);
}

void ResultTarget::put_text(int variable, const char* name, const std::string& text) const {
  check(nc_put_att_text(file_, variable, name, text.size(), text.c_str()), "written");
}

void ResultTarget::put_flags(int variable, const std::vector<std::string>& names) const {
  const std::vector<std::string> words = different_words(names);
  std::vector<short> values;
  for (std::size_t i = 0; i < words.size(); ++i) values.push_back(static_cast<short>(i));
  check(nc_put_att_short(file_, variable, "flag_values", NC_SHORT, values.size(), values.data()), "written");
  put_text(variable, "flag_meanings", fmt::format("{}", fmt::join(words, " ")));
}

int ResultTarget::define_dimension(const char* name, std::size_t size) const {
  int id = -1;
  check(nc_def_dim(file_, name, size, &id), "defined");
  return id;
}

int ResultTarget::define_variable(const std::string& name, nc_type type, const std::vector<int>& dimensions,
                                  const std::string& units, const std::string& long_name) const {
  const auto refuse = [&](std::string_view reason) {
    throw UsageError(fmt::format("output file {}: \"{}\" cannot be the name of a variable: {}",
                                 printable(output_.path().string()), printable(name), reason));
  };
  if (const std::string problem = unfit_for_netcdf(name); !problem.empty()) refuse("it " + problem);
  int id = -1;
  const int error = nc_def_var(file_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &id);
  if (error == NC_ENAMEINUSE || error == NC_EBADNAME) refuse(nc_strerror(error));
  check(error, "defined");
  if (!units.empty()) put_text(id, "units", units);
  if (!long_name.empty()) put_text(id, "long_name", long_name);
  // CF-1.8, section 2.5.1: coordinate variables have no missing values.
  const bool coordinate = dimensions.size() == 1 && (name == "time" || name == "quantile");
  if (type == NC_DOUBLE && !coordinate) check(nc_def_var_fill(file_, id, NC_FILL, &no_value), "defined");
  if (!dimensions.empty() && dimensions.front() == instance_dimension_) compress(id, type, dimensions.size() == 2);
  return id;
}

void ResultTarget::compress(int id, nc_type type, bool with_times) const {
  // Chunks of up to half a megabyte with whole trajectories where they fit; smaller for models with many variables,
  // because HDF5 keeps the chunk in work of every variable in memory.
  const std::int64_t target = std::clamp<std::int64_t>((std::int64_t{1} << 24) / static_cast<std::int64_t>(saved() + 1),
                                                       4096, elements_per_chunk);
  const std::int64_t times = with_times ? std::min<std::int64_t>(settings_.times.count(), 1024) : 1;
  const std::int64_t instances = std::clamp<std::int64_t>(target / times, 1, settings_.instances);
  const std::size_t sizes[2] = {static_cast<std::size_t>(instances), static_cast<std::size_t>(times)};
  check(nc_def_var_chunking(file_, id, NC_CHUNKED, sizes), "defined");
  if (settings_.compression > 0) check(nc_def_var_deflate(file_, id, 1, 1, settings_.compression), "defined");
  const std::size_t bytes = sizes[0] * sizes[1] * (type == NC_BYTE ? 1 : 8);
  check(nc_set_var_chunk_cache(file_, id, 2 * bytes, 101, 0.75F), "defined");
}

void ResultTarget::write_rows(const Chunk& chunk, int id, const std::vector<double>& values) const {
  const std::size_t start[2] = {static_cast<std::size_t>(chunk.first), 0};
  const std::size_t count[2] = {static_cast<std::size_t>(chunk.count), times()};
  check(nc_put_vara_double(file_, id, start, count, values.data()), "written");
}

void ResultTarget::commit() {
  // What cannot be written shows here, where netCDF can tell.
  check(nc_sync(file_), "written");
  open_ = false;
  check(nc_close(file_), "closed");
  output_.commit();
}

}  // namespace manyfold
