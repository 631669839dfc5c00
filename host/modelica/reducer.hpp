#pragma once
// From the flat model to the one that is integrated: parameters folded, aliases removed, the index reduced, equations
// ordered and torn.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/modelica/reduced.hpp"
#include "host/modelica/structure.hpp"

namespace manyfold::modelica {

/// A text as a name that result files can hold.
std::string name_of_text(const std::string& text);

class Reducer {
 public:
  Reducer(FlatModel flat, Diagnostics& diagnostics) : diagnostics_(diagnostics) { model_.flat = std::move(flat); }

  /// What is wrong is reported; the result is then not complete.
  ReducedModel reduce();

 private:
  using Replacement = std::function<Node(Node)>;

  // reduce_prepare.cpp
  void bind_inputs();
  void bind_start_times();
  void check_assertions();
  void check_clocks();
  void fold_parameters();
  Node folded_parameter(int variable);
  void gather_equations();
  void find_original_structure();
  void remove_aliases();
  struct SemiLinear {
    Node x = no_node;
    Node y = no_node;
    Node is_up = no_node;  ///< x >= 0
    Node upwards = no_node;
    Node downwards = no_node;
    double sign = 1.0;
  };
  bool semi_linear_of(const Equation& equation, SemiLinear& found);
  void join_semi_linear();
  bool alias_of(const Equation& equation, int& a, int& b, int& sign, double& value);
  int find_root(int variable, int& sign);
  void substitute_aliases();
  void report_singular(const Signature& signature);
  void prefer_reinitialised();

  // reduce_events.cpp
  bool momentary(Node root);
  std::set<int> take_discrete_equations();
  void warn_of_held_that_vary();
  void classify_discrete();
  void find_relations();
  Node with_modes(Node root);
  Node with_whole_parts(Node root);
  Node with_values_before(Node root);
  Node mode_of(const NodeData& relation);
  Node behind_limit(Node side, Node other, bool strict, bool is_left);
  void look_behind_limits();
  Node whole_part(Node argument);
  int made_variable(const std::string& name, Type type);
  int made_discrete(const std::string& wanted, Type type);
  Node between_events(Node root);
  bool varies(Node root);

  // reduce_choices.cpp
  /// Does it change at events of the time and of what is discrete alone, and by a relation?
  struct Stay {
    Node node = no_node;
    bool stays = true;
    bool switches = false;
  };
  void gather_definitions();
  Node staying_definition(int index);
  bool is_set_by_time(int index);
  bool changes_by_time(Node root);
  bool is_switch(Node leaf);
  bool of_time(const Relation& relation);
  std::vector<Stay> stays(Node root);
  Node with_definitions(Node root);
  bool is_logical(const FlatEquation& equation);
  Node with_held_choices(Node root, Node owner);
  Node with_choices(Node root);

  // reduce_domain.cpp
  bool needs_positive(Node node);
  Node within_relation(Node root, const NodeData& relation);
  Node within_condition(Node root, Node condition, int depth);
  Node within_domain(Node root, int depth = 0);

  // reduce_guesses.cpp
  double guessed_value(Node root, const std::vector<double>& guesses);
  void guess_from_others();

  // reduce_index.cpp
  /// Equations and unknowns, as many of these as of those.
  struct RegularPart {
    std::vector<int> rows;
    std::vector<int> columns;
  };
  void reduce_index();
  void find_states(bool with_dummies);
  void choose_dummies(const SystemOffsets& offsets, const Signature& signature, std::set<Node>& dummies,
                      std::vector<int>& solved);
  void choose_of_block(const std::vector<int>& block, const SystemOffsets& offsets, std::set<Node>& dummies,
                       std::vector<int>& solved);
  int wanted_among(const std::vector<int>& columns, const SystemOffsets& offsets, int level);
  void sort_by_welcome(std::vector<int>& columns, const SystemOffsets& offsets, int level);
  Node highest_partial(int i, int j, const SystemOffsets& offsets);
  RegularPart triangular_part(const std::vector<int>& rows, std::vector<int> columns, const SystemOffsets& offsets,
                              int level);
  RegularPart regular_part(const std::vector<int>& rows, std::vector<int> columns, const SystemOffsets& offsets,
                           int level);
  void differentiate_equations(const SystemOffsets& offsets, const std::vector<int>& solved);
  bool invariants_need_torn();
  int unwelcome_states();
  std::set<int> reinitialised();
  void check_reinitialised();
  bool differentiate_preferred(std::vector<Equation>& equations);
  Node total_derivative(Node root);
  Signature signature_of(const std::vector<Equation>& equations, const std::vector<int>& unknowns);

  // reduce_order.cpp
  void order();
  void order_blocks(const std::vector<Equation>& equations, const std::vector<Node>& unknowns,
                    const std::vector<int>& preference, bool may_be_partial, std::vector<Block>& blocks,
                    std::vector<Node>& torn, std::vector<int>& residuals);
  bool counts_on_itself(const Equation& equation, Node quantity);
  Block tear_block(const std::vector<Equation>& equations, const std::vector<int>& members,
                   const std::vector<int>& inside, const Incidence& incidence, const std::vector<Node>& unknowns);
  void choose_torn(const std::vector<Equation>& equations, const std::vector<int>& inside, const Incidence& incidence,
                   const std::vector<Node>& unknowns, Block& block);
  void note_zero_divisors(const Equation& equation, Node quantity);
  bool vanishes_in_a_mode(Node root);
  void warn_of_modes(const Equation& equation, Node quantity);
  void tear_slopes(const std::vector<Equation>& equations, Block& block);
  bool divides_computed(const Block& block);
  bool solve_for(const Equation& equation, Node quantity, Node& value);
  bool has_switched_loops();
  bool contains(Node root, Node quantity);
  bool is_decided_by(Node root, const std::vector<Node>& quantities);
  bool is_simplified(Node root);
  std::vector<Equation> actual(std::vector<Equation> equations);
  std::vector<Node> quantities_in(Node root);
  Incidence incidence_of(const std::vector<Equation>& equations, const std::vector<Node>& unknowns);

  // reduce_cases.cpp
  bool known_from_parameters(Node root, double& value);
  double default_value(Node root);
  std::vector<double> values_of_switch(const std::vector<Node>& nodes, Node leaf);
  std::vector<double> in_all_cases(Node root);
  Node with_known_conditions(Node root);
  bool never_zero(Node root, double largest_ratio);
  Solvable safely_solvable(const Equation& equation, Node quantity);
  bool is_coupling(const Equation& equation, Node quantity, const std::vector<Node>& unknowns);

  // reduce_linear.cpp
  Node vanishes_where(Node root, const std::map<Node, Node>& steps, std::map<Node, Node>& known);
  void fill_empty_residuals();
  bool solve_linear(const std::vector<Equation>& equations, Block& block);
  bool solve_whole(const std::vector<Equation>& equations, Block& block);
  void report_singular_loop(const std::vector<Equation>& equations, const Block& block);
  bool is_smooth_in_states(Node root, const Block& block);
  bool eliminate(std::vector<std::vector<Node>>& matrix, bool follows_states);
  Node choose_pivot(std::vector<std::vector<Node>>& matrix, std::size_t k);

  // reduce_stage.cpp
  void order_stage();
  void gather_stage_equations();

  // reduce_initial.cpp
  /// Of the initial system: first the unknowns that it alone has; from number `kept` on those with a start value to
  /// keep.
  struct StartUnknowns {
    std::vector<Node> all;
    std::size_t kept = 0;
  };
  void order_start();
  StartUnknowns start_unknowns();
  Matching match_start(const StartUnknowns& unknowns);
  std::vector<Node> fix_undetermined(const StartUnknowns& unknowns, const Matching& matching);
  void warn_of_fixed(Node state);
  void check_start(Node state, const std::vector<Node>& unknowns);
  Node at_start(Node root);
  Node discrete_at_start(int index);
  void simplify(Equation& equation);
  void gather_initial_equations();
  void assert_at_start(const Equation& equation);
  void take_first_reinit();
  void check_constant_start();
  int value_before(int index);
  std::set<int> starts_of(int index);
  bool take_discrete_start(const FlatEquation& equation);

  void warn(Place place, const std::string& message);
  double start_time() const;
  bool is_unknown(int variable) const;
  /// A parameter that the initial system does not determine.
  bool is_given(int variable) const;
  FlatVariable& variable(int index) { return model_.flat.variables[static_cast<std::size_t>(index)]; }
  std::string quantity_name(Node quantity) const;

  Diagnostics& diagnostics_;
  ReducedModel model_;
  Graph& graph_ = model_.flat.graph;
  std::vector<int> folding_;  ///< of a parameter: 0 not yet, 1 on the way, 2 done
  std::set<int> discrete_;
  std::map<std::string, int> made_names_;  ///< how many discrete variables asked for this name
  std::unordered_map<int, int> before_;    ///< discrete variables, and those that are their values before an event
  std::unordered_map<int, std::vector<Node>> definitions_;  ///< of variables: the other sides of their equations
  std::unordered_map<int, Node> staying_;  ///< what they are by these between events of the time; no_node: they vary
  std::unordered_map<int, bool> set_by_time_;  ///< of discrete variables: does the time alone change them?
  int definition_depth_ = 0;                   ///< definitions that are being looked at
  std::unordered_map<Node, Node> held_;        ///< choices by the time, and the discrete variables that hold them
  std::unordered_map<Node, Node> choices_;     ///< the other way, in terms of what events change
  std::vector<double> defaults_;               ///< of parameters
  std::vector<int> unknowns_;                  ///< variables
  std::unordered_map<Node, Node> conditions_;  ///< Boolean quantities of earlier blocks, and what they are
  std::set<int> on_the_way_;                   ///< discrete variables whose value at the start is being found
  std::unordered_map<Node, Node> in_domain_;   ///< expressions, and what within_domain makes of them
  std::size_t domain_budget_ = 20'000'000;     ///< nodes that it still looks at
  bool of_stage_ = false;                      ///< the equations are those of an implicit stage
  bool of_start_ = false;                      ///< they are the initial system
  std::vector<Equation> redundant_;            ///< initial equations that are to follow from the others
  std::set<Node> set_at_start_;                ///< by reinit
  std::vector<Node> overruled_;                ///< states whose fixed start other equations take the place of
  bool keeps_steps_whole_ = false;             ///< nothing is divided by the step of a stage
  std::set<Node> known_before_;  ///< of the unknowns of a stage, those that the integrator has: first to be torn
};

/// Is the condition of a when clause looked at at the start: is it initial, or does a clock tick in it, be it by way of
/// variables?
bool acts_at_start(const FlatModel& model, Node condition);

/// x, der(x), der(der(x)).
std::string name_of_quantity(const FlatModel& model, Node quantity);

}  // namespace manyfold::modelica
