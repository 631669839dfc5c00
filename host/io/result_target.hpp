#pragma once
// The netCDF file of a result while it is written: its dimensions, and how variables are defined and written.
#include <netcdf.h>

#include <string>
#include <string_view>
#include <vector>

#include "host/io/result_file.hpp"

namespace manyfold {

/// As CF-1.8 wants the words of flag_meanings; relations are lt, le, gt and ge.
std::string one_word(const std::string& name);
/// The same of each event of the model, with a number where two were alike.
std::vector<std::string> event_words(const ModelDescription& model);

/// Functions throw std::runtime_error with file and reason, and UsageError for names that netCDF does not take.
class ResultTarget {
 public:
  /// Creates the file, with the dimensions time and, if there are rows, instance and, for quantiles, quantile.
  ResultTarget(ResultFileSettings settings, OutputFile output);
  ResultTarget(const ResultTarget&) = delete;
  ResultTarget& operator=(const ResultTarget&) = delete;
  ~ResultTarget() { close_quietly(); }

  const ResultFileSettings& settings() const { return settings_; }
  const std::filesystem::path& path() const { return output_.path(); }
  int file() const { return file_; }
  bool open() const { return open_; }
  int instance_dimension() const { return instance_dimension_; }
  int time_dimension() const { return time_dimension_; }
  int quantile_dimension() const { return quantile_dimension_; }
  std::size_t times() const { return static_cast<std::size_t>(settings_.times.count()); }
  std::size_t saved() const { return settings_.saved.size(); }                 ///< variables
  const std::vector<double>& probabilities() const { return probabilities_; }  ///< of the quantiles

  /// `error`: of netCDF; `what` the file cannot be if it is one.
  void check(int error, std::string_view what) const;
  void put_text(int variable, const char* name, const std::string& text) const;
  /// Names for the numbers 0, 1, ... of a variable of shorts.
  void put_flags(int variable, const std::vector<std::string>& names) const;
  int define_dimension(const char* name, std::size_t size) const;
  /// A variable over `dimensions`, compressed when it has an instance dimension.
  int define_variable(const std::string& name, nc_type type, const std::vector<int>& dimensions,
                      const std::string& units, const std::string& long_name) const;

  /// Writes, for the instances of `chunk`, what `value` returns for each of them.
  template <class Value>
  void write_column(const Chunk& chunk, int id, Value value) const {
    std::vector<double> column(static_cast<std::size_t>(chunk.count));
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = value(i);
    const auto start = static_cast<std::size_t>(chunk.first);
    const std::size_t count = column.size();
    check(nc_put_vara_double(file_, id, &start, &count, column.data()), "written");
  }
  /// Writes `values` [count][times].
  void write_rows(const Chunk& chunk, int id, const std::vector<double>& values) const;

  /// Closes the file and gives it its name.
  void commit();

 private:
  void compress(int id, nc_type type, bool with_times) const;
  void close_quietly();

  ResultFileSettings settings_;
  OutputFile output_;
  int file_ = -1;
  bool open_ = false;
  int instance_dimension_ = -1;
  int time_dimension_ = -1;
  int quantile_dimension_ = -1;
  std::vector<double> probabilities_;
};

}  // namespace manyfold
