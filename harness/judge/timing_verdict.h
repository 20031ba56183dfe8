// Judges the time of an outcome against earlier nights, with the gate of harness/timing. All
// outcomes of a night are screened first. Fresh processes then measure the candidates again, and
// conclude_time() decides each. docs/nights.md, "The verdict on a time".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement.h"
#include "harness/timing/time_gate.h"

namespace plumbline {

struct Outcome;

// The remedy of an unconfirmed finding.
inline constexpr std::string_view how_to_measure_again =
    "measure the case again (the reproduce line with --db FILE of this history)";

// Returns the past of a series as the gate takes it: oldest first, natural logarithms of ratios.
std::vector<GateNight> nights_of(const TimeHistory& times);

// Returns true if the gate judges the outcome: timed with a finite ratio, status ok, not reused,
// not an expected failure.
bool is_gated(const Outcome& outcome, const Judgement& judgement);

// `level`: level_of(nights_of(past.times)), if the caller has it.
Screening screen_time(const Outcome& outcome, const Past& past, const GateOptions& options,
                      const GateLevel* level = nullptr);
// Returns true if a time with this ratio, from a second measurement in the same night, would be a
// candidate.
bool would_be_candidate(double ratio, const Past& past, const GateOptions& options);

// Returns true if fresh processes should measure the case again.
bool is_candidate(const Screening& screening);

// Adds the gate's conclusion to `judgement`, which must be complete except for the time:
// - quiet: figures only; too few nights: figures and a note
// - slower or drifted: regressed if outcome.times.fresh_ratios confirm it, ambiguous if they
//   disagree, unconfirmed if there are none, unchanged if they refute it
// - faster: improved if they confirm it, otherwise a note
// - slower or faster: also regressed if they confirm a drift from the pin, but no slowdown
void conclude_time(const Outcome& outcome, const Past& past, const Screening& screening,
                   const GateOptions& options, Judgement& judgement);
// Excludes the time of a suspect night or a disturbed case: the time is not judged, and is not a
// baseline. If a slowdown minus the night's `common_shift` (a logarithm) exceeds twice its limit,
// the verdict is unconfirmed.
void exclude_time(const Outcome& outcome, const Past& past, const Screening& screening,
                  const GateOptions& options, double common_shift, const std::string& why,
                  Judgement& judgement);

}  // namespace plumbline
