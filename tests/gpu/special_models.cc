// The results of emulator/ptx for each instruction, and the table slice that each operand uses.
#include <algorithm>
#include <cmath>

#include "emulator/ptx/special_functions.h"
#include "emulator/ptx/special_tables.h"
#include "emulator/ptx/translated/thread.h"
#include "tests/gpu/special_sweep.h"

namespace plumbline::testing {
namespace {

const ptx::Machine& machine() {
  static const ptx::Machine machine = [] {
    ptx::Machine with_unit{};
    with_unit.ex2 = ptx::special_ex2;
    with_unit.lg2 = ptx::special_lg2;
    with_unit.rcp = ptx::special_rcp;
    with_unit.rsqrt = ptx::special_rsqrt;
    with_unit.sqrt = ptx::special_sqrt;
    return with_unit;
  }();
  return machine;
}
// A thread of a translated kernel whose machine has only the special function unit.
const ptx::Thread& thread() {
  static const ptx::Thread thread = [] {
    ptx::Thread with_machine{};
    with_machine.machine = &machine();
    return with_machine;
  }();
  return thread;
}

constexpr std::uint32_t fraction_bits = (1U << 23U) - 1;
std::uint32_t fraction_of(std::uint32_t x) { return x & fraction_bits; }

int rcp_slice(std::uint32_t x) { return static_cast<int>(fraction_of(x) >> 16U); }
int lg2_slice(std::uint32_t x) { return static_cast<int>(fraction_of(x) >> 17U); }
// 64 slices of [1, 2), then 64 of [2, 4).
int rsqrt_slice(std::uint32_t x) {
  const std::uint32_t odd = (x >> 23U & 1U) == 0 ? 64 : 0;  // the exponent is biased by 127
  return static_cast<int>(odd + (fraction_of(x) >> 17U));
}
// Selected by the fraction of |x|, complemented if x is negative.
int ex2_slice(std::uint32_t x) {
  const int exponent = static_cast<int>(x >> 23U & 0xffU) - 127;
  if (exponent >= 23 || exponent < -24) return 0;
  const std::uint64_t significand = fraction_of(x) | (1U << 23U);
  const std::uint64_t fixed = exponent >= 0 ? significand << static_cast<unsigned>(exponent)
                                            : significand >> static_cast<unsigned>(-exponent);
  std::uint32_t fraction = static_cast<std::uint32_t>(fixed) & fraction_bits;
  if (x >> 31U != 0 && fraction != 0) fraction = ~fraction & fraction_bits;
  return static_cast<int>(fraction >> 17U);
}

// Selected by the position within a quarter turn, counted backwards in every second quarter. cos is
// one quarter ahead.
int quarter_slice(std::uint32_t x, double ahead) {
  const auto magnitude = static_cast<double>(std::fabs(ptx::F(x)));
  if (!std::isfinite(magnitude)) return 0;
  const double quarters = 4 * (magnitude * double{0x1.45f306p-3F}) + ahead;
  const double place = quarters - std::floor(quarters);
  const bool back = std::fmod(std::floor(quarters), 2) == 1;
  return std::min(static_cast<int>(64 * (back ? 1 - place : place)), 63);
}
int sin_slice(std::uint32_t x) { return quarter_slice(x, 0); }
int cos_slice(std::uint32_t x) { return quarter_slice(x, 1); }
int tanh_slice(std::uint32_t x) {
  const int binade = static_cast<int>(x >> 23U & 0xffU) - 127 + 8;
  if (binade < 0 || binade > 10) return 0;
  const auto [first, bits] = ptx::tanh_binades[binade];
  return static_cast<int>(first + (fraction_of(x) >> (23 - bits)));
}

// Models that call `function` of translated kernels, with one or two operands. `flush`: .ftz.
#define PLUMBLINE_ONE(instruction, function, flush, slices, slice)                          \
  SpecialModel {                                                                            \
    Special::instruction,                                                                   \
        [](std::uint32_t x) { return ptx::function<flush>(thread(), ptx::F(x)); }, nullptr, \
        slices, slice                                                                       \
  }
#define PLUMBLINE_TWO(instruction, function, flush)                    \
  SpecialModel {                                                       \
    Special::instruction, nullptr,                                     \
        [](std::uint32_t x, std::uint32_t y) {                         \
          return ptx::function<flush>(thread(), ptx::F(x), ptx::F(y)); \
        },                                                             \
        128, rcp_slice                                                 \
  }

constexpr SpecialModel models[] = {
    // The unit's own functions (emulator/ptx/special_functions.h).
    {Special::ex2_ftz, ptx::special_ex2, nullptr, 64, ex2_slice},
    {Special::rcp_ftz, ptx::special_rcp, nullptr, 128, rcp_slice},
    {Special::rsqrt_ftz, ptx::special_rsqrt, nullptr, 128, rsqrt_slice},
    {Special::lg2_ftz, ptx::special_lg2, nullptr, 64, lg2_slice},
    {Special::sqrt_ftz, ptx::special_sqrt, nullptr, 128, rsqrt_slice},
    PLUMBLINE_ONE(ex2, ex2, false, 64, ex2_slice),
    PLUMBLINE_ONE(rcp, rcp, false, 128, rcp_slice),
    PLUMBLINE_ONE(rsqrt, rsqrt, false, 128, rsqrt_slice),
    PLUMBLINE_ONE(lg2, lg2, false, 64, lg2_slice),
    PLUMBLINE_ONE(sqrt, sqrt_approx, false, 128, rsqrt_slice),
    {Special::tanh, ptx::special_tanh, nullptr, 51, tanh_slice},
    {Special::sin, ptx::special_sin, nullptr, 64, sin_slice},
    {Special::cos, ptx::special_cos, nullptr, 64, cos_slice},
    PLUMBLINE_TWO(div_full, divide_full, false),
    PLUMBLINE_TWO(div_full_ftz, divide_full, true),
    PLUMBLINE_TWO(div_approx, divide_approx, false),
    PLUMBLINE_TWO(div_approx_ftz, divide_approx, true),
};

}  // namespace

std::string_view ptx_name(Special instruction) {
  switch (instruction) {
#define PLUMBLINE_CASE(name, ptx) \
  case Special::name:             \
    return ptx;
    PLUMBLINE_SPECIAL(PLUMBLINE_CASE)
#undef PLUMBLINE_CASE
  }
  return "";
}

std::span<const SpecialModel> special_models() { return models; }

const SpecialModel& special_model(Special instruction) {
  for (const SpecialModel& model : models)
    if (model.instruction == instruction) return model;
  return models[0];  // not reached
}

}  // namespace plumbline::testing
