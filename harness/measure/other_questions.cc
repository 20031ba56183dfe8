// Recomputes rows of a failing output under another mask, window, scale or softcap to find a fit.
#include "harness/measure/other_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "harness/measure/statistics.h"
#include "harness/reference/key_values.h"

namespace plumbline {
namespace {

constexpr double second_look_cost = 5e7, first_look_cost = 5e6;  // multiply-adds of a reference
constexpr std::size_t first_look_rows = 12;  // worst ones, and as many spread over all
constexpr double rms_of_few_rows = 3;        // limit where a dozen rows share the error of their P
constexpr int scale_steps = 6;               // of Newton's method; it doubles its digits in each

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

// A problem that the kernel may have solved instead, and how to say so.
struct OtherQuestion {
  std::string sentence;
  Problem problem;
  StatedLayout layout;
  int lse_base = 0;  // of the LSE returned, as OutputView has it
};

class OtherQuestions {
 public:
  explicit OtherQuestions(const FailingOutput& failing)
      : geometry_(*failing.geometry),
        problem_(geometry_.problem()),
        layout_(layout_of(geometry_, failing.keys_stated)),
        lse_base_(failing.outputs.lse_base) {
    if (problem_.is_merge()) {
      add_of_merge();
      return;
    }
    const bool has_ranges = !failing.keys_stated && problem_.mask != Mask::custom;
    if (!failing.keys_stated) {
      add_masks();
      add_windows();
    }
    if (has_ranges) add_ends();
    if (!failing.keys_stated) add_padding();
    add_features();
    add_scales();
  }
  std::vector<OtherQuestion> found;

 private:
  void add(std::string sentence, const Problem& problem) {
    found.push_back({std::move(sentence), problem, layout_, lse_base_});
  }

  // Another base of the LSEs, or a part too few.
  void add_of_merge() {
    Problem problem = problem_;
    const bool is_natural = problem_.merge == Merge::natural;
    problem.merge = is_natural ? Merge::base_2 : Merge::natural;
    add(is_natural ? "if the parts' LSEs were of base 2, not natural"
                   : "if the parts' LSEs were natural logarithms, not base 2",
        problem);
    found.back().lse_base = is_natural ? 2 : 0;
    if (geometry_.has_hidden_keys()) return;
    add_ranges("if each token's last part were left out",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{stated.begin, stated.end - 1};
               });
    add_ranges("if each token's first part were left out",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{stated.begin + 1, stated.end};
               });
  }

  void add_masks() {
    const auto with = [&](Mask mask) {
      Problem problem = problem_;
      problem.mask = mask;
      return problem;
    };
    const bool same = layout_.seqlens_q == layout_.seqlens_kv;  // both corners then agree
    switch (problem_.mask) {
      case Mask::none:
        add(same ? "if the mask were causal" : "if the mask were causal, bottom-right",
            with(Mask::causal_bottom_right));
        if (!same) add("if the mask were causal, top-left", with(Mask::causal_top_left));
        return;
      case Mask::causal_top_left:
        if (!same)
          add("if causal were bottom-right (the last query sees all keys) instead of top-left",
              with(Mask::causal_bottom_right));
        break;
      case Mask::causal_bottom_right:
        if (!same)
          add("if causal were top-left (query i sees keys j <= i: PyTorch is_causal) instead of "
              "bottom-right",
              with(Mask::causal_top_left));
        break;
      case Mask::prefix_lm:
      case Mask::block_diagonal:
      case Mask::custom:
        break;
    }
    add(problem_.is_causal() ? "without the causal mask" : "without the mask", with(Mask::none));
  }

  void add_windows() {
    if (problem_.window_left < 0 && problem_.window_right < 0) return;
    Problem problem = problem_;
    problem.window_left = problem.window_right = -1;
    add("without the window", problem);
    for (const std::int64_t change : {-1, 1}) {
      problem = problem_;
      if (problem_.window_left > 0 || (problem_.window_left == 0 && change > 0)) {
        problem.window_left += change;
        add(fmt::format("if the window's left side were {} instead of {}: off by one",
                        problem.window_left, problem_.window_left),
            problem);
      }
      problem = problem_;
      if (!problem_.is_causal() && problem_.window_right + change >= 0 &&
          problem_.window_right >= 0) {
        problem.window_right += change;
        add(fmt::format("if the window's right side were {} instead of {}: off by one",
                        problem.window_right, problem_.window_right),
            problem);
      }
    }
  }

  // One more question in which each row sees the keys that `keys` makes of those it should see.
  template <class Keys>
  void add_ranges(std::string sentence, const Keys& keys) {
    StatedLayout layout = layout_;
    layout.visible.clear();
    bool differs = false;
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        const KeyRange stated = geometry_.visible_keys(sample, row);
        KeyRange range = keys(sample, row, stated);
        range.begin = std::max<std::int64_t>(range.begin, 0);
        range.end = std::min(range.end, geometry_.length_kv(sample));
        if (range.size() == 0) range = {0, 0};
        differs = differs || !(range == stated);
        layout.visible.push_back(range);
      }
    }
    if (differs) found.push_back({std::move(sentence), problem_, std::move(layout), lse_base_});
  }

  std::int64_t diagonal(std::int64_t sample, std::int64_t row) const {
    return problem_.mask == Mask::causal_top_left
               ? row
               : row + geometry_.length_kv(sample) - geometry_.length_q(sample);
  }

  // Where the visible keys begin and end, off by a little.
  void add_ends() {
    if (problem_.is_causal()) {
      const auto moved = [&](std::int64_t by) {
        return [this, by](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
          const std::int64_t at = diagonal(sample, row);
          const std::int64_t begin = problem_.window_left < 0 ? 0 : at - problem_.window_left;
          return at + 1 + by <= 0 ? KeyRange{}
                                  : KeyRange{stated.size() > 0 ? stated.begin : begin, at + 1 + by};
        };
      };
      add_ranges("if each query saw one key more behind its last: the mask is off by one",
                 moved(1));
      add_ranges("if no query saw its own key: the mask is off by one", moved(-1));
    }
    if (problem_.mask == Mask::prefix_lm) {
      add_ranges("if the prefix were one key shorter: off by one",
                 [this](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
                   return KeyRange{
                       stated.begin,
                       std::max(stated.end - 1, std::min(stated.end, diagonal(sample, row) + 1))};
                 });
    }
    if (problem_.mask == Mask::block_diagonal) {
      add_ranges("if each document began one key early: off by one",
                 [](std::int64_t, std::int64_t, const KeyRange& stated) {
                   return KeyRange{stated.begin - 1, stated.end};
                 });
    }
    add_ranges(
        "if each sample's last key were not seen: off by one in a length",
        [this](std::int64_t sample, std::int64_t, const KeyRange& stated) {
          return KeyRange{stated.begin, std::min(stated.end, geometry_.length_kv(sample) - 1)};
        });
    add_ranges("if each sample's first key were not seen",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{std::max<std::int64_t>(stated.begin, 1), stated.end};
               });
    if (problem_.is_paged()) {
      add_ranges("if the length were the length before this call's tokens were appended",
                 [this](std::int64_t sample, std::int64_t, const KeyRange& stated) {
                   return KeyRange{stated.begin,
                                   std::min(stated.end, geometry_.length_kv(sample) -
                                                            geometry_.length_q(sample))};
                 });
    }
  }

  void add_features() {
    const auto with = [&](auto Problem::*field, auto value, std::string sentence) {
      Problem problem = problem_;
      problem.*field = value;
      add(std::move(sentence), problem);
    };
    if (problem_.softcap != 0) {
      with(&Problem::softcap, 0.0, "if the softcap were not applied");
      with(&Problem::softcap, problem_.softcap * std::numbers::ln2,
           "if the softcap were applied to logits in powers of two: log2(e) comes before it");
      with(&Problem::softcap, problem_.softcap * problem_.softmax_scale(),
           "if the softcap were applied before the softmax scale");
    }
    if (problem_.alibi != Alibi::none)
      with(&Problem::alibi, Alibi::none, "if ALiBi were not applied");
    if (problem_.sinks != Sinks::none)
      with(&Problem::sinks, Sinks::none, "if the attention sinks were left out");
  }

  void add_scales() {
    const double scale = problem_.softmax_scale(), dim = static_cast<double>(problem_.head_dim_qk);
    struct Scale {
      double value;
      std::string_view meaning;
    };
    const std::array scales{
        Scale{1 / std::sqrt(dim), "1/sqrt(head dim)"},
        Scale{1, "the softmax scale is not applied"},
        Scale{1 / dim, "1/head dim"},
        Scale{scale * scale, "the stated one squared: applied twice"},
        Scale{scale * std::numbers::log2e,
              "the stated one times log2(e): exp where exp2 is meant, or log2(e) applied twice"},
        Scale{scale * std::numbers::ln2, "the stated one times ln 2: exp2 where exp is meant"},
    };
    for (const auto& [value, meaning] : scales) {
      if (std::abs(value - scale) < 1e-6 * scale) continue;
      Problem problem = problem_;
      problem.scale = value;
      add(fmt::format("if the scale were {:.6g} ({})", value, meaning), problem);
    }
  }

  // Keys of the padding are seen as if they were valid.
  void add_padding() {
    if (!problem_.is_padded() || problem_.mask != Mask::none || problem_.padding == Padding::left)
      return;
    StatedLayout layout = layout_;
    std::fill(layout.seqlens_kv.begin(), layout.seqlens_kv.end(),
              static_cast<std::int32_t>(problem_.seq_kv));
    if (layout.seqlens_kv != layout_.seqlens_kv)
      found.push_back({"if padded keys were visible: the padding mask is not applied", problem_,
                       layout, lse_base_});
  }

  const Geometry& geometry_;
  const Problem& problem_;
  const StatedLayout layout_;
  const int lse_base_;
};

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
        rows_(telling_rows(failing, 8, first_look_cost)),
        got_(rows_of(*failing.geometry, failing.outputs, *failing.reference)) {}

  // The scale at which the output fits best, found from the stated one on; 0 where the steps do not
  // settle.
  double run() const {
    double scale = failing_.geometry->problem().softmax_scale();
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
    const RowDetail detail = reference_row(geometry, failing_.inputs, *failing_.spec, id);
    const KeyValues key_values(geometry, failing_.inputs.k, failing_.inputs.v,
                               failing_.spec->kv_dequantized_to);
    double mean = 0;
    for (std::size_t n = 0; n < detail.p.size(); ++n)
      mean += detail.p[n] > 0 ? detail.p[n] * detail.s[n] : 0;
    const auto columns = static_cast<std::size_t>(reference.columns);
    std::vector<double> value(columns), gradient(columns, 0.0);
    for (std::size_t n = 0; n < detail.p.size(); ++n) {
      if (!(detail.p[n] > 0)) continue;
      key_values.value(id.sample, detail.keys.begin + static_cast<std::int64_t>(n),
                       id.head / geometry.problem().group(), value);
      for (std::size_t j = 0; j < columns; ++j)
        gradient[j] += detail.p[n] * (detail.s[n] - mean) * value[j];
    }
    for (std::size_t j = 0; j < columns; ++j) {
      step.add(got_[r * columns + j] - detail.o[j], gradient[j],
               double{reference.sigma[r * columns + j]});
    }
    if (failing_.outputs.lse == nullptr) return;
    step.add(lse_at(geometry, failing_.outputs, id) - detail.lse, mean,
             double{reference.lse_sigma[r]});
  }

  const FailingOutput& failing_;
  const StatedLayout layout_;
  const std::vector<std::size_t> rows_;
  const std::vector<double> got_;
};

// A look at few rows first, which most questions do not survive, then at many.
class SecondLook {
 public:
  explicit SecondLook(const FailingOutput& failing)
      : failing_(failing),
        few_(look_at(failing, first_look_rows, first_look_cost)),
        many_(second_look(failing)) {}

  bool explains(const Geometry& geometry, int lse_base) const {
    OutputView outputs = failing_.outputs;
    outputs.lse_base = lse_base;
    Limits loose = failing_.limits;
    loose.rms = std::max(loose.rms, rms_of_few_rows);
    return would_explain(geometry, failing_.inputs, outputs, *failing_.spec, few_, loose) &&
           would_explain(geometry, failing_.inputs, outputs, *failing_.spec, many_,
                         failing_.limits);
  }

 private:
  const FailingOutput& failing_;
  const RowSelection few_, many_;
};

}  // namespace

double squared_error(const FailingOutput& failing, std::size_t row) {
  const auto columns = static_cast<std::size_t>(failing.reference->columns);
  double sum = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double z = failing.comparison->z[row * columns + j];
    if (std::isfinite(z)) sum += z * z;
  }
  return sum;
}

std::vector<std::size_t> telling_rows(const FailingOutput& failing, std::size_t worst,
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
  for (std::size_t i = 0; i < n; ++i) {  // alternately, so that a cut by the cost leaves both kinds
    wanted.push_back(by_error[i].second);
    wanted.push_back(visible[i * visible.size() / n]);
  }
  double cost = 0;
  for (const std::size_t r : wanted) {
    cost += cost_of_row(failing, r);
    if (cost > cost_limit && !rows.empty()) break;
    rows.push_back(r);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

StatedLayout layout_of(const Geometry& geometry, bool keys_stated) {
  StatedLayout layout{geometry.seqlens_q,        geometry.seqlens_kv,   geometry.page_table,
                      geometry.pages_per_sample, geometry.page_count(), {}};
  layout.side = geometry.side;
  if (geometry.problem().is_merge()) layout.mask_bits = geometry.mask_bits;
  if (!keys_stated) return layout;
  for (std::int64_t b = 0; b < geometry.problem().batch; ++b) {
    for (std::int64_t i = 0; i < geometry.length_q(b); ++i)
      layout.visible.push_back(geometry.visible_keys(b, i));
  }
  return layout;
}

RowSelection look_at(const FailingOutput& failing, std::size_t worst, double cost_limit) {
  return selection_of(failing, telling_rows(failing, worst, cost_limit));
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
      telling_rows(failing, static_cast<std::size_t>(rows * second_look_cost / cost / 2) + 1,
                   second_look_cost));
}

bool would_explain(const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
                   const RoundingSpec& spec, const RowSelection& rows, const Limits& limits) {
  const Reference reference = compute_reference(geometry, inputs, spec, rows);
  if (!is_finite(reference)) return false;
  const Comparison comparison = compare(geometry, outputs, reference);
  return comparison.statistics.elements > 0 && within_limits(comparison.statistics, limits);
}

std::vector<std::string> other_questions(const FailingOutput& failing,
                                         const std::function<bool(std::size_t found)>& enough) {
  std::vector<std::string> sentences;
  const SecondLook look(failing);
  for (OtherQuestion& other : OtherQuestions(failing).found) {
    if (enough(sentences.size())) break;
    if (look.explains(Geometry(other.problem, std::move(other.layout)), other.lse_base))
      sentences.push_back("would be explained " + other.sentence);
  }
  return sentences;
}

std::string other_scale(const FailingOutput& failing) {
  const ScaleFit fit(failing);
  const double stated = failing.geometry->problem().softmax_scale(), scale = fit.run();
  const double change = scale / stated - 1;
  if (!(scale > 0) || !(std::abs(change) > 1e-6) ||
      !SecondLook(failing).explains(fit.at(scale), failing.outputs.lse_base))
    return "";
  if (std::abs(change) < 0.5) {
    return fmt::format("the softmax scale is {:.2g} % too {}", 100 * std::abs(change),
                       change > 0 ? "large" : "small");
  }
  return fmt::format("the softmax scale is {:.3g} times the stated one: {:.6g} instead of {:.6g}",
                     scale / stated, scale, stated);
}

}  // namespace plumbline
