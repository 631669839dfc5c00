#pragma once
// A machine that executes PTX, the code that NVRTC writes for GPUs, on the processor. Tests run what a device would be
// given, where the emulated driver's own kernels are compiled by g++.
//
// 32 threads form a warp and go together as long as they are at the same instruction; of several places the deepest
// call and, in it, the first goes on, so that threads which have parted meet again where their ways do. Exchanges
// between the threads of a warp wait for all threads that they name. The machine faults, where a device would give
// wrong numbers or none,
// - at an access beyond the allocations of its address space, or not aligned to its size;
// - when memory that threads share is read and nothing has written it;
// - when threads of a warp access the same word of shared memory, one of them to write, without a barrier between;
// - when a thread reads from one that does not take part in the exchange, or threads wait for each other for ever.
//
// What the manual calls approximate is exact here, but for reciprocals of double precision, of which the manual says
// what is left. Products and sums that the assembler may contract stay apart.
//
// NVIDIA, Parallel Thread Execution ISA, version 9.0. Of its instructions those are known that the kernels contain;
// others are refused by name.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace manyfold::test::ptx {

/// What is wrong with a program, or with what it does; says where.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int warp_size = 32;
using Mask = std::uint32_t;
using Address = std::uint64_t;

/// Calls visit(lane) for every thread that `mask` names.
template <class Visit>
void for_lanes(Mask mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::countr_zero(mask));
}

enum class Space { generic, global, local, shared, parameter };

/// Memory, and which of its bytes have been written.
struct Region {
  explicit Region(std::size_t bytes, bool written = false)
      : data(new std::byte[bytes + 16]), size(bytes), initialised(bytes, written) {}
  Address begin() const { return (reinterpret_cast<Address>(data.get()) + 15) / 16 * 16; }
  bool contains(Address address, std::size_t bytes) const {
    return address >= begin() && address - begin() + bytes <= size;
  }
  std::unique_ptr<std::byte[]> data;
  std::size_t size;
  std::vector<char> initialised;
};

/// The regions of a device by their begin.
using GlobalMemory = std::map<Address, std::shared_ptr<Region>>;

class Warp;
struct Instruction;
/// Carries an instruction out for those threads of a warp that `active` names.
using Handler = void (*)(Warp&, const Instruction&, Mask active);

/// What an instruction does to the order of things.
enum class Flow { next, branch, call, leave, exchange };

struct Instruction {
  std::string text;
  int line = 0;        ///< of the module, from 1 on
  std::string opcode;  ///< with its modifiers
  Handler handler = nullptr;
  Flow flow = Flow::next;
  int guard = -1;  ///< slot of the predicate
  bool guard_negated = false;
  std::array<int, 6> slots{};  ///< destination first; of memory operands the address
  std::int64_t offset = 0;     ///< of the address
  Space space = Space::generic;
  int vector = 1;              ///< elements of an access
  int target = -1;             ///< of a branch: instruction; of a call: function
  std::vector<int> arguments;  ///< of a call: variables of the caller
  std::vector<int> results;    ///< of a call: variables of the caller
};

/// A variable of a function in its frame: a parameter, an array in local memory, or what goes to a function and back.
struct Variable {
  std::size_t offset;
  std::size_t size;
};

/// A slot that has its value when a function begins.
struct Preset {
  enum class Kind { value, frame, shared, thread, block, threads, blocks, lane };
  int slot;
  Kind kind;
  std::uint64_t value;  ///< or the offset
};

struct Function {
  std::string name;
  bool entry = false;
  int begin = 0;  ///< its first instruction
  int slots = 0;
  std::vector<Preset> presets;
  std::vector<Variable> variables;
  std::vector<int> parameters;  ///< of `variables`
  std::vector<int> results;     ///< of `variables`
  std::size_t frame = 0;        ///< bytes
};

struct Module {
  std::vector<Function> functions;
  std::vector<Instruction> instructions;  ///< of all functions
  std::map<std::string, std::shared_ptr<Region>> globals;
  std::size_t static_shared_memory = 0;

  const Function& function(std::string_view name) const;
};

/// Throws Fault.
Module parse(std::string_view text);

/// Of `opcode` with its modifiers, such as `ld.global.v2.f64`. Throws Fault if the machine does not know it.
struct Operation {
  Handler handler;
  Flow flow;
};
Operation operation(std::string_view opcode);

/// How often warps and their threads have carried out the instructions of a module.
struct Counts {
  std::vector<std::uint64_t> warps;
  std::vector<std::uint64_t> threads;
};

/// A word of shared memory: who wrote it last and who has read it since, and when by their own clocks.
struct SharedWord {
  int warp = -1;
  int writer = -1;
  std::uint32_t written = 0;
  std::array<std::uint32_t, warp_size> read{};
};

struct Block {
  Block(std::size_t shared_bytes, int number) : shared(shared_bytes), words(shared_bytes / 4 + 1), index(number) {}
  Region shared;
  std::vector<SharedWord> words;
  int index;
};

struct Launch {
  const Module* module;
  const Function* entry;
  const GlobalMemory* memory;
  const Region* parameters;
  int blocks;
  int threads;  ///< of a block
};

/// 32 threads, or fewer at the end of a block.
class Warp {
 public:
  Warp(const Launch& launch, Block& block, int index);

  /// Goes on for about `instructions`; whether threads are left.
  bool run(int instructions, Counts& counts);

  // For handlers.
  std::uint64_t* slots(int lane) { return lanes_[static_cast<std::size_t>(lane)].slots; }
  /// Memory for a load or a store; throws Fault.
  std::byte* access(int lane, Space space, Address address, std::size_t bytes, bool store);
  void branch(Mask taken, int target);
  void call(const Instruction& instruction, Mask active);
  void leave(Mask active);
  /// The threads that `mask` names, if all of them that live are among `present`; else none.
  Mask participants(Mask mask, Mask present, int lane) const;
  void wait(Mask lanes) { waiting_ |= lanes; }
  void advance(Mask lanes);
  void synchronize(Mask lanes);
  Mask alive() const { return alive_; }
  std::uint32_t& carry(int lane) { return lanes_[static_cast<std::size_t>(lane)].carry; }
  [[noreturn]] void fault(int lane, const std::string& what) const;

 private:
  struct Frame {
    const Function* function;
    int return_to;
    const Instruction* call;
    std::uint64_t* slots;
    std::size_t bottom;  ///< of its variables
  };
  struct Lane {
    int pc = 0;
    std::uint64_t* slots = nullptr;
    std::unique_ptr<std::uint64_t[]> registers;
    std::vector<Frame> frames;
    std::unique_ptr<Region> stack;
    std::uint32_t carry = 0;
    std::array<std::uint32_t, warp_size> clocks{};
  };

  void enter(Lane& lane, int lane_index, const Function& function, int return_to, const Instruction* call);
  Address variable(const Lane& lane, const Frame& frame, int variable) const;
  void check_race(int lane, Address address, std::size_t bytes, bool store);

  const Launch& launch_;
  Block& block_;
  int index_;
  std::vector<Lane> lanes_;
  Mask alive_ = 0;
  Mask waiting_ = 0;
  const Instruction* current_ = nullptr;
  Region* last_ = nullptr;  ///< that was accessed
};

/// What a kernel is called with, as it finds it; `arguments`: in order.
Region parameters_of(const Function& entry, void* const* arguments);

/// Runs a kernel. Counts are added to. Throws Fault.
void run(const Module& module, const Function& entry, int blocks, int threads, std::size_t shared_memory,
         const Region& parameters, const GlobalMemory& memory, Counts& counts);

}  // namespace manyfold::test::ptx
