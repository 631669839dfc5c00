#pragma once
// The reduced model as C++: one struct, as users write them.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/modelica/code_text.hpp"
#include "host/modelica/reduced.hpp"

namespace manyfold::modelica {

/// A text as a C++ literal.
std::string quoted(const std::string& text);
/// {.name = "...", .unit = ..., without the closing brace.
std::string described(const FlatVariable& variable, const std::string& name);
/// A function of the struct.
std::string function(const std::string& signature, const std::string& body);

class ModelCode {
 public:
  /// `file`: where the model comes from, for the first line. The graph gets further nodes.
  ModelCode(ReducedModel& model, std::string file);

  /// The text of the header.
  std::string text();

 private:
  /// An event of the integrator.
  struct Event {
    std::string name;
    std::string description;
    Node root = no_node;  ///< crosses zero; no_node: scheduled
    Node time = no_node;  ///< of a scheduled event
    int direction = 0;
    bool terminal = false;
    bool failure = false;
    bool of_start = false;  ///< is found across at the start, if what is due then is to be done
  };

  // model_code.cpp
  void number_quantities();
  void hoist();
  void hoist_below(Node root);
  bool from_parameters(Node node);
  Node with_reciprocals(Node root, const std::function<bool(Node)>& known);
  /// Bounds that are numbers; those that depend on parameters are left out.
  std::string ranged(const FlatVariable& variable) const;
  std::string variables();
  std::string parameters();
  std::string reason_to_be_fixed(int index) const;
  std::string fixed_parameters();
  std::string derive();
  int operations(const std::vector<Node>& outputs);
  std::string rhs();
  std::string invariants();
  std::string observables();
  std::vector<Node> observed_quantities();

  // model_initial.cpp
  std::string initial();
  bool needs_initial();
  Node start_of(Node quantity);
  /// Where it depends on what `body` does not know, zero.
  Node known_start_of(const Body& body, Node quantity);
  void find_own_starts();
  void start_as_set(Body& body, Node state);
  std::string initial_from(Node quantity);
  void initial_block(Body& body, const Block& block);
  void solve_initially(Body& body, const Block& block);
  Body initial_residuals(const Body& body, const Block& block, const std::vector<Node>& unknowns);

  // model_stage.cpp
  std::string stage();
  std::string stage_constants();
  std::string stage_terms();
  std::string stage_guess();
  Node stage_guess_of(Node torn);
  std::string stage_equations();
  void gather_stage_steps();
  void hoist_stage();
  /// Since when a number of a stage is known: since the step, from parameters, the discrete state and gamma h; since
  /// the stage, from its time and its base too; or in an iteration.
  enum class Since { step, stage, iteration };
  Since known_since(Node node);
  std::vector<Step> stage_steps(Since since);
  void bind_stage(Body& body);

  /// Names for the leaves below the roots: `unknowns`[i], p[i], and `t`.
  void prologue(Body& body, const std::vector<Node>& roots, const std::string& discrete) {
    prologue(body, roots, discrete, place_in_y_, "y", "t");
  }
  void prologue(Body& body, const std::vector<Node>& roots, const std::string& discrete,
                const std::unordered_map<Node, int>& places, const std::string& unknowns,
                const std::string& time = "t");
  /// What `outputs` need of the assignments, and leaves of all that.
  static std::vector<const Step*> needed(const Graph& graph, const std::vector<Step>& steps,
                                         const std::vector<Node>& outputs, std::vector<Node>& all);
  void assign(Body& body, const std::vector<const Step*>& sequence, const std::vector<Equation>& equations);
  void program(Body& body, const std::vector<Node>& outputs, const std::string& discrete,
               const std::string& unknowns = "y", const std::string& time = "t");
  std::string comment_of(const Step& step, const std::vector<Equation>& equations) const;
  static std::string text_of(const Equation& equation);
  const std::vector<Step>& steps() const { return steps_; }

  // model_events.cpp
  void find_stored_relations();
  Node root_of(std::size_t k);
  Node plain_root_of(std::size_t k);
  void find_events();
  void add_whole_parts();
  void add_terminals();
  void add_first(const FlatAction& action, Node root);
  bool scheduled_at(const Relation& relation, Node& time, bool& rises);
  Node distance(Node condition);
  void add_event(Event event);
  std::string text_of(Node node);
  std::string events();
  std::string root();
  std::string sides();
  std::string event_times();
  std::string discrete_numbers();

  // model_watch.cpp
  void note_what_stays(Node root, const std::vector<bool>& watched, std::unordered_map<Node, bool>& stays);
  Node between_events(Node condition);
  std::vector<Node> where_relations_matter(const std::vector<bool>& watched);
  void find_watched();

  // model_first_edges.cpp
  /// A condition of a when clause that may become true at the start: where it is `due`, its number at `place` among the
  /// discrete ones is 1.
  struct FirstEdge {
    int condition;
    Node due;
    int place;
  };
  Node equation_of_boolean(int index);
  Node plain_at_start(int k);
  Node as_it_starts(Node condition, int depth, bool& differs);
  void find_first_edges();
  void add_first_edges();
  void first_edges_now(Body& pass, bool initial);
  std::string root_of_first_edges() const;

  // model_update.cpp
  std::string initial_discrete();
  std::string action();
  /// What happens at an event, or at the start, until nothing changes any more.
  void update(Body& body, bool initial);
  void conditions_before(Body& body);
  void condition_now(Body& pass, int k, bool initial);
  bool starts_from_computed(int index);
  void discrete_now(Body& pass, int i, bool initial);
  void all_now(Body& pass, bool initial);
  void reinitialise(Body& pass);
  void end(Body& pass);
  void first_reinit(Body& pass);
  void whole_parts_now(Body& pass, bool initial);
  Node whole_part_at_event(Body& pass, int k);
  void values_before(Body& pass);
  Body begin_pass(Body& body);
  void end_pass(Body& pass);
  void count_steps(Body& body);
  bool has_discrete(Node root);
  void look_at_arguments(Body& pass);
  void look_at_relations(Body& pass);
  bool changes_by_clauses(Node root, std::set<const FlatEquation*>& looked_at);
  void forget_events(Body& pass);
  void find_jumps();
  std::vector<Node> roots_of_update(bool initial);

  // model_relations.cpp
  std::vector<Node> reached(Node root);
  bool depends_on_torn(Node root);
  Incidence uses_at_events();
  std::vector<int> order_at_events();
  void renew(Body& pass, Node leaf);
  void refresh(Body& pass, Node root);
  std::string tells(int event, int k);
  void relation_now(Body& pass, int k, bool initial);
  std::string one_at_a_time(Body& pass, std::size_t relation, const std::string& now);
  int switch_count() const;
  Node rate_of(Node root);
  Node of_equal_sides(const Relation& relation);
  Node at_start_of(const Relation& relation);

  ReducedModel& model_;
  Graph& graph_;
  std::string file_;
  Names names_;
  std::vector<Step> steps_;  ///< of all blocks
  std::unordered_map<Node, std::size_t> step_of_;
  std::vector<Node> y_;  ///< states, then torn
  std::unordered_map<Node, int> place_in_y_;
  std::unordered_map<Node, Node> own_starts_;
  std::vector<int> parameters_;  ///< variables
  std::unordered_map<int, int> place_of_parameter_;
  std::vector<Node> derived_;
  std::unordered_map<Node, int> place_of_derived_;
  std::unordered_map<Node, bool> from_parameters_;
  std::vector<Step> stage_steps_;
  std::vector<Node> stage_constants_;  ///< known since the step
  std::vector<Node> stage_terms_;      ///< known since the stage
  std::unordered_map<Node, Since> since_;
  std::unordered_map<int, int> place_of_discrete_;
  std::vector<int> clocks_;  ///< places of the counts of clocks among the discrete numbers
  std::vector<Event> events_;
  std::vector<int> slot_of_relation_;   ///< among the discrete numbers; -1: not kept
  std::vector<int> event_of_relation_;  ///< where it becomes true
  std::vector<int> end_of_relation_;    ///< where it becomes false; -1: the same, or of no interest
  std::vector<int> event_of_clock_;
  std::vector<std::pair<int, int>> events_of_whole_part_;  ///< upwards and downwards; -1: that never comes
  int operations_ = 0;                                     ///< of the right-hand side
  int discrete_count_ = 0;
  std::vector<int> order_at_events_;  ///< order_at_events()
  std::vector<bool> follows_;         ///< relations that are evaluated after what they use
  std::vector<bool> rests_;           ///< relations that use themselves in the end
  std::vector<FirstEdge> first_edges_;
  std::unordered_map<int, Node> plain_at_start_;
  int event_of_first_edges_ = -1;
  std::vector<Node> watched_;              ///< under which condition the value of each relation matters
  std::vector<bool> jumps_;                ///< relations whose sides an action may make equal
  std::unordered_map<Node, int> renewed_;  ///< leaves with new values in a pass, in the order of renewal
  int renewals_ = 0;
};

}  // namespace manyfold::modelica
