// The verdicts, their names and standings, and the worse of two.
#pragma once

#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

enum class Verdict {
  pass,
  improved,          // fine: a smaller error or a shorter time than before
  first_seen,        // fine: the case has no past
  unsupported,       // unmeasured: the kernel refuses the problem
  changed,           // fine: other bits than before, with another build or driver
  expected_failure,  // fine: a failure that its suite expects
  acknowledged,      // fine for now: a known regression, not worse than when acknowledged
  fail,              // exit 1: beyond a limit, a fault, or looser than the contract
  regressed,         // exit 1: worse or slower than before, by more than noise
  crashed,           // exit 1: the worker died
  timeout,           // exit 1: the worker did not reply in time
  out_of_memory,     // exit 1: more memory than the worker may have
  error,             // exit 1: reported by the kernel or its worker
  support_mismatch,  // exit 1: accepted or refused contrary to the support table
  mistrusted,        // exit 1: there is a result, but nothing can be concluded from it
  unexpected_pass,   // exit 1: no failure, although the suite expects one
  ambiguous,         // exit 5: fresh processes disagree about a regression
  // exit 5: a regression that no undisturbed process could confirm, or a time far beyond its limit
  // on a disturbed machine
  unconfirmed,
};
// Returns the name for people: "first seen" for first_seen, otherwise the verdict's name.
std::string_view in_words(Verdict verdict);

// How a verdict counts. Every colour, sentence, exit code, view and page uses standing_of().
enum class Standing {
  fine,        // exit 0
  open,        // exit 5: undecided, never shown as fine
  failure,     // exit 1
  unmeasured,  // no result to judge; exit 4 if no case of a run has one
};
Standing standing_of(Verdict verdict);
inline bool is_failure(Verdict verdict) { return standing_of(verdict) == Standing::failure; }
inline bool is_open(Verdict verdict) { return standing_of(verdict) == Standing::open; }
// Returns true for a failure or an open verdict: the reader of a report has to act.
inline bool needs_attention(Standing standing) {
  return standing == Standing::failure || standing == Standing::open;
}
inline bool needs_attention(Verdict verdict) { return needs_attention(standing_of(verdict)); }
// Returns true for a failure that its suite expects, and for a regression that a user acknowledged:
// fine, but never shown in green.
bool is_tolerated(Verdict verdict);
// Returns the one that wins if both apply: the first in worst_first (verdict.cc).
Verdict worse_of(Verdict a, Verdict b);

}  // namespace plumbline
