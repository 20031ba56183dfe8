#include "harness/check/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace plumbline {
namespace {

constexpr double concentrated = 0.9;  // share of the squared error above which one head is named

void suggest_from_faults(const Faults& faults, std::vector<std::string>& sentences) {
  struct Kind {
    std::int64_t count;
    std::string_view sentence;
  };
  const std::array kinds{
      Kind{faults.unwritten, "elements never written: a tail of rows, heads or columns that no thread covers"},
      Kind{faults.nan, "NaN: a row divided by a denominator of 0 (all keys masked), inf - inf, or memory that was never written"},
      Kind{faults.inf, "infinity: an overflow of fp16, or a division by 0"},
      Kind{faults.out_of_range,
           "values outside the range of v, which no weighted mean can reach: a wrong index (page, stride, head, memory behind the end) or "
           "weights that are not normalised"},
      Kind{faults.empty_rows, "rows that see no key: their output is 0 and their LSE -inf by definition, not a mean or a division by 0"},
      Kind{faults.padded_rows, "padded query rows do not hold what padded_rows states"},
  };
  for (const Kind& kind : kinds) {
    if (kind.count > 0) sentences.emplace_back(kind.sentence);
  }
}

// One head among several that holds the error; whether there is one.
bool suggest_from_heads(const Examination& examination, std::vector<std::string>& sentences) {
  const auto& heads = examination.comparison.head_rms;
  const auto heads_q = static_cast<std::size_t>(examination.trial.outcome.c.problem.heads_q);
  double total = 0;
  std::size_t seen = 0, worst = 0;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (!(heads[i] >= 0)) return false;  // a NaN is everywhere
    total += double{heads[i]} * double{heads[i]};
    seen += heads[i] > 0;
    if (heads[i] > heads[worst]) worst = i;
  }
  if (seen < 2 || !(double{heads[worst]} * double{heads[worst]} > concentrated * total)) return false;
  sentences.push_back(
      fmt::format("one head (head {} of sample {}) holds {:.0f} % of the squared error: a wrong key head, stride or slot of that head",
                  worst % heads_q, worst / heads_q, 100 * double{heads[worst]} * double{heads[worst]} / total));
  return true;
}

void suggest_from_location(const Location& location, std::vector<std::string>& sentences) {
  if (location.kind == "scale") {
    sentences.emplace_back("the logits are scaled: a wrong softmax scale, a scale rounded to 16 bits, or an exp2 that is off");
  } else if (location.kind == "denominator") {
    sentences.emplace_back(
        "all outputs are too large or too small by one factor: the softmax denominator misses or repeats keys, or a rescale is wrong");
  } else if (location.kind == "edge") {
    sentences.emplace_back("the error follows the edge of the visible keys: off by one in the mask, the window or a length");
  } else if (location.kind == "key" && location.description.find("last key") != std::string::npos) {
    sentences.emplace_back("a sample's last key explains the error: off by one in a length, or a tail of keys that is cut off");
  } else if (location.kind == "key") {
    sentences.emplace_back("one key explains the error: it is dropped, repeated, or read from the wrong place");
  }
}

// A problem that the kernel may have solved instead, and how to say so.
struct OtherQuestion {
  std::string sentence;
  Problem problem;
  StatedLayout layout;
};

class OtherQuestions {
 public:
  explicit OtherQuestions(const Dump& dump) : problem_(dump.problem()), layout_(layout_of(dump)) {
    add_scales();
    if (dump.mask_tensor) return;  // the tensor states what is visible
    add_masks();
    add_windows();
    add_padding();
  }
  std::vector<OtherQuestion> found;

 private:
  void add(std::string sentence, const Problem& problem) { found.push_back({std::move(sentence), problem, layout_}); }

  void add_masks() {
    const auto with = [&](Mask mask) {
      Problem problem = problem_;
      problem.mask = mask;
      return problem;
    };
    const bool same = layout_.seqlens_q == layout_.seqlens_kv;  // both corners then agree
    switch (problem_.mask) {
      case Mask::none:
        add(same ? "if the mask were causal" : "if the mask were causal, bottom-right", with(Mask::causal_bottom_right));
        if (!same) add("if the mask were causal, top-left", with(Mask::causal_top_left));
        return;
      case Mask::causal_top_left:
        if (!same) add("if causal were bottom-right (the last query sees all keys) instead of top-left", with(Mask::causal_bottom_right));
        break;
      case Mask::causal_bottom_right:
        if (!same)
          add("if causal were top-left (query i sees keys j <= i: PyTorch is_causal) instead of bottom-right", with(Mask::causal_top_left));
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
      if (problem.window_left >= 0) problem.window_left = std::max<std::int64_t>(0, problem.window_left + change);
      add(fmt::format("if the window's left side were {} instead of {}: off by one", problem.window_left, problem_.window_left), problem);
    }
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
        Scale{scale * std::numbers::log2e, "the stated one times log2(e): exp where exp2 is meant, or log2(e) applied twice"},
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
    if (!problem_.is_padded() || problem_.mask != Mask::none || problem_.padding == Padding::left) return;
    StatedLayout layout = layout_;
    std::fill(layout.seqlens_kv.begin(), layout.seqlens_kv.end(), static_cast<std::int32_t>(problem_.seq_kv));
    if (layout.seqlens_kv != layout_.seqlens_kv)
      found.push_back({"if padded keys were visible: the padding mask is not applied", problem_, layout});
  }

  const Problem& problem_;
  const StatedLayout layout_;
};

}  // namespace

std::vector<std::string> suggest_from_pattern(const Examination& examination) {
  std::vector<std::string> sentences;
  const Outcome& outcome = examination.trial.outcome;
  const auto& findings = examination.trial.judgement.findings;
  suggest_from_faults(outcome.faults, sentences);
  const bool one_head = suggest_from_heads(examination, sentences);
  if (!one_head) suggest_from_location(outcome.location, sentences);
  const bool only_lse =
      !findings.empty() && std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.statistic == "lse"; });
  if (only_lse) {
    sentences.emplace_back(
        "only the LSE is beyond its limit: another base or scale of the LSE, or an error too small to show in the output");
  }
  return sentences;
}

std::vector<std::string> suggest_other_questions(const Dump& dump, const RoundingSpec& spec) {
  std::vector<std::string> sentences;
  for (const OtherQuestion& other : OtherQuestions(dump).found) {
    if (would_explain(dump, other.problem, other.layout, spec)) sentences.push_back("would be explained " + other.sentence);
  }
  return sentences;
}

}  // namespace plumbline
