// Tables, whose functions are external in the Modelica Standard Library, become expressions.
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"
#include "host/modelica/tables.hpp"

namespace manyfold::modelica {
namespace {

const std::string library = "ModelicaStandardTables_";
/// The library's functions for tables end with it where nothing follows.
constexpr double never = 1.7976931348623157e308;

}  // namespace

/// The object of a table, from the arguments of its constructor.
Value Flattener::construct_table(const Class& type, const Expression& expression, const Scope& scope) {
  const Class* constructor = nullptr;
  for (const auto& inner : type.classes) {
    if (inner->name == "constructor") constructor = inner.get();
  }
  if (constructor == nullptr || !constructor->external_name.starts_with(library + "Combi")) {
    fail(expression.place, fmt::format("'{}' is an external object: of those, only tables are supported", type.name));
  }
  const bool has_rows = constructor->external_name.starts_with(library + "CombiTable2D");
  std::map<std::string, const Expression*> arguments;
  std::size_t position = 0;
  for (const Declaration& input : constructor->declarations) {
    if (!input.input) continue;
    const Expression* given = position < expression.operands.size() ? expression.operands[position].get() : nullptr;
    ++position;
    for (const auto& [name, value] : expression.named) {
      if (name == input.name) given = value.get();
    }
    arguments[input.name] = given != nullptr ? given : input.binding.get();
  }
  const auto number = [&](const std::string& name, double otherwise) {
    return arguments[name] == nullptr ? otherwise : constant(*arguments[name], scope, name.c_str());
  };
  if (arguments["table"] == nullptr || (arguments["columns"] == nullptr && !has_rows)) {
    fail(expression.place, "a table needs its data and columns");
  }
  Table table;
  table.of_time = constructor->external_name.starts_with(library + "CombiTimeTable");
  table.smoothness = static_cast<Smoothness>(std::lround(number("smoothness", 1.0)));
  table.extrapolation = static_cast<Extrapolation>(
      std::lround(number("extrapolation", static_cast<double>(Extrapolation::last_two_points))));
  table.events = static_cast<TimeEvents>(std::lround(number("timeEvents", 1.0)));
  table.start_time = number("startTime", -1e60);
  table.shift_time = number("shiftTime", 0.0);
  if (has_rows) {
    read_rows(*arguments["table"], scope, table);
  } else {
    read_table(*arguments["table"], *arguments["columns"], scope, table);
  }
  Value result;
  result.table = std::make_shared<const Table>(std::move(table));
  return result;
}

double Flattener::table_number(Node node, Place place) {
  const double value = numeric(node);
  if (!std::isfinite(value)) fail(place, "the data of a table need to be known when the model is compiled");
  return value;
}

Value Flattener::table_matrix(const Expression& data, const Scope& scope) {
  Value matrix = evaluate(data, scope);
  if (matrix.dims.size() != 2 || matrix.items.empty()) {
    fail(data.place, "the data of the table are in a file: not supported");
  }
  return matrix;
}

/// The first column has the first abscissa, the first row the second one.
void Flattener::read_rows(const Expression& data, const Scope& scope, Table& table) {
  if (table.smoothness != Smoothness::linear && table.smoothness != Smoothness::constant) {
    fail(data.place, "tables of two abscissas are supported with linear or constant segments");
  }
  const Value matrix = table_matrix(data, scope);
  const auto width = static_cast<std::size_t>(matrix.dims[1]);
  const auto entry = [&](std::size_t row, std::size_t column) {
    return table_number(matrix.items[row * width + column], data.place);
  };
  const auto append = [&](std::vector<double>& abscissas, double value, const char* what) {
    if (!abscissas.empty() && value <= abscissas.back()) {
      fail(data.place, fmt::format("the first {} of the table needs to increase", what));
    }
    abscissas.push_back(value);
  };
  for (std::size_t column = 1; column < width; ++column) append(table.x, entry(0, column), "row");
  for (std::size_t row = 1; row * width < matrix.items.size(); ++row) {
    append(table.rows, entry(row, 0), "column");
    table.columns.emplace_back();
    for (std::size_t column = 1; column < width; ++column) table.columns.back().push_back(entry(row, column));
  }
  if (table.x.empty() || table.rows.empty()) fail(data.place, "a table of two abscissas needs values of both");
}

void Flattener::read_table(const Expression& data, const Expression& columns, const Scope& scope, Table& table) {
  const Value matrix = table_matrix(data, scope);
  const auto width = static_cast<std::size_t>(matrix.dims[1]);
  const auto known = [&](Node node) { return table_number(node, data.place); };
  for (std::size_t at = 0; at < matrix.items.size(); at += width) {
    table.x.push_back(known(matrix.items[at]));
    const bool rises = table.x.size() < 2 || table.x.back() > table.x[table.x.size() - 2];
    const bool repeats = table.of_time && !rises && table.x.back() == table.x[table.x.size() - 2];
    if (!rises && !repeats) fail(data.place, "the first column of the table needs to increase");
  }
  for (const Node node : evaluate(columns, scope).items) {
    const double column = known(node);
    if (column < 1.0 || column > static_cast<double>(width)) fail(columns.place, "the table has no such column");
    table.columns.emplace_back();
    for (std::size_t at = 0; at < matrix.items.size(); at += width) {
      table.columns.back().push_back(known(matrix.items[at + static_cast<std::size_t>(column) - 1]));
    }
  }
}

/// The piece of number `k`: 0 is on the left of all. `inside(k)`: does the argument lie before the end of piece k?
Node Flattener::chosen_piece(const Pieces& pieces, Node u, bool slope, const std::function<Node(std::size_t)>& inside) {
  std::vector<Piece> all = {pieces.left};
  all.insert(all.end(), pieces.inner.begin(), pieces.inner.end());
  all.push_back(pieces.right);
  const auto chosen = [&](const std::function<double(const Piece&)>& part) {
    Node result = graph_.number(part(all.back()));
    for (std::size_t k = all.size() - 1; k-- > 0;) {
      result = graph_.choice(inside(k), graph_.number(part(all[k])), result);
    }
    return result;
  };
  const Node d = graph_.subtract(u, chosen([](const Piece& piece) { return piece.from; }));
  Node sum = graph_.number(0.0);
  for (int power = 3; power >= (slope ? 1 : 0); --power) {
    const double factor = slope ? power : 1.0;
    sum = graph_.add(graph_.multiply(sum, d), chosen([&](const Piece& piece) { return factor * piece.c[power]; }));
  }
  return sum;
}

/// An argument within the abscissas, where the table is periodic or does not extrapolate.
Node Flattener::table_argument(const Table& table, const std::vector<double>& x, Node u, bool silent, Place place) {
  const Node first = graph_.number(x.front());
  if (table.extrapolation == Extrapolation::periodic && x.back() > x.front()) {
    const Node period = graph_.number(x.back() - x.front());
    const Node turns = graph_.call(Function::floor, graph_.divide(graph_.subtract(u, first), period), no_node, silent);
    u = graph_.subtract(u, graph_.multiply(turns, period));
  }
  if (table.extrapolation == Extrapolation::none) {
    const Node last = graph_.number(x.back());
    const Node inside_all = graph_.conjunction(graph_.relation(Op::less_equal, first, u, true),
                                               graph_.relation(Op::less_equal, u, last, true));
    assert_that(inside_all, "the table is left, and does not extrapolate", place);
  }
  return u;
}

/// Along the second abscissa first, then between the values of two rows.
Node Flattener::surface_value(const Table& table, Node u1, Node u2, bool silent, Place place) {
  std::vector<Node> values;
  for (std::size_t i = 0; i < table.rows.size(); ++i) values.push_back(table_value(table, i, u2, false, silent, place));
  const std::vector<double>& x = table.rows;
  const Node u = table_argument(table, x, u1, silent, place);
  const bool constant = table.smoothness == Smoothness::constant;
  const bool holds = table.extrapolation == Extrapolation::hold;
  // Pieces that end at each abscissa, and the one on the right of all.
  Node result = no_node;
  for (std::size_t k = x.size() + 1; k-- > 0;) {
    const bool outside = k == 0 || k == x.size();
    const std::size_t first = k == 0 ? 0 : std::min(k, x.size() - 1) - 1;
    Node piece = values[k == 0 ? 0 : k - 1];
    if (!constant && x.size() > 1 && !(outside && holds)) {
      const Node share =
          graph_.divide(graph_.subtract(u, graph_.number(x[first])), graph_.number(x[first + 1] - x[first]));
      piece = graph_.add(values[first], graph_.multiply(share, graph_.subtract(values[first + 1], values[first])));
    }
    result = result == no_node
                 ? piece
                 : graph_.choice(graph_.relation(Op::less, u, graph_.number(x[k]), silent || !constant), piece, result);
  }
  return result;
}

Node Flattener::table_value(const Table& table, std::size_t column, Node u, bool slope, bool silent, Place place) {
  Pieces pieces = pieces_of(table, column);
  if (pieces.bounds.empty()) fail(place, "a table of splines whose abscissas repeat is not supported");
  u = table_argument(table, table.x, u, silent, place);
  // Kinks cost the integrator a step; jumps are events.
  return chosen_piece(pieces, u, slope, [&](std::size_t k) {
    return graph_.relation(Op::less, u, graph_.number(pieces.bounds[k]), silent || !pieces.jumps[k]);
  });
}

/// The piece is the one that ends at the next event, which the model keeps: it does not change between events.
Node Flattener::time_table_value(const Table& table, std::size_t column, Node t, Node next, bool slope, Place place) {
  Pieces pieces = pieces_of(table, column);
  if (pieces.bounds.empty()) fail(place, "a table of splines whose abscissas repeat is not supported");
  const auto number = [&](double value) { return graph_.number(value); };
  Node u = graph_.subtract(t, number(table.shift_time));
  Node end = graph_.subtract(next, number(table.shift_time));
  if (table.extrapolation == Extrapolation::periodic && table.period() > 0.0) {
    const Node period = number(table.period());
    const Node passed = graph_.divide(graph_.subtract(number(table.x.front()), end), period);
    const Node turns =
        graph_.negate(graph_.add(graph_.call(Function::floor, graph_.add(passed, number(1e-10))), number(1.0)));
    u = graph_.subtract(u, graph_.multiply(turns, period));
    end = graph_.subtract(end, graph_.multiply(turns, period));
  }
  const std::vector<double>& bounds = pieces.bounds;
  const Node value = chosen_piece(pieces, u, slope, [&](std::size_t k) {
    const double following = k + 1 < bounds.size() ? bounds[k + 1] : bounds[k] + std::max(1.0, std::abs(bounds[k]));
    return graph_.relation(Op::less, end, number(0.5 * (bounds[k] + following)), true);
  });
  if (table.start_time < -1e59) return value;
  return graph_.choice(graph_.relation(Op::less, t, number(table.start_time)), number(0.0), value);
}

Node Flattener::next_time_event(const Table& table, Node t) {
  const auto number = [&](double value) { return graph_.number(value); };
  const Pieces pieces = pieces_of(table, 0);
  Node u = graph_.subtract(t, number(table.shift_time));
  Node base = number(table.shift_time);
  Node next = number(never);
  const double span = std::abs(table.x.front()) + std::abs(table.x.back());
  const bool periodic = table.extrapolation == Extrapolation::periodic && table.period() > 0.0;
  if (periodic) {
    const Node period = number(table.period());
    const Node passed = graph_.divide(graph_.subtract(u, number(table.x.front())), period);
    const Node turns = graph_.multiply(graph_.call(Function::floor, graph_.add(passed, number(1e-10))), period);
    u = graph_.subtract(u, turns);
    base = graph_.add(base, turns);
    next = graph_.add(base, number(table.x.back()));
  }
  for (std::size_t k = pieces.bounds.size(); k-- > 0;) {
    if (table.events == TimeEvents::never || (table.events == TimeEvents::at_jumps && !pieces.jumps[k])) continue;
    const Node before = graph_.relation(Op::less, u, number(pieces.bounds[k] - 1e-12 * span), true);
    next = graph_.choice(before, graph_.add(base, number(pieces.bounds[k])), next);
  }
  if (table.start_time < -1e59) return next;
  return graph_.choice(graph_.relation(Op::less, t, number(table.start_time), true), number(table.start_time), next);
}

/// A call of one of the library's functions; `arguments` by position. False for other external functions.
bool Flattener::call_table(const std::string& external_name, const std::vector<Value>& arguments, bool silent,
                           Place place, Value& result) {
  if (!external_name.starts_with(library) || arguments.empty() || arguments[0].table == nullptr) return false;
  const Table& table = *arguments[0].table;
  const std::string name = external_name.substr(external_name.find('_', library.size()) + 1);
  const auto argument = [&](std::size_t k) {
    if (k >= arguments.size() || !arguments[k].is_scalar()) fail(place, "a function of a table takes numbers");
    return arguments[k].items[0];
  };
  const auto scalar = [&](Node node) {
    result = Value::scalar(node);
    return true;
  };
  const bool least = name == "minimumAbscissa" || name == "minimumTime";
  if (least || name == "maximumAbscissa" || name == "maximumTime") {
    const auto end = [&](const std::vector<double>& x) { return graph_.number(least ? x.front() : x.back()); };
    if (table.rows.empty()) return scalar(end(table.x));
    result = Value::vector({end(table.rows), end(table.x)});
    return true;
  }
  if (name == "nextTimeEvent") return scalar(next_time_event(table, argument(1)));
  const bool slope = name == "getDerValue";
  if (name != "getValue" && !slope) return false;
  if (!table.rows.empty()) {
    if (slope) fail(place, "the derivative of a table of two abscissas is not supported as a call");
    return scalar(surface_value(table, argument(1), argument(2), silent, place));
  }
  const double column = numeric(argument(1));
  if (!(column >= 1.0 && column <= static_cast<double>(table.columns.size()))) fail(place, "the table has no column");
  const std::size_t at = static_cast<std::size_t>(column) - 1;
  const bool by_events = table.of_time && table.events == TimeEvents::always;
  Node value = by_events ? time_table_value(table, at, argument(2), argument(3), slope, place)
                         : table_value(table, at, argument(2), slope, silent, place);
  if (slope) value = graph_.multiply(value, argument(table.of_time ? 5 : 3));
  return scalar(value);
}

/// Some exports call the library's functions and leave out their declarations.
bool Flattener::call_table_by_name(const std::string& name, const Expression& expression, const Scope& scope,
                                   Value& result) {
  static const std::string package = "Modelica.Blocks.Tables.Internal.";
  static const std::map<std::string, const char*> external = {
      {"getTable1DAbscissaUmin", "CombiTable1D_minimumAbscissa"},
      {"getTable1DAbscissaUmax", "CombiTable1D_maximumAbscissa"},
      {"getTable1DValue", "CombiTable1D_getValue"},
      {"getTable1DValueNoDer", "CombiTable1D_getValue"},
      {"getTable1DValueNoDer2", "CombiTable1D_getValue"},
      {"getDerTable1DValue", "CombiTable1D_getDerValue"},
      {"getDerTable1DValueNoDer", "CombiTable1D_getDerValue"},
      {"getDerTable1DValueNoDer2", "CombiTable1D_getDerValue"},
      {"getTimeTableTmin", "CombiTimeTable_minimumTime"},
      {"getTimeTableTmax", "CombiTimeTable_maximumTime"},
      {"getNextTimeEvent", "CombiTimeTable_nextTimeEvent"},
      {"getTimeTableValue", "CombiTimeTable_getValue"},
      {"getTimeTableValueNoDer", "CombiTimeTable_getValue"},
      {"getTimeTableValueNoDer2", "CombiTimeTable_getValue"},
      {"getDerTimeTableValue", "CombiTimeTable_getDerValue"},
      {"getDerTimeTableValueNoDer", "CombiTimeTable_getDerValue"},
      {"getDerTimeTableValueNoDer2", "CombiTimeTable_getDerValue"},
      {"getTable2DAbscissaUmin", "CombiTable2D_minimumAbscissa"},
      {"getTable2DAbscissaUmax", "CombiTable2D_maximumAbscissa"},
      {"getTable2DValue", "CombiTable2D_getValue"},
      {"getTable2DValueNoDer", "CombiTable2D_getValue"},
      {"getTable2DValueNoDer2", "CombiTable2D_getValue"},
      {"getDerTable2DValue", "CombiTable2D_getDerValue"},
      {"getDerTable2DValueNoDer", "CombiTable2D_getDerValue"},
      {"getDerTable2DValueNoDer2", "CombiTable2D_getDerValue"}};
  if (!name.starts_with(package)) return false;
  const auto found = external.find(name.substr(package.size()));
  if (found == external.end()) return false;
  std::vector<Value> arguments;
  for (const ExpressionPtr& operand : expression.operands) arguments.push_back(evaluate(*operand, scope));
  return call_table(library + found->second, arguments, scope.silent || scope.in_function, expression.place, result);
}

}  // namespace manyfold::modelica
