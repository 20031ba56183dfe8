// Computes a row of attention in fp64, key by key, with the changes of a variation.
#include "harness/diagnose/row_calculator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/reference/row_block.h"

namespace plumbline {
namespace {

// Factor of the limits. A variation is judged by the sigmas of the stated row, which are not quite
// its own.
constexpr double lenient = 2;

// Returns the standard deviation that ties give to a logit rounded to `dtype`. An fp32 error of
// about fp32_error * max(|logit|, 1) may move the logit across a tie, to the next number.
double tie_of_logit(double logit, DType dtype) {
  if (dtype == DType::none) return 0;
  const double spacing = ulp(logit, dtype), error = fp32_error * std::max(std::abs(logit), 1.0);
  return spacing * std::sqrt(std::min(1.0, error / spacing));
}

// Returns a row as the output holds it, but for rounding.
std::vector<double> saturated_row(std::vector<double> o, DType dtype) {
  for (double& x : o) x = saturated(x, dtype);
  return o;
}

}  // namespace

double tie_at(double x, double rounded, DType dtype, double error) {
  if (dtype == DType::none) return 0;
  const double spacing = ulp(x, dtype);
  return spacing / 2 - std::abs(x - rounded) <= error ? spacing : 0;
}

RowCalculator::RowCalculator(const FailingOutput& failing)
    : failing_(failing),
      geometry_(*failing.geometry),
      problem_(geometry_.problem()),
      reference_context_(geometry_, failing.inputs, *failing.spec),
      got_(rows_of(geometry_, failing.outputs, *failing.reference)) {}

RowVariation RowCalculator::stated(const RowId& id) const {
  RowVariation variation;
  variation.key_head = variation.value_head = id.head / problem_.group();
  if (!side().sinks.empty()) variation.sink = side().sinks[static_cast<std::size_t>(id.head)];
  return variation;
}

std::int64_t RowCalculator::stored_rows(std::int64_t sample) const {
  return problem_.is_padded() ? problem_.seq_q : geometry_.length_q(sample);
}

RowId RowCalculator::with_heads_first(RowId id) const {
  const std::int64_t rows = stored_rows(id.sample), at = id.row * problem_.heads_q + id.head;
  id.head = at / rows;
  id.row = at % rows;
  return id;
}

RowId RowCalculator::with_rows_first(RowId id) const {
  const std::int64_t at = id.head * stored_rows(id.sample) + id.row;
  id.row = at / problem_.heads_q;
  id.head = at % problem_.heads_q;
  return id;
}

void RowCalculator::load(const std::function<KeyAddress(KeyAddress)>& place, bool is_key,
                         KeyAddress at, std::int64_t head, std::vector<double>& to) const {
  if (place) at = place(at);
  if (at.key < 0) {
    std::ranges::fill(to, 0.0);
  } else if (is_key) {
    reference_context_.key_values.key(at.sample, at.key, head, to);
  } else {
    reference_context_.key_values.value(at.sample, at.key, head, to);
  }
}

CalculatedRow RowCalculator::answer(const RowId& id, const RowVariation& variation) const {
  std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk)), k(q.size());
  const RowId of_q = variation.query.value_or(id);
  if (variation.read_query) {
    variation.read_query(of_q, q);
  } else {
    read_query(of_q, q);
  }
  if (variation.change_query) variation.change_query(q);
  LogitShape of_row = shape(id);
  of_row.alibi = variation.alibi.value_or(of_row.alibi);
  const KeyRange keys = geometry_.visible_keys(id.sample, id.row, id.head);
  std::vector<std::int64_t> seen;
  std::vector<double> p;  // holds logits first
  const bool has_sink = !side().sinks.empty();
  const bool sink_is_logit = has_sink && !variation.adds_sink_itself;
  double maximum = sink_is_logit ? variation.sink : -std::numeric_limits<double>::infinity();
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    if (!geometry_.sees(id.sample, id.row, key, id.head)) continue;
    if (variation.read_key) {
      variation.read_key(id.sample, key, variation.key_head, k);
    } else {
      load(variation.key_address, !variation.key_is_value, {id.sample, key}, variation.key_head, k);
    }
    if (variation.change_key) variation.change_key(k);
    const double product =
        variation.key_factor * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    seen.push_back(key);
    p.push_back(variation.logit ? variation.logit(of_row, product, key)
                                : of_row.logit(problem_.softmax_scale() * product, key));
    maximum = std::max(maximum, p.back());
  }
  std::vector<double> tie(p.size(), 0.0);
  for (std::size_t n = 0; n < p.size(); ++n) tie[n] = tie_of_logit(p[n], variation.s_rounded);
  for (double& x : p) x = std::exp(x - maximum);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0),
               of_sink = sink_is_logit ? std::exp(variation.sink - maximum) : variation.sink,
               with_sink = sum + (has_sink ? of_sink : 0);
  std::vector<double> p_ties(p.size(), 0.0);
  if (variation.round_p) variation.round_p(seen, p, with_sink, p_ties);
  CalculatedRow answer;
  for (std::size_t n = 0; n < p.size(); ++n)
    answer.lse_tie = std::hypot(answer.lse_tie, p[n] / with_sink * tie[n]);
  answer.has_stated_values = !variation.read_value && !variation.value_address &&
                             !variation.value_is_key && !variation.change_value &&
                             variation.value_factor == 1 &&
                             variation.value_head == id.head / problem_.group();
  answer.o.assign(static_cast<std::size_t>(problem_.head_dim_vo), 0);
  answer.sum_p2 = std::inner_product(p.begin(), p.end(), p.begin(), 0.0) / (with_sink * with_sink);
  answer.lse =
      maximum + std::log(failing_.spec->lse_includes_sink ? with_sink : sum) - missing_bias(of_row);
  std::vector<double> value(answer.o.size());
  answer.o_tie.assign(value.size(), 0);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (variation.read_value) {
      variation.read_value(id.sample, seen[n], variation.value_head, value);
    } else {
      load(variation.value_address, variation.value_is_key, {id.sample, seen[n]},
           variation.value_head, value);
    }
    if (variation.change_value) variation.change_value(value);
    for (std::size_t j = 0; j < value.size(); ++j) answer.o[j] += p[n] * value[j];
    if (p_ties[n] == 0) continue;
    for (std::size_t j = 0; j < value.size(); ++j)
      answer.o_tie[j] = std::hypot(answer.o_tie[j], p_ties[n] * value[j]);
  }
  if (variation.adds_sink_itself) {
    // The sum may nearly cancel.
    const double error = fp32_error * sum / std::abs(with_sink);
    answer.lse_tie = error;
    for (std::size_t j = 0; j < value.size(); ++j) answer.o_tie[j] = error * answer.o[j];
  }
  const double of_sum = variation.value_factor / with_sink;
  for (double& x : answer.o) x *= of_sum;
  for (double& x : answer.o_tie) x *= of_sum;
  return answer;
}

void RowCalculator::read_query(const RowId& id, std::span<double> to) const {
  const double scale = load_query(geometry_, failing_.inputs, reference_context_.model, id, to);
  // Removes the softmax scale that a pre-scaled Q holds.
  for (double& x : to) x *= scale / problem_.softmax_scale();
}

std::function<double(std::int64_t key)> RowCalculator::stated_logit(const RowId& id) const {
  std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk)), k(q.size());
  read_query(id, q);
  return [this, id, q, k, stated = shape(id)](std::int64_t key) mutable {
    read_key(id.sample, key, id.head / problem_.group(), k);
    const double product = std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    return stated.logit(problem_.softmax_scale() * product, key);
  };
}

std::vector<KeyLogit> RowCalculator::seen_logits(const RowId& id) const {
  const auto logit = stated_logit(id);
  const KeyRange keys = geometry_.visible_keys(id.sample, id.row, id.head);
  std::vector<KeyLogit> logits;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    if (geometry_.sees(id.sample, id.row, key, id.head)) logits.push_back({key, logit(key)});
  }
  return logits;
}

double RowCalculator::mean_product(const RowId& id) const {
  std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk)), k(q.size());
  read_query(id, q);
  double sum = 0;
  const std::int64_t keys = geometry_.length_kv(id.sample);
  for (std::int64_t key = 0; key < keys; ++key) {
    reference_context_.key_values.key(id.sample, key, id.head / problem_.group(), k);
    sum += std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
  }
  return sum / static_cast<double>(keys);
}

RowMisfit RowCalculator::misfit(std::size_t r, const CalculatedRow& answer) const {
  const std::vector<double> o = saturated_row(answer.o, problem_.out());
  const std::size_t columns = o.size();
  const auto rms = [columns](const auto* x) {
    return std::sqrt(std::inner_product(x, x + columns, x, 0.0) / static_cast<double>(columns));
  };
  const double stated = rms(&failing_.reference->o[r * columns]);
  const float* spre = &failing_.reference->spre[r * columns];
  const double larger = std::max(1.0, rms(o.data()) / std::max(stated, 1e-300)), of_row = rms(spre);
  RowMisfit misfit;
  for (std::size_t j = 0; j < columns; ++j) {
    const double before = larger * (answer.has_stated_values ? double{spre[j]} : of_row);
    const double tie = answer.o_tie.empty() ? 0 : answer.o_tie[j],
                 sigma = std::hypot(before, ulp(o[j], problem_.out()) / std::sqrt(12.0), tie);
    const double z = std::abs(got_[r * columns + j] - o[j]) / sigma;
    if (exceeds(z, misfit.largest)) misfit.largest = z;
    misfit.squared += z * z;
    misfit.log_sigmas += std::log(sigma);
  }
  if (failing_.outputs.lse == nullptr) return misfit;
  // If the sum is negative, a kernel may return any LSE.
  if (std::isnan(answer.lse)) return misfit;
  const double got_lse = lse_at(geometry_, failing_.outputs, row(r));
  // An fp32 LSE that is larger than stated has a larger error.
  const double stated_lse = std::abs(failing_.reference->lse[r]),
               larger_lse = std::max(1.0, std::abs(answer.lse) / std::max(1.0, stated_lse));
  misfit.lse = std::abs(got_lse - answer.lse) /
               std::hypot(larger_lse * double{failing_.reference->lse_sigma[r]}, answer.lse_tie);
  return misfit;
}

std::vector<double> RowCalculator::errors(std::size_t r, const CalculatedRow& answer) const {
  const std::vector<double> o = saturated_row(answer.o, problem_.out());
  const std::size_t columns = o.size();
  std::vector<double> errors(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t at = r * columns + j;
    errors[j] = (got_[at] - o[j]) / double{failing_.reference->sigma[at]};
  }
  if (failing_.outputs.lse != nullptr) {
    errors.push_back((lse_at(geometry_, failing_.outputs, row(r)) - answer.lse) /
                     double{failing_.reference->lse_sigma[r]});
  }
  return errors;
}

bool RowCalculator::is_right_on_average(std::size_t r) const {
  CalculatedRow answer = this->answer(row(r), stated(row(r)));
  answer.has_stated_values = false;
  return fits(misfit(r, answer));
}

bool RowCalculator::fits(const RowMisfit& misfit) const {
  return misfit.largest <= lenient * failing_.limits.peak &&
         misfit.squared <= std::pow(lenient * failing_.limits.rms, 2) *
                               static_cast<double>(problem_.head_dim_vo) &&
         misfit.lse <= lenient * failing_.limits.lse;
}

}  // namespace plumbline
