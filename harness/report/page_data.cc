// Writes the page's JSON: a run as columns, details of selected outcomes, and the earlier nights.
#include "harness/report/page_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "harness/base/build_info.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/report/page_detail.h"
#include "harness/report/stories.h"
#include "harness/report/summary.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// Stands for the percent of a limit if the error is NaN or infinite, which JSON cannot hold
// (page/src/format.ts has the same value).
constexpr double beyond_every_limit = 1e15;

constexpr std::size_t max_not_fine = 500, max_near_limit = 200;

// Returns the document on one line.
std::string compact(const Json& root) {
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A table stored by column. A text column holds its distinct words and, for each row, an index into
// them.
class Columns {
 public:
  // `example`: a row that defines the columns and is not added.
  explicit Columns(const Json& example) : places_(example.size()) {
    for (const auto& [key, value] : example.items()) {
      columns_.push_back({{"name", key}, {value.is_string() ? "words" : "numbers", Json::array()}});
      if (value.is_string()) columns_.back()["places"] = Json::array();
    }
  }

  void add(const Json& row) {
    std::size_t i = 0;
    for (const Json& value : row) {
      Json& column = columns_[i];
      auto& places = places_[i++];
      if (!value.is_string()) {
        column["numbers"].push_back(value);
        continue;
      }
      const auto [at, is_new] = places.try_emplace(value.get<std::string>(), places.size());
      if (is_new) column["words"].push_back(value);
      column["places"].push_back(at->second);
    }
  }
  Json take() { return std::move(columns_); }

 private:
  std::vector<std::map<std::string, std::size_t>> places_;
  Json columns_ = Json::array();
};

class Writer {
 public:
  explicit Writer(const PageInput& input)
      : input_(input), report_(*input.report), news_(input.news) {
    for (Issue& news : news_) {
      const std::ptrdiff_t night = first_night(news);
      if (night >= 0) news.since_night = input.nights[static_cast<std::size_t>(night)].name;
    }
  }

  Json page() const {
    return {{"schema", 1},
            JSON_FIELDS(input_, made_at),
            {"plumbline", {{"version", build::version}, {"commit", ""}}},
            JSON_FIELDS(input_, database, live),
            JSON_FIELDS(*this, subject()),
            JSON_FIELDS(report_, state()),
            {"sentence", sentence_of(report_, news_)},
            JSON_FIELDS(*this, counts(), groups(), nights(), decisions(), times()),
            {"rows", outcomes().size()},
            {"cases", cases(report_, input_.machine_of)},
            JSON_FIELDS(*this, details(), diffs(), invariances(), scores(), support(), other(),
                        audit(), stories())};
  }

 private:
  const std::vector<StoredOutcome>& outcomes() const { return *report_.outcomes; }

  Json details() const {
    return json_list(outcomes_in_detail(outcomes()),
                     [&](std::size_t row) { return page_detail(input_, row); });
  }
  Json audit() const { return input_.audit.empty() ? Json(nullptr) : Json::parse(input_.audit); }

  Json subject() const {
    std::vector<std::string> machines = input_.machine_of;
    std::sort(machines.begin(), machines.end());
    machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
    return {JSON_FIELDS(input_, kind, label, run_ids),
            JSON_FIELDS(report_, run->started_at, run->commit),
            {"machines", machines},
            JSON_FIELDS(report_, exit_code),
            {"command", report_.run->command_line}};
  }

  Json counts() const {
    std::map<Standing, std::size_t> counts;
    for (const StoredOutcome& stored : outcomes()) ++counts[standing_of(stored.judgement.verdict)];
    return {{"cases", outcomes().size()},
            {"fine", counts[Standing::fine]},
            {"failures", counts[Standing::failure]},
            {"open", counts[Standing::open]},
            {"unmeasured", counts[Standing::unmeasured]}};
  }

  // Returns the index of the first night since which the issue's lead (its first case) has been
  // failing or open, or -1 if unknown. Uses the commits if the lead's history is unknown.
  std::ptrdiff_t first_night(const Issue& news) const {
    if (!news.cases.empty()) {
      const auto history = input_.history.find(news.cases.front());
      if (history != input_.history.end()) return first_bad_night(history->second);
    }
    if (news.since.empty()) return -1;
    for (std::size_t i = input_.nights.size(); i-- > 0;) {
      if (input_.nights[i].commit == news.since)
        return std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(i) + 1,
                                        static_cast<std::ptrdiff_t>(input_.nights.size()) - 1);
    }
    return -1;
  }
  std::ptrdiff_t first_bad_night(const std::vector<PagePoint>& points) const {
    std::ptrdiff_t first = -1;
    for (std::size_t i = points.size(); i-- > 0;) {
      const std::ptrdiff_t night = place_of_night(input_, points[i].run_id);
      if (night >= 0 && !needs_attention(points[i].standing)) break;
      if (night >= 0) first = night;
    }
    return first;
  }

  Json groups() const {
    return json_list(news_, [&](const Issue& news) -> Json {
      return {
          JSON_FIELDS(news, kind, title, kernel, dtype, arch, verdict, cases, names, since, commit),
          {"since_night", first_night(news)},
          JSON_FIELDS(news, text)};
    });
  }

  Json nights() const {
    const auto event_json = [](const PageEvent& event) -> Json {
      return {JSON_FIELDS(event, kind, at, who, detail)};
    };
    return json_list(input_.nights, [&](const PageNight& night) -> Json {
      return {JSON_FIELDS(night, name, run_ids, started_at, commit, state),
              {"exit_code", exit_code_of(night.state)},
              JSON_FIELDS(night, fine, failures, open, unmeasured, suspect),
              JSON_FIELDS_BY(rounded, night, shift),
              JSON_FIELDS(night, why),
              JSON_FIELDS_BY(list_of(event_json), night, events)};
    });
  }

  Json other() const {
    if (!input_.other) return nullptr;
    const RunReport& report = *input_.other->report;
    return {JSON_FIELDS(input_, other->label),
            JSON_FIELDS(report, run->commit),
            {"rows", report.outcomes->size()},
            {"cases", cases(report, input_.other->machine_of)}};
  }

  Json stories() const {
    const auto figure_json = [](const StoryFigure& figure) -> Json {
      return {JSON_FIELDS(figure, what, theirs, ours)};
    };
    return json_list(stories_of(report_), [&](const StoryFigures& story) -> Json {
      return {JSON_FIELDS(story, id, title, source),
              JSON_FIELDS_BY(list_of(figure_json), story, figures),
              JSON_FIELDS(story, cases, diffs)};
    });
  }

  Json decisions() const {
    return json_list(input_.decisions, [&](const PageDecision& decision) -> Json {
      return {JSON_FIELDS(decision, kind),
              {"night", place_of_night(input_, decision.run_id)},
              JSON_FIELDS(decision, glob, who, why, at)};
    });
  }

  Json times() const { return json_list(report_.night_times, night_times_sentence); }

  static Json cases(const RunReport& report, const std::vector<std::string>& machine_of) {
    Columns columns(case_row({}, "", *report.run));
    for (std::size_t i = 0; i < report.outcomes->size(); ++i)
      columns.add(case_row((*report.outcomes)[i], machine_of[i], *report.run));
    return columns.take();
  }
  static Json case_row(const StoredOutcome& stored, const std::string& machine,
                       const RunInfo& run) {
    const auto& [outcome, judgement] = stored;
    const Problem& problem = outcome.c.problem;
    const Standing standing = standing_of(judgement.verdict);
    const auto size = [](std::int64_t n) { return rounded(static_cast<double>(n)); };
    const bool ran = outcome.status == Status::ok;
    const auto if_ok = [&](double x) { return ran ? rounded(x) : Json(nullptr); };
    const auto if_timed = [&](double x) { return outcome.timed ? rounded(x) : Json(nullptr); };
    const auto percent = [&](double x) {
      return if_ok(std::isnan(x) ? beyond_every_limit : std::min(beyond_every_limit, x));
    };
    const auto& gated = judgement.gated_time;
    return {JSON_FIELDS(outcome, case_id),
            {"machine", machine},
            JSON_FIELDS(outcome, suite),
            {"case_group", outcome.group},
            JSON_FIELDS(outcome, tier, c.kernel, c.device),
            {"arch", arch_of(outcome, run)},
            JSON_FIELDS(outcome, description.tensor_cores),
            JSON_FIELDS(problem, dtype),
            {"kv_dtype", name(problem.kv())},
            {"out_dtype", name(problem.out())},
            JSON_FIELDS(problem, mask, layout, padding, lengths, law),
            JSON_FIELDS(outcome, status),
            JSON_FIELDS_BY(in_words, judgement, verdict),
            {"outlook", name(standing)},
            {"cause", standing == Standing::fine ? "" : cause_in_words(stored)},
            JSON_FIELDS(judgement, nearest_statistic),
            JSON_FIELDS_BY(size, problem, batch, heads_q, heads_kv, seq_q, seq_kv, head_dim_qk,
                           head_dim_vo),
            JSON_FIELDS_BY(percent, judgement, percent_of_limit),
            JSON_FIELDS_BY(if_ok, outcome, errors.rms, errors.peak),
            JSON_FIELDS_BY(if_timed, outcome, time_ns, time_ratio),
            {"gate_change", gated ? rounded(gated->change) : Json(nullptr)},
            JSON_FIELDS_BY(rounded, outcome, wall_ms)};
  }

  Json diffs() const {
    return json_list(report_.diffs, [](const StoredDiff& stored) -> Json {
      const auto& [diff, judgement] = stored;
      const bool ran = diff.status == Status::ok;
      const auto if_ran = [&](double value) { return ran ? rounded(value) : Json(nullptr); };
      const auto time = [&](double ns) { return ns > 0 ? rounded(ns) : Json(nullptr); };
      return {JSON_FIELDS(diff, suite, name, case_a, case_b),
              JSON_FIELDS_BY(in_words, judgement, verdict),
              {"outlook", name(standing_of(judgement.verdict))},
              {"text", why(judgement)},
              JSON_FIELDS_BY(if_ran, diff, max_abs, mean_abs, max_rel, max_sigma, bit_equal_share,
                             rms_a, rms_b),
              JSON_FIELDS_BY(time, diff, time_ns_a, time_ns_b),
              JSON_FIELDS_BY(if_ran, judgement, percent_of_limit)};
    });
  }

  Json invariances() const {
    return json_list(report_.invariances, [](const StoredInvariance& stored) -> Json {
      const auto& [outcome, judgement] = stored;
      return {JSON_FIELDS(outcome, suite, case_id, invariance, promise),
              {"agreement", outcome.status == Status::ok ? agreement(outcome) : ""},
              JSON_FIELDS_BY(in_words, judgement, verdict),
              {"outlook", name(standing_of(judgement.verdict))},
              {"text", why(judgement)}};
    });
  }

  Json scores() const {
    return json_list(report_.scores, [](const SuiteScore& score) -> Json {
      return {JSON_FIELDS(score, suite, kernel, dtype, statistic, cases),
              JSON_FIELDS_BY(rounded, score, value, limit), JSON_FIELDS(score, status)};
    });
  }

  // Lists which features each kernel supported in these outcomes, and why it refused others.
  Json support() const {
    struct Support {
      std::size_t taken = 0, refused = 0;
      std::set<std::string> reasons;
    };
    struct Feature {
      std::string kernel, arch, dtype, mask, layout;
      auto operator<=>(const Feature&) const = default;
    };
    std::map<Feature, Support> table;
    for (const StoredOutcome& stored : outcomes()) {
      const Outcome& outcome = stored.outcome;
      const Problem& p = outcome.c.problem;
      Support& entry =
          table[{outcome.c.kernel, arch_of(outcome, *report_.run), std::string(name(p.dtype)),
                 std::string(name(p.mask)), std::string(name(p.layout))}];
      if (outcome.status != Status::unsupported) {
        ++entry.taken;
      } else {
        ++entry.refused;
        if (entry.reasons.size() < 3) entry.reasons.insert(outcome.reason);
      }
    }
    return json_list(table, [](const auto& row) -> Json {
      const auto& [feature, entry] = row;
      return {JSON_FIELDS(feature, kernel, arch, dtype, mask, layout),
              {"support", entry.refused == 0 ? "supported"
                          : entry.taken == 0 ? "unsupported"
                                             : "mixed"},
              {"reasons", fmt::format("{}", fmt::join(entry.reasons, "; "))}};
    });
  }

  const PageInput& input_;
  const RunReport& report_;
  std::vector<Issue> news_;
};

}  // namespace

std::ptrdiff_t place_of_night(const PageInput& input, const std::string& run_id) {
  for (std::size_t i = input.nights.size(); i-- > 0;) {
    const auto& ids = input.nights[i].run_ids;
    if (std::find(ids.begin(), ids.end(), run_id) != ids.end())
      return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

std::vector<std::size_t> outcomes_in_detail(const std::vector<StoredOutcome>& outcomes) {
  std::vector<std::size_t> chosen, others;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Verdict verdict = outcomes[i].judgement.verdict;
    const bool not_fine = needs_attention(verdict) || is_tolerated(verdict);
    if (not_fine && chosen.size() < max_not_fine)
      chosen.push_back(i);
    else if (!not_fine && outcomes[i].outcome.status == Status::ok)
      others.push_back(i);
  }
  const std::size_t near = std::min(max_near_limit, others.size());
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(near),
                    others.end(), [&](std::size_t a, std::size_t b) {
                      return outcomes[a].judgement.percent_of_limit >
                             outcomes[b].judgement.percent_of_limit;
                    });
  chosen.insert(chosen.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(near));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string json_of_page(const PageInput& input) { return compact(Writer(input).page()); }

std::string json_of_page_case(const PageInput& input, std::size_t row) {
  return compact(page_detail(input, row));
}

}  // namespace plumbline
