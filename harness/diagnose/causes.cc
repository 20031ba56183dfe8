// Tries the explanations of a failing output in a fixed order; a run has a time budget for them.
#include "harness/diagnose/causes.h"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/base/thread_time.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/dropped_weights.h"
#include "harness/diagnose/error_shape.h"
#include "harness/diagnose/exponential_error.h"
#include "harness/diagnose/key_columns.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/diagnose/lost_columns.h"
#include "harness/diagnose/other_roundings.h"
#include "harness/diagnose/row_variation.h"
#include "harness/diagnose/single_places.h"
#include "harness/diagnose/wrong_lse.h"
#include "harness/diagnose/wrong_places.h"

namespace plumbline {
namespace {

// Share of the squared error that a wrong scale must explain to be named.
constexpr double min_share_of_scale = 0.5;

void add(std::vector<std::string>& sentences, std::string sentence) {
  if (!sentence.empty()) sentences.push_back(std::move(sentence));
}

bool nothing_to_explain(const FailingOutput& failing) {
  // No alternative problem explains NaN, infinity or a row output besides the LSE. Rows without
  // keys or without a reference are not compared.
  ErrorStatistics compared = failing.comparison->statistics;
  compared.has_elsewhere = false;
  for (const RowOutput output : further_row_outputs)
    compared.*row_statistics[output].measured = false;
  return compared.elements == 0 || failing.faults->nan > 0 || failing.faults->inf > 0 ||
         failing.faults->unwritten > 0 || within_limits(compared, failing.limits);
}

void add_location(const FailingOutput& failing, std::vector<std::string>& sentences) {
  const Location& location = *failing.location;
  const std::string& where = location.text;
  if (location.kind == LocationKind::scale) {
    if (location.share < min_share_of_scale) return;
    add(sentences, where +
                       ": the softmax scale is wrong or rounded to 16 bits, or exp2 is not "
                       "accurate");
  } else if (location.kind == LocationKind::denominator) {
    add(sentences, nearest_factor(failing));
  } else if (location.kind == LocationKind::none) {
    if (!nothing_to_explain(failing) && !only_lse_fails(failing))
      add(sentences, denominator_by_lse(failing));
  } else if (location.kind == LocationKind::edge) {
    add(sentences, where +
                       ": the error follows the edge of the visible keys: the mask, the window or "
                       "a length is off by one");
  } else if (location.kind == LocationKind::key && location.is_last_key) {
    add(sentences, where + ": off by one in a length, or a tail of keys that is cut off");
  } else if (location.kind == LocationKind::key) {
    add(sentences, where + ": that key is dropped, repeated, or read from the wrong place");
  } else {
    add(sentences, where);
  }
}

// Adds the explanations that cost little: faults, wrong heads and the location of the error.
void add_pattern(const FailingOutput& failing, std::vector<std::string>& sentences) {
  for (std::string& sentence : causes_of_faults(*failing.faults))
    add(sentences, std::move(sentence));
  const std::string heads = wrong_heads_only(failing);
  add(sentences, heads);
  if (heads.empty()) add_location(failing, sentences);
  if (only_lse_fails(failing)) {
    add(sentences, "only the LSE is beyond its limit");
  }
}

std::string in_words(const Rung& rung, const RoundingSpec& judged) {
  if (rung.spec.s_rounded != DType::none && judged.s_rounded == DType::none) {
    return fmt::format("would be explained if S were rounded to {}, as MLX and eager do",
                       name(rung.spec.s_rounded));
  }
  return fmt::format("would be explained by what {} rounds: {}", rung.name, rung.rounds);
}

// Fits in the order in which they are tried; each costs at most a few references of few rows.
constexpr std::array<std::string (*)(const FailingOutput&), 20> fits{
    &other_key_heads,    &exchanged_heads,    &other_fp8_scales, &other_sinks,       &other_slopes,
    &other_scale,        &larger_key_columns, &truncation,       &narrowed,          &narrowed_lse,
    &wrong_lse,          &wrong_places,       &factor_of_heads,  &exponential_error, &wrong_factor,
    &explain_wrong_rows, &likeliest_change,   &dropped_weights,  &lost_columns,      &few_rows};

// Returns the sentence of an error after which no other cause is looked for, or "". Costs little.
std::string final_cause(const FailingOutput& failing) {
  for (const auto& single : {&nan_of_hidden_keys, &rows_without_answer, &few_elements}) {
    if (std::string sentence = single(failing); !sentence.empty()) return sentence;
  }
  return "";
}

bool exceeds_limits(const FailingOutput& failing) {
  return !within_limits(failing.comparison->statistics, failing.limits);
}

// Adds the first fit that explains the output, unless there is a sentence.
void add_fit(const FailingOutput& failing, std::vector<std::string>& sentences) {
  for (const auto& fit : fits) {
    if (!sentences.empty() || failing.late()) return;
    add(sentences, fit(failing));
  }
}

FirstCause searched_cause(const FailingOutput& failing) {
  FirstCause cause;
  cause.sentence = final_cause(failing);
  if (!cause.sentence.empty()) return cause;
  const auto rung = exceeds_limits(failing) ? looser_rung(failing) : std::nullopt;
  if (rung) cause.looser_rung = fmt::format("{}: {}", rung->name, rung->rounds);
  std::vector<std::string> sentences;
  if (!nothing_to_explain(failing)) {
    sentences = explain_by_alternatives(failing, [](std::size_t found) { return found > 0; });
    add_fit(failing, sentences);
    if (sentences.empty() && rung) add(sentences, in_words(*rung, *failing.spec));
  }
  cause.explains = !sentences.empty();
  if (sentences.empty()) add_pattern(failing, sentences);
  if (!sentences.empty()) cause.sentence = sentences.front();
  return cause;
}

FirstCause cause_without_search(const FailingOutput& failing) {
  FirstCause cause;
  cause.sentence = final_cause(failing);
  if (!cause.sentence.empty()) return cause;
  std::vector<std::string> sentences;
  add_pattern(failing, sentences);
  if (!sentences.empty()) cause.sentence = sentences.front();
  if (nothing_to_explain(failing)) return cause;
  cause.sentence =
      sentences.empty()
          ? "not looked for: the run's time for causes was spent"
          : cause.sentence + " (not looked into further: the run's time for causes was spent)";
  return cause;
}

// Returns |a - b| in units of sigma; 0 if both are NaN, infinity if one is.
double distance(double a, double b, double sigma) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double steps = std::abs(a - b) / sigma;
  return std::isnan(steps) ? std::numeric_limits<double>::infinity() : steps;
}

}  // namespace

std::string cause_of_change(const Reference& reference, std::span<const double> first,
                            std::span<const double> second) {
  double error = 0, change = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double sigma = reference.sigma[i];
    error = std::max(error, distance(first[i], reference.o[i], sigma));
    change = std::max(change, distance(first[i], second[i], sigma));
  }
  if (change == 0 || 2 * change < error) return "";
  const std::string size =
      std::isinf(change)
          ? "in an element that is finite in only one of them"
          : fmt::format("by up to {:.3g} sigma, and the error is {:.3g} sigma", change, error);
  return fmt::format(
      "the kernel is not deterministic: two calls with the same inputs differ {}. It has a race, "
      "keeps state of an earlier call, reads memory that was never written, or draws random "
      "numbers (dropout)",
      size);
}

std::vector<std::string> causes_of_faults(const Faults& faults) {
  struct Kind {
    std::int64_t count;
    std::string_view sentence;
  };
  const std::array kinds{
      Kind{faults.unwritten,
           "elements never written: a tail of rows, heads or columns that no thread covers"},
      Kind{faults.nan,
           "NaN: a row divided by a denominator of 0 (all keys masked), inf - inf, or memory that "
           "was never written"},
      Kind{faults.inf, "infinity: an overflow of fp16, or a division by 0"},
      Kind{faults.out_of_range,
           "values outside the range of v, which no weighted mean can reach: a wrong index (page, "
           "stride, head, memory after the end) or "
           "weights that are not normalised"},
      Kind{faults.empty_rows,
           "rows that see no key: their output is 0 and their LSE -inf by definition, not a mean "
           "or a division by 0"},
      Kind{faults.padded_rows, "padded query rows do not hold what the padding policy requires"},
      Kind{faults.inexact,
           "a sum that must be exact with these inputs is inexact: an element is dropped, "
           "repeated, or rounded twice"},
      Kind{faults.fence_bytes, "memory outside the output is written: a store without its bound"},
  };
  std::vector<std::string> sentences;
  for (const Kind& kind : kinds) {
    if (kind.count > 0) sentences.emplace_back(kind.sentence);
  }
  return sentences;
}

std::vector<std::string> causes(const FailingOutput& failing) {
  if (std::string cause = final_cause(failing); !cause.empty()) return {std::move(cause)};
  std::vector<std::string> sentences;
  if (!nothing_to_explain(failing)) {
    sentences = explain_by_alternatives(failing, [](std::size_t) { return false; });
    add_fit(failing, sentences);
    if (sentences.empty()) {
      if (const auto rung = looser_rung(failing)) add(sentences, in_words(*rung, *failing.spec));
    }
  }
  add_pattern(failing, sentences);
  return sentences;
}

bool CauseBudget::admits(const std::string& group) {
  const std::lock_guard lock(mutex_);
  const bool is_first = groups_.insert(group).second;
  return left_ > (is_first ? 0 : for_first_);
}

void CauseBudget::take(std::chrono::microseconds used) {
  const std::lock_guard lock(mutex_);
  left_ -= used.count();
}

FirstCause first_cause(const FailingOutput& failing, const std::string& kernel,
                       CauseBudget& budget) {
  const bool searches = !nothing_to_explain(failing) || exceeds_limits(failing);
  const bool is_spent =
      searches && !budget.admits(fmt::format("{} {} {}", kernel, name(failing.location->kind),
                                             only_lse_fails(failing)));
  if (is_spent) return cause_without_search(failing);
  FirstCause cause;
  // In an arena of one thread, all processor time of the search is that of this thread.
  tbb::task_arena alone(1);
  alone.execute([&] {
    const auto start = thread_time();
    FailingOutput limited = failing;
    limited.late = [start, &budget] { return thread_time() - start > budget.per_case(); };
    cause = searched_cause(limited);
    budget.take(std::chrono::duration_cast<std::chrono::microseconds>(thread_time() - start));
  });
  return cause;
}

}  // namespace plumbline
