// Explains in sentences why an output fails: what would explain it, or what its error looks like.
// Text for reports; no verdict depends on it.
#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// The processor time in which a run may look for causes, shared by its threads. Failures of one
// kernel that look alike form a group. A search may take `of_case` times the share of the time that
// is left, so later searches get less. The first failure of each group always gets a search, of at
// least `min_share` times `of_case`. Once half of the total is spent, further failures of a group
// get no search, but the cause that their faults and location suggest, which costs little, and a
// remark. If the total is 0, nothing is searched.
class CauseBudget {
 public:
  static constexpr std::chrono::seconds default_per_case{3};
  static constexpr double min_share = 1.0 / 16;
  explicit CauseBudget(std::chrono::microseconds total,
                       std::chrono::microseconds of_case = default_per_case)
      : per_case_(of_case), total_(total), left_(total) {}
  // Returns the time that the search for a failure of this group may take; 0: it gets none.
  std::chrono::microseconds time_for(const std::string& group);
  void take(std::chrono::microseconds used);

 private:
  const std::chrono::microseconds per_case_, total_;
  std::mutex mutex_;
  std::chrono::microseconds left_;
  std::set<std::string> groups_;
};

// Returns the causes of a failing output, the clearest first. An error after which nothing else is
// looked for is the only cause. Otherwise the list has the alternative problems that explain the
// output or, without any, a fit or a rounding model; then the faults and, unless an
// alternative explains the output, the place of the error. Sets `explains` unless it is null: true
// if the first sentence is a cause, false for a fault or a place.
std::vector<std::string> causes(const FailingOutput& failing, bool* explains = nullptr);

// The first cause, without a search for others, and the looser rounding model. The search runs in
// the calling thread alone, so that its processor time does not depend on other load.
struct FirstCause {
  std::string sentence;     // "" if there is none; with a remark if the search was cut
  std::string looser_rung;  // "PyTorch math: S to bf16 and P to bf16 …" (looser_rung.h), or ""
  // The search found the sentence: an alternative, a fit or a rounding model. False for an error
  // after which nothing else is looked for, a location or a fault.
  bool explains = false;
};
FirstCause first_cause(const FailingOutput& failing, const std::string& kernel,
                       CauseBudget& budget);

// Returns a sentence if the kernel is not deterministic. This sentence goes before every other
// cause, because a fit to one of several results explains nothing. Returns "" unless a second call
// with the same inputs changes the output by at least half of its largest error. `first` and
// `second`: the outputs at the reference's rows, [R, D].
std::string cause_of_change(const Reference& reference, std::span<const double> first,
                            std::span<const double> second);

// Returns one sentence for each kind of fault.
std::vector<std::string> causes_of_faults(const Faults& faults);

}  // namespace plumbline
