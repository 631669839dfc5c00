// Declarations become scalar variables, with their attributes and bindings.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "host/modelica/flattener.hpp"
#include "host/modelica/library.hpp"
#include "host/text/nearest_name.hpp"

namespace manyfold::modelica {
namespace {

/// Larger models are not for one thread of a GPU, and a slip of the pen in a dimension should end soon.
constexpr std::size_t most_variables = 200'000;

/// The number of the literal, counted from 1.
StateSelect state_select(double number) {
  if (!(number >= 1.0 && number <= 5.0)) return StateSelect::normal;
  return static_cast<StateSelect>(static_cast<int>(number) - 1);
}

/// [1,2], or [false], of the element number `at`, counted from 0.
std::string subscript_text(const std::vector<int>& dims, unsigned truths, int at) {
  std::string text;
  for (std::size_t k = dims.size(); k-- > 0;) {
    const int place = at % dims[k];
    const bool of_truths = ((truths >> k) & 1U) != 0;
    const std::string subscript = of_truths ? (place == 0 ? "false" : "true") : std::to_string(place + 1);
    text = fmt::format("{}{}{}", subscript, text.empty() ? "" : ",", text);
    at /= dims[k];
  }
  return dims.empty() ? "" : fmt::format("[{}]", text);
}

/// Does the expression use the name?
bool mentions(const Expression& expression, const std::string& name) {
  const bool here = expression.kind == Kind::reference && expression.parts[0].name == name;
  return here || std::any_of(expression.operands.begin(), expression.operands.end(), [&](const ExpressionPtr& operand) {
           return operand != nullptr && mentions(*operand, name);
         });
}

int count_of(const std::vector<int>& dims) {
  int count = 1;
  for (const int dim : dims) count *= dim;
  return count;
}

}  // namespace

void Flattener::fail(Place place, const std::string& message) {
  diagnostics_.error(place, message);
  throw Refusal{};
}

const Class* Flattener::find_class(const std::string& name) const {
  if (const auto found = classes_.find(name); found != classes_.end()) return found->second;
  for (const auto& [package, names] : packages_) {
    if (!name.starts_with(package + ".")) continue;
    const std::string within = name.substr(package.size() + 1);
    if (names.contains(within)) return classes_.contains(within) ? classes_.at(within) : nullptr;
  }
  return library_function(name);
}

/// 1 for 'P'.'k', where the package P declares k and no variable has the name; otherwise 0.
std::size_t Flattener::parts_of_package(const Expression& name) {
  if (name.parts.size() < 2 || !name.parts[0].subscripts.empty()) return 0;
  const std::string& first = name.parts[0].name;
  const auto package = packages_.find(first);
  if (package == packages_.end() || !package->second.contains(name.parts[1].name)) return 0;
  return known_name(first) || known_name(first + "." + name.parts[1].name) ? 0 : 1;
}

/// What the language itself enumerates.
void Flattener::collect_literals() {
  const std::pair<const char*, std::vector<const char*>> enumerations[] = {
      {"StateSelect", {"never", "avoid", "default", "prefer", "always"}}, {"AssertionLevel", {"warning", "error"}}};
  for (const auto& [name, literals] : enumerations) {
    for (std::size_t k = 0; k < literals.size(); ++k) {
      literals_[fmt::format("{}.{}", name, literals[k])] = static_cast<double>(k + 1);
    }
  }
}

void Flattener::collect(const Class& file) {
  for (const auto& inner : file.classes) {
    if (inner->kind == Class::Kind::model) main_ = inner.get();
    classes_[inner->name] = inner.get();
    if (file.kind == Class::Kind::package && !file.name.empty()) packages_[file.name].insert(inner->name);
    for (std::size_t i = 0; i < inner->literals.size(); ++i) {
      literals_[inner->name + "." + inner->literals[i]] = static_cast<double>(i + 1);
    }
    for (const Declaration& declaration : inner->declarations) {
      if (inner->kind != Class::Kind::package) continue;
      pending_[declaration.name] = &declaration;
      packages_[inner->name].insert(declaration.name);
    }
    collect(*inner);
  }
}

void Flattener::declare_model() {
  for (const Declaration& declaration : main_->declarations) {
    if (const auto [entry, added] = pending_.try_emplace(declaration.name, &declaration); !added) {
      const Position first = diagnostics_.position(entry->second->place);
      guarded([&] {
        fail(declaration.place,
             fmt::format("'{}' is declared twice; the first time in line {}", declaration.name, first.line));
      });
    }
  }
  const auto all = pending_;
  // In the order of the file, as far as dimensions allow.
  std::vector<const Declaration*> ordered;
  for (const auto& [name, declaration] : all) ordered.push_back(declaration);
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return a->place < b->place; });
  for (const Declaration* declaration : ordered) {
    guarded([&] {
      if (declaring_.insert(declaration->name).second) declare(*declaration, "", {});
    });
  }
  for (const auto& [variable, value] : main_->guesses) {
    guarded([&] { guess(*variable, *value); });
  }
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    guarded([&] { bind(static_cast<int>(i)); });
  }
}

/// guess(x) = value, or = prioritize(value, priority): a start value, or the value of a parameter.
void Flattener::guess(const Expression& variable, const Expression& right) {
  if (variable.kind != Kind::call || variable.operands.size() != 1) fail(variable.place, "guess takes a variable");
  const bool prioritized = right.kind == Kind::call && dotted(right.parts) == "prioritize" && !right.operands.empty();
  const Expression& value = prioritized ? *right.operands[0] : right;
  const Value target = evaluate(*variable.operands[0], {});
  const Value start = evaluate(value, {});
  if (!start.is_numeric() || (!start.dims.empty() && start.dims != target.dims)) {
    fail(value.place, fmt::format("{} is guessed as {}", shape_text(target), shape_text(start)));
  }
  for (std::size_t k = 0; k < target.items.size(); ++k) {
    const NodeData data = graph_[target.items[k]];
    if (data.op != Op::variable || data.order > 0) fail(variable.place, "guess takes a variable");
    FlatVariable& guessed = model_.variables[static_cast<std::size_t>(data.index)];
    const bool given = guessed.is_parameter() && (guessed.fixed || !guessed.fixed_given);
    (given ? guessed.binding : guessed.start) = start.items[start.dims.empty() ? 0 : k];
  }
}

bool Flattener::resolve_type(const std::string& name, Type& type, std::vector<const Modifier*>& attributes,
                             std::vector<int>& dims, const Class*& record, Place place) {
  static const std::map<std::string, Type> basic = {{"Real", Type::real},
                                                    {"Integer", Type::integer},
                                                    {"Boolean", Type::boolean},
                                                    {"String", Type::string},
                                                    {"StateSelect", Type::enumeration}};
  if (const auto found = basic.find(name); found != basic.end()) {
    type = found->second;
    return true;
  }
  if (name == "Clock") fail(place, "clocked models are not supported: use when sample(start, interval)");
  const Class* named = find_class(name);
  if (named == nullptr) {
    // The types of the standard library, which plain flat models use: all are real numbers with a unit.
    if (name.starts_with("Modelica.Units.") || name.starts_with("Modelica.SIunits.") || name.starts_with("SI.")) {
      type = Type::real;
      return true;
    }
    std::vector<std::string> names = {"Real", "Integer", "Boolean"};
    for (const auto& [known, ignored] : classes_) names.push_back(known);
    fail(place, fmt::format("unknown type '{}'{}", name, did_you_mean(name, names)));
  }
  if (named->kind == Class::Kind::external_object) {
    fail(place, fmt::format("'{}' is an external object: none stands in records or types", name));
  }
  if (named->kind == Class::Kind::record) {
    record = named;
    return true;
  }
  if (named->kind != Class::Kind::type) fail(place, fmt::format("'{}' is no type of variables", name));
  if (!named->literals.empty()) {
    type = Type::enumeration;
    return true;
  }
  for (const Modifier& modifier : named->base_modifiers) attributes.push_back(&modifier);
  if (++depth_ > 30) fail(place, fmt::format("the type '{}' is made of itself", name));
  const std::vector<int> more = dimensions(named->base_dimensions, "", nullptr);
  if (truths_of(named->base_dimensions) != 0) {
    fail(place,
         fmt::format("the type '{}' has Boolean subscripts: expected them behind the name of the variable, as in "
                     "Real x[Boolean]",
                     name));
  }
  dims.insert(dims.end(), more.begin(), more.end());
  resolve_type(named->base, type, attributes, dims, record, place);
  --depth_;
  return true;
}

bool Flattener::is_truth_dimension(const Expression& dimension) {
  return dimension.kind == Kind::reference && dimension.parts.size() == 1 && !dimension.parts[0].quoted &&
         dimension.parts[0].subscripts.empty() && dimension.parts[0].name == "Boolean";
}

/// An enumeration or Boolean as a dimension or a range stands for its values. Their number; 0: it is something else.
int Flattener::size_of_type(const Expression& dimension) {
  if (is_truth_dimension(dimension)) return 2;
  const bool named = dimension.kind == Kind::reference && dimension.parts[0].subscripts.empty();
  const Class* type = named ? find_class(dotted(dimension.parts)) : nullptr;
  return type != nullptr ? static_cast<int>(type->literals.size()) : 0;
}

unsigned Flattener::truths_of(const std::vector<ExpressionPtr>& dimensions) {
  unsigned truths = 0;
  for (std::size_t k = 0; k < dimensions.size() && k < most_dimensions; ++k) {
    if (is_truth_dimension(*dimensions[k])) truths |= 1U << k;
  }
  return truths;
}

/// `name` is what has these dimensions: A[:, size(A, 1)] has those of its value.
std::vector<int> Flattener::dimensions(const std::vector<ExpressionPtr>& expressions, const std::string& name,
                                       const Expression* binding) {
  Scope scope;
  const bool of_itself = std::any_of(expressions.begin(), expressions.end(),
                                     [&](const ExpressionPtr& expression) { return mentions(*expression, name); });
  if (of_itself && binding != nullptr) scope.values[name] = evaluate(*binding, {});
  std::vector<int> dims;
  if (expressions.size() > most_dimensions) {
    fail(expressions[most_dimensions]->place, fmt::format("more than {} dimensions", most_dimensions));
  }
  for (std::size_t k = 0; k < expressions.size(); ++k) {
    const Expression& expression = *expressions[k];
    if (const int size = size_of_type(expression); size > 0) {
      dims.push_back(size);
      continue;
    }
    if (expression.kind == Kind::colon) {
      if (binding == nullptr) fail(expression.place, "a dimension ':' needs a value that tells its size");
      const Value value = evaluate(*binding, {});
      if (k >= value.dims.size()) fail(expression.place, "the value has fewer dimensions than the declaration");
      dims.push_back(value.dims[k]);
      continue;
    }
    const int size = integer(expression, scope, "a dimension");
    if (size < 0 || static_cast<std::size_t>(size) > most_variables) {
      fail(expression.place, fmt::format("a dimension of {} is out of range", size));
    }
    dims.push_back(size);
  }
  return dims;
}

void Flattener::declare(const Declaration& declaration, const std::string& prefix, const Outer& outer) {
  Type type = Type::real;
  std::vector<const Modifier*> attributes;
  std::vector<int> of_type;
  const Class* record = nullptr;
  if (const Class* own = find_class(declaration.type); own != nullptr && own->kind == Class::Kind::external_object) {
    if (!declaration.binding)
      fail(declaration.place, fmt::format("'{}' is an object that nothing makes", declaration.name));
    objects_[prefix + declaration.name] = declaration.binding.get();
    return;
  }
  resolve_type(declaration.type, type, attributes, of_type, record, declaration.place);
  std::vector<int> dims = dimensions(declaration.dimensions, declaration.name, declaration.binding.get());
  dims.insert(dims.end(), of_type.begin(), of_type.end());
  const std::string name = prefix + declaration.name;
  long size = 1;
  for (const int dim : dims) size *= std::max(dim, 1);
  if (static_cast<std::size_t>(size) + model_.variables.size() > most_variables) {
    fail(declaration.place, fmt::format("the model has more than {} variables", most_variables));
  }
  if (record != nullptr) {
    declare_record(declaration, name, outer, *record, dims);
  } else {
    declare_scalars(declaration, name, outer, type, attributes, dims);
  }
}

/// Reports modifications of members that the record does not have.
void Flattener::check_members(const std::vector<Modifier>& modifiers, const Class& record) {
  std::vector<std::string> names;
  for (const Declaration& member : record.declarations) names.push_back(member.name);
  for (const Modifier& modifier : modifiers) {
    if (std::find(names.begin(), names.end(), modifier.name) != names.end()) continue;
    diagnostics_.error(modifier.place, fmt::format("the record '{}' has no member '{}'{}", record.name, modifier.name,
                                                   did_you_mean(modifier.name, names)));
  }
}

void Flattener::declare_record(const Declaration& declaration, const std::string& name, const Outer& outer,
                               const Class& record, const std::vector<int>& dims) {
  if (++depth_ > 30) fail(declaration.place, fmt::format("the record '{}' contains itself", record.name));
  if (truths_of(declaration.dimensions) != 0) {
    fail(declaration.place, "records in arrays whose subscripts are Boolean are not supported");
  }
  check_members(declaration.modifiers, record);
  if (outer.modifier != nullptr) check_members(outer.modifier->inner, record);
  const int count = count_of(dims);
  if (!dims.empty()) record_arrays_[name] = dims;
  for (int at = 0; at < count; ++at) {
    const std::string element = name + subscript_text(dims, 0, at);
    std::vector<std::string>& members = records_[element];
    for (const Declaration& member : record.declarations) {
      members.push_back(member.name);
      // A member that the file declares by itself.
      const std::string own = element + "." + member.name;
      if (known_name(own) || !parts_of(own).names.empty()) continue;
      Outer inner;
      inner.parameter = outer.parameter || declaration.parameter;
      inner.constant = outer.constant || declaration.constant;
      inner.discrete = outer.discrete || declaration.discrete;
      const auto look = [&](const std::vector<Modifier>& modifiers, const Around& around) {
        for (const Modifier& modifier : modifiers) {
          if (modifier.name != member.name) continue;
          inner.modifier = &modifier;
          inner.around = around;
          inner.around.dims.insert(inner.around.dims.end(), dims.begin(), dims.end());
          inner.around.element = around.element * count + at;
        }
      };
      look(declaration.modifiers, {});
      if (outer.modifier != nullptr) look(outer.modifier->inner, outer.around);
      const bool from_outside = outer.modifier != nullptr && outer.modifier->value;
      inner.record_binding = from_outside                      ? outer.modifier->value.get()
                             : outer.record_binding != nullptr ? outer.record_binding
                                                               : declaration.binding.get();
      if (!from_outside) inner.path = outer.path;
      inner.path.push_back({dims.empty() ? -1 : at, member.name});
      declare(member, element + ".", inner);
    }
  }
  --depth_;
}

void Flattener::declare_scalars(const Declaration& declaration, const std::string& name, const Outer& outer, Type type,
                                const std::vector<const Modifier*>& attributes, const std::vector<int>& dims) {
  Instance instance;
  instance.declaration = &declaration;
  instance.name = name;
  instance.first = static_cast<int>(model_.variables.size());
  instance.dims = dims;
  instance.truths = truths_of(declaration.dimensions);
  instance.binding = declaration.binding.get();
  if (outer.modifier != nullptr && outer.modifier->value) {
    instance.binding = outer.modifier->value.get();
    instance.around = outer.around;
  } else if (outer.record_binding != nullptr) {
    instance.binding = outer.record_binding;
    instance.path = outer.path;
  }
  FlatVariable variable;
  variable.type = type;
  variable.description = declaration.description;
  variable.place = declaration.place;
  variable.input = declaration.input;
  const bool whole = type != Type::real && type != Type::string;
  variable.variability = declaration.constant || outer.constant            ? Variability::constant
                         : declaration.parameter || outer.parameter        ? Variability::parameter
                         : declaration.discrete || outer.discrete || whole ? Variability::discrete
                                                                           : Variability::continuous;
  if (type == Type::string && !variable.is_parameter()) {
    fail(declaration.place, fmt::format("'{}' is a string that computes: not supported", name));
  }
  const int number = static_cast<int>(instances_.size());
  if (!instance_by_name_.try_emplace(name, number).second) {
    fail(declaration.place, fmt::format("'{}' is declared twice", name));
  }
  for (int at = 0; at < count_of(dims); ++at) {
    variable.name = name + subscript_text(dims, instance.truths, at);
    scalar_by_name_.try_emplace(variable.name, static_cast<int>(model_.variables.size()));
    model_.variables.push_back(variable);
    instance_of_.push_back(number);
  }
  instances_.push_back(instance);
  std::vector<const Modifier*> all = attributes;
  for (const Modifier& modifier : declaration.modifiers) all.push_back(&modifier);
  set_attributes(number, all, {});
  if (outer.modifier == nullptr) return;
  all.clear();
  for (const Modifier& modifier : outer.modifier->inner) all.push_back(&modifier);
  set_attributes(number, all, outer.around);
}

/// Of a modifier of members of records in an array: what it says for one of them, if it says something for each.
Value Flattener::own_part(const Value& value, const Around& around, const std::vector<int>& dims) const {
  std::vector<int> all = around.dims;
  all.insert(all.end(), dims.begin(), dims.end());
  if (around.dims.empty() || value.dims != all) return value;
  return slice(value, around.dims.size(), static_cast<std::size_t>(around.element));
}

FlatVariable& Flattener::element_of(const Instance& instance, int place) {
  return model_.variables[static_cast<std::size_t>(instance.first) + static_cast<std::size_t>(place)];
}

void Flattener::set_attributes(int number, const std::vector<const Modifier*>& attributes, const Around& around) {
  const Instance instance = instances_[static_cast<std::size_t>(number)];
  const int count = count_of(instance.dims);
  for (const Modifier* attribute : attributes) {
    const std::string& name = attribute->name;
    if (!attribute->value) continue;
    if (name == "unit" || name == "quantity" || name == "displayUnit") {
      const Value text = evaluate(*attribute->value, {});
      if (!text.is_text && count > 0) {
        fail(attribute->place, fmt::format("expected a string, found {}", shape_text(text)));
      }
      for (int at = 0; at < count && name == "unit" && !text.computed; ++at) {
        element_of(instance, at).unit = text.text;
      }
      continue;
    }
    if (name == "stateSelect") {
      const Value value = own_part(evaluate(*attribute->value, {}), around, instance.dims);
      for (int at = 0; at < count && !value.items.empty(); ++at) {
        const Node choice = value.items[value.items.size() == 1 ? 0 : static_cast<std::size_t>(at)];
        element_of(instance, at).select = state_select(numeric(choice));
      }
      continue;
    }
    if (name != "start" && name != "fixed" && name != "nominal" && name != "min" && name != "max") {
      static const std::vector<std::string> known = {"start",       "fixed",     "nominal",  "min",
                                                     "max",         "unit",      "quantity", "displayUnit",
                                                     "stateSelect", "unbounded", "uncertain"};
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fail(attribute->place, fmt::format("'{}' is no attribute{}", name, did_you_mean(name, known)));
      }
      continue;
    }
    guarded([&] {
      const Value value = own_part(evaluate(*attribute->value, {}), around, instance.dims);
      if (count == 0 || (!value.is_text && value.items.empty())) return;
      const Type type = element_of(instance, 0).type;
      if (value.is_text && type == Type::string) return;
      if (value.is_text) fail(attribute->place, fmt::format("expected a number, found {}", shape_text(value)));
      if (value.items.size() != 1 && static_cast<int>(value.items.size()) != count) {
        fail(attribute->place,
             fmt::format("'{}' of '{}' has {} values for {} elements", name, instance.name, value.items.size(), count));
      }
      if (name == "start") check_type(type, instance.name, value, attribute->place);
      for (int at = 0; at < count; ++at) {
        FlatVariable& variable = element_of(instance, at);
        const Node node = value.items[value.items.size() == 1 ? 0 : static_cast<std::size_t>(at)];
        if (name == "start") variable.start = node;
        if (name == "nominal") variable.nominal = node;
        if (name == "min") variable.min = node;
        if (name == "max") variable.max = node;
        if (name == "fixed") {
          if (!is_boolean(node)) fail(attribute->place, "expected true or false, found a number");
          variable.fixed = numeric(node) != 0.0;
          variable.fixed_given = true;
        }
      }
    });
  }
}

/// What its binding, or that of the record that it is part of, says.
Value Flattener::given_value(int number) {
  const auto at = static_cast<std::size_t>(number);
  const Declaration& declaration = *instances_[at].declaration;
  const Expression& binding = *instances_[at].binding;
  if (instances_[at].state == Instance::binding_now) {
    fail(declaration.place, fmt::format("the value of '{}' depends on itself", instances_[at].name));
  }
  instances_[at].state = Instance::binding_now;
  // Whoever asks first.
  Value value = under(graph_.number(1.0), [&] { return evaluate(binding, {}); });
  const std::vector<Step> path = instances_[at].path;
  for (const auto& [element, name] : path) {
    if (!value.elements.empty() && element >= 0) {
      if (static_cast<std::size_t>(element) >= value.elements.size()) {
        fail(binding.place, "the value has fewer elements than the declaration");
      }
      value = Value(value.elements[static_cast<std::size_t>(element)]);
    }
    value = member(value, name, binding.place);
  }
  instances_[at].state = Instance::unbound;
  return own_part(value, instances_[at].around, instances_[at].dims);
}

void Flattener::bind(int number) {
  const auto at = static_cast<std::size_t>(number);
  if (instances_[at].state == Instance::bound || instances_[at].binding == nullptr) return;
  const Value value = given_value(number);
  const Expression& binding = *instances_[at].binding;
  const Instance& instance = instances_[at];
  const int count = count_of(instance.dims);
  const auto size = static_cast<int>(value.items.size());
  // One value is for all elements where the array is of records, or a modifier says `each`.
  const Declaration& declaration = *instance.declaration;
  const bool own = instance.binding == declaration.binding.get() && !declaration.dimensions.empty();
  const bool fits = value.dims == instance.dims || (value.dims.empty() && !own);
  instances_[at].state = Instance::bound;
  if (count > 0 && element_of(instance, 0).type == Type::string) {
    if (value.is_text) return;
    fail(binding.place, fmt::format("'{}' is a string, and its value is {}", instance.name, shape_text(value)));
  }
  if (!fits || (size != count && size != 1) || value.is_record()) {
    Value declared;
    declared.dims = instance.dims;
    declared.items.assign(declared.element_count(), graph_.number(0.0));
    fail(binding.place,
         fmt::format("'{}' is {}, but its value is {}", instance.name, shape_text(declared), shape_text(value)));
  }
  if (count > 0 && instance.path.empty()) check_enumeration(instance, binding);
  if (count > 0) check_type(element_of(instance, 0).type, instance.name, value, binding.place);
  for (int k = 0; k < count; ++k) {
    FlatVariable& variable = element_of(instance, k);
    variable.binding = value.items[size == 1 ? 0 : static_cast<std::size_t>(k)];
  }
}

bool Flattener::known_name(const std::string& name) {
  if (const auto found = pending_.find(name); found != pending_.end() && declaring_.insert(name).second) {
    declare(*found->second, "", {});
  }
  return scalar_by_name_.contains(name) || instance_by_name_.contains(name) || records_.contains(name) ||
         record_arrays_.contains(name) || objects_.contains(name);
}

/// A variable; of a constant its value, and of a parameter that shapes the equations the number that it is.
Node Flattener::node_of(int index) {
  const auto at = static_cast<std::size_t>(index);
  const Node node = graph_.variable(index);
  if (model_.variables[at].variability == Variability::constant) bind(instance_of_[at]);
  const FlatVariable variable = model_.variables[at];
  if (variable.binding == no_node) return node;
  if (variable.variability == Variability::constant) return variable.binding;
  if (!variable.evaluated) return node;
  const double known = numeric(node);
  return std::isfinite(known) ? graph_.number(known) : node;
}

/// The variables of this name; arrays and records as a whole.
Value Flattener::value_of_name(const std::string& name, Place place) {
  Value value;
  if (const auto found = objects_.find(name); found != objects_.end()) {
    const auto [entry, added] = made_objects_.try_emplace(name);
    if (added) entry->second = evaluate(*found->second, {});
    return entry->second;
  }
  if (const auto found = instance_by_name_.find(name); found != instance_by_name_.end()) {
    const Instance& instance = instances_[static_cast<std::size_t>(found->second)];
    value.dims = instance.dims;
    value.truths = instance.truths;
    for (int k = 0; k < count_of(instance.dims); ++k) {
      const int index = instance.first + k;
      const FlatVariable& variable = model_.variables[static_cast<std::size_t>(index)];
      if (variable.type == Type::string) {
        value.is_text = true;
        if (instance.binding == nullptr) return value;
        const Value text = given_value(found->second);
        if (!text.is_text) fail(place, fmt::format("expected a string, found {}", shape_text(text)));
        if (text.computed) fail(place, "strings that compute are not supported");
        value.text = text.text;
        return value;
      }
      value.logical = variable.type == Type::boolean;
      value.items.push_back(node_of(index));
    }
    return value;
  }
  if (const auto found = scalar_by_name_.find(name); found != scalar_by_name_.end()) {
    value = Value::scalar(node_of(found->second));
    value.logical = model_.variables[static_cast<std::size_t>(found->second)].type == Type::boolean;
    return value;
  }
  if (const auto found = records_.find(name); found != records_.end()) {
    for (const std::string& member : std::vector<std::string>(found->second)) {
      const std::string own = name + "." + member;
      Value part;
      if (known_name(own) || !assembled(own, {}, place, part)) part = value_of_name(own, place);
      value.fields.push_back({member, std::move(part)});
    }
    return value;
  }
  if (const auto found = record_arrays_.find(name); found != record_arrays_.end()) {
    value.dims = found->second;
    for (int k = 0; k < count_of(value.dims); ++k) {
      value.elements.push_back(value_of_name(name + subscript_text(value.dims, 0, k), place));
    }
    return value;
  }
  fail_unknown_name(place, name);
}

void Flattener::fail_unknown_name(Place place, const std::string& name) {
  // Of a declaration that is wrong, enough is said there.
  for (std::size_t end = 0; diagnostics_.failed() && end != std::string::npos;) {
    end = name.find_first_of(".[", end + 1);
    if (pending_.contains(name.substr(0, end))) throw Refusal{};
  }
  fail(place, fmt::format("unknown name '{}'{}", name, did_you_mean_name(name)));
}

std::string Flattener::did_you_mean_name(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, ignored] : scalar_by_name_) names.push_back(known);
  for (const auto& [known, ignored] : pending_) names.push_back(known);
  for (const auto& [known, ignored] : literals_) {
    if (name.find('.') != std::string::npos) names.push_back(known);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > 2000) return "";
  return did_you_mean(name, names);
}

}  // namespace manyfold::modelica
