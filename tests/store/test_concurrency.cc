// Several writers, and disks that fail.
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "harness/store/prompt_commits.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Concurrency : public StoreTest {};

// Each thread opens the file itself, as a process would, before the file exists.
TEST_F(Concurrency, WritersLoseNothing) {
  constexpr int writers = 4, rows = 150;
  std::vector<std::string> errors(writers);
  const auto write = [&](int writer) {
    auto store = Store::open(path_);
    if (!store) {
      errors[static_cast<std::size_t>(writer)] = to_string(store.error());
      return;
    }
    const RunInfo run = run_info(writer);
    const auto keep_error = [&](const Result<void>& result) {
      if (!result) errors[static_cast<std::size_t>(writer)] += to_string(result.error());
    };
    keep_error((*store)->begin_run(run));
    StoredOutcome outcome = passing();
    for (int i = 0; i < rows; ++i) {
      // the same cases in every run
      outcome.outcome.c.problem.seed = static_cast<std::uint64_t>(i);
      outcome.outcome.case_id = case_id(outcome.outcome.c);
      keep_error((*store)->add(run.run_id, outcome));
      if (i % 10 == 0) keep_error((*store)->flush());
    }
    keep_error((*store)->finish_run(run.run_id, 0, true));
  };
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) threads.emplace_back(write, writer);
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM outcome")[0][0], std::to_string(writers * rows));
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM attention_case")[0][0], std::to_string(rows));
  EXPECT_EQ(raw_sql(path_, "PRAGMA integrity_check")[0][0], "ok");
}

TEST_F(Concurrency, ReaderSeesFinishedBatches) {
  const auto writer = open();
  value_of(writer->begin_run(run_info(1)));
  const auto reader = open(true);
  EXPECT_EQ(value_of(reader->outcomes(run_info(1).run_id)).size(), 0u);
  value_of(writer->add(run_info(1).run_id, passing()));
  EXPECT_EQ(value_of(reader->outcomes(run_info(1).run_id)).size(), 0u);
  value_of(writer->flush());
  EXPECT_EQ(value_of(reader->outcomes(run_info(1).run_id)).size(), 1u);
}

// The second of two quick rows is committed soon after the first, without a further add.
TEST_F(Concurrency, RowsAreCommittedPromptly) {
  const auto writer = open();
  const auto reader = open(true);
  const std::string run_id = run_info(1).run_id;
  value_of(writer->begin_run(run_info(1)));
  PromptCommits commits(*writer, [](const Errors& errors) { ADD_FAILURE() << to_string(errors); });
  StoredOutcome outcome = passing();
  for (const char* suite : {"one", "two"}) {
    const auto lock = commits.lock();
    outcome.outcome.suite = suite;
    value_of(writer->add(run_id, outcome));
    commits.added();
    EXPECT_GE(value_of(reader->outcomes(run_id)).size(), 1u) << "the first is committed at once";
  }
  for (int tries = 0; tries < 1000 && value_of(reader->outcomes(run_id)).size() < 2; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(value_of(reader->outcomes(run_id)).size(), 2u);
}

// One of forty rows has a verdict that the schema no longer contains. The row is in the middle of a
// statement's rows.
TEST_F(Concurrency, InvalidRowIsSkippedAndNamed) {
  const auto store = open();
  const std::string run_id = run_info(1).run_id;
  value_of(store->begin_run(run_info(1)));
  raw_sql(path_, "DELETE FROM verdict WHERE verdict = 'fail'");
  for (int i = 0; i < 40; ++i) {
    StoredOutcome outcome = i == 20 ? with_verdict(passing(), Verdict::fail) : passing();
    outcome.outcome.suite = std::to_string(i);
    value_of(store->add(run_id, outcome));
  }
  EXPECT_THAT(error_of(store->flush()),
              AllOf(HasSubstr(path_.string()),
                    HasSubstr("storing one row: FOREIGN KEY constraint failed")));
  value_of(store->flush());
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    if (i != 20) expected.push_back(std::to_string(i));
  }
  std::vector<std::string> suites;
  for (const StoredOutcome& stored : value_of(store->outcomes(run_id)))
    suites.push_back(stored.outcome.suite);
  EXPECT_EQ(suites, expected) << "the others are stored, in their order";
}

TEST_F(Concurrency, LaterRowReplacesEarlierInStatement) {
  const auto store = open();
  const std::string run_id = run_info(1).run_id;
  value_of(store->begin_run(run_info(1)));
  for (int i = 0; i < 40; ++i) {
    StoredOutcome outcome = passing();
    outcome.outcome.suite = std::to_string(i % 10);
    outcome.outcome.wall_ms = i;
    value_of(store->add(run_id, outcome));
  }
  const auto stored = value_of(store->outcomes(run_id));
  ASSERT_EQ(stored.size(), 10u);
  for (const StoredOutcome& row : stored)
    EXPECT_EQ(row.outcome.wall_ms, 30 + std::stoi(row.outcome.suite));
}

TEST_F(Concurrency, DeletedFileIsAnError) {
  const auto store = open();
  value_of(store->begin_run(run_info(1)));
  value_of(store->add(run_info(1).run_id, passing()));
  std::filesystem::remove(path_);
  EXPECT_THAT(error_of(store->flush()),
              AllOf(HasSubstr(path_.string()), HasSubstr("was deleted or replaced")));
  EXPECT_THAT(error_of(store->finish_run(run_info(1).run_id, 0, true)),
              HasSubstr("was deleted or replaced"));
}

// A limit on file size acts like a full disk.
class FullDisk {
 public:
  explicit FullDisk(const std::filesystem::path& path) {
    getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = std::filesystem::file_size(path);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit before_{};
  void (*old_handler_)(int) = nullptr;
};

TEST_F(Concurrency, FullDiskKeepsEarlierRows) {
  const auto store = open();
  const std::string run_id = run_info(1).run_id;
  value_of(store->begin_run(run_info(1)));
  StoredOutcome outcome = passing();
  value_of(store->add(run_id, outcome));
  value_of(store->flush());
  const auto add_large_rows = [&] {
    for (int i = 0; i < 90; ++i) {
      outcome.outcome.suite = "large " + std::to_string(i);
      outcome.outcome.head_rms.assign(4096, 1.0f);
      value_of(store->add(run_id, outcome));
    }
  };
  {
    const FullDisk full(path_);
    add_large_rows();
    EXPECT_THAT(
        error_of(store->flush()),
        AllOf(HasSubstr(path_.string()), HasSubstr("storing 90 rows"), HasSubstr("check space")));
    EXPECT_EQ(value_of(open(true)->outcomes(run_id)).size(), 1u);
  }
  value_of(store->flush());
  EXPECT_EQ(value_of(store->outcomes(run_id)).size(), 91u)
      << "the rows were kept until there was room";
  EXPECT_EQ(raw_sql(path_, "PRAGMA integrity_check")[0][0], "ok");
}

}  // namespace
}  // namespace plumbline
