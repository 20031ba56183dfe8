// Gathers K and V of one head, and makes their float, squared, centred and packed forms.
#include "harness/reference/head_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumbline {
namespace {

void square_keys(HeadData& head) {
  head.k_squared.resize(head.k.size());
  std::ranges::transform(head.k, head.k_squared.begin(),
                         [](double k) { return static_cast<float>(k * k); });
  for (auto* per_key : {&head.k_norm, &head.k_four_norm})
    per_key->resize(static_cast<std::size_t>(head.keys));
  for (std::int64_t k = 0; k < head.keys; ++k) {
    const auto key = std::span(head.k).subspan(static_cast<std::size_t>(k * head.dim_qk),
                                               static_cast<std::size_t>(head.dim_qk));
    const Norms of_key = norms(key);
    head.k_norm.data()[k] = of_key.two;
    head.k_four_norm.data()[k] = of_key.four;
  }
}

// Sets v_unit to the power of two u with max |v| / u in [1/2, 1), or to 1 if V is all zeros or has
// Inf or NaN.
void choose_unit(HeadData& head) {
  double largest = 0;
  for (const double v : head.v) {
    head.finite = head.finite && std::isfinite(v);
    largest = std::max(largest, std::abs(v));
  }
  int exponent = 0;
  if (head.finite && largest > 0) std::frexp(largest, &exponent);
  head.v_unit = std::ldexp(1.0, exponent);
}

void find_center(HeadData& head) {
  head.center.assign(static_cast<std::size_t>(head.dim_vo), 0);
  for (std::int64_t k = 0; k < head.keys; ++k) {
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      head.center[static_cast<std::size_t>(j)] += head.v.data()[k * head.dim_vo + j];
  }
  for (double& c : head.center) {
    c /= static_cast<double>(head.keys) * head.v_unit;
    if (!std::isfinite(c)) c = 0;  // for rows that do not see this column's Inf or NaN
  }
}

std::int64_t tile_index(const HeadData& head, std::int64_t key, std::int64_t j) {
  return j / column_tile * column_tile * head.keys + key * column_tile + j % column_tile;
}

void fill_float_forms(HeadData& head) {
  const auto size = static_cast<std::size_t>(head.keys * head.ld);
  for (auto* form :
       {&head.v_tiles, &head.v_abs, &head.v_squared, &head.v_centered, &head.v_centered_squared})
    form->assign(size, 0);
  for (std::int64_t k = 0; k < head.keys; ++k) {
    const double* v = head.v.data() + k * head.dim_vo;
    const std::int64_t row = k * head.ld;
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const double value = v[j] / head.v_unit;
      const double centered = value - head.center[static_cast<std::size_t>(j)];
      head.v_tiles.data()[tile_index(head, k, j)] = static_cast<float>(value);
      head.v_abs.data()[row + j] = static_cast<float>(std::abs(value));
      head.v_squared.data()[row + j] = static_cast<float>(value * value);
      head.v_centered.data()[row + j] = static_cast<float>(centered);
      head.v_centered_squared.data()[row + j] = static_cast<float>(centered * centered);
    }
  }
}

void find_extremes(HeadData& head) {
  head.key_min.assign(static_cast<std::size_t>(head.keys), std::numeric_limits<float>::infinity());
  head.sign_sums.assign(static_cast<std::size_t>((head.keys + 1) * head.ld), 0);
  for (std::int64_t k = 0; k < head.keys; ++k) {
    const float* sums = head.sign_sums.data() + k * head.ld;
    float* next = head.sign_sums.data() + (k + 1) * head.ld;
    float& smallest = head.key_min[static_cast<std::size_t>(k)];
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const float v = head.v_tiles.data()[tile_index(head, k, j)], magnitude = std::abs(v);
      smallest = std::min(smallest, magnitude);
      next[j] = sums[j] + static_cast<float>(v > 0) - static_cast<float>(v < 0);
    }
  }
}

// Sets edge_norm. Rounds the norms up, because they are bounds.
void find_chunk_norms(HeadData& head) {
  const std::int64_t chunks = (head.keys + chunk_keys - 1) / chunk_keys, ld = head.ld;
  head.edge_norm.assign(static_cast<std::size_t>((chunks + 1) * ld), 0);
  std::vector<double> squares(static_cast<std::size_t>(ld));
  for (std::int64_t c = 0; c < chunks; ++c) {
    std::ranges::fill(squares, 0);
    for (std::int64_t k = c * chunk_keys; k < std::min((c + 1) * chunk_keys, head.keys); ++k) {
      for (std::int64_t j = 0; j < ld; ++j) squares.data()[j] += head.v_squared.data()[k * ld + j];
    }
    float *before = head.edge_norm.data() + c * ld, *after = before + ld;
    for (std::int64_t j = 0; j < ld; ++j) {
      const auto norm = static_cast<float>(std::sqrt(squares.data()[j]) * (1 + 1e-6));
      before[j] = std::max(before[j], norm / 2);
      after[j] = norm / 2;
    }
  }
}

}  // namespace

Norms norms(std::span<const double> x) {
  double squares = 0, fourths = 0;
  for (const double value : x) {
    squares += square(value);
    fourths += square(square(value));
  }
  return {static_cast<float>(std::sqrt(squares)),
          static_cast<float>(std::sqrt(std::sqrt(fourths)) * (1 + 1e-6))};
}

HeadData gather_head(const ReferenceContext& question, std::int64_t sample, std::int64_t head_kv,
                     KeyRange keys, std::optional<RowId> only_row, HeadForms forms) {
  const Problem& problem = question.geometry.problem();
  if (problem.is_merge()) {
    only_row = RowId{static_cast<std::int32_t>(sample), static_cast<std::int32_t>(head_kv), 0};
  }
  HeadData head;
  head.first_key = keys.begin;
  head.keys = keys.size();
  head.dim_qk = problem.head_dim_qk;
  head.dim_vo = problem.head_dim_vo;
  head.ld = round_up(head.dim_vo, column_tile);
  head.k.resize(static_cast<std::size_t>(head.keys * head.dim_qk));
  head.v.resize(static_cast<std::size_t>(head.keys * head.dim_vo));
  head.scaled_outside = question.key_values.scales_outside();
  head.factor_of_sums = question.key_values.factor_of_sums(sample, head_kv);
  const auto row_of = [](Buffer<double>& matrix, std::int64_t row, std::int64_t dims) {
    return std::span(matrix).subspan(static_cast<std::size_t>(row * dims),
                                     static_cast<std::size_t>(dims));
  };
  for (std::int64_t k = 0; k < head.keys; ++k) {
    const std::int64_t key = keys.begin + k;
    const bool is_hidden =
        only_row && !question.geometry.sees(sample, only_row->row, key, only_row->head);
    if (is_hidden && problem.is_merge()) continue;  // the part's LSE is -infinity
    question.key_values.key(sample, key, head_kv, row_of(head.k, k, head.dim_qk));
    if (is_hidden) continue;
    question.key_values.value(sample, key, head_kv, row_of(head.v, k, head.dim_vo));
  }
  choose_unit(head);
  if (forms == HeadForms::products) return head;
  find_column_max(head);
  square_keys(head);
  find_center(head);
  fill_float_forms(head);
  find_extremes(head);
  find_chunk_norms(head);
  return head;
}

void find_column_max(HeadData& head) {
  head.column_max.assign(static_cast<std::size_t>(head.dim_vo), 0);
  for (std::int64_t k = 0; k < head.keys; ++k) {
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const auto v = static_cast<float>(head.v.data()[k * head.dim_vo + j] / head.v_unit);
      head.column_max.data()[j] = std::max<double>(head.column_max.data()[j], std::abs(v));
    }
  }
}

void pack_for_projections(HeadData& head) {
  head.v_transposed.resize(head.dim_vo, head.keys);
  for (std::int64_t k = 0; k < head.keys; ++k) {
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      head.v_transposed.set(j, k, head.v_tiles.data()[tile_index(head, k, j)]);
  }
}

}  // namespace plumbline
