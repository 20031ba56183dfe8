// The limits of the error statistics, and the one predicate that decides.
#pragma once

#include <cstdint>

#include "harness/outcome/statistics_table.h"

namespace plumbline {

struct Problem;
struct RoundingSpec;

// The only place that decides an element or a statistic: false when `value` is NaN.
inline bool within(double value, double limit) { return value <= limit; }

// The table of docs/judging.md for a spec and problem, including growth of the maxima's limits
// beyond 1e7 elements.
Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements);
// sqrt(limit^2 + 2 ln(elements / 1e7)) beyond 1e7 elements, else `limit`: the false-alarm rate of a
// maximum then stays where it was.
double grown_limit(double limit, std::int64_t elements);
// Whether shrink and temperature of a case count in a suite's sum, as far as its problem says: no
// law with tied logits or constant V. (default_limits().suite_judged says what the spec has to say;
// the number of rows is for judge_suites.)
bool has_tie_law(const Problem& problem);
// The most rows, counted over samples and query heads, that a case whose scores count in a suite
// may have: beyond, rows that share keys share the error of P, which the scores' variance does not
// know (a legal kernel reached z = 15 at 2048 rows).
inline constexpr std::int64_t suite_score_rows = 150;

}  // namespace plumbline
