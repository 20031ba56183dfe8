// Counts the rows of self-attention that see no key and whose own key no row sees.
#include "harness/check/possible_padding.h"

#include <vector>

#include "harness/reference/reference_context.h"

namespace plumbline {

std::int64_t count_possible_padding(const Geometry& geometry) {
  const Problem& problem = geometry.problem();
  if (!problem.is_padded() || problem.seq_q != problem.seq_kv) return 0;
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    if (geometry.length_q(b) != problem.seq_q || geometry.length_kv(b) != problem.seq_kv) return 0;
    KeyRange seen = no_keys;                 // seen by any row and head
    std::vector<std::int64_t> without_keys;  // one entry per row and head
    for (std::int64_t i = 0; i < problem.seq_q; ++i) {
      for (std::int64_t h = 0; h < problem.heads_q; ++h) {
        const KeyRange keys = geometry.visible_keys(b, i, h);
        if (keys.size() == 0) without_keys.push_back(i);
        if (keys.size() > 0) seen = joined(seen, keys);
      }
    }
    for (const std::int64_t row : without_keys) {
      if (row >= seen.begin && row < seen.end) return 0;
    }
    rows += static_cast<std::int64_t>(without_keys.size());
  }
  return rows;
}

}  // namespace plumbline
