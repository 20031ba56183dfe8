#include "harness/store/batch_writer.h"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>

#include "harness/problem/inputs.h"
#include "harness/store/connection.h"
#include "harness/store/rows.h"

namespace plumbline {
namespace {

constexpr std::size_t batch_rows = 1000;  // of random keys: small batches write the leaves of every index again and again
constexpr std::chrono::seconds batch_age{2};
constexpr std::size_t most_spec_texts = 64;

// Columns that are not part of a row's own description, in the order in which write() binds them.
const std::vector<std::string> outcome_keys{"run_id",          "case_key",     "build_key",           "declared_spec_key",
                                            "judged_spec_key", "arch",         "judge_version",       "reference_version",
                                            "inputs_version",  "head_rms_max", "head_rms_max_sample", "head_rms_max_head"};
const std::vector<std::string> diff_keys{"run_id", "judge_version", "reference_version", "inputs_version"};

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void bind_key(SQLite::Statement& statement, int index, const Key& key) {
  statement.bind(index, static_cast<const void*>(key.data()), static_cast<int>(key.size()));
}

void bind_versions(SQLite::Statement& statement, int first) {
  statement.bind(first, judge_version);
  statement.bind(first + 1, reference_version);
  statement.bind(first + 2, inputs_version);
}

void execute(SQLite::Statement& statement) {
  statement.exec();
  statement.reset();
}

std::string arch_of(const Outcome& outcome, const std::string& machine_arch) {
  std::string arch = arch_of(outcome);
  return arch.empty() ? machine_arch : arch;
}

void bind_largest_head(SQLite::Statement& statement, int first, const Outcome& outcome) {
  const auto& rms = outcome.head_rms;
  if (rms.empty()) {
    for (int i = 0; i < 3; ++i) statement.bind(first + i);
    return;
  }
  const auto rank = [](float value) { return std::isnan(value) ? std::numeric_limits<float>::infinity() : value; };  // NaN is the worst
  const auto largest = std::max_element(rms.begin(), rms.end(), [&](float a, float b) { return rank(a) < rank(b); });
  const auto index = static_cast<std::int64_t>(largest - rms.begin());
  const std::int64_t heads = std::max<std::int64_t>(1, outcome.c.problem.heads_q);
  statement.bind(first, static_cast<double>(rank(*largest)));
  statement.bind(first + 1, index / heads);
  statement.bind(first + 2, index % heads);
}

Key spec_key(const std::string& spec) { return key_of(canonical_text({"rounding spec", spec})); }

Errors check_ids(std::initializer_list<std::pair<std::string_view, std::string_view>> ids) {
  Errors errors;
  for (const auto& [what, id] : ids) {
    if (auto error = check_id(what, id)) errors.push_back(std::move(*error));
  }
  return errors;
}

}  // namespace

std::string insert_sql(const std::string& table, const std::vector<std::string>& columns, const std::vector<std::string>& unique,
                       bool replace) {
  std::string updates;
  for (const std::string& column : columns) {
    if (std::find(unique.begin(), unique.end(), column) != unique.end()) continue;
    updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", column, column);
  }
  std::string marks = "?";
  for (std::size_t i = 1; i < columns.size(); ++i) marks += ", ?";
  return fmt::format("INSERT INTO {}({}) VALUES ({}) ON CONFLICT ({}) DO {}", table, fmt::join(columns, ", "), marks,
                     fmt::join(unique, ", "), replace ? "UPDATE SET " + updates : "NOTHING");
}

BatchWriter::BatchWriter(SQLite::Database& db, std::filesystem::path path)
    : db_(db),
      path_(std::move(path)),
      insert_outcome_(db, insert_sql("outcome", joined(outcome_keys, column_names<StoredOutcome>(outcome_columns)),
                                     {"case_key", "run_id", "suite"}, true)),
      insert_diff_(db, insert_sql("diff", joined(diff_keys, column_names<StoredDiff>(diff_columns)),
                                  {"run_id", "suite", "name", "case_a", "case_b"}, true)),
      insert_case_(db,
                   insert_sql("attention_case", joined({"case_key", "case_id"}, column_names<Case>(case_columns)), {"case_key"}, false)),
      insert_build_(db, insert_sql("build", {"build_key", "build_kernel", "build_id", "launched"}, {"build_key"}, false)),
      insert_spec_(db, insert_sql("rounding_spec", {"spec_key", "spec"}, {"spec_key"}, false)) {}

Result<void> BatchWriter::add(const std::string& run_id, const StoredOutcome& outcome) {
  const Outcome& o = outcome.outcome;
  Errors errors = check_ids({{"case id", o.case_id}, {"kernel", o.c.kernel}, {"device", o.c.device}, {"suite", o.suite}});
  const std::string& spec = text_of(o.description.spec);
  if (auto error = check_spec(spec, o.case_id)) errors.push_back(std::move(*error));
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return keep({run_id, PendingOutcome{outcome, spec}});
}

Result<void> BatchWriter::add(const std::string& run_id, const StoredDiff& diff) {
  const DiffOutcome& d = diff.outcome;
  Errors errors = check_ids({{"case id", d.case_a}, {"case id", d.case_b}, {"diff", d.name}, {"suite", d.suite}});
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return keep({run_id, diff});
}

const std::string& BatchWriter::text_of(const RoundingSpec& declared) {
  const auto known = std::find_if(spec_texts_.begin(), spec_texts_.end(), [&](const auto& spec) { return spec.first == declared; });
  if (known != spec_texts_.end()) return known->second;
  if (spec_texts_.size() == most_spec_texts) spec_texts_.clear();
  return spec_texts_.emplace_back(declared, spec_text(declared)).second;
}

// A declared spec with a NaN in it would be stored and never be read again.
std::optional<Error> BatchWriter::check_spec(const std::string& spec, const std::string& case_id) {
  if (known_.contains(spec_key(spec))) return std::nullopt;
  const auto parsed = parse_spec_text(spec);
  if (parsed) return std::nullopt;
  return Error{"", 0, fmt::format("case {} declares a rounding spec that cannot be read back: {}", case_id, to_string(parsed.error())),
               "correct the kernel's describe()"};
}

Result<void> BatchWriter::keep(Pending pending) {
  if (auto known = check_run(pending.run_id); !known) return known;
  pending_.push_back(std::move(pending));
  const bool due = pending_.size() >= batch_rows || std::chrono::steady_clock::now() - last_flush_ >= batch_age;
  return due ? flush() : Result<void>{};
}

Result<void> BatchWriter::check_run(const std::string& run_id) {
  if (arch_of_run_.contains(run_id)) return {};
  return guarded(path_, "looking up the run", [&]() -> Result<void> {
    SQLite::Statement find(db_, "SELECT machine_arch FROM run JOIN machine_class USING (machine_key) WHERE run_id = ?");
    find.bind(1, run_id);
    if (!find.executeStep())
      return fail(error_at(path_, fmt::format("run '{}' was not begun", storable_text(run_id)), "call begin_run first"));
    arch_of_run_[run_id] = find.getColumn(0).getString();
    return {};
  });
}

Result<void> BatchWriter::flush() {
  last_flush_ = std::chrono::steady_clock::now();
  if (pending_.empty()) return {};
  if (auto moved = check_in_place(db_, path_); !moved) return moved;
  Errors refused;
  const auto write_all = [&]() -> Result<void> {
    SQLite::Transaction transaction(db_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const Pending& pending : pending_) {
      try {
        std::visit([&](const auto& row) { write(pending.run_id, row); }, pending.row);
      } catch (const SQLite::Exception& exception) {
        insert_outcome_.tryReset();
        insert_diff_.tryReset();
        if ((exception.getErrorCode() & 0xFF) != SQLITE_CONSTRAINT) throw;
        refused.push_back(database_error(path_, "storing one row", exception));
      }
    }
    transaction.commit();
    return {};
  };
  if (auto written = guarded(path_, fmt::format("storing {} rows", pending_.size()), write_all); !written) {
    known_.clear();  // rolled back with the rest
    return written;
  }
  pending_.clear();
  return refused.empty() ? Result<void>{} : tl::unexpected(std::move(refused));
}

void BatchWriter::write_case(const Key& key, const Outcome& outcome) {
  if (!is_new(key)) return;
  bind_key(insert_case_, 1, key);
  insert_case_.bind(2, outcome.case_id);
  Binder binder(insert_case_, 3);
  const Case c{outcome.c.kernel, outcome.c.device, canonical(outcome.c.problem)};  // one id, one row, whoever stores it first
  case_columns(binder, c);
  execute(insert_case_);
}

Key BatchWriter::write_build(const Outcome& outcome) {
  const Description& description = outcome.description;
  const Key key = key_of(canonical_text({"build", outcome.c.kernel, description.build_id, description.launched}));
  if (!is_new(key)) return key;
  bind_key(insert_build_, 1, key);
  Binder binder(insert_build_, 2);
  binder("build_kernel", outcome.c.kernel);
  binder("build_id", description.build_id);
  binder("launched", description.launched);
  execute(insert_build_);
  return key;
}

Key BatchWriter::write_spec(const std::string& spec) {
  const Key key = spec_key(spec);
  if (!is_new(key)) return key;
  bind_key(insert_spec_, 1, key);
  Binder binder(insert_spec_, 2);
  binder("spec", spec);
  execute(insert_spec_);
  return key;
}

void BatchWriter::write(const std::string& run_id, const PendingOutcome& pending) {
  const StoredOutcome& stored = pending.stored;
  const Outcome& outcome = stored.outcome;
  const Key case_key = key_of(outcome.case_id);
  write_case(case_key, outcome);
  insert_outcome_.bind(1, run_id);
  bind_key(insert_outcome_, 2, case_key);
  bind_key(insert_outcome_, 3, write_build(outcome));
  bind_key(insert_outcome_, 4, write_spec(pending.declared_spec));
  bind_key(insert_outcome_, 5, write_spec(outcome.spec_judged));
  insert_outcome_.bind(6, arch_of(outcome, arch_of_run_.at(run_id)));
  bind_versions(insert_outcome_, 7);
  bind_largest_head(insert_outcome_, 10, outcome);
  Binder binder(insert_outcome_, static_cast<int>(outcome_keys.size()) + 1);
  outcome_columns(binder, stored);
  execute(insert_outcome_);
}

void BatchWriter::write(const std::string& run_id, const StoredDiff& stored) {
  insert_diff_.bind(1, run_id);
  bind_versions(insert_diff_, 2);
  Binder binder(insert_diff_, static_cast<int>(diff_keys.size()) + 1);
  diff_columns(binder, stored);
  execute(insert_diff_);
}

}  // namespace plumbline
