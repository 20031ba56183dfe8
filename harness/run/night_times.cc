// Judges the times of a night: screens them, measures again if needed, and confirms candidates.
#include "harness/run/night_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/median.h"
#include "harness/judge/acknowledged.h"
#include "harness/judge/timing_verdict.h"
#include "harness/store/keys.h"
#include "harness/timing/common_shift.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

constexpr const char* disturbed_in_words =
    "something else used this core during nearly all repetitions, in every round";

struct Gated {
  TimedCase of;
  Judgement untimed;  // the judgement without the time
  Screening screening;
  bool disturbed = false;  // is_disturbed(): the time is not compared with anything
};

// Draws by a hash of night and case: the draw cannot be influenced, and a resumed night draws the
// same cases.
Key draw_key(const std::string& draw, const Outcome& outcome) {
  return key_of(canonical_text({"second", draw, outcome.suite, outcome.case_id}));
}

// The times of one machine class.
class MachineClassTimes {
 public:
  MachineClassTimes(const NightTimesInput& input, const MachineClass& machine, std::size_t series)
      : input_(input) {
    row_.machine = machine;
    options_.fresh = fresh_processes(series);
    options_.min_spread = std::max(options_.min_spread, input.min_spread(machine));
  }

  void add(const TimedCase& timed) { cases_.push_back({timed, timed.stored->judgement, {}}); }
  const MachineClass& machine() const { return row_.machine; }

  NightTimes run() {
    screen_all();
    if (row_.suspect && can_measure()) measure_again();
    measure_second_times();
    if (!row_.suspect) measure_candidates_again();
    conclude();
    return row_;
  }

 private:
  bool can_measure() const { return static_cast<bool>(input_.measure); }

  struct Answer {
    Gated* gated = nullptr;
    Outcome outcome;
  };

  // Measures the cases that can be measured here. Returns only those that succeeded.
  std::vector<Answer> measure(const std::vector<Gated*>& asked, std::string_view why) {
    std::vector<Answer> answers;
    std::vector<const PlannedCase*> planned;
    std::vector<Gated*> known;
    for (Gated* gated : asked) {
      if (!can_measure() || gated->of.planned == nullptr) continue;
      known.push_back(gated);
      planned.push_back(gated->of.planned);
    }
    if (planned.empty()) return answers;
    auto outcomes = input_.measure(planned, why);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (outcomes[i] && outcomes[i]->time_ratio > 0 && !std::isinf(outcomes[i]->time_ratio))
        answers.push_back({known[i], std::move(*outcomes[i])});
    }
    return answers;
  }

  void screen_all() {
    std::vector<GateLevel> levels;
    for (Gated& gated : cases_) {
      levels.push_back(level_of(nights_of(gated.of.past->times), options_));
      gated.disturbed = is_disturbed(gated.of.stored->outcome.times.rounds);
    }
    options_.persistence = persistence_of(levels);
    options_.common_shift = 0;
    screen_each(levels);
    const NightLook look = assess_all();
    row_.series = look.series;
    row_.common_shift = std::expm1(look.common_shift);
    row_.shift_limit = look.limit;
    row_.suspect = look.suspect;
    row_.why = look.moved ? look.why : "";
    if (look.subtracted_shift == 0) return;
    options_.common_shift = look.subtracted_shift;
    screen_each(levels);
  }

  void screen_each(const std::vector<GateLevel>& levels) {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      Gated& gated = cases_[i];
      gated.screening = screen_time(gated.of.stored->outcome, *gated.of.past, options_, &levels[i]);
    }
  }

  NightLook assess_all() const {
    std::vector<double> changes, deviations;
    for (const Gated& gated : cases_) {
      if (gated.disturbed || gated.screening.level.total_nights < static_cast<int>(min_nights))
        continue;
      changes.push_back(gated.screening.change_tonight);
      deviations.push_back(gated.screening.deviation_tonight);
    }
    return assess_night(changes, deviations);
  }

  void event(NightEventKind kind, const std::string& detail) const {
    if (input_.event) input_.event(kind, detail);
  }

  // Measures every case again in fresh processes, because the cause of the shift may have passed.
  void measure_again() {
    event(NightEventKind::suspect, row_.why);
    std::vector<Gated*> all;
    for (Gated& gated : cases_) all.push_back(&gated);
    auto again = measure(all, "measuring the suspect night again");
    if (again.size() < cases_.size()) return;
    for (Answer& answer : again)
      copy_times(answer.gated->of.stored->outcome, std::move(answer.outcome));
    screen_all();
    event(row_.suspect ? NightEventKind::set_aside : NightEventKind::measured_again,
          row_.why.empty() ? "the second measurement is like the nights before" : row_.why);
  }

  void measure_second_times() {
    std::vector<Gated*> drawn;
    for (const std::size_t i : drawn_cases()) {
      Gated& gated = cases_[i];
      if (!gated.disturbed && !(gated.of.stored->outcome.times.second_ratio > 0))
        drawn.push_back(&gated);
    }
    for (const Answer& second : measure(drawn, "measuring drawn cases again")) {
      if (!is_disturbed(second.outcome.times.rounds))
        second.gated->of.stored->outcome.times.second_ratio = second.outcome.time_ratio;
    }
    for (const Gated& gated : cases_) {
      const Outcome& outcome = gated.of.stored->outcome;
      if (!(outcome.times.second_ratio > 0) || gated.disturbed ||
          gated.screening.finding == GateFinding::too_few || is_candidate(gated.screening))
        continue;
      ++row_.second_pairs;
      if (would_be_candidate(outcome.times.second_ratio, *gated.of.past, options_))
        ++row_.second_alarms;
    }
  }

  std::vector<std::size_t> drawn_cases() const {
    std::vector<std::size_t> order(cases_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<Key> lots;
    for (const Gated& gated : cases_)
      lots.push_back(draw_key(input_.draw, gated.of.stored->outcome));
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return lots[a] < lots[b]; });
    order.resize((order.size() + cases_per_second_pair - 1) / cases_per_second_pair);
    return order;
  }

  // Measures all candidates in common rounds, so that a temporary disturbance spoils a little of
  // each case, not all of one. Disturbed measurements are repeated once, after the others.
  void measure_candidates_again() {
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::vector<Gated*> asked;
      for (std::size_t process = 0; process < static_cast<std::size_t>(options_.fresh); ++process) {
        for (Gated& gated : cases_) {
          if (is_candidate(gated.screening) && !gated.disturbed &&
              gated.of.stored->outcome.times.fresh_ratios.size() <= process)
            asked.push_back(&gated);
        }
      }
      for (const Answer& fresh : measure(asked, "measuring in fresh processes")) {
        if (!is_disturbed(fresh.outcome.times.rounds))
          fresh.gated->of.stored->outcome.times.fresh_ratios.push_back(fresh.outcome.time_ratio);
      }
    }
  }

  void conclude() {
    row_.fresh = options_.fresh;
    row_.expected_false_alerts =
        row_.suspect ? 0 : expected_false_alerts(static_cast<std::size_t>(row_.series), row_.fresh);
    const auto disturbed =
        std::ranges::count_if(cases_, [](const Gated& gated) { return gated.disturbed; });
    if (!row_.suspect && disturbed > 0) {
      row_.why +=
          fmt::format("{}{} set aside: {}", row_.why.empty() ? "" : "; ",
                      disturbed == 1 ? "1 case was" : fmt::format("{} cases were", disturbed),
                      disturbed_in_words);
    }
    for (Gated& gated : cases_) {
      StoredOutcome& stored = *gated.of.stored;
      for (const TimeRound& round : stored.outcome.times.rounds)
        row_.load = std::max(row_.load, round.load);
      stored.judgement = gated.untimed;
      if (row_.suspect || gated.disturbed) {
        exclude_time(stored.outcome, *gated.of.past, gated.screening, options_,
                     row_.suspect ? std::log1p(row_.common_shift) : 0,
                     row_.suspect ? row_.why : disturbed_in_words, stored.judgement);
      } else {
        conclude_time(stored.outcome, *gated.of.past, gated.screening, options_, stored.judgement);
        if (const auto& acknowledged = gated.of.past->acknowledged) {
          stored.judgement = judge_acknowledged(std::move(stored.judgement), stored.outcome,
                                                *acknowledged, input_.today);
        }
        row_.candidates += is_candidate(gated.screening);
        row_.confirmed += is_candidate(gated.screening) &&
                          gated.screening.finding != GateFinding::faster &&
                          stored.judgement.confirmation == Confirmation::confirmed;
      }
      if (input_.settled) input_.settled(gated.of);
    }
  }

  const NightTimesInput& input_;
  NightTimes row_;
  GateOptions options_;
  std::vector<Gated> cases_;
};

}  // namespace

std::vector<NightTimes> judge_night_times(const NightTimesInput& input) {
  std::vector<TimedCase> gated;
  for (const TimedCase& timed : input.cases) {
    if (is_gated(timed.stored->outcome, timed.stored->judgement)) gated.push_back(timed);
  }
  std::vector<MachineClassTimes> classes;
  for (const TimedCase& timed : gated) {
    auto at = std::ranges::find_if(
        classes, [&](const MachineClassTimes& known) { return known.machine() == timed.machine; });
    if (at == classes.end()) {
      classes.emplace_back(input, timed.machine, gated.size());
      at = std::prev(classes.end());
    }
    at->add(timed);
  }
  std::vector<NightTimes> rows;
  for (MachineClassTimes& of_class : classes) rows.push_back(of_class.run());
  return rows;
}

void copy_times(Outcome& to, Outcome from) {
  to.time_ns = from.time_ns;
  to.time_mad_ns = from.time_mad_ns;
  to.time_hot_ns = from.time_hot_ns;
  to.time_ratio = from.time_ratio;
  from.times.second_ratio = to.times.second_ratio;
  from.times.fresh_ratios = std::move(to.times.fresh_ratios);
  to.times = std::move(from.times);
  to.timed = from.timed;
}

double floor_of_spread(const std::vector<double>& second_ratios) {
  constexpr std::size_t min_pairs = 20;
  // The first factor turns a median of |x| into a standard deviation. The second is the ratio of a
  // difference's standard deviation to that of one measurement.
  constexpr double to_deviation = 1.4826, of_a_difference = 1.4142135623730951;
  if (second_ratios.size() < min_pairs) return 0;
  std::vector<double> distances;
  for (const double ratio : second_ratios) distances.push_back(std::abs(std::log(ratio)));
  return to_deviation * median(std::move(distances)) / of_a_difference;
}

}  // namespace plumbline
