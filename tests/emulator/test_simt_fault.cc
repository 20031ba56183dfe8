// A fault changes the calls of an unchanged kernel, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::Call;
using emulator::Fault;
using emulator::launch;
using emulator::LaunchOptions;
using emulator::Notes;

// One warp, one call of every kind. out: [32][10], 1 word of shuffle, 4 of ldmatrix, 4 of mma, 1 of
// a copy.
struct EveryCallParameters {
  const float* in;  // [32][4]
  std::uint32_t* out;
};

__global__ void every_call(EveryCallParameters p) {
  const unsigned lane = threadIdx.x;
  std::uint32_t* const out = p.out + (blockIdx.x * 32 + lane) * 10;
  float* const shared = reinterpret_cast<float*>(simt::dynamic_shared());
  simt::cp_async_16(shared + 4 * lane, p.in + 4 * lane, lane != 31);
  simt::cp_async_commit();
  simt::cp_async_wait<0>();
  __syncthreads();
  out[0] = __float_as_uint(__shfl_xor_sync(0xffffffffU, static_cast<float>(lane), 1));
  std::uint32_t r[4];
  simt::ldmatrix_x4(r, shared + 4 * lane);
  std::memcpy(out + 1, r, sizeof r);
  float d[4] = {1, 2, 3, 4};
  // fp16 ones
  const std::uint32_t a[4] = {0x3c003c00U, 0x3c003c00U, 0, 0}, b[2] = {0x3c003c00U, 0};
  simt::mma_f16(d, a, b);
  std::memcpy(out + 5, d, sizeof d);
  out[9] = __float_as_uint(shared[4 * lane + 3]);
}

std::vector<std::uint32_t> run(const Fault* fault, unsigned blocks = 1) {
  std::vector<float> in(128);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  std::vector<std::uint32_t> out(std::size_t{blocks} * 320);
  LaunchOptions options;
  options.fault = fault;
  EXPECT_EQ(launch(options, {blocks}, {32}, 512, every_call, {in.data(), out.data()}), "");
  return out;
}
// Returns the words of a lane. The tests use lane 5, and lane 31, whose cp.async is not `valid`.
std::array<std::uint32_t, 10> words(const std::vector<std::uint32_t>& out, std::size_t lane = 5) {
  std::array<std::uint32_t, 10> of_lane{};
  std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(lane * 10), 10, of_lane.begin());
  return of_lane;
}
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(SimtFault, NeutralFaultChangesNoBit) {
  const Fault none;
  const auto out = run(nullptr);
  EXPECT_EQ(run(&none), out);
  EXPECT_EQ(words(out)[0], bits(4));
  EXPECT_EQ(words(out)[5], bits(9)) << "1 + 8 products";
  EXPECT_EQ(words(out)[9], bits(24));
  EXPECT_EQ(words(out, 31)[9], bits(0));
}

TEST(SimtFault, CopiesAndWaits) {
  struct : Fault {
    Copy copy(Notes&, bool valid) const override { return valid ? Copy::first_half : Copy::valid; }
    void landed(std::byte* shared) const override {
      float first = 0;
      std::memcpy(&first, shared, 4);
      first = -first;
      std::memcpy(shared, &first, 4);
    }
  } halves;
  EXPECT_EQ(words(run(&halves))[9], bits(0)) << "elements 2 and 3 of a copy of 8 bytes";
  EXPECT_EQ(words(run(&halves), 31)[9], bits(128)) << "that was not valid";
  EXPECT_EQ(words(run(&halves))[1], words(run(nullptr))[1]) << "the second element of row 1";
  EXPECT_EQ(words(run(&halves), 0)[1], words(run(nullptr), 0)[1] ^ 0x80000000U)
      << "the first of row 0";

  struct : Fault {
    int wait(Notes&, int) const override { return -1; }
  } no_wait;
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(words(run(&no_wait))[9])));
  struct : Fault {
    Copy copy(Notes&, bool) const override { return Copy::never_issued; }
  } no_copy;
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(words(run(&no_copy), 31)[9])));
}

TEST(SimtFault, ShufflesLoadsAndProducts) {
  struct : Fault {
    Call shuffle(Notes&, Call, int& operand) const override {
      operand = 3;
      return Call::shfl_up;
    }
    Call load(Notes&, Call, std::size_t& row) const override {
      row ^= 16;
      return Call::ldmatrix_x4;
    }
    void loaded(Notes&, Call, std::uint32_t* r) const override { r[3] = 7; }
    bool multiply(Notes&, Call&, std::uint32_t* a, std::uint32_t*,
                  std::uint32_t* c) const override {
      a[0] = 0;
      c[2] = 0;
      return true;
    }
    void product(Notes&, Call, std::uint32_t* d) const override { d[3] = 0; }
  } all;
  const auto changed = words(run(&all)), plain = words(run(nullptr)),
             of_row = words(run(nullptr), 1);
  EXPECT_EQ(changed[0], bits(2));
  EXPECT_EQ(changed[1], of_row[1]) << "row 0 of a matrix in place of row 1";
  EXPECT_EQ(changed[4], 7U);
  EXPECT_EQ(changed[5], bits(1)) << "row g of A is 0";
  EXPECT_EQ(changed[7], bits(8)) << "C of row g + 8 is 0";
  EXPECT_EQ(changed[8], 0U);
  EXPECT_EQ(changed[9], plain[9]);

  struct : Fault {
    bool multiply(Notes&, Call&, std::uint32_t*, std::uint32_t*, std::uint32_t*) const override {
      return false;
    }
  } left_out;
  EXPECT_EQ(words(run(&left_out))[6], bits(2)) << "C";
  struct : Fault {
    bool computes(Notes&, emulator::Arch, const emulator::MmaInstruction& instruction,
                  std::uint32_t*, std::uint32_t*, const std::uint32_t*,
                  std::uint32_t* d) const override {
      std::fill_n(d, 128, static_cast<std::uint32_t>(instruction.k));
      return true;
    }
  } computed;
  EXPECT_EQ(words(run(&computed))[8], 16U);
}

// Each thread has its own notes, which are zero when its block starts.
TEST(SimtFault, NotesBelongToOneThread) {
  struct : Fault {
    void commit(Notes& notes) const override { notes[3] += 1 + emulator::current->index.x; }
    void product(Notes& notes, Call, std::uint32_t* d) const override { d[0] = notes[3]; }
  } counts;
  const auto out = run(&counts, 3);
  for (std::size_t thread = 0; thread < 96; ++thread)
    EXPECT_EQ(out[thread * 10 + 5], thread % 32 + 1);
}

}  // namespace
}  // namespace plumbline
