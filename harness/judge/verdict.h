// The verdicts, their names, and which of two stands.
#pragma once

#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

enum class Verdict {
  pass,
  improved,          // fine: a smaller error or a shorter time than before
  first_seen,        // fine: the case has no past
  unsupported,       // unmeasured: the kernel does not take the problem
  changed,           // fine: other bits than before, with another build or driver
  expected_failure,  // fine: would be a failure, and its suite says so
  acknowledged,      // fine for now: a regression that somebody has seen, and not worse than then
  fail,              // exit 1: beyond a limit, a fault, or less than the contract pins
  regressed,         // exit 1: worse or slower than before, by more than noise
  crashed,           // exit 1: the worker died
  timeout,           // exit 1: no answer in time
  out_of_memory,     // exit 1: more memory than its worker may have
  error,             // exit 1: the kernel or its worker said so
  support_mismatch,  // exit 1: took or refused what the support table says it does not
  mistrusted,        // exit 1: there is a result, and nothing can be concluded from it
  unexpected_pass,   // exit 1: fine where its suite expects a failure
  ambiguous,         // exit 5: fresh processes disagree about a regression
  // exit 5: a regression, found where there was no kernel to ask again, or far beyond its limit on
  // a machine that was disturbed
  unconfirmed,
};
// As people read it: "first seen" for first_seen, else its name.
std::string_view in_words(Verdict verdict);

// How a verdict counts. Every colour, sentence, exit code, view and page asks standing_of().
enum class Standing {
  fine,        // exit 0
  open,        // exit 5: not settled, and never shown as fine
  failure,     // exit 1
  unmeasured,  // there is no result to judge; exit 4 where no case of a run has one
};
Standing standing_of(Verdict verdict);
inline bool is_failure(Verdict verdict) { return standing_of(verdict) == Standing::failure; }
inline bool is_open(Verdict verdict) { return standing_of(verdict) == Standing::open; }
// True for a failure or an open verdict: the reader of a report has to act.
inline bool wants_attention(Standing standing) {
  return standing == Standing::failure || standing == Standing::open;
}
inline bool wants_attention(Verdict verdict) { return wants_attention(standing_of(verdict)); }
// True for a failure that its suite expects or a user acknowledged. Fine, and never green.
bool is_tolerated(Verdict verdict);
// The one that stands when both apply: how a case ended, fail, support_mismatch, mistrusted,
// unexpected_pass, regressed, unconfirmed, ambiguous, expected_failure, acknowledged, changed,
// improved, first_seen, unsupported, pass; the first of this order wins.
Verdict worse_of(Verdict a, Verdict b);

}  // namespace plumbline
