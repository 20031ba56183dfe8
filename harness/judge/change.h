// A difference between a case now and when it was last measured. Reports list it next to the
// verdict, and it is stored with the run.
#pragma once

#include <string>

#include "harness/judge/verdict.h"

namespace plumbline {

enum class ChangeKind {
  vanished,         // measured in the last run of its suite, missing now
  refused,          // had a result before; the kernel refuses it now
  excused,          // fine before; fails now as its suite expects
  untimed,          // timed before, not timed now
  looser_contract,  // its contract terms are looser than before
  slower,           // by more than noise, and not judged; only in runs of older versions
  faster,           // by more than noise
  smaller_error,    // by more than noise
  other_driver,     // measured with another driver or CUDA runtime than before
  // faster by more than noise, and the error grew by more than in 19 of 20 legal retilings
  faster_less_accurate,
};
struct Change {
  ChangeKind kind = ChangeKind::vanished;
  double value = 0, limit = 0;  // the measured quantity, usually a ratio; 0 = none
  std::string text;             // a sentence
  // Until a user accepts the change, a failure fails the run (exit 1), and an open change leaves
  // the run open (exit 5).
  Standing standing = Standing::fine;
  bool operator==(const Change&) const = default;
};

// A change of one case of a run. A case in several suites has an entry for each of them.
struct RunChange {
  std::string suite, case_id;
  Change change;
};

}  // namespace plumbline
