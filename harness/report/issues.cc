// Groups the findings of a run by kind, kernel, verdict and cause.
#include "harness/report/issues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "harness/judge/judge.h"
#include "harness/report/changes.h"
#include "harness/report/failure_groups.h"
#include "harness/report/format.h"
#include "harness/report/summary.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

constexpr std::size_t issue_commit_digits = 9;

// Returns true if there are findings and all are timing findings.
bool has_only_timing_findings(const Judgement& judgement) {
  const auto& findings = judgement.findings;
  return !findings.empty() &&
         std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return is_timing_finding(finding.kind); });
}

std::optional<IssueKind> kind_of(const Judgement& judgement) {
  if (judgement.verdict == Verdict::regressed && has_only_timing_findings(judgement))
    return IssueKind::slower;
  if (is_failure(judgement.verdict)) return IssueKind::broken;
  if (is_open(judgement.verdict)) return IssueKind::open;
  return std::nullopt;
}

IssueKind kind_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::faster:
    case ChangeKind::smaller_error:
    case ChangeKind::faster_less_accurate:
      return IssueKind::faster;
    case ChangeKind::slower:
      return IssueKind::slower;
    default:
      return IssueKind::coverage;
  }
}

// Returns the percent of the limit, or 100 (1 + |change|) of a gated time if that is larger. Nights
// sort their alerts by the same weight.
double weight(const Judgement& judgement) {
  const double of_time =
      judgement.gated_time ? 100 * (1 + std::abs(judgement.gated_time->change)) : 0;
  return std::max(judgement.percent_of_limit, of_time);
}

// Keeps the value that all members share, "" if they differ.
void add_value(std::string& all, const std::string& value, bool is_first) {
  if (is_first) all = value;
  if (all != value) all.clear();
}

class IssueCollector {
 public:
  IssueCollector(const RunReport& report, const std::vector<PastCommit>& past)
      : report_(report), past_(past) {}

  std::vector<Issue> run() {
    for (std::size_t i = 0; i < report_.outcomes->size(); ++i) add_case(i);
    for (const StoredDiff& stored : *report_.diffs) add_diff(stored);
    if (report_.invariances != nullptr)
      for (const StoredInvariance& stored : *report_.invariances) add_invariance(stored);
    for (const SuiteScore& score : *report_.scores) add_score(score);
    if (report_.changes != nullptr)
      for (const RunChange& change : *report_.changes) add_change(change);
    for (Issue& news : all_) {
      std::stable_sort(news.cases.begin(), news.cases.end(), [&](std::size_t a, std::size_t b) {
        return weight((*report_.outcomes)[a].judgement) > weight((*report_.outcomes)[b].judgement);
      });
      describe_lead(news);
    }
    std::stable_sort(all_.begin(), all_.end(), [](const Issue& a, const Issue& b) {
      return std::pair(a.kind, b.size()) < std::pair(b.kind, a.size());
    });
    return std::move(all_);
  }

 private:
  Issue& group(IssueKind kind, const std::string& kernel, const std::string& verdict,
               const std::string& title, const std::string& since) {
    const auto [at, is_new] =
        index_.try_emplace({kind, kernel, verdict, title, since}, all_.size());
    if (is_new) {
      Issue news;
      news.kind = kind;
      news.kernel = kernel;
      news.verdict = verdict;
      news.title = title.empty() ? verdict : title;
      news.since = since;
      news.commit = report_.run->commit;
      all_.push_back(std::move(news));
    }
    return all_[at->second];
  }

  void add_case(std::size_t i) {
    const StoredOutcome& stored = (*report_.outcomes)[i];
    const auto kind = kind_of(stored.judgement);
    if (!kind) return;
    const std::string since = i < past_.size() ? past_[i].commit : "";
    // Timing findings have different figures, so one text groups them.
    const std::string cause =
        has_only_timing_findings(stored.judgement) ? "its time" : cause_in_words(stored);
    Issue& news = group(*kind, stored.outcome.c.kernel,
                        std::string(in_words(stored.judgement.verdict)), cause, since);
    const bool is_first = news.cases.empty();
    add_value(news.dtype, std::string(name(stored.outcome.c.problem.dtype)), is_first);
    add_value(news.arch, arch_of(stored.outcome, *report_.run), is_first);
    news.cases.push_back(i);
  }

  // An issue shows the figures of its worst case.
  void describe_lead(Issue& news) const {
    if (news.cases.empty()) return;
    const Judgement& judgement = (*report_.outcomes)[news.cases.front()].judgement;
    if (judgement.findings.empty()) return;
    news.text = judgement.findings.front().text;
    if (has_only_timing_findings(judgement)) news.title = news.text;
  }

  template <class Stored>
  void add_named(const Stored& stored, const std::string& of, const std::string& name) {
    const auto kind = kind_of(stored.judgement);
    if (!kind) return;
    Issue& news = group(*kind, of, std::string(in_words(stored.judgement.verdict)),
                        why(stored.judgement), "");
    news.names.push_back(name);
  }
  void add_diff(const StoredDiff& stored) {
    const std::string name = stored.outcome.suite + "/" + stored.outcome.name;
    add_named(stored, name, name);
  }
  void add_invariance(const StoredInvariance& stored) {
    add_named(stored, stored.outcome.c.kernel,
              fmt::format("{} of {}", name(stored.outcome.invariance), stored.outcome.case_id));
  }

  void add_score(const SuiteScore& score) {
    if (score.status != "fail") return;
    Issue& news = group(IssueKind::broken, score.kernel, "fail",
                        fmt::format("{} over suite {}", score.statistic, score.suite), "");
    news.dtype = score.dtype;
    news.text =
        fmt::format("{} is {:.4g}, its limit {:.4g}", score.statistic, score.value, score.limit);
    news.names.push_back(fmt::format("{} {}", score.suite, score.statistic));
  }

  void add_change(const RunChange& change) {
    const IssueKind kind = kind_of(change.change.kind);
    const std::string words(in_words(change.change.kind));
    Issue& news = group(
        kind, change.case_id.substr(0, change.case_id.find('/', change.case_id.find('/') + 1)),
        words, words, "");
    if (news.text.empty()) news.text = change.change.text;
    news.names.push_back(change.case_id);
  }

  using Key = std::tuple<IssueKind, std::string, std::string, std::string, std::string>;
  const RunReport& report_;
  const std::vector<PastCommit>& past_;
  std::vector<Issue> all_;
  std::map<Key, std::size_t> index_;
};

// Returns " since A..B" if the commits are known, otherwise the night, otherwise "".
std::string range(const Issue& news) {
  if (!news.since.empty() && news.since != news.commit) {
    return fmt::format(" since {}..{}", news.since.substr(0, issue_commit_digits),
                       news.commit.empty() ? "now" : news.commit.substr(0, issue_commit_digits));
  }
  return news.since_night.empty() ? "" : " since night " + news.since_night;
}

std::string cut_words(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(most);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U)
    text.pop_back();
  return text + "…";
}

// Issues of any kernels that have one cause and began at one commit or night.
struct Cause {
  const Issue* lead = nullptr;
  std::set<std::string> kernels;
  std::size_t cases = 0;

  std::string sentence() const {
    const std::string whose =
        kernels.size() == 1 ? *kernels.begin() : plural(kernels.size(), "kernel");
    const std::string where = cases == 0 ? whose : whose + " in " + plural(cases, "case");
    return fmt::format("{}{}: {}", where, range(*lead), cut_words(lead->title, 200));
  }
};

// Returns the causes of everything that fails, is slower or is open, by kind. Within a kind, causes
// with a known beginning come first; among equals, the one with more cases.
std::vector<Cause> causes_of(const std::vector<Issue>& news) {
  std::vector<Cause> causes;
  std::map<std::tuple<IssueKind, std::string, std::string>, std::size_t> index;
  for (const Issue& one : news) {
    if (one.kind != IssueKind::broken && one.kind != IssueKind::slower &&
        one.kind != IssueKind::open)
      continue;
    const auto [at, is_new] =
        index.try_emplace({one.kind, range(one), without_figures(one.title)}, causes.size());
    if (is_new) causes.push_back({&one, {}, 0});
    Cause& cause = causes[at->second];
    cause.kernels.insert(one.kernel);
    cause.cases += one.cases.empty() ? 0 : one.size();
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) {
    return std::tuple(a.lead->kind, range(*a.lead).empty(), b.cases) <
           std::tuple(b.lead->kind, range(*b.lead).empty(), a.cases);
  });
  return causes;
}

}  // namespace

std::string cause_in_words(const StoredOutcome& stored) {
  if (!stored.outcome.cause.empty()) return stored.outcome.cause;
  if (stored.outcome.status != Status::ok && !stored.outcome.reason.empty())
    return stored.outcome.reason;
  return stored.judgement.findings.empty() ? "" : stored.judgement.findings.front().text;
}

std::vector<Issue> find_issues(const RunReport& report, const std::vector<PastCommit>& past) {
  return IssueCollector(report, past).run();
}

namespace {

// Returns the state and the counts.
std::string state_sentence(const RunReport& report) {
  const std::size_t cases = report.outcomes->size();
  switch (report.state()) {
    case RunState::incomplete:
      return incomplete_sentence(report);
    case RunState::nothing_measured:
      return cases == 0 ? "Nothing measured: there was no case"
                        : fmt::format("Nothing measured: no result of {}", plural(cases, "case"));
    case RunState::not_fine:
      return "Not fine: " + headline(report);
    case RunState::open:
      return "Open: " + headline(report);
    case RunState::fine:
      return "Fine: " + headline(report);
  }
  __builtin_unreachable();
}

}  // namespace

std::string sentence_of(const RunReport& report, const std::vector<Issue>& news) {
  std::string text = state_sentence(report);
  const std::vector<Cause> causes = causes_of(news);
  if (!causes.empty()) text += ". " + causes.front().sentence();
  if (const std::size_t more = causes.size() - std::min<std::size_t>(1, causes.size()); more > 0)
    text += fmt::format(". There {} {}", more == 1 ? "is" : "are", plural(more, "more cause"));
  const auto unmeasured = std::count_if(
      report.outcomes->begin(), report.outcomes->end(),
      [](const StoredOutcome& stored) { return stored.outcome.status == Status::unsupported; });
  if (unmeasured > 0 && report.state() != RunState::nothing_measured)
    text += fmt::format(". {} not measured",
                        unmeasured == 1 ? "1 case was" : fmt::format("{} cases were", unmeasured));
  return text + ".";
}

}  // namespace plumbline
