#pragma once
// From the syntax tree to scalar variables and equations: records and arrays are taken apart, loops unrolled, functions
// put in where they are called.
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/modelica/flat_model.hpp"
#include "host/modelica/syntax.hpp"
#include "host/modelica/value.hpp"

namespace manyfold::modelica {

struct Pieces;

/// Ends what is being flattened; the error is reported.
struct Refusal {};

/// Names of a function or a loop and what they stand for.
struct Scope {
  std::map<std::string, Value> values;
  const Scope* outer = nullptr;  ///< of iterators: what is around them
  bool in_function = false;
  bool silent = false;             ///< within noEvent
  const Value* indexed = nullptr;  ///< what `end` is the end of
  int dimension = 0;

  const Value* find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

class Flattener {
 public:
  /// `silent_kinks`: relations within smooth make no events, whatever its order.
  Flattener(const std::string& text, Diagnostics& diagnostics, bool silent_kinks)
      : text_(text), diagnostics_(diagnostics), silent_kinks_(silent_kinks) {}

  /// The model that stands last in `file`.
  FlatModel flatten(const Class& file);

 private:
  // flatten_declarations.cpp
  /// From the value of a record, or of an array of records, to a member.
  struct Step {
    int element = -1;  ///< of an array, in the order of rows
    std::string member;
  };
  /// Arrays of records that a member stands in: a modifier may have a value for each of their elements.
  struct Around {
    std::vector<int> dims;
    int element = 0;
  };
  /// A declaration as it occurs in the model: of a record's member once for each record.
  struct Instance {
    const Declaration* declaration = nullptr;
    std::string name;
    int first = 0;          ///< of its variables
    std::vector<int> dims;  ///< of an array
    unsigned truths = 0;    ///< as in Value
    const Expression* binding = nullptr;
    std::vector<Step> path;  ///< the member of the binding's record that is meant
    Around around;           ///< whose element it is, if the binding is a modifier's
    enum { unbound, binding_now, bound } state = unbound;
  };
  /// What modifies a declaration from outside.
  struct Outer {
    const Modifier* modifier = nullptr;
    const Expression* record_binding = nullptr;
    std::vector<Step> path;
    Around around;
    bool parameter = false;
    bool constant = false;
    bool discrete = false;
  };
  void collect_literals();
  void collect(const Class& file);
  void declare_model();
  void guess(const Expression& variable, const Expression& right);
  void declare(const Declaration& declaration, const std::string& prefix, const Outer& outer);
  void declare_scalars(const Declaration& declaration, const std::string& name, const Outer& outer, Type type,
                       const std::vector<const Modifier*>& attributes, const std::vector<int>& dims);
  void declare_record(const Declaration& declaration, const std::string& name, const Outer& outer, const Class& record,
                      const std::vector<int>& dims);
  void check_members(const std::vector<Modifier>& modifiers, const Class& record);
  bool resolve_type(const std::string& name, Type& type, std::vector<const Modifier*>& attributes,
                    std::vector<int>& dims, const Class*& record, Place place);
  FlatVariable& element_of(const Instance& instance, int place);
  void set_attributes(int instance, const std::vector<const Modifier*>& attributes, const Around& around);
  Value own_part(const Value& value, const Around& around, const std::vector<int>& dims) const;
  Value given_value(int instance);
  void bind(int instance);
  std::vector<int> dimensions(const std::vector<ExpressionPtr>& expressions, const std::string& name,
                              const Expression* binding);
  static bool is_truth_dimension(const Expression& dimension);
  int size_of_type(const Expression& dimension);
  static unsigned truths_of(const std::vector<ExpressionPtr>& dimensions);
  Node node_of(int index);
  Value value_of_name(const std::string& name, Place place);
  bool known_name(const std::string& name);

  // flatten_parts.cpp
  /// What is declared below a name that has no declaration itself: elements of an array, or members of a record.
  struct Parts {
    std::vector<int> dims;
    std::vector<std::string> members;
    std::vector<std::string> names;
  };
  const Parts& parts_of(const std::string& name);
  bool assembled(const std::string& name, const Scope& scope, Place place, Value& result);

  // flatten_expressions.cpp
  Value evaluate(const Expression& expression, const Scope& scope);
  Node scalar(const Expression& expression, const Scope& scope);
  Node number_of(const Expression& expression, const Scope& scope);
  Node single(const Value& value, Place place);
  bool is_boolean(Node node) const;
  void check_conditions(const Value& value, Place place);
  Node condition(const Expression& expression, const Scope& scope);
  double constant(const Expression& expression, const Scope& scope, const char* what);
  int integer(const Expression& expression, const Scope& scope, const char* what);
  double numeric(Node node);
  Value power(const Expression& expression, const Scope& scope);
  Value relation(const Expression& expression, const Scope& scope);
  void check_shapes(const std::string& word, const Value& a, const Value& b, Place place);
  Value chain(const Expression& expression, const Scope& scope);
  Value choice(const Expression& expression, const Scope& scope);
  Value merge(Node condition, const Value& a, const Value& b, Place place);
  void spend(Place place);

  // flatten_types.cpp
  bool is_whole(Node node) const;
  void check_enumeration(const Instance& instance, const Expression& binding);
  void check_number(const Value& value, Place place);
  void check_arguments(const std::string& name, const Expression& call, std::size_t count);
  std::string enumeration_of(const Expression& expression, const Scope& scope);
  Type plain_type(const Expression& expression, const Scope& scope) const;
  void check_enumerations(const Expression& a, const Expression& b, const Scope& scope);
  void check_type(Type type, const std::string& name, const Value& value, Place place);
  Type basic_type(const std::string& name) const;
  const Declaration* declaration_in(const Class& function, const std::vector<NamePart>& parts) const;
  void check_whole_unknowns();
  void check_values_before();
  void warn_of_equalities();
  std::pair<double, double> bounds_of(Node node, int depth);
  void check_subscript(Node index, int size, const std::string& name, Place place);

  // flatten_references.cpp
  Value reference(const Expression& expression, const Scope& scope);
  Value part_of(const Value& whole, const Expression& expression, std::size_t first, const Scope& scope);
  bool record_array(const std::string& name, const Scope& scope, Place place, Value& result);
  void check_visible(const std::string& name, Place place);
  Value member(const Value& record, const std::string& name, Place place);
  Value subscripted(const Value& value, const std::vector<ExpressionPtr>& subscripts, const Scope& scope, Place place,
                    const std::string& name = "");
  std::string element_name(const std::string& name, const std::vector<ExpressionPtr>& subscripts, const Scope& scope);
  bool is_truth(const Expression& expression, const Scope& scope);
  void check_kind(const Value& value, std::size_t dimension, const Expression& subscript, const Scope& scope);
  Node is_subscript(Node index, int number);
  Value element_at(const Value& value, const std::vector<Node>& indices, Place place);

  // flatten_arrays.cpp
  Value elementwise(const Value& a, const Value& b, Place place, const std::function<Node(Node, Node)>& combine);
  Value product(const Value& a, const Value& b, Place place);
  Value array_of(std::vector<Value> elements, Place place);
  Value matrix(const Expression& expression, const Scope& scope);
  Value comprehension(const Expression& expression, const Scope& scope);
  Value range(const Expression& expression, const Scope& scope);
  std::vector<Node> values_of(const Iterator& iterator, const Scope& scope);
  std::vector<Node> deduced_range(const Iterator& iterator, const Scope& scope);
  std::vector<Node> numbered(int size, bool of_truths);
  Value shape_before(const Expression& reference, std::size_t part, const Scope& scope);
  void for_each(const std::vector<Iterator>& iterators, std::size_t at, const Scope& scope,
                const std::function<void(const Scope&)>& body);

  // flatten_calls.cpp
  Value call(const Expression& expression, const Scope& scope);
  Value literal_of_number(const Class& type, const Expression& call, const Scope& scope);
  Value argument(const Expression& expression, const Scope& scope);
  Value call_tuple(const Statement& statement, const Scope& scope);
  bool call_elementary(const std::string& name, const Expression& expression, const Scope& scope, Value& result);
  bool call_array(const std::string& name, const Expression& expression, const Scope& scope, Value& result);
  bool linspace(const Expression& expression, const Scope& scope, Value& result);
  Value catenated(const Expression& expression, const Scope& scope);
  bool call_shape(const std::string& name, const Expression& expression, const Scope& scope, Value& result);
  bool call_matrix(const std::string& name, const Expression& expression, const Scope& scope, Value& result);
  Node before_event(Node item, const std::string& function, Place place);
  bool call_event(const std::string& name, const Expression& expression, const Scope& scope, Value& result);
  Value derivative(const Expression& expression, const Scope& scope);
  /// u with f(u) = 0 between `low` and `high`.
  struct ZeroSearch {
    std::string function;
    std::function<Node(Node)> residual;
    Node low = no_node;
    Node high = no_node;
    Place place = 0;
  };
  Value zero_of(const Expression& expression, const Scope& scope);
  Node bisected(const ZeroSearch& search);
  Node made_zero(const ZeroSearch& search, Node& u);
  Value homotopy(const Expression& expression, const Scope& scope);
  bool varies(Node root) const;
  Value reduction(const std::string& name, const Expression& expression, const Scope& scope);

  // flatten_delay.cpp
  struct Delay {
    int variable = -1;
    Node value = no_node;
    Node by = no_node;
    Place place = 0;
  };
  Value delayed(const Expression& expression, const Scope& scope);
  Node followed(Node root, int depth);
  void check_delayed(Node value, Place place);
  void finish_delays();

  // flatten_tables.cpp
  Value construct_table(const Class& type, const Expression& expression, const Scope& scope);
  void read_table(const Expression& data, const Expression& columns, const Scope& scope, Table& table);
  Node chosen_piece(const Pieces& pieces, Node u, bool slope, const std::function<Node(std::size_t)>& inside);
  double table_number(Node node, Place place);
  Value table_matrix(const Expression& data, const Scope& scope);
  void read_rows(const Expression& data, const Scope& scope, Table& table);
  Node table_argument(const Table& table, const std::vector<double>& x, Node u, bool silent, Place place);
  Node surface_value(const Table& table, Node u1, Node u2, bool silent, Place place);
  Node table_value(const Table& table, std::size_t column, Node u, bool slope, bool silent, Place place);
  Node time_table_value(const Table& table, std::size_t column, Node t, Node next, bool slope, Place place);
  Node next_time_event(const Table& table, Node t);
  bool call_table(const std::string& external_name, const std::vector<Value>& arguments, bool silent, Place place,
                  Value& result);
  bool call_table_by_name(const std::string& name, const Expression& expression, const Scope& scope, Value& result);

  // flatten_functions.cpp
  /// What a function or an algorithm has set; where control may have left it, `gone` holds the condition.
  struct Frame {
    Scope scope;
    Node left = no_node;              ///< true: break
    Node returned = no_node;          ///< true: return
    bool model = false;               ///< an algorithm of the model: other names are its variables
    bool initial = false;             ///< an initial algorithm, which may set parameters
    std::set<std::string> iterators;  ///< of the loops around
    const Class* function = nullptr;
    std::set<std::string> assigned;
  };
  void execute(std::span<const Statement> statements, Frame& frame);
  void execute(const Statement& statement, Frame& frame);
  void execute_choice(const Statement& statement, std::size_t branch, Frame& frame);
  void execute_loop(const Statement& statement, Frame& frame);
  void execute_open_loop(const Statement& statement, Frame& frame, int turns, std::size_t begin);
  void execute_when(const Statement& statement, Frame& frame);
  void assign(const Expression& target, const Value& value, Frame& frame);
  void check_assigned(const Expression& target, const Value& value, const Frame& frame);
  void assign_member(Value& whole, const Expression& target, std::size_t part, const Value& value, Frame& frame);
  std::size_t at_positions(const Value& whole, const std::string& name, const std::vector<ExpressionPtr>& subscripts,
                           const Frame& frame, Place place,
                           const std::function<void(std::size_t, std::size_t, Node)>& assign);
  void assign_elements(Value& whole, const std::string& name, const std::vector<ExpressionPtr>& subscripts,
                       const Value& value, Frame& frame, Place at);
  void assign_parts(const std::string& name, const Expression& target, const Value& value, Frame& frame);
  void merge_frames(Node condition, Frame& taken, const Frame& other, Frame& into, Place place);
  Value current(const std::string& name, const Frame& frame, Place place);

  // flatten_function_calls.cpp
  /// A function that is called, or a record that is made.
  struct Callee {
    std::string name;
    std::vector<const Declaration*> inputs;
    Place place = 0;  ///< of the call
  };
  std::vector<Member> given_inputs(const Callee& callee, const Expression& expression, const Scope& scope,
                                   const std::vector<Member>& given_before);
  std::size_t rank_of(const Declaration& declaration) const;
  std::vector<int> extra_dimensions(const Callee& callee, const std::vector<Member>& inputs);
  void for_each_element(const Callee& callee, const std::vector<Member>& inputs, const std::vector<int>& extra,
                        const std::function<void(std::vector<Member>)>& call);
  static Value slice(const Value& value, std::size_t dimensions, std::size_t at);
  Value shaped(std::vector<Value> elements, const std::vector<int>& dims, Place place);
  const Class& written_function(const Class& function);
  Value results_of_all(const Class& function, const std::vector<Value>& each, const std::vector<int>& extra,
                       Place place);
  void check_dimensions(const Class& function, const Scope& scope, Place place);
  Value carry_out(const Class& function, const std::vector<Member>& inputs, bool silent, Place place);
  Value partial_derivatives(const Class& function, const std::vector<Member>& inputs, bool silent, Place place);
  Node at_inputs(Node node, std::size_t first);
  Value call_function(const Class& function, const Expression& expression, const Scope& scope, bool all,
                      const std::vector<Member>& given_before = {});
  Value construct(const Class& record, const Expression& expression, const Scope& scope);
  Value default_of(const Declaration& declaration, const Scope& scope);
  void complete_output(const Class& function, const Declaration& output, const Frame& frame, Value& value);

  // flatten_equations.cpp
  void sections(const Class& model);
  void equation(const Statement& statement, const Scope& scope, bool initial, Node guard);
  /// Where an equation stands, and how it is written there.
  struct EquationText {
    Place place = 0;
    std::string text;
  };
  bool same_constant(const Member& left, const Member& right, Place place);
  void equate(const Value& left, const Value& right, const EquationText& of, bool initial);
  bool prioritize(const Expression& call, const Scope& scope);
  void equation_choice(const Statement& statement, const Scope& scope, bool initial);
  void warn_of_other_sets(const Statement& statement,
                          const std::vector<std::pair<Node, std::map<std::string, Value>>>& branches);
  void equation_when(const Statement& statement, const Scope& scope);
  void when_body(const std::vector<Statement>& body, const Scope& scope, Node edge,
                 std::map<std::string, Value>& assigned);
  bool call_statement(const Expression& call, const Scope& scope, Node guard);
  void assertion(const Expression& call, const Scope& scope);
  void assert_that(Node condition, const std::string& message, Place place);
  void begin_algorithm(const std::vector<Statement>& statements, bool at_events, Frame& frame);
  void algorithm(const Section& section);
  Node edge_of(const Expression& condition, const Scope& scope);
  std::string text_of(Place begin, Place end) const;
  void finish_discrete();
  void check_differentiated();

  /// Does `work` where control comes under the condition `path` alone.
  template <class Work>
  auto under(Node path, Work&& work) {
    const struct Back {
      Node& path;
      Node before;
      ~Back() { path = before; }
    } back{path_, path_};
    path_ = path;
    return work();
  }
  /// The same within what surrounds it.
  template <class Work>
  auto within(Node condition, Work&& work) {
    return under(graph_.conjunction(path_, condition), work);
  }

  [[noreturn]] void fail(Place place, const std::string& message);
  template <class Work>
  void guarded(Work&& work) {
    const int depth = depth_;
    try {
      if (!diagnostics_.full()) work();
    } catch (const Refusal&) {
      depth_ = depth;
    }
  }
  const Class* find_class(const std::string& name) const;
  std::size_t parts_of_package(const Expression& name);
  const Class& function_of_tuple(const Expression& call);
  [[noreturn]] void fail_unknown_function(const Expression& call);
  [[noreturn]] void fail_unknown_name(Place place, const std::string& name);
  std::string did_you_mean_name(const std::string& name) const;

  const std::string& text_;
  Diagnostics& diagnostics_;
  bool silent_kinks_;
  FlatModel model_;
  Graph& graph_ = model_.graph;
  const Class* main_ = nullptr;
  std::map<std::string, const Class*> classes_;
  std::map<std::string, std::set<std::string>> packages_;  ///< names that are declared in a package, by its name
  std::map<std::string, double> literals_;                 ///< of enumerations: E.a is 1, ...
  std::map<std::string, const Declaration*> pending_;      ///< declarations of the model, by name
  std::set<std::string> declaring_;
  std::vector<Instance> instances_;
  std::vector<int> instance_of_;  ///< by variable
  std::unordered_map<std::string, int> instance_by_name_;
  std::unordered_map<std::string, int> scalar_by_name_;
  std::map<std::string, std::vector<std::string>> records_;  ///< members of a record, by its name
  std::map<std::string, std::vector<int>> record_arrays_;    ///< dimensions, by name
  std::map<std::string, const Expression*> objects_;         ///< external objects and what makes them
  std::map<std::string, Value> made_objects_;
  std::map<std::string, Parts> parts_;
  std::vector<Node> inputs_;                   ///< values of those that functions are differentiated by
  Node path_ = graph_.number(1.0);             ///< under which control comes to what is evaluated
  std::map<Place, std::size_t> assertion_at_;  ///< of an assert, number among the model's
  std::set<std::pair<Place, Node>> asserted_;
  std::set<const Class*> checking_;                   ///< functions that are called for their assertions
  std::map<std::pair<Node, Node>, Node> homotopies_;  ///< variables, by what is actual and what is simplified
  std::map<std::pair<const Class*, std::vector<Node>>, Node> zeros_;  ///< by function, bounds and other inputs
  std::vector<FlatEquation> made_equations_;                          ///< of variables that the file does not have
  std::unordered_map<Node, std::pair<double, double>> bounds_;
  std::map<Place, Node> equalities_;
  std::map<int, Place> before_;  ///< variables whose value before an event is asked for outside of when clauses
  std::vector<Delay> delays_;
  std::map<int, Node> definitions_;  ///< of variables, for what is delayed: right sides of x = ...
  long spent_ = 0;
  int depth_ = 0;
};

}  // namespace manyfold::modelica
