// Tries the explanations of a failing output in a fixed order; a run has a time budget for them.
#include "harness/diagnose/causes.h"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/thread_time.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/counted_keys.h"
#include "harness/diagnose/dropped_weights.h"
#include "harness/diagnose/error_shape.h"
#include "harness/diagnose/exponential_error.h"
#include "harness/diagnose/fp8_factors.h"
#include "harness/diagnose/key_columns.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/diagnose/lost_columns.h"
#include "harness/diagnose/lse_faults.h"
#include "harness/diagnose/nan_keys.h"
#include "harness/diagnose/other_roundings.h"
#include "harness/diagnose/row_variation.h"
#include "harness/diagnose/single_places.h"
#include "harness/diagnose/wrong_lse.h"
#include "harness/diagnose/wrong_places.h"

namespace plumbline {
namespace {

// Share of the squared error that the scale must explain to be named as the place, as in locate().
constexpr double min_share_of_scale = 0.75;

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

// Adds the place of the error. It names no cause, because none explained the output.
void add_location(const FailingOutput& failing, std::vector<std::string>& sentences) {
  const Location& location = *failing.location;
  if (location.kind == LocationKind::scale && location.share < min_share_of_scale) return;
  std::string size =
      location.kind == LocationKind::denominator ? size_of_common_factor(failing) : "";
  add(sentences, size.empty() ? location.text : std::move(size));
}

void add_faults(const FailingOutput& failing, Faults faults, std::vector<std::string>& sentences) {
  for (std::string& sentence : causes_of_lse_faults(failing, faults))
    add(sentences, std::move(sentence));
  for (std::string& sentence : causes_of_faults(faults)) add(sentences, std::move(sentence));
}

// Adds what costs little to find: faults, wrong heads and the location of the error.
void add_pattern(const FailingOutput& failing, std::vector<std::string>& sentences) {
  add_faults(failing, *failing.faults, sentences);
  const std::string heads = wrong_heads_only(failing);
  add(sentences, heads);
  if (heads.empty()) add_location(failing, sentences);
  if (only_lse_fails(failing)) {
    add(sentences, "only the LSE is beyond its limit");
  }
}

// Fits in the order in which they are tried; each costs at most a few references of few rows.
// Between the two lists, explain() tries the rows that alternatives explain and the ranking of
// changes.
using CauseFit = std::string (*)(const FailingOutput&);
constexpr std::array<CauseFit, 17> fits{
    &other_key_heads, &exchanged_heads, &other_fp8_scales,  &other_fp8_encoding,
    &other_sinks,     &other_slopes,    &other_scale,       &larger_key_columns,
    &truncation,      &narrowed,        &narrowed_lse,      &wrong_lse,
    &wrong_places,    &factor_of_heads, &exponential_error, &counted_hidden_keys,
    &wrong_factor};
constexpr std::array<CauseFit, 4> fits_after_ranking{&factor_of_each_row, &dropped_weights,
                                                     &lost_columns, &few_rows};

// Returns the sentence of an error after which no other cause is looked for, or "". Costs little.
std::string final_cause(const FailingOutput& failing) {
  for (const auto& single :
       {&nan_of_hidden_keys, &rows_without_answer, &infinite_lse, &few_elements}) {
    if (std::string sentence = single(failing); !sentence.empty()) return sentence;
  }
  return "";
}

bool exceeds_limits(const FailingOutput& failing) {
  return !within_limits(failing.comparison->statistics, failing.limits);
}

enum class SearchDepth {
  pattern,  // no search
  first,    // ends at the first sentence
  all,      // lists all alternatives that explain the output; if there are none, also the pattern
};

// Adds sentences that explain the output. A looser rounding model comes last, and only if nothing
// else is left to explain: the error has no place, and there are no faults. Returns true if an
// alternative problem explains the output.
bool explain(const FailingOutput& failing, SearchDepth depth, std::vector<std::string>& sentences) {
  ExplainedByAlternatives by = explain_by_alternatives(
      failing, [depth](std::size_t found) { return depth == SearchDepth::first && found > 0; });
  sentences = std::move(by.all);
  if (!sentences.empty()) return true;
  const auto is_over = [&] { return !sentences.empty() || failing.late(); };
  const auto try_all = [&](const auto& of) {
    for (const CauseFit fit : of) {
      if (!is_over()) add(sentences, fit(failing));
    }
  };
  try_all(fits);
  if (!is_over()) add(sentences, std::move(by.wrong_rows));
  const RankedChange change = is_over() ? RankedChange{} : rank_changes(failing);
  if (!change.is_rung) add(sentences, change.sentence);
  try_all(fits_after_ranking);
  if (change.is_rung && !is_over() && failing.location->kind == LocationKind::none &&
      failing.faults->total() == 0)
    add(sentences, change.sentence);
  return false;
}

struct Found {
  std::vector<std::string> sentences;  // the clearest first
  bool is_final = false;               // no other cause is looked for
  bool explains = false;               // the search found the first sentence
  bool is_cut = false;                 // there was no time for all of the search
};

Found search(const FailingOutput& failing, SearchDepth depth) {
  Found found;
  add(found.sentences, final_cause(failing));
  found.is_final = !found.sentences.empty();
  if (found.is_final) return found;
  const bool has_more = !nothing_to_explain(failing);
  const bool by_alternative =
      has_more && depth != SearchDepth::pattern && explain(failing, depth, found.sentences);
  found.explains = !found.sentences.empty();
  found.is_cut = has_more && !found.explains && (depth == SearchDepth::pattern || failing.late());
  if (by_alternative) {
    // An alternative also explains where the error is, and values that are out of range or inexact.
    Faults others = *failing.faults;
    others.out_of_range = others.inexact = 0;
    if (depth == SearchDepth::all) add_faults(failing, others, found.sentences);
  } else if (!found.explains || depth == SearchDepth::all) {
    add_pattern(failing, found.sentences);
  }
  return found;
}

// `time`: the time that was spent if the search was cut.
FirstCause first_of(const Found& found, std::string_view time) {
  FirstCause cause{found.sentences.empty() ? "" : found.sentences.front(), "", found.explains};
  if (!found.is_cut) return cause;
  cause.sentence =
      cause.sentence.empty()
          ? fmt::format("not looked for: {} was spent", time)
          : fmt::format("{} (not looked into further: {} was spent)", cause.sentence, time);
  return cause;
}

// Returns the kernel and the kind of a failure.
std::string group_of(const FailingOutput& failing, const std::string& kernel) {
  std::string group =
      fmt::format("{} {} {}", kernel, name(failing.location->kind), only_lse_fails(failing));
  for (const FaultKind& kind : fault_kinds) {
    if (failing.faults->*kind.count > 0) group += fmt::format(" {}", kind.name);
  }
  return group;
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
      Kind{faults.inf, "infinity: an overflow, as of fp16 beyond 65504, or a division by 0"},
      Kind{faults.out_of_range, "values outside the range of v, which no weighted mean can reach"},
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

std::vector<std::string> causes(const FailingOutput& failing, bool* explains) {
  Found found = search(failing, SearchDepth::all);
  if (explains != nullptr) *explains = found.is_final || found.explains;
  return std::move(found.sentences);
}

std::chrono::microseconds CauseBudget::time_for(const std::string& group) {
  const std::lock_guard lock(mutex_);
  const bool is_first = groups_.insert(group).second;
  if (total_ <= total_.zero()) return total_.zero();
  const double left = static_cast<double>(left_.count()) / static_cast<double>(total_.count());
  if (!is_first && left <= 0.5) return total_.zero();
  return std::chrono::microseconds(static_cast<std::int64_t>(
      std::max(left, min_share) * static_cast<double>(per_case_.count())));
}

void CauseBudget::take(std::chrono::microseconds used) {
  const std::lock_guard lock(mutex_);
  left_ -= used;
}

FirstCause first_cause(const FailingOutput& failing, const std::string& kernel,
                       CauseBudget& budget) {
  const bool searches = !nothing_to_explain(failing) || exceeds_limits(failing);
  const std::chrono::microseconds allowed =
      searches ? budget.time_for(group_of(failing, kernel)) : std::chrono::microseconds(0);
  if (allowed == allowed.zero())
    return first_of(search(failing, SearchDepth::pattern), "the run's time for causes");
  FirstCause cause;
  // In an arena of one thread, all processor time of the search is that of this thread.
  tbb::task_arena alone(1);
  alone.execute([&] {
    const auto start = thread_time();
    FailingOutput limited = failing;
    limited.late = [start, allowed] { return thread_time() - start > allowed; };
    const Found found = search(limited, SearchDepth::first);
    cause = first_of(found, "the time of a search");
    const auto rung =
        found.is_final || !exceeds_limits(failing) ? std::nullopt : looser_rung(limited);
    if (rung) cause.looser_rung = fmt::format("{}: {}", rung->name, rung->rounds);
    budget.take(std::chrono::duration_cast<std::chrono::microseconds>(thread_time() - start));
  });
  return cause;
}

}  // namespace plumbline
