// Recomputes one row for each rounding's share of an element's sigma^2.
#include <cassert>
#include <cmath>

#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"

namespace plumbline {
namespace {

std::size_t index(Rounding rounding) { return static_cast<std::size_t>(rounding); }

}  // namespace

HeadData gather_for_row(const ReferenceContext& question, RowId row, HeadForms forms) {
  const Geometry& geometry = question.geometry;
  return gather_head(question, row.sample, row.head / geometry.problem().group(),
                     geometry.visible_keys(row.sample, row.row, row.head), row, forms);
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

}  // namespace plumbline
