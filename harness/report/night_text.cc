// Renders a night: its runs, its alerts by group, and the false alerts to expect.
#include "harness/report/night_text.h"

#include <fmt/format.h>

#include "harness/judge/exit_code.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/report/summary.h"
#include "harness/run/night.h"

namespace plumbline {
namespace {

// Further groups are only counted.
constexpr std::size_t max_groups = 30;

std::string what_it_means(const NightSummary& summary) {
  switch (summary.state) {
    case RunState::incomplete:
      return missing_text(summary.incomplete);
    case RunState::nothing_measured:
      return "a run measured nothing";
    case RunState::not_fine:
      return "something fails or regressed";
    case RunState::open:
      return "nothing fails; something is unconfirmed, ambiguous, suspect or no longer measured";
    case RunState::fine:
      return "no alert";
  }
  __builtin_unreachable();
}

std::string first_words(const NightSummary& summary) {
  return summary.state == RunState::incomplete ? "Incomplete night" : "night";
}

std::string short_commit(const std::string& commit) {
  return commit.empty() ? "unknown" : commit.substr(0, 9);
}

std::string range(const AlertGroup& group) {
  if (group.alerts.front().has_past)
    return fmt::format("commits {}..{}", short_commit(group.since), short_commit(group.commit));
  return fmt::format("commit {}, without a past", short_commit(group.commit));
}

std::string title(const AlertGroup& group) {
  return fmt::format("{}: {} {} {}, {}, {}", in_words(group.verdict), group.kernel, group.dtype,
                     group.arch, plural(group.alerts.size(), "case"), range(group));
}

std::string why(const Alert& alert) {
  return alert.judgement.findings.empty() ? "" : alert.judgement.findings.front().text;
}

std::string head(const NightSummary& summary) {
  std::string state = "not opened or closed by `plumbline night`";
  for (const NightEvent& event : summary.night.events) {
    if (event.kind == NightEventKind::opened) state = "opened " + event.at;
    if (event.kind == NightEventKind::closed) state = "closed " + event.at;
  }
  return fmt::format("{} {}: {} in {}, {}; exit code {}: {}", first_words(summary),
                     summary.night.night_id, plural(summary.cases, "case"),
                     plural(summary.night.runs.size(), "run"), state, exit_code_of(summary.state),
                     what_it_means(summary));
}

std::size_t alerts(const NightSummary& summary) {
  std::size_t count = 0;
  for (const AlertGroup& group : summary.groups) count += group.alerts.size();
  return count;
}

std::string chance(const NightSummary& summary) {
  std::string text =
      fmt::format("{} in {}; for times, {:.2g} false alerts are expected by chance",
                  plural(alerts(summary), "alert"), plural(summary.groups.size(), "group"),
                  summary.expected_false_alerts);
  if (summary.second_pairs > 0) {
    text += fmt::format(
        "; of {} measured twice in the last 30 nights, {} ({:.2g} %) would have been measured "
        "again for nothing",
        plural(static_cast<std::size_t>(summary.second_pairs), "case"), summary.second_alarms,
        100.0 * summary.second_alarms / summary.second_pairs);
  }
  return text;
}

std::string event_line(const NightEvent& event) {
  constexpr std::string_view words[] = {"opened", "closed", "suspect", "measured again",
                                        "set aside"};
  return fmt::format("{}  {} ({}){}", event.at, words[static_cast<std::size_t>(event.kind)],
                     event.who, event.detail.empty() ? "" : ": " + event.detail);
}

}  // namespace

std::string render_night(const NightSummary& summary, const Style& style) {
  std::string text = wrapped(head(summary), 0, style) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < summary.night.runs.size(); ++i) {
    const RunInfo& run = summary.night.runs[i].info;
    rows.push_back({run.run_id.substr(0, 8), run.started_at, run.purpose, run.shard, run.host,
                    fmt::format("{}", exit_code_of(summary.states[i])),
                    std::string(name(summary.states[i]))});
  }
  if (!rows.empty())
    text +=
        render_table({"run", "started", "purpose", "shard", "host", "exit", "state"}, rows, style);
  for (const NightEvent& event : summary.night.events)
    text += "  " + wrapped(event_line(event), 4, style) + "\n";
  for (const NightTimes& row : summary.times)
    text += "  " + wrapped(night_times_sentence(row), 4, style) + "\n";
  text += "\n";
  std::size_t shown = 0;
  for (const AlertGroup& group : summary.groups) {
    if (++shown > max_groups) break;
    const Alert& lead = group.alerts.front();
    text += wrapped(title(group), 2, style) + "\n";
    text += "  lead " + lead.case_id + "\n";
    if (const std::string reason = why(lead); !reason.empty())
      text += "       " + wrapped(reason, 7, style) + "\n";
  }
  if (summary.groups.size() > max_groups)
    text += fmt::format("and {} more groups\n", summary.groups.size() - max_groups);
  for (const auto& [run, score] : summary.failing_scores) {
    text += wrapped(fmt::format("fail: {} of {} {} over suite {}: {:.4g}, its limit {:.4g}",
                                score.statistic, score.kernel, score.dtype, score.suite,
                                score.value, score.limit),
                    2, style) +
            "\n";
  }
  for (const RunChange& change : summary.failing_changes) {
    text += wrapped(fmt::format("{}: {} {}", name(change.change.kind), change.case_id,
                                change.change.text),
                    2, style) +
            "\n";
  }
  return text + wrapped(chance(summary), 2, style) + "\n";
}

std::string render_night_markdown(const NightSummary& summary) {
  std::string text = "## " + head(summary) + "\n\n";
  for (const NightEvent& event : summary.night.events) text += "- " + event_line(event) + "\n";
  for (const NightTimes& row : summary.times) text += "- " + night_times_sentence(row) + "\n";
  text += "- " + chance(summary) + "\n\n";
  for (const AlertGroup& group : summary.groups) {
    text += fmt::format("### {}\n\n`{}`: {}\n\n", title(group), group.alerts.front().case_id,
                        why(group.alerts.front()));
  }
  return text;
}

std::string json_of_night(const NightSummary& summary) {
  const auto event_json = [](const NightEvent& event) -> Json {
    return {JSON_FIELDS(event, kind, at, who, detail)};
  };
  const auto alert_json = [](const Alert& alert) -> Json {
    return {JSON_FIELDS(alert, suite),
            {"case", alert.case_id},
            JSON_FIELDS(alert, run_id, machine),
            {"text", why(alert)}};
  };
  const auto group_json = [&](const AlertGroup& group) -> Json {
    return {JSON_FIELDS(group, kernel, dtype, arch, verdict, since, commit),
            {"cases", json_list(group.alerts, alert_json)}};
  };
  Json root = {JSON_FIELDS(summary.night, night_id),
               {"exit_code", exit_code_of(summary.state)},
               JSON_FIELDS(summary, state, incomplete.planned_cases, incomplete.missing_cases,
                           cases, timed, expected_false_alerts, second_pairs, second_alarms),
               JSON_FIELDS_BY(list_of(event_json), summary.night, events),
               {"runs", Json::array()},
               JSON_FIELDS_BY(list_of(group_json), summary, groups)};
  for (std::size_t i = 0; i < summary.night.runs.size(); ++i) {
    const auto& run = summary.night.runs[i];
    root["runs"].push_back({JSON_FIELDS(run, info.run_id, info.started_at, info.purpose, info.shard,
                                        info.host, finished),
                            {"state", name(summary.states[i])},
                            {"exit_code", exit_code_of(summary.states[i])}});
  }
  return json_text(root);
}

}  // namespace plumbline
