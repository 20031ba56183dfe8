// Judges the time of an outcome against the nights before it, by the gate of harness/timing. An
// outcome is screened first, together with all others of its night; a candidate is concluded
// once fresh processes have been asked. docs/nights.md, "The verdict on a time".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement.h"
#include "harness/timing/time_gate.h"

namespace plumbline {

struct Outcome;

// The past of a series as the gate takes it: oldest first, natural logarithms of ratios.
std::vector<GateNight> nights_of(const TimeHistory& times);

// Whether the gate looks at it: timed, with a ratio, measured itself, and not expected to fail.
bool is_gated(const Outcome& outcome, const Judgement& judgement);

// `level`: level_of(nights_of(past.times)), where the caller has it.
Screening screen_time(const Outcome& outcome, const Past& past, const GateOptions& options,
                      const GateLevel* level = nullptr);
// Whether a second measurement of the same night, had it been the first, would have been a
// candidate.
bool would_be_candidate(double ratio, const Past& past, const GateOptions& options);

// Whether fresh processes are to be asked.
bool is_candidate(const Screening& screening);

// Adds to `judgement`, which has been judged in everything else, what the gate concludes:
// - quiet or too few nights: nothing but figures
// - a candidate: `confirmed` by outcome.times.fresh_ratios it is regressed or improved; where they
//   disagree ambiguous; where none was asked unconfirmed; refuted it stays what it was.
void conclude_time(const Outcome& outcome, const Past& past, const Screening& screening,
                   const GateOptions& options, Judgement& judgement);
// Does not judge the time of a suspect night or a disturbed case, and keeps it out of baselines. A
// time beyond twice its limit, without the night's common shift (a logarithm), is unconfirmed.
void set_time_aside(const Outcome& outcome, const Past& past, const Screening& screening,
                    const GateOptions& options, double common_shift, const std::string& why,
                    Judgement& judgement);

}  // namespace plumbline
