// Tests that CMake finds all migrations (migrations_sample), and that databases stored by each
// release migrate to the current schema (releases, recorded as releases/README.md describes).
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge.h"
#include "harness/store/stored.h"
#include "migrations_sample/embedded_sql.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

class Migrations : public StoreTest {
 protected:
  void migrate_to(const Schema& schema) {
    SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    migrate(db, schema);
  }
  std::string version() { return raw_sql(path_, "PRAGMA user_version")[0][0]; }
};

TEST_F(Migrations, AppliedInOrderOfNumber) {
  EXPECT_EQ(embedded_schema.first, 8);
  EXPECT_EQ(embedded_schema.number(), 10);
  migrate_to(embedded_schema);
  EXPECT_EQ(version(), "10");
  EXPECT_EQ(raw_sql(path_, "PRAGMA application_id")[0][0], std::to_string(application_id));
  raw_sql(path_, "INSERT INTO note VALUES ('hello', 'me')");
  migrate_to(embedded_schema);
  EXPECT_THAT(raw_sql(path_, "SELECT words, author FROM note"),
              ElementsAre(ElementsAre("hello", "me")));
}

TEST_F(Migrations, ContinueFromCurrentVersion) {
  const Schema first{8, embedded_schema.sql, {}};
  migrate_to(first);
  EXPECT_EQ(version(), "8");
  raw_sql(path_, "INSERT INTO note VALUES ('hello')");
  migrate_to({8, embedded_schema.sql, embedded_schema.migrations.first(1)});
  EXPECT_EQ(version(), "9");
  migrate_to(embedded_schema);
  EXPECT_EQ(version(), "10");
  EXPECT_THAT(raw_sql(path_, "SELECT words, author FROM note"),
              ElementsAre(ElementsAre("hello", "nobody")));
}

TEST_F(Migrations, FailureChangesNothing) {
  migrate_to({8, embedded_schema.sql, {}});
  const std::string before = read_file(path_);
  const std::array<Migration, 2> broken{{embedded_migrations[0], {10, "DROP TABLE nothing"}}};
  EXPECT_THROW(migrate_to({8, embedded_schema.sql, broken}), SQLite::Exception);
  EXPECT_EQ(read_file(path_), before);
}

std::vector<std::filesystem::path> releases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PLUMBLINE_RELEASES)) {
    if (entry.path().extension() == ".sql") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Releases : public StoreTest, public testing::WithParamInterface<std::filesystem::path> {};

// Also fails if a schema was changed without a new number.
TEST_P(Releases, MigrateAndReadInFull) {
  raw_sql(path_, read_file(GetParam()));
  const auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(raw_sql(path_, "PRAGMA user_version")[0][0], std::to_string(schema_version));
  EXPECT_EQ(raw_sql(path_, "PRAGMA integrity_check")[0][0], "ok");
  EXPECT_THAT(raw_sql(path_, "PRAGMA foreign_key_check"), SizeIs(0));
  const auto runs = value_of(store->runs(0));
  ASSERT_THAT(runs, Not(SizeIs(0)));
  std::size_t outcomes = 0, rows = 0;
  for (const RunInfo& run : runs) {
    outcomes += value_of(store->outcomes(run.run_id)).size();
    rows += value_of(store->diffs(run.run_id)).size() +
            value_of(store->invariances(run.run_id)).size() +
            value_of(store->suite_scores(run.run_id)).size() +
            value_of(store->changes(run.run_id)).size();
  }
  EXPECT_THAT(raw_sql(path_, "SELECT count(*) FROM v_history"),
              ElementsAre(ElementsAre(std::to_string(outcomes))));
  EXPECT_GT(outcomes, 0U);
  EXPECT_GT(rows, 0U);
  for (const auto& view : raw_sql(path_, "SELECT name FROM sqlite_schema WHERE type = 'view'"))
    EXPECT_NE(raw_sql(path_, "SELECT count(*) FROM " + view[0])[0][0], "") << view[0];
  store_run(*store, run_info(1), {passing()});  // it can be written
}

INSTANTIATE_TEST_SUITE_P(Stored, Releases, testing::ValuesIn(releases()),
                         [](const auto& release) { return release.param.stem().string(); });

}  // namespace
}  // namespace plumbline
