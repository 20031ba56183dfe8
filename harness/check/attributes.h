// The attributes of a dump, read from metadata or options and checked one by one.
#pragma once

#include <optional>
#include <string>

#include "harness/check/dump.h"

namespace plumbline {

struct StatedAttributes {
  std::optional<Layout> layout;
  std::optional<Mask> mask;
  bool causal = false;                               // causal, without a corner
  double softcap = 0;                                // 0 = none
  std::int64_t window_left = -1, window_right = -1;  // -1 = unlimited
  double scale = 0;                                  // 0 = 1/sqrt(head_dim_qk)
  std::optional<int> lse_base;                       // 0 = e, 2
  std::optional<bool> lse_heads_first;               // [batch, heads, seq] or [heads, total]
  std::optional<Padding> padding;
  std::optional<std::int64_t> page_size, scale_block;
  std::optional<DType> dtype;  // dtype of q, k and v before they were saved in a wider one
  std::string spec, padded_rows;
};

// Adds an error for each value that is not allowed and for names that nearly match an attribute.
// Other names are ignored.
StatedAttributes read_attributes(const std::string& dump, const Attributes& attributes,
                                 Errors& errors);

}  // namespace plumbline
