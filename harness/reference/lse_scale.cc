// The variance of the LSE's error. docs/judging.md, "Scale of the LSE".
#include <cmath>
#include <limits>

#include "harness/reference/logit_error.h"
#include "harness/reference/scales.h"

namespace plumbline {

// What the LSE of a row is made of: all of it, or the keys alone where the LSE excludes the sink.
struct BlockScales::LseParts {
  const double* p = nullptr;   // weights, of sum 1 with that of the sink
  double mean_bias = 0;        // sum p_k beta_k
  const Sink* sink = nullptr;  // where it is part of the LSE
  PWeights weights;
};

BlockScales::LseParts BlockScales::lse_parts(std::int64_t row) {
  const Sink* of_row = sink(row);
  if (of_row == nullptr || model_.lse_includes_sink) {
    return {block_->p.data() + row * stride_, logit_sums_.data()[row].bias, of_row, p_weights(row)};
  }
  const double* s = block_->s.data() + row * stride_;
  const float* qk_squared = qk_squared_.data() + row * stride_;
  const LogitError error(model_, *block_);
  const double limit = model_.eta_p > 0 ? model_.eta_p / of_row->keys_total / model_.u_p : 0;
  p_of_keys_.assign(static_cast<std::size_t>(stride_), 0);
  LseParts parts{p_of_keys_.data(), 0, nullptr, {limit, 1 / model_.u_p}};
  const auto add = [&](std::int64_t k) {
    const double p = std::exp(s[k] - of_row->lse_keys);
    const LogitSizes sizes =
        block_->shapes.empty() ? plain_sizes(s[k]) : shaped_sizes(*block_, row * stride_ + k);
    p_of_keys_.data()[k] = p;
    parts.mean_bias += p * error.beta(sizes, qk_squared[k]);
  };
  if (block_->seen.empty()) {
    for (std::int64_t k = visible(row).begin; k < visible(row).end; ++k) add(k);
  } else {
    for (const std::int32_t k : block_->seen[static_cast<std::size_t>(row)]) add(k);
  }
  return parts;
}

// By how much rounding these very logits moves the LSE. Logits that lie whole rounding intervals
// apart are all rounded alike, which no cell sees; and intervals that are large against 1 move it
// otherwise than the first order of their errors says.
double BlockScales::shift_by_s(std::int64_t row, const LseParts& parts) const {
  const double* s = block_->s.data() + row * stride_;
  const auto [begin, end] = visible(row);
  double m = parts.sink != nullptr ? parts.sink->s : -std::numeric_limits<double>::infinity();
  for (std::int64_t k = begin; k < end; ++k) m = parts.p[k] > 0 ? std::max(m, s[k]) : m;
  double sum = parts.sink != nullptr ? t_of_rounded(parts.sink->s, m, model_) : 0;
  for (std::int64_t k = begin; k < end; ++k)
    sum += parts.p[k] > 0 ? t_of_rounded(s[k], m, model_) : 0;
  return round_to(m, model_.s_rounded) + std::log(sum) - block_->lse.data()[row];
}

// The variance of sums and of the logarithm in fp32.
double BlockScales::lse_floor(std::int64_t row) const {
  return square(u32 * (4 + std::abs(block_->lse.data()[row]) +
                       2 * std::sqrt(static_cast<double>(block_->count(row)))));
}

void BlockScales::lse_error(std::int64_t row) {
  const LseParts parts = lse_parts(row);
  const double* p = parts.p;
  const double* s = block_->s.data() + row * stride_;
  const float* sd = sd_.data() + row * stride_;

  double variance = lse_floor(row) + square(parts.mean_bias);
  if (p == block_->p.data() + row * stride_) {
    const LogitSums& sums = logit_sums_.data()[row];
    if (!sums.are_bounds && !(logit_excess_.data()[row] <= negligible_share * variance))
      find_logit_excess(row);
    variance += sums.variance + logit_excess_.data()[row];
  } else {
    set_row_weights(row, [=](std::int64_t k) { return p[k] * sd[k]; });
    variance += sum_of_squares(row) + cell_sums(p_cells(row), row_weights_.data()).excess();
  }
  if (parts.sink != nullptr) variance += square(parts.sink->p * sink_sd(*parts.sink));
  if (model_.u_s > 0) {
    find_s_cells(row, parts.sink);
    set_row_weights(row, [=](std::int64_t k) { return p[k] * std::abs(s[k]); });
    if (parts.sink != nullptr) set_sink_weight(parts.sink->p * std::abs(parts.sink->s));
    const CellSums sums = cell_sums(s_cells_, row_weights_.data());
    const double by_cells =
        kappa_coherent * square(model_.u_s) * std::max(sums.coherent, sums.independent);
    variance += std::max(by_cells, square(shift_by_s(row, parts)));
  }
  if (has_tanh_error()) {
    find_tanh_cells(row);
    set_row_weights(row, [=, capped = block_->capped.data() + row * stride_](std::int64_t k) {
      return p[k] * std::abs(capped[k]);
    });
    const CellSums sums = cell_sums(tanh_cells_, row_weights_.data());
    variance +=
        kappa_coherent * square(model_.tanh_error) * std::max(sums.coherent, sums.independent);
  }
  if (model_.exp2_error > 0) {
    find_phases(row, parts.sink);
    set_row_weights(row, [=](std::int64_t k) { return p[k]; });
    if (parts.sink != nullptr) set_sink_weight(parts.sink->p);
    variance += square(model_.exp2_error) / 2 * cell_sums(phases_, row_weights_.data()).coherent;
  }
  if (model_.denominator_from_rounded_p) {
    set_row_weights(
        row, [=, weights = parts.weights](std::int64_t k) { return weights.coherent(p[k]); });
    const CellSums sums = cell_sums(p_cells(row), row_weights_.data());
    variance += square(model_.u_p) * (sum_of_squares(row) - sums.independent + sums.coherent);
  }
  lse_variance_.data()[row] = variance;
}

}  // namespace plumbline
