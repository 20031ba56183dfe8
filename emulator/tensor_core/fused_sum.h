// The truncated fused sum: a tensor core's sum of a few exact products and an accumulator. Every
// parameter is explicit.
//
// One step adds L products and the accumulator c. E is the largest exponent of the non-zero terms.
// Each term is chopped toward zero to F fraction bits relative to 2^E. The chopped terms are added
// exactly, and the sum is rounded once. k products take k / L steps in ascending order; each step's
// result is the next one's c. Products are exact and not normalised: the exponent of a product is
// the sum of its operands' exponents. An operand's exponent is floor(log2|x|), but at least the
// exponent of its format's smallest normal.
#pragma once

#include <cstdint>
#include <limits>

namespace plumbline::emulator {

// Operand formats, as raw bits in the low bits of a word. tf32 is an fp32 whose low 13 bits are
// ignored.
enum class MmaFormat { f16, bf16, tf32, e4m3, e5m2 };

// How the exact sum is rounded. c has the result's format: fp32 for the first two, otherwise fp16.
enum class Conversion {
  f32_toward_zero,        // overflow gives Inf
  f32_e8m13_toward_zero,  // an fp32 with 13 fraction bits
  f16_to_nearest_even,    // rounded once, from the exact sum
};

// The exponent of a zero operand, or of c = 0. Published sources disagree, and ordinary values do
// not show which rule holds. An H200 skips zeros.
enum class ZeroRule {
  skipped,          // none: a zero term does not affect E
  minus_126,        // the exponent of fp32's smallest normal, for every format
  smallest_normal,  // the exponent of the smallest normal of its own format
};

// The sign of a negative sum that underflows to zero. An H200 returns a positive zero.
enum class Underflow { keeps_sign, positive_zero };

constexpr int no_exponent_floor = std::numeric_limits<int>::min() / 4;

struct FusedSum {
  int products_per_step;  // L
  int fraction_bits;      // F
  Conversion result;
  int min_exponent = no_exponent_floor;  // lower bound of E
  ZeroRule zeros = ZeroRule::skipped;
  Underflow underflow = Underflow::positive_zero;
};

// Returns D = a[0] b[0] + … + a[k-1] b[k-1] + c in steps of sum.products_per_step (the last one may
// be shorter). NaN, Inf times zero and Infs of both signs give the canonical NaN (0x7fffffff,
// 0x7fff).
std::uint32_t fused_sum(const FusedSum& sum, MmaFormat, int k, const std::uint32_t* a,
                        const std::uint32_t* b, std::uint32_t c);

// For fp8 computed in fp16 (MmaModel::through_f16). The first widens an operand exactly. The second
// returns c + h, rounded to nearest in the result's format.
std::uint32_t widen_to_f16(MmaFormat, std::uint32_t fp8);
std::uint32_t add_to_nearest(Conversion format, std::uint32_t c, std::uint32_t h);

}  // namespace plumbline::emulator
