// Projects the errors of one output onto the output itself and onto its derivative with respect to
// the softmax scale: docs/judging-formulas.md, "Scale of one output".
#include "harness/reference/scale_test.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/reference/blas_threads.h"
#include "harness/reference/block_worker.h"
#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

// Rows of a block: few enough to keep its matrices over keys in the cache.
constexpr std::int64_t elements_together = 1 << 16, min_rows_together = 8, max_rows_together = 32;
// The limit, in standard deviations of the scores.
constexpr double deviations = 5;

// Sums over clusters of (E - effect N)^2, for any effect. E is a cluster's sum of e_j g_j w_j, N
// its sum of g_j^2 w_j.
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
  double skipped = 0;          // sum p_k (y_k - mean y) over the keys that a kernel may skip
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
    skipped += other.skipped;
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
        columns_(static_cast<std::size_t>(reference.columns)) {}

  void run() {
    head_ = gather_head(reference_context_, of_.sample, of_.head_kv, of_.keys, std::nullopt,
                        HeadForms::products);
    if (!head_.finite) return;
    for (Columns& columns : of_columns_) columns.resize(columns_);
    const auto together = static_cast<std::size_t>(
        std::clamp(elements_together / of_.keys.size(), min_rows_together, max_rows_together));
    for (std::size_t first = 0; first < of_.rows.size(); first += together)
      add_block(std::span(of_.rows).subspan(first, std::min(together, of_.rows.size() - first)));
    for (std::size_t d = 0; d < sums.size(); ++d) {
      for (std::size_t j = 0; j < columns_; ++j)
        sums[d].columns.add(of_columns_[d].errors[j], of_columns_[d].norms[j]);
    }
  }

  std::array<Sums, 2> sums;  // shrink, temperature
  LseSums lse;
  std::int64_t rows = 0;

 private:
  // A row that is judged, at `at` of the block and at `row` of the selection.
  struct JudgedRow {
    std::int64_t at = 0;
    std::size_t row = 0;
    double distance = 0;           // distance_from_sink()
    std::array<double, 2> on_o{};  // sum o_j w_j of each direction
    RowRounding rounding;
  };
  // Sums over rows of each column.
  struct Columns {
    std::vector<double> errors, norms;
    void resize(std::size_t columns) { errors.resize(columns), norms.resize(columns); }
  };

  void add_block(std::span<const std::size_t> rows_of_block) {
    std::vector<RowId> ids;
    for (const std::size_t row : rows_of_block) ids.push_back(reference_.selection.rows[row]);
    block_.start(reference_context_, head_, ids);
    by_scale_.resize(block_.s.size());
    y_.resize(2 * block_.s.size());
    judged_.clear();
    for (std::size_t i = 0; i < ids.size(); ++i)
      start_row(static_cast<std::int64_t>(i), rows_of_block[i]);
    if (judged_.empty()) return;
    const auto judged = static_cast<int>(judged_.size()), columns = static_cast<int>(columns_),
               keys = static_cast<int>(block_.keys), stride = static_cast<int>(block_.stride);
    const double* v = head_.v.data() + block_.first_key * head_.dim_vo;
    for (auto& direction : directions_) direction.resize(judged_.size() * columns_);
    weights_.resize(2 * judged_.size() * columns_);
    // G_j = sum_k p_k (d s_k / d log scale - mean) v_kj
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, judged, columns, keys, 1,
                by_scale_.data(), stride, v, columns, 0, directions_[1].data(), columns);
    for (std::size_t i = 0; i < judged_.size(); ++i) add_errors(i);
    // y_k = sum_j v_kj g_j w_j, for both directions of each row
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 2 * judged, keys, columns, 1,
                weights_.data(), columns, v, columns, 0, y_.data(), stride);
    for (std::size_t i = 0; i < judged_.size(); ++i) add_p_and_s(i);
  }

  // Finds the row's P and its derivative with respect to the logarithm of the scale.
  void start_row(std::int64_t r, std::size_t row) {
    const Model& model = reference_context_.model;
    block_.softmax(r, model);
    const double *p = block_.p_of(r), *s = block_.s_of(r);
    double* by_scale = by_scale_.data() + std::ssize(judged_) * block_.stride;
    const auto [begin, end] = block_.keys_of(r);
    std::fill(by_scale, by_scale + begin, 0.0);
    std::fill(by_scale + end, by_scale + block_.stride, 0.0);
    for (std::int64_t k = begin; k < end; ++k)
      by_scale[k] = block_.by_log_scale(r * block_.stride + k);
    // mean_s is the mean of the logits, `mean` that of their derivatives d s / d log scale.
    double weight = 0, mean_s = 0, mean = 0, variance = 0;
#pragma omp simd reduction(+ : weight, mean_s, mean)
    for (std::int64_t k = begin; k < end; ++k) {
      weight += p[k];
      mean_s += p[k] * s[k];
      mean += p[k] * by_scale[k];
    }
    mean_s /= weight;
#pragma omp simd reduction(+ : variance)
    for (std::int64_t k = begin; k < end; ++k) variance += p[k] * square(s[k] - mean_s);
    // Leaves out nearly flat rows: all have the same errors of P, which add up over rows.
    if (!(std::sqrt(variance / weight) > 8 * model.u_p)) return;
    for (std::int64_t k = begin; k < end; ++k) by_scale[k] = p[k] * (by_scale[k] - mean);
    ++rows;
    add_lse(row, mean, weight);
    JudgedRow& judged = judged_.emplace_back();
    judged.at = r, judged.row = row;
    judged.distance = distance_from_sink(r, weight);
    if (!reference_.plain_p.empty() && reference_.plain_p[row] != 0) {
      roundings_.set_plain(model, block_, r, judged.rounding);
    } else {
      row_cells_.find(model, block_, r, cells_);
      roundings_.find(model, block_, r, cells_, judged.rounding);
    }
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
    const Sink* sink = block_.sink(r);
    if (sink == nullptr) return 0;
    double distance = 0;
    block_.for_seen(r, [&](std::int64_t k) {
      distance += block_.p_of(r)[k] * std::abs(block_.s_of(r)[k] - sink->s);
    });
    return distance / weight * sink->p;
  }

  // Adds the errors of judged row i in both directions: o, and G = d o / d log scale without its
  // component along o. Sets the directions' weights g_j / sigma_j^2.
  void add_errors(std::size_t i) {
    const Model& model = reference_context_.model;
    JudgedRow& judged = judged_[i];
    const std::size_t at = judged.row * columns_;
    const double* o = reference_.o.data() + at;
    double *of_o = directions_[0].data() + i * columns_,
           *of_scale = directions_[1].data() + i * columns_;
    for (auto* per_column : {&precision_, &errors_, &unit_variance_, &stored_})
      per_column->resize(columns_);
    double both = 0, norm = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      const double sigma = reference_.sigma[at + j];
      precision_[j] = 1 / square(sigma);
      errors_[j] = z_[at + j] * sigma;
      unit_variance_[j] = square(output_unit(o[j], model.out)) * model.out_variance;
      stored_[j] = model.rounded_out(o[j]) - o[j];
      of_o[j] = o[j];
      both += of_scale[j] * o[j] * precision_[j];
      norm += o[j] * o[j] * precision_[j];
    }
    for (std::size_t j = 0; j < columns_ && norm > 0; ++j) of_scale[j] -= o[j] * (both / norm);
    for (std::size_t d = 0; d < sums.size(); ++d) {
      add_direction(judged, d, directions_[d].data() + i * columns_,
                    weights_.data() + (2 * i + d) * columns_);
    }
  }

  void add_direction(JudgedRow& judged, std::size_t d, const double* g, double* weights) {
    const double* o = reference_.o.data() + judged.row * columns_;
    Sums& sum = sums[d];
    double *column_errors = of_columns_[d].errors.data(),
           *column_norms = of_columns_[d].norms.data();
    double score = 0, norm = 0, on_o = 0, variance = 0, stored = 0, squares = 0, both = 0,
           norms = 0;
    const double *precision = precision_.data(), *errors = errors_.data(),
                 *unit_variance = unit_variance_.data(), *of_stored = stored_.data();
#pragma omp simd reduction(+ : score, norm, on_o, variance, stored, squares, both, norms)
    for (std::size_t j = 0; j < columns_; ++j) {
      const double w = std::isfinite(precision[j]) ? g[j] * precision[j] : 0,
                   of_error = errors[j] * w, of_norm = g[j] * w;
      weights[j] = w;
      score += of_error;
      norm += of_norm;
      on_o += o[j] * w;
      variance += w * w * unit_variance[j];
      stored += of_stored[j] * w;
      column_errors[j] += of_error;
      column_norms[j] += of_norm;
      squares += of_error * of_error;
      both += of_error * of_norm;
      norms += of_norm * of_norm;
    }
    judged.on_o[d] = on_o;
    sum.score += score;
    sum.norm += norm;
    sum.variance += variance;
    sum.stored += stored;
    sum.of_sinks += judged.distance * norm;
    sum.rows.add(score, norm);
    sum.elements.add({squares, both, norms});
  }

  // Adds the variance of the scores from the roundings of P and S.
  void add_p_and_s(std::size_t i) {
    const Model& model = reference_context_.model;
    const JudgedRow& judged = judged_[i];
    const std::int64_t r = judged.at;
    const PWeights of_p = p_weights(model, block_.total.data()[r], judged.rounding);
    const double* p = block_.p_of(r);
    const auto [begin, end] = block_.keys_of(r);
    std::array<const double*, 2> x{};
    for (std::size_t d = 0; d < sums.size(); ++d) {
      double* y = y_.data() + static_cast<std::int64_t>(2 * i + d) * block_.stride;
      const double on_o = judged.on_o[d];
      double of_rounded_p = 0, of_rounded_s = 0;
      for (std::int64_t k = begin; k < end && model.u_s > 0; ++k)
        of_rounded_s += square(p[k] * block_.rounded_size(model, r, k) * (y[k] - on_o));
      sums[d].skipped += skipped_effect(r, y, on_o);
      for (std::int64_t k = begin; k < end && model.denominator_from_rounded_p; ++k) y[k] -= on_o;
      const auto add = [&](auto variance_of) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t k = begin; k < end; ++k) sum += variance_of(k) * square(y[k]);
        of_rounded_p = sum;
      };
      if (model.p_normalized) {
        add([&, errors = judged.rounding.errors.data()](std::int64_t k) {
          return normalized_variance(model, p[k], errors[k]);
        });
      } else if (of_p.is_plain()) {
        add([&](std::int64_t k) { return square(model.u_p) * of_p.plain(p[k]); });
      } else {
        add([&](std::int64_t k) { return square(model.u_p) * of_p.independent(p[k]); });
      }
      sums[d].variance +=
          of_rounded_p + kappa_coherent * model.s_roundings * square(model.u_s) * of_rounded_s;
      x[d] = y;
    }
    roundings_.project_errors(model, block_, r, judged.rounding, x,
                              {&sums[0].shared, &sums[1].shared});
  }

  // Returns by how much skipping all keys below the threshold changes a score. Skipping only some
  // of them causes a part of this change, plus random terms, which the variance over clusters
  // covers.
  double skipped_effect(std::int64_t r, const double* y, double mean) const {
    const Model& model = reference_context_.model;
    if (!(model.skipped_below > 0)) return 0;
    double effect = 0, kept = 1;  // kept: the weight of the other keys and a sink
    block_.for_skipped(model, r, [&](std::int64_t k) {
      effect += block_.p_of(r)[k] * (y[k] - mean);
      kept -= block_.p_of(r)[k];
    });
    return effect / kept;
  }

  const ReferenceContext& reference_context_;
  const Reference& reference_;
  std::span<const float> z_;
  std::span<const double> lse_errors_;
  const Head& of_;
  HeadData head_;
  RowBlock block_;
  RowCells row_cells_;
  Cells cells_;
  RowRoundings roundings_;
  std::size_t columns_;
  std::vector<JudgedRow> judged_;  // of the block
  Buffer<double> by_scale_;        // [judged rows, stride] p_k (d s_k / d log scale - mean)
  Buffer<double> weights_;         // [judged rows, 2, D] g_j / sigma_j^2
  Buffer<double> y_;               // [judged rows, 2, stride]
  std::array<Buffer<double>, 2> directions_;                         // [judged rows, D]
  std::vector<double> precision_, errors_, unit_variance_, stored_;  // of one row, [D]
  std::array<Columns, 2> of_columns_;
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
  test.limit =
      smallest + (deviations * std::sqrt(std::max(sums.variance, clusters)) + shared +
                  std::abs(sums.stored) + of_logits * sums.of_sinks + std::abs(sums.skipped)) /
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
    // The last term is an error of one standard deviation that all rows share. Skipped keys may
    // cause an error of sqrt(shared_slack) standard deviations.
    const double shared = model.skipped_below > 0 ? std::sqrt(shared_slack) : 1;
    tests.lse.limit = (model.u_s > 0 ? model.u_s / 4 : 64 * u32) +
                      deviations / std::sqrt(all_lse.norm) + shared * all_lse.drift / all_lse.norm;
  }
  return tests;
}

}  // namespace plumbline
