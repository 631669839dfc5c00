// The machine that executes PTX: that it computes what the manual says, and that it faults where a device would go
// wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "tests/cuda/ptx/machine.hpp"

namespace manyfold::test::ptx {
namespace {

/// A program of one kernel with an array as its parameter: %rd0 is its address, %r0 the thread's number, %rd1 the
/// address of the thread's own 8 bytes in it, which %fd0 holds when it begins.
class Kernel {
 public:
  explicit Kernel(const std::string& body, const std::string& declarations = "")
      : module_(parse(".version 9.0\n.target sm_90\n.address_size 64\n" + declarations +
                      ".visible .entry kernel(.param .u64 array) {\n"
                      ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f64 %fd<16>; .reg .b32 %f<8>;\n"
                      "ld.param.u64 %rd0, [array]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8;\n"
                      "add.s64 %rd1, %rd0, %rd1; ld.global.f64 %fd0, [%rd1];\n" +
                      body + "\nret;\n}\n")) {}

  std::vector<double> operator()(std::vector<double> array, std::size_t shared_memory = 0) const {
    const auto region = std::make_shared<Region>(array.size() * sizeof(double), true);
    std::memcpy(reinterpret_cast<void*>(region->begin()), array.data(), region->size);
    const Address address = region->begin();
    const void* arguments[] = {&address};
    const Function& entry = module_.function("kernel");
    run(module_, entry, 1, static_cast<int>(array.size()), shared_memory,
        parameters_of(entry, const_cast<void* const*>(arguments)), {{address, region}}, counts);
    std::memcpy(array.data(), reinterpret_cast<void*>(region->begin()), region->size);
    return array;
  }

  mutable Counts counts;

 private:
  Module module_;
};

/// What is said of the fault of `body` with two threads.
std::string fault_of(const std::string& body, const std::string& declarations = "") {
  try {
    Kernel(body, declarations)({1.0, 2.0}, 64);
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}

TEST(PtxMachine, ArithmeticIsThatOfTheProcessor) {
  const double x = std::numbers::pi;
  const Kernel kernel(
      "fma.rn.f64 %fd1, %fd0, %fd0, 0d3FF0000000000000; sqrt.rn.f64 %fd1, %fd1; rcp.rn.f64 %fd1, %fd1;\n"
      "max.f64 %fd2, %fd1, 0dFFF8000000000000; neg.f64 %fd2, %fd2; st.global.f64 [%rd1], %fd2;");
  EXPECT_EQ(kernel({x})[0], -(1.0 / std::sqrt(std::fma(x, x, 1.0))));
}

TEST(PtxMachine, IntegersWrapCarryAndShift) {
  // The high half of a square of 64 bits, by halves of 32 as NVRTC multiplies.
  const std::uint64_t a = 0xfedcba9876543211ULL;
  const Kernel kernel(
      "ld.global.u64 %rd2, [%rd1]; mov.b64 {%r1, %r2}, %rd2;\n"
      "mul.wide.u32 %rd3, %r1, %r1; mov.b64 {%r3, %r4}, %rd3;\n"
      "mad.lo.cc.u32 %r4, %r1, %r2, %r4; madc.hi.u32 %r5, %r1, %r2, 0;\n"
      "mad.lo.cc.u32 %r4, %r1, %r2, %r4; madc.hi.cc.u32 %r5, %r1, %r2, %r5; addc.u32 %r6, 0, 0;\n"
      "mad.lo.cc.u32 %r5, %r2, %r2, %r5; madc.hi.u32 %r6, %r2, %r2, %r6;\n"
      "mov.b64 %rd4, {%r5, %r6}; st.global.u64 [%rd1], %rd4;");
  double bits;
  std::memcpy(&bits, &a, 8);
  const double result = kernel({bits})[0];
  std::uint64_t high;
  std::memcpy(&high, &result, 8);
  __extension__ using Wide = unsigned __int128;
  EXPECT_EQ(high, static_cast<std::uint64_t>((static_cast<Wide>(a) * a) >> 64));
  const Kernel others(
      "mov.u32 %r1, 0x12345678; brev.b32 %r2, %r1; prmt.b32 %r3, %r2, %r1, 0x7531; shr.s32 %r4, %r2, 31;\n"
      "bfe.u32 %r5, %r1, 8, 12; shf.l.wrap.b32 %r6, %r1, %r2, 8; xor.b32 %r3, %r3, %r4; add.s32 %r3, %r3, %r5;\n"
      "sub.s32 %r3, %r3, %r6; cvt.rn.f64.u32 %fd1, %r3; st.global.f64 [%rd1], %fd1;");
  // Reversed: 0x1e6a2c48, whose sign is positive; its bytes 1 and 3 and those of the other.
  EXPECT_EQ(others({0.0})[0], static_cast<double>(0x12561e2cU + 0x456U - 0x6a2c4812U));
  // Fields with a sign: within the word, up to its end, and beyond it.
  const auto field = [](const std::string& from_and_count) {
    return Kernel("mov.u32 %r1, 0x92345698; bfe.s32 %r2, %r1, " + from_and_count +
                  "; cvt.rn.f64.s32 %fd1, %r2; st.global.f64 [%rd1], %fd1;")({0.0})[0];
  };
  EXPECT_EQ(field("4, 4"), -7.0);
  EXPECT_EQ(field("0, 4"), -8.0);
  EXPECT_EQ(field("8, 4"), 6.0);
  EXPECT_EQ(field("28, 8"), -7.0);
  EXPECT_EQ(field("32, 1"), -1.0);
  EXPECT_EQ(field("4, 0"), 0.0);
}

TEST(PtxMachine, ConversionsRoundAndSaturate) {
  const auto converted = [](const std::string& type, double x) {
    return Kernel("cvt." + type + ".s32.f64 %r1, %fd0; cvt.rn.f64.s32 %fd1, %r1; st.global.f64 [%rd1], %fd1;")({x})[0];
  };
  EXPECT_EQ(converted("rni", 2.5), 2.0);
  EXPECT_EQ(converted("rzi", -2.9), -2.0);
  EXPECT_EQ(converted("rmi", -2.1), -3.0);
  EXPECT_EQ(converted("rpi", 2.1), 3.0);
  EXPECT_EQ(converted("rzi", 1e300), std::numeric_limits<int>::max());
  EXPECT_EQ(converted("rzi", std::nan("")), 0.0);
}

TEST(PtxMachine, ThreadsThatPartMeetAgain) {
  // Thread k adds up k + 1 terms; what comes after the loop is done by all together.
  const Kernel kernel(
      "mov.f64 %fd1, 0d0000000000000000; mov.u32 %r1, 0;\n"
      "again: add.f64 %fd1, %fd1, %fd0; add.s32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %r0; @%p1 bra again;\n"
      "add.f64 %fd1, %fd1, 0d3FF0000000000000; st.global.f64 [%rd1], %fd1;");
  std::vector<double> ones(32, 1.0);
  const auto sums = kernel(ones);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(sums[static_cast<std::size_t>(k)], k + 2.0);
  EXPECT_EQ(kernel.counts.warps.back(), 1U);
  EXPECT_EQ(kernel.counts.threads.back(), 32U);
}

TEST(PtxMachine, FunctionsReturnToTheirCallers) {
  const std::string twice =
      ".func (.param .b64 result) twice(.param .b64 x) { .reg .f64 %fd<3>;\n"
      "ld.param.f64 %fd1, [x]; add.f64 %fd2, %fd1, %fd1; st.param.f64 [result], %fd2; ret; }\n";
  const std::string call =
      "{ .param .b64 x; st.param.f64 [x], %fd0; .param .b64 y; call.uni (y), twice, (x); ld.param.f64 %fd0, [y]; }\n";
  const Kernel kernel("setp.eq.u32 %p1, %r0, 1; @%p1 bra end;\n" + call + call + "end: st.global.f64 [%rd1], %fd0;",
                      twice);
  EXPECT_EQ(kernel({1.0, 2.0, 3.0}), (std::vector<double>{4.0, 2.0, 12.0}));
}

TEST(PtxMachine, ThreadsOfAWarpExchangeNumbers) {
  const Kernel kernel(
      "mov.b64 {%r1, %r2}, %fd0; shfl.sync.bfly.b32 %r3|%p1, %r1, 1, 31, -1;\n"
      "shfl.sync.bfly.b32 %r4|%p1, %r2, 1, 31, -1; mov.b64 %fd1, {%r3, %r4}; st.global.f64 [%rd1], %fd1;");
  EXPECT_EQ(kernel({1.0, 2.0, 3.0, 4.0}), (std::vector<double>{2.0, 1.0, 4.0, 3.0}));
}

TEST(PtxMachine, FaultsAtAccessesOutOfBounds) {
  EXPECT_NE(fault_of("st.global.f64 [%rd1+16], %fd0;").find("belong to no allocation"), std::string::npos);
  EXPECT_NE(fault_of("ld.shared.f64 %fd1, [%rd1];").find("belong to no allocation"), std::string::npos);
  EXPECT_NE(fault_of("ld.global.f64 %fd1, [%rd1+4];").find("not aligned"), std::string::npos);
}

constexpr const char* shared = ".extern .shared .align 8 .b8 buffer[];\n";

TEST(PtxMachine, FaultsWhereNothingWasWritten) {
  EXPECT_NE(fault_of("mov.u64 %rd2, buffer; ld.shared.f64 %fd1, [%rd2];", shared).find("never been written"),
            std::string::npos);
}

TEST(PtxMachine, FaultsAtRacesInSharedMemory) {
  // Each thread writes its own number and reads the other's.
  const std::string write =
      "mov.u64 %rd2, buffer; mul.wide.u32 %rd3, %r0, 8; add.s64 %rd3, %rd2, %rd3;\n"
      "st.shared.f64 [%rd3], %fd0;\n";
  const std::string read =
      "xor.b32 %r1, %r0, 1; mul.wide.u32 %rd4, %r1, 8; add.s64 %rd4, %rd2, %rd4;\n"
      "ld.shared.f64 %fd1, [%rd4];\n";
  const std::string barrier = "bar.warp.sync 3;\n";
  EXPECT_EQ(fault_of(write + barrier + read, shared), "no fault");
  EXPECT_NE(fault_of(write + read, shared).find("wrote this word"), std::string::npos);
  EXPECT_EQ(fault_of(write + barrier + read + barrier + write, shared), "no fault");
  EXPECT_NE(fault_of(write + barrier + read + write, shared).find("reads this word"), std::string::npos);
}

TEST(PtxMachine, FaultsAtExchangesThatCannotBe) {
  // Two threads are there, 16 of a mask are not; thread 0 reads from one of them.
  EXPECT_NE(fault_of("shfl.sync.bfly.b32 %r3|%p1, %r0, 16, 31, -1;").find("does not take part"), std::string::npos);
  EXPECT_NE(fault_of("bar.warp.sync 1;").find("not in the mask"), std::string::npos);
  EXPECT_NE(fault_of("setp.eq.u32 %p1, %r0, 0; @%p1 bra other; bar.warp.sync 3; bra end;\n"
                     "other: bar.warp.sync 3; bar.warp.sync 3; end:")
                .find("wait for each other"),
            std::string::npos);
}

TEST(PtxMachine, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(fault_of("tex.1d.v4.f32.f32 %r1, %r2;").find("tex.1d.v4.f32.f32 is not known"), std::string::npos);
  EXPECT_NE(fault_of("add.s32 %r1, %r99, 1;").find("unknown operand '%r99'"), std::string::npos);
}

}  // namespace
}  // namespace manyfold::test::ptx
