// Writes outcomes and diffs in batches, one transaction each.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/problem/rounding_spec.h"
#include "harness/store/keys.h"
#include "harness/store/store.h"

namespace plumbline {

struct Outcome;

class BatchWriter {
 public:
  BatchWriter(SQLite::Database& db, std::filesystem::path path);
  ~BatchWriter();

  // Checks ids and spec, and buffers the row. Flushes if the batch is full or the last flush was
  // two seconds ago.
  Result<void> add(const std::string& run_id, const StoredOutcome& outcome);
  Result<void> add(const std::string& run_id, const StoredDiff& diff);
  // Writes the batch in one transaction. After an I/O error none of its rows is stored, and all are
  // kept for the next try. A row that violates a constraint is left out and reported; the others
  // are stored.
  Result<void> flush();

 private:
  struct RunFacts {
    MachineClass host;
    std::string order;  // run.run_order
  };
  using Run = std::pair<const std::string, RunFacts>;  // key: the run id
  struct SpecText {
    RoundingSpec declared;
    std::string text;
    Key key;
  };
  struct PendingOutcome;
  struct PendingDiff;
  Result<void> flush_if_due();
  Result<const Run*> known_run(const std::string& run_id);
  const SpecText& text_of(const RoundingSpec& declared);
  std::optional<Error> check_spec(const SpecText& spec, const std::string& case_id);
  template <class Write>
  std::optional<Error> refusal(Write&& write);
  Errors write_all();
  void write(SQLite::Statement& insert, std::span<const PendingOutcome> rows);
  void write(const PendingDiff& pending);
  void write_case(const PendingOutcome& pending);
  void write_further_outputs(const PendingOutcome& pending);
  void write_build(const Key& key, const Outcome& outcome);
  void write_machine(const Key& key, const MachineClass& machine);
  void write_spec(const Key& key, const std::string& spec);

  SQLite::Database& db_;
  std::filesystem::path path_;
  SQLite::Statement insert_outcome_, insert_outcomes_, insert_diff_, insert_case_, insert_build_,
      insert_machine_, insert_spec_, insert_output_;
  std::map<std::string, RunFacts> known_runs_;
  std::unordered_set<Key, KeyHash> known_;  // rows of referenced tables that are known to be stored
  std::vector<SpecText> spec_texts_;        // cache of recent specs; a night has few
  // Only the first `waiting_` are in use. The others keep their memory for later rows.
  std::vector<PendingOutcome> outcomes_;
  std::size_t waiting_ = 0;
  std::vector<PendingDiff> diffs_;
  std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
};

// Returns an INSERT of `rows` rows. On a conflict of the `unique` columns it updates the other
// columns, or does nothing if `replace` is false.
std::string insert_sql(const std::string& table, const std::vector<std::string>& columns,
                       const std::vector<std::string>& unique, bool replace, std::size_t rows = 1);

}  // namespace plumbline
