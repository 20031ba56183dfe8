// A provider in C++ with plumbline_provider.hpp: two kernels, one option, one file.
//
// Both support fp32 in padded and ragged layouts, without masks, one row at a time:
//   sample_cpp/two_pass   m = max_j S[j], P[j] = exp(S[j] - m), out = sum_j P[j] v[j] / sum_j P[j]
//   sample_cpp/online     one pass over the keys; both sums are rescaled whenever m grows
// The option reverse=1 visits the keys from the last to the first: the same sums in another order.
// Start from here: replace `two_pass` with your kernel, let `refusal` accept what it supports, and
// declare its roundings in `describe`.
#include <cmath>
#include <limits>
#include <vector>

#include "plumbline_provider.hpp"

namespace {

using namespace plumbline::provider;

struct Settings {
  bool reverse = false;
};
Settings settings;

// A query row of one head, and the keys that it sees. Addresses and strides in floats.
struct Row {
  const float *q, *k, *v;
  float *out, *lse;  // lse is nullptr if not wanted
  std::int64_t keys, dim_qk, dim_vo, k_stride, v_stride;
  float scale;
  bool reverse;

  std::int64_t key(std::int64_t i) const { return reverse ? keys - 1 - i : i; }
  float score(std::int64_t j) const {
    float dot = 0;
    for (std::int64_t d = 0; d < dim_qk; ++d) dot += q[d] * k[j * k_stride + d];
    return dot * scale;
  }
  void add_value(float weight, std::int64_t j) const {
    for (std::int64_t d = 0; d < dim_vo; ++d) out[d] += weight * v[j * v_stride + d];
  }
  // A row that sees no key is 0, with LSE -infinity.
  void finish(float m, float l) const {
    for (std::int64_t d = 0; d < dim_vo && l > 0; ++d) out[d] /= l;
    if (lse != nullptr) *lse = m + std::log(l);
  }
};

void two_pass(const Row& row) {
  float m = -std::numeric_limits<float>::infinity(), l = 0;
  for (std::int64_t i = 0; i < row.keys; ++i) m = std::max(m, row.score(row.key(i)));
  for (std::int64_t i = 0; i < row.keys; ++i) {
    const float weight = std::exp(row.score(row.key(i)) - m);
    l += weight;
    row.add_value(weight, row.key(i));
  }
  row.finish(m, l);
}

void online(const Row& row) {
  float m = -std::numeric_limits<float>::infinity(), l = 0;
  for (std::int64_t i = 0; i < row.keys; ++i) {
    const float score = row.score(row.key(i));
    if (score > m) {
      const float rescale = std::exp(m - score);
      for (std::int64_t d = 0; d < row.dim_vo; ++d) row.out[d] *= rescale;
      l *= rescale;
      m = score;
    }
    const float weight = std::exp(score - m);
    l += weight;
    row.add_value(weight, row.key(i));
  }
  row.finish(m, l);
}

// Returns the row (sample, token, head), by strides; `token` counts the sample's valid rows.
float* row_of(const plumbline_problem& p, const plumbline_tensor& t,
              const plumbline_tensor& lengths, const plumbline_tensor& cu_seqlens,
              std::int64_t sample, std::int64_t token, std::int64_t head) {
  auto* data = static_cast<float*>(t.data);
  if (!is_padded(p.layout)) {
    const std::int64_t first = static_cast<const std::int32_t*>(cu_seqlens.data)[sample];
    return data + (first + token) * t.stride[0] + head * t.stride[1];
  }
  if (p.padding == PLUMBLINE_PADDING_LEFT)
    token += t.extent[1] - static_cast<const std::int32_t*>(lengths.data)[sample];
  return data + sample * t.stride[0] + token * t.stride[1] + head * t.stride[2];
}

struct Sample : Library {
  struct Kernel {
    const char* name;
    void (*attend)(const Row&);
  };
  struct Plan {
    const Kernel* kernel;
    plumbline_problem problem;
    Settings settings;
  };

  static const char* name() { return "sample_cpp"; }
  static const char* version() { return "1.0"; }
  static const std::vector<Kernel>& kernels() {
    static const std::vector<Kernel> all{{"two_pass", two_pass}, {"online", online}};
    return all;
  }

  static std::string set_options(std::string_view text) {
    static const Option<Settings> known[] = {{"reverse", "0 or 1", set_flag<&Settings::reverse>}};
    settings = {};
    return read_options(text, known, settings);
  }

  static std::string refusal(const Kernel&, const plumbline_problem& p,
                             const plumbline_device& device) {
    if (p.dtype_q != PLUMBLINE_F32 || p.dtype_kv != PLUMBLINE_F32 || p.dtype_out != PLUMBLINE_F32)
      return std::string("only fp32 is supported (got ") + dtype_name(p.dtype_q) + ")";
    if (!is_padded(p.layout) && p.layout != PLUMBLINE_RAGGED_THD)
      return "only padded and ragged layouts are supported";
    if (p.mask != PLUMBLINE_MASK_NONE || p.window_left >= 0 || p.window_right >= 0)
      return "masks are not supported";
    if (p.softcap != 0 || p.has_alibi || p.has_sink)
      return "softcap, ALiBi and sinks are not supported";
    return refuse_other_devices(device, PLUMBLINE_HOST, "the sample kernels");
  }

  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors&, const plumbline_device&, std::uint64_t&) {
    return {&kernel, problem, settings};  // it needs no workspace
  }

  static void run(Plan& plan, const plumbline_tensors& t, void*) {
    const plumbline_problem& p = plan.problem;
    const std::size_t token_dim = is_padded(p.layout) ? 1 : 0;
    for (std::int64_t sample = 0; sample < p.batch; ++sample) {
      const auto length = [&](const plumbline_tensor& lengths) {
        return static_cast<const std::int32_t*>(lengths.data)[sample];
      };
      const auto of_queries = [&](const plumbline_tensor& of, std::int64_t row, std::int64_t head) {
        return row_of(p, of, t.seqlens_q, t.cu_seqlens_q, sample, row, head);
      };
      for (std::int64_t row = 0; row < length(t.seqlens_q); ++row) {
        for (std::int64_t head = 0; head < p.heads_q; ++head) {
          const std::int64_t head_kv = head / (p.heads_q / p.heads_kv);
          float* const out = of_queries(t.out, row, head);
          std::fill_n(out, p.head_dim_vo, 0.0F);
          plan.kernel->attend({of_queries(t.q, row, head),
                               row_of(p, t.k, t.seqlens_kv, t.cu_seqlens_kv, sample, 0, head_kv),
                               row_of(p, t.v, t.seqlens_kv, t.cu_seqlens_kv, sample, 0, head_kv),
                               out, t.lse.rank != 0 ? of_queries(t.lse, row, head) : nullptr,
                               length(t.seqlens_kv), p.head_dim_qk, p.head_dim_vo,
                               t.k.stride[token_dim], t.v.stride[token_dim],
                               static_cast<float>(p.scale), plan.settings.reverse});
        }
      }
    }
  }

  // The default spec is right: sums in fp32, and only the output is rounded.
  static void describe(const Plan& plan, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
    copy_text(plan.settings.reverse ? "last key first" : "first key first", description.launched);
    copy_text(__DATE__ " " __TIME__, description.build_id);
    description.promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
    description.promises.batch = PLUMBLINE_PROMISE_BITWISE;
  }
};

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return serve<Sample>(abi_version, options);
}
