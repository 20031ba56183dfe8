// Derives the sizes of a problem from the shapes of q, k, v and out, layout by layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/tensor_set.h"
#include "harness/problem/problem.h"

namespace plumbline {

struct DumpShapes {
  Shape q, k, v;
  std::optional<Shape> out;
};

// The sizes in the shapes; 0 if a layout's shapes do not show them (batch and lengths of ragged and
// paged layouts).
struct DumpSizes {
  std::int64_t batch = 0, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim_qk = 0,
               head_dim_vo = 0;
  std::int64_t rows_q = 0, rows_kv = 0;        // ragged, paged: rows of q, of k
  std::int64_t page_size = 0, page_count = 0;  // paged
};

// Accepts padded shapes of rank 4, rank 3 without batch, or rank 2 without batch and heads; ragged
// rank 3, or rank 2 without heads; paged q of rank 3 ([rows, heads, dim]) or 4 ([batch, seq, heads,
// dim]), with k and v of rank 4. Adds a sentence to `misfits` for everything that does not fit.
DumpSizes read_sizes(Layout layout, const DumpShapes& shapes, std::vector<std::string>& misfits);

}  // namespace plumbline
