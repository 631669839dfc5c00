// Tables with one abscissa, whose functions are external in the Modelica Standard Library, become expressions.
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
  if (constructor == nullptr || !constructor->external_name.starts_with(library + "Combi") ||
      constructor->external_name.starts_with(library + "CombiTable2D")) {
    fail(expression.place, fmt::format("'{}' is an external object: of those, only tables with one abscissa are "
                                       "supported",
                                       type.name));
  }
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
  if (arguments["table"] == nullptr || arguments["columns"] == nullptr) {
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
  read_table(*arguments["table"], *arguments["columns"], scope, table);
  Value result;
  result.table = std::make_shared<const Table>(std::move(table));
  return result;
}

void Flattener::read_table(const Expression& data, const Expression& columns, const Scope& scope, Table& table) {
  const Value matrix = evaluate(data, scope);
  if (matrix.dims.size() != 2 || matrix.items.empty()) {
    fail(data.place, "the data of the table are in a file: not supported");
  }
  const auto width = static_cast<std::size_t>(matrix.dims[1]);
  const auto known = [&](Node node) {
    const double value = numeric(node);
    if (!std::isfinite(value)) fail(data.place, "the data of a table need to be known when the model is compiled");
    return value;
  };
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

Node Flattener::table_value(const Table& table, std::size_t column, Node u, bool slope, bool silent, Place place) {
  Pieces pieces = pieces_of(table, column);
  if (pieces.bounds.empty()) fail(place, "a table of splines whose abscissas repeat is not supported");
  const Node first = graph_.number(table.x.front());
  if (table.extrapolation == Extrapolation::periodic && table.period() > 0.0) {
    const Node period = graph_.number(table.period());
    const Node turns = graph_.call(Function::floor, graph_.divide(graph_.subtract(u, first), period), no_node, silent);
    u = graph_.subtract(u, graph_.multiply(turns, period));
  }
  if (table.extrapolation == Extrapolation::none) {
    const Node last = graph_.number(table.x.back());
    const Node inside_all = graph_.conjunction(graph_.relation(Op::less_equal, first, u, true),
                                               graph_.relation(Op::less_equal, u, last, true));
    assert_that(inside_all, "the table is left, and does not extrapolate", place);
  }
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
bool Flattener::call_table(const Class& function, const std::vector<Value>& arguments, bool silent, Place place,
                           Value& result) {
  if (!function.external_name.starts_with(library) || arguments.empty() || arguments[0].table == nullptr) return false;
  const Table& table = *arguments[0].table;
  const std::string name = function.external_name.substr(function.external_name.find('_', library.size()) + 1);
  const auto argument = [&](std::size_t k) {
    if (k >= arguments.size() || !arguments[k].is_scalar()) fail(place, "a function of a table takes numbers");
    return arguments[k].items[0];
  };
  const auto scalar = [&](Node node) {
    result = Value::scalar(node);
    return true;
  };
  if (name == "minimumAbscissa" || name == "minimumTime") return scalar(graph_.number(table.x.front()));
  if (name == "maximumAbscissa" || name == "maximumTime") return scalar(graph_.number(table.x.back()));
  if (name == "nextTimeEvent") return scalar(next_time_event(table, argument(1)));
  const bool slope = name == "getDerValue";
  if (name != "getValue" && !slope) return false;
  const double column = numeric(argument(1));
  if (!(column >= 1.0 && column <= static_cast<double>(table.columns.size()))) fail(place, "the table has no column");
  const std::size_t at = static_cast<std::size_t>(column) - 1;
  const bool by_events = table.of_time && table.events == TimeEvents::always;
  Node value = by_events ? time_table_value(table, at, argument(2), argument(3), slope, place)
                         : table_value(table, at, argument(2), slope, silent, place);
  if (slope) value = graph_.multiply(value, argument(table.of_time ? 5 : 3));
  return scalar(value);
}

}  // namespace manyfold::modelica
