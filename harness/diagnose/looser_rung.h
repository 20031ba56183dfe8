// Finds a rounding model that permits more than the judged spec and would explain the whole output.
// Text for reports; no verdict depends on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"
#include "harness/diagnose/ladder.h"

namespace plumbline {

// Returns the rounding models for the problem (ladder.h), with the judged spec's kind of LSE.
std::vector<Rung> rungs_of(const FailingOutput& failing);
// Returns "would be explained by what FlashAttention-4 rounds: …" or, for rounded S, "would be
// explained if S were rounded to bf16, as MLX and eager do".
std::string sentence_of(const Rung& rung, const RoundingSpec& judged);

// Returns the log-likelihood of normal errors with the reference's sigmas. `lse_errors`: [R].
double log_likelihood(const Reference& reference, const Comparison& comparison,
                      const std::vector<double>& lse_errors);

// Returns the log-likelihood of the output's errors under `spec` if the output would pass by it on
// these rows: all limits and scale tests of output and LSE. Otherwise returns nullopt. `comparison`
// receives the comparison with that spec's reference, unless it is null.
std::optional<double> likelihood_by(const FailingOutput& failing, const RoundingSpec& spec,
                                    const RowSelection& rows, Comparison* comparison = nullptr);

// Returns the likeliest looser rounding model by which the output would pass, on the rows of
// second_look() and by what is known of rows without a reference. Returns nullopt if there are
// faults, which no rounding explains, or if failing.late() returns true.
// docs/judging-formulas.md, "Scale of one output", has the scale tests.
std::optional<Rung> looser_rung(const FailingOutput& failing);

}  // namespace plumbline
