#include "tests/cuda/ptx/machine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include <fmt/format.h>

namespace manyfold::test::ptx {
namespace {

constexpr int resident_blocks = 4;  ///< at most, at a time
constexpr int turn = 512;           ///< instructions of a warp before the next one's turn

Mask bit(int lane) {
  return Mask{1} << lane;
}

}  // namespace

const Function& Module::function(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.name == name) return function;
  }
  throw Fault(fmt::format("the module has no function {}", name));
}

Warp::Warp(const Launch& launch, Block& block, int index) : launch_(launch), block_(block), index_(index) {
  std::size_t slots = 0;
  std::size_t stack = 0;
  for (const Function& function : launch.module->functions) {
    if (function.entry && &function != launch.entry) continue;
    slots += static_cast<std::size_t>(function.slots);
    stack += function.frame;
  }
  lanes_.resize(static_cast<std::size_t>(std::min(warp_size, launch.threads - index * warp_size)));
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    // Functions do not call themselves.
    lane.registers = std::make_unique_for_overwrite<std::uint64_t[]>(slots);
    lane.stack = std::make_unique<Region>(stack);
    lane.clocks[i] = 1;
    enter(lane, static_cast<int>(i), *launch.entry, -1, nullptr);
    alive_ |= bit(static_cast<int>(i));
  }
}

void Warp::enter(Lane& lane, int lane_index, const Function& function, int return_to, const Instruction* call) {
  Frame frame{&function, return_to, call, lane.registers.get(), 0};
  if (!lane.frames.empty()) {
    const Frame& caller = lane.frames.back();
    frame.slots = caller.slots + caller.function->slots;
    frame.bottom = caller.bottom + caller.function->frame;
  }
  std::fill_n(lane.stack->initialised.begin() + static_cast<std::ptrdiff_t>(frame.bottom), function.frame, char{0});
  lane.frames.push_back(frame);
  lane.slots = frame.slots;
  lane.pc = function.begin;
  for (const Preset& preset : function.presets) {
    using Kind = Preset::Kind;
    const std::uint64_t base = preset.kind == Kind::frame     ? lane.stack->begin() + frame.bottom
                               : preset.kind == Kind::shared  ? block_.shared.begin()
                               : preset.kind == Kind::thread  ? static_cast<unsigned>(index_ * warp_size + lane_index)
                               : preset.kind == Kind::block   ? static_cast<unsigned>(block_.index)
                               : preset.kind == Kind::threads ? static_cast<unsigned>(launch_.threads)
                               : preset.kind == Kind::blocks  ? static_cast<unsigned>(launch_.blocks)
                               : preset.kind == Kind::lane    ? static_cast<unsigned>(lane_index)
                                                              : 0;
    lane.slots[preset.slot] = base + preset.value;
  }
  if (function.entry) {
    // Parameters of kernels are in memory of their own, which all threads read.
    const auto bytes = static_cast<std::size_t>(launch_.parameters->size);
    std::memcpy(reinterpret_cast<void*>(lane.stack->begin()), reinterpret_cast<void*>(launch_.parameters->begin()),
                bytes);
    std::fill_n(lane.stack->initialised.begin(), bytes, char{1});
  }
}

Address Warp::variable(const Lane& lane, const Frame& frame, int variable) const {
  return lane.stack->begin() + frame.bottom + frame.function->variables[static_cast<std::size_t>(variable)].offset;
}

void Warp::call(const Instruction& instruction, Mask active) {
  const Function& callee = launch_.module->functions[static_cast<std::size_t>(instruction.target)];
  for_lanes(active, [&](int i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    const Frame caller = lane.frames.back();
    enter(lane, i, callee, lane.pc + 1, &instruction);
    for (std::size_t k = 0; k < callee.parameters.size(); ++k) {
      const std::size_t bytes = callee.variables[static_cast<std::size_t>(callee.parameters[k])].size;
      const Address from = variable(lane, caller, instruction.arguments[k]);
      const Address to = variable(lane, lane.frames.back(), callee.parameters[k]);
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
      std::fill_n(lane.stack->initialised.begin() + static_cast<std::ptrdiff_t>(to - lane.stack->begin()), bytes,
                  char{1});
    }
  });
}

void Warp::leave(Mask active) {
  for_lanes(active, [&](int i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    const Frame frame = lane.frames.back();
    lane.frames.pop_back();
    if (lane.frames.empty()) {
      alive_ &= ~bit(i);
      return;
    }
    const Frame& caller = lane.frames.back();
    for (std::size_t k = 0; k < frame.function->results.size(); ++k) {
      const std::size_t bytes = frame.function->variables[static_cast<std::size_t>(frame.function->results[k])].size;
      const Address from = variable(lane, frame, frame.function->results[k]);
      const Address to = variable(lane, caller, frame.call->results[k]);
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
      std::fill_n(lane.stack->initialised.begin() + static_cast<std::ptrdiff_t>(to - lane.stack->begin()), bytes,
                  char{1});
    }
    lane.slots = caller.slots;
    lane.pc = frame.return_to;
  });
}

void Warp::branch(Mask taken, int target) {
  for_lanes(taken, [&](int i) { lanes_[static_cast<std::size_t>(i)].pc = target; });
}

void Warp::advance(Mask lanes) {
  waiting_ &= ~lanes;
  for_lanes(lanes, [&](int i) { ++lanes_[static_cast<std::size_t>(i)].pc; });
}

Mask Warp::participants(Mask mask, Mask present, int lane) const {
  if ((mask & bit(lane)) == 0) fault(lane, fmt::format("it is not in the mask {:08x}", mask));
  const Mask named = mask & alive_;
  return (named & ~present) == 0 ? named : 0;
}

void Warp::synchronize(Mask lanes) {
  std::array<std::uint32_t, warp_size> latest{};
  for_lanes(lanes, [&](int i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < warp_size; ++k) latest[k] = std::max(latest[k], lane.clocks[k]);
  });
  for_lanes(lanes, [&](int i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    lane.clocks = latest;
    ++lane.clocks[static_cast<std::size_t>(i)];
  });
}

void Warp::fault(int lane, const std::string& what) const {
  const Lane& mine = lanes_[static_cast<std::size_t>(lane)];
  throw Fault(fmt::format("{}, block {}, thread {}, in {} at '{}': {}", launch_.entry->name, block_.index,
                          index_ * warp_size + lane, mine.frames.back().function->name,
                          current_ != nullptr ? current_->text : "", what));
}

void Warp::check_race(int lane, Address address, std::size_t bytes, bool store) {
  const auto me = static_cast<std::size_t>(lane);
  const Lane& mine = lanes_[me];
  const std::size_t first = (address - block_.shared.begin()) / 4;
  const std::size_t last = (address - block_.shared.begin() + bytes - 1) / 4;
  for (std::size_t k = first; k <= last; ++k) {
    SharedWord& word = block_.words[k];
    if (word.warp < 0) word.warp = index_;
    if (word.warp != index_) fault(lane, "shared memory of another warp");
    if (word.writer >= 0 && word.writer != lane && mine.clocks[static_cast<std::size_t>(word.writer)] < word.written) {
      fault(lane, fmt::format("thread {} wrote this word of shared memory without a barrier since", word.writer));
    }
    if (!store) {
      word.read[me] = mine.clocks[me];
      continue;
    }
    for (std::size_t other = 0; other < warp_size; ++other) {
      if (other != me && mine.clocks[other] < word.read[other]) {
        fault(lane, fmt::format("thread {} reads this word of shared memory without a barrier since", other));
      }
    }
    word.writer = lane;
    word.written = mine.clocks[me];
    word.read = {};
  }
}

std::byte* Warp::access(int lane, Space space, Address address, std::size_t bytes, bool store) {
  if (address % bytes != 0) fault(lane, fmt::format("{} bytes at an address that is no multiple of it", bytes));
  Lane& mine = lanes_[static_cast<std::size_t>(lane)];
  Region* region = nullptr;
  const bool anywhere = space == Space::generic;
  if ((anywhere || space == Space::local || space == Space::parameter) && mine.stack->contains(address, bytes)) {
    region = mine.stack.get();
  } else if ((anywhere || space == Space::shared) && block_.shared.contains(address, bytes)) {
    region = &block_.shared;
    check_race(lane, address, bytes, store);
  } else if (anywhere || space == Space::global) {
    if (last_ == nullptr || !last_->contains(address, bytes)) {
      const auto after = launch_.memory->upper_bound(address);
      last_ = after == launch_.memory->begin() ? nullptr : std::prev(after)->second.get();
    }
    if (last_ != nullptr && last_->contains(address, bytes)) region = last_;
  }
  if (region == nullptr) fault(lane, fmt::format("{} bytes at {:#x} belong to no allocation", bytes, address));
  const auto begin = region->initialised.begin() + static_cast<std::ptrdiff_t>(address - region->begin());
  const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
  if (store) {
    std::fill(begin, end, char{1});
  } else if (region != mine.stack.get() && std::find(begin, end, char{1}) == end) {
    fault(lane, fmt::format("{} bytes at {:#x}, number {} of {}, have never been written", bytes, address,
                            address - region->begin(), region->size));
  }
  return reinterpret_cast<std::byte*>(address);
}

bool Warp::run(int instructions, Counts& counts) {
  const Instruction* program = launch_.module->instructions.data();
  while (instructions > 0 && alive_ != 0) {
    // The deepest call, and in it the first instruction that a thread can go on with.
    Mask group = 0;
    std::size_t depth = 0;
    int pc = 0;
    int next = 0;  // where threads of this depth wait to be met
    for_lanes(alive_ & ~waiting_, [&](int i) {
      const Lane& lane = lanes_[static_cast<std::size_t>(i)];
      const bool first = group == 0 || lane.frames.size() > depth || (lane.frames.size() == depth && lane.pc < pc);
      if (first) {
        next = group != 0 && lane.frames.size() == depth ? pc : std::numeric_limits<int>::max();
        depth = lane.frames.size();
        pc = lane.pc;
        group = bit(i);
      } else if (lane.frames.size() == depth && lane.pc == pc) {
        group |= bit(i);
      } else if (lane.frames.size() == depth) {
        next = std::min(next, lane.pc);
      }
    });
    if (group == 0) fault(std::countr_zero(alive_), "the threads of the warp wait for each other");
    while (true) {
      const Instruction& instruction = program[pc];
      current_ = &instruction;
      Mask active = group;
      if (instruction.flow == Flow::exchange) {
        // With those that wait here already.
        for_lanes(waiting_, [&](int i) {
          const Lane& lane = lanes_[static_cast<std::size_t>(i)];
          if (lane.pc == pc && lane.frames.size() == depth) active |= bit(i);
        });
      }
      if (instruction.guard >= 0) {
        for_lanes(active, [&](int i) {
          const bool holds = lanes_[static_cast<std::size_t>(i)].slots[instruction.guard] != 0;
          if (holds == instruction.guard_negated) active &= ~bit(i);
        });
      }
      ++counts.warps[static_cast<std::size_t>(pc)];
      counts.threads[static_cast<std::size_t>(pc)] += static_cast<std::uint64_t>(std::popcount(active));
      --instructions;
      if (instruction.flow == Flow::next) {
        instruction.handler(*this, instruction, active);
        ++pc;
        if (pc < next && instructions > 0) continue;
        branch(group, pc);
        break;
      }
      branch(group, pc);
      if (instruction.flow == Flow::branch) {
        branch(group, pc + 1);
        branch(active, instruction.target);
      } else if (instruction.flow == Flow::exchange) {
        branch(group & ~active, pc + 1);
        instruction.handler(*this, instruction, active);
      } else {
        const Mask stay = group & ~active;
        instruction.handler(*this, instruction, active);
        branch(stay, pc + 1);
      }
      break;
    }
  }
  return alive_ != 0;
}

Region parameters_of(const Function& entry, void* const* arguments) {
  std::size_t bytes = 0;
  for (const int parameter : entry.parameters) {
    const Variable& variable = entry.variables[static_cast<std::size_t>(parameter)];
    bytes = variable.offset + variable.size;
  }
  Region result(bytes, true);
  for (std::size_t k = 0; k < entry.parameters.size(); ++k) {
    const Variable& variable = entry.variables[static_cast<std::size_t>(entry.parameters[k])];
    std::memcpy(reinterpret_cast<void*>(result.begin() + variable.offset), arguments[k], variable.size);
  }
  return result;
}

void run(const Module& module, const Function& entry, int blocks, int threads, std::size_t shared_memory,
         const Region& parameters, const GlobalMemory& memory, Counts& counts) {
  counts.warps.resize(module.instructions.size());
  counts.threads.resize(module.instructions.size());
  GlobalMemory all = memory;
  for (const auto& [name, region] : module.globals) all[region->begin()] = region;
  const Launch launch{&module, &entry, &all, &parameters, blocks, threads};
  struct Resident {
    Block block;
    std::vector<Warp> warps;
  };
  std::deque<std::unique_ptr<Resident>> residents;
  int begun = 0;
  while (begun < blocks || !residents.empty()) {
    while (begun < blocks && residents.size() < resident_blocks) {
      auto resident =
          std::make_unique<Resident>(Resident{Block(module.static_shared_memory + shared_memory, begun++), {}});
      for (int warp = 0; warp * warp_size < threads; ++warp) {
        resident->warps.emplace_back(launch, resident->block, warp);
      }
      residents.push_back(std::move(resident));
    }
    for (const auto& resident : residents) {
      for (Warp& warp : resident->warps) warp.run(turn, counts);
    }
    std::erase_if(residents, [](const auto& resident) {
      return std::all_of(resident->warps.begin(), resident->warps.end(),
                         [](const Warp& warp) { return warp.alive() == 0; });
    });
  }
}

}  // namespace manyfold::test::ptx
