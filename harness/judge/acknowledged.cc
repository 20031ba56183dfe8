// Compares a regression with the one that a user acknowledged.
#include "harness/judge/acknowledged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/judge/digest_and_drift.h"
#include "harness/judge/verdict.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

// Used while the spread between nights is unknown.
constexpr double noise_without_spread = 1.25;
constexpr double min_noise_ratio = 1.02, spreads = 3;

bool has_equal_bits(const Outcome& outcome, const Acknowledgement& acknowledged) {
  return !outcome.output_digest.empty() && outcome.output_digest == acknowledged.output_digest;
}

bool can_be_acknowledged(const Judgement& judgement, const Outcome& outcome,
                         const Acknowledgement& acknowledged) {
  switch (judgement.verdict) {
    case Verdict::regressed:
    case Verdict::unconfirmed:
    case Verdict::ambiguous:
      return true;
    case Verdict::fail:
      return has_equal_bits(outcome, acknowledged);
    default:
      return false;
  }
}

// Returns a description of what became worse since the acknowledgement; "" if nothing did.
std::string describe_worsening(const Judgement& judgement, const Outcome& outcome,
                               const Acknowledgement& acknowledged) {
  if (!has_equal_bits(outcome, acknowledged)) {
    const double drift = drift_ratio(outcome.errors.rms, acknowledged.rms);
    if (!(drift <= drift_noise(outcome)))
      return fmt::format("rms {:.3g}, {:.3g} times the acknowledged value", outcome.errors.rms,
                         drift);
  }
  const bool about_time =
      std::any_of(judgement.findings.begin(), judgement.findings.end(),
                  [](const Finding& finding) { return is_timing_finding(finding.kind); });
  if (!about_time) return "";
  if (!(acknowledged.time_ratio > 0)) return "the acknowledged run was not timed";
  const double slower = outcome.time_ratio / acknowledged.time_ratio;
  return slower <= time_noise(judgement)
             ? ""
             : fmt::format("it takes {:.3g} times the acknowledged time", slower);
}

std::string decision_text(const Acknowledgement& acknowledged) {
  return acknowledged.until.empty() ? fmt::format("{}: {}", acknowledged.who, acknowledged.why)
                                    : fmt::format("{}, until {}: {}", acknowledged.who,
                                                  acknowledged.until, acknowledged.why);
}

}  // namespace

double time_noise(const Judgement& judgement) {
  if (!judgement.gated_time || !(judgement.gated_time->spread > 0)) return noise_without_spread;
  return std::max(min_noise_ratio,
                  1 + spreads * std::numbers::sqrt2 * judgement.gated_time->spread);
}

Judgement judge_acknowledged(Judgement judgement, const Outcome& outcome,
                             const Acknowledgement& acknowledged, std::string_view today) {
  if (!can_be_acknowledged(judgement, outcome, acknowledged)) return judgement;
  const std::string said = decision_text(acknowledged);
  if (!acknowledged.until.empty() && acknowledged.until <= today) {  // ISO dates sort as text
    judgement.notes.push_back(fmt::format(
        "the acknowledgement has expired ({}): fix or accept the regression, or acknowledge it "
        "again",
        said));
    return judgement;
  }
  const std::string worse = describe_worsening(judgement, outcome, acknowledged);
  if (!worse.empty()) {
    judgement.notes.push_back(
        fmt::format("is worse than what was acknowledged ({}): {}", said, worse));
    return judgement;
  }
  judgement.notes.push_back(
      fmt::format("acknowledged by {}; the verdict would be {}", said, name(judgement.verdict)));
  judgement.verdict = Verdict::acknowledged;
  return judgement;
}

}  // namespace plumbline
