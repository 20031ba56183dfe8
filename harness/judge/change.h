// What differs about a case since it was measured before, told beside its verdict. It is listed in
// reports and stored with the run.
#pragma once

#include <string>

#include "harness/judge/verdict.h"

namespace plumbline {

enum class ChangeKind {
  vanished,         // its suite asked for it before, and does not now
  refused,          // it had a result, and the kernel does not take it now
  excused,          // it was fine, and fails now as its suite expects
  untimed,          // it was timed before
  looser_contract,  // it passes terms that ask less than before
  slower,           // by more than noise, and not judged; of older versions' runs alone
  faster,           // by more than noise
  smaller_error,    // likewise
  other_driver,     // measured with another driver or CUDA runtime than before
  // faster by more than noise, and its error grew by more than legal retilings' mostly do
  faster_less_accurate,
};
struct Change {
  ChangeKind kind = ChangeKind::vanished;
  double value = 0, limit = 0;  // of what is measured, a ratio mostly; 0 = nothing is
  std::string text;             // a sentence
  // A failure fails the run, and an open change is lost coverage (exit 5), until somebody accepts
  // it.
  Standing standing = Standing::fine;
  bool operator==(const Change&) const = default;
};

// Of a case of a run. A suite is named once for each of its cases, also where the case stands in
// several.
struct RunChange {
  std::string suite, case_id;
  Change change;
};

}  // namespace plumbline
