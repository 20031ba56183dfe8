// Writes outcomes and diffs in batches of one transaction.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/store/keys.h"
#include "harness/store/store.h"

namespace plumbline {

class BatchWriter {
 public:
  BatchWriter(SQLite::Database& db, std::filesystem::path path);

  // Checks the ids, keeps the row, and flushes if the batch is full or two seconds old.
  Result<void> add(const std::string& run_id, const StoredOutcome& outcome);
  Result<void> add(const std::string& run_id, const StoredDiff& diff);
  // One transaction. If the disk fails, nothing of the batch is stored, the error says so, and the rows are kept for the next try. A row
  // that breaks a rule of the schema is left out and named; the others are stored.
  Result<void> flush();

 private:
  struct PendingOutcome {
    StoredOutcome stored;
    std::string declared_spec;  // as text
  };
  struct Pending {
    std::string run_id;
    std::variant<PendingOutcome, StoredDiff> row;
  };
  Result<void> keep(Pending pending);
  Result<void> check_run(const std::string& run_id);
  const std::string& text_of(const RoundingSpec& declared);
  std::optional<Error> check_spec(const std::string& spec, const std::string& case_id);
  void write(const std::string& run_id, const PendingOutcome& pending);
  void write(const std::string& run_id, const StoredDiff& stored);
  bool is_new(const Key& key) { return known_.insert(key).second; }
  void write_case(const Key& key, const Outcome& outcome);
  Key write_build(const Outcome& outcome);
  Key write_spec(const std::string& spec);

  SQLite::Database& db_;
  std::filesystem::path path_;
  SQLite::Statement insert_outcome_, insert_diff_, insert_case_, insert_build_, insert_spec_;
  std::map<std::string, std::string> arch_of_run_;
  std::set<Key> known_;                                           // dimension rows that are certainly stored
  std::vector<std::pair<RoundingSpec, std::string>> spec_texts_;  // of the specs declared of late: a night has few
  std::vector<Pending> pending_;
  std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
};

// INSERT of these columns; on a conflict of the `unique` ones the others are replaced, or the row is left alone where `replace` is false.
std::string insert_sql(const std::string& table, const std::vector<std::string>& columns, const std::vector<std::string>& unique,
                       bool replace);

}  // namespace plumbline
