// Makes the nights, decisions and points of the page from rows of the database.
#include "harness/cli/commands/page_history.h"

#include <cmath>

#include "harness/cli/command_end.h"
#include "harness/judge/exit_code.h"
#include "harness/judge/verdict.h"
#include "harness/store/machine.h"
#include "harness/store/queries/nights.h"

namespace plumbline::cli {
namespace {

constexpr int max_nights = 60;

// A newer plumbline may have stored a verdict that this one does not know.
Standing standing_in_file(const std::optional<Verdict>& verdict) {
  return verdict ? standing_of(*verdict) : Standing::unmeasured;
}

void add_verdict(PageNight& night, const std::string& word, std::size_t count) {
  switch (standing_in_file(parse<Verdict>(word))) {
    case Standing::failure:
      night.failures += count;
      return;
    case Standing::unmeasured:
      night.unmeasured += count;
      return;
    case Standing::open:
      night.open += count;
      return;
    case Standing::fine:
      night.fine += count;
      return;
  }
}

void add_events(Store& store, std::vector<PageNight>& nights) {
  std::vector<std::string> names;
  for (const PageNight& night : nights) names.push_back(night.name);
  auto events = need(events_of_nights(store, names));
  std::map<std::string, PageNight*> by_name;
  for (PageNight& night : nights) by_name[night.name] = &night;
  for (EventOfNight& event : events) {
    by_name.at(event.night)
        ->events.push_back({std::move(event.kind), std::move(event.happened_at),
                            std::move(event.who), std::move(event.detail)});
  }
}

}  // namespace

std::vector<PageNight> nights_before(Store& store, const StoredRuns& subject) {
  const auto rows = need(verdicts_of_nights(store, subject.newest, max_nights));
  std::vector<PageNight> nights;
  for (const NightVerdicts& row : rows) {
    if (nights.empty() || nights.back().name != row.night) {
      PageNight night;
      night.name = row.night;
      night.started_at = row.started_at;
      nights.push_back(std::move(night));
    }
    PageNight& night = nights.back();
    if (night.run_ids.empty() || night.run_ids.back() != row.run_id) {
      const RunState state = row.exit_code ? state_of_exit(*row.exit_code) : RunState::incomplete;
      night.state = worse_of(night.state, state);
      night.run_ids.push_back(row.run_id);
      night.commit = row.commit;
      if (row.suspect) night.suspect = true;
      if (std::abs(row.common_shift) > std::abs(night.shift)) night.shift = row.common_shift;
      if (night.why.empty()) night.why = row.why;
    }
    add_verdict(night, row.verdict, row.count);
  }
  add_events(store, nights);
  return nights;
}

std::vector<PageDecision> decisions_about(Store& store, const std::vector<PageNight>& nights) {
  std::vector<std::string> runs;
  for (const PageNight& night : nights)
    runs.insert(runs.end(), night.run_ids.begin(), night.run_ids.end());
  auto rows = need(decisions_about_runs(store, runs));
  std::vector<PageDecision> decisions;
  for (DecisionAboutRun& row : rows) {
    decisions.push_back({std::move(row.decision), std::move(row.run_id), std::move(row.cases),
                         std::move(row.who), std::move(row.reason), std::move(row.at)});
  }
  return decisions;
}

std::map<std::size_t, std::vector<PagePoint>> histories_of(Store& store, const StoredRuns& subject,
                                                           const std::vector<std::size_t>& rows,
                                                           const std::vector<PageNight>& nights) {
  std::map<std::size_t, std::vector<PagePoint>> histories;
  if (nights.empty() || rows.empty()) return histories;
  std::vector<WantedHistory> wanted;
  for (const std::size_t row : rows) {
    const Outcome& outcome = subject.outcomes[row].outcome;
    wanted.push_back(
        {row, subject.runs[subject.run_of[row]].run_id, outcome.suite, outcome.case_id});
  }
  const auto points = need(points_since(store, wanted, nights.front().run_ids.front()));
  for (const PointOfHistory& point : points) {
    const auto verdict = parse<Verdict>(point.verdict);
    histories[point.place].push_back(
        {point.run_id, verdict ? std::string(in_words(*verdict)) : point.verdict,
         standing_in_file(verdict), point.percent_of_limit, point.rms, point.time_ratio,
         point.gate_level, point.gate_limit, point.is_set_aside});
  }
  return histories;
}

std::vector<PastCommit> past_commits(Store& store, const StoredRuns& subject) {
  std::vector<PastCommit> past(subject.outcomes.size());
  std::map<std::string, std::string> commits;
  for (std::size_t i = 0; i < past.size(); ++i) {
    const auto& [outcome, judgement] = subject.outcomes[i];
    if (!needs_attention(judgement.verdict)) continue;
    const RunInfo& run = subject.runs[subject.run_of[i]];
    const auto baseline = need(store.baseline(series_of(outcome, run.machine), run.run_id));
    if (!baseline) continue;
    const auto [at, is_new] = commits.try_emplace(baseline->run_id);
    if (is_new) {
      const auto before = need(store.run(baseline->run_id));
      at->second = before.info.commit;
    }
    past[i] = {true, at->second};
  }
  return past;
}

}  // namespace plumbline::cli
