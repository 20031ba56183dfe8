// Chooses the rows to compute within a cost limit, first those that tend to break kernels.
#include <algorithm>
#include <set>
#include <tuple>

#include "harness/base/counter_hash.h"
#include "harness/reference/reference.h"

namespace plumbline {
namespace {

// Rows of a sample that break kernels, in the order in which they are taken while cost remains.
enum class Interest { last, first, mask_boundary, last_page, tile_edge };

constexpr std::int64_t tile = 64;  // its multiples include all multiples of 128
constexpr std::uint64_t order_stream = 0x726F77206F726472u, random_stream = 0x726F772072616E64u,
                        rotation_stream = 0x726F772074757273u;
constexpr double share_of_fixed_rows = 0.75;

class Sampler {
 public:
  Sampler(const Geometry& geometry, double cost_limit, std::int64_t rotation)
      : geometry_(geometry),
        problem_(geometry.problem()),
        cost_limit_(cost_limit),
        rotation_(static_cast<std::uint64_t>(rotation)),
        cost_per_key_(static_cast<double>(problem_.head_dim_qk + problem_.head_dim_vo)) {}

  RowSelection run() {
    RowSelection selection;
    selection.rows_total = geometry_.total_q() * problem_.heads_q;
    selection.rotation = rotation_;
    selection.sampled = !(total_cost() <= cost_limit_);
    if (!selection.sampled) {
      selection.rows = all_rows();
      return selection;
    }
    const double whole_limit = cost_limit_;
    if (rotation_ != 0) cost_limit_ *= share_of_fixed_rows;
    take_interesting_rows();
    take_random_rows(selection.rows_total, problem_.seed);
    const std::set<Key> fixed = taken_;
    cost_limit_ = whole_limit;
    if (rotation_ != 0) {
      take_random_rows(selection.rows_total,
                       counter_hash(problem_.seed, rotation_stream, rotation_));
    }
    for (const Key& key : taken_) {
      const auto& [sample, head, row] = key;
      selection.rows.push_back({sample, head, row});
      if (taken_.size() > fixed.size()) selection.rotating.push_back(!fixed.contains(key));
    }
    return selection;
  }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

  double cost(std::int64_t sample, std::int64_t row, std::int64_t head) const {
    return static_cast<double>(geometry_.visible_count(sample, row, head)) * cost_per_key_;
  }

  double total_cost() const {
    double sum = 0;
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t head = 0; head < geometry_.mask_heads; ++head) {
        for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row)
          sum += cost(sample, row, head);
      }
    }
    return sum * static_cast<double>(problem_.heads_q / geometry_.mask_heads);
  }

  std::vector<RowId> all_rows() const {
    std::vector<RowId> rows;
    for (std::int32_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int32_t head = 0; head < problem_.heads_q; ++head) {
        for (std::int32_t row = 0; row < geometry_.length_q(sample); ++row)
          rows.push_back({sample, head, row});
      }
    }
    return rows;
  }

  // Returns rows of one sample with their class. A row may be in several classes.
  std::vector<std::pair<Interest, std::int32_t>> interesting_rows(std::int64_t sample) const {
    const std::int64_t length = geometry_.length_q(sample), keys = geometry_.length_kv(sample);
    std::vector<std::pair<Interest, std::int32_t>> rows;
    const auto add = [&](Interest interest, std::int64_t row) {
      if (row >= 0 && row < length) rows.emplace_back(interest, static_cast<std::int32_t>(row));
    };
    add(Interest::last, length - 1);
    add(Interest::first, 0);
    std::int64_t first_with_key = length, first_with_most = length, most = 0;
    for (std::int64_t row = length - 1; row >= 0; --row) {
      const std::int64_t seen = geometry_.visible_count(sample, row);
      if (seen > 0) first_with_key = row;
      if (seen > 0 && seen >= most) first_with_most = row, most = seen;
    }
    add(Interest::mask_boundary, first_with_key);
    add(Interest::mask_boundary, first_with_most);
    if (problem_.is_paged() && keys > 0) {
      const std::int64_t last_page = (keys - 1) / problem_.page_size * problem_.page_size;
      for (std::int64_t row = std::max<std::int64_t>(0, length - (keys - last_page)); row < length;
           ++row)
        add(Interest::last_page, row);
    }
    for (std::int64_t edge = tile; edge < length; edge += tile)
      add(Interest::tile_edge, edge - 1), add(Interest::tile_edge, edge);
    return rows;
  }

  // Takes rows class by class over all samples and heads, in random order within a class, so that
  // no sample or head is favoured when the limit is reached. The last row of every (sample, head)
  // is always taken.
  void take_interesting_rows() {
    struct Candidate {
      Interest interest;
      std::uint64_t order;
      Key key;
    };
    std::vector<Candidate> candidates;
    for (std::int32_t sample = 0; sample < problem_.batch; ++sample) {
      const auto rows = interesting_rows(sample);
      for (std::int32_t head = 0; head < problem_.heads_q; ++head) {
        for (const auto& [interest, row] : rows) {
          candidates.push_back({interest,
                                counter_hash(problem_.seed, order_stream, candidates.size()),
                                {sample, head, row}});
        }
      }
    }
    std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
      return std::tie(a.interest, a.order, a.key) < std::tie(b.interest, b.order, b.key);
    });
    for (const Candidate& candidate : candidates)
      take(candidate.key, candidate.interest == Interest::last);
  }

  void take_random_rows(std::int64_t rows_total, std::uint64_t seed) {
    // Draws samples in proportion to their rows. A draw that is already taken or does not fit is
    // lost, and more draws than rows would add little.
    for (std::int64_t draw = 0; draw < rows_total && cost_ < cost_limit_; ++draw) {
      const auto bits = [&](std::uint64_t part) {
        return counter_hash(seed, random_stream + part, static_cast<std::uint64_t>(draw));
      };
      const std::int64_t at = uniform_in(bits(0), 0, geometry_.total_q() - 1);
      const auto next = std::ranges::upper_bound(geometry_.cu_seqlens_q, at);
      const auto sample = static_cast<std::int32_t>(next - geometry_.cu_seqlens_q.begin() - 1);
      const auto row =
          static_cast<std::int32_t>(at - geometry_.cu_seqlens_q[static_cast<std::size_t>(sample)]);
      take({sample, static_cast<std::int32_t>(uniform_in(bits(1), 0, problem_.heads_q - 1)), row},
           false);
    }
  }

  void take(const Key& key, bool always) {
    const double of_row = cost(std::get<0>(key), std::get<2>(key), std::get<1>(key));
    if (!always && cost_ + of_row > cost_limit_) return;
    if (taken_.insert(key).second) cost_ += of_row;
  }

  const Geometry& geometry_;
  const Problem& problem_;
  double cost_limit_;
  const std::uint64_t rotation_;
  const double cost_per_key_;
  double cost_ = 0;
  std::set<Key> taken_;
};

}  // namespace

RowSelection select_rows(const Geometry& geometry, double cost_limit, std::int64_t rotation) {
  return Sampler(geometry, cost_limit, rotation).run();
}

}  // namespace plumbline
