// Stores what people accept, pin and acknowledge.
#include "harness/store/decisions.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/base/glob.h"
#include "harness/judge/change.h"
#include "harness/judge/verdict.h"
#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

// Keys of cases that `sql`, bound to a run, gives as (case_key, case_id), and that the glob
// matches.
std::vector<std::string> matching_case_keys(SQLite::Database& db, const std::string& sql,
                                            const Decision& decision) {
  std::vector<std::string> keys;
  SQLite::Statement cases(db, sql);
  cases.bind(1, decision.run_id);
  while (cases.executeStep()) {
    if (glob_match(decision.case_glob, cases.getColumn(1).getString()))
      keys.push_back(cases.getColumn(0).getString());
  }
  return keys;
}

constexpr const char* cases_with_a_result =
    "SELECT DISTINCT case_key, case_id FROM outcome JOIN attention_case USING (case_key) WHERE "
    "run_id = ? AND status = 'ok'";

std::string cases_with_a_change(ChangeKind kind) {
  return fmt::format(
      "SELECT DISTINCT c.case_key, c.case_id FROM run_change AS x JOIN attention_case AS c USING "
      "(case_id) "
      "WHERE x.run_id = ? AND x.kind = '{}'",
      name(kind));
}

std::string cases_that_may_be_baselines() {
  return fmt::format(
      "{} AND ((SELECT is_baseline FROM verdict AS v WHERE v.verdict = outcome.verdict) OR EXISTS "
      "(SELECT 1 FROM "
      "accepted_case AS a WHERE a.run_id = outcome.run_id AND a.case_key = outcome.case_key))",
      cases_with_a_result);
}

// Acknowledged is what fails, is still open, or was acknowledged before and is again, with another
// reason or day.
std::string cases_that_are_regressions() {
  std::vector<std::string> names;
  for (const Verdict verdict : all<Verdict>()) {
    if (wants_attention(verdict) || verdict == Verdict::acknowledged)
      names.push_back(fmt::format("'{}'", name(verdict)));
  }
  return fmt::format(
      "SELECT DISTINCT case_key, case_id FROM outcome JOIN attention_case USING (case_key) WHERE "
      "run_id = ? AND verdict IN ({})",
      fmt::join(names, ", "));
}

// The tables in which decisions of one kind are kept: what was decided, and of which cases.
struct DecisionTables {
  const char* word;
  const char* decision;
  const char* cases;
};
constexpr DecisionTables accepts{
    "accept", "accept(accept_key, run_id, case_glob, accepted_by, reason, accepted_at)",
    "accepted_case(accept_key, run_id, case_key)"};
constexpr DecisionTables pins{"pin",
                              "pin(pin_key, run_id, case_glob, pinned_by, reason, pinned_at)",
                              "pinned_case(pin_key, run_id, case_key)"};

constexpr DecisionTables acknowledgements{
    "acknowledge",
    "acknowledgement(acknowledgement_key, run_id, case_glob, acknowledged_by, reason, "
    "acknowledged_at, until)",
    "acknowledged_case(acknowledgement_key, run_id, case_key)"};

// `until`: of an acknowledgement.
void store_decision(SQLite::Database& db, const DecisionTables& tables, const Decision& decision,
                    const std::vector<std::string>& keys,
                    const std::optional<std::string>& until = std::nullopt) {
  const auto& [run_id, case_glob, who, why] = decision;
  const std::string when = iso_time(std::chrono::system_clock::now());
  const Key key =
      until ? key_of(canonical_text({tables.word, run_id, case_glob, who, why, when, *until}))
            : key_of(canonical_text({tables.word, run_id, case_glob, who, why, when}));
  std::vector<std::string> texts{run_id, case_glob, who, why, when};
  if (until) texts.push_back(*until);
  SQLite::Statement insert(db, fmt::format("INSERT INTO {} VALUES (?, ?, ?, ?, ?, ?{})",
                                           tables.decision, until ? ", ?" : ""));
  bind_key(insert, 1, key);
  int index = 2;
  for (const std::string& text : texts) insert.bind(index++, storable_text(text));
  insert.exec();
  SQLite::Statement insert_case(
      db, fmt::format("INSERT OR IGNORE INTO {} VALUES (?, ?, ?)", tables.cases));
  for (const std::string& case_key : keys) {
    bind_key(insert_case, 1, key);
    insert_case.bind(2, run_id);
    bind_key(insert_case, 3, case_key);
    insert_case.exec();
    insert_case.reset();
  }
}

Errors check_decision(const Decision& decision, std::string_view verb) {
  Errors errors;
  for (const auto& [what, text] :
       {std::pair{std::string("case glob"), decision.case_glob},
        std::pair{fmt::format("name of who {}s", verb), decision.who},
        std::pair{fmt::format("reason for {}ing", verb == "pin" ? "pinn" : verb), decision.why}}) {
    if (auto error = check_id(what, text)) errors.push_back(std::move(*error));
  }
  return errors;
}

}  // namespace

Result<Accepted> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision) {
  if (Errors errors = check_decision(decision, "accept"); !errors.empty())
    return tl::unexpected(std::move(errors));
  return guarded(path, "accepting outcomes", [&]() -> Result<Accepted> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    auto keys = matching_case_keys(db, cases_with_a_result, decision);
    const auto refused = matching_case_keys(db, cases_with_a_change(ChangeKind::refused), decision);
    const auto vanished =
        matching_case_keys(db, cases_with_a_change(ChangeKind::vanished), decision);
    const Accepted accepted{static_cast<int>(keys.size()), static_cast<int>(refused.size()),
                            static_cast<int>(vanished.size())};
    keys.insert(keys.end(), refused.begin(), refused.end());
    keys.insert(keys.end(), vanished.begin(), vanished.end());
    if (keys.empty()) {
      return fail(error_at(path,
                           fmt::format("run '{}' has no outcome with a result that '{}' matches",
                                       storable_text(decision.run_id), decision.case_glob),
                           "only outcomes of status ok can become baselines; see v_history"));
    }
    store_decision(db, accepts, decision, keys);
    transaction.commit();
    return accepted;
  });
}

Result<int> pin_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                         const Decision& decision) {
  if (Errors errors = check_decision(decision, "pin"); !errors.empty())
    return tl::unexpected(std::move(errors));
  return guarded(path, "pinning outcomes", [&]() -> Result<int> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const auto keys = matching_case_keys(db, cases_that_may_be_baselines(), decision);
    if (keys.empty()) {
      return fail(error_at(
          path,
          fmt::format("run '{}' has no outcome that may serve as a baseline and that '{}' matches",
                      storable_text(decision.run_id), decision.case_glob),
          "accept an outcome that failed before it is pinned: plumbline baseline accept"));
    }
    store_decision(db, pins, decision, keys);
    transaction.commit();
    return static_cast<int>(keys.size());
  });
}

Result<int> acknowledge_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision, const std::string& until) {
  if (Errors errors = check_decision(decision, "acknowledge"); !errors.empty())
    return tl::unexpected(std::move(errors));
  return guarded(path, "acknowledging regressions", [&]() -> Result<int> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const auto keys = matching_case_keys(db, cases_that_are_regressions(), decision);
    if (keys.empty()) {
      return fail(error_at(path,
                           fmt::format("run '{}' has no regression or failure that '{}' matches",
                                       storable_text(decision.run_id), decision.case_glob),
                           "`plumbline show` lists them; what is fine needs no acknowledgement"));
    }
    store_decision(db, acknowledgements, decision, keys, until);
    transaction.commit();
    return static_cast<int>(keys.size());
  });
}

}  // namespace plumbline
