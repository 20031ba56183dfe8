// A run in one line. All reports use these functions, so that their numbers agree.
#pragma once

#include <string>

#include "harness/report/tally.h"

namespace plumbline {

struct NightTimes;

// Returns "2 failures in 466 cases, 12 diffs and 30 suite statistics", counting only judged
// statistics; "nothing measured in 4 cases" with exit code 4. For an incomplete run it begins with
// "incomplete: 178 of 374 cases not measured; ".
std::string headline(const RunReport& report);
// Returns "178 of 374 cases not measured", for runs that did not finish.
std::string missing_text(const IncompleteRuns& runs);
// Returns "Incomplete: 178 of 374 cases not measured. 2 failures in 196 cases so far".
std::string incomplete_sentence(const RunReport& report);
// Returns "cases: 139 pass, 2 fail; diffs: 12 pass; suite statistics: 26 pass", without kinds that
// the run lacks.
std::string verdicts_text(const RunCounts& counts);
// Returns "times on cpu x86-64-v3 AMD EPYC: 37 series gated, 1 candidate measured again in 3 fresh
// processes each, 0 confirmed as slower; 0.0004 false alerts expected; cases measured twice: 4, of
// which 0 would have been candidates".
std::string night_times_sentence(const NightTimes& row);

}  // namespace plumbline
