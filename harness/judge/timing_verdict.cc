// Describes what the time gate found about one outcome, and derives the verdict.
#include "harness/judge/timing_verdict.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <string_view>

#include "harness/base/enumeration.h"
#include "harness/base/median.h"
#include "harness/judge/digest_and_drift.h"
#include "harness/judge/verdict.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr std::string_view set_aside = "set aside";
// A slowdown of more than this many limits is reported even if the machine was disturbed.
constexpr double max_excused_limits = 2;

std::string_view in_words(GateFinding finding) {
  switch (finding) {
    case GateFinding::too_few:
      return "too few";
    case GateFinding::quiet:
      return "quiet";
    case GateFinding::slower:
      return "slower";
    case GateFinding::faster:
      return "faster";
    case GateFinding::drifted:
      return "drifted";
  }
  return "";
}

double percent_of(double logarithm) { return 100 * std::expm1(logarithm); }

std::optional<double> pinned_value(const Past& past) {
  if (!past.pin || past.pin->times.ratios.empty()) return std::nullopt;
  return std::log(median(past.pin->times.ratios));
}

// Returns the value that a change is measured from: the level, or the pin if the finding is a
// drift.
double origin_of(const Screening& screening, const Past& past) {
  return screening.finding == GateFinding::drifted ? pinned_value(past).value_or(0)
                                                   : screening.level.level;
}

GatedTime figures(const Screening& screening, const Past& past) {
  GatedTime gated;
  gated.finding = in_words(screening.finding);
  gated.nights = screening.level.nights;
  gated.pool = screening.pool;
  gated.spread = screening.level.spread;
  if (gated.nights > 0 || screening.finding == GateFinding::drifted) {
    const double origin = origin_of(screening, past);
    gated.level = std::exp(origin);
    gated.limit = screening.limit > 0 ? std::exp(origin + screening.limit) : 0;
    gated.change = std::expm1(screening.change);
    gated.deviation = screening.deviation;
  }
  return gated;
}

// "5.1 % slower", "8 times faster".
std::string change_text(double change) {
  const double factor = std::exp(std::abs(change));
  const std::string_view direction = change < 0 ? "faster" : "slower";
  // A percentage from 99.5 on, with two digits, would be printed as "1e+02".
  return factor < 1.95 ? fmt::format("{:.2g} % {}", std::abs(percent_of(change)), direction)
                       : fmt::format("{:.3g} times {}", factor, direction);
}

std::string sentence(const Outcome& outcome, const Past& past, const Screening& screening,
                     const GateOptions& options) {
  const double limit = screening.change < 0 ? -screening.limit : screening.limit;
  const std::string pooled =
      screening.pool == 1 ? "" : fmt::format(" over the last {} nights", screening.pool);
  const std::string from =
      screening.finding == GateFinding::drifted
          ? fmt::format("the {:.4g} of the pinned run {}", std::exp(origin_of(screening, past)),
                        past.pin->outcome.run_id.substr(0, 8))
          : fmt::format("its usual {:.4g} ({} nights, spread {:.2g} %)",
                        std::exp(screening.level.level), screening.level.nights,
                        percent_of(screening.level.spread));
  // Smaller shifts do not change the last printed digit.
  constexpr double told = 0.0005;
  const std::string machine = std::abs(options.common_shift) < told
                                  ? ""
                                  : fmt::format(" after the machine's shift ({}) is subtracted",
                                                change_text(options.common_shift));
  return fmt::format(
      "takes {:.4g} times the sentinel's time{}, {} than {}{}; {:.2g} % is within noise",
      outcome.time_ratio, pooled, change_text(screening.change), from, machine,
      std::abs(percent_of(limit)));
}

std::string fresh_sentence(const Outcome& outcome) {
  std::string ratios;
  for (const double ratio : outcome.times.fresh_ratios)
    ratios += fmt::format("{}{:.4g}", ratios.empty() ? "" : ", ", ratio);
  return ratios.empty() ? "no fresh process measured it again"
                        : fmt::format("fresh processes took {} times the sentinel's time", ratios);
}

void add_finding(Verdict verdict, const Screening& screening, std::string text,
                 Judgement& judgement) {
  judgement.verdict = worse_of(judgement.verdict, verdict);
  judgement.findings.push_back(
      {screening.finding == GateFinding::drifted ? FindingKind::time_from_pin : FindingKind::time,
       std::exp(screening.change), std::exp(screening.limit), std::move(text)});
}

// Returns a drift from the pin that fresh processes confirm although the candidate was another
// finding. The mean of the fresh processes replaces tonight's own time, which may be a spike.
std::optional<Screening> confirmed_drift(const Screening& screening, const Past& past,
                                         const std::vector<double>& fresh,
                                         const GateOptions& options) {
  const auto pinned = pinned_value(past);
  const auto nights = nights_of(past.times);
  if (!pinned || screening.finding == GateFinding::drifted || nights.size() < min_nights)
    return std::nullopt;
  const double shown =
      std::accumulate(fresh.begin(), fresh.end(), 0.0) / static_cast<double>(fresh.size());
  Screening drift = screen_drift(nights, shown, *pinned, options);
  if (drift.finding != GateFinding::drifted ||
      confirm(drift, nights, shown, fresh, pinned, options) != Confirmation::confirmed)
    return std::nullopt;
  drift.change_tonight = screening.change_tonight;
  drift.deviation_tonight = screening.deviation_tonight;
  return drift;
}

void add_figures(const Outcome& outcome, const Past& past, const Screening& screening,
                 Judgement& judgement) {
  judgement.gated_time = figures(screening, past);
  if (screening.level.nights > 0) {
    judgement.time_against_past = TimeAgainstPast{
        screening.level.nights, outcome.time_ratio / std::exp(screening.level.level)};
  }
}

}  // namespace

std::vector<GateNight> nights_of(const TimeHistory& times) {
  std::vector<GateNight> nights;
  for (std::size_t i = times.ratios.size(); i-- > 0;) {
    if (!(times.ratios[i] > 0)) continue;
    GateNight& night = nights.emplace_back();
    night.value = std::log(times.ratios[i]);
    if (i < times.fresh.size()) {
      for (const double ratio : times.fresh[i])
        if (ratio > 0) night.fresh.push_back(std::log(ratio));
    }
    night.starts_level = i < times.starts_level.size() && times.starts_level[i];
  }
  return nights;
}

bool is_gated(const Outcome& outcome, const Judgement& judgement) {
  return outcome.timed && outcome.status == Status::ok && outcome.reused_from.empty() &&
         outcome.time_ratio > 0 && std::isfinite(outcome.time_ratio) &&
         judgement.verdict != Verdict::expected_failure;
}

Screening screen_time(const Outcome& outcome, const Past& past, const GateOptions& options,
                      const GateLevel* level) {
  return screen(nights_of(past.times), std::log(outcome.time_ratio), pinned_value(past), options,
                level);
}

bool would_be_candidate(double ratio, const Past& past, const GateOptions& options) {
  return is_candidate(screen(nights_of(past.times), std::log(ratio), pinned_value(past), options));
}

bool is_candidate(const Screening& screening) {
  return screening.finding != GateFinding::too_few && screening.finding != GateFinding::quiet;
}

void conclude_time(const Outcome& outcome, const Past& past, const Screening& screening,
                   const GateOptions& options, Judgement& judgement) {
  add_figures(outcome, past, screening, judgement);
  if (screening.finding == GateFinding::too_few) {
    std::string text = fmt::format("time not judged yet ({} of {} nights)",
                                   screening.level.total_nights, min_nights);
    if (screening.level.nights > 0) {
      text += fmt::format(": {:.3g} times its usual time so far",
                          outcome.time_ratio / std::exp(screening.level.level));
    }
    judgement.notes.push_back(std::move(text));
  }
  if (!is_candidate(screening)) return;
  std::vector<double> fresh;
  for (const double ratio : outcome.times.fresh_ratios) fresh.push_back(std::log(ratio));
  const std::string text = sentence(outcome, past, screening, options);
  const bool is_faster = screening.finding == GateFinding::faster;
  if (fresh.empty()) {
    // Faster is fine, confirmed or not.
    if (is_faster) return judgement.notes.push_back(text + "; no fresh process measured it again");
    judgement.notes.push_back(
        fmt::format("unconfirmed: no fresh process gave a time, or each was disturbed; {}, or "
                    "accept it with a reason",
                    how_to_measure_again));
    return add_finding(Verdict::unconfirmed, screening, text, judgement);
  }
  const Confirmation said = confirm(screening, nights_of(past.times), std::log(outcome.time_ratio),
                                    fresh, pinned_value(past), options);
  judgement.confirmation = said;
  const std::string told = fmt::format("{}; {}", text, fresh_sentence(outcome));
  if (said != Confirmation::confirmed || is_faster) {
    if (const auto drift = confirmed_drift(screening, past, fresh, options)) {
      judgement.notes.push_back(told);
      judgement.confirmation = Confirmation::confirmed;
      add_figures(outcome, past, *drift, judgement);
      return add_finding(
          Verdict::regressed, *drift,
          fmt::format("{}; {}", sentence(outcome, past, *drift, options), fresh_sentence(outcome)),
          judgement);
    }
  }
  switch (said) {
    case Confirmation::confirmed:
      if (is_faster) {
        judgement.changes.push_back({ChangeKind::faster, std::exp(screening.change),
                                     std::exp(-screening.limit), told, Standing::fine});
        compare_speed_with_error(outcome, past.baseline ? &*past.baseline : nullptr, judgement);
        return add_finding(Verdict::improved, screening, told, judgement);
      }
      return add_finding(Verdict::regressed, screening, told, judgement);
    case Confirmation::refuted:
      return judgement.notes.push_back(told + ": it was noise");
    case Confirmation::disagree:
      if (is_faster) return judgement.notes.push_back(told + ": they disagree");
      return add_finding(Verdict::ambiguous, screening, told, judgement);
  }
}

void exclude_time(const Outcome& outcome, const Past& past, const Screening& screening,
                  const GateOptions& options, double common_shift, const std::string& why,
                  Judgement& judgement) {
  add_figures(outcome, past, screening, judgement);
  judgement.gated_time->finding = set_aside;
  judgement.notes.push_back("time not judged, and no baseline: " + why);
  const bool is_slower =
      screening.finding == GateFinding::slower || screening.finding == GateFinding::drifted;
  const double change = screening.change - common_shift;
  if (!is_slower || change <= max_excused_limits * screening.limit) return;
  judgement.notes.push_back(fmt::format(
      "unconfirmed: the machine was disturbed, and this is more than twice the limit; {}",
      how_to_measure_again));
  add_finding(Verdict::unconfirmed, screening, sentence(outcome, past, screening, options),
              judgement);
}

}  // namespace plumbline
