// Dot products that distinguish models of tensor cores, and each model's results for them.
#include "tests/emulator/corner_cases.h"

#include <tuple>

namespace plumbline::testing {
namespace {

using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

using Products = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr MmaInstruction bf16{MmaFormat::bf16, MmaAccumulator::f32, 16},
    f16{MmaFormat::f16, MmaAccumulator::f32, 16}, f16_f16{MmaFormat::f16, MmaAccumulator::f16, 16},
    tf32{MmaFormat::tf32, MmaAccumulator::f32, 8}, e5m2{MmaFormat::e5m2, MmaAccumulator::f32, 16};

// Returns a power of two as bits.
constexpr std::uint32_t bf16_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 7;
}
constexpr std::uint32_t f16_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 15) << 10;
}
constexpr std::uint32_t e5m2_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 15) << 2;
}
constexpr std::uint32_t minus = 0x8000, one = 0x3f800000;

// Returns 2^-149 as 2^-150 + 2^-151 + … + 2^-last + 2^-last.
Products halves(int last) {
  Products all;
  for (int exponent = 150; exponent <= last; ++exponent)
    all.emplace_back(bf16_power(-75), bf16_power(75 - exponent));
  all.push_back(all.back());
  return all;
}

}  // namespace

emulator::MmaModel under(const Hypothesis& hypothesis, emulator::MmaModel model) {
  model.sum.zeros = hypothesis.zeros;
  model.sum.underflow = hypothesis.underflow;
  if (!hypothesis.keeps_floor) model.sum.min_exponent = emulator::no_exponent_floor;
  return model;
}

const std::vector<Corner>& corners() {
  static const std::vector<Corner> all{
      {"bf16: 16 x 2^-76 2^-76",
       bf16,
       Products(16, {bf16_power(-76), bf16_power(-76)}),
       0,
       {0x00000002, 0x00000002, 0, 0}},
      {"bf16: 0 2^127 + 2^-30 1",
       bf16,
       {{0, bf16_power(127)}, {bf16_power(-30), bf16_power(0)}},
       0,
       {0x30800000, 0x30800000, 0, 0}},
      {"fp16: 0 2^15 + 2^-14 2^-14",
       f16,
       {{0, f16_power(15)}, {f16_power(-14), f16_power(-14)}},
       0,
       {0x31800000, 0x31800000, 0x31800000, 0}},
      {"bf16: -2^-150",
       bf16,
       {{bf16_power(-75) | minus, bf16_power(-75)}},
       0,
       {0, 0x80000000, 0, 0x80000000}},
      {"bf16: 2^-150 + 2^-151 … + 2^-158 + 2^-158, which a floor at -133 keeps",
       bf16,
       halves(158),
       0,
       {1, 1, 0, 0}},
      {"bf16: 2^-150 + 2^-151 … + 2^-159 + 2^-159, whose last a floor at -133 drops",
       bf16,
       halves(159),
       0,
       {0, 0, 0, 0}},
      {"bf16: 0 - 0", bf16, {}, 0x80000000, {0, 0, 0, 0}},
      {"bf16: -0 1 - 0", bf16, {{minus, bf16_power(0)}}, 0x80000000, {0, 0, 0, 0}},
      {"bf16: 2^254 - 2^254 + 1",
       bf16,
       {{bf16_power(127), bf16_power(127)}, {bf16_power(127) | minus, bf16_power(127)}},
       one,
       {0, 0, 0, 0}},
      {"bf16: 2^254",
       bf16,
       {{bf16_power(127), bf16_power(127)}},
       0,
       {0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000}},
      {"bf16: 2^-133 2^127 + 2^-28, a subnormal operand",
       bf16,
       {{1, bf16_power(127)}},
       0x31800000,
       {0x3c800000, 0x3c800000, 0x3c800000, 0x3c800000}},
      {"bf16: Inf - Inf",
       bf16,
       {{bf16_power(128), bf16_power(0)}, {bf16_power(128) | minus, bf16_power(0)}},
       0,
       {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff}},
      {"bf16: a negative NaN with a payload",
       bf16,
       {{0xffc1, bf16_power(0)}},
       0,
       {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff}},
      {"tf32: a NaN whose payload lies in the bits that are ignored",
       tf32,
       {{0x7f800001, one}},
       0,
       {0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000}},
      {"fp16 result: 2^-25 + 2^-48, a tie unless the second counts",
       f16_f16,
       {{f16_power(-12), f16_power(-13)}, {1, 1}},
       0,
       {0, 0, 1, 0}},
      {"fp16 result: -2^-26",
       f16_f16,
       {{f16_power(-13) | minus, f16_power(-13)}},
       0,
       {0, 0x8000, 0, 0x8000}},
      {"e5m2: 2^30 + 2^6 + 2^6, the last with k mod 4 = 2, in m16n8k16: two instructions",
       e5m2,
       {{e5m2_power(15), e5m2_power(15)},
        {e5m2_power(3), e5m2_power(3)},
        {e5m2_power(3), e5m2_power(3)}},
       0,
       {0x4e800000, 0x4e800000, 0x4e800000, 0x4e800000}},
      {"fp16 result: 1 + 2^-11 twice, in k 0 to 7 and 8 to 15",
       f16_f16,
       {{f16_power(0), f16_power(0)},
        {f16_power(-5), f16_power(-6)},
        {0, 0},
        {0, 0},
        {0, 0},
        {0, 0},
        {0, 0},
        {0, 0},
        {f16_power(-5), f16_power(-6)}},
       0,
       {0x3c01, 0x3c01, 0x3c01, 0x3c01}},
  };
  return all;
}

std::uint32_t predict(const Corner& corner, const emulator::MmaModel& model) {
  std::array<std::uint32_t, 32> a{}, b{};
  for (std::size_t k = 0; k < corner.products.size(); ++k)
    std::tie(a[k], b[k]) = corner.products[k];
  return dot(model, corner.instruction.format, corner.instruction.k, a.data(), b.data(), corner.c);
}

Fragments fragments_of(const Corner& corner) {
  Fragments fragments;
  const emulator::MmaRegisters count = registers(corner.instruction);
  const int bits = operand_bits(corner.instruction.format);
  for (std::size_t k = 0; k < corner.products.size(); ++k) {
    set_element(fragments.a.data(), count.a, place_a(corner.instruction, 0, static_cast<int>(k)),
                bits, corner.products[k].first);
    set_element(fragments.b.data(), count.b, place_b(corner.instruction, static_cast<int>(k), 0),
                bits, corner.products[k].second);
  }
  set_element(fragments.c.data(), count.c, place_c(corner.instruction, 0, 0),
              accumulator_bits(corner.instruction.accumulator), corner.c);
  return fragments;
}

Corner fingerprint(bool wide) {
  const int exponent = wide ? -12 : -11;
  const std::uint32_t on_sm_90 = wide ? 0x3f800004 : 0x3f800008;
  return {wide ? "fp16: 16 x 2^-25 + 1" : "fp16: 16 x 2^-24 + 1",
          f16,
          Products(16, {f16_power(-13), f16_power(exponent)}),
          one,
          {on_sm_90, on_sm_90, on_sm_90}};
}

}  // namespace plumbline::testing
