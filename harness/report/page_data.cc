// Writes a run as columns, the outcomes that matter in full, and the nights before it.
#include "harness/report/page_data.h"

#include <fmt/format.h>

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

// Percent of a limit of an error that is no number or without bound, which JSON cannot hold
// (page/src/format.ts has the same).
constexpr double beyond_every_limit = 1e15;

constexpr std::size_t most_not_fine = 500, most_near = 200;

// Without the line ends that people read by.
std::string compact(const Json& root) {
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Columns {
 public:
  explicit Columns(const std::vector<StoredOutcome>& outcomes) : outcomes_(outcomes) {}

  template <class Text>
  void words(const char* name, const Text& text_of) {
    std::map<std::string, std::size_t> places;
    Json words = Json::array(), of_rows = Json::array();
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const std::string text(text_of(i));
      const auto [at, is_new] = places.try_emplace(text, places.size());
      if (is_new) words.push_back(text);
      of_rows.push_back(at->second);
    }
    columns_.push_back({{"name", name}, {"words", std::move(words)}, {"places", of_rows}});
  }
  template <class Number>
  void numbers(const char* name, const Number& number_of) {
    Json numbers = Json::array();
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const std::optional<double> value = number_of(i);
      numbers.push_back(rounded(value));
    }
    columns_.push_back({{"name", name}, {"numbers", std::move(numbers)}});
  }
  Json take() { return std::move(columns_); }

 private:
  const std::vector<StoredOutcome>& outcomes_;
  Json columns_ = Json::array();
};

class Writer {
 public:
  explicit Writer(const PageInput& input)
      : input_(input), report_(*input.report), news_(input.news) {
    for (News& news : news_) {
      const std::ptrdiff_t night = first_night(news);
      if (night >= 0) news.since_night = input.nights[static_cast<std::size_t>(night)].name;
    }
  }

  Json page() const {
    Json root = {{"schema", 1},
                 {"made_at", input_.made_at},
                 {"plumbline", {{"version", build::version}, {"commit", ""}}},
                 {"database", input_.database},
                 {"live", input_.live},
                 {"subject", subject()},
                 {"state", name(report_.state())},
                 {"sentence", sentence_of(report_, news_)},
                 {"counts", counts()},
                 {"groups", groups()},
                 {"nights", nights()},
                 {"decisions", decisions()},
                 {"times", times()},
                 {"rows", outcomes().size()},
                 {"cases", cases(report_, input_.machine_of)},
                 {"details", Json::array()},
                 {"diffs", diffs()},
                 {"invariances", invariances()},
                 {"scores", scores()},
                 {"support", support()},
                 {"other", other()},
                 {"audit", input_.audit.empty() ? Json(nullptr) : Json::parse(input_.audit)},
                 {"stories", stories()}};
    for (const std::size_t row : outcomes_in_detail(outcomes()))
      root["details"].push_back(page_detail(input_, row));
    return root;
  }

 private:
  const std::vector<StoredOutcome>& outcomes() const { return *report_.outcomes; }

  Json subject() const {
    std::vector<std::string> machines = input_.machine_of;
    std::sort(machines.begin(), machines.end());
    machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
    return {{"kind", input_.kind},
            {"label", input_.label},
            {"run_ids", input_.run_ids},
            {"started_at", report_.run->started_at},
            {"commit", report_.run->commit},
            {"machines", machines},
            {"exit_code", report_.exit_code},
            {"command", report_.run->command_line}};
  }

  Json counts() const {
    std::map<std::string_view, std::size_t> by_outlook;
    for (const StoredOutcome& stored : outcomes())
      ++by_outlook[name(standing_of(stored.judgement.verdict))];
    return {{"cases", outcomes().size()},
            {"fine", by_outlook["fine"]},
            {"failures", by_outlook["failure"]},
            {"open", by_outlook["open"]},
            {"unmeasured", by_outlook["unmeasured"]}};
  }

  // The first of the nights in a row, up to the newest, in which the lead was as it is; by the
  // commits where its history is not at hand. -1: not known.
  std::ptrdiff_t first_night(const News& news) const {
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
      if (night >= 0 && !wants_attention(points[i].standing)) break;
      if (night >= 0) first = night;
    }
    return first;
  }

  Json groups() const {
    Json list = Json::array();
    for (const News& news : news_) {
      list.push_back({{"kind", name(news.kind)},
                      {"title", news.title},
                      {"kernel", news.kernel},
                      {"dtype", news.dtype},
                      {"arch", news.arch},
                      {"verdict", news.verdict},
                      {"cases", news.cases},
                      {"names", news.names},
                      {"since", news.since},
                      {"commit", news.commit},
                      {"since_night", first_night(news)},
                      {"text", news.text}});
    }
    return list;
  }

  Json nights() const {
    Json list = Json::array();
    for (const PageNight& night : input_.nights) {
      list.push_back({{"name", night.name},
                      {"run_ids", night.run_ids},
                      {"started_at", night.started_at},
                      {"commit", night.commit},
                      {"state", name(night.state)},
                      {"exit_code", exit_code_of(night.state)},
                      {"fine", night.fine},
                      {"failures", night.failures},
                      {"open", night.open},
                      {"unmeasured", night.unmeasured},
                      {"suspect", night.suspect},
                      {"shift", rounded(night.shift)},
                      {"why", night.why},
                      {"events", events(night)}});
    }
    return list;
  }
  static Json events(const PageNight& night) {
    Json list = Json::array();
    for (const PageEvent& event : night.events) {
      list.push_back(
          {{"kind", event.kind}, {"at", event.at}, {"who", event.who}, {"detail", event.detail}});
    }
    return list;
  }

  Json other() const {
    if (!input_.other) return nullptr;
    const RunReport& report = *input_.other->report;
    return {{"label", input_.other->label},
            {"commit", report.run->commit},
            {"rows", report.outcomes->size()},
            {"cases", cases(report, input_.other->machine_of)}};
  }

  Json stories() const {
    Json list = Json::array();
    for (const StoryFigures& story : stories_of(report_)) {
      Json figures = Json::array();
      for (const auto& [what, theirs, ours] : story.figures)
        figures.push_back({{"what", what}, {"theirs", theirs}, {"ours", ours}});
      list.push_back({{"id", story.id},
                      {"title", story.title},
                      {"source", story.source},
                      {"figures", std::move(figures)},
                      {"cases", story.cases},
                      {"diffs", story.diffs}});
    }
    return list;
  }

  Json decisions() const {
    Json list = Json::array();
    for (const PageDecision& decision : input_.decisions) {
      list.push_back({{"kind", decision.kind},
                      {"night", place_of_night(input_, decision.run_id)},
                      {"glob", decision.glob},
                      {"who", decision.who},
                      {"why", decision.why},
                      {"at", decision.at}});
    }
    return list;
  }

  Json times() const {
    Json list = Json::array();
    if (report_.night_times != nullptr)
      for (const NightTimes& row : *report_.night_times) list.push_back(night_times_sentence(row));
    return list;
  }

  static Json cases(const RunReport& report, const std::vector<std::string>& machine_of) {
    const std::vector<StoredOutcome>& outcomes = *report.outcomes;
    Columns columns(outcomes);
    const auto outcome = [&](std::size_t i) -> const Outcome& { return outcomes[i].outcome; };
    const auto problem = [&](std::size_t i) -> const Problem& { return outcome(i).c.problem; };
    const auto word = [&](const char* key, const auto& text_of) { columns.words(key, text_of); };
    word("case_id", [&](std::size_t i) { return outcome(i).case_id; });
    word("machine", [&](std::size_t i) { return machine_of[i]; });
    word("suite", [&](std::size_t i) { return outcome(i).suite; });
    word("case_group", [&](std::size_t i) { return outcome(i).group; });
    word("tier", [&](std::size_t i) { return outcome(i).tier; });
    word("kernel", [&](std::size_t i) { return outcome(i).c.kernel; });
    word("device", [&](std::size_t i) { return outcome(i).c.device; });
    word("arch", [&](std::size_t i) {
      const std::string arch = arch_of(outcome(i));
      return arch.empty() ? report.run->machine.arch : arch;
    });
    word("tensor_cores", [&](std::size_t i) { return outcome(i).description.tensor_cores; });
    word("dtype", [&](std::size_t i) { return name(problem(i).dtype); });
    word("kv_dtype", [&](std::size_t i) { return name(problem(i).kv()); });
    word("out_dtype", [&](std::size_t i) { return name(problem(i).out()); });
    word("mask", [&](std::size_t i) { return name(problem(i).mask); });
    word("layout", [&](std::size_t i) { return name(problem(i).layout); });
    word("padding", [&](std::size_t i) { return name(problem(i).padding); });
    word("lengths", [&](std::size_t i) { return name(problem(i).lengths); });
    word("law", [&](std::size_t i) { return name(problem(i).law); });
    word("status", [&](std::size_t i) { return name(outcome(i).status); });
    word("verdict", [&](std::size_t i) { return in_words(outcomes[i].judgement.verdict); });
    word("outlook",
         [&](std::size_t i) { return name(standing_of(outcomes[i].judgement.verdict)); });
    word("cause", [&](std::size_t i) {
      return standing_of(outcomes[i].judgement.verdict) == Standing::fine
                 ? ""
                 : cause_in_words(outcomes[i]);
    });
    word("nearest_statistic",
         [&](std::size_t i) { return outcomes[i].judgement.nearest_statistic; });
    const auto number = [&](const char* key, const auto& value_of) {
      columns.numbers(key, [&](std::size_t i) -> std::optional<double> { return value_of(i); });
    };
    number("batch", [&](std::size_t i) { return static_cast<double>(problem(i).batch); });
    number("heads_q", [&](std::size_t i) { return static_cast<double>(problem(i).heads_q); });
    number("heads_kv", [&](std::size_t i) { return static_cast<double>(problem(i).heads_kv); });
    number("seq_q", [&](std::size_t i) { return static_cast<double>(problem(i).seq_q); });
    number("seq_kv", [&](std::size_t i) { return static_cast<double>(problem(i).seq_kv); });
    number("head_dim_qk",
           [&](std::size_t i) { return static_cast<double>(problem(i).head_dim_qk); });
    number("head_dim_vo",
           [&](std::size_t i) { return static_cast<double>(problem(i).head_dim_vo); });
    const auto if_ok = [&](std::size_t i, double value) {
      return outcome(i).status == Status::ok ? std::optional(value) : std::nullopt;
    };
    number("percent_of_limit", [&](std::size_t i) {
      const double percent = outcomes[i].judgement.percent_of_limit;
      return if_ok(
          i, std::isnan(percent) ? beyond_every_limit : std::min(beyond_every_limit, percent));
    });
    number("rms", [&](std::size_t i) { return if_ok(i, outcome(i).errors.rms); });
    number("peak", [&](std::size_t i) { return if_ok(i, outcome(i).errors.peak); });
    const auto if_timed = [&](std::size_t i, double value) {
      return outcome(i).timed ? std::optional(value) : std::nullopt;
    };
    number("time_ns", [&](std::size_t i) { return if_timed(i, outcome(i).time_ns); });
    number("time_ratio", [&](std::size_t i) { return if_timed(i, outcome(i).time_ratio); });
    number("gate_change", [&](std::size_t i) {
      const auto& gated = outcomes[i].judgement.gated_time;
      return gated ? std::optional(gated->change) : std::nullopt;
    });
    number("wall_ms", [&](std::size_t i) { return outcome(i).wall_ms; });
    return columns.take();
  }

  Json diffs() const {
    Json list = Json::array();
    for (const auto& [diff, judgement] : *report_.diffs) {
      const bool ran = diff.status == Status::ok;
      const auto if_ran = [&](double value) { return ran ? rounded(value) : Json(nullptr); };
      const auto time = [&](double ns) { return ns > 0 ? rounded(ns) : Json(nullptr); };
      list.push_back({{"suite", diff.suite},
                      {"name", diff.name},
                      {"case_a", diff.case_a},
                      {"case_b", diff.case_b},
                      {"verdict", in_words(judgement.verdict)},
                      {"outlook", name(standing_of(judgement.verdict))},
                      {"text", why(judgement)},
                      {"max_abs", if_ran(diff.max_abs)},
                      {"mean_abs", if_ran(diff.mean_abs)},
                      {"max_rel", if_ran(diff.max_rel)},
                      {"max_sigma", if_ran(diff.max_sigma)},
                      {"bit_equal_share", if_ran(diff.bit_equal_share)},
                      {"rms_a", if_ran(diff.rms_a)},
                      {"rms_b", if_ran(diff.rms_b)},
                      {"time_ns_a", time(diff.time_ns_a)},
                      {"time_ns_b", time(diff.time_ns_b)},
                      {"percent_of_limit", if_ran(judgement.percent_of_limit)}});
    }
    return list;
  }

  Json invariances() const {
    Json list = Json::array();
    if (report_.invariances == nullptr) return list;
    for (const auto& [invariance, judgement] : *report_.invariances) {
      const std::string_view agreement = invariance.status != Status::ok         ? ""
                                         : invariance.other_bits == 0            ? "bitwise"
                                         : invariance.sigmas <= invariance.limit ? "rounding"
                                                                                 : "beyond";
      list.push_back({{"suite", invariance.suite},
                      {"case_id", invariance.case_id},
                      {"invariance", name(invariance.invariance)},
                      {"promise", name(invariance.promise)},
                      {"agreement", agreement},
                      {"verdict", in_words(judgement.verdict)},
                      {"outlook", name(standing_of(judgement.verdict))},
                      {"text", why(judgement)}});
    }
    return list;
  }

  Json scores() const {
    Json list = Json::array();
    for (const SuiteScore& score : *report_.scores) {
      list.push_back({{"suite", score.suite},
                      {"kernel", score.kernel},
                      {"dtype", score.dtype},
                      {"statistic", score.statistic},
                      {"cases", score.cases},
                      {"value", rounded(score.value)},
                      {"limit", rounded(score.limit)},
                      {"status", score.status}});
    }
    return list;
  }

  // What each kernel takes, by these outcomes; the reasons of what it refuses.
  Json support() const {
    struct Support {
      std::size_t taken = 0, refused = 0;
      std::set<std::string> reasons;
    };
    std::map<std::array<std::string, 5>, Support> table;
    for (const StoredOutcome& stored : outcomes()) {
      const Outcome& outcome = stored.outcome;
      const Problem& p = outcome.c.problem;
      const std::string arch = arch_of(outcome);
      Support& entry = table[{outcome.c.kernel, arch.empty() ? report_.run->machine.arch : arch,
                              std::string(name(p.dtype)), std::string(name(p.mask)),
                              std::string(name(p.layout))}];
      if (outcome.status != Status::unsupported) {
        ++entry.taken;
      } else {
        ++entry.refused;
        if (entry.reasons.size() < 3) entry.reasons.insert(outcome.reason);
      }
    }
    Json list = Json::array();
    for (const auto& [key, entry] : table) {
      std::string reasons;
      for (const std::string& reason : entry.reasons)
        reasons += (reasons.empty() ? "" : "; ") + reason;
      list.push_back({{"kernel", key[0]},
                      {"arch", key[1]},
                      {"dtype", key[2]},
                      {"mask", key[3]},
                      {"layout", key[4]},
                      {"support", entry.refused == 0 ? "supported"
                                  : entry.taken == 0 ? "unsupported"
                                                     : "mixed"},
                      {"reasons", reasons}});
    }
    return list;
  }

  const PageInput& input_;
  const RunReport& report_;
  std::vector<News> news_;  // with their nights
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
    const bool not_fine = wants_attention(verdict) || is_tolerated(verdict);
    if (not_fine && chosen.size() < most_not_fine)
      chosen.push_back(i);
    else if (!not_fine && outcomes[i].outcome.status == Status::ok)
      others.push_back(i);
  }
  const std::size_t near = std::min(most_near, others.size());
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
