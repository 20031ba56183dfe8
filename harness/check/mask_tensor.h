// Masks and biases stated as tensors: the keys that each query row sees, and what is added to its
// logits.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/tensor_set.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Accepted for a problem of batch b, h query heads and lengths sq and skv:
//   [b, skv]                  key padding: the valid keys of each sample
//   [sq, skv], [b, sq, skv], [h, sq, skv], [b, h, sq, skv]
//                             Extents of 1 are repeated. The first of three extents is batch or
//                             heads, whichever fits. The tensor is refused if both fit and the two
//                             readings differ.
// In padded layouts, rows and keys include padding. In other layouts they are the valid ones, and
// sq and skv are at least the longest sample's lengths.
//
// BOOL, U8, I8, I32 or I64: 1 = visible, 0 = hidden. F16, BF16, F32, F64: added to the logits: 0 =
// visible, -inf or at most -1e4 = hidden, other values are biases. The tensor's bytes must outlive
// this object.
class MaskTensor {
 public:
  bool key_padding = false;  // one row holds for all rows of a sample
  std::int64_t heads = 1;    // heads_q, or 1 if all heads share one mask
  std::int64_t rows = 0;     // rows of `visible`: seq_q, or 1 if key_padding
  // [heads, batch, rows], each from the first visible key to the last
  std::vector<KeyRange> visible;
  bool hides = false, has_holes = false;  // hides a key; hides one between visible keys
  std::shared_ptr<const LogitBias> bias;  // nullptr if every number means visible or hidden

  const KeyRange& range(std::int64_t head, std::int64_t sample, std::int64_t row) const;
  bool sees(std::int64_t head, std::int64_t sample, std::int64_t row, std::int64_t key) const;

 private:
  friend class MaskReader;
  std::size_t index(std::int64_t sample, std::int64_t head, std::int64_t row,
                    std::int64_t key) const;

  std::int64_t batch_ = 0;
  TensorData tensor_;
  std::array<std::int64_t, 4> extent_{};  // [batch, heads, seq_q, seq_kv], or 1
};

// Reads tensor `name`: mask, or attn_bias, which has floats. If it does not fit, adds an error and
// returns nullopt.
std::optional<MaskTensor> read_mask(const std::string& name, const TensorData& tensor,
                                    const Problem& problem, TensorSet& tensors);

// The number of valid keys of each sample that a mask of key padding implies for a problem that
// states no lengths. implied_lengths() returns nullopt if the mask implies none. A mask of queries
// and keys implies none, because each row that sees a key has a result, even if the key of the same
// index is hidden from all rows.
struct ImpliedLengths {
  std::vector<std::int32_t> lengths;  // [batch]
  Padding padding = Padding::right;
};
std::optional<ImpliedLengths> implied_lengths(const MaskTensor& mask, const Problem& problem);

// Adds the keys that each row sees by the mask type, the window and all of `masks` to `layout`,
// which must have its lengths. Stores one range a row if the heads agree and no row has holes.
// Otherwise it stores bits, and the problem's mask becomes custom. Returns a message if the bits
// would be too large.
std::optional<std::string> add_visible_keys(const std::vector<MaskTensor>& masks, Problem& problem,
                                            StatedLayout& layout);

}  // namespace plumbline
