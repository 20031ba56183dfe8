// Computes lengths, strides, offsets, page tables and visible keys from a problem and its seed.
#include "harness/problem/geometry.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <span>

#include "harness/base/counter_hash.h"
#include "harness/problem/lengths.h"

namespace plumbline {
namespace {

// Pages of the pool that no sample uses, so that a wrong page number does not always read a
// neighbour's page.
constexpr std::int64_t spare_pages = 3;

std::vector<std::int32_t> prefix_sums(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> sums(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), sums.begin() + 1);
  return sums;
}

// Returns the shape of a tensor without gaps. `order` lists its dimensions in memory, outermost
// first.
TensorShape packed(DType dtype, std::initializer_list<std::int64_t> extent,
                   std::initializer_list<int> order) {
  TensorShape shape;
  shape.dtype = dtype;
  shape.rank = static_cast<int>(extent.size());
  std::ranges::copy(extent, shape.extent.begin());
  std::int64_t stride = 1;
  for (auto dimension = std::rbegin(order); dimension != std::rend(order); ++dimension) {
    shape.stride[static_cast<std::size_t>(*dimension)] = stride;
    stride *= shape.extent[static_cast<std::size_t>(*dimension)];
  }
  shape.elements = stride;
  return shape;
}

// Rank 4: [batch, seq, heads, dim], in memory (b, s, h, d) or (b, h, s, d).
TensorShape padded_shape(DType dtype, const Problem& problem, std::int64_t seq, std::int64_t heads,
                         std::int64_t dim) {
  if (problem.layout == Layout::padded_bhsd)
    return packed(dtype, {problem.batch, seq, heads, dim}, {0, 2, 1, 3});
  return packed(dtype, {problem.batch, seq, heads, dim}, {0, 1, 2, 3});
}

// Rank 4: [page, token, heads, dim], in memory (p, t, h, d) or (p, h, t, d).
TensorShape paged_shape(DType dtype, const Problem& problem, std::int64_t pages, std::int64_t dim) {
  if (problem.layout == Layout::paged_hnd)
    return packed(dtype, {pages, problem.page_size, problem.heads_kv, dim}, {0, 2, 1, 3});
  return packed(dtype, {pages, problem.page_size, problem.heads_kv, dim}, {0, 1, 2, 3});
}

std::vector<std::int32_t> shuffled_pages(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) {  // Fisher-Yates
    const auto bits = counter_hash(seed, static_cast<std::uint64_t>(HashPurpose::page_order),
                                   static_cast<std::uint64_t>(i));
    std::swap(pages[static_cast<std::size_t>(i)],
              pages[static_cast<std::size_t>(uniform_in(bits, 0, i))]);
  }
  return pages;
}

// Offset of [row, head, 0] in a rank 3 tensor and of [outer, row, head, 0] in a rank 4 one.
std::int64_t offset3(const TensorShape& shape, std::int64_t row, std::int64_t head) {
  return row * shape.stride[0] + head * shape.stride[1];
}
std::int64_t offset4(const TensorShape& shape, std::int64_t outer, std::int64_t row,
                     std::int64_t head) {
  return outer * shape.stride[0] + row * shape.stride[1] + head * shape.stride[2];
}

std::int64_t first_valid_row(const Problem& problem, std::int64_t seq, std::int64_t length) {
  return problem.padding == Padding::left ? seq - length : 0;
}

// Returns random bits for a sample. `index` distinguishes draws for one purpose.
std::uint64_t sample_bits(std::uint64_t seed, HashPurpose purpose, std::int64_t sample,
                          std::int64_t index = 0) {
  return counter_hash(seed, static_cast<std::uint64_t>(purpose),
                      static_cast<std::uint64_t>(sample << 32 | index));
}

std::int64_t prefix_length(std::uint64_t seed, std::int64_t sample, std::int64_t keys) {
  return keys == 0 ? 0 : uniform_in(sample_bits(seed, HashPurpose::prefix, sample), 1, keys);
}

KeyRange document_around(std::uint64_t seed, std::int64_t sample, std::int64_t keys,
                         std::int64_t position) {
  if (position < 0) return {};
  KeyRange document{0, keys};
  for (std::int64_t i = 0; i < 3 && keys > 0; ++i) {
    const std::int64_t end =
        uniform_in(sample_bits(seed, HashPurpose::documents, sample, i), 1, keys);
    if (end <= position) document.begin = std::max(document.begin, end);
    if (end > position) document.end = std::min(document.end, end);
  }
  return document;
}

// Draws the bits of mask custom for 32 keys of a row.
std::uint32_t drawn_word(std::uint64_t seed, std::int64_t sample, std::int64_t row,
                         std::int64_t word) {
  if (row % 16 == 15) return 0;
  const std::uint64_t row_seed = sample_bits(seed, HashPurpose::mask_bits, sample, row);
  const std::uint64_t first = splitmix64(row_seed ^ static_cast<std::uint64_t>(2 * word)),
                      second = splitmix64(row_seed ^ static_cast<std::uint64_t>(2 * word + 1));
  const auto a = static_cast<std::uint32_t>(first), b = static_cast<std::uint32_t>(first >> 32),
             c = static_cast<std::uint32_t>(second);
  return row % 2 == 0 ? a | b : a & b & c;
}

std::uint32_t bits_of_range(KeyRange keys, std::int64_t word) {
  const std::int64_t begin = std::clamp<std::int64_t>(keys.begin - 32 * word, 0, 32),
                     end = std::clamp<std::int64_t>(keys.end - 32 * word, 0, 32);
  return static_cast<std::uint32_t>((std::uint64_t{1} << end) - (std::uint64_t{1} << begin)) *
         static_cast<std::uint32_t>(end > begin);
}

// Returns the range from the first set bit to the last.
KeyRange hull(std::span<const std::uint32_t> words) {
  KeyRange keys;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    if (keys.size() == 0)
      keys.begin = static_cast<std::int64_t>(32 * i) + std::countr_zero(words[i]);
    keys.end = static_cast<std::int64_t>(32 * i + 32) - std::countl_zero(words[i]);
  }
  return keys;
}

// View::far. Both distances exceed 2^31 elements, at which 32-bit offsets wrap. A tensor that is
// spread in one dimension spans `far_span`. One that is spread in tokens and samples spans
// `far_distance` in each.
constexpr std::int64_t far_span = std::int64_t{3} << 30, far_distance = std::int64_t{9} << 28;
constexpr std::int64_t max_far_span = std::int64_t{5} << 30;
constexpr std::int64_t far_alignment = 256;

std::int64_t far_aligned(std::int64_t elements) {
  return (elements + far_alignment - 1) / far_alignment * far_alignment;
}

// Returns the stride that covers a distance in `steps` steps; 0 without steps.
std::int64_t far_stride(std::int64_t distance, std::int64_t steps) {
  return steps < 1 ? 0 : far_aligned((distance + steps - 1) / steps);
}

// Spreads the outermost indices: rows or pages.
void spread(TensorShape& shape, std::int64_t stride) {
  if (shape.elements == 0 || stride <= shape.stride[0]) return;
  shape.elements += (shape.extent[0] - 1) * (stride - shape.stride[0]);
  shape.stride[0] = stride;
}

// Spreads the rows of a ragged tensor, so that those of its longest sample are far apart.
void spread_rows(TensorShape& shape, const std::vector<std::int32_t>& lengths) {
  const std::int64_t steps = shape.extent[0] - 1;
  const std::int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  const std::int64_t within_sample =
      std::min(far_stride(far_distance, longest - 1), far_stride(max_far_span, steps));
  spread(shape, std::max(far_stride(far_span, steps), within_sample));
}

// Spreads the tokens and the samples of a padded tensor. The heads of a token lie together. The
// larger dimension has the stride `fine`. The stride of the smaller one is a multiple of `fine`
// plus a row, so that its indices' rows lie side by side and never overlap.
void spread_tokens_and_samples(TensorShape& shape) {
  if (shape.elements == 0) return;
  const auto [samples, tokens, heads, dim] = shape.extent;
  const std::int64_t few = std::min(samples, tokens), many = std::max(samples, tokens),
                     row = far_aligned(heads * dim);
  const std::int64_t fine =
      std::max(few * row, far_stride(few > 1 ? far_distance : far_span, many - 1));
  const std::int64_t coarse = (far_stride(far_distance, few - 1) + fine - 1) / fine * fine + row;
  shape.stride = {samples > tokens ? fine : coarse, samples > tokens ? coarse : fine, dim, 1};
  shape.elements = (samples - 1) * shape.stride[0] + (tokens - 1) * shape.stride[1] + heads * dim;
}

}  // namespace

std::int64_t pages_for(std::int64_t length, std::int64_t page_size) {
  return (length + page_size - 1) / page_size;
}

void widen(TensorShape& shape, std::size_t dimension, std::int64_t extra) {
  const std::int64_t inner = shape.stride[dimension], block = inner * shape.extent[dimension],
                     wider = block + inner * extra;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank); ++i) {
    if (i != dimension && shape.stride[i] >= block)
      shape.stride[i] = shape.stride[i] / block * wider;
    if (shape.extent[i] == 0) return;  // the tensor is empty
    last += (shape.extent[i] - 1) * shape.stride[i];
  }
  shape.elements = last + 1;
}

Geometry::Geometry(const Problem& problem) : side(side_inputs(problem)), problem_(problem) {
  // before the assert, so that a missing file of recorded inputs throws
  SampleLengths lengths = draw_lengths(problem);
  assert(validate(problem).empty());
  seqlens_q = std::move(lengths.q);
  seqlens_kv = std::move(lengths.kv);
  if (problem.is_paged()) lay_out_pages();
  lay_out_tensors();
  if (problem.has_mask_bits()) draw_mask_bits();
}

Geometry::Geometry(const Problem& problem, StatedLayout stated)
    : side(stated.side ? *std::move(stated.side) : side_inputs(problem)),
      seqlens_q(std::move(stated.seqlens_q)),
      seqlens_kv(std::move(stated.seqlens_kv)),
      page_table(std::move(stated.page_table)),
      pages_per_sample(stated.pages_per_sample),
      problem_(problem),
      page_count_(stated.page_count),
      visible_(std::move(stated.visible)) {
  // Another problem over the same tensors may have no slopes or sinks.
  if (problem.alibi == Alibi::none) side.alibi_slopes.clear();
  if (problem.sinks == Sinks::none) side.sinks.clear();
  mask_bits = std::move(stated.mask_bits);
  mask_heads = stated.mask_heads;
  bias = std::move(stated.bias);
  lay_out_tensors();
  if (visible_.empty() && problem.has_mask_bits()) draw_mask_bits();
  assert(visible_.empty() || visible_.size() == static_cast<std::size_t>(mask_heads * total_q()));
}

void Geometry::lay_out_tensors() {
  const Problem& problem = problem_;
  cu_seqlens_q = prefix_sums(seqlens_q);
  cu_seqlens_kv = prefix_sums(seqlens_kv);
  const DType kv = problem.kv(), of_q = problem.is_merge() ? DType::f32 : problem.dtype,
              of_k = problem.is_merge() ? DType::f32 : kv;
  if (problem.is_padded()) {
    q = padded_shape(of_q, problem, problem.seq_q, problem.heads_q, problem.head_dim_qk);
    out = padded_shape(problem.out(), problem, problem.seq_q, problem.heads_q, problem.head_dim_vo);
    k = padded_shape(of_k, problem, problem.seq_kv, problem.heads_kv, problem.head_dim_qk);
    v = padded_shape(kv, problem, problem.seq_kv, problem.heads_kv, problem.head_dim_vo);
    row_shape = packed(DType::f32, {problem.batch, problem.seq_q, problem.heads_q}, {0, 1, 2});
  } else {
    q = packed(of_q, {total_q(), problem.heads_q, problem.head_dim_qk}, {0, 1, 2});
    out = packed(problem.out(), {total_q(), problem.heads_q, problem.head_dim_vo}, {0, 1, 2});
    k = packed(of_k, {total_kv(), problem.heads_kv, problem.head_dim_qk}, {0, 1, 2});
    v = packed(kv, {total_kv(), problem.heads_kv, problem.head_dim_vo}, {0, 1, 2});
    row_shape = packed(DType::f32, {total_q(), problem.heads_q}, {0, 1});
  }
  if (problem.is_paged()) {
    k = paged_shape(kv, problem, page_count_, problem.head_dim_qk);
    v = paged_shape(kv, problem, page_count_, problem.head_dim_vo);
  }
  lse = row_shape;
  if (!problem.lse) lse.rank = 0, lse.elements = 0;
  lay_out_view();
}

void Geometry::lay_out_view() {
  const std::int64_t heads_q = problem_.heads_q, heads_kv = problem_.heads_kv,
                     dim = problem_.head_dim_qk;
  const auto head_dimension = [](const TensorShape& shape) {
    return static_cast<std::size_t>(shape.rank) - 2;
  };
  switch (problem_.view) {
    case View::plain:
      return;
    case View::strided:
      for (TensorShape* shape : {&q, &k, &v}) {
        widen(*shape, static_cast<std::size_t>(shape->rank) - 1, view_gap);
        widen(*shape, head_dimension(*shape), 1);
      }
      return;
    case View::packed_qkv:
      widen(q, head_dimension(q), 2 * heads_kv);
      for (TensorShape* shape : {&k, &v}) widen(*shape, head_dimension(*shape), heads_q + heads_kv);
      k.first = heads_q * dim;
      v.first = (heads_q + heads_kv) * dim;
      return;
    case View::packed_kv:
      for (TensorShape* shape : {&k, &v}) widen(*shape, head_dimension(*shape), heads_kv);
      v.first = heads_kv * dim;
      return;
    case View::far:
      if (problem_.is_padded()) {
        for (TensorShape* shape : {&q, &k, &v}) spread_tokens_and_samples(*shape);
        return;
      }
      spread_rows(q, seqlens_q);
      for (TensorShape* shape : {&k, &v}) {
        if (problem_.is_paged())
          spread(*shape, far_stride(far_span, shape->extent[0] - 1));
        else
          spread_rows(*shape, seqlens_kv);
      }
      return;
    case View::v_in_k:
      v.stride = k.stride;
      v.elements = std::max<std::int64_t>(0, k.elements - (dim - problem_.head_dim_vo));
      return;
  }
}

void Geometry::draw_mask_bits() {
  mask_words = (problem_.seq_kv + 31) / 32;
  const bool stated = !mask_bits.empty();
  mask_bits.resize(
      static_cast<std::size_t>(mask_heads * problem_.batch * problem_.seq_q * mask_words), 0);
  std::vector<KeyRange> visible;
  visible.reserve(static_cast<std::size_t>(mask_heads * total_q()));
  for (std::int64_t i = 0; i < mask_heads * problem_.batch; ++i) {
    const std::int64_t head = i / problem_.batch, sample = i % problem_.batch;
    const KeyRange all{0, length_kv(sample)};
    for (std::int64_t row = 0; row < length_q(sample); ++row) {
      const auto words = std::span(mask_bits).subspan(
          static_cast<std::size_t>(mask_row(sample, row, head) * mask_words),
          static_cast<std::size_t>(mask_words));
      // The tokens of a merge are samples of one row.
      const std::int64_t drawn = problem_.is_merge() ? sample : row;
      for (std::int64_t word = 0; word < mask_words && !stated; ++word) {
        words[static_cast<std::size_t>(word)] =
            has_hidden_keys()
                ? drawn_word(problem_.seed, sample, drawn, word) & bits_of_range(all, word)
                : bits_of_range(drawn_range(sample, row), word);
      }
      visible.push_back(hull(words));
    }
  }
  visible_ = std::move(visible);
}

void Geometry::lay_out_pages() {
  std::int64_t used = 0;
  pages_per_sample = 1;  // at least one column even if no sample has keys
  for (const std::int32_t length : seqlens_kv) {
    const std::int64_t pages = pages_for(length, problem_.page_size);
    used += pages;
    pages_per_sample = std::max(pages_per_sample, pages);
  }
  page_count_ = used + spare_pages;
  const std::vector<std::int32_t> order = shuffled_pages(page_count_, problem_.seed);

  page_table.assign(static_cast<std::size_t>(problem_.batch * pages_per_sample), -1);
  auto next = order.begin();
  for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
    const std::int64_t pages = pages_for(length_kv(sample), problem_.page_size);
    std::copy_n(next, pages, page_table.begin() + sample * pages_per_sample);
    next += pages;
  }
}

std::int64_t Geometry::query_offset(const TensorShape& shape, std::int64_t sample, std::int64_t row,
                                    std::int64_t head) const {
  if (!problem_.is_padded())
    return offset3(shape, cu_seqlens_q[static_cast<std::size_t>(sample)] + row, head);
  return offset4(shape, sample, first_valid_row(problem_, problem_.seq_q, length_q(sample)) + row,
                 head);
}

std::int64_t Geometry::key_offset(const TensorShape& shape, std::int64_t sample, std::int64_t key,
                                  std::int64_t head_kv) const {
  if (problem_.is_paged()) {
    const std::int64_t column = key / problem_.page_size;
    const std::int64_t page =
        page_table[static_cast<std::size_t>(sample * pages_per_sample + column)];
    return offset4(shape, page, key % problem_.page_size, head_kv);
  }
  if (!problem_.is_padded())
    return offset3(shape, cu_seqlens_kv[static_cast<std::size_t>(sample)] + key, head_kv);
  return offset4(shape, sample, first_valid_row(problem_, problem_.seq_kv, length_kv(sample)) + key,
                 head_kv);
}

std::int64_t Geometry::q_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  return query_offset(q, sample, row, head);
}
std::int64_t Geometry::out_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  return query_offset(out, sample, row, head);
}
std::int64_t Geometry::lse_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  return query_offset(lse, sample, row, head);
}
std::int64_t Geometry::k_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const {
  return key_offset(k, sample, key, head_kv);
}
std::int64_t Geometry::v_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const {
  return key_offset(v, sample, key, head_kv);
}

std::int64_t Geometry::padded_out_offset(std::int64_t sample, std::int64_t padded_row,
                                         std::int64_t head) const {
  assert(problem_.is_padded());
  return offset4(out, sample, padded_row, head);
}

bool Geometry::padded_row_is_valid(std::int64_t sample, std::int64_t padded_row) const {
  assert(problem_.is_padded());
  const std::int64_t first = first_valid_row(problem_, problem_.seq_q, length_q(sample));
  return padded_row >= first && padded_row < first + length_q(sample);
}

std::int64_t Geometry::mask_row(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  return ((mask_heads == 1 ? 0 : head) * problem_.batch + sample) * problem_.seq_q + row;
}

KeyRange Geometry::visible_keys(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  if (visible_.empty()) return drawn_range(sample, row);
  const std::int64_t of_head = mask_heads == 1 ? 0 : head * total_q();
  return visible_[static_cast<std::size_t>(of_head +
                                           cu_seqlens_q[static_cast<std::size_t>(sample)] + row)];
}

bool Geometry::sees(std::int64_t sample, std::int64_t row, std::int64_t key,
                    std::int64_t head) const {
  if (has_hidden_keys()) {
    const std::int64_t word = mask_row(sample, row, head) * mask_words + key / 32;
    return (mask_bits[static_cast<std::size_t>(word)] >> (key % 32) & 1U) != 0;
  }
  const KeyRange keys = visible_keys(sample, row, head);
  return key >= keys.begin && key < keys.end;
}

const float* Geometry::bias_of(std::int64_t sample, std::int64_t row, std::int64_t head) const {
  if (bias == nullptr) return nullptr;
  const bool padded = problem_.is_padded();
  if (padded) row += first_valid_row(problem_, problem_.seq_q, length_q(sample));
  const std::int64_t key =
      padded ? first_valid_row(problem_, problem_.seq_kv, length_kv(sample)) : 0;
  const auto& stride = bias->stride;
  return bias->values.data() + sample * stride[0] + head * stride[1] + row * stride[2] + key;
}

std::int64_t Geometry::visible_count(std::int64_t sample, std::int64_t row,
                                     std::int64_t head) const {
  if (!has_hidden_keys()) return visible_keys(sample, row, head).size();
  const auto* words = mask_bits.data() + mask_row(sample, row, head) * mask_words;
  return std::accumulate(
      words, words + mask_words, std::int64_t{0},
      [](std::int64_t n, std::uint32_t word) { return n + std::popcount(word); });
}

// Not for mask custom, whose visible keys are not a range.
KeyRange Geometry::drawn_range(std::int64_t sample, std::int64_t row) const {
  const std::int64_t keys = length_kv(sample);
  const std::int64_t diagonal =
      problem_.mask == Mask::causal_top_left ? row : row + keys - length_q(sample);
  if (problem_.mask == Mask::prefix_lm)
    return {0, std::min(keys, std::max(prefix_length(problem_.seed, sample, keys), diagonal + 1))};
  if (problem_.mask == Mask::block_diagonal)
    return document_around(problem_.seed, sample, keys, diagonal);
  const std::int64_t right = problem_.mask == Mask::none ? problem_.window_right : 0;
  const std::int64_t begin =
      problem_.window_left < 0 ? 0 : std::max<std::int64_t>(0, diagonal - problem_.window_left);
  const std::int64_t end = right < 0 ? keys : std::min(keys, diagonal + right + 1);
  return end > begin ? KeyRange{begin, end} : KeyRange{};
}

}  // namespace plumbline
