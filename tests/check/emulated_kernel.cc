// Computes attention with chosen roundings and planted faults, and writes it as the tensors of a
// dump.
#include "tests/check/emulated_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "harness/problem/inputs.h"
#include "harness/problem/rounder.h"

namespace plumbline::test {
namespace {

class Kernel {
 public:
  Kernel(const Problem& problem, const Emulated& how)
      : problem_(problem),
        how_(how),
        geometry_(problem),
        seen_(computed_problem()),
        q_(geometry_.q.bytes()),
        k_(geometry_.k.bytes()),
        v_(geometry_.v.bytes()),
        out_(geometry_.out.bytes()),
        lse_(geometry_.lse.bytes()) {
    fill_inputs(geometry_, q_.data(), k_.data(), v_.data());
  }

  DumpTensors run() {
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      for (std::int64_t h = 0; h < problem_.heads_q; ++h) {
        for (std::int64_t i = 0; i < geometry_.length_q(b); ++i) row(b, h, i);
      }
    }
    return tensors();
  }

 private:
  Problem computed_problem() const {
    Problem problem = problem_;
    if (how_.other_mask) problem.mask = how_.wrong_mask;
    return problem;
  }

  static double rounded(double value, DType dtype) {
    return round_to(static_cast<float>(value), dtype);
  }

  // Replaces `row` by `columns` scaled and rounded elements from `offset` on.
  void load(DType dtype, const std::vector<std::byte>& tensor, std::int64_t offset,
            std::int64_t columns, float scale, double* row) const {
    const DirectedRounder rounder{Rounder(how_.inputs), how_.toward_zero};
    for (std::int64_t d = 0; d < columns; ++d) {
      const auto at = static_cast<std::size_t>(offset + d);
      row[d] = rounder(scale * decode_at(dtype, tensor.data(), at));
    }
  }
  // Loads K and V of a key head, unless they are those of the last call.
  void load_keys(std::int64_t b, std::int64_t kv) {
    if (loaded_ == std::pair(b, kv)) return;
    loaded_ = {b, kv};
    const std::int64_t keys = geometry_.length_kv(b);
    const auto resize = [keys](std::vector<double>& values, std::int64_t columns) {
      values.resize(static_cast<std::size_t>(keys * columns));
    };
    resize(key_head_, problem_.head_dim_qk);
    resize(value_head_, problem_.head_dim_vo);
    for (std::int64_t key = 0; key < keys; ++key) {
      const std::size_t block = kv_scale_at(problem_, b, key, kv);
      load(problem_.kv(), k_, geometry_.k_offset(b, key, kv), problem_.head_dim_qk,
           of(geometry_.side.k_scale, block), key_head_.data() + key * problem_.head_dim_qk);
      load(problem_.kv(), v_, geometry_.v_offset(b, key, kv), problem_.head_dim_vo,
           of(geometry_.side.v_scale, block), value_head_.data() + key * problem_.head_dim_vo);
    }
  }
  static float of(const std::vector<float>& scales, std::size_t at) {
    return scales.empty() ? 1 : scales[at];
  }
  double directed(double value, DType dtype) const {
    return DirectedRounder{Rounder(dtype), how_.toward_zero}(value);
  }
  double rounded_p(double p) const {
    return directed(static_cast<float>(p * how_.p_prescale), how_.p) / how_.p_prescale;
  }
  static double product_of_parts(double a, double b) {
    const double high_a = round_to(a, DType::bf16), low_a = round_to(a - high_a, DType::bf16),
                 high_b = round_to(b, DType::bf16), low_b = round_to(b - high_b, DType::bf16);
    return high_a * high_b + high_a * low_b + low_a * high_b;
  }

  void row(std::int64_t b, std::int64_t h, std::int64_t i) {
    KeyRange keys = seen_.visible_keys(b, i);
    keys.end = std::max(keys.begin, keys.end - how_.drop_last_keys);
    const bool confused = how_.wrong_head && b == problem_.batch - 1 && h == problem_.heads_q - 1;
    const std::int64_t kv = confused ? 0 : h / problem_.group();
    load_keys(b, kv);
    const float q_scale =
        how_.forget_q_scale ? 1 : of(geometry_.side.q_scale, q_scale_at(problem_, b, i, h));
    std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk));
    load(problem_.dtype, q_, geometry_.q_offset(b, i, h), problem_.head_dim_qk, q_scale, q.data());
    std::vector<std::int64_t> seen;
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      if (seen_.sees(b, i, key) && (!how_.sees || how_.sees(b, h, i, key))) seen.push_back(key);
    }
    const std::size_t n = seen.size();
    std::vector<double> s(n), p(n);
    for (std::size_t j = 0; j < n; ++j)
      s[j] = rounded(shaped(logit(q.data(), seen[j]), b, h, i, seen[j]), how_.s);
    const bool has_sink = !geometry_.side.sinks.empty() && !how_.forget_sinks;
    const double sink = has_sink ? geometry_.side.sinks[static_cast<std::size_t>(h)]
                                 : -std::numeric_limits<double>::infinity();
    const double m = std::max(sink, n == 0 ? sink : *std::max_element(s.begin(), s.end()));
    double sum = has_sink ? std::exp(sink - m) : 0;
    for (std::size_t j = 0; j < n; ++j) {
      p[j] = static_cast<float>(std::exp(s[j] - m));
      sum += how_.rounded_denominator ? rounded_p(p[j]) : p[j];
    }
    sum *= how_.denominator_factor;
    std::vector<double> o(static_cast<std::size_t>(problem_.head_dim_vo));
    for (std::size_t j = 0; j < n; ++j) {
      const double weight = how_.normalise_first ? rounded_p(p[j] / sum) : rounded_p(p[j]) / sum;
      const double* v = value_head_.data() + seen[j] * problem_.head_dim_vo;
      double* out = o.data();
      for (std::int64_t d = 0; d < problem_.head_dim_vo; ++d)
        out[d] += how_.bf16_parts ? product_of_parts(weight, v[d]) : weight * v[d];
    }
    write(b, h, i, o,
          n == 0 && !has_sink ? -std::numeric_limits<double>::infinity() : m + std::log(sum));
  }

  // Returns the logit of a scaled product, in fp32 like a kernel.
  double shaped(double product, std::int64_t b, std::int64_t h, std::int64_t i,
                std::int64_t key) const {
    auto s = static_cast<float>(product);
    const auto cap = static_cast<float>(how_.forget_softcap ? 0 : problem_.softcap);
    if (cap != 0) s = cap * std::tanh(s / cap);
    const std::vector<float>& slopes =
        how_.slopes.empty() ? geometry_.side.alibi_slopes : how_.slopes;
    if (!slopes.empty() && !how_.forget_alibi) {
      const auto at = static_cast<std::size_t>(how_.slopes.empty() ? h : b * problem_.heads_q + h);
      const std::int64_t diagonal = i + geometry_.length_kv(b) - geometry_.length_q(b);
      s -= slopes[at] * static_cast<float>(std::abs(diagonal - key));
    }
    if (!how_.bias.empty() && !how_.forget_bias) {
      const float added = how_.bias[bias_at(b, h, i, key)];
      s += how_.scaled_bias ? added * static_cast<float>(problem_.softmax_scale()) : added;
    }
    return s;
  }

  // Indexes by valid row: problems with biases have no padding.
  std::size_t bias_at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t key) const {
    const auto& shape = how_.bias_shape;
    const auto in = [&](std::size_t d, std::int64_t n) { return shape[d] == 1 ? 0 : n; };
    return static_cast<std::size_t>(
        ((in(0, b) * shape[1] + in(1, h)) * shape[2] + in(2, i)) * shape[3] + in(3, key));
  }

  double logit(const double* q, std::int64_t key) const {
    const double* k = key_head_.data() + key * problem_.head_dim_qk;
    double sum = 0;
    for (std::int64_t d = 0; d < problem_.head_dim_qk; ++d)
      sum += how_.bf16_parts ? product_of_parts(q[d], k[d]) : q[d] * k[d];
    return sum * problem_.softmax_scale() * how_.scale_factor;
  }

  void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& o,
             double lse) {
    std::vector<float> values(o.begin(), o.end());
    const auto at = static_cast<std::size_t>(geometry_.out_offset(b, i, h));
    for (const float scale : geometry_.side.out_scale) {
      for (float& value : values) value /= scale;
    }
    encode(problem_.out(), values, out_.data() + at * size_in_bytes(problem_.out()));
    const auto value = static_cast<float>(lse);
    if (problem_.lse)
      std::memcpy(lse_.data() + static_cast<std::size_t>(geometry_.lse_offset(b, i, h)) * 4, &value,
                  4);
  }

  // Returns the extents in memory order.
  static std::vector<std::int64_t> stored(const TensorShape& shape) {
    std::vector<std::size_t> order(static_cast<std::size_t>(shape.rank));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return shape.stride[a] > shape.stride[b];
    });
    std::vector<std::int64_t> extents;
    for (const std::size_t dimension : order) extents.push_back(shape.extent[dimension]);
    return extents;
  }

  DumpTensors tensors() {
    DumpTensors result;
    const auto add = [&](const char* name, const TensorShape& shape, std::vector<std::byte> data) {
      result.set(name, std::string(safetensors_dtype(shape.dtype)), stored(shape), std::move(data));
    };
    add("q", geometry_.q, std::move(q_));
    add("k", geometry_.k, std::move(k_));
    add("v", geometry_.v, std::move(v_));
    add("out", geometry_.out, std::move(out_));
    if (problem_.lse) add("lse", geometry_.lse, std::move(lse_));
    const auto add_scales = [&](const char* name, const std::vector<float>& scales,
                                std::int64_t heads) {
      if (scales.empty()) return;
      const auto blocks = static_cast<std::int64_t>(scales.size()) / (problem_.batch * heads);
      const auto bytes = std::as_bytes(std::span(scales));
      result.set(name, "F32", {problem_.batch, heads, blocks}, {bytes.begin(), bytes.end()});
    };
    add_scales("q_scale", geometry_.side.q_scale, problem_.heads_q);
    add_scales("k_scale", geometry_.side.k_scale, problem_.heads_kv);
    add_scales("v_scale", geometry_.side.v_scale, problem_.heads_kv);
    const auto add_floats = [&](const char* name, const std::vector<float>& values,
                                std::vector<std::int64_t> shape) {
      const auto bytes = std::as_bytes(std::span(values));
      if (!values.empty()) result.set(name, "F32", std::move(shape), {bytes.begin(), bytes.end()});
    };
    add_floats("alibi_slopes", geometry_.side.alibi_slopes, {problem_.heads_q});
    add_floats("alibi_slopes", how_.slopes, {problem_.batch, problem_.heads_q});
    add_floats("out_scale", geometry_.side.out_scale, {1});
    add_floats("sinks", geometry_.side.sinks, {problem_.heads_q});
    add_floats("attn_bias", how_.bias, how_.bias_shape);
    if (how_.sees || geometry_.has_hidden_keys()) add_mask(result);
    if (problem_.is_padded() && problem_.lengths != Lengths::full) {
      result.set_integers("seqlens_q", {problem_.batch}, geometry_.seqlens_q);
      result.set_integers("seqlens_kv", {problem_.batch}, geometry_.seqlens_kv);
    } else if (!problem_.is_padded()) {
      result.set_integers("cu_seqlens_q", {problem_.batch + 1}, geometry_.cu_seqlens_q);
      if (!problem_.is_paged())
        result.set_integers("cu_seqlens_kv", {problem_.batch + 1}, geometry_.cu_seqlens_kv);
    }
    if (problem_.is_paged()) {
      result.set_integers("seqlens_kv", {problem_.batch}, geometry_.seqlens_kv);
      result.set_integers("page_table", {problem_.batch, geometry_.pages_per_sample},
                          geometry_.page_table);
    }
    return result;
  }

  // Adds [batch, heads, seq_q, seq_kv] by valid row and key; one head if all have the same mask.
  void add_mask(DumpTensors& result) const {
    const std::int64_t heads = how_.sees ? problem_.heads_q : 1;
    std::vector<std::byte> values;
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = 0; i < problem_.seq_q; ++i) {
          for (std::int64_t key = 0; key < problem_.seq_kv; ++key) {
            const bool valid = i < geometry_.length_q(b) && key < geometry_.length_kv(b);
            values.push_back(std::byte{valid && geometry_.sees(b, i, key) &&
                                       (!how_.sees || how_.sees(b, h, i, key))});
          }
        }
      }
    }
    result.set("mask", "BOOL", {problem_.batch, heads, problem_.seq_q, problem_.seq_kv},
               std::move(values));
  }

  const Problem problem_;
  const Emulated how_;
  const Geometry geometry_, seen_;
  std::vector<std::byte> q_, k_, v_, out_, lse_;
  std::pair<std::int64_t, std::int64_t> loaded_{-1, -1};  // sample and key head of the next two
  std::vector<double> key_head_, value_head_;             // [keys, columns]
};

}  // namespace

void DumpTensors::set(const std::string& name, const std::string& dtype,
                      std::vector<std::int64_t> shape, std::vector<std::byte> data) {
  tensors_[name] = {dtype, std::move(shape), std::move(data)};
}

void DumpTensors::set_integers(const std::string& name, std::vector<std::int64_t> shape,
                               const std::vector<std::int32_t>& values) {
  std::vector<std::byte> data(values.size() * sizeof(std::int32_t));
  std::memcpy(data.data(), values.data(), data.size());
  set(name, "I32", std::move(shape), std::move(data));
}

std::map<std::string, TensorData> DumpTensors::view() const {
  std::map<std::string, TensorData> views;
  for (const auto& [name, tensor] : tensors_)
    views[name] = {tensor.dtype, tensor.shape, tensor.data.data(), tensor.data.size()};
  return views;
}

std::vector<std::byte> DumpTensors::file(const Attributes& metadata) const {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors_) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  const std::string text = header.dump();
  const auto length = static_cast<std::uint64_t>(text.size());
  std::vector<std::byte> bytes(sizeof length + text.size());
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, text.data(), text.size());
  for (const auto& [name, tensor] : tensors_)
    bytes.insert(bytes.end(), tensor.data.begin(), tensor.data.end());
  return bytes;
}

DumpTensors run_emulated(const Problem& problem, const Emulated& kernel) {
  return Kernel(problem, kernel).run();
}

Attributes attributes_of(const Problem& problem) {
  Attributes attributes{
      {"layout", std::string(name(problem.layout))},
      {"mask", std::string(name(problem.has_mask_bits() ? Mask::none : problem.mask))}};
  if (problem.softcap != 0) attributes["softcap"] = std::to_string(problem.softcap);
  if (problem.scale != 0) attributes["scale"] = std::to_string(problem.scale);
  if (problem.padding == Padding::left) attributes["padding"] = "left";
  if (problem.window_left >= 0 || problem.window_right >= 0) {
    attributes["window"] =
        std::to_string(problem.window_left) + "," + std::to_string(problem.window_right);
  }
  return attributes;
}

}  // namespace plumbline::test
