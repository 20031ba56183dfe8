// Confirms or refutes a regression by two fresh processes.
#include "harness/run/confirmation.h"

#include <algorithm>

#include "harness/run/night_times.h"

namespace plumbline {
namespace {

void replace(StoredOutcome& stored, StoredOutcome fresh) {
  copy_times(fresh.outcome, stored.outcome);
  stored = std::move(fresh);
}

}  // namespace

void apply_confirmation(StoredOutcome& stored, std::array<StoredOutcome, 2> again) {
  const auto failures = std::ranges::count_if(
      again, [](const auto& fresh) { return is_failure(fresh.judgement.verdict); });
  if (failures == 2) {
    if (again[0].judgement.verdict != Verdict::regressed) replace(stored, std::move(again[0]));
    stored.judgement.notes.emplace_back("confirmed in two fresh processes");
    stored.judgement.confirmation = Confirmation::confirmed;
  } else if (failures == 0) {
    replace(stored, std::move(again[0]));
    stored.judgement.notes.emplace_back(
        "looked like a regression at first; two fresh processes did not confirm it");
    stored.judgement.confirmation = Confirmation::refuted;
  } else {
    stored.judgement.verdict = Verdict::ambiguous;
    stored.judgement.notes.emplace_back("two fresh processes disagree");
    stored.judgement.confirmation = Confirmation::disagree;
  }
}

}  // namespace plumbline
