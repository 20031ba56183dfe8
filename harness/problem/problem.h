// A problem for a kernel: shapes, dtypes, mask, layout, input distribution, seed. A Problem is a
// value. Its id is a readable path that parses back to it and leaves out defaults, so a new field
// renames no problem.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/enumeration.h"
#include "harness/base/error.h"
#include "harness/problem/dtype.h"

namespace plumbline {

// Layout and Padding have the provider ABI's values, as has Mask up to causal_bottom_right.
enum class Layout : std::uint32_t {
  padded_bshd = 0,
  padded_bhsd = 1,
  ragged = 2,
  paged_nhd = 3,
  paged_hnd = 4
};
// The last three masks reach a kernel as PLUMBLINE_MASK_CUSTOM, with one bit per (sample, query
// row, key), the same for all heads. With i' = i + len_kv - len_q:
//   prefix_lm       j <= i', or j among the first n keys, with n drawn per sample from [1, len_kv]
//   block_diagonal  i' and j share one of up to 4 documents, whose ends are drawn per sample;
//                   no keys if i' < 0
//   custom          random bits: 3 of 4 are set in even rows, 1 of 8 in odd rows, none in rows
//                   15, 31, …
enum class Mask : std::uint32_t {
  none = 0,
  causal_top_left = 1,
  causal_bottom_right = 2,
  prefix_lm = 3,
  block_diagonal = 4,
  custom = 5
};
enum class Padding : std::uint32_t { right = 0, left = 1 };

// How the lengths of the samples are drawn (deterministically from the seed). `seq_q` and `seq_kv`
// are the maxima.
//   full        every sample has the full length
//   random      uniform in [1, seq]; at least one sample has the full length
//   near_full   uniform in [max(1, seq - 20), seq]                      (FlashAttention's "random")
//   third       uniform in [max(1, seq / 3), seq]                       (FlashAttention's "third")
//   one_long    sample 0 has the full length, the others uniform in [1, max(1, seq / 16)]
//   with_zero   like random, but the last sample has queries and no keys; if batch >= 3, sample 1
//               has neither
//   serving     a batch of a serving engine: every third sample, from sample 1 on, is a prefill of
//               9 or 10 tokens (at most seq), the others decode one query each, with key lengths
//               as in near_full
// If seq_q == seq_kv, query lengths equal the key lengths. Otherwise they are drawn independently
// by the same law; for seq_q == 1 all are 1 (decode). Exceptions: serving, and the zeros of
// with_zero.
enum class Lengths { full, random, near_full, third, one_long, with_zero, serving };

// Content of padding rows, page tails and unused pages of the inputs. It shows in the output of a
// kernel that reads them.
enum class Fill { garbage, zeros, nan };

// Input distributions (laws) of Q and K. harness/problem/inputs.h defines them and those of V.
enum class Law {
  normal,
  uniform,
  llm,
  peaky,
  near_uniform,
  sink,
  needle,
  exact,
  negative_logits,
  ramp,
  extreme,
  near_ties
};
enum class VLaw { normal, uniform, large_mean, constant, grid, band, tiny_output };

// ALiBi: b = -slope_h |i + len_kv - len_q - j| is added to the logit, after scale and softcap.
// Slopes of query heads h = 0 .. H-1:
//   standard  2^(-8 (h + 1) / H); if H is not a power of two: the slopes of n, the power of two
//             below H, then every other slope of 2n (Press et al., ICLR'22)
//   random    0.3 U(0, 1)  (flash-attention's tests)
enum class Alibi { none, standard, random };
// An attention sink: one more logit per query head (natural units, no value vector) in the
// denominator. normal is N(0, 1), large 5 N(0, 1).
enum class Sinks { none, normal, large };
// The part of an fp8 Q, K or V that shares a dequantisation scale. Each scale is drawn from
// U(0.5, 2).
//   tensor      all of it
//   head        a key head; in Q, its query heads
//   batch_head  like head, but of one sample
//   token       one token of one head; in Q, of one query head
//   block       `scale_block` such tokens, counted from a sample's first valid one
enum class KvScales { tensor, head, batch_head, token, block };
// Memory layout of Q, K and V beyond `layout`:
//   strided     gaps between rows and between heads of each tensor
//   packed_qkv  [token, heads_q + 2 heads_kv, dim] in one buffer; needs padded_bshd or ragged,
//               equal lengths and dimensions
//   packed_kv   [token, 2 heads_kv, dim] in one buffer; needs padded_bshd, ragged or
//               paged_nhd, equal dimensions
//   v_in_k      V is the first head_dim_vo columns of K (absorbed MLA)
//   far         the last token and sample (paged: page) begin more than 2^31 elements after the
//               first; gaps are zero. Ragged: the last row does and, if the tensor then has at most
//               5 * 2^30 elements, the longest sample's last token
enum class View { plain, strided, packed_qkv, packed_kv, v_in_k, far };
// A merge is not attention: it combines a token's parts, each an O and the LSE of its logits.
// Sample b is a token, its keys are the parts: V is their O, K their LSE (fp32, with head_dim_qk
// 1), and Q is 1, so that the result is softmax(K) V. All LSEs, given and returned, are natural
// logarithms or base 2. Under mask custom, parts that a token does not see are empty: LSE
// -infinity, O as `fill` states.
enum class Merge { none, natural, base_2 };

struct Problem {
  DType dtype = DType::bf16;      // dtype of Q
  DType kv_dtype = DType::none;   // none = Q's dtype
  DType out_dtype = DType::none;  // none = Q's dtype, or bf16 if Q is fp8
  std::int64_t batch = 1;
  std::int64_t heads_q = 1;
  std::int64_t heads_kv = 1;
  std::int64_t seq_q = 1;
  std::int64_t seq_kv = 1;
  std::int64_t head_dim_qk = 64;
  std::int64_t head_dim_vo = 64;
  Mask mask = Mask::none;
  std::int64_t window_left = -1;  // -1 = unlimited
  std::int64_t window_right = -1;
  Layout layout = Layout::padded_bshd;
  Lengths lengths = Lengths::full;
  Padding padding = Padding::right;
  std::int64_t page_size = 16;
  Fill fill = Fill::garbage;
  // "" = generated by the laws, otherwise recorded: "NAME@DIGEST"
  // (harness/problem/recorded_inputs.h)
  std::string inputs;
  Law law = Law::normal;
  VLaw v_law = VLaw::normal;
  double k_scale = 1;  // multiplies the generated K before rounding; 0 makes K zero
  double v_scale = 1;  // multiplies the generated V before rounding
  double scale = 0;    // softmax scale; 0 = 1/sqrt(head_dim_qk); merges: 1, base_2 ln 2
  double softcap = 0;  // 0 = off; c: logits become c tanh(logit / c)
  Alibi alibi = Alibi::none;
  Sinks sinks = Sinks::none;
  KvScales kv_scales = KvScales::tensor;  // also of Q if it is fp8
  std::int64_t scale_block = 64;          // tokens; only for kv_scales block
  View view = View::plain;
  Merge merge = Merge::none;
  bool lse = true;  // the kernel must return the LSE
  std::uint64_t seed = 1;

  bool operator==(const Problem&) const = default;

  DType kv() const { return kv_dtype == DType::none ? dtype : kv_dtype; }
  DType out() const { return out_dtype == DType::none ? default_out() : out_dtype; }
  DType default_out() const { return is_fp8(dtype) ? DType::bf16 : dtype; }
  double softmax_scale() const;
  bool is_padded() const { return layout == Layout::padded_bshd || layout == Layout::padded_bhsd; }
  bool has_mask_bits() const { return mask >= Mask::prefix_lm; }
  // True if keys between the first and the last visible key of a row may be hidden.
  bool has_hidden_keys() const { return mask == Mask::custom; }
  bool is_causal() const {
    return mask == Mask::causal_top_left || mask == Mask::causal_bottom_right;
  }
  bool has_fp8_kv() const { return is_fp8(kv()); }  // also true if Q is fp8
  bool has_fp8_q() const { return is_fp8(dtype); }
  // Number of tokens of a sample that share an fp8 scale; 0 = all.
  std::int64_t scale_tokens() const {
    if (!has_fp8_kv() || kv_scales < KvScales::token) return 0;
    return kv_scales == KvScales::token ? 1 : scale_block;
  }
  bool is_merge() const { return merge != Merge::none; }
  bool is_paged() const { return layout == Layout::paged_nhd || layout == Layout::paged_hnd; }
  std::int64_t group() const { return heads_q / heads_kv; }  // query heads per key head
};

// Returns one form for all equivalent problems. A kv dtype equal to Q's and an out dtype equal to
// the default become none. -0 becomes 0. Fields without effect get their defaults: page_size
// without pages, window_right under a causal mask, kv_scales without fp8, and scale_block unless
// kv_scales is block.
Problem canonical(const Problem& problem);

// Returns the id of a problem, for example
//   bf16/b2-h8x2-s128x512-d64/mask=causal_bottom_right/layout=paged_nhd/lengths=random/seed=3
// The dtype comes first, then the shape (h8x8 is written h8, s128x128 s128, d64x64 d64), then
// key=value segments in a fixed order, without defaults. Keys: out, kv, mask, window (l,r), layout,
// lengths, padding, page, fill, inputs, law, v, k_scale, v_scale, scale, softcap, alibi, sinks,
// kv_scales, scale_block, view, merge, lse, seed. Problems with the same canonical form have the
// same id, and parsing returns that form.
// Parsing does not read the file of recorded inputs, so ids can be parsed without that file.
// validate() reads it.
// Bytes of `inputs` other than letters, digits, '.', '_', '-' and '@' are escaped, as in %2F.
std::string problem_id(const Problem& problem);
Result<Problem> parse_problem_id(std::string_view id);

// Sets one field by its suite key from text. Keys are the Problem field names (dtype, seq_q, mask,
// …) and `heads` = both head counts, `seq` = both lengths, `head_dim` = both dimensions, `window` =
// "l,r". Returns a message with the value and what is allowed, or nullopt.
// `inputs` = "NAME" or "NAME@DIGEST" reads the file's header and completes or checks the digest. It
// sets batch, heads, lengths, dimensions, mask, window and scale as recorded. So it comes before
// all other fields, and later fields may change mask, window and scale.
std::optional<std::string> set_field(Problem& problem, std::string_view key,
                                     std::string_view value);
// Returns true if a field of the problem has this value. Dtypes left at none count as their
// defaults, and `heads` compares both head counts. Returns false for values that set_field rejects.
// `inputs` compares the name, and the digest if `value` has one.
bool has_field(const Problem& problem, std::string_view key, std::string_view value);
// Returns all suite keys that set_field accepts, in canonical order. If two keys set the same
// member, the broader one comes first.
std::span<const std::string_view> field_names();

// Returns everything wrong with a problem, in words (heads_kv must divide heads_q, sizes positive,
// …). Empty if it is valid.
std::vector<std::string> validate(const Problem& problem);

// A case: a problem, a kernel and a device. Its id is "provider/kernel/" + problem_id, followed by
// "device=…" unless that is "cpu".
struct Case {
  std::string kernel;          // "cpu/flash"
  std::string device = "cpu";  // "cpu", "cuda:0", "emulated:sm_90"
  Problem problem;
  bool operator==(const Case&) const = default;
};
std::string case_id(const Case& c);
Result<Case> parse_case_id(std::string_view id);

}  // namespace plumbline
