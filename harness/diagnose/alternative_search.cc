// Recomputes rows of a failing output under another mask, window, scale or softcap to find a fit.
#include "harness/diagnose/alternative_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "harness/compare/statistics.h"
#include "harness/diagnose/alternative_problems.h"
#include "harness/diagnose/error_parts.h"
#include "harness/diagnose/error_shape.h"
#include "harness/reference/row_replay.h"
#include "harness/reference/scale_test.h"

namespace plumbline {
namespace {

constexpr double second_look_cost = 5e7, first_look_cost = 5e6;  // multiply-adds of a reference
constexpr std::size_t first_look_rows = 12;   // worst rows, and as many spread evenly
constexpr double rms_of_few_rows = 3;         // loose limit
constexpr int scale_steps = 6;                // Newton steps, each of which doubles the digits
constexpr double scale_test_rows_cost = 5e7;  // multiply-adds
constexpr double large_change = 0.1;          // of a scale, relative
// Share of a scale's change that the output has to show if only the LSE exceeds its limit.
constexpr double min_share_in_output = 0.5;
// Scales to start from, as factors of the stated one.
constexpr std::array scale_starts{1.0, 0.5, 2.0, 0.25, 4.0};

double cost_of_row(const FailingOutput& failing, std::size_t r) {
  const Problem& problem = failing.geometry->problem();
  return static_cast<double>(failing.reference->visible[r]) *
         static_cast<double>(problem.head_dim_qk + problem.head_dim_vo);
}

RowSelection selection_of(const FailingOutput& failing, const std::vector<std::size_t>& indices) {
  RowSelection selection{{}, true, failing.reference->selection.rows_total};
  for (const std::size_t r : indices)
    selection.rows.push_back(failing.reference->selection.rows[r]);
  return selection;
}

// Numerator and denominator of a least-squares step of log(scale).
struct ScaleStep {
  double along = 0, squared = 0;
  void add(double error, double gradient, double sigma) {
    if (!(sigma > 0) || !std::isfinite(error)) return;
    along += error * gradient / (sigma * sigma);
    squared += gradient * gradient / (sigma * sigma);
  }
};

class ScaleFit {
 public:
  explicit ScaleFit(const FailingOutput& failing)
      : failing_(failing),
        layout_(layout_of(*failing.geometry, failing.keys_stated)),
        rows_(informative_rows(failing, 8, first_look_cost)),
        got_(rows_of(*failing.geometry, failing.outputs, *failing.reference)) {}

  // Returns the scale at which the output fits best, starting from `scale`; 0 if the steps do not
  // converge.
  double run(double scale) const {
    for (int i = 0; i < scale_steps; ++i) {
      const double step = step_at(scale);
      if (!std::isfinite(step)) return 0;
      scale *= std::exp(std::clamp(step, -0.7, 0.7));
      if (std::abs(step) < 1e-6) return scale;
    }
    return 0;
  }

  Geometry at(double scale) const {
    Problem problem = failing_.geometry->problem();
    problem.scale = scale;
    return Geometry(problem, layout_);
  }

 private:
  double step_at(double scale) const {
    const Geometry geometry = at(scale);
    ScaleStep step;
    for (const std::size_t r : rows_) add_row(geometry, r, step);
    return step.along / step.squared;
  }

  void add_row(const Geometry& geometry, std::size_t r, ScaleStep& step) const {
    const Reference& reference = *failing_.reference;
    const RowId& id = reference.selection.rows[r];
    const ReferenceContext context(geometry, failing_.inputs, *failing_.spec);
    RowReplay replay(context, id);
    const RowDetail detail = replay.row(id);
    const auto columns = static_cast<std::size_t>(reference.columns);
    const std::vector<double> gradient = replay.gradient(detail);
    for (std::size_t j = 0; j < columns; ++j) {
      step.add(got_[r * columns + j] - detail.o[j], gradient[j],
               double{reference.sigma[r * columns + j]});
    }
    if (failing_.outputs.lse == nullptr) return;
    step.add(lse_at(geometry, failing_.outputs, id) - detail.lse, mean_logit(detail),
             double{reference.lse_sigma[r]});
  }

  const FailingOutput& failing_;
  const StatedLayout layout_;
  const std::vector<std::size_t> rows_;
  const std::vector<double> got_;
};

// If mask bits take the place of a causal mask in `other`, its LSE has the part of the bias that
// the spec's LSE lacks. Returns the output's LSEs with this part added. Otherwise returns nothing.
std::vector<float> lse_with_row_bias(const FailingOutput& failing, const Geometry& other) {
  const Geometry& stated = *failing.geometry;
  const bool is_needed = failing.spec->lse_without_row_bias && failing.outputs.lse != nullptr &&
                         shares_alibi_bias(stated.problem()) && !stated.side.alibi_slopes.empty() &&
                         other.problem().mask == Mask::custom;
  if (!is_needed) return {};
  const auto* given = static_cast<const float*>(failing.outputs.lse);
  std::vector<float> whole(given, given + stated.row_shape.elements);
  const double unit = failing.outputs.lse_base == 2 ? std::numbers::ln2 : 1;
  for (std::int32_t sample = 0; sample < stated.problem().batch; ++sample) {
    for (std::int32_t row = 0; row < stated.length_q(sample); ++row) {
      for (std::int32_t head = 0; head < stated.problem().heads_q; ++head) {
        const double bias =
            logit_shape(stated, stated.side, {sample, head, row}).bias_of_row(0) / unit;
        float& lse = whole[static_cast<std::size_t>(stated.lse_offset(sample, row, head))];
        lse = static_cast<float>(lse - bias);
      }
    }
  }
  return whole;
}

// Compares few rows first, which rejects most alternatives cheaply, then many rows.
class SecondLook {
 public:
  explicit SecondLook(const FailingOutput& failing)
      : failing_(failing), few_(first_look(failing)), many_(second_look(failing)) {}

  // Looks only at these row positions from now on.
  void only(const std::set<std::int64_t>& positions) {
    const auto is_other = [&](const RowId& id) { return !positions.contains(id.row); };
    std::erase_if(few_.rows, is_other);
    std::erase_if(many_.rows, is_other);
  }

  bool explains(const Geometry& geometry, int lse_base) const {
    OutputView outputs = failing_.outputs;
    outputs.lse_base = lse_base;
    const std::vector<float> whole = lse_with_row_bias(failing_, geometry);
    if (!whole.empty()) outputs.lse = whole.data();
    return would_explain(geometry, failing_.inputs, outputs, *failing_.spec, few_,
                         limits_of_first_look(failing_.limits)) &&
           would_explain(geometry, failing_.inputs, outputs, *failing_.spec, many_,
                         failing_.limits);
  }

 private:
  const FailingOutput& failing_;
  RowSelection few_, many_;
};

// Returns true if rounding alone does not move the scale from the stated one to that of `fitted`,
// which explains the output. test_scale() is linear in the scale, so after a large change it leaves
// an error beyond rounding. Then the test at the fitted scale also counts.
bool exceeds_scale_limit(const FailingOutput& failing, const Geometry& fitted) {
  const double stated_scale = failing.geometry->problem().softmax_scale(),
               scale = fitted.problem().softmax_scale();
  const ScaleTests stated = test_scale(
      *failing.geometry, failing.inputs, *failing.spec, *failing.reference, failing.comparison->z,
      lse_errors(*failing.geometry, failing.outputs, *failing.reference), scale_test_rows_cost);
  const double change = scale / stated_scale - 1;
  // The output must also show the scale, because the LSE alone may have a factor.
  if (only_lse_fails(failing) &&
      !(stated.temperature.judged && stated.temperature.effect / change >= min_share_in_output))
    return false;
  for (const ScaleTest* test : {&stated.temperature, &stated.lse}) {
    if (test->percent_of_limit() > 100) return true;
  }
  if (std::abs(change) < large_change) return false;
  const Reference reference =
      compute_reference(fitted, failing.inputs, *failing.spec, second_look(failing));
  const ScaleTests tests =
      test_scale(fitted, failing.inputs, *failing.spec, reference,
                 compare(fitted, failing.outputs, reference).z,
                 lse_errors(fitted, failing.outputs, reference), scale_test_rows_cost);
  const auto exceeds = [&](const ScaleTest& test) {
    return test.judged && std::abs(stated_scale / scale - 1) > test.limit;
  };
  return exceeds(tests.temperature) || exceeds(tests.lse);
}

// Returns the row positions whose error is far beyond rounding.
std::set<std::int64_t> wrong_positions(const FailingOutput& failing) {
  std::set<std::int64_t> wrong;
  for (const auto& [position, part] :
       error_by(*failing.reference, *failing.comparison,
                [](const RowId& id) { return std::int64_t{id.row}; })) {
    if (part.is_wrong()) wrong.insert(position);
  }
  return wrong;
}

}  // namespace

double squared_error(const FailingOutput& failing, std::size_t row) {
  return error_of_row(*failing.comparison, static_cast<std::size_t>(failing.reference->columns),
                      row)
      .squared;
}

std::vector<std::size_t> informative_rows(const FailingOutput& failing, std::size_t worst,
                                          double cost_limit) {
  std::vector<std::size_t> visible;
  for (std::size_t r = 0; r < failing.reference->selection.rows.size(); ++r) {
    if (failing.reference->visible[r] > 0) visible.push_back(r);
  }
  std::vector<std::pair<double, std::size_t>> by_error;
  by_error.reserve(visible.size());
  for (const std::size_t r : visible) by_error.emplace_back(-squared_error(failing, r), r);
  const std::size_t n = std::min(worst, by_error.size());
  std::partial_sort(by_error.begin(), by_error.begin() + static_cast<std::ptrdiff_t>(n),
                    by_error.end());
  std::vector<std::size_t> wanted, rows;
  for (std::size_t i = 0; i < n; ++i) {  // alternate, so that the cost limit keeps both kinds
    wanted.push_back(by_error[i].second);
    wanted.push_back(visible[i * visible.size() / n]);
  }
  double cost = 0;
  for (const std::size_t r : wanted) {
    cost += cost_of_row(failing, r);
    if (cost > cost_limit && !rows.empty()) break;
    rows.push_back(r);
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

StatedLayout layout_of(const Geometry& geometry, bool keys_stated) {
  StatedLayout layout{geometry.seqlens_q,        geometry.seqlens_kv,   geometry.page_table,
                      geometry.pages_per_sample, geometry.page_count(), {}};
  layout.side = geometry.side;
  layout.bias = geometry.bias;
  const bool bits_stated = keys_stated && geometry.has_hidden_keys();
  if (geometry.problem().is_merge() || bits_stated) {
    layout.mask_bits = geometry.mask_bits;
    layout.mask_heads = geometry.mask_heads;
  }
  if (!keys_stated || bits_stated) return layout;
  for (std::int64_t b = 0; b < geometry.problem().batch; ++b) {
    for (std::int64_t i = 0; i < geometry.length_q(b); ++i)
      layout.visible.push_back(geometry.visible_keys(b, i));
  }
  return layout;
}

RowSelection first_look(const FailingOutput& failing) {
  return selection_of(failing, informative_rows(failing, first_look_rows, first_look_cost));
}

Limits limits_of_first_look(Limits limits) {
  limits.rms = std::max(limits.rms, rms_of_few_rows);
  return limits;
}

RowSelection second_look(const FailingOutput& failing) {
  double cost = 0;
  std::vector<std::size_t> all(failing.reference->selection.rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t r : all) cost += cost_of_row(failing, r);
  if (cost <= second_look_cost) return selection_of(failing, all);
  const auto rows = static_cast<double>(std::max<std::size_t>(1, all.size()));
  return selection_of(
      failing,
      informative_rows(failing, static_cast<std::size_t>(rows * second_look_cost / cost / 2) + 1,
                       second_look_cost));
}

bool would_explain(const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
                   const RoundingSpec& spec, const RowSelection& rows, const Limits& limits) {
  const Reference reference = compute_reference(geometry, inputs, spec, rows);
  if (!is_finite(reference)) return false;
  const Comparison comparison = compare(geometry, outputs, reference);
  return comparison.statistics.elements > 0 && within_limits(comparison.statistics, limits);
}

ExplainedByAlternatives explain_by_alternatives(
    const FailingOutput& failing, const std::function<bool(std::size_t found)>& enough) {
  ExplainedByAlternatives sentences;
  if (enough(0)) return sentences;
  const SecondLook look(failing);
  std::optional<SecondLook> at_wrong_rows;
  if (failing.location->kind == LocationKind::row) {
    at_wrong_rows.emplace(failing);
    at_wrong_rows->only(wrong_positions(failing));
  }
  visit_alternatives(failing, [&](AlternativeProblem other) {
    const Geometry geometry(other.problem, std::move(other.layout));
    if (look.explains(geometry, other.lse_base)) {
      sentences.all.push_back("would be explained " + other.sentence);
    } else if (at_wrong_rows && sentences.wrong_rows.empty() &&
               at_wrong_rows->explains(geometry, other.lse_base)) {
      sentences.wrong_rows =
          fmt::format("{}: would be explained {}", failing.location->text, other.sentence);
    }
    return !enough(sentences.all.size());
  });
  return sentences;
}

std::string other_scale(const FailingOutput& failing) {
  const ScaleFit fit(failing);
  const SecondLook look(failing);
  const Problem& problem = failing.geometry->problem();
  const double stated = problem.softmax_scale();
  for (const double start : scale_starts) {
    if (failing.late()) break;
    const double scale = fit.run(stated * start), change = scale / stated - 1;
    if (!(scale > 0) || !(std::abs(change) > 1e-6)) continue;
    const Geometry fitted = fit.at(scale);
    if (!look.explains(fitted, failing.outputs.lse_base) || !exceeds_scale_limit(failing, fitted))
      continue;
    // A wrong scale of fp8 Q or K multiplies the logits in the same way.
    const std::string_view scales = problem.has_fp8_q() || problem.has_fp8_kv()
                                        ? "the softmax scale, or the scale of Q or K, is"
                                        : "the softmax scale is";
    if (std::abs(change) < 0.5) {
      return fmt::format("{} {:.2g} % too {}", scales, 100 * std::abs(change),
                         change > 0 ? "large" : "small");
    }
    return fmt::format("{} {:.3g} times the stated one: {:.6g} instead of {:.6g}", scales,
                       scale / stated, scale, stated);
  }
  return "";
}

}  // namespace plumbline
