// Computes attention in fp32, one row after the other.
#include "plain_attention.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace {

float load(const plumbline_tensor& t, int64_t offset) {
  if (t.dtype == PLUMBLINE_F32) return static_cast<const float*>(t.data)[offset];
  const uint16_t bits = static_cast<const uint16_t*>(t.data)[offset];
  if (t.dtype == PLUMBLINE_F16) return static_cast<float>(std::bit_cast<_Float16>(bits));
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

void store(const plumbline_tensor& t, int64_t offset, float value) {
  if (t.dtype == PLUMBLINE_F32) {
    static_cast<float*>(t.data)[offset] = value;
    return;
  }
  uint16_t bits = 0;
  if (t.dtype == PLUMBLINE_F16) {
    bits = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  } else {
    const auto wide = std::bit_cast<uint32_t>(value);
    // to nearest, ties to even; there is no NaN here
    bits = static_cast<uint16_t>((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16);
  }
  static_cast<uint16_t*>(t.data)[offset] = bits;
}

bool is_known(uint32_t dtype) {
  return dtype == PLUMBLINE_F32 || dtype == PLUMBLINE_F16 || dtype == PLUMBLINE_BF16;
}
int32_t index_at(const plumbline_tensor& t, int64_t i) {
  return static_cast<const int32_t*>(t.data)[i];
}

// Locates rows: query() and key() return the offset of element 0. `row` counts valid rows.
struct Locator {
  const plumbline_problem& p;
  const plumbline_tensors& t;

  bool padded() const {
    return p.layout == PLUMBLINE_PADDED_BSHD || p.layout == PLUMBLINE_PADDED_BHSD;
  }
  bool paged() const { return p.layout == PLUMBLINE_PAGED_NHD || p.layout == PLUMBLINE_PAGED_HND; }

  int64_t query(const plumbline_tensor& x, int64_t sample, int64_t row, int64_t head) const {
    if (!padded())
      return (index_at(t.cu_seqlens_q, sample) + row) * x.stride[0] + head * x.stride[1];
    const int64_t skipped =
        p.padding == PLUMBLINE_PADDING_LEFT ? p.seq_q - index_at(t.seqlens_q, sample) : 0;
    return sample * x.stride[0] + (skipped + row) * x.stride[1] + head * x.stride[2];
  }
  int64_t key(const plumbline_tensor& x, int64_t sample, int64_t row, int64_t head) const {
    if (paged()) {
      const int64_t page =
          index_at(t.page_table, sample * t.page_table.stride[0] + row / p.page_size);
      return page * x.stride[0] + row % p.page_size * x.stride[1] + head * x.stride[2];
    }
    if (!padded())
      return (index_at(t.cu_seqlens_kv, sample) + row) * x.stride[0] + head * x.stride[1];
    const int64_t skipped =
        p.padding == PLUMBLINE_PADDING_LEFT ? p.seq_kv - index_at(t.seqlens_kv, sample) : 0;
    return sample * x.stride[0] + (skipped + row) * x.stride[1] + head * x.stride[2];
  }
};

// The keys [first, last) that a row sees.
struct Keys {
  int64_t first, last;
};
Keys visible_keys(const plumbline_problem& p, int64_t row, int64_t rows, int64_t keys) {
  const int64_t diagonal = p.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT ? row : row + keys - rows;
  Keys visible{0, keys};
  if (p.mask != PLUMBLINE_MASK_NONE) visible.last = diagonal + 1;
  if (p.window_right >= 0) visible.last = std::min(visible.last, diagonal + p.window_right + 1);
  if (p.window_left >= 0) visible.first = std::max<int64_t>(0, diagonal - p.window_left);
  visible.last = std::min(visible.last, keys);
  return visible;
}

void attend_row(const Locator& at, int64_t sample, int64_t row, int64_t head, Keys keys,
                round_p_function round_p) {
  const auto& [p, t] = at;
  const int64_t head_kv = head / (p.heads_q / p.heads_kv);
  const int64_t q_offset = at.query(t.q, sample, row, head);
  std::vector<float> s;
  float maximum = -INFINITY;
  for (int64_t j = keys.first; j < keys.last; ++j) {
    const int64_t k_offset = at.key(t.k, sample, j, head_kv);
    float dot = 0;
    for (int64_t d = 0; d < p.head_dim_qk; ++d)
      dot = fmaf(load(t.q, q_offset + d), load(t.k, k_offset + d), dot);
    s.push_back(dot * static_cast<float>(p.scale));
    maximum = fmaxf(maximum, s.back());
  }
  float denominator = 0;
  std::vector<float> o(static_cast<size_t>(p.head_dim_vo), 0.0f);
  for (int64_t j = keys.first; j < keys.last; ++j) {
    const float weight = expf(s[static_cast<size_t>(j - keys.first)] - maximum);
    denominator += weight;
    const int64_t v_offset = at.key(t.v, sample, j, head_kv);
    for (int64_t d = 0; d < p.head_dim_vo; ++d) {
      o[static_cast<size_t>(d)] =
          fmaf(round_p(weight), load(t.v, v_offset + d), o[static_cast<size_t>(d)]);
    }
  }
  const int64_t out_offset = at.query(t.out, sample, row, head);
  for (int64_t d = 0; d < p.head_dim_vo; ++d) {
    store(t.out, out_offset + d, denominator > 0 ? o[static_cast<size_t>(d)] / denominator : 0);
  }
  if (t.lse.rank == 0) return;
  const int64_t lse_offset =
      at.padded()
          ? at.query(t.lse, sample, row, head)
          : (index_at(t.cu_seqlens_q, sample) + row) * t.lse.stride[0] + head * t.lse.stride[1];
  static_cast<float*>(t.lse.data)[lse_offset] = maximum + logf(denominator);
}

}  // namespace

const char* plain_attention_refusal(const plumbline_problem& problem) {
  if (problem.mask > PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT) return "masks of bits are not supported";
  if (problem.softcap != 0) return "softcap is not supported";
  if (problem.has_alibi != 0) return "ALiBi is not supported";
  if (problem.has_sink != 0) return "attention sinks are not supported";
  if (problem.dtype_kv == PLUMBLINE_E4M3 || problem.dtype_kv == PLUMBLINE_E5M2)
    return "fp8 K and V are not supported";
  return nullptr;
}

bool plain_attention(const plumbline_problem& problem, const plumbline_tensors& tensors,
                     round_p_function round_p) {
  if (!is_known(problem.dtype_q) || !is_known(problem.dtype_kv) || !is_known(problem.dtype_out))
    return false;
  const Locator at{problem, tensors};
  for (int64_t sample = 0; sample < problem.batch; ++sample) {
    const int64_t rows = index_at(tensors.seqlens_q, sample),
                  keys = index_at(tensors.seqlens_kv, sample);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t head = 0; head < problem.heads_q; ++head) {
        attend_row(at, sample, row, head, visible_keys(problem, row, rows, keys), round_p);
      }
    }
  }
  return true;
}
