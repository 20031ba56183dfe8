// Builds one transformed call: its samples, lengths and pages. Used only by variants.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/measure/variants.h"

namespace plumbline {

enum class PageOrder { shuffled, reversed };

// Returns the problem with other input values, for rows that match no row of the case. Recorded
// inputs are dropped, because they have no values for such rows.
Problem with_other_values(Problem problem);
// Returns the lengths, pages and side inputs of `geometry`. Side inputs are stated because a
// problem with another seed draws another scale of an fp8 output.
StatedLayout stated_as(const Geometry& geometry);
// Assigns pages of `problem` to the lengths in `stated`.
void lay_out_pages(const Problem& problem, PageOrder order, std::uint64_t seed,
                   StatedLayout& stated);

// The samples of a call, added one by one.
struct Samples {
  std::vector<SampleSource> sources;
  std::vector<std::int32_t> rows, keys;

  void add(const SampleSource& source, std::int64_t row_count, std::int64_t key_count) {
    sources.push_back(source);
    rows.push_back(static_cast<std::int32_t>(row_count));
    keys.push_back(static_cast<std::int32_t>(key_count));
  }
  void add_whole(const Geometry& base, std::int64_t sample) {
    add({sample, 0, false}, base.length_q(sample), base.length_kv(sample));
  }
  std::int64_t max_row_count() const {
    return std::max<std::int64_t>(1, *std::ranges::max_element(rows));
  }
  std::int64_t max_key_count() const {
    return std::max<std::int64_t>(1, *std::ranges::max_element(keys));
  }
};

// Builds a call with samples other than the case's. seq_q and seq_kv are minima; 0 = as small as
// the samples allow.
VariantCall make_sample_call(const Geometry& base, std::string words, const Samples& samples,
                             std::int64_t seq_q, std::int64_t seq_kv);
// Builds a call with all samples of the case, in order.
VariantCall make_full_call(const Geometry& base, std::string words, const Problem& problem,
                           StatedLayout stated);
VariantCall same_call(const Geometry& base, std::string words);

}  // namespace plumbline
