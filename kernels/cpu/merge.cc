// Merges the partial states of a token, each an O and the LSE of its logits, into one state.
#include <limits>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/elementary.h"
#include "kernels/cpu/numbers.h"
#include "kernels/cpu/workspace.h"

namespace plumbline::cpu {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct Scratch {
  std::int64_t width;  // head_dim_vo, rounded up to 8
  float* out;          // [width]
  float* part;         // [width]

  Scratch(const plumbline_problem& problem, Workspace& workspace)
      : width(round_up(problem.head_dim_vo, 8)),
        out(workspace.take<float>(width)),
        part(workspace.take<float>(width)) {}
};

class Merge {
 public:
  Merge(const Attention& states, const Scratch& scratch)
      : states_(states),
        scratch_(scratch),
        to_base_2_(states.problem.merge_lse_base == 2 ? 1.0F : static_cast<float>(log2_e)),
        from_base_2_(states.problem.merge_lse_base == 2 ? 1.0 : ln_2) {}

  void token(std::int64_t sample, std::int64_t head) const {
    // 1. m = max LSE_i
    const std::int64_t parts = states_.lengths_kv[sample];
    float m = minus_infinity;
    for (std::int64_t i = 0; i < parts; ++i) {
      const float lse = lse_of(sample, i, head);
      if (!(lse <= m)) m = lse;  // also true for NaN
    }
    // 2. w_i = exp(LSE_i - m), l = sum w_i, O = sum w_i O_i
    std::fill_n(scratch_.out, scratch_.width, 0.0F);
    float l = 0;
    for (std::int64_t i = 0; i < parts && m != minus_infinity; ++i) {
      const float weight = exp2((lse_of(sample, i, head) - m) * to_base_2_);
      if (weight == 0) continue;  // a part without keys may have any O
      l += weight;
      add(sample, i, head, weight);
    }
    // 3. O / l, and LSE = m + log l
    store(sample, head, l, m);
  }

 private:
  float lse_of(std::int64_t sample, std::int64_t part, std::int64_t head) const {
    return decode_one(PLUMBLINE_F32, states_.k.at(sample, part, head));
  }

  void add(std::int64_t sample, std::int64_t part, std::int64_t head, float weight) const {
    decode_row(states_.v.dtype, states_.v.at(sample, part, head), states_.v.element_stride,
               states_.problem.head_dim_vo, scratch_.part);
    for (std::int64_t d = 0; d < scratch_.width; d += 8) {
      _mm256_storeu_ps(scratch_.out + d,
                       _mm256_fmadd_ps(_mm256_set1_ps(weight), _mm256_loadu_ps(scratch_.part + d),
                                       _mm256_loadu_ps(scratch_.out + d)));
    }
  }

  void store(std::int64_t sample, std::int64_t head, float l, float m) const {
    for (std::int64_t d = 0; d < scratch_.width && l != 0; d += 8) {
      _mm256_storeu_ps(scratch_.out + d,
                       _mm256_div_ps(_mm256_loadu_ps(scratch_.out + d), _mm256_set1_ps(l)));
    }
    encode_row(states_.out.dtype, scratch_.out, states_.problem.head_dim_vo,
               states_.out.at(sample, 0, head), states_.out.element_stride);
    if (states_.lse.data == nullptr) return;
    const double lse = l == 0 ? double{minus_infinity} : m + log2(l) * from_base_2_;
    encode_one(PLUMBLINE_F32, static_cast<float>(lse), states_.lse.at(sample, 0, head));
  }

  const Attention& states_;
  const Scratch& scratch_;
  const float to_base_2_;     // from the base of the LSEs
  const double from_base_2_;  // and back
};

}  // namespace

std::uint64_t merge_workspace(const plumbline_problem& problem, const Variant&) {
  return bytes_of<Scratch>(problem);
}

void merge(const Attention& states, const Variant&, std::byte* memory) {
  Workspace workspace(memory);
  const Scratch scratch(states.problem, workspace);
  const Merge merge(states, scratch);
  for (std::int64_t sample = 0; sample < states.problem.batch; ++sample) {
    if (states.lengths_q[sample] == 0) continue;
    for (std::int64_t head = 0; head < states.problem.heads_q; ++head) merge.token(sample, head);
  }
  if (is_padded(states.problem.layout)) clear_padded_rows(states);
}

}  // namespace plumbline::cpu
