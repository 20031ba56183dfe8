// Computes one row at a time from K and V that were gathered once.
#include "harness/reference/row_replay.h"

#include <cblas.h>

#include <limits>

#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"

namespace plumbline {

RowReplay::RowReplay(const ReferenceContext& context, std::int64_t sample, std::int64_t head_kv,
                     KeyRange keys)
    : context_(context) {
  use_one_blas_thread();
  if (keys.size() > 0)
    head_ = gather_head(context, sample, head_kv, keys, std::nullopt, HeadForms::products);
}

RowReplay::RowReplay(const ReferenceContext& context, const RowId& id)
    : RowReplay(context, id.sample, id.head / context.geometry.problem().group(),
                context.geometry.visible_keys(id.sample, id.row, id.head)) {}

RowDetail RowReplay::row(const RowId& id) {
  const Geometry& geometry = context_.geometry;
  RowDetail detail;
  detail.keys = geometry.visible_keys(id.sample, id.row, id.head);
  detail.o.assign(static_cast<std::size_t>(geometry.problem().head_dim_vo), 0);
  detail.lse = lse_without_keys(context_.side, id.head, context_.model.lse_includes_sink);
  if (detail.keys.size() == 0) return detail;
  // Inf and NaN of hidden keys would reach O as 0 * NaN.
  const bool leaks = !head_.finite && geometry.has_hidden_keys();
  HeadData of_row;
  if (leaks) of_row = gather_for_row(context_, id, HeadForms::products);
  block_.compute(context_, leaks ? of_row : head_, std::span(&id, 1));
  detail.s.assign(block_.s.begin(), block_.s.begin() + detail.keys.size());
  detail.p.assign(block_.p.begin(), block_.p.begin() + detail.keys.size());
  block_.for_hidden(0, [&](std::int64_t key) {
    detail.s[static_cast<std::size_t>(key)] = -std::numeric_limits<double>::infinity();
  });
  detail.o.assign(block_.o.begin(), block_.o.end());
  detail.lse = block_.lse.front();
  return detail;
}

std::vector<double> RowReplay::weighted_sum(std::int64_t first_key,
                                            std::span<const double> weights) const {
  std::vector<double> sum(static_cast<std::size_t>(head_.dim_vo));
  if (weights.empty()) return sum;
  if (!head_.finite) {  // leaves out the Inf and NaN of keys without weight
    for (std::size_t n = 0; n < weights.size(); ++n) {
      const auto of_key = value(first_key + static_cast<std::int64_t>(n));
      for (std::size_t j = 0; j < sum.size() && weights[n] != 0; ++j)
        sum[j] += weights[n] * of_key[j];
    }
    return sum;
  }
  const auto columns = static_cast<int>(head_.dim_vo);
  cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(weights.size()), columns, 1,
              value(first_key).data(), columns, weights.data(), 1, 0, sum.data(), 1);
  return sum;
}

double mean_logit(const RowDetail& row) {
  double mean = 0;
  for (std::size_t n = 0; n < row.p.size(); ++n) mean += row.p[n] > 0 ? row.p[n] * row.s[n] : 0;
  return mean;
}

std::vector<double> RowReplay::gradient(const RowDetail& row) const {
  const double mean = mean_logit(row);
  std::vector<double> weights(row.p.size(), 0.0);
  for (std::size_t n = 0; n < weights.size(); ++n)
    if (row.p[n] > 0) weights[n] = row.p[n] * (row.s[n] - mean);
  return weighted_sum(row.keys.begin, weights);
}

RowReplay::Projection RowReplay::project(std::int64_t key, double p, std::span<const double> o,
                                         std::span<const double> inverse_sigma,
                                         std::span<const float> z) const {
  const double* v = value(key).data();
  double zd = 0, dd = 0;
#pragma omp simd reduction(+ : zd, dd)
  for (std::size_t j = 0; j < o.size(); ++j) {
    const double d = p * (v[j] - o[j]) * inverse_sigma[j];
    zd += z[j] * d;
    dd += d * d;
  }
  return {zd, dd};
}

RowDetail reference_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                        RowId row) {
  const ReferenceContext context(geometry, inputs, spec);
  return RowReplay(context, row).row(row);
}

}  // namespace plumbline
