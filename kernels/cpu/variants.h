// The switches of all CPU kernels, in one struct. A kernel of the provider is an algorithm with a
// Variant (kernels.h). The provider's options change fields of the Variant:
//
//   plumbline run … --provider ./plumbline_cpu.so:tile_q=16,tile_kv=96,reverse=1
//
// Options apply to every kernel of the provider. A field that a kernel does not read has no effect
// on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::cpu {

struct Variant {
  // Allowed without a declaration: another order of the same operations.
  // tile_q=1..256: rows (query x head of the group) computed together; no bit depends on it.
  std::int64_t tile_q = 32;
  // tile_kv=8..1024: keys per tile, a multiple of 8. tile=32x64 sets both.
  std::int64_t tile_kv = 64;
  // splits=1..64: KV splits of a sample, merged by LSE; 0 = one per 256 keys, at most 8.
  std::int64_t splits = 1;
  // reverse=1: last key tile first.
  bool reverse = false;
  // lazy=1: the running maximum may lag by up to 2^8 before O is rescaled (FlashAttention-4).
  bool lazy_rescale = false;

  // Allowed if declared: part of the rounding spec or of the padding policy.
  // p_dtype=fp32|fp16|bf16|e4m3|e5m2: the dtype that P is rounded to; NONE = the dtype of Q.
  std::uint32_t p_dtype = PLUMBLINE_DTYPE_NONE;
  // not an option: power of two that multiplies P before its rounding; 2^8 for P in e4m3 with fp8 Q
  float p_prescale = 1;
  // denominator=rounded: sum P after its rounding.
  bool denominator_from_rounded_p = false;
  // partials=16: split partials stored in the 16-bit output dtype.
  bool partials_in_16_bits = false;
  // naive only, not an option: S rounded to the dtype of Q.
  bool s_rounded = false;
  // lse=2: LSE in base 2.
  bool lse_in_log2 = false;
  // naive only. max_logit=1: also returns the largest logit of each row; max_logit=bf16: rounded to
  // bf16, undeclared.
  std::uint32_t max_logit = PLUMBLINE_DTYPE_NONE;
  // padded=zeros|untouched|attended|anything
  plumbline_padding_policy padded_rows = PLUMBLINE_PADDED_ROWS_ZEROS;

  // For tests of the harness: faults that it must detect and changes that it must report.
  // scale=1.001: multiplies the softmax scale, undeclared.
  double scale_factor = 1;
  // mask=off_by_one: a causal row sees one key too many; mask=one_key_few: one too few.
  std::int64_t extra_keys = 0;
  // drop_last_key=1: the last key of a sample is never seen.
  bool drop_last_key = false;
  // double_round_p=1: P is rounded again for key % 8 == 0, to one significant bit less (round_p).
  bool double_round_p = false;
  // double_row=N: doubles row N of the output, counting [batch, seq_q, heads_q].
  std::int64_t doubled_row = -1;
  // slow=2: computes everything this many times; same bits.
  int repeats = 1;
  // undeclared=1: describe() hides the changes by options.
  bool undeclared = false;
};

// Returns the dtype of 16-bit split partials: the output's if it has 16 bits, otherwise Q's if it
// has 16 bits, otherwise fp32.
std::uint32_t partial_dtype(const plumbline_problem& problem);

// Returns the first error of an options text; "" if there is none.
std::string wrong_options(std::string_view options);
// Returns the variant with the options' changes, applied in the given order.
Variant apply(Variant variant, std::string_view options);

}  // namespace plumbline::cpu
