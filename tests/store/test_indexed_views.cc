// Indexed views and lookups give the same results as the views before the indexes (old_views.h).
#include <algorithm>

#include "harness/store/merge.h"
#include "tests/store/old_views.h"
#include "tests/store/random_history.h"

namespace plumbline {
namespace {

using Rows = std::vector<std::vector<std::string>>;

class IndexedViews : public StoreTest {
 protected:
  static Rows old_rows(const std::filesystem::path& path, const std::string& sql) {
    Rows rows = raw_sql(path, old_views + sql);
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  static Rows new_rows(const std::filesystem::path& path, const std::string& sql) {
    Rows rows = raw_sql(path, sql);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static void expect_same(const std::filesystem::path& path, const std::string& what) {
    const std::string latest = "SELECT case_id, run_id, suite, provider_options FROM ",
                      accepted = "SELECT case_id, run_id, suite, accepted FROM ",
                      failing =
                          "SELECT case_id, provider_options, machine_class, run_id, suite, "
                          "accepted, previous_run_id, failing_since FROM ";
    EXPECT_EQ(new_rows(path, latest + "v_latest"), old_rows(path, latest + "old_latest")) << what;
    EXPECT_EQ(new_rows(path, accepted + "v_history"), old_rows(path, accepted + "old_history"))
        << what;
    EXPECT_EQ(new_rows(path, failing + "v_regressions"),
              old_rows(path, failing + "old_regressions"))
        << what;
    EXPECT_EQ(new_rows(path, "SELECT * FROM v_coverage"),
              old_rows(path, "SELECT * FROM old_coverage"))
        << what;
    EXPECT_EQ(new_rows(path, "SELECT run_id, failures FROM v_runs"),
              new_rows(path,
                       "SELECT run_id, (SELECT count(*) FROM outcome AS o JOIN verdict AS v "
                       "USING (verdict) WHERE o.run_id = r.run_id AND is_failure) FROM run "
                       "AS r"))
        << what;
    // Columns of outcome that copy other tables must be equal to them.
    EXPECT_TRUE(raw_sql(path,
                        "SELECT o.rowid FROM outcome AS o JOIN run AS r USING (run_id) JOIN "
                        "attention_case AS c USING (case_key) WHERE o.run_order IS NOT "
                        "r.run_order OR o.series_key IS NOT c.series_key")
                    .empty())
        << what;
  }
};

TEST_F(IndexedViews, RandomHistories) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    path_ = directory_ / fmt::format("{}.db", seed);
    RandomHistory history(seed);
    const auto store = open();
    for (int i = 0; i < 14; ++i) history.add_run(*store, 1 + history.below(5000));
    if (seed % 2 == 0) raw_sql(path_, "UPDATE outcome SET judge_version = 9 WHERE rowid % 5 = 0");
    expect_same(path_, fmt::format("seed {}", seed));
  }
}

TEST_F(IndexedViews, RestoredCaseMovesToNewSeries) {
  const auto store = open();
  for (int i = 1; i <= 3; ++i) store_run(*store, run_info(i), {passing()});
  StoredOutcome moved = passing();
  moved.outcome.provider_options = "tile=8";
  value_of(store->add(run_info(3).run_id, moved));
  value_of(store->flush());
  EXPECT_EQ(new_rows(path_, "SELECT provider_options, run_id FROM v_latest"),
            (Rows{{"", run_info(2).run_id}, {"tile=8", run_info(3).run_id}}));
  raw_sql(path_, "DELETE FROM outcome WHERE provider_options = ''");
  EXPECT_EQ(new_rows(path_, "SELECT provider_options, run_id FROM v_latest"),
            (Rows{{"tile=8", run_info(3).run_id}}));
}

// Later copies replace runs, files are merged in any order, and outcomes are deleted.
TEST_F(IndexedViews, MergedAndPrunedHistories) {
  for (unsigned seed = 100; seed < 106; ++seed) {
    RandomHistory history(seed);
    std::vector<std::filesystem::path> files;
    for (int file = 0; file < 3; ++file) {
      files.push_back(directory_ / fmt::format("{}-{}.db", seed, file));
      const auto store = value_of(Store::open(files.back()));
      for (int i = 0; i < 5; ++i)
        history.add_run(*store, 1 + 3 * history.below(1500) + file, false);
    }
    std::filesystem::copy_file(files[0], directory_ / fmt::format("{}-later.db", seed));
    files.push_back(directory_ / fmt::format("{}-later.db", seed));
    {
      const auto later = value_of(Store::open(files.back()));
      for (const auto& run : value_of(later->runs(2))) {
        value_of(later->add(run.run_id, history.outcome(-1)));
        value_of(later->finish_run(run.run_id, 1, true));
      }
    }
    std::vector<std::filesystem::path> outs;
    for (const char* order : {"0123", "3210", "2031"}) {
      outs.push_back(directory_ / fmt::format("{}-{}.db", seed, order));
      for (const char* file = order; *file != 0; ++file)
        value_of(merge_databases(outs.back(), {files[static_cast<std::size_t>(*file - '0')]}));
      expect_same(outs.back(), fmt::format("seed {}, order {}", seed, order));
    }
    const std::string latest = "SELECT * FROM latest_outcome";
    EXPECT_EQ(new_rows(outs[0], latest), new_rows(outs[1], latest)) << seed;
    EXPECT_EQ(new_rows(outs[0], latest), new_rows(outs[2], latest)) << seed;
    raw_sql(outs[0], "DELETE FROM outcome WHERE rowid % 3 = 0");
    expect_same(outs[0], fmt::format("seed {}, after deleting", seed));
  }
}

}  // namespace
}  // namespace plumbline
