// The memory layout of a problem's tensors, and the keys that each row sees: lengths, index arrays,
// extents and strides.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/problem/problem.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {

// Returns the number of pages that hold `length` rows.
std::int64_t pages_for(std::int64_t length, std::int64_t page_size);

// Shape of one tensor; strides in elements. `elements` is the span from the first element to one
// past the last. `first` is the position of element 0 in a buffer shared with other tensors
// (Problem::view), otherwise 0.
struct TensorShape {
  DType dtype = DType::none;
  int rank = 0;  // 0 = absent
  std::array<std::int64_t, 4> extent{};
  std::array<std::int64_t, 4> stride{};
  std::int64_t elements = 0;
  std::int64_t first = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(elements) * size_in_bytes(dtype); }
};

// Adds room for `extra` more indices of a dimension: strides of the dimensions outside it in memory
// grow.
void widen(TensorShape& shape, std::size_t dimension, std::int64_t extra);

// Half-open range of keys, relative to the sample's first valid key.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end > begin ? end - begin : 0; }
  bool operator==(const KeyRange&) const = default;
};

// The bias that a dump adds to its logits, after scale and softcap. Problems of suites have none.
struct LogitBias {
  std::vector<float> values;
  // Strides of [batch, heads_q, seq_q]; 0 if all indices share the values. The values of a row are
  // contiguous. Row and key indices include padding in padded layouts.
  std::array<std::int64_t, 3> stride{};
  bool operator==(const LogitBias&) const = default;
};

// Values that the caller states, such as those of a dump. Otherwise a problem draws them.
struct StatedLayout {
  std::vector<std::int32_t> seqlens_q, seqlens_kv;  // [batch], at most seq_q and seq_kv
  // [batch, pages_per_sample], paged only; entries that a sample needs are in [0, page_count)
  std::vector<std::int32_t> page_table;
  std::int64_t pages_per_sample = 0, page_count = 0;
  // [total_q]: the keys that each valid row sees, sample by sample, the same for all heads; empty:
  // from the problem's mask and window
  std::vector<KeyRange> visible;
  std::optional<SideInputs> side = std::nullopt;  // none = drawn
  // under mask custom: like Geometry::mask_bits; empty = drawn
  std::vector<std::uint32_t> mask_bits = {};
  std::int64_t mask_heads = 1;  // like Geometry::mask_heads
  std::shared_ptr<const LogitBias> bias = nullptr;
};

// In a `strided` view, a gap of this many elements follows the vector of each row and head. Room
// for one more head follows the last head.
inline constexpr std::int64_t view_gap = 8;

// Rows and keys are addressed by (sample, row among the sample's valid rows, head). All offsets
// count elements from a tensor's element 0.
class Geometry {
 public:
  // Throws std::runtime_error if the problem's recorded inputs cannot be read.
  explicit Geometry(const Problem& problem);
  // Ignores the problem's `lengths`. The seed decides only values that are not stated. The caller
  // must have checked that the layout fits.
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

  // Offset of element 0 of the row's vector, whose elements are contiguous. `row` counts valid rows
  // from 0.
  std::int64_t q_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t out_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t lse_offset(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  std::int64_t k_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const;
  std::int64_t v_offset(std::int64_t sample, std::int64_t key, std::int64_t head_kv) const;
  // For padded layouts. `padded_row` counts all rows, valid or not, from 0 to seq_q - 1.
  std::int64_t padded_out_offset(std::int64_t sample, std::int64_t padded_row,
                                 std::int64_t head) const;
  bool padded_row_is_valid(std::int64_t sample, std::int64_t padded_row) const;

  // Returns the keys that query `row` of `sample` sees, by mask and window over the sample's own
  // lengths, without padding. {0, 0} if there are none. With hidden keys: from the first visible
  // key to the last; keys in between may be hidden. The query head matters only if mask_heads is
  // not 1.
  KeyRange visible_keys(std::int64_t sample, std::int64_t row, std::int64_t head = 0) const;
  // Returns the number of visible keys.
  std::int64_t visible_count(std::int64_t sample, std::int64_t row, std::int64_t head = 0) const;
  bool sees(std::int64_t sample, std::int64_t row, std::int64_t key, std::int64_t head = 0) const;
  // Returns the biases of the row's valid keys, from key 0 on; nullptr without a bias.
  const float* bias_of(std::int64_t sample, std::int64_t row, std::int64_t head) const;
  bool has_hidden_keys() const { return problem_.has_hidden_keys(); }

  SideInputs side;  // side_inputs() of the problem, or stated ones
  TensorShape q, k, v, out;
  TensorShape lse;                                        // rank 0 unless the problem wants it
  TensorShape row_shape;                                  // shape of any row output (outputs.h)
  std::vector<std::int32_t> cu_seqlens_q, cu_seqlens_kv;  // batch + 1
  std::vector<std::int32_t> seqlens_q, seqlens_kv;        // batch
  // [batch, pages_per_sample], -1 = unused; empty unless paged
  std::vector<std::int32_t> page_table;
  std::int64_t pages_per_sample = 0;
  // [mask_heads, batch, seq_q, mask_words] if problem().has_mask_bits(), otherwise empty. Bit j %
  // 32 of word j / 32 is set if valid row i sees valid key j.
  std::vector<std::uint32_t> mask_bits;
  std::int64_t mask_words = 0;
  std::int64_t mask_heads = 1;            // heads_q if a dump's query heads have their own masks
  std::shared_ptr<const LogitBias> bias;  // from a dump, or nullptr

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
  // [total_q] of a stated layout, or [mask_heads, total_q] of mask bits
  std::vector<KeyRange> visible_;
};

}  // namespace plumbline
