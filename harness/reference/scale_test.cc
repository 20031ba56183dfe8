// Projects the errors of one output onto the output itself and onto its derivative with respect to
// the softmax scale: docs/judging-formulas.md, "Scale of one output".
#include "harness/reference/scale_test.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"
#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

constexpr std::size_t rows_together = 32;
// The limit, in standard deviations of the scores.
constexpr double deviations = 5;

// Sums over clusters of (e - effect g)^2, for any effect. In a cluster e is the sum of e_j g_j w_j,
// and g the sum of g_j^2 w_j.
struct Clusters {
  double errors = 0, both = 0, norms = 0;
  void add(double e, double g) {
    errors += e * e;
    both += e * g;
    norms += g * g;
  }
  void add(const Clusters& other) {
    errors += other.errors;
    both += other.both;
    norms += other.norms;
  }
  double squares(double effect) const {
    return errors - 2 * effect * both + effect * effect * norms;
  }
};

// Sums of one direction g over rows.
struct Sums {
  double score = 0, norm = 0;  // sum e g w, sum g^2 w; w = 1 / sigma^2
  double variance = 0;         // V1: variance of the score from the spec's roundings
  double stored = 0;           // sum (round(o) - o) g w
  double of_sinks = 0;         // sum (mean |s - sink|) p_sink g^2 w
  // For each maximum m that the kernel may have subtracted: sum of (error of p_k) y_k, with y_k as
  // in add_p_and_s().
  std::vector<double> shared;
  Clusters rows, columns, elements;

  void add(const Sums& other) {
    score += other.score;
    norm += other.norm;
    variance += other.variance;
    stored += other.stored;
    of_sinks += other.of_sinks;
    shared.resize(std::max(shared.size(), other.shared.size()));
    for (std::size_t i = 0; i < other.shared.size(); ++i) shared[i] += other.shared[i];
    rows.add(other.rows);
    columns.add(other.columns);
    elements.add(other.elements);
  }
};

// Sums over rows. e: error of the LSE, L: d LSE / d log scale, s: sigma of the LSE.
struct LseSums {
  double score = 0, norm = 0, drift = 0;  // sum e L / s^2, sum L^2 / s^2, sum |L| / s
};

// Rows of one sample and key head, as indices into the selection.
struct Head {
  std::int64_t sample = 0, head_kv = 0;
  KeyRange keys = no_keys;
  std::vector<std::size_t> rows;
};

class ScaleSums {
 public:
  ScaleSums(const ReferenceContext& question, const Reference& reference, std::span<const float> z,
            std::span<const double> lse_errors, const Head& of)
      : reference_context_(question),
        reference_(reference),
        z_(z),
        lse_errors_(lse_errors),
        of_(of),
        worker_(question.model),
        columns_(static_cast<std::size_t>(reference.columns)) {}

  void run() {
    head_ = gather_head(reference_context_, of_.sample, of_.head_kv, of_.keys);
    if (!head_.finite) return;
    for (auto& columns : of_columns_) columns.resize(columns_);
    for (std::size_t first = 0; first < of_.rows.size(); first += rows_together) {
      const std::size_t count = std::min(rows_together, of_.rows.size() - first);
      std::vector<RowId> ids;
      for (std::size_t i = 0; i < count; ++i)
        ids.push_back(reference_.selection.rows[of_.rows[first + i]]);
      worker_.compute(reference_context_, head_, ids, false);
      for (std::size_t i = 0; i < count; ++i)
        add_row(static_cast<std::int64_t>(i), of_.rows[first + i]);
    }
    for (std::size_t d = 0; d < 2; ++d) {
      for (const auto& [e, g] : of_columns_[d]) sums[d].columns.add(e, g);
    }
  }

  std::array<Sums, 2> sums;  // shrink, temperature
  LseSums lse;
  std::int64_t rows = 0;

 private:
  void add_row(std::int64_t r, std::size_t row) {
    const RowBlock& block = worker_.block;
    const double *p = block.p_of(r), *s = block.s_of(r);
    // mean_s is the mean of the logits, `mean` that of their derivatives d s / d log scale.
    double weight = 0, mean_s = 0, mean = 0;
    block.for_seen(r, [&](std::int64_t k) {
      weight += p[k];
      mean_s += p[k] * s[k];
      mean += p[k] * block.by_log_scale(r * block.stride + k);
    });
    mean_s /= weight;
    double variance = 0;
    block.for_seen(r, [&](std::int64_t k) { variance += p[k] * square(s[k] - mean_s); });
    // Leaves out nearly flat rows: all have the same errors of P, which add up over rows.
    if (!(std::sqrt(variance / weight) > 8 * reference_context_.model.u_p)) return;
    ++rows;
    add_lse(row, mean, weight);
    find_directions(r, row, mean);
    distance_ = distance_from_sink(r, weight);
    roundings_.errors_by_guess(reference_context_.model, block, r, worker_.scales.rounding(r),
                               errors_);
    for (std::size_t d = 0; d < 2; ++d) add_direction(r, row, d);
  }

  // d LSE / d log scale is the mean of the keys' derivatives. If the LSE excludes the sink, it is
  // the mean over the keys alone.
  void add_lse(std::size_t row, double mean, double weight) {
    if (lse_errors_.empty()) return;
    const double sigma = reference_.lse_sigma[row],
                 slope = reference_context_.model.lse_includes_sink ? mean : mean / weight;
    if (!(sigma > 0) || slope == 0) return;
    lse.score += lse_errors_[row] * slope / square(sigma);
    lse.norm += square(slope / sigma);
    lse.drift += std::abs(slope) / sigma;
  }

  // Returns the mean of |s - s_sink| over the keys, times p_sink. A relative error that the logits
  // and the sink share changes the output by at most this factor times the error.
  double distance_from_sink(std::int64_t r, double weight) const {
    const RowBlock& block = worker_.block;
    const Sink* sink = block.sink(r);
    if (sink == nullptr) return 0;
    double distance = 0;
    block.for_seen(r, [&](std::int64_t k) {
      distance += block.p_of(r)[k] * std::abs(block.s_of(r)[k] - sink->s);
    });
    return distance / weight * sink->p;
  }

  // Sets the directions: o, and G = d o / d log scale without its component along o.
  void find_directions(std::int64_t r, std::size_t row, double mean) {
    const RowBlock& block = worker_.block;
    const double* p = block.p_of(r);
    const std::size_t at = row * columns_;
    for (auto& direction : directions_) direction.assign(columns_, 0);
    block.for_seen(r, [&](std::int64_t k) {
      const double w = p[k] * (block.by_log_scale(r * block.stride + k) - mean);
      const double* v = v_of(k);
      for (std::size_t j = 0; j < columns_; ++j) directions_[1][j] += w * v[j];
    });
    double both = 0, norm = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      const double o = reference_.o[at + j], w = 1 / square(double{reference_.sigma[at + j]});
      directions_[0][j] = o;
      both += directions_[1][j] * o * w;
      norm += o * o * w;
    }
    for (std::size_t j = 0; j < columns_ && norm > 0; ++j)
      directions_[1][j] -= directions_[0][j] * (both / norm);
  }

  void add_direction(std::int64_t r, std::size_t row, std::size_t d) {
    const Model& model = reference_context_.model;
    const std::vector<double>& g = directions_[d];
    const std::size_t at = row * columns_;
    Sums& sum = sums[d];
    weights_.resize(columns_);
    double score = 0, norm = 0, on_o = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      const double sigma = reference_.sigma[at + j], o = reference_.o[at + j],
                   w = sigma > 0 ? g[j] / square(sigma) : 0, e = z_[at + j] * sigma,
                   unit = output_unit(o, model.out);
      weights_[j] = w;
      score += e * w;
      norm += g[j] * w;
      on_o += o * w;
      sum.variance += square(w * unit) * model.out_variance;
      sum.stored += (model.rounded_out(o) - o) * w;
      of_columns_[d][j].first += e * w;
      of_columns_[d][j].second += g[j] * w;
      sum.elements.add(e * w, g[j] * w);
    }
    sum.score += score;
    sum.norm += norm;
    sum.of_sinks += distance_ * norm;
    sum.rows.add(score, norm);
    add_p_and_s(r, on_o, sum);
  }

  // Adds the variance of the score from the roundings of P and S, with y_k = sum_j v_kj g_j w_j.
  void add_p_and_s(std::int64_t r, double on_o, Sums& sum) {
    const RowBlock& block = worker_.block;
    const Model& model = reference_context_.model;
    const RowRounding& rounding = worker_.scales.rounding(r);
    const PWeights of_p = p_weights(model, block.total.data()[r], rounding);
    const double* p = block.p_of(r);
    sum.shared.resize(std::max(sum.shared.size(), errors_.size()));
    double of_rounded_p = 0, of_rounded_s = 0;
    block.for_seen(r, [&](std::int64_t k) {
      const double* v = v_of(k);
      double y = 0;
      for (std::size_t j = 0; j < columns_; ++j) y += v[j] * weights_[j];
      const double x = model.denominator_from_rounded_p ? y - on_o : y;
      if (model.p_normalized) {
        of_rounded_p += normalized_variance(model, p[k], rounding.errors.data()[k]) * square(x);
      } else if (model.u_p > 0) {
        of_rounded_p += square(model.u_p) * of_p.independent(p[k]) * square(x);
      }
      if (model.u_s > 0)
        of_rounded_s += square(p[k] * block.rounded_size(model, r, k) * (y - on_o));
      for (std::size_t i = 0; i < errors_.size(); ++i) sum.shared[i] += errors_[i].data()[k] * x;
    });
    sum.variance +=
        of_rounded_p + kappa_coherent * model.s_roundings * square(model.u_s) * of_rounded_s;
  }

  const double* v_of(std::int64_t k) const {
    return head_.v.data() + (worker_.block.first_key + k) * head_.dim_vo;
  }

  const ReferenceContext& reference_context_;
  const Reference& reference_;
  std::span<const float> z_;
  std::span<const double> lse_errors_;
  const Head& of_;
  HeadData head_;
  BlockWorker worker_;
  RowRoundings roundings_;
  std::size_t columns_;
  double distance_ = 0;                            // distance_from_sink() of the current row
  std::array<std::vector<double>, 2> directions_;  // [D]
  std::vector<double> weights_;                    // g_j / sigma_j^2, [D]
  std::vector<std::vector<double>> errors_;        // errors of p_k by maximum, as Sums::shared
  std::array<std::vector<std::pair<double, double>>, 2> of_columns_;
};

// Returns evenly spaced rows with visible keys, as many as the cost allows, by key head.
std::vector<Head> chosen_rows(const Geometry& geometry, const Reference& reference,
                              double cost_limit) {
  const auto& rows = reference.selection.rows;
  double cost = 0;
  for (const std::int32_t visible : reference.visible)
    cost += static_cast<double>(visible) * static_cast<double>(reference.columns);
  const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(cost / cost_limit)));
  std::map<std::pair<std::int64_t, std::int64_t>, Head> heads;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    if (reference.visible[i] == 0) continue;
    const std::int64_t head_kv = rows[i].head / geometry.problem().group();
    Head& head = heads[{rows[i].sample, head_kv}];
    head.sample = rows[i].sample, head.head_kv = head_kv;
    head.keys = joined(head.keys, geometry.visible_keys(rows[i].sample, rows[i].row, rows[i].head));
    head.rows.push_back(i);
  }
  std::vector<Head> result;
  for (auto& [key, head] : heads) result.push_back(std::move(head));
  return result;
}

// `of_logits` is a relative error that all logits share, from a rounded factor.
ScaleTest tested(const Sums& sums, double smallest, double of_logits) {
  ScaleTest test;
  if (!(sums.norm > 0)) return test;
  test.judged = true;
  test.effect = sums.score / sums.norm;
  const double clusters = sums.rows.squares(test.effect) + sums.columns.squares(test.effect) -
                          sums.elements.squares(test.effect);
  double shared = 0;
  for (const double of_guess : sums.shared) shared = std::max(shared, std::abs(of_guess));
  test.limit = smallest + (deviations * std::sqrt(std::max(sums.variance, clusters)) + shared +
                           std::abs(sums.stored) + of_logits * sums.of_sinks) /
                              sums.norm;
  return test;
}

}  // namespace

ScaleTests test_scale(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                      const Reference& reference, std::span<const float> z,
                      std::span<const double> lse_errors, double cost_limit) {
  use_one_blas_thread();
  const ReferenceContext question(geometry, inputs, spec);
  const std::vector<Head> heads = chosen_rows(geometry, reference, cost_limit);
  std::vector<std::array<Sums, 2>> sums(heads.size());
  std::vector<LseSums> lse(heads.size());
  std::vector<std::int64_t> rows(heads.size());
  parallel_for(static_cast<std::int64_t>(heads.size()), [&](std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    ScaleSums of_head(question, reference, z, lse_errors, heads[i]);
    of_head.run();
    sums[i] = std::move(of_head.sums);
    lse[i] = of_head.lse;
    rows[i] = of_head.rows;
  });
  std::array<Sums, 2> all;
  LseSums all_lse;
  ScaleTests tests;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    for (std::size_t d = 0; d < 2; ++d) all[d].add(sums[i][d]);
    all_lse.score += lse[i].score;
    all_lse.norm += lse[i].norm;
    all_lse.drift += lse[i].drift;
    tests.rows += rows[i];
  }
  const Model& model = question.model;
  // Covers a rounded softmax scale, also if its rounded root multiplies both Q and K.
  const double smallest = model.u_s > 0
                              ? model.u_s / 4
                              : std::max({model.u_p, unit_roundoff(model.out), 64 * u32}) / 16;
  const double of_logits = model.u_s > 0 ? model.u_s / 4 : 4 * u32;
  tests.shrink = tested(all[0], smallest, of_logits);
  tests.temperature = tested(all[1], smallest, of_logits);
  if (all_lse.norm > 0) {
    tests.lse.judged = true;
    tests.lse.effect = all_lse.score / all_lse.norm;
    // The last term is an error of one standard deviation that all rows share.
    tests.lse.limit = (model.u_s > 0 ? model.u_s / 4 : 64 * u32) +
                      deviations / std::sqrt(all_lse.norm) + all_lse.drift / all_lse.norm;
  }
  return tests;
}

}  // namespace plumbline
