// PTX text to a module. What kernels are written with, in the words of the manual: directives (chapter 5), state
// spaces and types (5.1, 5.2), functions and calls (7.1), operands (6).
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "tests/cuda/ptx/machine.hpp"

namespace manyfold::test::ptx {
namespace {

/// Words, numbers and single characters of punctuation, without comments.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
  };
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\0' || std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      i = text.find("*/", i) + 2;
    } else if (c == '"') {
      const std::size_t end = text.find('"', i + 1) + 1;
      tokens.push_back(text.substr(i, end - i));
      i = end;
    } else {
      std::size_t end = i + 1;
      const bool word = in_word(c) || (c == '-' && end < text.size() && std::isdigit(text[end]) != 0);
      while (word && end < text.size() && in_word(text[end])) ++end;
      tokens.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return tokens;
}

std::optional<std::uint64_t> number_of(std::string_view token) {
  const std::string text(token);
  if (token.size() == 18 && token.substr(0, 2) == "0d") return std::stoull(text.substr(2), nullptr, 16);
  if (token.size() == 10 && token.substr(0, 2) == "0f") return std::stoull(text.substr(2), nullptr, 16);
  const std::size_t digits = token[0] == '-' ? 1 : 0;
  if (token.size() == digits || std::isdigit(token[digits]) == 0) return std::nullopt;
  return digits == 1 ? static_cast<std::uint64_t>(std::stoll(text, nullptr, 0)) : std::stoull(text, nullptr, 0);
}

/// Bytes of the type `.f64`, `.b8`, ...
std::size_t bytes_of(std::string_view type) {
  const std::string_view bits = type.substr(2);
  if (type == ".pred" || bits.empty()) return 8;
  return std::stoul(std::string(bits)) / 8;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)), counted_(text.data()) {}

  Module parse() {
    while (at_ < tokens_.size()) directive();
    for (const auto& [name, value] : initialisers_) initialise(name, value);
    for (const auto& [instruction, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) throw Fault("no label " + label);
      module_.instructions[static_cast<std::size_t>(instruction)].target = found->second;
    }
    for (const auto& [instruction, name] : calls_) {
      module_.instructions[static_cast<std::size_t>(instruction)].target =
          static_cast<int>(&module_.function(name) - module_.functions.data());
    }
    return std::move(module_);
  }

 private:
  struct Scope {
    std::map<std::string, std::pair<int, int>, std::less<>> registers;  ///< prefix: first slot, count
    std::map<std::string, int, std::less<>> variables;
  };

  std::string_view peek() const {
    if (at_ >= tokens_.size()) throw Fault("the text ends too soon");
    return tokens_[at_];
  }
  std::string_view take() {
    const std::string_view token = peek();
    ++at_;
    return token;
  }
  bool accept(std::string_view token) {
    if (at_ >= tokens_.size() || tokens_[at_] != token) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) throw Fault(fmt::format("'{}' where '{}' should be", peek(), token));
  }
  void skip_to(std::string_view token) {
    while (take() != token) {
    }
  }

  void directive() {
    const std::string_view word = take();
    if (word == ".version" || word == ".target" || word == ".address_size") {
      take();
      while (accept(",")) take();
    } else if (word == ".visible" || word == ".extern" || word == ".weak") {
      // Of what follows.
    } else if (word == ".global" || word == ".const") {
      global();
    } else if (word == ".shared") {
      const auto [name, bytes] = array();
      expect(";");
      if (bytes == 0) {
        dynamic_shared_ = name;
      } else {
        shared_[name] = reserve(module_.static_shared_memory, bytes);
      }
    } else if (word == ".func" || word == ".entry") {
      function(word == ".entry");
    } else {
      throw Fault(fmt::format("unknown directive '{}'", word));
    }
  }

  static std::size_t reserve(std::size_t& total, std::size_t bytes) {
    const std::size_t offset = (total + 15) / 16 * 16;
    total = offset + bytes;
    return offset;
  }

  /// `.align 8 .b8 name[16]`: its name and bytes.
  std::pair<std::string, std::size_t> array() {
    std::size_t element = 1;
    alignment_ = 0;
    while (peek().starts_with('.')) {
      const std::string_view word = take();
      if (word == ".align") {
        alignment_ = *number_of(take());
      } else if (word != ".ptr") {
        element = bytes_of(word);
      }
    }
    element_ = element;
    std::string name(take());
    std::size_t bytes = element;
    while (accept("[")) {
      bytes = peek() == "]" ? 0 : bytes * *number_of(take());
      expect("]");
    }
    return {name, bytes};
  }

  void global() {
    const auto [name, bytes] = array();
    auto region = std::make_shared<Region>(bytes, true);
    std::memset(reinterpret_cast<void*>(region->begin()), 0, bytes);
    module_.globals[name] = region;
    std::vector<std::string> values;
    if (accept("=")) {
      const bool many = accept("{");
      do {
        if (accept("generic")) {
          expect("(");
          values.emplace_back(take());
          expect(")");
        } else {
          values.emplace_back(take());
        }
        if (accept("+")) throw Fault("an address with an offset in " + name);
      } while (many && accept(","));
      if (many) expect("}");
    }
    expect(";");
    const Address begin = region->begin();
    for (std::size_t k = 0; k < values.size(); ++k)
      initialisers_.push_back({{begin + k * element_, element_}, values[k]});
  }

  void initialise(std::pair<Address, std::size_t> place, const std::string& text) const {
    std::uint64_t value = 0;
    if (const auto number = number_of(text)) {
      value = *number;
    } else {
      const auto found = module_.globals.find(text);
      if (found == module_.globals.end()) throw Fault("no variable " + text);
      value = found->second->begin();
    }
    std::memcpy(reinterpret_cast<void*>(place.first), &value, place.second);
  }

  /// A variable of the function, from its declaration on.
  int declare_variable() {
    const auto [name, bytes] = array();
    // The parameters of an entry lie as the arguments of a launch do.
    const std::size_t alignment = std::max(alignment_, element_);
    std::size_t offset = (function_->frame + alignment - 1) / alignment * alignment;
    function_->frame = offset + bytes;
    function_->variables.push_back({offset, bytes});
    const int variable = static_cast<int>(function_->variables.size()) - 1;
    scopes_.back().variables[name] = variable;
    return variable;
  }

  void function(bool entry) {
    Function function;
    function.entry = entry;
    function_ = &function;
    scopes_.assign(1, {});
    presets_.clear();
    const auto declare_list = [&](std::vector<int>& list) {
      if (!accept("(")) return;
      while (!accept(")")) {
        expect(".param");
        list.push_back(declare_variable());
        accept(",");
      }
    };
    if (!entry) declare_list(function.results);
    function.name = take();
    declare_list(function.parameters);
    while (peek() != ";" && peek() != "{") take();  // .maxntid 128 and the like
    if (accept(";")) return;                        // defined elsewhere in the text
    expect("{");
    function.begin = static_cast<int>(module_.instructions.size());
    while (scopes_.size() > 0) statement();
    function.frame = (function.frame + 15) / 16 * 16;
    module_.functions.push_back(std::move(function));
  }

  void statement() {
    if (accept("{")) {
      scopes_.emplace_back();
    } else if (accept("}")) {
      scopes_.pop_back();
    } else if (accept(".reg")) {
      take();
      do {
        const std::string name(take());
        int count = 0;
        if (accept("<")) {
          count = static_cast<int>(*number_of(take()));
          expect(">");
        }
        scopes_.back().registers[name] = {function_->slots, count};
        function_->slots += std::max(count, 1);
      } while (accept(","));
      expect(";");
    } else if (accept(".local") || accept(".param")) {
      declare_variable();
      expect(";");
    } else if (accept(".pragma") || accept(".loc")) {
      skip_to(";");
    } else if (at_ + 1 < tokens_.size() && tokens_[at_ + 1] == ":") {
      labels_[label(take())] = static_cast<int>(module_.instructions.size());
      expect(":");
    } else {
      instruction();
    }
  }

  /// Labels are known within their function.
  std::string label(std::string_view name) const { return fmt::format("{}:{}", function_->name, name); }

  void instruction() {
    const std::size_t begin = at_;
    Instruction result;
    result.line = line_of(tokens_[begin]);
    if (accept("@")) {
      result.guard_negated = accept("!");
      result.guard = slot_of(take());
    }
    const std::string_view opcode = take();
    const Operation known = operation(opcode);
    result.opcode = opcode;
    result.handler = known.handler;
    result.flow = known.flow;
    const int number = static_cast<int>(module_.instructions.size());
    if (known.flow == Flow::call) {
      call(result, number);
    } else if (known.flow == Flow::branch) {
      branches_.emplace_back(number, label(take()));
    } else {
      operands(result, opcode);
    }
    expect(";");
    for (std::size_t k = begin; k + 1 < at_; ++k) {
      if (k > begin) result.text += ' ';
      result.text += tokens_[k];
    }
    module_.instructions.push_back(std::move(result));
  }

  /// Of a token behind those that were asked for before.
  int line_of(std::string_view token) {
    line_ += static_cast<int>(std::count(counted_, token.data(), '\n'));
    counted_ = token.data();
    return line_;
  }

  void call(Instruction& result, int number) {
    const auto variables = [&](std::vector<int>& list) {
      if (!accept("(")) return;
      while (!accept(")")) {
        list.push_back(variable_of(take()));
        accept(",");
      }
    };
    variables(result.results);
    accept(",");
    calls_.emplace_back(number, std::string(take()));
    if (accept(",")) variables(result.arguments);
  }

  void operands(Instruction& result, std::string_view opcode) {
    const auto has = [&](std::string_view modifier) { return opcode.find(modifier) != std::string_view::npos; };
    result.vector = has(".v4") ? 4 : has(".v2") ? 2 : 1;
    result.space = has(".global") || has(".const") ? Space::global
                   : has(".local")                 ? Space::local
                   : has(".shared")                ? Space::shared
                   : has(".param")                 ? Space::parameter
                                                   : Space::generic;
    std::size_t k = 0;
    const auto add = [&](int slot) {
      if (k == result.slots.size()) throw Fault(fmt::format("too many operands of {}", opcode));
      result.slots[k++] = slot;
    };
    while (peek() != ";") {
      if (accept("{")) {
        while (!accept("}")) {
          add(slot_of(take()));
          accept(",");
        }
      } else if (accept("[")) {
        add(slot_of(take()));
        if (accept("+")) result.offset = static_cast<std::int64_t>(*number_of(take()));
        expect("]");
      } else {
        add(slot_of(take()));
      }
      if (!accept(",") && !accept("|")) break;
    }
    // A pair of halves on the left or right of a move.
    if (opcode == "mov.b64" || opcode == "mov.b32") result.vector = static_cast<int>(k);
  }

  int preset(Preset::Kind kind, std::uint64_t value) {
    const auto [found, is_new] = presets_.try_emplace({static_cast<int>(kind), value}, function_->slots);
    if (is_new) function_->presets.push_back({function_->slots++, kind, value});
    return found->second;
  }

  int variable_of(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->variables.find(name);
      if (found != scope->variables.end()) return found->second;
    }
    throw Fault(fmt::format("no variable '{}' in {}", name, function_->name));
  }

  int slot_of(std::string_view name) {
    using Kind = Preset::Kind;
    if (const auto number = number_of(name)) return preset(Kind::value, *number);
    if (name == "_") return function_->slots++;
    if (name == "%tid.x") return preset(Kind::thread, 0);
    if (name == "%ctaid.x") return preset(Kind::block, 0);
    if (name == "%ntid.x") return preset(Kind::threads, 0);
    if (name == "%nctaid.x") return preset(Kind::blocks, 0);
    if (name == "%laneid") return preset(Kind::lane, 0);
    const std::size_t stem = name.find_last_not_of("0123456789") + 1;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto whole = scope->registers.find(name); whole != scope->registers.end()) return whole->second.first;
      const auto family = scope->registers.find(name.substr(0, stem));
      if (family != scope->registers.end() && stem < name.size()) {
        const int number = static_cast<int>(*number_of(name.substr(stem)));
        if (number < family->second.second) return family->second.first + number;
      }
      const auto variable = scope->variables.find(name);
      if (variable != scope->variables.end()) {
        return preset(Kind::frame, function_->variables[static_cast<std::size_t>(variable->second)].offset);
      }
    }
    if (const auto shared = shared_.find(name); shared != shared_.end()) return preset(Kind::shared, shared->second);
    // Behind what is declared with a size.
    if (name == dynamic_shared_) return preset(Kind::shared, (module_.static_shared_memory + 15) / 16 * 16);
    const auto global = module_.globals.find(std::string(name));
    if (global != module_.globals.end()) return preset(Kind::value, global->second->begin());
    throw Fault(fmt::format("unknown operand '{}' in {}", name, function_->name));
  }

  std::vector<std::string_view> tokens_;
  const char* counted_;  // lines up to here
  int line_ = 1;
  std::size_t at_ = 0;
  Module module_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  std::map<std::pair<int, std::uint64_t>, int> presets_;
  std::map<std::string, std::size_t, std::less<>> shared_;
  std::string dynamic_shared_;
  std::size_t alignment_ = 0;  ///< of the array declared last
  std::size_t element_ = 0;    ///< its elements' bytes
  std::map<std::string, int> labels_;
  std::vector<std::pair<int, std::string>> branches_;
  std::vector<std::pair<int, std::string>> calls_;
  std::vector<std::pair<std::pair<Address, std::size_t>, std::string>> initialisers_;
};

}  // namespace

Module parse(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace manyfold::test::ptx
