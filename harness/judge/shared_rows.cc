// Finds the rows that cases share, and how strongly their errors are correlated.
#include "harness/judge/shared_rows.h"

#include <algorithm>
#include <cmath>

#include "harness/problem/recorded_inputs.h"

namespace plumbline {
namespace {

// Returns the problem with the defaults of all fields that affect neither the values of Q, K and V
// nor the arithmetic of a row.
Problem without_shape(const Problem& problem) {
  Problem values = problem;
  const Problem defaults;
  values.batch = defaults.batch;
  values.heads_q = values.heads_kv = defaults.heads_q;
  values.seq_q = values.seq_kv = defaults.seq_q;
  values.head_dim_vo = values.head_dim_qk;
  values.mask = defaults.mask;
  values.window_left = values.window_right = defaults.window_left;
  values.layout = defaults.layout;
  values.lengths = defaults.lengths;
  values.padding = defaults.padding;
  values.page_size = defaults.page_size;
  values.fill = defaults.fill;
  values.view = defaults.view;
  values.lse = defaults.lse;
  if (const auto digest = digest_of_recording(problem.inputs); !digest.empty())
    values.inputs = digest;  // whatever the name of the file
  return values;
}

}  // namespace

std::vector<std::pair<SharedRows::Row, SharedRows::Keys>> SharedRows::rows_of(
    const Problem& problem) {
  const std::string values = problem_id(without_shape(problem));
  std::vector<std::pair<Row, Keys>> rows;
  if (!problem.inputs.empty() && digest_of_recording(problem.inputs).empty()) {
    rows.push_back({{values, 0, 0, 0, 0}, {0, 1, 1}});
    return rows;
  }
  Problem plain = problem;  // lengths and masks do not depend on the layout
  plain.layout = Layout::padded_bshd;
  plain.view = View::plain;
  plain.inputs.clear();
  const Geometry geometry(plain);
  for (std::int64_t sample = 0; sample < plain.batch; ++sample) {
    for (std::int64_t head = 0; head < plain.heads_q; ++head) {
      for (std::int64_t i = 0; i < geometry.length_q(sample); ++i) {
        const KeyRange keys = geometry.visible_keys(sample, i, head);
        if (keys.size() == 0) continue;
        const std::int64_t position = i + geometry.length_kv(sample) - geometry.length_q(sample);
        rows.push_back({{values, sample, head, head / plain.group(), position},
                        {keys.begin, keys.end, geometry.visible_count(sample, i, head)}});
      }
    }
  }
  return rows;
}

void SharedRows::add(const Problem& problem) {
  ++cases_;
  auto rows = rows_of(problem);
  const double square = 1 / static_cast<double>(rows.size());
  for (auto& [row, keys] : rows) {
    Weight& weight = weights_[std::move(row)][keys];
    weight.sum += std::sqrt(square);
    weight.squares += square;
  }
}

double SharedRows::variance() const {
  double variance = cases_;
  for (const auto& [row, occurrences] : weights_) {
    for (const auto& [keys, weight] : occurrences) {
      variance += weight.sum * weight.sum - weight.squares;
      for (const auto& [other_keys, other_weight] : occurrences) {
        if (keys == other_keys) continue;
        const auto [begin, end, visible] = keys;
        const auto [other_begin, other_end, other_visible] = other_keys;
        // Hidden keys of a custom mask may lie within the common range.
        const std::int64_t common = std::min(
            {std::min(end, other_end) - std::max(begin, other_begin), visible, other_visible});
        if (common <= 0) continue;
        variance += weight.sum * other_weight.sum * static_cast<double>(common) /
                    std::sqrt(static_cast<double>(visible) * static_cast<double>(other_visible));
      }
    }
  }
  return variance;
}

}  // namespace plumbline
