#include "host/sampling/table.hpp"

#include <netcdf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <manyfold/error.hpp>

#include "host/engine/memory.hpp"
#include "host/text/number.hpp"
#include "host/text/printable.hpp"

namespace manyfold {
namespace {

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(int line, int column, const std::string& message) {
    constexpr std::size_t most = 20;  // a table with a wrong column is wrong in every row
    if (lines_.size() < most)
      lines_.push_back(printable(fmt::format("{}:{}:{}: error: {}", file_, line, column, message)));
  }
  void raise() const {
    if (!lines_.empty()) throw UsageError(fmt::format("{}", fmt::join(lines_, "\n")));
  }
  [[noreturn]] void fail(int line, int column, const std::string& message) {
    add(line, column, message);
    throw UsageError(fmt::format("{}", fmt::join(lines_, "\n")));
  }

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

struct Field {
  std::string text;
  int column;  // counted from 1
};

/// What stands in quotation marks may have commas, and a quotation mark twice (RFC 4180).
std::vector<Field> split(std::string_view line, int number, Problems& problems) {
  const auto blank = [&](std::size_t i) { return line[i] == ' ' || line[i] == '\t'; };
  std::vector<Field> fields;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && blank(at)) ++at;
    Field field{"", static_cast<int>(at) + 1};
    const bool quoted = at < line.size() && line[at] == '"';
    if (quoted) {
      for (++at; at < line.size() && (line[at] != '"' || line.substr(at).starts_with("\"\"")); ++at) {
        field.text += line[at];
        if (line[at] == '"') ++at;
      }
      if (at == line.size()) problems.add(number, field.column, "a quotation mark has no second one in its line");
      at = std::min(at + 1, line.size());
    }
    const std::size_t comma = std::min(line.find(',', at), line.size());
    std::size_t end = comma;
    while (end > at && blank(end - 1)) --end;
    if (quoted && end > at) problems.add(number, static_cast<int>(at) + 1, "after a quotation mark needs a comma");
    field.text += line.substr(at, end - at);
    fields.push_back(std::move(field));
    if (comma == line.size()) return fields;
    at = comma + 1;
  }
}

/// Throws where a table of so many rows and columns does not fit the memory. `about`: how its rows are known.
void check_memory(double rows, std::size_t columns, const char* about, Problems& problems) {
  const double need = 8.0 * rows * static_cast<double>(columns + 1);
  const auto there = static_cast<double>(available_memory());
  if (need <= there) return;
  problems.fail(
      1, 1,
      fmt::format("the table has {}{:.0f} instances and {} columns, which take {:.1f} GB of memory, but there "
                  "are {:.1f}",
                  about, rows, columns, need / 1e9, there / 1e9));
}

void read_header(const std::vector<Field>& fields, int line, Table& table, Problems& problems) {
  table.name_line = line;
  for (const auto& [mark, marks] : {std::pair(';', "';'"), std::pair('\t', "tabs")}) {
    if (fields.size() > 1 || fields[0].text.find(mark) == std::string::npos) continue;
    problems.fail(line, fields[0].column,
                  fmt::format("the columns are separated by {}, but must be by ',', with a point in numbers", marks));
  }
  for (const Field& field : fields) {
    if (field.text.empty()) {
      problems.add(line, field.column,
                   "a column of the table has no name; if it numbers the rows, leave it out (pandas: index=False)");
    }
    if (!field.text.empty() && std::find(table.names.begin(), table.names.end(), field.text) != table.names.end()) {
      problems.add(line, field.column, fmt::format("the table has two columns \"{}\"", field.text));
    }
    table.names.push_back(field.text);
    table.name_columns.push_back(field.column);
  }
}

void read_row(const std::vector<Field>& fields, int line, Table& table, Problems& problems) {
  if (fields.size() != table.names.size()) {
    const std::size_t place = std::min(fields.size() - 1, table.names.size());
    problems.add(
        line, fields[place].column,
        fmt::format("the row has {} fields, but the header has {}{}", fields.size(), table.names.size(),
                    fields.size() == 2 * table.names.size() ? "; numbers need a decimal point, not a comma" : ""));
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    double value = 0.0;
    if (const std::string need = read_number(fields[i].text, value); !need.empty()) {
      problems.add(line, fields[i].column,
                   fmt::format("column \"{}\" has \"{}\", but needs {}", table.names[i], fields[i].text, need));
    }
    table.values.push_back(value);
  }
  table.lines.push_back(line);
}

Table read_csv(const std::filesystem::path& path) {
  Table table;
  table.file = printable(path.string());
  Problems problems(table.file);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    problems.fail(1, 1, fmt::format("the table cannot be read: {}", std::strerror(file ? EISDIR : errno)));
  }
  // Files that the system makes up, as those in /proc, say that they are empty. Some have no end.
  std::error_code none;  // of pipes
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  if (size == 0) problems.fail(1, 1, "the table is empty, but needs a header row of names");
  std::string line;
  int number = 0;
  while (std::getline(file, line)) {
    ++number;
    const bool cut = file.eof();  // the line ended with the file, not with a newline
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (number == 1 && line.starts_with("PAR1")) {
      problems.fail(1, 1,
                    "the table is a Parquet file, but must be CSV or netCDF: pandas converts it, "
                    "read_parquet(...).to_csv(..., index=False)");
    }
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    if (line.find('\0') != std::string::npos) {
      problems.fail(
          number, static_cast<int>(line.find('\0')) + 1,
          "the table has a zero byte, which text in UTF-8 has not: it must be CSV, or netCDF with the extension .nc");
    }
    if (cut) {
      problems.add(number, static_cast<int>(line.size()) + 1,
                   "the last line does not end with a newline: the file may be truncated");
    }
    if (table.names.empty()) {
      read_header(split(line, number, problems), number, table, problems);
    } else {
      read_row(split(line, number, problems), number, table, problems);
      // The first rows tell how long a row is.
      constexpr std::size_t first_rows = 1000;
      if (table.lines.size() == first_rows && !none && !cut) {
        const double rows = first_rows * static_cast<double>(size) / static_cast<double>(file.tellg());
        check_memory(rows, table.names.size(), "about ", problems);
        table.values.reserve(static_cast<std::size_t>(1.01 * rows) * table.names.size());
      }
    }
  }
  if (file.bad()) problems.fail(number + 1, 1, fmt::format("the table cannot be read: {}", std::strerror(errno)));
  problems.raise();
  if (table.names.empty()) problems.fail(number + 1, 1, "the table is empty, but needs a header row of names");
  if (table.values.empty()) problems.fail(number + 1, 1, "the table has a header, but no rows");
  return table;
}

/// What a variable of the type holds where nothing was written; nothing for bytes, which have no room for it.
std::optional<double> default_fill(nc_type type) {
  switch (type) {
    case NC_DOUBLE:
      return NC_FILL_DOUBLE;
    case NC_FLOAT:
      return NC_FILL_FLOAT;
    case NC_SHORT:
      return NC_FILL_SHORT;
    case NC_USHORT:
      return NC_FILL_USHORT;
    case NC_INT:
      return NC_FILL_INT;
    case NC_UINT:
      return NC_FILL_UINT;
    case NC_INT64:
      return static_cast<double>(NC_FILL_INT64);
    case NC_UINT64:
      return static_cast<double>(NC_FILL_UINT64);
    default:
      return std::nullopt;
  }
}

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A netCDF file, whose variables on the dimension `instance` alone are columns.
class NetcdfTable {
 public:
  NetcdfTable(const std::filesystem::path& path, Table& table, Problems& problems)
      : table_(table), problems_(problems) {
    // netCDF would open addresses too, and passes over blanks at the beginning of a path.
    if (!std::filesystem::is_regular_file(path)) problems_.fail(1, 1, "the table cannot be read: it is not a file");
    check(nc_open(std::filesystem::absolute(path).c_str(), NC_NOWRITE, &file_));
  }
  ~NetcdfTable() { nc_close(file_); }
  NetcdfTable(const NetcdfTable&) = delete;
  NetcdfTable& operator=(const NetcdfTable&) = delete;

  void read() {
    find_columns();
    problems_.raise();
    if (columns_.empty()) problems_.fail(1, 1, "the table has no numeric variable on the dimension \"instance\" alone");
    if (rows_ == 0) problems_.fail(1, 1, "the table has no instances");
    // Numbers that were never written take no place in a file: a small one may have any number of rows.
    check_memory(static_cast<double>(rows_), columns_.size(), "", problems_);
    table_.values.resize(rows_ * columns_.size());
    std::vector<double> numbers(rows_);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      read_column(columns_[column], table_.names[column], numbers);
      for (std::size_t row = 0; row < rows_; ++row) table_.values[row * columns_.size() + column] = numbers[row];
    }
    problems_.raise();
  }

 private:
  struct Column {
    int variable;
    nc_type type;
  };

  void check(int error) {
    if (error != NC_NOERR) problems_.fail(1, 1, fmt::format("the table cannot be read: {}", nc_strerror(error)));
  }

  void find_columns() {
    int dimension = -1;
    if (nc_inq_dimid(file_, "instance", &dimension) != NC_NOERR) {
      problems_.fail(1, 1, "the table has no dimension \"instance\"");
    }
    check(nc_inq_dimlen(file_, dimension, &rows_));
    int count = 0;
    check(nc_inq_nvars(file_, &count));
    for (int variable = 0; variable < count; ++variable) {
      char name[NC_MAX_NAME + 1] = {};
      nc_type type = NC_NAT;
      int dimensions = 0;
      int over[NC_MAX_VAR_DIMS] = {};
      check(nc_inq_var(file_, variable, name, &type, &dimensions, over, nullptr));
      if (dimensions != 1 || over[0] != dimension) {
        table_.passed_over.emplace_back(name);
        continue;
      }
      // A coordinate, which numbers the instances, as xarray writes it.
      if (std::string_view(name) == "instance") continue;
      if (type == NC_CHAR || type == NC_STRING || type > NC_MAX_ATOMIC_TYPE) {
        problems_.add(1, 1, fmt::format("variable \"{}\" of the table is text, but must be numeric", name));
        continue;
      }
      table_.names.emplace_back(name);
      table_.units.push_back(text_attribute(variable, "units"));
      columns_.push_back({variable, type});
    }
  }

  /// Empty where there is none.
  std::string text_attribute(int variable, const char* key) const {
    nc_type type = NC_NAT;
    std::size_t length = 0;
    if (nc_inq_att(file_, variable, key, &type, &length) != NC_NOERR) return "";
    std::string text(type == NC_CHAR ? length : 0, '\0');
    char* word = nullptr;
    if (type == NC_CHAR && nc_get_att_text(file_, variable, key, text.data()) != NC_NOERR) return "";
    if (type == NC_STRING && length == 1 && nc_get_att_string(file_, variable, key, &word) == NC_NOERR) {
      text = word;
      nc_free_string(1, &word);
    }
    return text;
  }

  /// The numbers of the attribute `key` of a variable, if it is there.
  template <std::size_t count = 1>
  std::optional<std::array<double, count>> attribute(const Column& column, const std::string& name, const char* key) {
    std::size_t length = 0;
    if (nc_inq_attlen(file_, column.variable, key, &length) != NC_NOERR) return std::nullopt;
    std::array<double, count> values{};
    if (length == count && nc_get_att_double(file_, column.variable, key, values.data()) == NC_NOERR) return values;
    problems_.add(1, 1,
                  fmt::format("attribute {} of variable \"{}\" must be {}", key, name,
                              count == 1 ? "one number" : "two numbers"));
    return std::nullopt;
  }

  void read_column(const Column& column, const std::string& name, std::vector<double>& numbers) {
    check(nc_get_var_double(file_, column.variable, numbers.data()));
    if (text_attribute(column.variable, "_Unsigned") == "true") {
      problems_.add(
          1, 1,
          fmt::format("attribute _Unsigned of variable \"{}\" is not followed: store it in an unsigned type", name));
    }
    const auto number = [&](const char* key) -> std::optional<double> {
      const auto found = attribute(column, name, key);
      return found ? std::optional((*found)[0]) : std::nullopt;
    };
    const auto own_fill = number("_FillValue");
    const auto fill = own_fill ? own_fill : default_fill(column.type);
    const auto missing = number("missing_value");
    const auto range = attribute<2>(column, name, "valid_range").value_or(std::array{-unlimited, unlimited});
    const double least = number("valid_min").value_or(range[0]);
    const double most = number("valid_max").value_or(range[1]);
    const double scale = number("scale_factor").value_or(1.0);
    const double offset = number("add_offset").value_or(0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      double& value = numbers[row];
      if (value == fill || value == missing) {
        problems_.add(
            1, 1,
            fmt::format("variable \"{}\" of the table has no value for instance {}: there is {}, which stands "
                        "for missing",
                        name, row, value));
      } else if (value < least || value > most) {
        problems_.add(1, 1,
                      fmt::format("variable \"{}\" of the table has no valid value for instance {}: there is {}, but "
                                  "its attributes say from {} to {}",
                                  name, row, value, least, most));
      }
      value = value * scale + offset;
    }
    const auto bad = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
    if (bad == numbers.end()) return;
    problems_.add(1, 1,
                  fmt::format("variable \"{}\" of the table is {} for instance {}, but must be finite", name, *bad,
                              bad - numbers.begin()));
  }

  Table& table_;
  Problems& problems_;
  int file_ = -1;
  std::size_t rows_ = 0;
  std::vector<Column> columns_;  // in the order of the table's names
};

Table read_netcdf(const std::filesystem::path& path) {
  Table table;
  table.file = printable(path.string());
  Problems problems(table.file);
  NetcdfTable(path, table, problems).read();
  return table;
}

}  // namespace

void Table::fill(const std::string& column, double value) {
  const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), column) - names.begin());
  for (std::size_t k = at; at < names.size() && k < values.size(); k += names.size()) values[k] = value;
}

Table read_table(const std::filesystem::path& path) {
  return path.extension() == ".nc" ? read_netcdf(path) : read_csv(path);
}

}  // namespace manyfold
