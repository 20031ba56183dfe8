// Merging gives the same contents in any order, and a refused merge changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "harness/judge/judge.h"
#include "harness/resources/compare.h"
#include "harness/store/merge.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

class Merge : public StoreTest {
 protected:
  std::filesystem::path file(const std::string& name) const { return directory_ / name; }
  std::unique_ptr<Store> open(const std::string& name) { return value_of(Store::open(file(name))); }

  // Returns the rows of every view, sorted because SQL promises no order.
  static Rows views(const std::filesystem::path& path) {
    Rows all;
    for (const auto& view :
         raw_sql(path, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY 1")) {
      Rows rows = raw_sql(path, "SELECT * FROM " + view[0]);
      std::sort(rows.begin(), rows.end());
      all.push_back(view);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }

  // Returns four files: two shards of one run, a run of another machine with every kind of row, and
  // a copy of the first shard that was judged later.
  std::vector<std::filesystem::path> shards() {
    RunInfo first = run_info(1), second = run_info(2);
    first.shard = "1/2";
    second.shard = "2/2";
    store_run(*open("a.db"), first, {passing(), passing("fp16/b1-h4-s128-d64")});
    store_run(*open("b.db"), second,
              {passing("fp16/b2-h4-s128-d64"),
               not_run(Status::unsupported, Verdict::unsupported, "no fp8"),
               not_run(Status::crashed, Verdict::fail, "SIGSEGV", "bf16/b1-h4-s128-d64")});
    const auto store = open("c.db");
    const std::string run_id = run_info(3, "Xeon").run_id;
    store_run(*store, run_info(3, "Xeon"),
              {passing(), not_run(Status::unsupported, Verdict::unsupported, "another reason")});
    StoredDiff diff;
    diff.outcome.suite = "smoke";
    diff.outcome.name = "d";
    diff.outcome.case_a = diff.outcome.case_b = passing().outcome.case_id;
    value_of(store->add(run_id, diff));
    value_of(store->add_suite_scores(
        run_id, {{"smoke", "cpu/flash", "bf16", "shrink", 8, 0.5, 5.5, "pass"}}));
    StoredInvariance invariance;
    invariance.outcome.suite = "smoke";
    invariance.outcome.case_id = passing().outcome.case_id;
    value_of(store->add_invariances(run_id, {invariance}));
    value_of(store->add_resources(run_id, {JudgedResources{}}));
    value_of(store->accept(run_id, "*", "me", "reviewed"));
    for (const char* shard : {"b.db", "c.db"}) {  // two shards store the same event
      raw_sql(
          file(shard),
          "INSERT INTO night_event VALUES (zeroblob(16), 'n', 'opened', '2026-01-01T00:00:00Z', "
          "'me', '')");
    }
    raw_sql(
        file("c.db"),
        "INSERT INTO night_times SELECT run_id, machine_key, 9, 0, 0.01, 1, 'all', 3, 0, 0, "
        "0.01, 0, 0, 0.5 FROM run; INSERT INTO acknowledgement SELECT zeroblob(16), run_id, '*', "
        "'me', 'seen', '2026-01-01T00:00:00Z', '' FROM run; INSERT INTO acknowledged_case SELECT "
        "run_id, case_key, zeroblob(16) FROM outcome LIMIT 1");

    std::filesystem::copy_file(file("a.db"), file("d.db"));
    const auto judged = open("d.db");
    Judgement judgement;
    judgement.verdict = Verdict::changed;
    value_of(judged->update_judgement(first.run_id, "smoke", passing().outcome.case_id, judgement));
    value_of(judged->finish_run(first.run_id, 1, true));
    return {file("a.db"), file("b.db"), file("c.db"), file("d.db")};
  }
};

TEST_F(Merge, MergesAllButProgramTables) {
  open("a.db");
  std::set<std::string> tables;
  for (const auto& row :
       raw_sql(file("a.db"),
               "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"))
    tables.insert(row[0]);
  for (const char* own : {"sqlite_schema", "meta", "verdict", "run_state", "latest_outcome"})
    EXPECT_EQ(tables.erase(own), 1U) << own;
  const auto merged = merged_tables();
  EXPECT_EQ(std::set<std::string>(merged.begin(), merged.end()), tables);
}

TEST_F(Merge, OrderOfFilesDoesNotMatter) {
  auto files = shards();
  Rows expected;
  std::mt19937 random(7);
  for (int order = 0; order < 10; ++order) {
    std::shuffle(files.begin(), files.end(), random);
    const auto out = file("out" + std::to_string(order) + ".db");
    // Merge in one or two commands.
    const auto split = static_cast<std::ptrdiff_t>(order % files.size());
    if (split > 0) value_of(merge_databases(out, {files.begin(), files.begin() + split}));
    value_of(merge_databases(out, {files.begin() + split, files.end()}));
    if (order == 0) expected = views(out);
    EXPECT_EQ(views(out), expected) << "order " << order;
    EXPECT_EQ(raw_sql(out, "PRAGMA integrity_check")[0][0], "ok");
    EXPECT_TRUE(raw_sql(out, "PRAGMA foreign_key_check").empty());
  }
  EXPECT_EQ(raw_sql(file("out0.db"), "SELECT count(*) FROM outcome")[0][0], "7");
  EXPECT_EQ(
      raw_sql(file("out0.db"), "SELECT count(*) FROM v_history WHERE verdict = 'changed'")[0][0],
      "1")
      << "the copy judged last";
  for (const char* table : {"diff", "suite_score", "invariance", "kernel_resources", "accept",
                            "night_event", "night_times", "acknowledged_case"}) {
    EXPECT_EQ(raw_sql(file("out0.db"), std::string("SELECT count(*) FROM ") + table)[0][0], "1")
        << table;
  }
}

TEST_F(Merge, IsIdempotentAndKeepsShards) {
  const auto files = shards();
  std::vector<std::string> bytes;
  for (const auto& shard : files) bytes.push_back(read_file(shard));
  const auto first = value_of(merge_databases(file("out.db"), files));
  ASSERT_EQ(first.runs.size(), 3U);
  for (const auto& run : first.runs) EXPECT_EQ(run.state, MergedRun::State::added);
  EXPECT_EQ(first.outcomes, 7);
  const auto once = views(file("out.db"));
  const auto again =
      value_of(merge_databases(file("out.db"), {files[0], files[0], files[2], files[1]}));
  for (const auto& run : again.runs) EXPECT_EQ(run.state, MergedRun::State::kept);
  EXPECT_EQ(again.outcomes_before, again.outcomes);
  EXPECT_EQ(views(file("out.db")), once);
  for (std::size_t i = 0; i < files.size(); ++i)
    EXPECT_EQ(read_file(files[i]), bytes[i]) << files[i];
}

TEST_F(Merge, BaselineFromAnotherShard) {
  store_run(*open("a.db"), run_info(1), {passing()});
  store_run(*open("b.db"), run_info(2), {passing("fp16/b1-h4-s128-d64")});
  value_of(merge_databases(file("b.db"), {file("a.db")}));
  const auto baseline = value_of(
      open("b.db")->baseline({passing().outcome.case_id, machine_of()}, run_info(2).run_id));
  ASSERT_TRUE(baseline.has_value());
  EXPECT_EQ(baseline->run_id, run_info(1).run_id);
}

// A run that was copied before it ended, and the finished run.
TEST_F(Merge, FinishedCopyReplacesUnfinished) {
  const auto store = open("a.db");
  value_of(store->begin_run(run_info(1)));
  value_of(store->add(run_info(1).run_id, passing()));
  value_of(store->flush());
  value_of(merge_databases(file("out.db"), {file("a.db")}));  // while it is open for writing
  EXPECT_EQ(raw_sql(file("out.db"), "SELECT outcomes, finished FROM v_runs"), (Rows{{"1", "0"}}));
  value_of(store->add(run_info(1).run_id, passing("fp16/b1-h4-s128-d64")));
  value_of(store->finish_run(run_info(1).run_id, 0, true));
  const auto report = value_of(merge_databases(file("out.db"), {file("a.db")}));
  EXPECT_EQ(report.runs.at(0).state, MergedRun::State::replaced);
  EXPECT_EQ(raw_sql(file("out.db"), "SELECT outcomes, finished FROM v_runs"), (Rows{{"2", "1"}}));
}

TEST_F(Merge, ContradictionsAreRefused) {
  store_run(*open("a.db"), run_info(1), {passing()});
  std::filesystem::copy_file(file("a.db"), file("b.db"));
  raw_sql(file("b.db"), "UPDATE outcome SET peak = 4.5");
  value_of(merge_databases(file("out.db"), {file("a.db")}));
  const auto before = views(file("out.db"));
  EXPECT_THAT(error_of(merge_databases(file("out.db"), {file("b.db")})),
              AllOf(HasSubstr(file("b.db").string()), HasSubstr("contradicts"),
                    HasSubstr(run_info(1).run_id), HasSubstr("leave one")));
  EXPECT_EQ(views(file("out.db")), before);
  EXPECT_THAT(error_of(merge_databases(file("new.db"), {file("a.db"), file("b.db")})),
              HasSubstr("contradicts"));
  EXPECT_FALSE(std::filesystem::exists(file("new.db")));
}

TEST_F(Merge, RefusedFilesLeaveOutputUnchanged) {
  store_run(*open("a.db"), run_info(1), {passing()});
  store_run(*open("out.db"), run_info(2), {passing()});
  const std::string out = read_file(file("out.db"));
  raw_sql(file("theirs.db"), "PRAGMA application_id = 1196444487; CREATE TABLE t(a)");
  std::filesystem::copy_file(file("a.db"), file("newer.db"));
  raw_sql(file("newer.db"), "PRAGMA user_version = 999");
  std::filesystem::copy_file(file("a.db"), file("earlier.db"));
  raw_sql(file("earlier.db"), "PRAGMA user_version = 9");
  std::ofstream(file("text.db")) << std::string(9000, 'x');
  std::string bytes = read_file(file("a.db"));
  // The damaged bytes include pages that are read when the file is opened.
  std::fill(bytes.begin() + 8192, bytes.begin() + 65536, '\x5a');
  std::ofstream(file("damaged.db"), std::ios::binary) << bytes;
  std::ofstream(file("cut.db"), std::ios::binary) << read_file(file("a.db")).substr(0, 20480);
  const std::pair<const char*, const char*> refusals[] = {
      {"theirs.db", "belongs to another program"},
      {"newer.db", "written by a newer plumbline"},
      {"earlier.db", "written by an earlier plumbline (schema 9"},
      {"text.db", "is not an SQLite database"},
      {"damaged.db", "restore it from a backup"},
      {"cut.db", "restore it from a backup"},
      {"missing.db", "there is no database of runs here"},
      {"out.db", "is the file that is merged into"}};
  for (const auto& [name, message] : refusals) {
    EXPECT_THAT(error_of(merge_databases(file("out.db"), {file("a.db"), file(name)})),
                AllOf(HasSubstr(file(name).string()), HasSubstr(message)));
    EXPECT_EQ(read_file(file("out.db")), out) << name;
  }
  EXPECT_THAT(error_of(merge_databases(file("no/such/out.db"), {file("a.db")})),
              HasSubstr("mkdir -p"));
  EXPECT_THAT(error_of(merge_databases(file("damaged.db"), {file("a.db")})),
              HasSubstr("restore it from a backup"));
}

// Private copies must have no name, so that a killed merge leaves none.
TEST_F(Merge, PrivateCopiesHaveNoName) {
  const auto files = shards();
  const auto folder = file("temporary");
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::setenv("TMPDIR", folder.c_str(), 1), 0);
  std::atomic<bool> is_done = false;
  std::set<std::string> seen;
  std::thread looking([&] {
    while (!is_done) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        // SQLite unlinks its own files at once.
        if (!name.starts_with("etilqs_")) seen.insert(name);
      }
    }
  });
  for (int i = 0; i < 5; ++i) value_of(merge_databases(file(fmt::format("out{}.db", i)), files));
  is_done = true;
  looking.join();
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(seen.empty()) << *seen.begin();
}

TEST_F(Merge, ConcurrentWriterLosesNothing) {
  constexpr int merges = 6, rows = 300;
  for (int i = 0; i < merges; ++i)
    store_run(*open("s" + std::to_string(i) + ".db"), run_info(10 + i), {passing()});
  const auto writer = open("out.db");
  value_of(writer->begin_run(run_info(1)));
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < errors.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < merges; i += errors.size()) {
        const auto merged =
            merge_databases(file("out.db"), {file("s" + std::to_string(i) + ".db")});
        if (!merged) errors[t] += to_string(merged.error());
      }
    });
  }
  StoredOutcome outcome = passing();
  for (int i = 0; i < rows; ++i) {
    outcome.outcome.suite = "suite " + std::to_string(i);
    value_of(writer->add(run_info(1).run_id, outcome));
    if (i % 7 == 0) value_of(writer->flush());
  }
  value_of(writer->finish_run(run_info(1).run_id, 0, true));
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_EQ(raw_sql(file("out.db"), "SELECT count(*) FROM outcome")[0][0],
            std::to_string(merges + rows));
  EXPECT_EQ(raw_sql(file("out.db"), "PRAGMA integrity_check")[0][0], "ok");
}

}  // namespace
}  // namespace plumbline
