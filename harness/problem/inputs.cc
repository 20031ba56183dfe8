// Fills the storage of Q, K and V in any layout, in parallel, from input distributions or from a
// recorded file.
#include "harness/problem/inputs.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/problem/laws.h"
#include "harness/problem/recorded_inputs.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {
namespace {

// Positions that one task fills, for all heads, so that the law of a head is built once for them.
constexpr std::int64_t rows_per_task = 64;

// Not a multiple of any row length, so that two padding rows differ.
constexpr std::size_t fill_period = 4093;

constexpr float log2_e = 1.44269504F;

struct Tensor {
  Stream stream;
  const TensorShape& shape;
  std::byte* data;
  std::int64_t dims;
  float scale;

  std::byte* at(std::int64_t offset) const {
    return data + static_cast<std::size_t>(offset) * size_in_bytes(shape.dtype);
  }

  // Rounds the first `dims` of `values` to the dtype and stores them from element `offset` on.
  void store(std::span<const float> values, std::int64_t offset) const {
    encode(shape.dtype, values.first(static_cast<std::size_t>(dims)), at(offset));
  }
};

// Divides by the scale and saturates at the largest number of an fp8 dtype. Other dtypes are
// unchanged.
void quantise(std::span<float> values, float scale, DType dtype) {
  if (size_in_bytes(dtype) > 1) return;
  const auto largest = static_cast<float>(largest_finite(dtype));
  for (float& value : values) value = std::clamp(value / scale, -largest, largest);
}

float fp8_scale(const std::vector<float>& scales, std::size_t at) {
  return scales.empty() ? 1.0F : scales[at];
}

std::vector<float> fill_pattern(Fill fill, std::uint64_t seed, Stream tensor) {
  std::vector<float> pattern(padded_dims(fill_period), 0.0F);
  if (fill == Fill::nan) std::ranges::fill(pattern, std::numeric_limits<float>::quiet_NaN());
  if (fill == Fill::garbage) {
    noise_row(Noise::uniform, {seed, Stream::fill, 0, static_cast<std::int64_t>(tensor), 0},
              pattern);
    for (float& value : pattern) value = std::copysign(250.0F + 100.0F * std::fabs(value), value);
  }
  pattern.resize(fill_period);
  return pattern;
}

// Zeroes the storage. Pages of shared memory are given back, so that they take no memory.
void clear_sparsely(std::byte* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data) % page,
                    edge = std::min(beyond == 0 ? 0 : page - beyond, bytes),
                    pages = (bytes - edge) / page * page;
  std::memset(data, 0, edge);
  if (madvise(data + edge, pages, MADV_REMOVE) != 0) std::memset(data + edge, 0, pages);
  std::memset(data + edge + pages, 0, bytes - edge - pages);
}

// Fills the whole storage; valid rows are overwritten later.
void fill_storage(const Tensor& tensor, Fill fill, std::uint64_t seed) {
  const std::size_t total = tensor.shape.bytes();
  if (fill == Fill::zeros) return clear_sparsely(tensor.data, total);
  std::vector<std::byte> encoded(fill_period * size_in_bytes(tensor.shape.dtype));
  encode(tensor.shape.dtype, fill_pattern(fill, seed, tensor.stream), encoded.data());
  parallel_for((total + encoded.size() - 1) / encoded.size(), [&](std::size_t repeat) {
    const std::size_t begin = repeat * encoded.size();
    std::memcpy(tensor.data + begin, encoded.data(), std::min(encoded.size(), total - begin));
  });
}

// Calls body(sample, first row, past the last row) for pieces of all rows of all samples, in
// parallel. `length` returns a sample's number of rows.
void for_each_piece(const Geometry& geometry,
                    const std::function<std::int64_t(std::int64_t)>& length,
                    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& body) {
  parallel_for(geometry.problem().batch, [&](std::int64_t sample) {
    const std::int64_t rows = length(sample);
    parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t piece) {
      body(sample, piece * rows_per_task, std::min(rows, (piece + 1) * rows_per_task));
    });
  });
}

void fill_queries(const Geometry& geometry, const Tensor& q) {
  const Problem& problem = geometry.problem();
  const SideInputs& side = geometry.side;
  const auto length = [&](std::int64_t sample) { return geometry.length_q(sample); };
  for_each_piece(geometry, length, [&](std::int64_t sample, std::int64_t begin, std::int64_t end) {
    std::vector<float> values(padded_dims(q.dims));
    const std::int64_t first_position = geometry.length_kv(sample) - geometry.length_q(sample);
    for (std::int64_t head_kv = 0; head_kv < problem.heads_kv; ++head_kv) {
      const HeadLaw law = head_law(problem, sample, head_kv, geometry.length_kv(sample));
      for (std::int64_t head = head_kv * problem.group(); head < (head_kv + 1) * problem.group();
           ++head) {
        for (std::int64_t row = begin; row < end; ++row) {
          generate_row(law.q, {problem.seed, q.stream, sample, head, first_position + row}, q.scale,
                       values);
          quantise(values, fp8_scale(side.q_scale, q_scale_at(problem, sample, row, head)),
                   q.shape.dtype);
          q.store(values, geometry.q_offset(sample, row, head));
        }
      }
    }
  });
}

void fill_keys_and_values(const Geometry& geometry, const Tensor& k, const Tensor& v) {
  const Problem& problem = geometry.problem();
  const SideInputs& side = geometry.side;
  const auto length = [&](std::int64_t sample) { return geometry.length_kv(sample); };
  for_each_piece(geometry, length, [&](std::int64_t sample, std::int64_t begin, std::int64_t end) {
    std::vector<float> key_values(padded_dims(k.dims)), values(padded_dims(v.dims));
    for (std::int64_t head = 0; head < problem.heads_kv; ++head) {
      const HeadLaw law = head_law(problem, sample, head, geometry.length_kv(sample));
      AffineRow special(law.k.noise, k.dims, 0);
      if (law.special.period > 0) special.offset = law.special.vector;
      AffineRow odd_value = law.v;
      if (law.v_alternates)
        std::ranges::transform(odd_value.offset, odd_value.offset.begin(), std::negate<>());
      for (std::int64_t key = begin; key < end; ++key) {
        // A part without keys has an LSE of -infinity and keeps the fill as O.
        if (problem.is_merge() && !geometry.sees(sample, 0, key)) {
          const std::vector<float> none(key_values.size(), -std::numeric_limits<float>::infinity());
          k.store(none, geometry.k_offset(sample, key, head));
          continue;
        }
        const std::size_t at = kv_scale_at(problem, sample, key, head);
        generate_row(law.special.contains(key) ? special : law.k,
                     {problem.seed, k.stream, sample, head, key}, k.scale, key_values,
                     law.k_per_position);
        quantise(key_values, fp8_scale(side.k_scale, at), k.shape.dtype);
        k.store(key_values, geometry.k_offset(sample, key, head));
        if (problem.view == View::v_in_k) {
          v.store(key_values, geometry.v_offset(sample, key, head));
          continue;
        }
        generate_row(key % 2 != 0 ? odd_value : law.v, {problem.seed, v.stream, sample, head, key},
                     v.scale, values);
        quantise(values, fp8_scale(side.v_scale, at), v.shape.dtype);
        v.store(values, geometry.v_offset(sample, key, head));
      }
    }
  });
}

void copy_recorded(const Geometry& geometry, const RecordedValues& recorded, const Tensor& q,
                   const Tensor& k, const Tensor& v) {
  const auto queries = [&](std::int64_t sample) { return geometry.length_q(sample); };
  for_each_piece(geometry, queries, [&](std::int64_t sample, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t head = 0; head < geometry.problem().heads_q; ++head) {
        recorded.copy_row(recorded.q(), sample, head, row, q.shape.dtype,
                          q.at(geometry.q_offset(sample, row, head)));
      }
    }
  });
  const auto keys = [&](std::int64_t sample) { return geometry.length_kv(sample); };
  for_each_piece(geometry, keys, [&](std::int64_t sample, std::int64_t begin, std::int64_t end) {
    for (std::int64_t key = begin; key < end; ++key) {
      for (std::int64_t head = 0; head < geometry.problem().heads_kv; ++head) {
        recorded.copy_row(recorded.k(), sample, head, key, k.shape.dtype,
                          k.at(geometry.k_offset(sample, key, head)));
        recorded.copy_row(recorded.v(), sample, head, key, v.shape.dtype,
                          v.at(geometry.v_offset(sample, key, head)));
      }
    }
  });
}

}  // namespace

void fill_inputs(const Geometry& geometry, void* q, void* k, void* v) {
  const Problem& problem = geometry.problem();
  const Tensor query{Stream::q, geometry.q, static_cast<std::byte*>(q), problem.head_dim_qk, 1.0F};
  const Tensor key{
      Stream::k, geometry.k, static_cast<std::byte*>(k), problem.head_dim_qk,
      static_cast<float>(problem.k_scale) * (problem.merge == Merge::base_2 ? log2_e : 1.0F)};
  const Tensor value{Stream::v, geometry.v, static_cast<std::byte*>(v), problem.head_dim_vo,
                     static_cast<float>(problem.v_scale)};
  const auto fill_gaps = [&](const Tensor& tensor, std::int64_t rows, std::int64_t heads) {
    const bool has_holes = problem.is_merge() && geometry.has_hidden_keys();
    if (has_holes || tensor.shape.elements != rows * heads * tensor.dims)
      fill_storage(tensor, problem.fill, problem.seed);
  };
  fill_gaps(query, geometry.total_q(), problem.heads_q);
  fill_gaps(key, geometry.total_kv(), problem.heads_kv);
  fill_gaps(value, geometry.total_kv(), problem.heads_kv);
  if (!problem.inputs.empty()) {
    copy_recorded(geometry, RecordedValues(recorded_inputs_of(problem)), query, key, value);
    return;
  }
  fill_queries(geometry, query);
  fill_keys_and_values(geometry, key, value);
}

bool row_is_exact(const Problem& problem, std::int64_t visible) {
  const bool laws = problem.law == Law::exact && problem.v_law == VLaw::grid;
  const bool plain = !problem.has_hidden_keys() && problem.k_scale == 1 && problem.v_scale == 1 &&
                     !problem.is_merge() && problem.scale == 0 && problem.softcap == 0 &&
                     problem.alibi == Alibi::none && problem.sinks == Sinks::none &&
                     !problem.has_fp8_kv();
  const std::int64_t fewest = size_in_bytes(problem.out()) < 4 ? 1 : 2;
  return laws && plain && visible >= fewest && visible <= 4096 &&
         std::has_single_bit(static_cast<std::uint64_t>(visible));
}

std::string problem_digest(const Problem& problem) {
  std::string text = fmt::format("{}/inputs={}", problem_id(problem), inputs_version);
  if (!problem.inputs.empty()) text += "/" + recorded_inputs_of(problem)->digest;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace plumbline
