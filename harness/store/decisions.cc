// Stores what users accept, pin and acknowledge.
#include "harness/store/decisions.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Returns the keys of cases that `sql` selects for the run as (case_key, case_id) and that the glob
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

// Selects what an acknowledgement applies to: failing and open outcomes, and acknowledged ones,
// whose reason or date can be replaced.
std::string cases_that_are_regressions() {
  std::vector<std::string> names;
  for (const Verdict verdict : all<Verdict>()) {
    if (needs_attention(verdict) || verdict == Verdict::acknowledged)
      names.push_back(fmt::format("'{}'", name(verdict)));
  }
  return fmt::format(
      "SELECT DISTINCT case_key, case_id FROM outcome JOIN attention_case USING (case_key) WHERE "
      "run_id = ? AND verdict IN ({})",
      fmt::join(names, ", "));
}

// A kind of decision: its messages, the table of decisions and the table of their cases.
struct Kind {
  const char* word;
  const char* doing;
  const char* decision;
  const char* cases;
  const char* nothing;  // format string with run and glob
  const char* remedy;
};
constexpr Kind accepts{"accept",
                       "accepting outcomes",
                       "accept(accept_key, run_id, case_glob, accepted_by, reason, accepted_at)",
                       "accepted_case(accept_key, run_id, case_key)",
                       "run '{}' has no outcome with a result whose case '{}' matches",
                       "choose outcomes of status ok, which view v_history lists"};
constexpr Kind pins{"pin",
                    "pinning outcomes",
                    "pin(pin_key, run_id, case_glob, pinned_by, reason, pinned_at)",
                    "pinned_case(pin_key, run_id, case_key)",
                    "run '{}' has no outcome that may serve as a baseline and that '{}' matches",
                    "to pin a failed outcome, first accept it: plumbline baseline accept"};
constexpr Kind acknowledgements{
    "acknowledge",
    "acknowledging regressions",
    "acknowledgement(acknowledgement_key, run_id, case_glob, acknowledged_by, reason, "
    "acknowledged_at, until)",
    "acknowledged_case(acknowledgement_key, run_id, case_key)",
    "run '{}' has no regression or failure that '{}' matches",
    "`plumbline show` lists them; what is fine needs no acknowledgement"};

// `until`: only for acknowledgements.
void store_decision(SQLite::Database& db, const Kind& kind, const Decision& decision,
                    const std::vector<std::string>& keys, const std::optional<std::string>& until) {
  const auto& [run_id, case_glob, who, why] = decision;
  const std::string when = iso_time(std::chrono::system_clock::now());
  const Key key =
      until ? key_of(canonical_text({kind.word, run_id, case_glob, who, why, when, *until}))
            : key_of(canonical_text({kind.word, run_id, case_glob, who, why, when}));
  std::vector<std::string> texts{run_id, case_glob, who, why, when};
  if (until) texts.push_back(*until);
  SQLite::Statement insert(db, fmt::format("INSERT INTO {} VALUES (?, ?, ?, ?, ?, ?{})",
                                           kind.decision, until ? ", ?" : ""));
  bind_key(insert, 1, key);
  int index = 2;
  for (const std::string& text : texts) insert.bind(index++, storable_text(text));
  insert.exec();
  SQLite::Statement insert_case(
      db, fmt::format("INSERT OR IGNORE INTO {} VALUES (?, ?, ?)", kind.cases));
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

// Stores a decision about the cases that the statements select. Returns how many cases each
// statement selected.
Result<std::vector<int>> decide(SQLite::Database& db, const std::filesystem::path& path,
                                const Kind& kind, const Decision& decision,
                                const std::vector<std::string>& cases,
                                const std::optional<std::string>& until = std::nullopt) {
  if (Errors errors = check_decision(decision, kind.word); !errors.empty())
    return tl::unexpected(std::move(errors));
  return guarded(path, kind.doing, [&]() -> Result<std::vector<int>> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    std::vector<std::string> keys;
    std::vector<int> counts;
    for (const std::string& sql : cases) {
      const auto more = matching_case_keys(db, sql, decision);
      keys.insert(keys.end(), more.begin(), more.end());
      counts.push_back(static_cast<int>(more.size()));
    }
    if (keys.empty()) {
      return fail(error_at(path,
                           fmt::format(fmt::runtime(kind.nothing), storable_text(decision.run_id),
                                       decision.case_glob),
                           kind.remedy));
    }
    store_decision(db, kind, decision, keys, until);
    transaction.commit();
    return counts;
  });
}

int only(const std::vector<int>& counts) { return counts.front(); }

}  // namespace

Result<Accepted> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision) {
  return decide(db, path, accepts, decision,
                {cases_with_a_result, cases_with_a_change(ChangeKind::refused),
                 cases_with_a_change(ChangeKind::vanished)})
      .map([](const std::vector<int>& n) {
        return Accepted{n[0], n[1], n[2]};
      });
}

Result<int> pin_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                         const Decision& decision) {
  return decide(db, path, pins, decision, {cases_that_may_be_baselines()}).map(only);
}

Result<int> acknowledge_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision, const std::string& until) {
  return decide(db, path, acknowledgements, decision, {cases_that_are_regressions()}, until)
      .map(only);
}

}  // namespace plumbline
