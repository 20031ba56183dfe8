// Recomputes one row: its logits and weights, or each rounding's share of one element's sigma^2.
#include <cassert>
#include <cmath>
#include <limits>

#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"

namespace plumbline {
namespace {

std::size_t index(Rounding rounding) { return static_cast<std::size_t>(rounding); }

}  // namespace

HeadData gather_for_row(const ReferenceContext& question, RowId row) {
  const Geometry& geometry = question.geometry;
  return gather_head(question, row.sample, row.head / geometry.problem().group(),
                     geometry.visible_keys(row.sample, row.row, row.head), row);
}

Explanation explain(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                    RowId row, std::int64_t column) {
  assert(column >= 0 && column < geometry.problem().head_dim_vo);
  if (geometry.visible_keys(row.sample, row.row, row.head).size() == 0)
    return {};  // nothing is rounded
  const ReferenceContext question(geometry, inputs, spec);
  const Model& model = question.model;
  use_one_blas_thread();
  const HeadData head = gather_for_row(question, row);
  BlockWorker worker(model);
  worker.compute(question, head, std::span(&row, 1), false);

  Explanation explanation;
  explanation.o = worker.block.o.data()[column];
  const double before = worker.scales.variance(0, column),
               after =
                   with_output_rounding(model, explanation.o, output_unit(explanation.o, model.out),
                                        before, worker.scales.shared_error(0, column));
  explanation.spre = std::sqrt(before);
  explanation.sigma = std::sqrt(after);
  for (int i = 0; i < rounding_count; ++i) {
    const auto rounding = static_cast<Rounding>(i);
    explanation.share[index(rounding)] = worker.scales.variance(rounding, 0, column) / after;
  }
  explanation.share[index(Rounding::output)] = (after - before) / after;
  return explanation;
}

RowDetail reference_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                        RowId row) {
  RowDetail detail;
  detail.keys = geometry.visible_keys(row.sample, row.row, row.head);
  detail.o.assign(static_cast<std::size_t>(geometry.problem().head_dim_vo), 0);
  const ReferenceContext question(geometry, inputs, spec);
  detail.lse = lse_without_keys(question.side, row.head, spec.lse_includes_sink);
  if (detail.keys.size() == 0) return detail;
  use_one_blas_thread();
  const HeadData head = gather_for_row(question, row);
  RowBlock block;
  block.compute(question, head, std::span(&row, 1));
  detail.s.assign(block.s.begin(), block.s.begin() + detail.keys.size());
  detail.p.assign(block.p.begin(), block.p.begin() + detail.keys.size());
  for (std::int64_t key = detail.keys.begin; key < detail.keys.end && !block.seen.empty(); ++key) {
    if (!geometry.sees(row.sample, row.row, key, row.head)) {
      detail.s[static_cast<std::size_t>(key - detail.keys.begin)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  detail.o.assign(block.o.begin(), block.o.end());
  detail.lse = block.lse.front();
  return detail;
}

}  // namespace plumbline
