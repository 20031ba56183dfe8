// Makes alternative problems one after another. Private to harness/diagnose.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/diagnose/alternative_problems.h"
#include "harness/diagnose/alternative_search.h"

namespace plumbline {

// The alternatives of one failing output, which several lists make one after another.
class AlternativeVisits {
 public:
  AlternativeVisits(const FailingOutput& of, const VisitAlternative& visitor)
      : failing(of), layout(layout_of(*of.geometry, of.keys_stated)), visitor_(visitor) {}

  // Returns true if no further alternative may be visited. Making one may take long, so each
  // function that makes one tests this first.
  bool is_over() {
    is_over_ = is_over_ || failing.late();
    return is_over_;
  }
  void visit(AlternativeProblem other) { is_over_ = is_over() || !visitor_(std::move(other)); }

  const FailingOutput& failing;
  const StatedLayout layout;

 private:
  const VisitAlternative& visitor_;
  bool is_over_ = false;
};

class AlternativeList {
 protected:
  explicit AlternativeList(AlternativeVisits& visits)
      : visits_(visits),
        failing_(visits.failing),
        geometry_(*failing_.geometry),
        problem_(geometry_.problem()),
        layout_(visits.layout),
        lse_base_(failing_.outputs.lse_base) {}

  bool is_over() { return visits_.is_over(); }
  void visit(AlternativeProblem other) { visits_.visit(std::move(other)); }

  void add(std::string sentence, const Problem& problem) {
    if (!is_over()) visit({std::move(sentence), problem, layout_, lse_base_});
  }

  // Adds an alternative in which each row sees the keys that `keys` returns for its stated range.
  template <class Keys>
  void add_ranges(std::string sentence, const Keys& keys) {
    if (is_over()) return;
    StatedLayout layout = layout_;
    layout.visible.clear();
    bool differs = false;
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        const KeyRange stated = geometry_.visible_keys(sample, row);
        KeyRange range = keys(sample, row, stated);
        range.begin = std::max<std::int64_t>(range.begin, 0);
        range.end = std::min(range.end, geometry_.length_kv(sample));
        if (range.size() == 0) range = {0, 0};
        differs = differs || !(range == stated);
        layout.visible.push_back(range);
      }
    }
    if (differs) visit({std::move(sentence), problem_, std::move(layout), lse_base_});
  }

  // Returns the bits of a mask, [heads, batch, seq_q, words]. of_row(head, sample, row) returns a
  // predicate of the keys that the row sees.
  template <class OfRow>
  std::vector<std::uint32_t> mask_bits(std::int64_t heads, const OfRow& of_row) const {
    constexpr std::int64_t bits = 32;
    const std::int64_t rows = problem_.seq_q, words = (problem_.seq_kv + bits - 1) / bits,
                       matrices = heads * problem_.batch;
    std::vector<std::uint32_t> mask(static_cast<std::size_t>(matrices * rows * words));
    for (std::int64_t at = 0; at < matrices * rows; ++at) {
      const std::int64_t matrix = at / rows;
      const auto sees = of_row(matrix / problem_.batch, matrix % problem_.batch, at % rows);
      for (std::int64_t key = 0; key < problem_.seq_kv; ++key) {
        if (sees(key))
          mask[static_cast<std::size_t>(at * words + key / bits)] |= std::uint32_t{1}
                                                                     << (key % bits);
      }
    }
    return mask;
  }

  std::int64_t diagonal(std::int64_t sample, std::int64_t row) const {
    return problem_.mask == Mask::causal_top_left
               ? row
               : row + geometry_.length_kv(sample) - geometry_.length_q(sample);
  }

  AlternativeVisits& visits_;
  const FailingOutput& failing_;
  const Geometry& geometry_;
  const Problem& problem_;
  const StatedLayout& layout_;
  const int lse_base_;
};

}  // namespace plumbline
