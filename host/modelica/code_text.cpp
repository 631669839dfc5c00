#include "host/modelica/code_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace manyfold::modelica {
namespace {

/// Compilers nest expressions as deep as they are written.
constexpr int deepest_expression = 24;

enum Precedence { any_of = 1, all_of, compared, sum, product, sign, atom };

const std::set<std::string> reserved = {
    "alignas",  "alignof",   "and",         "asm",        "auto",      "bitand",
    "bitor",    "bool",      "break",       "case",       "catch",     "char",
    "class",    "compl",     "concept",     "const",      "constexpr", "continue",
    "decltype", "default",   "delete",      "do",         "double",    "dynamic_cast",
    "else",     "enum",      "explicit",    "export",     "extern",    "false",
    "float",    "for",       "friend",      "goto",       "if",        "inline",
    "int",      "long",      "mutable",     "namespace",  "new",       "noexcept",
    "not",      "nullptr",   "operator",    "or",         "private",   "protected",
    "public",   "register",  "requires",    "return",     "short",     "signed",
    "sizeof",   "static",    "struct",      "switch",     "template",  "this",
    "throw",    "true",      "try",         "typedef",    "typeid",    "typename",
    "union",    "unsigned",  "using",       "virtual",    "void",      "volatile",
    "wchar_t",  "while",     "xor",         "manyfold",   "select",    "y",
    "dy",       "p",         "t",           "f",          "d",         "g",
    "o",        "z",         "r",           "event",      "times",     "pass",
    "sqrt",     "cbrt",      "exp",         "expm1",      "log",       "log10",
    "log1p",    "sin",       "cos",         "tan",        "asin",      "acos",
    "atan",     "atan2",     "sinh",        "cosh",       "tanh",      "pow",
    "abs",      "min",       "max",         "square",     "floor",     "unix",
    "linux",    "name",      "variables",   "parameters", "derived",   "operations",
    "rhs",      "initial",   "derive",      "root",       "action",    "events",
    "discrete", "I",         "observables", "observe",    "t_span",    "description",
    "count",    "before",    "NULL",        "assert",     "errno",     "stdin",
    "stdout",   "stderr",    "EOF",         "y0",         "y1",        "yn",
    "j0",       "j1",        "jn",          "gamma",      "gamma_h",   "over_gamma_h",
    "base",     "offset",    "constants",   "lambda",     "moves",     "single",
    "old",      "changed",   "first",       "never",      "was",       "unsettled",
    "fires",    "occurring", "steps",       "looked",     "side",      "k",
    "terms",    "Number",    "nudge",       "near",       "moment"};

}  // namespace

std::string Names::of(const std::string& wish) {
  std::string name;
  for (const char letter : wish) {
    const auto byte = static_cast<unsigned char>(letter);
    const char next = byte < 0x80 && std::isalnum(byte) != 0 ? letter : '_';
    if (next == '_' && !name.empty() && name.back() == '_') continue;
    name += next;
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = fmt::format("n{}", name);
  if (name[0] == '_') name = fmt::format("n{}", name);
  name = name.substr(0, 60);
  if (reserved.contains(name)) name += "_";
  std::string result = name;
  int& count = counts_[name];
  while (!taken_.insert(result).second) result = fmt::format("{}_{}", name, ++count + 1);
  return result;
}

std::string literal(double value) {
  if (std::isnan(value)) return "(0.0 / 0.0)";
  if (std::isinf(value)) return value > 0.0 ? "1e300 * 1e300" : "-1e300 * 1e300";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// What is below the root and not known yet, operands first.
std::vector<Node> Body::unknown_below(Node root) const {
  std::vector<Node> found;
  std::vector<Node> open = {root};
  std::set<Node> seen;
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (known_.contains(node) || !seen.insert(node).second) continue;
    found.push_back(node);
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) open.push_back(operand);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void Body::announce(Node root) {
  for (const Node node : unknown_below(root)) {
    if (!announced_.insert(node).second) continue;
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) ++uses_[operand];
    }
  }
  ++uses_[root];
}

void Body::comment(const std::string& text) {
  std::string visible;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    visible += byte < 0x20 || letter == '\\' || letter == '?' ? ' ' : letter;
  }
  line(fmt::format("// {}", visible));
}

/// Shared and deep parts become numbers of their own.
void Body::prepare(Node root) {
  const std::vector<Node> nodes = unknown_below(root);
  // Of what was not announced, what occurs twice below the root itself.
  std::unordered_map<Node, int> uses_here;
  for (const Node node : nodes) {
    for (const Node operand : graph_[node].operand) {
      if (operand != no_node) ++uses_here[operand];
    }
  }
  std::unordered_map<Node, int> depth;
  for (const Node node : nodes) {
    const NodeData& data = graph_[node];
    const int count = Graph::operands(data);
    int deepest = 0;
    for (int k = 0; k < count; ++k) deepest = std::max(deepest, depth[data.operand[k]] + 1);
    depth[node] = deepest;
    const bool trivial = count == 0 || (data.op == Op::negate && deepest == 1);
    const auto shared = uses_.find(node);
    if (node == root || trivial) continue;
    const bool once = (shared == uses_.end() || shared->second < 2) && uses_here[node] < 2;
    if (deepest < deepest_expression && once) continue;
    // A part is written where something needs it that is not known yet.
    const std::string name = names_.of(graph_.is_condition(node) ? "c" : "e");
    int ignored = 0;
    line(fmt::format("const auto {} = {};", name, print(node, ignored)));
    known_[node] = name;
    temporaries_.insert(node);
    depth[node] = 0;
  }
}

void Body::let(Node quantity, const std::string& wish, Node value, const std::string& text) {
  prepare(value);
  const std::string name = names_.of(wish);
  int ignored = 0;
  const std::string expression = number_at(value, ignored);
  if (!text.empty()) comment(text);
  line(fmt::format("const auto {} = {};", name, expression));
  known_[quantity] = name;
}

std::string Body::let_mask(const std::string& wish, Node condition) {
  const std::string text = mask(condition);
  std::string name = names_.of(wish);
  line(fmt::format("const auto {} = {};", name, text));
  return name;
}

std::string Body::number(Node node) {
  prepare(node);
  int ignored = 0;
  return number_at(node, ignored);
}

std::string Body::mask(Node node) {
  prepare(node);
  int precedence = atom;
  const std::string text = print(node, precedence);
  if (graph_.is_number(node)) return graph_.value(node) != 0.0 ? "true" : "false";
  if (graph_.is_condition(node)) return text;
  return fmt::format("{} > 0.5", precedence <= compared ? fmt::format("({})", text) : text);
}

/// A condition as a number is 0 or 1.
std::string Body::number_at(Node node, int& precedence) {
  const std::string text = print(node, precedence);
  if (graph_.is_number(node) || !graph_.is_condition(node)) return text;
  precedence = atom;
  return fmt::format("select({}, 1.0, 0.0)", text);
}

std::string Body::operand(Node node, int least) {
  int precedence = atom;
  std::string text;
  if (least <= all_of) {
    // As a condition.
    text = print(node, precedence);
    if (graph_.is_number(node)) return graph_.value(node) != 0.0 ? "true" : "false";
    if (!graph_.is_condition(node)) {
      text = fmt::format("{} > 0.5", precedence <= compared ? fmt::format("({})", text) : text);
      precedence = compared;
    }
    // Words of conditions are always in brackets: & and | bind less than comparisons for few readers.
    return precedence == atom ? text : fmt::format("({})", text);
  }
  text = number_at(node, precedence);
  return precedence < least ? fmt::format("({})", text) : text;
}

std::string Body::print(Node node, int& precedence) {
  precedence = atom;
  if (const auto found = known_.find(node); found != known_.end()) {
    if (found->second.find(' ') != std::string::npos) precedence = compared;
    return found->second;
  }
  const NodeData& data = graph_[node];
  const Node a = data.operand[0];
  const Node b = data.operand[1];
  const auto join = [&](int own, const char* word, int left, int right) {
    const std::string text = fmt::format("{} {} {}", operand(a, left), word, operand(b, right));
    precedence = own;
    return text;
  };
  switch (data.op) {
    case Op::number:
      precedence = data.number < 0.0 || std::isinf(data.number) ? sign : atom;
      return literal(data.number);
    case Op::add:
      return join(sum, "+", sum, product);
    case Op::subtract:
      return join(sum, "-", sum, product);
    case Op::multiply:
      return join(product, "*", product, sign);
    case Op::divide:
      return join(product, "/", product, sign);
    case Op::negate: {
      const std::string text = fmt::format("-{}", operand(a, atom));
      precedence = sign;
      return text;
    }
    case Op::less:
      return join(compared, "<", sum, sum);
    case Op::less_equal:
      return join(compared, "<=", sum, sum);
    case Op::equal:
      return join(compared, "==", sum, sum);
    case Op::conjunction:
      return join(all_of, "&", all_of, all_of);
    case Op::disjunction:
      return join(any_of, "|", any_of, any_of);
    case Op::negation:
      return fmt::format("!{}", operand(a, all_of));
    case Op::power:
      return fmt::format("pow({}, {})", operand(a, compared), operand(b, compared));
    case Op::choice:
      return fmt::format("select({}, {}, {})", operand(a, any_of), operand(b, compared),
                         operand(data.operand[2], compared));
    case Op::call: {
      const char* name = function_names[data.index];
      if (b == no_node) return fmt::format("{}({})", name, operand(a, compared));
      return fmt::format("{}({}, {})", name, operand(a, compared), operand(b, compared));
    }
    default:
      break;
  }
  if (data.op == Op::variable) throw UnknownQuantity{node};
  throw std::logic_error("an expression has a leaf that the function does not know");
}

Body Body::inner(int more) const {
  Body result(graph_, names_, indent_ + more);
  result.known_ = known_;
  result.temporaries_ = temporaries_;
  result.uses_ = uses_;
  result.announced_ = announced_;
  return result;
}

void Body::forget(Node leaf) {
  std::erase_if(temporaries_, [&](Node node) {
    const std::vector<Node> below = graph_.below(node);
    const bool stale = std::binary_search(below.begin(), below.end(), leaf);
    if (stale) known_.erase(node);
    return stale;
  });
}

Body Body::afresh() const {
  Body result(graph_, names_, indent_);
  result.known_ = known_;
  for (const Node node : temporaries_) result.known_.erase(node);
  return result;
}

}  // namespace manyfold::modelica
