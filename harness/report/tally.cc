// Counts verdicts of a run, and tallies outcomes by suite and kernel.
#include "harness/report/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

template <class Stored>
VerdictCounts count(const std::vector<Stored>& all) {
  VerdictCounts counts;
  for (const Stored& stored : all) {
    ++counts.total;
    ++counts.verdicts[stored.judgement.verdict];
    counts.failures += is_failure(stored.judgement.verdict) ? 1 : 0;
  }
  return counts;
}

}  // namespace

std::string arch_of(const Outcome& outcome, const RunInfo& run) {
  const std::string arch = arch_of(outcome);
  return arch.empty() ? run.machine.arch : arch;
}

RunCounts counts_of(const RunReport& report) {
  RunCounts counts;
  counts.cases = count(*report.outcomes), counts.diffs = count(*report.diffs);
  if (report.invariances != nullptr) {
    const std::vector<StoredInvariance>& all = *report.invariances;
    const auto not_judged = std::ranges::count_if(all, &StoredInvariance::is_not_judged);
    counts.invariances = {count(all), static_cast<std::size_t>(not_judged)};
  }
  for (const SuiteScore& score : *report.scores) {
    const bool is_judged = !score.status.starts_with("not judged");
    ++(is_judged ? counts.statistics : counts.statistics_not_judged);
    counts.statistics_failed += score.status == "fail" ? 1 : 0;
  }
  for (const RunChange& change :
       report.changes != nullptr ? *report.changes : std::vector<RunChange>{}) {
    counts.changes_failed += change.change.standing == Standing::failure ? 1 : 0;
    counts.changes_open += change.change.standing == Standing::open ? 1 : 0;
  }
  return counts;
}

bool nothing_measured(const RunReport& report) {
  const auto is_refused = [](const auto& stored) {
    return stored.outcome.status == Status::unsupported;
  };
  return std::all_of(report.outcomes->begin(), report.outcomes->end(), is_refused) &&
         std::all_of(report.diffs->begin(), report.diffs->end(), is_refused) &&
         (report.invariances == nullptr ||
          std::all_of(report.invariances->begin(), report.invariances->end(), is_refused));
}

std::vector<Tally> tallies(const std::vector<StoredOutcome>& outcomes) {
  std::vector<Tally> result;
  for (const auto& [outcome, judgement] : outcomes) {
    const std::string &suite = outcome.suite, &kernel = outcome.c.kernel;
    auto found = std::find_if(result.begin(), result.end(), [&](const Tally& t) {
      return t.suite == suite && t.kernel == kernel;
    });
    if (found == result.end()) found = result.insert(found, Tally{suite, kernel, 0, 0, {}, 0, 0});
    ++found->cases;
    found->ran += outcome.status == Status::ok ? 1 : 0;
    ++found->verdicts[judgement.verdict];
    found->worst_percent = worse(found->worst_percent, judgement.percent_of_limit);
    found->wall_ms += outcome.wall_ms;
  }
  return result;
}

std::vector<Verdict> verdicts_of(const std::vector<Tally>& tallies) {
  std::set<Verdict> occurring;
  for (const Tally& tally : tallies) {
    for (const auto& [verdict, count] : tally.verdicts) occurring.insert(verdict);
  }
  return {occurring.begin(), occurring.end()};
}

std::map<std::string, std::size_t> changed_cases(const std::vector<StoredOutcome>& outcomes) {
  std::map<std::string, std::size_t> cases;
  for (const StoredOutcome& stored : outcomes) {
    if (stored.judgement.verdict == Verdict::changed) ++cases[stored.outcome.c.kernel];
  }
  return cases;
}

TallyTable expected_failures_table(const std::vector<StoredOutcome>& outcomes) {
  std::map<std::array<std::string, 3>, std::size_t> cases;
  for (const auto& [outcome, judgement] : outcomes) {
    if (judgement.verdict != Verdict::expected_failure || !outcome.expected) continue;
    ++cases[{outcome.expected->expires, outcome.expected->issue, outcome.expected->reason}];
  }
  TallyTable table{{"cases", "expected until", "issue", "reason"}, {}};
  for (const auto& [entry, count] : cases)
    table.rows.push_back({std::to_string(count), entry[0], entry[1], entry[2]});
  return table;
}

TallyTable refusals_table(const std::vector<StoredOutcome>& outcomes) {
  struct Refusals {
    std::size_t cases = 0;
    std::set<std::string> kernels;
  };
  std::map<std::string, Refusals> by_reason;
  for (const auto& [outcome, judgement] : outcomes) {
    if (outcome.status != Status::unsupported) continue;
    Refusals& refusals =
        by_reason[outcome.reason.empty() ? "the kernel gives no reason" : outcome.reason];
    ++refusals.cases;
    refusals.kernels.insert(outcome.c.kernel);
  }
  std::vector<std::pair<std::string, Refusals>> sorted(by_reason.begin(), by_reason.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.cases > b.second.cases; });
  TallyTable table{{"cases", "kernel", "reason"}, {}};
  for (const auto& [reason, refusals] : sorted) {
    table.rows.push_back({std::to_string(refusals.cases),
                          refusals.kernels.size() == 1 ? *refusals.kernels.begin()
                                                       : plural(refusals.kernels.size(), "kernel"),
                          reason});
  }
  return table;
}

TallyTable acknowledged_table(const std::vector<StoredOutcome>& outcomes) {
  TallyTable table{{"acknowledged case", "by whom, and why"}, {}};
  for (const auto& [outcome, judgement] : outcomes) {
    if (judgement.verdict != Verdict::acknowledged) continue;
    const auto said =
        std::find_if(judgement.notes.rbegin(), judgement.notes.rend(),
                     [](const std::string& note) { return note.starts_with("acknowledged by "); });
    table.rows.push_back({outcome.case_id, said == judgement.notes.rend() ? "" : *said});
  }
  return table;
}

std::string counts_text(const std::map<Verdict, std::size_t>& counts) {
  std::string text;
  for (const auto& [verdict, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, in_words(verdict));
  return text.empty() ? "nothing measured" : text;
}

TallyTable tally_table(const std::vector<Tally>& tallies) {
  const std::vector<Verdict> verdicts = verdicts_of(tallies);
  TallyTable table;
  for (const char* column : {"kernel", "cases"}) table.columns.emplace_back(column);
  for (const Verdict verdict : verdicts) table.columns.emplace_back(in_words(verdict));
  for (const char* column : {"of the limit", "time"}) table.columns.emplace_back(column);
  for (const Tally& tally : tallies) {
    auto& row = table.rows.emplace_back();
    row.push_back(tally.kernel);
    row.push_back(std::to_string(tally.cases));
    for (const Verdict verdict : verdicts) {
      const auto found = tally.verdicts.find(verdict);
      row.push_back(found == tally.verdicts.end() ? "" : std::to_string(found->second));
    }
    row.push_back(tally.ran > 0 ? percent(tally.worst_percent) : "");
    row.push_back(duration(tally.wall_ms * 1e6));
  }
  return table;
}

}  // namespace plumbline
