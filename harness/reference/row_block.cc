// Computes a block of rows in fp64: S by a matrix product, softmax row by row, O chunk by chunk.
#include "harness/reference/row_block.h"

#include <cblas.h>
#include <immintrin.h>
#include <sleef.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace plumbline {
namespace {

constexpr std::int64_t lanes = 4;  // doubles in an AVX register

double sum_of(__m256d v) {
  alignas(32) double lane[lanes];
  _mm256_store_pd(lane, v);
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

}  // namespace

double exp_and_sum(const double* s, double m, double* p, std::int64_t count) {
  const __m256d maximum = _mm256_set1_pd(m);
  __m256d sum = _mm256_setzero_pd();
  for (std::int64_t i = 0; i < count; i += lanes) {
    const __m256d e = Sleef_expd4_u10avx2(_mm256_sub_pd(_mm256_loadu_pd(s + i), maximum));
    _mm256_storeu_pd(p + i, e);
    sum = _mm256_add_pd(sum, e);
  }
  return sum_of(sum);
}

LogitShape logit_shape(const Geometry& geometry, const SideInputs& side, const RowId& row) {
  LogitShape shape;
  shape.cap = geometry.problem().softcap;
  if (!side.alibi_slopes.empty()) {
    const auto heads = static_cast<std::size_t>(geometry.problem().heads_q),
               head = static_cast<std::size_t>(row.head);
    const bool by_sample = side.alibi_slopes.size() != heads;
    shape.alibi =
        side.alibi_slopes[by_sample ? static_cast<std::size_t>(row.sample) * heads + head : head];
  }
  shape.added = geometry.bias_of(row.sample, row.row, row.head);
  shape.diagonal = row.row + geometry.length_kv(row.sample) - geometry.length_q(row.sample);
  return shape;
}

double lse_without_keys(const SideInputs& side, std::int64_t head, bool lse_includes_sink) {
  return side.sinks.empty() || !lse_includes_sink
             ? minus_infinity
             : double{side.sinks[static_cast<std::size_t>(head)]};
}

double load_query(const Geometry& geometry, const InputView& inputs, const Model& model,
                  const RowId& id, std::span<double> row, std::vector<QueryTie>* ties) {
  const double scale = geometry.problem().softmax_scale();
  rounded_query(geometry, inputs.q, model.input_rounding, id.sample, id.row, id.head, row);
  if (model.q_prescaled == DType::none) return scale;
  // Rounds Q as kernels do: the fp32 product with an fp32 factor. Kernels make this factor in
  // several ways, which differ by an ulp. The products with K are logits in base 2 or e.
  const auto factor = static_cast<float>(model.q_base == 1 ? scale : scale * std::numbers::log2e);
  for (std::size_t d = 0; d < row.size(); ++d) {
    const double product = static_cast<float>(row[d]) * factor,
                 rounded = round_to(product, model.q_prescaled);
    for (const double side : {1 - 0x1p-21, 1 + 0x1p-21}) {
      const double step = std::abs(round_to(product * side, model.q_prescaled) - rounded);
      if (ties != nullptr && step > 0) ties->push_back({static_cast<std::int64_t>(d), step});
    }
    row[d] = rounded;
  }
  return model.q_base;
}

void RowBlock::compute(const ReferenceContext& question, const HeadData& head_data,
                       std::span<const RowId> ids) {
  start(question, head_data, ids);
  for (std::int64_t r = 0; r < rows; ++r) softmax(r, question.model);
  finish();
}

void RowBlock::start(const ReferenceContext& question, const HeadData& head_data,
                     std::span<const RowId> ids) {
  set_shape(question.geometry, head_data, ids);
  set_features(question, ids);
  load_q(question, ids);

  // S = scale Q K^T
  const double* k = head->k.data() + first_key * head->dim_qk;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows),
              static_cast<int>(keys), static_cast<int>(head->dim_qk), scale, q.data(),
              static_cast<int>(head->dim_qk), k, static_cast<int>(head->dim_qk), 0, s.data(),
              static_cast<int>(stride));
  if (head->has_bounds()) prefixes.start(*head, rows, first_key, keys);
}

// Computes O = P V, chunk by chunk.
void RowBlock::finish() {
  const auto columns = static_cast<int>(head->dim_vo);
  const KeyChunks chunks(first_key, keys);
  for (std::int64_t c = 0; c < chunks.count(); ++c) {
    const KeyRange chunk = chunks.keys_of(c);
    const double* v = head->v.data() + (first_key + chunk.begin) * head->dim_vo;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows), columns,
                static_cast<int>(chunk.size()), 1, p.data() + chunk.begin, static_cast<int>(stride),
                v, columns, c == 0 ? 0 : 1, o.data(), columns);
    if (head->has_bounds()) prefixes.add_edge(c, o.data());
  }
}

void RowBlock::set_shape(const Geometry& geometry, const HeadData& head_data,
                         std::span<const RowId> ids) {
  head = &head_data;
  rows = static_cast<std::int64_t>(ids.size());
  visible.clear();
  KeyRange all = no_keys;
  for (const RowId& id : ids) {
    visible.push_back(geometry.visible_keys(id.sample, id.row, id.head));
    all = joined(all, visible.back());
  }
  for (KeyRange& range : visible) range = {range.begin - all.begin, range.end - all.begin};
  first_key = all.begin - head->first_key;
  keys = all.size();
  stride = round_up(keys, 8);
  q.resize(static_cast<std::size_t>(rows * head->dim_qk));
  s.resize(static_cast<std::size_t>(rows * stride));
  p.resize(static_cast<std::size_t>(rows * stride));
  o.resize(static_cast<std::size_t>(rows * head->dim_vo));
  for (auto* per_row : {&row_max, &total, &lse}) per_row->resize(static_cast<std::size_t>(rows));
}

void RowBlock::set_features(const ReferenceContext& question, std::span<const RowId> ids) {
  const std::int64_t first = head->first_key + first_key;
  const bool is_shaped = question.geometry.problem().softcap != 0 ||
                         !question.side.alibi_slopes.empty() || question.geometry.bias != nullptr;
  sinks.clear(), shapes.clear(), seen.clear();
  shares_bias = shares_alibi_bias(question.geometry.problem());
  for (const RowId& id : ids) {
    if (!question.side.sinks.empty())
      sinks.push_back({question.side.sinks[static_cast<std::size_t>(id.head)], 0, 0, 0});
    if (is_shaped)
      shapes.push_back(logit_shape(question.geometry, question.side, id).counted_from(first));
    if (!question.geometry.has_hidden_keys()) continue;
    const KeyRange range = visible[seen.size()];
    std::vector<std::int32_t>& keys_seen = seen.emplace_back();
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      if (question.geometry.sees(id.sample, id.row, first + k, id.head))
        keys_seen.push_back(static_cast<std::int32_t>(k));
    }
  }
  const std::size_t shaped = shapes.empty() ? 0 : static_cast<std::size_t>(rows * stride);
  for (auto* per_key : {&x, &slope, &capped}) per_key->resize(shaped);
}

void RowBlock::load_q(const ReferenceContext& question, std::span<const RowId> ids) {
  double* row = q.data();
  ties.clear();
  for (const RowId& id : ids) {
    const auto dims = static_cast<std::size_t>(head->dim_qk);
    scale = load_query(question.geometry, question.inputs, question.model, id,
                       std::span<double>(row, dims), &ties.emplace_back());
    row += head->dim_qk;
  }
}

// Turns scale * (q . k) into the logit.
void RowBlock::shape_logits(std::int64_t row) {
  const LogitShape& shape = shapes[static_cast<std::size_t>(row)];
  const auto [begin, end] = keys_of(row);
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t at = row * stride + k;
    x[static_cast<std::size_t>(at)] = s.data()[at];
    const double c = shape.capped(s.data()[at]), ratio = shape.cap == 0 ? 0 : c / shape.cap;
    capped.data()[at] = c;
    slope.data()[at] = 1 - ratio * ratio;
    s.data()[at] = c + shape.bias(k);
  }
}

// Sets the logit of hidden keys.
void RowBlock::hide(std::int64_t row, double logit) {
  for_hidden(row, [&](std::int64_t k) {
    const std::int64_t at = row * stride + k;
    s.data()[at] = logit;
    if (!shapes.empty()) x.data()[at] = slope.data()[at] = capped.data()[at] = 0;
  });
}

// Adds the sink to the softmax over the keys.
void RowBlock::add_sink(std::int64_t row, double keys_max, double keys_sum, const Model& model) {
  const auto r = static_cast<std::size_t>(row);
  Sink& sink = sinks[r];
  const double m = std::max(keys_max, sink.s), of_sink = std::exp(sink.s - m);
  sink.keys_total = keys_sum * std::exp(keys_max - m);
  sink.lse_keys = lse[r];
  row_max[r] = m;
  total[r] = sink.keys_total + of_sink;
  sink.p = of_sink / total[r];
  double* p_row = p.data() + row * stride;
  for (std::int64_t k = visible[r].begin; k < visible[r].end; ++k)
    p_row[k] *= sink.keys_total / total[r];
  if (model.lse_includes_sink) lse[r] = m + std::log(total[r]);
}

void RowBlock::softmax(std::int64_t row, const Model& model) {
  double* s_row = s.data() + row * stride;
  double* p_row = p.data() + row * stride;
  const std::int64_t begin = keys_of(row).begin, end = keys_of(row).end;
  std::fill(s_row, s_row + begin, minus_infinity);
  std::fill(s_row + end, s_row + stride, minus_infinity);

  if (!shapes.empty()) shape_logits(row);
  hide(row, minus_infinity);
  // This maximum drops NaN logits. exp brings them back.
  double m = minus_infinity;
#pragma omp simd reduction(max : m)
  for (std::int64_t k = begin; k < end; ++k) m = std::max(m, s_row[k]);
  const std::int64_t first = begin / lanes * lanes, last = round_up(end, lanes);
  std::fill(p_row, p_row + first, 0.0);
  std::fill(p_row + last, p_row + stride, 0.0);
  const double sum = exp_and_sum(s_row + first, m, p_row + first, last - first);
  const double share = 1 / sum;
  for (std::int64_t k = first; k < last; ++k) p_row[k] *= share;

  const auto r = static_cast<std::size_t>(row);
  row_max[r] = m;
  total[r] = sum;
  lse[r] = m + std::log(sum);
  hide(row, m);
  if (!sinks.empty()) add_sink(row, m, sum, model);
  if (model.u_s > 0) round_logits(row, model);
  if (head->has_bounds()) prefixes.start_row(row, p_row);
}

// Returns a sink's logit as the kernel holds it.
double held_sink(const Model& model, const Sink& sink) {
  return model.s_place == Model::PlaceOfS::logit ? model.s_rounder.nearest(sink.s) : sink.s;
}

void RowBlock::round_logits(std::int64_t row, const Model& model) {
  using Place = Model::PlaceOfS;
  const auto r = static_cast<std::size_t>(row);
  unrounded.resize(s.size()), held.resize(s.size()), held_max.resize(row_max.size());
  double& largest = held_max[r];
  largest = sinks.empty() ? minus_infinity : held_sink(model, sinks[r]);
  const Place place = shapes.empty() ? Place::logit : model.s_place;
  for (std::int64_t k = keys_of(row).begin; k < keys_of(row).end; ++k) {
    const std::int64_t at = row * stride + k;
    const double logit = s.data()[at], bias = place == Place::logit ? 0 : logit - capped.data()[at];
    double& y = unrounded.data()[at];
    y = place == Place::logit         ? logit
        : place == Place::before_bias ? capped.data()[at]
                                      : x.data()[at];
    const double rounded = model.s_rounder.nearest(y);
    held.data()[at] = bias + (place == Place::before_softcap ? shapes[r].capped(rounded) : rounded);
    if (p.data()[at] > 0) largest = std::max(largest, held.data()[at]);
  }
}

}  // namespace plumbline
