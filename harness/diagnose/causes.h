// Why an output fails, in words: what would explain it, or what its error looks like. Words for
// people; nothing here decides.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// How long a run may look for causes; its threads share it. What comes too late gets the cause that
// its faults and its location suggest, which costs nothing, and says so.
class CauseBudget {
 public:
  explicit CauseBudget(std::chrono::microseconds total) : left_(total.count()) {}
  bool spent() const { return left_.load() <= 0; }
  void take(std::chrono::microseconds used) { left_ -= used.count(); }

 private:
  std::atomic<std::int64_t> left_;  // in microseconds
};

// Causes of a failing output, the most telling first: other questions that it answers, what a fit
// explains, a rung of the ladder that rounds more, the pattern of its error, its faults.
std::vector<std::string> causes(const FailingOutput& failing);

// The first of them, for which it looks no further, and the looser rung, which stands beside it.
struct FirstCause {
  std::string sentence;     // "" if there is none
  std::string looser_rung;  // "PyTorch math: S to bf16 and P to bf16 …" (looser_rung.h), or ""
};
FirstCause first_cause(const FailingOutput& failing, CauseBudget& budget);

// Goes before every other cause of a kernel that is not deterministic: a fit to one of its answers
// explains nothing. "" unless a second call with the same inputs changes the output by at least
// half of its largest error. `first` and `second`: the outputs at the reference's rows, [R, D].
std::string cause_of_change(const Reference& reference, std::span<const double> first,
                            std::span<const double> second);

// What the counts of faults say, one sentence a kind.
std::vector<std::string> causes_of_faults(const Faults& faults);

}  // namespace plumbline
