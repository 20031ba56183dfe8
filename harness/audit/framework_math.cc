// Computes attention in the operation orders of FlashAttention's tests, PyTorch and FlexAttention.
#include "harness/audit/framework_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "harness/problem/inputs.h"
#include "harness/problem/side_inputs.h"
#include "harness/reference/key_values.h"

namespace plumbline {
namespace {

using Values = std::vector<float>;

enum class Order { flash_attention, sdpa_math, flex_eager };

void round_all(Values& values, DType dtype) {
  std::vector<std::byte> encoded(values.size() * size_in_bytes(dtype));
  encode(dtype, values, encoded.data());
  decode(dtype, encoded.data(), std::span<float>(values));
}

Values scaled(Values values, float factor, DType dtype) {
  for (float& value : values) value *= factor;
  round_all(values, dtype);
  return values;
}

// Eight partial sums let compilers use vectors, and fix the order.
float dot(const float* a, const float* b, std::size_t count) {
  float lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// K and V of one (sample, key head), and K as two of the orders scale it.
struct Head {
  std::size_t dim_qk, dim_vo;
  Values k, k_flash, k_sdpa, v;
};

// Returns the dtype that frameworks compute in and widen fp8 to: that of Q, or of the output if Q
// is fp8.
DType framework_dtype(const Problem& problem) {
  return problem.has_fp8_q() ? problem.out() : problem.dtype;
}

// Copies a vector as frameworks see it: fp8 becomes scale * stored.
void gather(const Problem& problem, DType dtype, const void* storage, std::int64_t offset,
            const std::vector<float>& scales, std::size_t scale, std::span<float> to) {
  decode(dtype,
         static_cast<const std::byte*>(storage) +
             static_cast<std::size_t>(offset) * size_in_bytes(dtype),
         to);
  if (!is_fp8(dtype)) return;
  for (float& value : to) {
    value = static_cast<float>(round_to(double{value * scales[scale]}, framework_dtype(problem)));
  }
}

Head gather_head(const Geometry& geometry, const InputView& inputs, const SideInputs& side,
                 std::int64_t sample, std::int64_t head_kv) {
  const Problem& problem = geometry.problem();
  const auto keys = static_cast<std::size_t>(geometry.length_kv(sample));
  Head head{static_cast<std::size_t>(problem.head_dim_qk),
            static_cast<std::size_t>(problem.head_dim_vo),
            {},
            {},
            {},
            {}};
  head.k.resize(keys * head.dim_qk);
  head.v.resize(keys * head.dim_vo);
  for (std::size_t key = 0; key < keys; ++key) {
    const auto at = static_cast<std::int64_t>(key);
    const std::size_t scale = kv_scale_at(problem, sample, at, head_kv);
    gather(problem, problem.kv(), inputs.k, geometry.k_offset(sample, at, head_kv), side.k_scale,
           scale, std::span(head.k).subspan(key * head.dim_qk, head.dim_qk));
    gather(problem, problem.kv(), inputs.v, geometry.v_offset(sample, at, head_kv), side.v_scale,
           scale, std::span(head.v).subspan(key * head.dim_vo, head.dim_vo));
  }
  const auto scale = static_cast<float>(problem.softmax_scale());
  head.k_flash = scaled(head.k, scale, framework_dtype(problem));
  head.k_sdpa = scaled(head.k, std::sqrt(scale), framework_dtype(problem));
  return head;
}

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

class RowMath {
 public:
  RowMath(const Geometry& geometry, const SideInputs& side, const RowId& row, const Head& head,
          const Values& q)
      : geometry_(geometry),
        problem_(geometry.problem()),
        row_(row),
        head_(head),
        keys_(geometry.visible_keys(row.sample, row.row)),
        q_(q),
        dtype_(framework_dtype(problem_)),
        scale_(static_cast<float>(problem_.softmax_scale())),
        slope_(side.alibi_slopes.empty() ? 0
                                         : side.alibi_slopes[static_cast<std::size_t>(row.head)]),
        sink_(side.sinks.empty() ? minus_infinity
                                 : side.sinks[static_cast<std::size_t>(row.head)]) {}

  // Writes the output row in `order`, rounded to `dtype_`, then to the dtype of the output.
  void attend(Order order, double* out) {
    probabilities(order);
    round_all(p_, dtype_);
    Values o(head_.dim_vo, 0.0F);
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const float* v = value(i);
      for (std::size_t j = 0; j < o.size(); ++j) o[j] += p_[i] * v[j];
    }
    round_all(o, dtype_);
    round_all(o, problem_.out());
    std::ranges::copy(o, out);
  }

  void weigh_magnitudes(double* out) {
    probabilities(Order::flex_eager);
    std::fill_n(out, head_.dim_vo, 0.0);
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const float* v = value(i);
      for (std::size_t j = 0; j < head_.dim_vo; ++j)
        out[j] += double{p_[i]} * std::abs(double{v[j]});
    }
  }

 private:
  const float* value(std::size_t i) const {
    return &head_.v[(static_cast<std::size_t>(keys_.begin) + i) * head_.dim_vo];
  }

  void logits(Order order) {
    const Values& k = order == Order::flash_attention ? head_.k_flash
                      : order == Order::sdpa_math     ? head_.k_sdpa
                                                      : head_.k;
    const Values q = order == Order::sdpa_math ? scaled(q_, std::sqrt(scale_), dtype_) : q_;
    p_.resize(static_cast<std::size_t>(keys_.size()));
    for (std::size_t i = 0; i < p_.size(); ++i) {
      p_[i] = dot(q.data(), &k[(static_cast<std::size_t>(keys_.begin) + i) * head_.dim_qk],
                  head_.dim_qk);
    }
    round_all(p_, dtype_);
    if (order == Order::flex_eager) {
      for (float& s : p_) s *= scale_;
    }
    if (problem_.softcap != 0) cap(order);
    if (slope_ != 0) add_bias(order);
    for (std::size_t i = 0; i < p_.size(); ++i) {
      if (!geometry_.sees(row_.sample, row_.row, key(i))) p_[i] = minus_infinity;
    }
  }

  std::int64_t key(std::size_t i) const { return keys_.begin + static_cast<std::int64_t>(i); }

  // FlexAttention computes its score functions in fp32. The others round to `dtype_` after each
  // step.
  void cap(Order order) {
    const auto softcap = static_cast<float>(problem_.softcap);
    const auto step = [&](auto&& function) {
      for (float& s : p_) s = function(s);
      if (order != Order::flex_eager) round_all(p_, dtype_);
    };
    step([&](float s) { return s / softcap; });
    step([](float s) { return std::tanh(s); });
    step([&](float s) { return s * softcap; });
  }

  // Bias and biased logits are fp32. SDPA, whose bias is its mask, rounds both to `dtype_`.
  void add_bias(Order order) {
    Values bias(p_.size());
    const std::int64_t diagonal =
        row_.row + geometry_.length_kv(row_.sample) - geometry_.length_q(row_.sample);
    for (std::size_t i = 0; i < p_.size(); ++i)
      bias[i] = -slope_ * static_cast<float>(std::abs(diagonal - key(i)));
    const bool rounds = order == Order::sdpa_math;
    if (rounds) round_all(bias, dtype_);
    for (std::size_t i = 0; i < p_.size(); ++i) p_[i] += bias[i];
    if (rounds) round_all(p_, dtype_);
  }

  void probabilities(Order order) {
    logits(order);
    float maximum = sink_;
    for (const float s : p_) maximum = std::max(maximum, s);
    float sum = std::exp(sink_ - maximum);
    for (float& s : p_) sum += s = std::exp(s - maximum);
    for (float& p : p_) p /= sum;
  }

  const Geometry& geometry_;
  const Problem& problem_;
  const RowId& row_;
  const Head& head_;
  const KeyRange keys_;
  const Values& q_;
  const DType dtype_;
  const float scale_, slope_, sink_;
  Values p_;
};

}  // namespace

InputCopy::InputCopy(const Geometry& geometry)
    : q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes()) {
  fill_inputs(geometry, q.data(), k.data(), v.data());
}

FrameworkMath framework_math(const Geometry& geometry, const InputView& inputs,
                             const RowSelection& selection) {
  const Problem& problem = geometry.problem();
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  const std::size_t elements = selection.rows.size() * columns;
  FrameworkMath math;
  for (auto* matrix :
       {&math.flash_attention, &math.sdpa_math, &math.flex_eager, &math.weighted_magnitude})
    matrix->assign(elements, 0);
  const SideInputs& side = geometry.side;
  Head head{};
  Values q(static_cast<std::size_t>(problem.head_dim_qk));
  for (std::size_t r = 0; r < selection.rows.size(); ++r) {
    const RowId& row = selection.rows[r];
    const std::int64_t head_kv = row.head / problem.group();
    const bool same_head = r > 0 && selection.rows[r - 1].sample == row.sample &&
                           selection.rows[r - 1].head / problem.group() == head_kv;
    if (!same_head) head = gather_head(geometry, inputs, side, row.sample, head_kv);
    if (geometry.visible_keys(row.sample, row.row).size() == 0) continue;
    gather(problem, problem.dtype, inputs.q, geometry.q_offset(row.sample, row.row, row.head),
           side.q_scale, q_scale_at(problem, row.sample, row.row, row.head), q);
    RowMath of_row(geometry, side, row, head, q);
    of_row.attend(Order::flash_attention, &math.flash_attention[r * columns]);
    of_row.attend(Order::sdpa_math, &math.sdpa_math[r * columns]);
    of_row.attend(Order::flex_eager, &math.flex_eager[r * columns]);
    of_row.weigh_magnitudes(&math.weighted_magnitude[r * columns]);
  }
  return math;
}

LargestInputs largest_inputs(const Geometry& geometry, const InputView& inputs) {
  const Problem& problem = geometry.problem();
  const KeyValues key_values(geometry, inputs.k, inputs.v, DType::none);
  std::vector<double> vector;
  const auto largest = [&](std::int64_t dims, double& most, auto load) {
    vector.resize(static_cast<std::size_t>(dims));
    load(std::span(vector));
    for (const double value : vector) most = std::max(most, std::abs(value));
  };
  LargestInputs result;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t row = 0; row < geometry.length_q(b); ++row) {
      for (std::int64_t head = 0; head < problem.heads_q; ++head) {
        largest(problem.head_dim_qk, result.q, [&](std::span<double> to) {
          stored_query(geometry, inputs.q, DType::none, b, row, head, to);
        });
      }
    }
    for (std::int64_t key = 0; key < geometry.length_kv(b); ++key) {
      for (std::int64_t head = 0; head < problem.heads_kv; ++head) {
        largest(problem.head_dim_qk, result.k,
                [&](std::span<double> to) { key_values.key(b, key, head, to); });
        largest(problem.head_dim_vo, result.v,
                [&](std::span<double> to) { key_values.value(b, key, head, to); });
      }
    }
  }
  return result;
}

}  // namespace plumbline
