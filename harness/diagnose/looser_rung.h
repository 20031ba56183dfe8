// Which rung of the ladder permits more than the spec judged by, and would explain an output as a
// whole. Words for people; nothing here decides.
#pragma once

#include <optional>

#include "harness/diagnose/failing_output.h"
#include "harness/diagnose/ladder.h"

namespace plumbline {

// The log-likelihood of normal errors with the reference's scales; `lse_errors` has one per row.
double log_likelihood(const Reference& reference, const Comparison& comparison,
                      const std::vector<double>& lse_errors);

// Whether the output would pass by a spec on these rows: all limits of output and LSE, and the
// tests of the scale of both. Answers the log-likelihood of its errors, were they normal with the
// spec's scales; nothing where it would not pass. `comparison`: with that spec's reference, if
// wanted.
std::optional<double> likelihood_by(const FailingOutput& failing, const RoundingSpec& spec,
                                    const RowSelection& rows, Comparison* comparison = nullptr);

// The likeliest of the rungs by which the output would pass (docs/judging-formulas.md, "Scale of
// one output", has the tests of the scale). Looks at the rows of second_look(), and of rows that
// have no reference at what is known of them. Nothing where there are faults: no rounding explains
// those.
std::optional<Rung> looser_rung(const FailingOutput& failing);

}  // namespace plumbline
