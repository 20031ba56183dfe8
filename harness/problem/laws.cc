// Defines the gains, offsets and special keys of each input distribution (law), and generates rows
// from them.
#include "harness/problem/laws.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace plumbline {
namespace {

constexpr float ln_2 = 0.69314718F;

RowAddress head_address(const Problem& problem, Stream stream, std::int64_t sample,
                        std::int64_t head_kv) {
  return {problem.seed, stream, sample, head_kv, 0};
}

// Real models have a few channels whose K is an order of magnitude larger in every token (KVQuant
// and SmoothQuant show them).
void set_llm(const Problem& problem, std::int64_t head_kv, HeadLaw& law) {
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk);
  const std::size_t outliers = std::max<std::size_t>(1, (3 * dims + 50) / 100);
  const RowAddress address = head_address(problem, Stream::outliers, 0, head_kv);
  std::vector<bool> taken(dims, false);
  for (std::size_t i = 0; i < outliers; ++i) {
    const WordGroup words = random_words(address, i * row_group);
    std::size_t dim = words[0] % dims;
    while (taken[dim]) dim = (dim + 1) % dims;
    taken[dim] = true;
    law.k.gain[dim] = 8.0F + 12.0F * static_cast<float>(words[1] >> 8) * 0x1p-24F;
    law.q.gain[dim] = 2.5F;
  }
}

// Returns the logit that gives one key e^margin times the weight of all `length_kv` others
// together, within a factor of 2, if those have logit 0.
float dominant_logit(std::int64_t length_kv, float margin) {
  return ln_2 * static_cast<float>(std::bit_width(static_cast<std::uint64_t>(length_kv))) + margin;
}

// Key 0 has the same logit for every query; the other keys' logits are nearly equal.
void set_sink(const Problem& problem, std::int64_t length_kv, HeadLaw& law) {
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk);
  const std::size_t shared = std::min<std::size_t>(4, dims);
  const float weight = dominant_logit(length_kv, 2.5F) * std::sqrt(static_cast<float>(dims)) /
                       static_cast<float>(shared);
  std::ranges::fill(law.k.gain, 0.05F);
  law.special = {std::max<std::int64_t>(1, length_kv), 0,
                 std::vector<float>(law.k.gain.size(), 0.0F)};
  for (std::size_t dim = 0; dim < shared; ++dim) {
    law.q.gain[dim] = 0;
    law.q.offset[dim] = 1;
    law.special.vector[dim] = weight;
  }
}

// One key at a random position is a multiple of a vector of signs. All queries of the group have
// this vector as their offset.
void set_needle(const Problem& problem, std::int64_t sample, std::int64_t head_kv,
                std::int64_t length_kv, HeadLaw& law) {
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk);
  std::vector<float> direction(law.q.gain.size());
  RowAddress address = head_address(problem, Stream::needle, sample, head_kv);
  noise_row(Noise::uniform, address, direction);
  address.position = 1;
  const auto keys = static_cast<std::uint32_t>(std::max<std::int64_t>(1, length_kv));
  const std::uint32_t needle = random_words(address, 0)[0] % keys;

  const float weight = dominant_logit(length_kv, 4.0F) / std::sqrt(static_cast<float>(dims));
  std::ranges::fill(law.q.gain, 0.5F);
  std::ranges::fill(law.k.gain, 0.5F);
  law.special = {keys, needle, std::vector<float>(direction.size())};
  for (std::size_t dim = 0; dim < dims; ++dim) {
    law.q.offset[dim] = std::copysign(1.0F, direction[dim]);
    law.special.vector[dim] = law.q.offset[dim] * weight;
  }
}

// Even keys have the same vector, and logits of at most 1 / sqrt(head_dim_qk) in size. Odd keys are
// 4096 / sqrt(head_dim_qk) below them, so that their weight underflows to zero. Every product is a
// power of two, so a logit does not depend on the order of summation. Logits of even keys are below
// ln 2, so exp2(fma(s, c, -round(m c))) still rounds to 1 in fp32.
void set_exact(const Problem& problem, std::int64_t sample, std::int64_t head_kv, HeadLaw& law) {
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk);
  const WordGroup words = random_words(head_address(problem, Stream::exact, sample, head_kv), 0);
  const std::size_t below = words[0] % dims;
  std::ranges::fill(law.k.gain, 0.0F);
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}})
    law.k.offset[(below + step) % dims] = (words[step] & 1U) != 0 ? 0.5F : -0.5F;
  law.k.offset[below] = 0;
  law.q.gain[below] = 0;
  law.q.offset[below] = 16;
  law.special = {2, 1, law.k.offset};
  law.special.vector[below] = -256;
}

// Every query has 1 in a few dims, in which a key can set its logit.
std::size_t share_dims(const Problem& problem, HeadLaw& law) {
  const std::size_t shared =
      std::min<std::size_t>(4, static_cast<std::size_t>(problem.head_dim_qk));
  std::fill_n(law.q.gain.begin(), shared, 0.0F);
  std::fill_n(law.q.offset.begin(), shared, 1.0F);
  std::fill_n(law.k.gain.begin(), shared, 0.0F);
  return shared;
}
// Returns the value that each shared dim of K needs for a key with this logit.
float per_shared_dim(const Problem& problem, std::size_t shared, float logit) {
  return logit * std::sqrt(static_cast<float>(problem.head_dim_qk)) / static_cast<float>(shared);
}

void set_negative_logits(const Problem& problem, HeadLaw& law) {
  const std::size_t shared = share_dims(problem, law);
  std::fill_n(law.k.offset.begin(), shared, per_shared_dim(problem, shared, -80));
}

void set_extreme(const Problem& problem, HeadLaw& law) {
  const std::size_t shared = share_dims(problem, law);
  std::fill_n(law.k.offset.begin(), shared, 65504.0F / static_cast<float>(shared));
}

void set_ramp(const Problem& problem, std::int64_t length_kv, HeadLaw& law) {
  std::ranges::fill(law.k.gain, 0.25F);
  const std::size_t shared = share_dims(problem, law);
  law.k_per_position.resize(law.k.gain.size(), 0.0F);
  const float step = per_shared_dim(problem, shared, 30) /
                     static_cast<float>(std::max<std::int64_t>(1, length_kv));
  std::fill_n(law.k_per_position.begin(), shared, step);
}

// All keys are close to one vector, so a row's logits have a large common part.
void set_near_ties(const Problem& problem, std::int64_t sample, std::int64_t head_kv,
                   HeadLaw& law) {
  std::ranges::fill(law.k.gain, 0.05F);
  noise_row(Noise::normal, head_address(problem, Stream::common, sample, head_kv), law.k.offset);
  for (float& value : law.k.offset) value *= 4;
}

AffineRow value_law(const Problem& problem, std::int64_t sample, std::int64_t head_kv) {
  const std::int64_t dims = problem.head_dim_vo;
  switch (problem.v_law) {
    case VLaw::normal:
      return {Noise::normal, dims, 1};
    case VLaw::uniform:
      return {Noise::uniform, dims, 1};
    case VLaw::large_mean:
      return {Noise::normal, dims, 1, 10};
    case VLaw::grid:
      return {Noise::eighths, dims, 1};
    case VLaw::band:
      return {Noise::uniform, dims, 4, 24};
    case VLaw::constant:
    case VLaw::tiny_output:
      break;
  }
  AffineRow law(Noise::normal, dims, problem.v_law == VLaw::tiny_output ? 0x1p-8F : 0.0F);
  noise_row(Noise::normal, head_address(problem, Stream::columns, sample, head_kv), law.offset);
  return law;
}

// Returns the law of a merge: K holds the parts' LSEs, in natural units. K has one dim, and Q is 1.
HeadLaw merge_law(const Problem& problem, std::int64_t sample, std::int64_t head,
                  std::int64_t parts) {
  const auto lse = [&](float gain, float offset, Noise noise = Noise::normal) {
    return HeadLaw{{Noise::normal, 1, 0, 1},
                   {noise, 1, gain, offset},
                   value_law(problem, sample, head),
                   {},
                   {},
                   problem.v_law == VLaw::tiny_output};
  };
  const auto with_special = [&](HeadLaw law, std::int64_t period, std::int64_t first, float value) {
    law.special = {period, first, std::vector<float>(law.k.gain.size(), value)};
    return law;
  };
  const std::int64_t all = std::max<std::int64_t>(1, parts);
  switch (problem.law) {
    case Law::normal:
      break;
    case Law::uniform:
      return lse(1, 6, Noise::uniform);
    case Law::llm:
      return lse(4, 6);
    case Law::peaky:
      return lse(16, 0);
    case Law::near_uniform:
      return lse(0.02F, 6);
    case Law::sink:
      return with_special(lse(0.05F, 0), all, 0, dominant_logit(parts, 2.5F));
    case Law::needle: {
      RowAddress address = head_address(problem, Stream::needle, sample, head);
      const std::uint32_t needle = random_words(address, 0)[0] % static_cast<std::uint32_t>(all);
      return with_special(lse(0.5F, 0), all, needle, dominant_logit(parts, 4));
    }
    case Law::exact:
      return with_special(lse(0, 6), 2, 1, -4090);
    case Law::negative_logits:
      return lse(1, -80);
    case Law::ramp: {
      HeadLaw law = lse(0.25F, 0);
      law.k_per_position.resize(law.k.gain.size(), 30 / static_cast<float>(all));
      return law;
    }
    case Law::extreme:
      return lse(1, head % 2 == 0 ? 1000.0F : -1000.0F);
    case Law::near_ties: {
      std::vector<float> common(padded_dims(1));
      noise_row(Noise::normal, head_address(problem, Stream::common, sample, head), common);
      return lse(0.05F, 4 * common.front());
    }
  }
  return lse(1, 6);
}

}  // namespace

AffineRow::AffineRow(Noise noise_kind, std::int64_t dims, float all_gain, float all_offset)
    : noise(noise_kind), gain(padded_dims(dims), all_gain), offset(padded_dims(dims), all_offset) {}

void generate_row(const AffineRow& law, const RowAddress& address, float scale,
                  std::span<float> values, std::span<const float> per_position) {
  assert(law.gain.size() == values.size() && law.offset.size() == values.size());
  noise_row(law.noise, address, values);
  // Adding 0 turns the -0 of a zero scale into +0 and changes nothing else.
  const auto position = static_cast<float>(address.position);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float offset =
        per_position.empty() ? law.offset[i] : std::fma(per_position[i], position, law.offset[i]);
    values[i] = std::fma(law.gain[i], values[i], offset) * scale + 0.0F;
  }
}

HeadLaw head_law(const Problem& problem, std::int64_t sample, std::int64_t head_kv,
                 std::int64_t length_kv) {
  if (problem.is_merge()) return merge_law(problem, sample, head_kv, length_kv);
  const std::int64_t dims = problem.head_dim_qk;
  const auto qk = [&](Noise noise, float q_gain, float k_gain) {
    return HeadLaw{{noise, dims, q_gain},
                   {noise, dims, k_gain},
                   value_law(problem, sample, head_kv),
                   {},
                   {},
                   problem.v_law == VLaw::tiny_output};
  };
  HeadLaw law = qk(Noise::normal, 1, 1);
  switch (problem.law) {
    case Law::normal:
      break;
    case Law::uniform:
      return qk(Noise::uniform, 1, 1);
    case Law::peaky:
      return qk(Noise::normal, 16, 1);
    case Law::near_uniform:
      return qk(Noise::normal, 0.02F, 0.02F);
    case Law::llm:
      set_llm(problem, head_kv, law);
      break;
    case Law::sink:
      set_sink(problem, length_kv, law);
      break;
    case Law::needle:
      set_needle(problem, sample, head_kv, length_kv, law);
      break;
    case Law::exact:
      law = qk(Noise::powers, 1, 1);
      set_exact(problem, sample, head_kv, law);
      break;
    case Law::negative_logits:
      set_negative_logits(problem, law);
      break;
    case Law::ramp:
      set_ramp(problem, length_kv, law);
      break;
    case Law::extreme:
      set_extreme(problem, law);
      break;
    case Law::near_ties:
      set_near_ties(problem, sample, head_kv, law);
      break;
  }
  return law;
}

}  // namespace plumbline
