// Where everything of a problem lies in memory, and which keys each row sees. Lengths, index
// arrays, extents and strides are here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// Pages that hold so many rows.
std::int64_t pages_for(std::int64_t length, std::int64_t page_size);

// Shape of one tensor; strides in elements. `elements` is the span from the first to one past the
// last element. `first` is where element 0 lies in the buffer that the tensor shares with others
// (Problem::view), else 0.
struct TensorShape {
  DType dtype = DType::none;
  int rank = 0;  // 0 = absent
  std::array<std::int64_t, 4> extent{};
  std::array<std::int64_t, 4> stride{};
  std::int64_t elements = 0;
  std::int64_t first = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(elements) * size_in_bytes(dtype); }
};

// Makes the tensor a view of one with room for `extra` more indices of a dimension. Dimensions that
// lie outside it in memory move apart.
void widen(TensorShape& shape, std::size_t dimension, std::int64_t extra);

// Half-open range of keys, relative to the sample's first valid key.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end > begin ? end - begin : 0; }
  bool operator==(const KeyRange&) const = default;
};

// What a dump adds to its logits, after scale and softcap. No problem of a suite has one.
struct LogitBias {
  std::vector<float> values;
  // Of [batch, heads_q, seq_q]; 0 where one row of values stands for all. The values of a row lie
  // side by side. By padded row and key in padded layouts, by valid ones in others.
  std::array<std::int64_t, 3> stride{};
  bool operator==(const LogitBias&) const = default;
};

// What a dump or a recorded input states where a problem draws it from its seed.
struct StatedLayout {
  std::vector<std::int32_t> seqlens_q, seqlens_kv;  // [batch], at most seq_q and seq_kv
  std::vector<std::int32_t>
      // [batch, pages_per_sample], only paged; entries a sample needs lie in [0, page_count)
      page_table;
  std::int64_t pages_per_sample = 0, page_count = 0;
  // [total_q]: the keys each valid row sees, sample by sample, the same for all heads; empty: by
  // the problem's mask and window
  std::vector<KeyRange> visible;
  std::optional<SideInputs> side = std::nullopt;  // none: drawn
  // under mask custom: as Geometry::mask_bits; empty: drawn
  std::vector<std::uint32_t> mask_bits = {};
  std::int64_t mask_heads = 1;  // as Geometry::mask_heads
  std::shared_ptr<const LogitBias> bias = nullptr;
};

// Row gap and so on: a view `strided` has this many elements behind each row of a head, and one
// head's room behind each row of all heads.
inline constexpr std::int64_t view_gap = 8;

// Rows and keys are addressed by (sample, row within the sample's valid rows, head). All offsets
// are in elements from a tensor's first (TensorShape::first).
class Geometry {
 public:
  // Throws std::runtime_error where the problem's recorded inputs cannot be read.
  explicit Geometry(const Problem& problem);
  // The problem's `lengths` and seed are ignored. The layout must fit the problem: the caller has
  // checked it.
  Geometry(const Problem& problem, StatedLayout stated);

  const Problem& problem() const { return problem_; }
  std::int64_t length_q(std::int64_t sample) const {
    return seqlens_q[static_cast<std::size_t>(sample)];
  }
  std::int64_t length_kv(std::int64_t sample) const {
    return seqlens_kv[static_cast<std::size_t>(sample)];
  }
  std::int64_t total_q() const { return cu_seqlens_q.back(); }
  std::int64_t total_kv() const { return cu_seqlens_kv.back(); }
  std::int64_t page_count() const { return page_count_; }

  // Offset of element 0 of the row's vector. `row` counts valid rows from 0. head dimension stride
  // is 1.
  std::int64_t q_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t out_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t lse_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t k_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const;
  std::int64_t v_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const;
  // Padded layouts: offsets by the padded row index in [0, seq_q), and whether that row is valid.
  std::int64_t padded_out_offset(std::int64_t sample, std::int64_t padded_row,
                                 std::int64_t head) const;
  bool padded_row_is_valid(std::int64_t sample, std::int64_t padded_row) const;

  // Keys that query `row` of `sample` sees: mask and window over the sample's own lengths (never
  // over its padding). {0, 0} if none. Under mask custom: from the first visible key to the last;
  // keys between them may be hidden. The query head matters where mask_heads is not 1.
  KeyRange visible_keys(std::int64_t sample, std::int64_t row, std::int64_t head = 0) const;
  // How many of them are visible.
  std::int64_t visible_count(std::int64_t sample, std::int64_t row, std::int64_t head = 0) const;
  bool sees(std::int64_t sample, std::int64_t row, std::int64_t key, std::int64_t head = 0) const;
  // What is added to the row's logit of valid key 0, and behind it to those of the next ones;
  // nullptr: there is no bias.
  const float* bias_of(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  bool has_hidden_keys() const { return problem_.mask == Mask::custom; }  // between visible ones

  SideInputs side;  // side_inputs() of the problem, or stated
  TensorShape q, k, v, out;
  TensorShape lse;                                        // of rank 0 where it is not asked for
  TensorShape row_shape;                                  // of any row output (outputs.h)
  std::vector<std::int32_t> cu_seqlens_q, cu_seqlens_kv;  // batch + 1
  std::vector<std::int32_t> seqlens_q, seqlens_kv;        // batch
  std::vector<std::int32_t>
      page_table;  // [batch, pages_per_sample], -1 = unused; empty unless paged
  std::int64_t pages_per_sample = 0;
  // [mask_heads, batch, seq_q, mask_words] where problem().has_mask_bits(), else empty: bit j % 32
  // of word j / 32 is set where valid row i sees valid key j.
  std::vector<std::uint32_t> mask_bits;
  std::int64_t mask_words = 0;
  std::int64_t mask_heads = 1;  // heads_q where a dump's query heads have masks of their own
  std::shared_ptr<const LogitBias> bias;  // of a dump, or nullptr

 private:
  void lay_out_tensors();
  void lay_out_view();
  void draw_mask_bits();
  std::int64_t mask_row(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  KeyRange drawn_range(std::int64_t sample, std::int64_t row) const;
  void lay_out_pages();
  std::int64_t query_offset(const TensorShape& shape, std::int64_t sample, std::int64_t row,
                            std::int64_t head) const;
  std::int64_t key_offset(const TensorShape& shape, std::int64_t sample, std::int64_t key,
                          std::int64_t head_kv) const;

  Problem problem_;
  std::int64_t page_count_ = 0;
  // [total_q] of a stated layout, [mask_heads, total_q] of mask bits
  std::vector<KeyRange> visible_;
};

}  // namespace plumbline
