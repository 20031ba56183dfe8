// Complete kernels: loops, shared memory, warps, and errors with their line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "emulator/tensor_core/tensor_core.h"
#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using emulator::Lanes;
using emulator::Schedule;
using emulator::Switching;
using testing::AllOf;
using testing::HasSubstr;

constexpr Schedule schedules[] = {Schedule::in_order, Schedule::reversed, Schedule::random};
constexpr Switching switchings[] = {Switching::assembly, Switching::ucontext};

Launch one_block(unsigned threads, const Arguments& arguments) {
  Launch how;
  how.options = compiled_options(emulator::Arch::sm_90);
  how.block = {threads};
  how.parameters = arguments.data();
  return how;
}

// Sums the threads' numbers over the warp by shuffles and over the block through shared memory.
// Blocks add to one word.
constexpr std::string_view sum_of_threads = R"(
.shared .align 4 .b32 sums[32];
ld.param.u64 %y1, [total];
cvta.to.global.u64 %y1, %y1;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %laneid;
shr.u32 %r3, %r1, 5;
mov.u32 %r4, %r1;
mov.u32 %r5, 16;
LOOP:
shfl.sync.bfly.b32 %r6, %r4, %r5, 31, 0xffffffff;
add.s32 %r4, %r4, %r6;
shr.u32 %r5, %r5, 1;
setp.ne.u32 %p1, %r5, 0;
@%p1 bra LOOP;
mov.u32 %r7, sums;
shl.b32 %r8, %r3, 2;
add.u32 %r7, %r7, %r8;
setp.eq.u32 %p2, %r2, 0;
@%p2 st.shared.u32 [%r7], %r4;
bar.sync 0;
setp.ne.u32 %p3, %r1, 0;
@%p3 bra DONE;
mov.u32 %r9, 0;
mov.u32 %r10, %ntid.x;
shr.u32 %r10, %r10, 5;
mov.u32 %r11, sums;
NEXT:
ld.shared.u32 %r12, [%r11];
add.u32 %r9, %r9, %r12;
add.u32 %r11, %r11, 4;
sub.u32 %r10, %r10, 1;
setp.ne.u32 %p4, %r10, 0;
@%p4 bra NEXT;
atom.global.add.u32 %r13, [%y1], %r9;
DONE:
)";

TEST(PtxKernels, BlocksSumThreads) {
  const auto kernel = compiled(module_text(".param .u64 total", sum_of_threads));
  ASSERT_TRUE(kernel) << kernel.error();
  for (const Schedule schedule : schedules) {
    for (const Switching switching : switchings) {
      std::uint32_t total = 0;
      const Arguments arguments = Arguments(*kernel).add(&total);
      Launch how = one_block(128, arguments);
      how.grid = {5, 2};
      how.options.schedule = schedule;
      how.options.switching = switching;
      ASSERT_EQ(launch(*kernel, how), "");
      EXPECT_EQ(total, 10U * 127 * 64);
    }
  }
}

// Without its barrier the first thread reads values that others have not written.
TEST(PtxKernels, MissingBarrierShows) {
  std::string body(sum_of_threads);
  body.erase(body.find("bar.sync 0;"), 11);
  const auto kernel = compiled(module_text(".param .u64 total", body));
  ASSERT_TRUE(kernel) << kernel.error();
  std::uint32_t total = 0;
  const Arguments arguments = Arguments(*kernel).add(&total);
  ASSERT_EQ(launch(*kernel, one_block(128, arguments)), "");
  EXPECT_NE(total, 127U * 64);
}

// A transpose within a warp without bar.warp.sync: correct only in lockstep.
TEST(PtxKernels, LockstepAndIndependentLanesDiffer) {
  const auto kernel = compiled(module_text(".param .u64 out", R"(
.shared .align 4 .b32 words[32];
ld.param.u64 %y1, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, words;
mad.lo.u32 %r3, %r1, 4, %r2;
st.shared.u32 [%r3], %r1;
xor.b32 %r4, %r1, 31;
mad.lo.u32 %r5, %r4, 4, %r2;
ld.shared.u32 %r6, [%r5];
mul.wide.u32 %y2, %r1, 4;
add.u64 %y1, %y1, %y2;
st.global.u32 [%y1], %r6;)"));
  ASSERT_TRUE(kernel) << kernel.error();
  std::vector<std::uint32_t> out(32), expected(32);
  std::iota(expected.rbegin(), expected.rend(), 0U);
  const Arguments arguments = Arguments(*kernel).add(out.data());
  for (const Schedule schedule : schedules) {
    Launch how = one_block(32, arguments);
    how.options.schedule = schedule;
    ASSERT_EQ(launch(*kernel, how), "");
    EXPECT_EQ(out, expected);
    how.options.lanes = Lanes::independent;
    ASSERT_EQ(launch(*kernel, how), "");
    EXPECT_NE(out, expected);
  }
}

// vote, match, redux and shfl with a predicate, by eight lanes of a warp.
TEST(PtxKernels, WarpsVoteAndMatch) {
  const auto kernel = compiled(module_text(".param .u64 out", R"(
ld.param.u64 %y1, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %y2, %r1, 32;
add.u64 %y1, %y1, %y2;
setp.ge.u32 %p1, %r1, 8;
@%p1 ret;
and.b32 %r2, %r1, 1;
setp.eq.u32 %p2, %r2, 0;
vote.sync.ballot.b32 %r3, %p2, 255;
vote.sync.any.pred %p3, !%p2, 255;
match.any.sync.b32 %r4, %r2, 255;
match.all.sync.b32 %r5|%p4, %r2, 255;
redux.sync.max.s32 %r6, %r1, 255;
redux.sync.add.u32 %r7, %r1, 255;
shfl.sync.down.b32 %r8|%p5, %r1, 3, 0x1807, 255;
selp.u32 %r9, 1, 0, %p3;
selp.u32 %r10, 1, 0, %p4;
selp.u32 %r11, 1, 0, %p5;
st.global.v4.u32 [%y1], {%r3, %r9, %r4, %r10};
st.global.v4.u32 [%y1+16], {%r6, %r7, %r8, %r11};)"));
  ASSERT_TRUE(kernel) << kernel.error();
  std::vector<std::uint32_t> out(8 * 32);
  const Arguments arguments = Arguments(*kernel).add(out.data());
  ASSERT_EQ(launch(*kernel, one_block(32, arguments)), "");
  for (std::uint32_t lane = 0; lane < 8; ++lane) {
    const std::vector<std::uint32_t> row(out.begin() + 8 * lane, out.begin() + 8 * lane + 8);
    const bool inside = lane < 5;  // of a segment of 8
    EXPECT_EQ(row, (std::vector<std::uint32_t>{0x55, 1, lane % 2 == 0 ? 0x55U : 0xaaU, 0, 7, 28,
                                               inside ? lane + 3 : lane, inside ? 1U : 0U}));
  }
}

// A shuffle from a lane outside of its mask, a mask without the calling lane, rows of ldmatrix
// outside of shared memory and misaligned, and a barrier that some threads do not reach.
TEST(PtxKernels, InvalidCollectivesAreReported) {
  constexpr std::string_view start = R"(
.shared .align 16 .b8 a[512];
mov.u32 %r1, %tid.x;
mov.u32 %r2, a;
setp.ge.u32 %p1, %r1, 8;
)";
  const auto failure = [&](std::string_view body) {
    const auto kernel = compiled(module_text("", std::string(start).append(body)));
    EXPECT_TRUE(kernel) << kernel.error();
    std::string text;
    for (const Switching switching : switchings) {
      const Arguments arguments(*kernel);
      Launch how = one_block(32, arguments);
      how.options.switching = switching;
      const std::string said = launch(*kernel, how);
      EXPECT_TRUE(text.empty() || said == text) << said;
      text = said;
    }
    return text;
  };
  EXPECT_THAT(failure("@%p1 ret; shfl.sync.idx.b32 %r3, %r1, 9, 31, 255;"),
              HasSubstr("reads lane 9, which the mask 0x000000ff leaves out"));
  EXPECT_THAT(failure("vote.sync.ballot.b32 %r3, %p1, 255;"),
              HasSubstr("the mask 0x000000ff leaves out the calling lane"));
  constexpr std::string_view load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}";
  EXPECT_THAT(failure(std::string("mad.lo.u32 %r3, %r1, 24, %r2;").append(load) + ", [%r3];"),
              HasSubstr("is not 16-byte aligned"));
  EXPECT_THAT(failure(std::string("mad.lo.u32 %r3, %r1, 32, %r2;").append(load) + ", [%r3];"),
              HasSubstr("accesses bytes from 512 on, but shared memory has 512 bytes"));
  EXPECT_THAT(failure("@%p1 bar.warp.sync -1; @!%p1 bar.sync 0;"), HasSubstr("lanes 8-31"));
}

// LLVM keeps addresses of local memory in 32 bits (-nvptx-short-ptr). A load after its end is
// reported.
TEST(PtxKernels, LocalMemoryHasAddressesOf32Bits) {
  const auto kernel = compiled(module_text(".param .u64 out", R"(
.local .align 8 .b8 depot[16];
mov.b64 %y1, depot;
cvta.local.u64 %y2, %y1;
add.u64 %y2, %y2, 8;
cvta.to.local.u64 %y3, %y2;
cvt.u32.u64 %r1, %y3;
mov.u32 %r2, 7;
st.local.u32 [%r1+4], %r2;
ld.u32 %r3, [%y2+4];
ld.param.u64 %y6, [out];
st.global.u32 [%y6], %r3;
setp.eq.u32 %p1, %r3, 7;
@%p1 ld.local.u32 %r3, [%r1+8];)"));
  ASSERT_TRUE(kernel) << kernel.error();
  std::uint32_t out = 0;
  Arguments arguments(*kernel);
  arguments.add(&out);
  const std::string text = launch(*kernel, one_block(1, arguments));
  EXPECT_EQ(out, 7U);
  EXPECT_THAT(text, HasSubstr("local memory: out of bounds at byte 16"));
}

// Local memory, a generic address of it and of shared memory, a scope with registers of the same
// name, and a carry.
TEST(PtxKernels, LocalMemoryAndGenericAddresses) {
  const auto kernel = compiled(module_text(".param .u64 out", R"(
.local .align 8 .b8 depot[64];
.shared .align 8 .b64 word;
mov.u64 %y1, depot;
cvta.local.u64 %y2, %y1;
mov.u32 %r1, 41;
st.local.u32 [%y1+8], %r1;
{ .reg .b32 %r<2>; ld.u32 %r1, [%y2+8]; add.u32 %r1, %r1, 1; st.u32 [%y2+12], %r1; }
ld.local.u32 %r2, [%y1+12];
mov.u64 %y3, word;
cvta.shared.u64 %y4, %y3;
st.shared.u64 [word], 5;
ld.u64 %y5, [%y4];
ld.param.u64 %y6, [out];
isspacep.shared %p1, %y4;
isspacep.shared %p2, %y6;
selp.u32 %r3, 1, 0, %p1;
selp.u32 %r4, 1, 0, %p2;
cvt.u32.u64 %r5, %y5;
st.global.v4.u32 [%y6], {%r1, %r2, %r5, %r3};
st.global.u32 [%y6+16], %r4;)"));
  ASSERT_TRUE(kernel) << kernel.error();
  alignas(16) std::array<std::uint32_t, 5> out{};
  const Arguments arguments = Arguments(*kernel).add(out.data());
  ASSERT_EQ(launch(*kernel, one_block(1, arguments)), "");
  EXPECT_EQ(out, (std::array<std::uint32_t, 5>{41, 42, 5, 1, 0}));
}

// Out of bounds and misaligned, with the line of the source if the PTX has it.
TEST(PtxKernels, InvalidAddressErrorNamesLine) {
  const auto kernel =
      compiled(module_text(".param .u64 out, .param .u32 at, .param .u32 shared", R"(
.shared .align 16 .b8 tile[64];
ld.param.u64 %y1, [out];
ld.param.u32 %r1, [at];
ld.param.u32 %r2, [shared];
mov.u32 %r3, tile;
add.u32 %r3, %r3, %r2;
.loc 1 77 5
st.shared.u32 [%r3], %r1;
mul.wide.s32 %y2, %r1, 4;
add.u64 %y1, %y1, %y2;
.loc 1 80 5
st.global.u32 [%y1], %r1;)",
                           ".file 1 \"/src/scale.cu\""));
  ASSERT_TRUE(kernel) << kernel.error();
  std::vector<std::uint32_t> out(16);
  Allocations allocations;
  allocations.add(out.data(), 64);
  const auto failure = [&](int at, int shared) {
    const Arguments arguments = Arguments(*kernel).add(out.data()).add(at).add(shared);
    Launch how = one_block(1, arguments);
    how.allocations = &allocations;
    return launch(*kernel, how);
  };
  EXPECT_EQ(failure(15, 60), "");
  EXPECT_EQ(out[15], 15U);
  EXPECT_THAT(failure(16, 0), AllOf(HasSubstr("k.ptx:24 (scale.cu:80)"),
                                    HasSubstr("out of bounds, 4 bytes at byte 64 of an allocation "
                                              "of 64")));
  EXPECT_THAT(failure(-2, 0), HasSubstr("8 bytes before an allocation of 64"));
  EXPECT_THAT(failure(0, 64), AllOf(HasSubstr("k.ptx:20 (scale.cu:77)"),
                                    HasSubstr("shared memory: out of bounds at byte 64")));
  EXPECT_THAT(failure(0, 2), HasSubstr("shared memory: misaligned at byte 2"));
}

// Two rows of a tensor-core product, with operands by ldmatrix from an asynchronous copy. Without
// its wait the copy has not landed.
TEST(PtxKernels, MatrixProductWithAsyncCopies) {
  constexpr std::string_view body = R"(
.shared .align 16 .b8 a[512];
ld.param.u64 %y1, [in];
ld.param.u64 %y2, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, a;
shl.b32 %r3, %r1, 4;
add.u32 %r4, %r2, %r3;
cvt.u64.u32 %y3, %r3;
add.u64 %y4, %y1, %y3;
cp.async.cg.shared.global [%r4], [%y4], 16;
cp.async.commit_group;
cp.async.wait_group 0;
bar.warp.sync -1;
and.b32 %r5, %r1, 15;
shl.b32 %r5, %r5, 5;
shr.u32 %r6, %r1, 4;
shl.b32 %r6, %r6, 4;
add.u32 %r7, %r2, %r5;
add.u32 %r7, %r7, %r6;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];
mov.b32 %r14, 0x3c003c00;
mov.f32 %f1, 0f3F000000;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r10, %r11, %r12, %r13}, {%r14, %r14}, {%f1, %f1, %f1, %f1};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, _, %f4, _}, {%r10, %r11, %r12, %r13}, {%r14, %r14}, {%f1, 0., 0f3F800000, 0.};
mul.wide.u32 %y5, %r1, 16;
add.u64 %y6, %y2, %y5;
st.global.v4.f32 [%y6], {%f2, %f3, %f4, %f5};)";
  std::vector<_Float16> in(256);
  for (int i = 0; i < 256; ++i) in[static_cast<std::size_t>(i)] = static_cast<_Float16>(i / 16);
  std::vector<float> out(128);
  const auto run = [&](std::string text) {
    const auto kernel = compiled(module_text(".param .u64 in, .param .u64 out", text));
    EXPECT_TRUE(kernel) << kernel.error();
    const Arguments arguments = Arguments(*kernel).add(in.data()).add(out.data());
    for (const Schedule schedule : schedules) {
      for (const Switching switching : switchings) {
        std::fill(out.begin(), out.end(), 0.0F);
        Launch how = one_block(32, arguments);
        how.options.schedule = schedule;
        how.options.switching = switching;
        EXPECT_EQ(launch(*kernel, how), "");
      }
    }
  };
  run(std::string(body));
  for (std::size_t lane = 0; lane < 32; ++lane) {
    // Each row of A holds its row number and B holds ones, so the result is 16 times the row, plus
    // C.
    const auto row = static_cast<float>(lane / 4);
    EXPECT_EQ(out[4 * lane], 16 * row + 0.5F);
    EXPECT_EQ(out[4 * lane + 3], 16 * (row + 8) + 0.5F);
    // FlashInfer's row sums: only two columns, and C as literals.
    EXPECT_EQ(out[4 * lane + 1], 16 * row + 0.5F);
    EXPECT_EQ(out[4 * lane + 2], 16 * (row + 8) + 1.0F);
  }
  std::string unwaited(body);
  unwaited.erase(unwaited.find("cp.async.wait_group 0;"), 22);
  run(unwaited);
  EXPECT_TRUE(std::isnan(out[0]));
}

// Products that are executed together, and products of their results, on a processor that flushes.
// They must equal mma_sync, including its denormal numbers.
TEST(PtxKernels, TensorCoreKeepsDenormals) {
  std::string body = R"(
ld.param.u64 %y1, [in];
ld.param.u64 %y2, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %y3, %r1, 64;
add.u64 %y1, %y1, %y3;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%y1];
ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%y1+16];
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%y1+32];
ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%y1+48];
)";
  struct Multiplied {
    int a, b, c, d;  // first registers
  };
  // The last two need results of the first three.
  constexpr Multiplied all[] = {
      {10, 14, 1, 10}, {14, 10, 1, 14}, {10, 12, 5, 18}, {14, 14, 10, 22}, {10, 16, 18, 26}};
  for (const Multiplied& each : all) {
    const auto four = [](char kind, int at) {
      return fmt::format("{{%{0}{1}, %{0}{2}, %{0}{3}, %{0}{4}}}", kind, at, at + 1, at + 2,
                         at + 3);
    };
    body += fmt::format(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}, {}, {{%r{}, %r{}}}, {};\n",
        four('f', each.d), four('r', each.a), each.b, each.b + 1, four('f', each.c));
  }
  body += "mul.wide.u32 %y3, %r1, 84;\nadd.u64 %y2, %y2, %y3;\n";
  for (int i = 0; i < 20; ++i)
    body += fmt::format("st.global.f32 [%y2+{}], %f{};\n", 4 * i, 10 + i);
  body += "mul.ftz.f32 %f1, %f1, 0f3F800000;\nst.global.f32 [%y2+80], %f1;\n";
  const auto kernel = compiled(module_text(".param .u64 in, .param .u64 out", body));
  ASSERT_TRUE(kernel) << kernel.error();
  EXPECT_TRUE(kernel->facts.host_flushes);

  // bf16 numbers whose products are denormal, with denormal accumulators.
  std::mt19937 random(5);
  std::vector<std::uint32_t> in(32 * 16);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 8; ++i) in[16 * lane + i] = (random() & 0x83ff83ff) | 0x1f001f00;
    for (std::size_t i = 8; i < 16; ++i) in[16 * lane + i] = random() & 0x807fffff;
  }
  std::vector<std::uint32_t> out(32 * 21);
  const Arguments arguments = Arguments(*kernel).add(in.data()).add(out.data());
  const auto of_lanes = [](const auto& from, std::size_t stride, std::size_t first,
                           std::size_t count) {
    std::vector<std::uint32_t> words;
    for (std::size_t lane = 0; lane < 32; ++lane)
      words.insert(words.end(), &from[stride * lane + first], &from[stride * lane + first + count]);
    return words;
  };
  for (const Schedule schedule : schedules) {
    for (const Switching switching : switchings) {
      Launch how = one_block(32, arguments);
      how.options.schedule = schedule;
      how.options.switching = switching;
      std::fill(out.begin(), out.end(), 0);
      ASSERT_EQ(launch(*kernel, how), "");
      int denormal = 0;
      for (const Multiplied& each : all) {
        const auto at = [](int first, int base) { return static_cast<std::size_t>(first - base); };
        const auto c = each.c < 10 ? of_lanes(in, 16, 7 + static_cast<std::size_t>(each.c), 4)
                                   : of_lanes(out, 21, at(each.c, 10), 4);
        std::vector<std::uint32_t> expected(128);
        emulator::mma_sync(how.options.arch,
                           {emulator::MmaFormat::bf16, emulator::MmaAccumulator::f32, 16},
                           of_lanes(in, 16, at(each.a, 10), 4).data(),
                           of_lanes(in, 16, at(each.b, 10), 2).data(), c.data(), expected.data());
        EXPECT_EQ(of_lanes(out, 21, at(each.d, 10), 4), expected);
        for (const std::uint32_t word : expected)
          denormal += (word & 0x7f800000) == 0 && (word & 0x7fffff) != 0 ? 1 : 0;
      }
      EXPECT_GT(denormal, 100);
      for (std::size_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(out[21 * lane + 20], in[16 * lane + 8] & 0x80000000);
    }
  }
  // The launch restores the processor's mode.
  volatile float denormal = 0x1p-127F;
  EXPECT_EQ(denormal * 2, 0x1p-126F);
}

// A product that is denormal before it is rounded, but not afterwards (flush.h).
TEST(PtxKernels, ProcessorFlushDiffersAtDenormalBoundary) {
  for (const bool by_processor : {true, false}) {
    const auto kernel = compiled(module_text(
        ".param .u64 out", fmt::format("ld.param.u64 %y1, [out];\nmov.f32 %f1, 0f3F7FFFFF;\n"
                                       "mov.u32 %r1, %tid.x;\nadd.u32 %r1, %r1, 0x00800000;\n"
                                       "mov.b32 %f2, %r1;\nmul.ftz.f32 %f3, %f1, %f2;\n"
                                       "st.global.f32 [%y1], %f3;\n{}",
                                       by_processor ? "" : "add.f32 %f4, %f1, %f1;")));
    ASSERT_TRUE(kernel) << kernel.error();
    EXPECT_EQ(kernel->facts.host_flushes, by_processor);
    float out = -1;
    const Arguments arguments = Arguments(*kernel).add(&out);
    EXPECT_EQ(launch(*kernel, one_block(1, arguments)), "");
    EXPECT_EQ(out, by_processor ? 0.0F : 0x1p-126F);
  }
}

}  // namespace
}  // namespace plumbline::ptx
