// Builds runs and outcomes, opens stores, and reads files and raw SQL.
#include "tests/store/fixture.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "harness/store/stored.h"

namespace plumbline {

namespace fs = std::filesystem;

StoreTest::StoreTest() {
  std::string pattern = (fs::temp_directory_path() / "plumbline-store-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
  directory_ = pattern;
  path_ = directory_ / "runs.db";
}

StoreTest::~StoreTest() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::unique_ptr<Store> StoreTest::open(bool read_only) {
  return value_of(Store::open(path_, read_only));
}

std::string StoreTest::refusal(bool read_only) { return error_of(Store::open(path_, read_only)); }

void StoreTest::store_run(Store& store, const RunInfo& run,
                          const std::vector<StoredOutcome>& outcomes) {
  value_of(store.begin_run(run));
  for (const StoredOutcome& outcome : outcomes) value_of(store.add(run.run_id, outcome));
  value_of(store.finish_run(run.run_id, 0, true));
}

MachineClass machine_of(const std::string& model) {
  MachineClass machine;
  machine.device_kind = "cpu";
  machine.arch = "x86-64-v3";
  machine.model = model;
  machine.memory_bytes = std::int64_t{64} << 30;
  return machine;
}

RunInfo run_info(int number, const std::string& model) {
  RunInfo run;
  run.run_id = fmt::format("{:08x}-0000-4000-8000-{:06x}{:06x}", number, model.size(),
                           static_cast<unsigned char>(model.front()));
  run.started_at = fmt::format("2026-01-{:02}T{:02}:{:02}:00Z", 1 + number / 1440, number / 60 % 24,
                               number % 60);
  run.machine = machine_of(model);
  run.commit = fmt::format("c{:07x}", number);
  run.host = "host-1";
  run.compiler = "g++ 12.2.0";
  run.flags = "-O2";
  run.versions_json = R"({"openblas":"0.3.21"})";
  run.command_line = "plumbline run cases/smoke.toml";
  return run;
}

StoredOutcome passing(const std::string& problem, const std::string& kernel) {
  StoredOutcome stored;
  Outcome& o = stored.outcome;
  o.suite = "smoke";
  o.group = "causal";
  o.tier = "smoke";
  o.c.kernel = kernel;
  o.c.problem = value_of(parse_problem_id(problem));
  o.case_id = case_id(o.c);
  o.problem_digest = std::string(32, 'a');
  o.status = Status::ok;
  o.description.launched = "flash 64x64";
  o.description.build_id = "build-1";
  o.description.spec = strict_spec(o.c.problem);
  o.description.promises.run_to_run = Promise::bitwise;
  o.spec_judged = spec_text(o.description.spec);
  o.errors.elements = 32768;
  o.errors.peak = 3.9;
  o.errors.rms = 0.8;
  o.errors.beyond_output = 2.5;
  o.output_digest = std::string(32, 'd');
  o.repeat_checked = o.repeat_equal = true;
  o.cause = "the softmax scale is 0.1 % too large";
  o.looser_rung = "PyTorch math: S to bf16";
  o.head_rms = {0.7f, 0.9f, 0.8f, 0.75f};
  o.timed = true;
  o.time_ns = 1.5e6;
  o.time_mad_ns = 1e4;
  o.time_ratio = 2.0;
  stored.judgement.verdict = Verdict::pass;
  stored.judgement.percent_of_limit = 60;
  stored.judgement.nearest_statistic = "peak";
  return stored;
}

StoredOutcome with_verdict(StoredOutcome stored, Verdict verdict) {
  stored.judgement.verdict = verdict;
  return stored;
}

StoredOutcome not_run(Status status, Verdict verdict, const std::string& reason,
                      const std::string& problem) {
  StoredOutcome stored;
  stored.outcome.suite = "smoke";
  stored.outcome.group = "causal";
  stored.outcome.tier = "smoke";
  stored.outcome.c.kernel = "cpu/flash";
  stored.outcome.c.problem = value_of(parse_problem_id(problem));
  stored.outcome.case_id = case_id(stored.outcome.c);
  stored.outcome.status = status;
  stored.outcome.reason = reason;
  stored.judgement.verdict = verdict;
  return stored;
}

std::vector<std::vector<std::string>> raw_sql(const fs::path& path, const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  sqlite3* db = nullptr;
  char* message = nullptr;
  const auto collect = [](void* out, int count, char** values, char**) {
    auto& row = static_cast<std::vector<std::vector<std::string>>*>(out)->emplace_back();
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] == nullptr ? "NULL" : values[i]);
    return 0;
  };
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK ||
      sqlite3_exec(db, sql.c_str(), collect, &rows, &message) != SQLITE_OK) {
    ADD_FAILURE() << sql << ": " << (message != nullptr ? message : sqlite3_errmsg(db));
  }
  sqlite3_free(message);
  sqlite3_close(db);
  return rows;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plumbline
