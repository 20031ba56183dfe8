// Explains in sentences why an output fails: what would explain it, or what its error looks like.
// Text for reports; no verdict depends on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// The time in which a run may look for causes, shared by its threads. Once it is spent, a case only
// gets the cause that its faults and location suggest, which costs little, and a remark.
class CauseBudget {
 public:
  explicit CauseBudget(std::chrono::microseconds total) : left_(total.count()) {}
  bool spent() const { return left_.load() <= 0; }
  void take(std::chrono::microseconds used) { left_ -= used.count(); }

 private:
  std::atomic<std::int64_t> left_;  // in microseconds
};

// Returns the causes of a failing output, the most telling first: alternative problems that explain
// it, fits, a looser rounding model, its faults and the pattern of its error.
std::vector<std::string> causes(const FailingOutput& failing);

// The first cause, without a search for others, and the looser rounding model.
struct FirstCause {
  std::string sentence;     // "" if there is none
  std::string looser_rung;  // "PyTorch math: S to bf16 and P to bf16 …" (looser_rung.h), or ""
};
FirstCause first_cause(const FailingOutput& failing, CauseBudget& budget);

// Returns a sentence if the kernel is not deterministic. It goes before every other cause, because
// a fit to one of several results explains nothing. Returns "" unless a second call with the same
// inputs changes the output by at least half of its largest error. `first` and `second`: the
// outputs at the reference's rows, [R, D].
std::string cause_of_change(const Reference& reference, std::span<const double> first,
                            std::span<const double> second);

// Returns one sentence for each kind of fault.
std::vector<std::string> causes_of_faults(const Faults& faults);

}  // namespace plumbline
