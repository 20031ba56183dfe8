// The limits of the error statistics, and the one predicate that decides.
#pragma once

#include <cstdint>

#include "harness/outcome/statistics_table.h"

namespace plumbline {

struct Problem;
struct RoundingSpec;

// The only predicate that decides an element or a statistic. Returns false if `value` is NaN.
inline bool within(double value, double limit) { return value <= limit; }

// Returns the limits of docs/judging.md for a spec and problem. The limits of maxima grow beyond
// 1e7 elements.
Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements);
// Returns sqrt(limit^2 + 2 ln(elements / 1e7)) beyond 1e7 elements, otherwise `limit`. This keeps
// the false-alarm rate of a maximum constant.
double grown_limit(double limit, std::int64_t elements);
// Returns true if the inputs exclude a case from the suite's sums of shrink and temperature: tied
// logits, constant V, or another input distribution that biases these sums. The spec
// (default_limits().suite_judged) or the number of rows (suite_score_rows) may also exclude the
// case.
bool excludes_suite_scores(const Problem& problem);
// Cases with more rows than this, over all samples and query heads, have no scores in a suite. In
// larger cases, rows that share keys share the error of P, which the scores' variance does not
// include (a legal kernel reached z = 15 at 2048 rows).
inline constexpr std::int64_t suite_score_rows = 150;

}  // namespace plumbline
