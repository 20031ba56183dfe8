// Finds a case's baseline, pin, acknowledgement and past times with SQL.
#include "harness/store/series.h"

#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/outcome/statistics_table.h"
#include "harness/problem/inputs.h"
#include "harness/reference/version.h"
#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/json_text.h"
#include "harness/store/machine.h"
#include "harness/store/rows.h"
#include "harness/timing/time_gate.h"

namespace plumbline {
namespace {

constexpr std::size_t time_history_runs = gate_window;  // prune keeps as many nights
constexpr std::size_t pinned_time_runs = 5;

// Returns an SQL condition: the verdict of `row` can be a baseline's. It is evaluated for sixty
// rows per case, and comparisons cost less than a lookup in table verdict.
std::string baseline_condition(std::string_view row) {
  std::vector<std::string> verdicts;
  for (const Verdict verdict : all<Verdict>()) {
    if (can_be_baseline(verdict))
      verdicts.push_back(fmt::format("{}.verdict = '{}'", row, name(verdict)));
  }
  return fmt::format("({})", fmt::join(verdicts, " OR "));
}

// Returns joins and conditions for the earlier outcomes of a series that `counts` selects or that a
// user accepted. The index outcome_in_time yields them newest first.
//
// A first_seen outcome that has a past was measured by a shard whose database lacked that past. It
// counts only after `plumbline judge` has compared it. Confirmation runs are not baselines.
//
// ?1 machine_key, ?2 run_order, ?3 series_key, ?4 to ?6 versions, ?7 provider options, ?8 JSON list
// of run_orders to exclude. The condition first tests if the list is empty, as usual, because
// searching it for each of sixty rows would cost more than all else. `more`: further joins.
// `counts`: condition on the verdict of outcome AS o.
std::string accepted_outcomes(std::string_view more, std::string_view counts) {
  constexpr const char* text = R"(
  {more}
  WHERE o.series_key = ?3 AND o.machine_key = ?1 AND o.provider_options = ?7 AND o.run_order < ?2
    AND o.status = 'ok'
    AND o.judge_version = ?4 AND o.reference_version = ?5 AND o.inputs_version = ?6
    AND ({counts} AND (?8 = '[]' OR o.run_order NOT IN (SELECT value FROM json_each(?8)))
      AND NOT (o.verdict = 'first_seen' AND EXISTS (
        SELECT 1 FROM outcome AS e
        WHERE e.series_key = ?3 AND e.machine_key = ?1 AND e.provider_options = ?7
          AND e.run_order < o.run_order AND {earlier} AND e.status = 'ok'
          AND e.judge_version = ?4 AND e.reference_version = ?5 AND e.inputs_version = ?6
          AND NOT EXISTS (SELECT 1 FROM run AS u INDEXED BY run_unfinished
            WHERE u.run_order = e.run_order AND u.finished_at IS NULL)))
      OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id AND a.case_key = o.case_key))
)";
  return fmt::format(fmt::runtime(text), fmt::arg("more", more), fmt::arg("counts", counts),
                     fmt::arg("earlier", baseline_condition("e")));
}

std::string baseline_columns() {
  std::vector<std::string> terms;
  std::string limits_of_further_outputs;
  for (const RowOutput output : further_row_outputs) {
    limits_of_further_outputs += fmt::format(
        ", (SELECT x.limit_value FROM outcome_output AS x WHERE x.case_key = o.case_key "
        "AND x.run_id = o.run_id AND x.suite = o.suite AND x.output = '{}')",
        name(output));
  }
  for (const std::string& column : column_names<std::optional<ContractSnapshot>>(terms_columns))
    terms.push_back("o." + column);
  return fmt::format(
      "o.run_id, o.verdict, o.output_digest, b.build_id, o.rms, o.elements, "
      "o.promise_run_to_run = '{}' AND o.repeat_checked AND o.repeat_equal, o.run_order, o.timed, "
      "o.device_driver, "
      "o.device_runtime, js.spec, {}, o.has_lse{}",
      name(Promise::bitwise), fmt::join(terms, ", "), limits_of_further_outputs);
}

std::string baseline_sql() {
  return fmt::format(
      "SELECT {} FROM outcome AS o {} ORDER BY o.run_order DESC, o.suite LIMIT 1",
      baseline_columns(),
      accepted_outcomes("CROSS JOIN build AS b USING (build_key) CROSS JOIN rounding_spec AS js ON "
                        "js.spec_key = o.judged_spec_key",
                        baseline_condition("o")));
}

// Selects the run_orders of runs whose outcomes cannot be baselines: unfinished runs and
// confirmations.

constexpr const char* uncounted_runs_sql = R"(
  SELECT json_group_array(run_order) FROM (
    SELECT run_order FROM run INDEXED BY run_unfinished WHERE finished_at IS NULL
    UNION SELECT run_order FROM run INDEXED BY run_that_confirms WHERE purpose = 'confirm')
)";

// Selects the outcome of the newest pin. It could be a baseline when it was pinned, so later
// changes to its run do not matter. CROSS JOIN makes SQLite start from the series' cases and their
// few decisions, and then look up outcomes.
std::string pin_sql() {
  return fmt::format(
      "SELECT {} FROM attention_case AS c CROSS JOIN pinned_case AS k ON k.case_key = c.case_key "
      "CROSS JOIN pin AS p USING (pin_key) "
      "CROSS JOIN outcome AS o ON o.case_key = c.case_key AND o.run_id = k.run_id "
      "CROSS JOIN build AS b USING (build_key) "
      "CROSS JOIN rounding_spec AS js ON js.spec_key = o.judged_spec_key "
      "WHERE c.series_key = ?3 AND o.machine_key = ?1 AND o.provider_options = ?7 "
      "AND o.run_order < ?2 AND o.status = 'ok' "
      "AND o.judge_version = ?4 AND o.reference_version = ?5 AND o.inputs_version = ?6 ORDER BY "
      "p.pinned_at DESC, o.suite LIMIT 1",
      baseline_columns());
}

// Selects times that count, newest first. If a run has the case in several suites, the first one
// counts. Ambiguous times count; excluded times do not. A level starts at a failed outcome that was
// accepted and at a confirmed improvement.
std::string times_sql() {
  const std::string may = baseline_condition("o");
  return fmt::format(
      "SELECT o.time_ratio, o.run_order, o.fresh_ratios, (o.gate_finding = 'faster' AND "
      "o.confirmation = 'confirmed') OR (o.verdict <> 'ambiguous' AND NOT {}) "
      "FROM outcome AS o INDEXED BY outcome_timed {} AND o.timed AND o.gate_finding <> 'set aside' "
      "ORDER BY o.run_order DESC, o.suite",
      may, accepted_outcomes("", fmt::format("(o.verdict = 'ambiguous' OR {})", may)));
}

// Checks if a user accepted that the case has no result, in a run after ?1 and up to ?2. Refusals
// with provider options other than ?4 do not count.
constexpr const char* refusal_sql = R"(
  SELECT EXISTS (
    SELECT 1 FROM attention_case AS c JOIN accepted_case AS a ON a.case_key = c.case_key JOIN run AS r ON r.run_id = a.run_id
    WHERE c.series_key = ?3 AND r.run_order > ?1 AND r.run_order <= ?2
      AND NOT EXISTS (SELECT 1 FROM outcome AS o WHERE o.case_key = a.case_key AND o.run_id = a.run_id
        AND (o.status = 'ok' OR o.provider_options <> ?4)))
)";

// Selects the newest acknowledgement of an outcome after the baseline's run (?8). An outcome that a
// user accepted later needs none.
constexpr const char* acknowledgement_sql = R"(
  SELECT a.acknowledged_by, a.reason, a.until, o.run_order,
    CASE WHEN o.timed THEN o.time_ratio ELSE 0.0 END, coalesce(o.rms, 0.0), o.output_digest
  FROM attention_case AS c
  CROSS JOIN acknowledged_case AS k ON k.case_key = c.case_key
  CROSS JOIN acknowledgement AS a USING (acknowledgement_key)
  CROSS JOIN outcome AS o ON o.case_key = k.case_key AND o.run_id = k.run_id
  WHERE c.series_key = ?3 AND o.machine_key = ?1 AND o.provider_options = ?7
    AND o.run_order < ?2 AND o.run_order > ?8
    AND o.judge_version = ?4 AND o.reference_version = ?5 AND o.inputs_version = ?6
  ORDER BY a.acknowledged_at DESC, o.run_order DESC, o.suite LIMIT 1
)";

// Resets a statement when its use ends, so that it holds neither a snapshot of the database nor
// bound values.
class ResetOnExit {
 public:
  explicit ResetOnExit(SQLite::Statement& statement) : statement_(statement) {}
  ~ResetOnExit() { statement_.tryReset(); }
  ResetOnExit(const ResetOnExit&) = delete;
  ResetOnExit& operator=(const ResetOnExit&) = delete;

 private:
  SQLite::Statement& statement_;
};

void bind_series(SQLite::Statement& statement, const SeriesKeys& series, const std::string& order) {
  bind_key(statement, 1, series.machine);
  statement.bind(2, order);
  bind_key(statement, 3, series.series);
  statement.bind(4, judge_version);
  statement.bind(5, reference_version);
  statement.bind(6, inputs_version);
  statement.bind(7, series.provider_options);
}

SeriesKeys keys_of(const SeriesName& series) {
  return {machine_key(series.machine), key_of(series_id(series.case_id)),
          storable_text(series.provider_options)};
}

Baseline load_baseline(SQLite::Statement& row) {
  Baseline baseline;
  Loader load(row);
  load("run_id", baseline.run_id);
  load("verdict", baseline.verdict);
  load("output_digest", baseline.output_digest);
  load("build_id", baseline.build_id);
  load("rms", baseline.rms);
  load("elements", baseline.elements);
  load("deterministic", baseline.deterministic);
  load("run_order", baseline.run_order);
  load("timed", baseline.timed);
  load("device_driver", baseline.driver);
  load("device_runtime", baseline.runtime);
  load("judged_spec", baseline.spec_judged);
  terms_columns(load, baseline.terms);
  load("has_lse", baseline.judged[RowOutput::lse]);
  for (const RowOutput output : further_row_outputs) {
    double limit = -1;  // stays -1 if NULL: the baseline did not have this output
    load("limit_value", limit);
    baseline.judged[output] = limit >= 0;
    if (baseline.terms)
      baseline.terms->limits.*row_statistics[output].limit = limit >= 0 ? limit : HUGE_VAL;
  }
  return baseline;
}

}  // namespace

Series::Series(SQLite::Database& db, std::filesystem::path path)
    : path_(std::move(path)),
      db_(db),
      find_order_(db, "SELECT run_order FROM run WHERE run_id = ?"),
      find_baseline_(db, baseline_sql()),
      find_pin_(db, pin_sql()),
      find_times_(db, times_sql()),
      find_refusal_(db, refusal_sql),
      find_acknowledgement_(db, acknowledgement_sql),
      find_uncounted_(db, uncounted_runs_sql) {}

Result<std::string> Series::order_before(const std::string& before_run) {
  if (before_run.empty()) return std::string("~");  // greater than any run_order
  if (before_run == cached_run_) return cached_order_;
  const ResetOnExit reset_on_exit(find_order_);
  find_order_.bind(1, before_run);
  if (!find_order_.executeStep())
    return fail(error_at(path_,
                         fmt::format("run '{}' is not in the database", storable_text(before_run)),
                         "`plumbline query \"SELECT run_id FROM v_runs\"` lists runs"));
  cached_order_ = find_order_.getColumn(0).getString();
  cached_run_ = before_run;
  return cached_order_;
}

std::string Series::uncounted_runs() {
  const ResetOnExit reset_on_exit(find_uncounted_);
  return find_uncounted_.executeStep() ? find_uncounted_.getColumn(0).getString() : "[]";
}

std::optional<Baseline> Series::first_of(SQLite::Statement& statement) {
  const ResetOnExit reset_on_exit(statement);
  return statement.executeStep() ? std::optional(load_baseline(statement)) : std::nullopt;
}

std::optional<Baseline> Series::baseline_of(const SeriesKeys& series, const std::string& order,
                                            const std::string& uncounted) {
  bind_series(find_baseline_, series, order);
  find_baseline_.bind(8, uncounted);
  return first_of(find_baseline_);
}

TimeHistory Series::times_before(const SeriesKeys& series, const std::string& order,
                                 std::size_t runs, const std::string& uncounted) {
  const ResetOnExit reset_on_exit(find_times_);
  bind_series(find_times_, series, order);
  find_times_.bind(8, uncounted);
  TimeHistory history;
  while (history.ratios.size() < runs && find_times_.executeStep()) {
    std::string run_order = find_times_.getColumn(1).getString();
    if (!history.run_orders.empty() && run_order == history.run_orders.back()) continue;
    history.ratios.push_back(find_times_.getColumn(0).getDouble());
    history.run_orders.push_back(std::move(run_order));
    const std::string fresh = find_times_.getColumn(2).getString();
    history.fresh.push_back(fresh == "[]" ? std::vector<double>{} : parse_numbers(fresh));
    history.starts_level.push_back(find_times_.getColumn(3).getInt() != 0);
  }
  return history;
}

std::optional<Acknowledgement> Series::acknowledgement(const SeriesKeys& series,
                                                       const std::string& order,
                                                       const std::string& after) {
  const ResetOnExit reset_on_exit(find_acknowledgement_);
  bind_series(find_acknowledgement_, series, order);
  find_acknowledgement_.bind(8, after);
  if (!find_acknowledgement_.executeStep()) return std::nullopt;
  const auto text = [&](int column) { return find_acknowledgement_.getColumn(column).getString(); };
  const auto real = [&](int column) { return find_acknowledgement_.getColumn(column).getDouble(); };
  return Acknowledgement{text(0), text(1), text(2), text(3), real(4), real(5), text(6)};
}

Past Series::past_of(const SeriesKeys& series, const std::string& order, bool timed,
                     const DecisionKinds& decision_kinds, const std::string& uncounted) {
  Past past;
  past.baseline = baseline_of(series, order, uncounted);
  if (timed) past.times = times_before(series, order, time_history_runs, uncounted);
  if (decision_kinds.pins) {
    bind_series(find_pin_, series, order);
    if (auto pinned = first_of(find_pin_)) {
      // Greater than the pinned run's order, so that its own time is included.
      const std::string until = pinned->run_order + "~";
      past.pin = Pin{*pinned, timed ? times_before(series, until, pinned_time_runs, uncounted)
                                    : TimeHistory{}};
    }
  }
  if (decision_kinds.acknowledgements) {
    past.acknowledged =
        acknowledgement(series, order, past.baseline ? past.baseline->run_order : "");
  }
  if (past.baseline && decision_kinds.accepts) {
    const ResetOnExit reset_on_exit(find_refusal_);
    find_refusal_.bind(1, past.baseline->run_order);
    find_refusal_.bind(2, order);
    bind_key(find_refusal_, 3, series.series);
    find_refusal_.bind(4, series.provider_options);
    past.refusal_accepted = find_refusal_.executeStep() && find_refusal_.getColumn(0).getInt() != 0;
  }
  return past;
}

Result<std::optional<Baseline>> Series::baseline(const SeriesName& series,
                                                 const std::string& before_run) {
  return order_before(before_run).map([&](const std::string& order) {
    return baseline_of(keys_of(series), order, uncounted_runs());
  });
}

Result<TimeHistory> Series::times(const SeriesName& series, const std::string& before_run) {
  return order_before(before_run).map([&](const std::string& order) {
    return times_before(keys_of(series), order, time_history_runs, uncounted_runs());
  });
}

Result<Past> Series::past(const SeriesName& series, const std::string& before_run, bool timed) {
  return order_before(before_run).map([&](const std::string& order) {
    return past_of(keys_of(series), order, timed, {}, uncounted_runs());
  });
}

Result<std::vector<Past>> Series::pasts(const std::vector<PastQuery>& asked,
                                        const std::string& before_run) {
  const auto order = order_before(before_run);
  if (!order) return tl::unexpected(order.error());
  const SQLite::Transaction one_snapshot(db_);
  const auto is_any = [&](const char* table) {
    return db_.execAndGet(fmt::format("SELECT EXISTS (SELECT 1 FROM {})", table)).getInt() != 0;
  };
  const DecisionKinds decision_kinds{is_any("pin"), is_any("acknowledgement"),
                                     is_any("accepted_case")};
  const std::string uncounted = uncounted_runs();
  std::vector<Past> pasts;
  pasts.reserve(asked.size());
  for (const auto& [series, timed] : asked)
    pasts.push_back(past_of(keys_of(series), *order, timed, decision_kinds, uncounted));
  return pasts;
}

}  // namespace plumbline
