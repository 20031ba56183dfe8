// The steps of compute_attn_1rowblock, for one row and head.
#include "tests/compiled/scalar_flash_attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "emulator/ptx/special_functions.h"

namespace plumbline::compiled::test {
namespace {

using emulator::MmaFormat;

constexpr int head_dim = 64, tile_q = 128, tile_kv = 128, step = 16;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Subnormals are zero (-ftz=true).
float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
float product(float a, float b) { return flushed(flushed(a) * flushed(b)); }
float sum(float a, float b) { return flushed(flushed(a) + flushed(b)); }
float fused(float a, float b, float c) {
  return flushed(std::fma(flushed(a), flushed(b), flushed(c)));
}
float unit(std::uint32_t (*function)(std::uint32_t), float x) {
  return std::bit_cast<float>(function(std::bit_cast<std::uint32_t>(x)));
}
std::uint16_t to_bf16(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  bits += 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>(bits >> 16U);
}

struct Row {
  const emulator::MmaModel& model;
  const ScalarProblem& problem;
  const ScalarInputs& inputs;
  int row, head;
  float scale_log2;

  float maximum = -infinity;
  // Lane i of the four lanes that share a row has the columns c with c % 8 / 2 == i.
  std::array<float, 4> sums{};
  std::array<float, head_dim> out{};

  // Adds a[i] b[i] over `count` elements; 16 elements are one instruction.
  template <class A, class Of>
  float dot(int count, float begin, A a, Of b) const {
    std::uint32_t total = std::bit_cast<std::uint32_t>(begin);
    for (int i = 0; i < count; i += step) {
      std::array<std::uint32_t, step> x{}, y{};
      for (int j = 0; j < step; ++j) {
        x[static_cast<std::size_t>(j)] = a(i + j);
        y[static_cast<std::size_t>(j)] = b(i + j);
      }
      total = emulator::dot(model, MmaFormat::bf16, step, x.data(), y.data(), total);
    }
    return std::bit_cast<float>(total);
  }
  // The kernel reads zeros after the last key of K and V.
  std::uint32_t key_value(const std::vector<std::uint16_t>& tensor, int key, int d) const {
    if (key >= problem.keys) return 0;
    const int of = head / (problem.heads_q / problem.heads_kv);
    return tensor[(static_cast<std::size_t>(key) * static_cast<std::size_t>(problem.heads_kv) +
                   static_cast<std::size_t>(of)) *
                      head_dim +
                  static_cast<std::size_t>(d)];
  }
  int end_key() const {  // the first key that the row does not see
    return problem.causal ? std::min(problem.keys, row + 1 + problem.keys - problem.rows)
                          : problem.keys;
  }

  void tile(int begin, bool first) {
    std::array<float, tile_kv> s{};
    const std::size_t q =
        (static_cast<std::size_t>(row) * static_cast<std::size_t>(problem.heads_q) +
         static_cast<std::size_t>(head)) *
        head_dim;
    for (int c = 0; c < tile_kv; ++c) {
      const float logit = dot(
          head_dim, 0, [&](int d) { return inputs.q[q + static_cast<std::size_t>(d)]; },
          [&](int d) { return key_value(inputs.k, begin + c, d); });
      s[static_cast<std::size_t>(c)] = begin + c < end_key() ? logit : -infinity;
    }
    const float before = maximum;
    for (const float one : s) maximum = std::max(maximum, one);
    float rescale = 1;
    if (!first) {
      const float now = maximum == -infinity ? 0 : maximum;
      rescale = unit(ptx::special_ex2, product(sum(before, -now), scale_log2));
      for (float& one : out) one = product(one, rescale);
    }
    const float shift = maximum == -infinity ? 0 : product(maximum, scale_log2);
    for (float& one : s) one = unit(ptx::special_ex2, fused(one, scale_log2, -shift));
    add_to_sums(s, rescale, first);
    for (int d = 0; d < head_dim; ++d) {
      float& one = out[static_cast<std::size_t>(d)];
      one = dot(
          tile_kv, one, [&](int c) { return to_bf16(s[static_cast<std::size_t>(c)]); },
          [&](int c) { return key_value(inputs.v, begin + c, d); });
    }
  }

  void add_to_sums(const std::array<float, tile_kv>& p, float rescale, bool first) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      bool begins = true;
      for (std::size_t c = 0; c < tile_kv; ++c) {
        if (c % 8 / 2 != lane) continue;
        if (!begins) {
          sums[lane] = sum(sums[lane], p[c]);
        } else {
          sums[lane] = first ? p[c] : fused(sums[lane], rescale, p[c]);
        }
        begins = false;
      }
    }
  }
};

}  // namespace

ScalarOutputs scalar_flash_attention(emulator::Arch arch, const ScalarProblem& problem,
                                     const ScalarInputs& inputs) {
  const emulator::MmaModel model =
      emulator::model(arch, {MmaFormat::bf16, emulator::MmaAccumulator::f32, step});
  ScalarOutputs outputs;
  for (int row = 0; row < problem.rows; ++row) {
    for (int head = 0; head < problem.heads_q; ++head) {
      Row one{model, problem, inputs,
              row,   head,    static_cast<float>(static_cast<double>(problem.scale) * M_LOG2E)};
      // Tiles of keys, starting with the last one that any row of the query tile sees.
      int tiles = (problem.keys + tile_kv - 1) / tile_kv;
      if (problem.causal)
        tiles = std::min(
            tiles,
            ((row / tile_q + 1) * tile_q + problem.keys - problem.rows + tile_kv - 1) / tile_kv);
      for (int tile = tiles - 1; tile >= 0; --tile) one.tile(tile * tile_kv, tile == tiles - 1);
      const float total = sum(sum(one.sums[0], one.sums[2]), sum(one.sums[1], one.sums[3]));
      const bool nothing = total == 0 || std::isnan(total);
      const float inverse = nothing ? 1 : unit(ptx::special_rcp, total);
      for (const float o : one.out) outputs.out.push_back(to_bf16(product(o, inverse)));
      // row_max * softmax_scale + __logf(sum). clang fuses the second of the two products, nvcc the
      // first.
      constexpr float ln_2 = 0.693147182464599609375F;
      outputs.lse.push_back(nothing ? infinity
                                    : fused(unit(ptx::special_lg2, total), ln_2,
                                            product(one.maximum, problem.scale)));
    }
  }
  return outputs;
}

}  // namespace plumbline::compiled::test
