// Draws the fp8 scales, ALiBi slopes and attention sinks of a problem from its seed.
#include "harness/problem/side_inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/problem/noise.h"

namespace plumbline {
namespace {

float draw(Noise noise, const Problem& problem, Stream stream, std::int64_t sample,
           std::int64_t head) {
  std::vector<float> row(row_group);
  noise_row(noise, {problem.seed, stream, sample, head, 0}, row);
  return row.front();
}

// Draws scales [batch, heads, blocks], and repeats a scale that samples or heads share. The query
// heads of a key head share a scale, unless scales are per token or block of tokens.
std::vector<float> draw_scales(const Problem& problem, Stream stream, std::int64_t heads,
                               std::int64_t seq) {
  const bool per_sample = problem.kv_scales >= KvScales::batch_head,
             per_head = problem.kv_scales != KvScales::tensor;
  const std::int64_t blocks = scale_blocks(problem, seq),
                     group = problem.scale_tokens() > 0 ? 1 : heads / problem.heads_kv;
  std::vector<float> scales, row(padded_dims(blocks));
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t head = 0; head < heads; ++head) {
      noise_row(Noise::uniform,
                {problem.seed, stream, per_sample ? sample : 0, per_head ? head / group : 0, 0},
                row);
      for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b)
        scales.push_back(1.25F + 0.75F * row[b]);
    }
  }
  return scales;
}

std::size_t scale_at(const Problem& problem, std::int64_t sample, std::int64_t token,
                     std::int64_t head, std::int64_t heads, std::int64_t seq) {
  const std::int64_t tokens = problem.scale_tokens();
  return static_cast<std::size_t>((sample * heads + head) * scale_blocks(problem, seq) +
                                  (tokens > 0 ? token / tokens : 0));
}

// Returns 2^(-8 (i + 1) / n), n a power of two, by square roots and products, without libm.
std::vector<float> geometric_slopes(std::uint64_t n) {
  double ratio = 0x1p-8;
  for (std::uint64_t i = n; i > 1; i /= 2) ratio = std::sqrt(ratio);
  std::vector<float> slopes;
  double slope = 1;
  for (std::uint64_t i = 0; i < n; ++i) slopes.push_back(static_cast<float>(slope *= ratio));
  return slopes;
}

std::vector<float> standard_slopes(std::int64_t heads) {
  const auto n = std::bit_floor(static_cast<std::uint64_t>(heads));
  std::vector<float> slopes = geometric_slopes(n);
  const std::vector<float> between = geometric_slopes(2 * n);
  for (std::size_t i = 0; slopes.size() < static_cast<std::size_t>(heads); i += 2)
    slopes.push_back(between[i]);
  return slopes;
}

}  // namespace

SideInputs side_inputs(const Problem& problem) {
  SideInputs side;
  if (problem.has_fp8_q())
    side.q_scale = draw_scales(problem, Stream::q_scale, problem.heads_q, problem.seq_q);
  if (problem.has_fp8_kv()) {
    side.k_scale = draw_scales(problem, Stream::k_scale, problem.heads_kv, problem.seq_kv);
    side.v_scale = draw_scales(problem, Stream::v_scale, problem.heads_kv, problem.seq_kv);
  }
  // The largest output of the laws is 28, which becomes at most 448.
  if (is_fp8(problem.out()))
    side.out_scale = {0.125F *
                      (1.25F + 0.75F * draw(Noise::uniform, problem, Stream::out_scale, 0, 0))};
  if (problem.alibi == Alibi::standard) side.alibi_slopes = standard_slopes(problem.heads_q);
  for (std::int64_t head = 0; head < problem.heads_q; ++head) {
    if (problem.alibi == Alibi::random)
      side.alibi_slopes.push_back(0.15F *
                                  (1.0F + draw(Noise::uniform, problem, Stream::slopes, 0, head)));
    if (problem.sinks != Sinks::none) {
      side.sinks.push_back((problem.sinks == Sinks::large ? 5.0F : 1.0F) *
                           draw(Noise::normal, problem, Stream::sinks, 0, head));
    }
  }
  return side;
}

std::int64_t scale_blocks(const Problem& problem, std::int64_t seq) {
  const std::int64_t tokens = problem.scale_tokens();
  return tokens == 0 ? 1 : std::max<std::int64_t>(1, (seq + tokens - 1) / tokens);
}

std::size_t q_scale_at(const Problem& problem, std::int64_t sample, std::int64_t row,
                       std::int64_t head) {
  return scale_at(problem, sample, row, head, problem.heads_q, problem.seq_q);
}

std::size_t kv_scale_at(const Problem& problem, std::int64_t sample, std::int64_t key,
                        std::int64_t head_kv) {
  return scale_at(problem, sample, key, head_kv, problem.heads_kv, problem.seq_kv);
}

}  // namespace plumbline
