// Checks and collects rows, and inserts many per statement, with the cases and builds they refer
// to.
#include "harness/store/batch_writer.h"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>

#include "harness/problem/inputs.h"
#include "harness/reference/version.h"
#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/machine.h"
#include "harness/store/rows.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

// Keys are random, so small batches would rewrite the leaves of every index again and again.
constexpr std::size_t batch_rows = 1000;
constexpr std::chrono::seconds batch_age{2};
// Rows per statement. SQLite sets up a statement's tables, indices and CHECK lists once for all its
// rows; with one row per statement it took 1.3 times as many instructions.
constexpr std::size_t statement_rows = 16;
constexpr std::size_t max_spec_texts = 64;

// Columns that do not come from a row's description, in the order in which write() binds them.
const std::vector<std::string> outcome_keys{"run_id",
                                            "case_key",
                                            "series_key",
                                            "run_order",
                                            "build_key",
                                            "machine_key",
                                            "declared_spec_key",
                                            "judged_spec_key",
                                            "arch",
                                            "judge_version",
                                            "reference_version",
                                            "inputs_version",
                                            "head_rms_max",
                                            "head_rms_max_sample",
                                            "head_rms_max_head"};
const std::vector<std::string> diff_keys{"run_id", "judge_version", "reference_version",
                                         "inputs_version"};

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
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
  if (!arch.empty()) return arch;
  // An unidentified GPU does not have the CPU's architecture.
  return outcome.c.device == "cpu" ? machine_arch : "unknown";
}

void bind_largest_head(SQLite::Statement& statement, int first, const Outcome& outcome) {
  const auto& rms = outcome.head_rms;
  if (rms.empty()) {
    for (int i = 0; i < 3; ++i) statement.bind(first + i);
    return;
  }
  // NaN counts as largest
  const auto rank = [](float value) {
    return std::isnan(value) ? std::numeric_limits<float>::infinity() : value;
  };
  const auto largest =
      std::max_element(rms.begin(), rms.end(), [&](float a, float b) { return rank(a) < rank(b); });
  const auto index = static_cast<std::int64_t>(largest - rms.begin());
  const std::int64_t heads = std::max<std::int64_t>(1, outcome.c.problem.heads_q);
  statement.bind(first, static_cast<double>(rank(*largest)));
  statement.bind(first + 1, index / heads);
  statement.bind(first + 2, index % heads);
}

std::string insert_outcomes_sql(std::size_t rows) {
  return insert_sql("outcome", joined(outcome_keys, column_names<StoredOutcome>(outcome_columns)),
                    {"case_key", "run_id", "suite"}, true, rows);
}

Key build_key(const Outcome& outcome) {
  return key_of(canonical_text(
      {"build", outcome.c.kernel, outcome.description.build_id, outcome.description.launched}));
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

std::string insert_sql(const std::string& table, const std::vector<std::string>& columns,
                       const std::vector<std::string>& unique, bool replace, std::size_t rows) {
  std::string updates;
  for (const std::string& column : columns) {
    if (std::find(unique.begin(), unique.end(), column) != unique.end()) continue;
    updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", column, column);
  }
  std::string marks = "?";
  for (std::size_t i = 1; i < columns.size(); ++i) marks += ", ?";
  const std::vector<std::string> values(rows, "(" + marks + ")");
  return fmt::format("INSERT INTO {}({}) VALUES {} ON CONFLICT ({}) DO {}", table,
                     fmt::join(columns, ", "), fmt::join(values, ", "), fmt::join(unique, ", "),
                     replace ? "UPDATE SET " + updates : "NOTHING");
}

struct BatchWriter::PendingOutcome {
  const Run* run = nullptr;
  StoredOutcome stored;
  std::string declared_spec;  // as text
  Key case_key{}, series_key{}, build_key{}, machine_key{}, declared_spec_key{}, judged_spec_key{};
};

struct BatchWriter::PendingDiff {
  const Run* run;
  StoredDiff stored;
};

BatchWriter::~BatchWriter() = default;

BatchWriter::BatchWriter(SQLite::Database& db, std::filesystem::path path)
    : db_(db),
      path_(std::move(path)),
      insert_outcome_(db, insert_outcomes_sql(1)),
      insert_outcomes_(db, insert_outcomes_sql(statement_rows)),
      insert_diff_(db, insert_sql("diff", joined(diff_keys, column_names<StoredDiff>(diff_columns)),
                                  {"run_id", "suite", "name", "case_a", "case_b"}, true)),
      insert_case_(db, insert_sql("attention_case",
                                  joined({"case_key", "case_id", "series_key"},
                                         column_names<Case>(case_columns)),
                                  {"case_key"}, false)),
      insert_build_(db, insert_sql("build", {"build_key", "build_kernel", "build_id", "launched"},
                                   {"build_key"}, false)),
      insert_machine_(
          db, insert_sql("machine_class",
                         joined({"machine_key"}, column_names<MachineClass>(machine_columns)),
                         {"machine_key"}, false)),
      insert_spec_(db, insert_sql("rounding_spec", {"spec_key", "spec"}, {"spec_key"}, false)),
      insert_output_(
          db, insert_sql("outcome_output",
                         {"case_key", "run_id", "suite", "output", "z", "max_abs", "limit_value"},
                         {"case_key", "run_id", "suite", "output"}, true)) {}

Result<void> BatchWriter::add(const std::string& run_id, const StoredOutcome& outcome) {
  const Outcome& o = outcome.outcome;
  Errors errors = check_ids(
      {{"case id", o.case_id}, {"kernel", o.c.kernel}, {"device", o.c.device}, {"suite", o.suite}});
  const SpecText& spec = text_of(o.description.spec);
  if (auto error = check_spec(spec, o.case_id)) errors.push_back(std::move(*error));
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  const auto run = known_run(run_id);
  if (!run) return tl::unexpected(run.error());
  if (waiting_ == outcomes_.size()) outcomes_.emplace_back();
  PendingOutcome& pending = outcomes_[waiting_];
  pending.run = *run;
  pending.stored = outcome;
  pending.declared_spec = spec.text;
  pending.case_key = key_of(o.case_id);
  pending.series_key = key_of(series_id(o.case_id));
  pending.build_key = build_key(o);
  pending.machine_key = machine_key(class_of(o, (*run)->second.host));
  pending.declared_spec_key = spec.key;
  pending.judged_spec_key = o.spec_judged == spec.text ? spec.key : spec_key(o.spec_judged);
  ++waiting_;
  return flush_if_due();
}

Result<void> BatchWriter::add(const std::string& run_id, const StoredDiff& diff) {
  const DiffOutcome& d = diff.outcome;
  Errors errors = check_ids(
      {{"case id", d.case_a}, {"case id", d.case_b}, {"diff", d.name}, {"suite", d.suite}});
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  const auto run = known_run(run_id);
  if (!run) return tl::unexpected(run.error());
  diffs_.push_back({*run, diff});
  return flush_if_due();
}

const BatchWriter::SpecText& BatchWriter::text_of(const RoundingSpec& declared) {
  const auto known = std::find_if(spec_texts_.begin(), spec_texts_.end(),
                                  [&](const auto& spec) { return spec.declared == declared; });
  if (known != spec_texts_.end()) return *known;
  if (spec_texts_.size() == max_spec_texts) spec_texts_.clear();
  const std::string text = spec_text(declared);
  return spec_texts_.emplace_back(SpecText{declared, text, spec_key(text)});
}

// Returns an error for a declared spec that could be stored but not read back, such as one with
// NaN.
std::optional<Error> BatchWriter::check_spec(const SpecText& spec, const std::string& case_id) {
  if (known_.contains(spec.key)) return std::nullopt;
  const auto parsed = parse_spec_text(spec.text);
  if (parsed) return std::nullopt;
  return Error{"", 0,
               fmt::format("case {} declares a rounding spec that cannot be read back: {}", case_id,
                           to_string(parsed.error())),
               "correct the kernel's describe()"};
}

Result<void> BatchWriter::flush_if_due() {
  const bool due = waiting_ + diffs_.size() >= batch_rows ||
                   std::chrono::steady_clock::now() - last_flush_ >= batch_age;
  return due ? flush() : Result<void>{};
}

Result<const BatchWriter::Run*> BatchWriter::known_run(const std::string& run_id) {
  if (const auto known = known_runs_.find(run_id); known != known_runs_.end()) return &*known;
  return guarded(path_, "looking up the run", [&]() -> Result<const Run*> {
    SQLite::Statement find(
        db_, fmt::format("SELECT {}, run_order FROM run JOIN machine_class USING (machine_key) "
                         "WHERE run_id = ?",
                         fmt::join(column_names<MachineClass>(machine_columns), ", ")));
    find.bind(1, run_id);
    if (!find.executeStep())
      return fail(error_at(path_, fmt::format("run '{}' was not begun", storable_text(run_id)),
                           "call begin_run first"));
    RunFacts facts;
    Loader load(find);
    machine_columns(load, facts.host);
    load("run_order", facts.order);
    return &*known_runs_.emplace(run_id, std::move(facts)).first;
  });
}

Result<void> BatchWriter::flush() {
  last_flush_ = std::chrono::steady_clock::now();
  const std::size_t rows = waiting_ + diffs_.size();
  if (rows == 0) return {};
  if (auto moved = check_in_place(db_, path_); !moved) return moved;
  const auto refused =
      guarded(path_, fmt::format("storing {} rows", rows), [&]() -> Result<Errors> {
        SQLite::Transaction transaction(db_, SQLite::TransactionBehavior::IMMEDIATE);
        Errors errors = write_all();
        transaction.commit();
        return errors;
      });
  if (!refused) {
    known_.clear();  // the rollback removed their rows
    return tl::unexpected(refused.error());
  }
  waiting_ = 0;
  diffs_.clear();
  return refused->empty() ? Result<void>{} : tl::unexpected(*refused);
}

// Returns an error if the rows that `write` stores violate a constraint of the schema.
template <class Write>
std::optional<Error> BatchWriter::refusal(Write&& write) {
  try {
    write();
    return std::nullopt;
  } catch (const SQLite::Exception& exception) {
    for (SQLite::Statement* statement :
         {&insert_outcome_, &insert_outcomes_, &insert_diff_, &insert_case_, &insert_build_,
          &insert_machine_, &insert_spec_, &insert_output_})
      statement->tryReset();
    if ((exception.getErrorCode() & 0xFF) != SQLITE_CONSTRAINT) throw;
    return database_error(path_, "storing one row", exception);
  }
}

Errors BatchWriter::write_all() {
  Errors refused;
  const auto keep = [&](std::optional<Error> error) {
    if (error) refused.push_back(std::move(*error));
  };
  for (std::span<const PendingOutcome> rest(outcomes_.data(), waiting_); !rest.empty();) {
    const auto rows = rest.first(std::min(statement_rows, rest.size()));
    rest = rest.subspan(rows.size());
    if (rows.size() == statement_rows && !refusal([&] { write(insert_outcomes_, rows); })) continue;
    for (std::size_t i = 0; i < rows.size(); ++i)
      keep(refusal([&] { write(insert_outcome_, rows.subspan(i, 1)); }));
  }
  for (const PendingDiff& pending : diffs_) keep(refusal([&] { write(pending); }));
  return refused;
}

void BatchWriter::write_case(const PendingOutcome& pending) {
  const Key& key = pending.case_key;
  const Outcome& outcome = pending.stored.outcome;
  if (known_.contains(key)) return;
  bind_key(insert_case_, 1, key);
  insert_case_.bind(2, outcome.case_id);
  bind_key(insert_case_, 3, pending.series_key);
  Binder binder(insert_case_, 4);
  // With the canonical form an id has the same row, regardless of which outcome is stored first.
  const Case c{outcome.c.kernel, outcome.c.device, canonical(outcome.c.problem)};
  case_columns(binder, c);
  execute(insert_case_);
  known_.insert(key);
}

void BatchWriter::write_build(const Key& key, const Outcome& outcome) {
  if (known_.contains(key)) return;
  bind_key(insert_build_, 1, key);
  Binder binder(insert_build_, 2);
  binder("build_kernel", outcome.c.kernel);
  binder("build_id", outcome.description.build_id);
  binder("launched", outcome.description.launched);
  execute(insert_build_);
  known_.insert(key);
}

void BatchWriter::write_machine(const Key& key, const MachineClass& machine) {
  if (known_.contains(key)) return;
  bind_key(insert_machine_, 1, key);
  Binder binder(insert_machine_, 2);
  machine_columns(binder, machine);
  execute(insert_machine_);
  known_.insert(key);
}

void BatchWriter::write_spec(const Key& key, const std::string& spec) {
  if (known_.contains(key)) return;
  bind_key(insert_spec_, 1, key);
  Binder binder(insert_spec_, 2);
  binder("spec", spec);
  execute(insert_spec_);
  known_.insert(key);
}

void BatchWriter::write(SQLite::Statement& insert, std::span<const PendingOutcome> rows) {
  int first = 1;
  for (const PendingOutcome& pending : rows) {
    const Outcome& outcome = pending.stored.outcome;
    write_case(pending);
    write_build(pending.build_key, outcome);
    write_machine(pending.machine_key, class_of(outcome, pending.run->second.host));
    write_spec(pending.declared_spec_key, pending.declared_spec);
    write_spec(pending.judged_spec_key, outcome.spec_judged);
    insert.bind(first, pending.run->first);
    bind_key(insert, first + 1, pending.case_key);
    bind_key(insert, first + 2, pending.series_key);
    insert.bind(first + 3, pending.run->second.order);
    bind_key(insert, first + 4, pending.build_key);
    bind_key(insert, first + 5, pending.machine_key);
    bind_key(insert, first + 6, pending.declared_spec_key);
    bind_key(insert, first + 7, pending.judged_spec_key);
    insert.bind(first + 8, arch_of(outcome, pending.run->second.host.arch));
    bind_versions(insert, first + 9);
    bind_largest_head(insert, first + 12, outcome);
    Binder binder(insert, first + static_cast<int>(outcome_keys.size()));
    outcome_columns(binder, pending.stored);
    first = binder.next();
  }
  execute(insert);
  for (const PendingOutcome& pending : rows) write_further_outputs(pending);
}

void BatchWriter::write_further_outputs(const PendingOutcome& pending) {
  const Outcome& outcome = pending.stored.outcome;
  if (outcome.status != Status::ok) return;  // the kernel may have failed after these were measured
  const std::optional<ContractSnapshot>& terms = pending.stored.judgement.terms;
  for (const RowOutput output : further_row_outputs) {
    const RowStatistics& of = row_statistics[output];
    if (!(outcome.errors.*of.measured)) continue;
    bind_key(insert_output_, 1, pending.case_key);
    insert_output_.bind(2, pending.run->first);
    insert_output_.bind(3, outcome.suite);
    insert_output_.bindNoCopy(4, name(output).data());
    Binder binder(insert_output_, 5);
    std::optional<double> limit;
    if (terms) limit.emplace(terms->limits.*of.limit);
    output_columns(binder, outcome.errors, limit, output);
    execute(insert_output_);
  }
}

void BatchWriter::write(const PendingDiff& pending) {
  insert_diff_.bind(1, pending.run->first);
  bind_versions(insert_diff_, 2);
  Binder binder(insert_diff_, static_cast<int>(diff_keys.size()) + 1);
  diff_columns(binder, pending.stored);
  execute(insert_diff_);
}

}  // namespace plumbline
