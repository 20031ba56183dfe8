// Masks and biases stated as tensors: which keys they leave to each query row, and what they add to
// its logits.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/tensor_set.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Accepted, for a problem of batch b, h query heads and lengths sq and skv:
//   [b, skv]                  key padding: the valid keys of each sample
//   [sq, skv], [b, sq, skv], [h, sq, skv], [b, h, sq, skv]
//                             extents of 1 are repeated; of three extents the first is batch or
//                             heads, whichever it fits, and refused where it fits both and the two
//                             readings differ
// by padded row and key in padded layouts, by valid ones in others, where sq and skv are those of
// the longest sample or more.
// BOOL, U8, I8, I32 or I64: 1 = visible, 0 = hidden. F16, BF16, F32, F64: added to the logits: 0 =
// visible, -inf or at most -1e4 = hidden, anything else a bias. Neither the tensor's bytes nor the
// problem's sizes may go away before this does.
class MaskTensor {
 public:
  bool key_padding = false;  // the same for all rows of a sample, and not more is known
  std::int64_t heads = 1;    // 1: the same for all; else heads_q
  std::int64_t rows = 0;     // of `visible`: seq_q, 1 where key_padding
  // [heads, batch, rows] from the first visible key to the last
  std::vector<KeyRange> visible;
  bool hides = false, has_holes = false;  // some key; some key between visible ones
  std::shared_ptr<const LogitBias> bias;  // nullptr: every number says visible or hidden

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

// Tensor `name`: mask, or attn_bias, which is of floats. nullopt with an error added where the
// tensor cannot be read so.
std::optional<MaskTensor> read_mask(const std::string& name, const TensorData& tensor,
                                    const Problem& problem, TensorSet& tensors);

// The valid keys of each sample that a mask of key padding implies, for problems that state none.
// nullopt if it implies none. A mask of queries and keys never does: a row of it that sees keys has
// an answer, whoever else sees its own key.
struct ImpliedLengths {
  std::vector<std::int32_t> lengths;  // [batch]
  Padding padding = Padding::right;
};
std::optional<ImpliedLengths> implied_lengths(const MaskTensor& mask, const Problem& problem);

// Adds to the layout of a problem with lengths which keys each row sees: those that mask and window
// leave and every one of these does. A range a row where the heads agree and no row has holes; else
// bits, and the problem's mask becomes custom. A message where that would be too large.
std::optional<std::string> add_visible_keys(const std::vector<MaskTensor>& masks, Problem& problem,
                                            StatedLayout& layout);

}  // namespace plumbline
