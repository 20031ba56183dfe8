// Computes O and LSE of all rows without their scales. The rows with a reference calibrate the
// rough scales: docs/judging-formulas.md, "Rows without a reference".
#include "harness/reference/rough_pass.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/maximum.h"
#include "harness/base/parallel.h"
#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"
#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

// The largest error and, for rows with a reference, the largest sigma, both in units of tau
// (docs/judging-formulas.md, "Rows without a reference").
struct Excess {
  double error = 0, widest = 0;
  std::int64_t column = 0;
  double got = 0, expected = 0;
};
struct OfRow {
  bool is_compared = false;
  Excess output, lse;
};

// Rows of one sample and key head, as indices into `all_`.
struct RoughHead {
  std::int64_t sample = 0, head_kv = 0;
  KeyRange keys = no_keys;
  std::vector<std::size_t> rows;
};

class Rough {
 public:
  Rough(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
        const Reference& reference, const RowReader& output, double cost_limit)
      : geometry_(geometry),
        reference_context_(geometry, inputs, spec),
        reference_(reference),
        output_(output),
        columns_(static_cast<std::size_t>(reference.columns)) {
    for (std::size_t i = 0; i < reference.selection.rows.size(); ++i)
      compared_.emplace(key_of(reference.selection.rows[i]), i);
    choose_rows(cost_limit);
  }

  RoughPass run() {
    of_rows_.resize(all_.size());
    parallel_for(static_cast<std::int64_t>(heads_.size()),
                 [&](std::int64_t i) { run_head(heads_[static_cast<std::size_t>(i)]); });
    double widest = 0, widest_lse = 0;
    for (const OfRow& row : of_rows_) {
      widest = std::max(widest, row.output.widest);
      widest_lse = std::max(widest_lse, row.lse.widest);
    }
    RoughPass pass;
    const auto take = [&](const RowId& id, const Excess& excess, double unit) {
      // Only rows with a reference give a scale. Without them, nothing may differ.
      const double error = unit > 0            ? excess.error / unit
                           : excess.error == 0 ? 0
                                               : std::numeric_limits<double>::infinity();
      if (!exceeds(error, pass.largest)) return;
      pass.largest = error;
      pass.row = id;
      pass.column = excess.column, pass.got = excess.got, pass.expected = excess.expected;
    };
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!of_rows_[i].is_compared || compared_.count(key_of(all_[i])) > 0) continue;
      ++pass.rows;
      take(all_[i], of_rows_[i].output, widest);
      take(all_[i], of_rows_[i].lse, widest_lse * output_.lse_unit);
    }
    return pass;
  }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  static Key key_of(const RowId& id) { return {id.sample, id.head, id.row}; }

  // Chooses all rows, or evenly spaced rows and the rows with a reference.
  void choose_rows(double cost_limit) {
    const Problem& problem = geometry_.problem();
    const auto dims = static_cast<double>(problem.head_dim_qk + problem.head_dim_vo);
    double cost = 0;
    for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row)
        cost += static_cast<double>(geometry_.visible_count(sample, row)) * dims;
    }
    cost *= static_cast<double>(problem.heads_q);
    const auto step = static_cast<std::int64_t>(std::max(1.0, std::ceil(cost / cost_limit)));
    std::map<std::pair<std::int64_t, std::int64_t>, RoughHead> heads;
    std::int64_t number = std::abs(reference_.selection.rotation) % step;
    for (std::int32_t sample = 0; sample < problem.batch; ++sample) {
      for (std::int32_t head = 0; head < problem.heads_q; ++head) {
        for (std::int32_t row = 0; row < geometry_.length_q(sample); ++row) {
          const RowId id{sample, head, row};
          if (number++ % step != 0 && compared_.count(key_of(id)) == 0) continue;
          if (geometry_.visible_count(sample, row, head) == 0) continue;
          RoughHead& of = heads[{sample, head / problem.group()}];
          of.sample = sample, of.head_kv = head / problem.group();
          of.keys = joined(of.keys, geometry_.visible_keys(sample, row, head));
          of.rows.push_back(all_.size());
          all_.push_back(id);
        }
      }
    }
    for (auto& [key, head] : heads) heads_.push_back(std::move(head));
  }

  void run_head(const RoughHead& of) {
    HeadData head = gather_head(reference_context_, of.sample, of.head_kv, of.keys, std::nullopt,
                                HeadForms::products);
    find_column_max(head);
    if (!head.finite) {  // Inf or NaN in V: gather each row by itself
      for (const std::size_t i : of.rows) {
        HeadData of_row = gather_for_row(reference_context_, all_[i], HeadForms::products);
        find_column_max(of_row);
        if (of_row.finite) compare_row_block(of_row, {&i, 1});
      }
      return;
    }
    // Keeps the matrix S about as small as in the reference's blocks.
    const std::size_t rows_together = std::clamp<std::size_t>(
        (std::size_t{1} << 19) / static_cast<std::size_t>(of.keys.size()), 16, 64);
    const auto blocks =
        static_cast<std::int64_t>((of.rows.size() + rows_together - 1) / rows_together);
    // A thread that waits here must not gather another head meanwhile.
    tbb::this_task_arena::isolate([&] {
      parallel_for(blocks, [&](std::int64_t b) {
        const std::size_t first = static_cast<std::size_t>(b) * rows_together,
                          count = std::min(rows_together, of.rows.size() - first);
        compare_row_block(head, std::span(of.rows).subspan(first, count));
      });
    });
  }

  void compare_row_block(const HeadData& head, std::span<const std::size_t> rows) {
    std::vector<RowId> ids;
    for (const std::size_t i : rows) ids.push_back(all_[i]);
    RowBlock block;
    block.compute(reference_context_, head, ids);
    for (std::size_t i = 0; i < rows.size(); ++i)
      of_rows_[rows[i]] = look_at(block, static_cast<std::int64_t>(i), ids[i]);
  }

  OfRow look_at(const RowBlock& block, std::int64_t r, const RowId& id) const {
    const Model& model = reference_context_.model;
    const HeadData& head = *block.head;
    double squares = 0;
    block.for_seen(r, [&](std::int64_t k) { squares += square(block.p_of(r)[k]); });
    const double of_p = std::max(model.u_p, u32) * std::sqrt(squares);
    std::vector<double> got(columns_);
    const double lse = output_.read(id, got);
    const auto compared = compared_.find(key_of(id));
    OfRow result;
    result.is_compared = true;
    for (std::size_t j = 0; j < columns_; ++j) {
      const double exact = block.o.data()[static_cast<std::size_t>(r) * columns_ + j],
                   o = saturated(exact, model.out),
                   tau = std::hypot(of_p * head.column_max[j] * head.v_unit,
                                    output_unit(o, model.out) / 4),
                   error = std::abs(got[j] - o) / tau;
      if (exceeds(error, result.output.error))
        result.output = {error, result.output.widest, static_cast<std::int64_t>(j), got[j], o};
      if (compared != compared_.end()) {
        const double sigma = reference_.sigma[compared->second * columns_ + j];
        result.output.widest = std::max(result.output.widest, sigma / tau);
      }
    }
    const double expected = block.lse[static_cast<std::size_t>(r)] + block.row_bias(model, r),
                 tau = std::sqrt(lse_floor(expected, block.count(r)));
    if (std::isfinite(expected) && output_.has_lse)
      result.lse = {std::abs(lse - expected) / tau, 0, -1, lse, expected};
    if (compared != compared_.end())
      result.lse.widest = reference_.lse_sigma[compared->second] / tau;
    return result;
  }

  const Geometry& geometry_;
  const ReferenceContext reference_context_;
  const Reference& reference_;
  const RowReader& output_;
  std::size_t columns_;
  std::map<Key, std::size_t> compared_;
  std::vector<RowId> all_;
  std::vector<RoughHead> heads_;
  std::vector<OfRow> of_rows_;
};

}  // namespace

RoughPass compare_unreferenced_rows(const Geometry& geometry, const InputView& inputs,
                                    const RoundingSpec& spec, const Reference& reference,
                                    const RowReader& output, double cost_limit) {
  use_one_blas_thread();
  return Rough(geometry, inputs, spec, reference, output, cost_limit).run();
}

}  // namespace plumbline
