// Counts outcomes by suite and kernel, with the worst percent of a limit and the time they took.
#include "harness/report/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/report/format.h"
#include "harness/store/stored.h"

namespace plumbline {
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
  std::map<Verdict, bool> occurring;
  for (const Tally& tally : tallies) {
    for (const auto& [verdict, count] : tally.verdicts) occurring[verdict] = true;
  }
  std::vector<Verdict> verdicts;
  for (const auto& [verdict, occurs] : occurring) verdicts.push_back(verdict);
  return verdicts;
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
