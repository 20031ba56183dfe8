#include "harness/store/series.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include "harness/problem/inputs.h"
#include "harness/problem/suite.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"
#include "harness/store/rows.h"

namespace plumbline {
namespace {

constexpr int time_history_runs = 30;

// Accepted outcomes of a series before a run, newest first. CROSS JOIN keeps SQLite walking back over run_by_machine, so that the usual
// answer, the last run, is the first row tried. ?1 machine_key, ?2 run_order, ?3 case_key, ?4 to ?6 versions.
constexpr const char* accepted_outcomes = R"(
  FROM run AS r
  CROSS JOIN outcome AS o ON o.case_key = ?3 AND o.run_id = r.run_id
  JOIN verdict AS v USING (verdict)
  JOIN build AS b USING (build_key)
  WHERE r.machine_key = ?1 AND r.run_order < ?2 AND o.status = 'ok'
    AND o.judge_version = ?4 AND o.reference_version = ?5 AND o.inputs_version = ?6
    AND (v.is_baseline AND r.finished_at IS NOT NULL
      OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id AND a.case_key = o.case_key))
)";

std::string baseline_sql() {
  return fmt::format(
      "SELECT r.run_id, o.verdict, o.output_digest, b.build_id, o.rms, o.elements, "
      "o.promise_run_to_run = '{}' AND o.repeat_checked AND o.repeat_equal {} ORDER BY r.run_order DESC, o.suite LIMIT 1",
      name(Promise::bitwise), accepted_outcomes);
}

// A case may stand in several suites of one run: its first timed outcome counts.
std::string times_sql() {
  return fmt::format(
      "SELECT o.time_ratio {} AND o.timed GROUP BY r.run_order HAVING o.suite = min(o.suite) ORDER BY r.run_order DESC LIMIT {}",
      accepted_outcomes, time_history_runs);
}

// A statement in use: it ends with this, so that it neither holds a snapshot of the database nor what was bound.
class InUse {
 public:
  explicit InUse(SQLite::Statement& statement) : statement_(statement) {}
  ~InUse() { statement_.tryReset(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  SQLite::Statement& statement_;
};

void bind_series(SQLite::Statement& statement, const MachineClass& machine, const std::string& order, const std::string& case_id) {
  const Key machine_bytes = machine_key(machine), case_bytes = key_of(case_id);
  statement.bind(1, static_cast<const void*>(machine_bytes.data()), static_cast<int>(machine_bytes.size()));
  statement.bind(2, order);
  statement.bind(3, static_cast<const void*>(case_bytes.data()), static_cast<int>(case_bytes.size()));
  statement.bind(4, judge_version);
  statement.bind(5, reference_version);
  statement.bind(6, inputs_version);
}

// Keys of the run's outcomes that the glob matches and that have a result to compare with.
std::vector<std::string> matching_case_keys(SQLite::Database& db, const std::string& run_id, const std::string& case_glob) {
  std::vector<std::string> keys;
  SQLite::Statement outcomes(
      db, "SELECT DISTINCT case_key, case_id FROM outcome JOIN attention_case USING (case_key) WHERE run_id = ? AND status = 'ok'");
  outcomes.bind(1, run_id);
  while (outcomes.executeStep()) {
    if (glob_match(case_glob, outcomes.getColumn(1).getString())) keys.push_back(outcomes.getColumn(0).getString());
  }
  return keys;
}

void insert_accept(SQLite::Database& db, const Key& key, std::initializer_list<std::string> texts) {
  SQLite::Statement insert(db,
                           "INSERT INTO accept(accept_key, run_id, case_glob, accepted_by, reason, accepted_at) VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(1, static_cast<const void*>(key.data()), static_cast<int>(key.size()));
  int index = 2;
  for (const std::string& text : texts) insert.bind(index++, storable_text(text));
  insert.exec();
}

}  // namespace

Series::Series(SQLite::Database& db, std::filesystem::path path)
    : path_(std::move(path)),
      find_order_(db, "SELECT run_order FROM run WHERE run_id = ?"),
      find_baseline_(db, baseline_sql()),
      find_times_(db, times_sql()) {}

Result<std::string> Series::order_before(const std::string& before_run) {
  if (before_run.empty()) return std::string("~");  // after every time
  if (before_run == order_of_) return order_;
  const InUse in_use(find_order_);
  find_order_.bind(1, before_run);
  if (!find_order_.executeStep())
    return fail(error_at(path_, fmt::format("run '{}' is not in the database", storable_text(before_run)), "see `plumbline history`"));
  order_ = find_order_.getColumn(0).getString();
  order_of_ = before_run;
  return order_;
}

Result<std::optional<Baseline>> Series::baseline(const std::string& case_id, const MachineClass& machine, const std::string& before_run) {
  const auto order = order_before(before_run);
  if (!order) return tl::unexpected(order.error());
  const InUse in_use(find_baseline_);
  bind_series(find_baseline_, machine, *order, case_id);
  if (!find_baseline_.executeStep()) return std::optional<Baseline>{};
  Baseline baseline;
  Loader load(find_baseline_);
  load("run_id", baseline.run_id);
  load("verdict", baseline.verdict);
  load("output_digest", baseline.output_digest);
  load("build_id", baseline.build_id);
  load("rms", baseline.rms);
  load("elements", baseline.elements);
  load("deterministic", baseline.deterministic);
  return baseline;
}

Result<TimeHistory> Series::times(const std::string& case_id, const MachineClass& machine, const std::string& before_run) {
  const auto order = order_before(before_run);
  if (!order) return tl::unexpected(order.error());
  const InUse in_use(find_times_);
  bind_series(find_times_, machine, *order, case_id);
  TimeHistory history;
  while (find_times_.executeStep()) history.ratios.push_back(find_times_.getColumn(0).getDouble());
  return history;
}

Result<void> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path, const std::string& run_id,
                             const std::string& case_glob, const std::string& who, const std::string& why) {
  Errors errors;
  for (const auto& [what, text] : {std::pair{"case glob", case_glob}, {"name of who accepts", who}, {"reason for accepting", why}}) {
    if (auto error = check_id(what, text)) errors.push_back(std::move(*error));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return guarded(path, "accepting outcomes", [&]() -> Result<void> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const auto keys = matching_case_keys(db, run_id, case_glob);
    if (keys.empty()) {
      return fail(error_at(path, fmt::format("run '{}' has no outcome with a result that '{}' matches", storable_text(run_id), case_glob),
                           "only outcomes of status ok can become baselines; see v_history"));
    }
    const std::string when = iso_time(std::chrono::system_clock::now());
    const Key accept_key = key_of(canonical_text({"accept", run_id, case_glob, who, why, when}));
    insert_accept(db, accept_key, {run_id, case_glob, who, why, when});
    SQLite::Statement insert(db, "INSERT INTO accepted_case(run_id, case_key, accept_key) VALUES (?, ?, ?)");
    for (const std::string& key : keys) {
      insert.bind(1, run_id);
      insert.bind(2, static_cast<const void*>(key.data()), static_cast<int>(key.size()));
      insert.bind(3, static_cast<const void*>(accept_key.data()), static_cast<int>(accept_key.size()));
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    return {};
  });
}

}  // namespace plumbline
