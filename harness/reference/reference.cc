// Cuts the rows into blocks of one key head, computes them in parallel and collects the results.
#include "harness/reference/reference.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "harness/base/floating_point_state.h"
#include "harness/base/parallel.h"
#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"
#include "harness/reference/reference_library.h"

namespace plumbline {
namespace {

// Rows of a block: enough to make the products efficient, few enough to keep its matrices over keys
// in the cache.
constexpr std::int64_t max_block_rows = 128, min_block_rows = 16, max_block_elements = 1 << 19;

// Threads share work of at least this many multiply-adds, which take as long as waking a thread.
constexpr double min_shared_cost = 1e6;

// Rows (indices into the selection) of one (sample, key head), cut into blocks.
struct HeadPlan {
  std::int64_t sample = 0, head_kv = 0;
  KeyRange keys = no_keys;  // union of visible key ranges
  std::vector<std::size_t> rows;
  std::vector<std::pair<std::size_t, std::size_t>> blocks;  // half-open ranges of `rows`
};

// A row output and the variance of its legal error.
struct RowValue {
  double value = 0, variance = 0;
};

// Returns the largest logit of the visible keys, without a sink, in natural units. Its error is
// bounded by the largest error of any logit, because roundings may make another key's logit the
// largest. The variance sums the errors of products, S and tanh, and 4 roundings to fp32 for
// kernels that keep the logit in other units.
RowValue largest_logit(const BlockWorker& worker, std::int64_t row) {
  const RowBlock& block = worker.block;
  const Model& model = worker.scales.model();
  const double* s = block.s_of(row);
  double largest = -std::numeric_limits<double>::infinity(), of_ties = 0;
  block.for_seen(row, [&](std::int64_t key) { largest = std::max(largest, s[key]); });
  for (const QueryTie& tie : block.ties.data()[row]) {
    double shift = 0;
    block.for_seen(row, [&](std::int64_t key) {
      shift = std::max(shift, std::abs(block.shift_by(tie, row, key)));
    });
    of_ties += square(shift) / shared_slack;
  }
  double rounded = 0;  // the largest number that S's rounding rounds
  block.for_seen(row, [&](std::int64_t key) {
    if (model.u_s > 0) rounded = std::max(rounded, block.rounded_size(model, row, key));
  });
  double of_products = 0;
  block.for_seen(row, [&](std::int64_t key) {
    of_products = std::max(of_products, worker.scales.product_variance(row, key));
  });
  const double size = std::abs(largest);
  return {largest, of_ties + of_products + square(worker.scales.largest_logit_error(row)) +
                       model.s_roundings * square(model.u_s * rounded + model.eta_s) +
                       square(model.tanh_error * std::max(size, block.cap())) +
                       square(u32 * (4 * size + 1))};
}

RowValue value_of(RowOutput output, const BlockWorker& worker, std::int64_t row) {
  switch (output) {
    case RowOutput::lse:
      return {worker.block.lse.data()[row] + worker.block.row_bias(worker.scales.model(), row),
              worker.scales.lse_variance(row)};
    case RowOutput::max_logit:
      return largest_logit(worker, row);
  }
  return {};
}

RowValue without_keys(RowOutput output, const ReferenceContext& question, const RowId& row) {
  switch (output) {
    case RowOutput::lse: {
      const double lse =
          lse_without_keys(question.side, row.head, question.model.lse_includes_sink);
      return {lse, with_stored_lse(question.model, lse, 0)};
    }
    case RowOutput::max_logit:
      return {-std::numeric_limits<double>::infinity(), 0};
  }
  return {};
}

class Computation {
 public:
  Computation(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
              const RowSelection& selection, const ReferenceOptions& options)
      : geometry_(geometry),
        reference_context_(geometry, inputs, spec),
        options_(options),
        workers_([this] { return BlockWorker(model_); }),
        result_(without_keys(reference_context_, selection, options.suite_scores)) {}

  Reference run() {
    std::vector<HeadPlan> plans = plan_heads();
    parallel_for(
        plans.size(), [&](std::size_t i) { run_head(plans[i]); }, shared_);
    return std::move(result_);
  }

 private:
  bool is_long(std::size_t row) const { return result_.visible[row] >= long_row; }
  // Returns true if suite scores are requested, V is exact in bf16 and v - o, which could cancel,
  // is not needed.
  bool projects_in_bf16(const HeadData& head) const {
    return options_.suite_scores && head.finite && geometry_.v.dtype == DType::bf16 &&
           !model_.denominator_from_rounded_p;
  }

  // Rows without visible keys keep the results of without_keys(). Rows of a head are in order,
  // except that long ones come last.
  std::vector<HeadPlan> plan_heads() {
    const auto& rows = result_.selection.rows;
    const std::int64_t group = geometry_.problem().group();
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      result_.visible[i] = static_cast<std::int32_t>(
          geometry_.visible_count(rows[i].sample, rows[i].row, rows[i].head));
    }
    const auto key = [&](std::size_t i) {
      return std::tuple(rows[i].sample, rows[i].head / group, is_long(i), rows[i].head,
                        rows[i].row);
    };
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });

    std::vector<HeadPlan> plans;
    for (const std::size_t i : order) {
      const RowId& id = rows[i];
      if (result_.visible[i] == 0) continue;
      const std::int64_t head_kv = id.head / group;
      if (plans.empty() || plans.back().sample != id.sample || plans.back().head_kv != head_kv)
        plans.push_back({id.sample, head_kv, no_keys, {}, {}});
      HeadPlan& plan = plans.back();
      plan.rows.push_back(i);
      plan.keys = joined(plan.keys, geometry_.visible_keys(id.sample, id.row, id.head));
    }
    const auto dims =
        static_cast<double>(geometry_.problem().head_dim_qk + geometry_.problem().head_dim_vo);
    shared_ = std::accumulate(result_.visible.begin(), result_.visible.end(), 0.0) * dims >=
              min_shared_cost;
    return plans;
  }

  // A block's products cover all keys that any of its rows sees, so a row that sees few of them
  // starts a new block. The rows of a block are either all long or all short.
  void cut_blocks(HeadPlan& plan, bool one_row_each) const {
    std::size_t begin = 0;
    KeyRange all = no_keys;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const RowId& id = result_.selection.rows[plan.rows[i]];
      const KeyRange seen = geometry_.visible_keys(id.sample, id.row, id.head),
                     with = joined(all, seen);
      const std::int64_t limit =
          std::clamp(max_block_elements / with.size(), min_block_rows, max_block_rows);
      const bool wide = with.size() > 2 * std::max(largest, seen.size()) + max_block_rows;
      const bool unlike = wide || is_long(plan.rows[i]) != is_long(plan.rows[begin]);
      if (i > begin && (one_row_each || unlike || static_cast<std::int64_t>(i - begin) >= limit)) {
        plan.blocks.emplace_back(begin, i);
        begin = i;
        all = seen;
        largest = seen.size();
      } else {
        all = with;
        largest = std::max(largest, seen.size());
      }
    }
    plan.blocks.emplace_back(begin, plan.rows.size());
  }

  void run_head(HeadPlan& plan) {
    std::vector<RowId> ids;
    for (const std::size_t i : plan.rows) ids.push_back(result_.selection.rows[i]);
    HeadData head = gather_head(reference_context_, plan.sample, plan.head_kv, plan.keys);
    if (projects_in_bf16(head) && is_long(plan.rows.back())) pack_for_projections(head);
    cut_blocks(plan, !head.finite);
    // Isolated, because a thread that waits here must not start another head, whose K and V would
    // take memory as well.
    tbb::this_task_arena::isolate([&] {
      const auto block = [&](std::size_t b) {
        const auto [begin, end] = plan.blocks[b];
        run_block(head, std::span(ids).subspan(begin, end - begin),
                  std::span(plan.rows).subspan(begin, end - begin));
      };
      parallel_for(plan.blocks.size(), block, shared_);
    });
  }

  void run_block(const HeadData& head, std::span<const RowId> ids,
                 std::span<const std::size_t> rows) {
    BlockWorker& worker = workers_.local();
    HeadData of_row;
    if (!head.finite && geometry_.has_hidden_keys()) {
      of_row = gather_for_row(reference_context_, ids.front());
      worker.compute(reference_context_, of_row, ids, options_.suite_scores);
    } else {
      worker.compute(reference_context_, head, ids, options_.suite_scores);
    }
    worker.sigma_squared.resize(rows.size() * static_cast<std::size_t>(result_.columns));
    for (std::size_t r = 0; r < rows.size(); ++r)
      store_row(worker, static_cast<std::int64_t>(r), rows[r]);
    if (!options_.suite_scores) return;
    worker.scores.finish(worker.sigma_squared);
    for (std::size_t r = 0; r < rows.size(); ++r)
      store_scores(worker.scores, static_cast<std::int64_t>(r), rows[r]);
  }

  void store_row(BlockWorker& worker, std::int64_t r, std::size_t row) {
    for (std::int64_t j = 0; j < result_.columns; ++j) {
      const std::int64_t at = r * result_.columns + j;
      worker.sigma_squared.data()[at] =
          store_element(result_, row, j, worker.block.o.data()[at], worker.scales.variance(r, j),
                        worker.scales.shared_error(r, j), worker.scales.worst_case(r, j), model_);
    }
    for (const RowOutput output : all<RowOutput>()) store(output, row, value_of(output, worker, r));
    result_.plain_p[row] = worker.scales.rounding(r).is_plain() ? 1 : 0;
  }

  void store(RowOutput output, std::size_t row, const RowValue& value) {
    const auto [values, sigmas] = reference_rows[output];
    (result_.*values)[row] = value.value;
    (result_.*sigmas)[row] = static_cast<float>(std::sqrt(value.variance));
  }

  void store_scores(const SuiteScores& scores, std::int64_t r, std::size_t row) {
    const std::int64_t columns = result_.columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      result_.gradient[row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)] =
          static_cast<float>(scores.gradient(r, j));
    }
    result_.shrink_variance[row] = static_cast<float>(scores.shrink_variance(r));
    result_.temperature_variance[row] = static_cast<float>(scores.temperature_variance(r));
  }

  const Geometry& geometry_;
  const ReferenceContext reference_context_;
  const Model& model_ = reference_context_.model;
  const ReferenceOptions options_;
  tbb::enumerable_thread_specific<BlockWorker> workers_;
  Reference result_;
  bool shared_ = true;
};

}  // namespace

void BlockWorker::compute(const ReferenceContext& question, const HeadData& head,
                          std::span<const RowId> ids, bool suite_scores) {
  block.start(question, head, ids);
  scales.start(block);
  if (suite_scores) scores.start(scales);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    block.softmax(r, question.model);
    scales.add_row(r);
    if (suite_scores) scores.add_row(r);
  }
  block.finish();
  scales.finish();
}

Reference without_keys(const ReferenceContext& question, const RowSelection& selection,
                       bool suite_scores) {
  Reference result;
  result.selection = selection;
  result.columns = question.geometry.problem().head_dim_vo;
  result.output_units = question.model.output_units();
  const std::size_t rows = selection.rows.size(),
                    elements = rows * static_cast<std::size_t>(result.columns);
  result.o.assign(elements, 0);
  for (auto* matrix : {&result.spre, &result.sigma, &result.bound}) matrix->assign(elements, 0);
  for (const RowOutput output : all<RowOutput>()) {
    const auto [values, sigmas] = reference_rows[output];
    for (const RowId& row : selection.rows) {
      const RowValue value = without_keys(output, question, row);
      (result.*values).push_back(value.value);
      (result.*sigmas).push_back(static_cast<float>(std::sqrt(value.variance)));
    }
  }
  result.visible.assign(rows, 0);
  result.plain_p.assign(rows, 0);
  if (!suite_scores) return result;
  result.gradient.assign(elements, 0);
  for (auto* variance : {&result.shrink_variance, &result.temperature_variance})
    variance->assign(rows, 0);
  return result;
}

double with_shared_error(const Model& model, double o, double unit, double sigma_squared,
                         double shared_error) {
  // If the result is within unit / 1024 of the midpoint of two neighbours, fp64 cannot resolve
  // which is nearer, so sigma covers both.
  const double aside = unit / 1024;
  const auto stored = [&](double error) {
    return model.rounded_out(saturated(o + error, model.out)) - saturated(o, model.out);
  };
  return at_least_shared(at_least_shared(sigma_squared, stored(shared_error - aside)),
                         stored(shared_error + aside));
}

namespace {

// Returns the root as a float. Only a variance of 0 may give a scale of 0, so a root that
// underflows becomes the smallest float.
float scale_of(double variance) {
  const auto scale = static_cast<float>(std::sqrt(variance));
  return variance > 0 ? std::max(scale, std::numeric_limits<float>::denorm_min()) : scale;
}

}  // namespace

double store_element(Reference& result, std::size_t row, std::int64_t column, double o,
                     double variance, std::optional<double> shared_error, double bound,
                     const Model& model) {
  const std::size_t at =
      row * static_cast<std::size_t>(result.columns) + static_cast<std::size_t>(column);
  const double unit = output_unit(o, model.out),
               with_output = with_output_rounding(model, o, unit, variance, shared_error);
  result.o[at] = saturated(o, model.out);
  result.spre[at] = scale_of(variance);
  result.sigma[at] = scale_of(with_output);
  result.bound[at] = static_cast<float>(bound + unit * result.output_units);
  return with_output;
}

Reference compute_reference(const Geometry& geometry, const InputView& inputs,
                            const RoundingSpec& spec, const RowSelection& rows,
                            const ReferenceOptions& options) {
  const UsualFloatingPoint state;
  if (options.uses_library()) {
    if (auto result = options.library->compute(geometry, inputs, spec, rows))
      return std::move(*result);
  }
  use_one_blas_thread();
  return Computation(geometry, inputs, spec, rows, options).run();
}

}  // namespace plumbline
