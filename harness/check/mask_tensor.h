// A mask stated as a tensor: which keys it leaves to each query row of a padded problem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/tensor_set.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Accepted, for a padded problem of batch b, lengths sq and skv:
//   [b, skv]           key padding: the valid keys of each sample, from one end
//   [sq, skv], [b, sq, skv], [b, heads, sq, skv]
//                      visible keys of each row; extents of 1 are repeated; all heads alike
// BOOL, U8, I8, I32 or I64: 1 = visible. F16, BF16, F32: added to the logits, 0 = visible, -inf or
// at most -1e4 = hidden. Each row's visible keys have to be one contiguous range.
struct MaskTensor {
  bool key_padding = false;  // the same range for all rows of a sample, and not more is known
  std::int64_t rows = 0;     // seq_q
  // [batch, seq_q] by padded row and key index; key_padding: [batch]
  std::vector<KeyRange> visible;
};

// nullopt with an error added where the tensor cannot be read so.
std::optional<MaskTensor> read_mask(const TensorData& tensor, const Problem& problem,
                                    TensorSet& tensors);

// The valid keys of each sample that a mask implies, for problems that state none: key padding, or
// rows and keys of the same index hidden at one end of a square mask. nullopt if it implies none.
struct ImpliedLengths {
  std::vector<std::int32_t> lengths;  // [batch]
  Padding padding = Padding::right;
};
std::optional<ImpliedLengths> implied_lengths(const MaskTensor& mask, const Problem& problem);

}  // namespace plumbline
