// How a tensor core adds a few exact products and an accumulator: the truncated fused sum. Every
// parameter is explicit.
//
// One step over L products, with E the largest exponent among the non-zero products and c: every
// term is chopped toward zero to F fraction bits relative to 2^E, the chopped terms are added
// exactly, and the sum is rounded once. k products are k / L steps in ascending order, each step's
// result being the next one's c. Products are exact and not normalised: the exponent of a product
// is the sum of its operands' exponents, an operand's exponent being max(floor(log2|x|), that of
// the smallest normal).
#pragma once

#include <cstdint>
#include <limits>

namespace plumbline::emulator {

// Formats of operands; raw bits in the low bits of a word. tf32 is an fp32 whose low 13 bits are
// ignored.
enum class MmaFormat { f16, bf16, tf32, e4m3, e5m2 };

// What the sum becomes. c has the same format: fp32 for the first two, fp16 for the last.
enum class Conversion {
  f32_toward_zero,        // overflow gives Inf
  f32_e8m13_toward_zero,  // an fp32 with 13 fraction bits
  f16_to_nearest_even,    // rounded once, from the exact sum
};

// Which exponent a zero operand, or c = 0, has. Published sources disagree, and ordinary values
// cannot tell; an H200 skips them.
enum class ZeroRule {
  skipped,          // none: the term takes no part
  minus_126,        // that of the smallest normal fp32, whatever the operands' format
  smallest_normal,  // that of its own format's smallest normal
};

// What a negative sum becomes that is too small for the result: on an H200 a positive zero.
enum class Underflow { keeps_sign, positive_zero };

constexpr int no_exponent_floor = std::numeric_limits<int>::min() / 4;

struct FusedSum {
  int products_per_step;  // L
  int fraction_bits;      // F
  Conversion result;
  int min_exponent = no_exponent_floor;  // E is at least this
  ZeroRule zeros = ZeroRule::skipped;
  Underflow underflow = Underflow::positive_zero;
};

// D = a[0] b[0] + … + a[k-1] b[k-1] + c in steps of sum.products_per_step (a last one may be
// shorter). NaN, Inf times zero and Infs of both signs give the canonical NaN (0x7fffffff, 0x7fff).
std::uint32_t fused_sum(const FusedSum& sum, MmaFormat, int k, const std::uint32_t* a,
                        const std::uint32_t* b, std::uint32_t c);

// What surrounds the sums where fp8 goes through fp16: the operand widened (exactly), and c + h
// rounded to nearest in the format of the result.
std::uint32_t widen_to_f16(MmaFormat, std::uint32_t fp8);
std::uint32_t add_to_nearest(Conversion format, std::uint32_t c, std::uint32_t h);

}  // namespace plumbline::emulator
