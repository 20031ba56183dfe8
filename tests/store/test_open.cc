// Opening creates or refuses a file; a refused file keeps every byte.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "harness/reference/version.h"
#include "harness/resources/compare.h"
#include "harness/store/rows.h"
#include "harness/store/stored.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Open : public StoreTest {
 protected:
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  // Returns the error, and checks that the file and its directory are unchanged.
  std::string refusal_that_leaves_no_trace(bool read_only = false) {
    const std::string before = read_file(path_);
    const std::string message = refusal(read_only);
    EXPECT_EQ(read_file(path_), before);
    EXPECT_FALSE(std::filesystem::exists(path_.string() + "-wal"));
    EXPECT_FALSE(std::filesystem::exists(path_.string() + "-shm"));
    return message;
  }
};

TEST_F(Open, SetsApplicationIdAndSchema) {
  open();
  EXPECT_EQ(raw_sql(path_, "PRAGMA application_id")[0][0], std::to_string(0x706C6D62));
  EXPECT_EQ(raw_sql(path_, "PRAGMA user_version")[0][0], std::to_string(schema_version));
  EXPECT_EQ(raw_sql(path_, "PRAGMA journal_mode")[0][0], "wal");
  EXPECT_EQ(raw_sql(path_, "PRAGMA integrity_check")[0][0], "ok");
}

TEST_F(Open, Tables) {
  open();
  EXPECT_THAT(
      raw_sql(path_,
              "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND "
              "name <> 'sqlite_schema' ORDER BY name"),
      ElementsAre(ElementsAre("accept"), ElementsAre("accepted_case"),
                  ElementsAre("acknowledged_case"), ElementsAre("acknowledgement"),
                  ElementsAre("attention_case"), ElementsAre("build"), ElementsAre("diff"),
                  ElementsAre("invariance"), ElementsAre("kernel_resources"),
                  ElementsAre("latest_outcome"), ElementsAre("machine_class"), ElementsAre("meta"),
                  ElementsAre("night_event"), ElementsAre("night_times"), ElementsAre("outcome"),
                  ElementsAre("outcome_output"), ElementsAre("pin"), ElementsAre("pinned_case"),
                  ElementsAre("rounding_spec"), ElementsAre("run"), ElementsAre("run_change"),
                  ElementsAre("run_state"), ElementsAre("suite_score"), ElementsAre("verdict")));
  EXPECT_THAT(raw_sql(path_,
                      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                      "AND NOT strict AND name <> 'sqlite_schema'"),
              IsEmpty());
}

// The columns of wide tables are exactly those that the row descriptions fill.
TEST_F(Open, WideTablesHaveStoredColumns) {
  open();
  const auto stored_columns = [&](const std::string& table) {
    std::set<std::string> names;
    for (const auto& row : raw_sql(path_, "SELECT name FROM pragma_table_xinfo('" + table + "')"))
      names.insert(row[0]);
    return names;
  };
  const auto with = [](const std::vector<std::string>& described, std::set<std::string> names) {
    names.insert(described.begin(), described.end());
    return names;
  };
  EXPECT_EQ(stored_columns("outcome"),
            with(column_names<StoredOutcome>(outcome_columns),
                 {"run_id", "case_key", "series_key", "run_order", "build_key", "machine_key",
                  "declared_spec_key", "judged_spec_key", "arch", "judge_version",
                  "reference_version", "inputs_version", "head_rms_max", "head_rms_max_sample",
                  "head_rms_max_head", "faults_total"}));
  EXPECT_EQ(stored_columns("diff"),
            with(column_names<StoredDiff>(diff_columns),
                 {"run_id", "judge_version", "reference_version", "inputs_version"}));
  EXPECT_EQ(stored_columns("attention_case"),
            with(column_names<Case>(case_columns), {"case_key", "case_id", "series_key"}));
  EXPECT_EQ(stored_columns("machine_class"),
            with(column_names<MachineClass>(machine_columns), {"machine_key"}));
  EXPECT_EQ(stored_columns("suite_score"),
            with(column_names<SuiteScore>(suite_score_columns), {"run_id"}));
}

// Equal contents have equal keys in any order of storing.
TEST_F(Open, KeysAreContentAddressed) {
  const auto keys = [&] {
    std::vector<std::vector<std::string>> all;
    for (const char* sql : {"SELECT hex(case_key), case_id FROM attention_case ORDER BY 1",
                            "SELECT hex(build_key) FROM build ORDER BY 1",
                            "SELECT hex(machine_key), model FROM machine_class ORDER BY 1",
                            "SELECT hex(spec_key) FROM rounding_spec ORDER BY 1"}) {
      for (auto& row : raw_sql(path_, sql)) all.push_back(std::move(row));
    }
    return all;
  };
  const StoredOutcome a = passing(), b = passing("fp16/b1-h4-s128-d64");
  store_run(*open(), run_info(1), {a, b});
  store_run(*open(), run_info(2, "Xeon"), {b});
  const auto first = keys();
  path_ = directory_ / "other.db";
  store_run(*open(), run_info(2, "Xeon"), {b});
  store_run(*open(), run_info(1), {b, a});
  EXPECT_EQ(keys(), first);
  // Recorded: another hash or canonical text would change the keys of all stored rows.
  EXPECT_THAT(first, Contains(ElementsAre("DA9110DC7FF4A660917D2207EACAB2A7",
                                          "cpu/flash/bf16/b1-h4-s128-d64")));
  EXPECT_THAT(first, Contains(ElementsAre("A80808A5D979A8721706B25A24A376AD", "EPYC")));
}

TEST_F(Open, AdoptsEmptyFileAndDatabase) {
  write("");
  store_run(*open(), run_info(1), {passing()});
  path_ = directory_ / "empty.db";
  raw_sql(path_, "CREATE TABLE t(a); DROP TABLE t");  // an SQLite file of version 0 without tables
  store_run(*open(), run_info(1), {passing()});
  EXPECT_EQ(raw_sql(path_, "PRAGMA user_version")[0][0], std::to_string(schema_version));
}

// Views may not contain bytes, so SQL decodes the float32.
TEST_F(Open, HeadRmsViewIsJson) {
  StoredOutcome stored = passing("bf16/b2-h4-s128-d64");
  stored.outcome.head_rms = {
      1, 0.9371F, 1234.5F, 3e-5F, 0, 99, std::numeric_limits<float>::quiet_NaN(), 2.5F};
  store_run(*open(), run_info(1), {stored});
  EXPECT_THAT(
      raw_sql(path_,
              "SELECT heads, head_rms, json_valid(head_rms), typeof(head_rms) FROM v_head_rms"),
      ElementsAre(ElementsAre("8", "[1.0,0.9371,1234.5,3.0e-05,0.0,99.0,null,2.5]", "1", "text")));
}

TEST_F(Open, ErrorPictureViewIsJson) {
  StoredOutcome stored = passing();
  ErrorPicture& picture = stored.outcome.picture;
  picture.histogram.assign(ErrorPicture::bins, 0);
  picture.histogram[0] = 4'000'000'000;
  picture.histogram[20] = 258;
  picture.spre_ratios.assign(ErrorPicture::ratio_classes, 0);
  picture.spre_ratios[31] = 7;
  picture.map_rows = 2;
  picture.map_columns = 3;
  for (const double size : {1.0, 6.5, 0.0, 3000.0, 1e9}) picture.map.push_back(map_code(size));
  picture.map.push_back(0);
  store_run(*open(), run_info(1), {stored, not_run(Status::crashed, Verdict::crashed, "signal")});
  EXPECT_THAT(raw_sql(path_,
                      "SELECT histogram ->> 0, histogram ->> 20, json_array_length(histogram), "
                      "spre_ratios ->> 31, map_rows, map_columns FROM v_error_pictures WHERE "
                      "verdict <> 'crashed'"),
              ElementsAre(ElementsAre("4000000000", "258", "41", "7", "2", "3")));
  // Within 2.2 %, and the smallest and largest code.
  EXPECT_EQ(raw_sql(path_, "SELECT map FROM v_error_pictures WHERE verdict <> 'crashed'")[0][0],
            "[1.0,6.442,0.0625,3024.5478,3596.8,null]");
  EXPECT_THAT(raw_sql(path_,
                      "SELECT histogram, spre_ratios, map FROM v_error_pictures WHERE verdict = "
                      "'crashed'"),
              ElementsAre(ElementsAre("[]", "[]", "[]")));
  raw_sql(path_, "UPDATE outcome SET error_map = x'ff', error_map_rows = 1, error_map_columns = 1");
  EXPECT_EQ(raw_sql(path_, "SELECT map FROM v_error_pictures")[0][0], "[\"NaN\"]");
}

TEST_F(Open, OpeningAgainChangesNothing) {
  store_run(*open(), run_info(1), {passing()});
  const std::string before = read_file(path_);
  open();
  open(true);
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(Open, ReplacesOldViewsKeepsUserViews) {
  store_run(*open(), run_info(1), {passing()});
  raw_sql(path_,
          "DROP VIEW v_latest; CREATE VIEW v_latest AS SELECT 1 AS old; CREATE VIEW v_gone AS "
          "SELECT 1; CREATE VIEW mine AS SELECT 2 AS two;"
          "UPDATE meta SET value = 'of an older plumbline' WHERE key = 'views'; UPDATE verdict SET "
          "is_baseline = 0");
  const auto store = open();
  EXPECT_EQ(raw_sql(path_, "SELECT case_id FROM v_latest")[0][0], passing().outcome.case_id);
  EXPECT_EQ(raw_sql(path_, "SELECT two FROM mine")[0][0], "2");
  EXPECT_EQ(raw_sql(path_, "SELECT count(*) FROM sqlite_schema WHERE name = 'v_gone'")[0][0], "0");
  EXPECT_TRUE(value_of(store->baseline({passing().outcome.case_id, machine_of()}, "")).has_value());
}

TEST_F(Open, RefusesOtherFiles) {
  write("# my notes\n" + std::string(5000, 'x'));
  EXPECT_THAT(refusal_that_leaves_no_trace(),
              AllOf(HasSubstr(path_.string()), HasSubstr("is not an SQLite database")));
  write("short");
  EXPECT_THAT(refusal_that_leaves_no_trace(), HasSubstr("is not an SQLite database"));
}

TEST_F(Open, RefusesDatabasesOfOtherPrograms) {
  raw_sql(path_, "PRAGMA application_id = 1196444487; CREATE TABLE t(a)");
  EXPECT_THAT(refusal_that_leaves_no_trace(),
              HasSubstr("belongs to another program (application_id 0x47504b47"));
  path_ = directory_ / "anonymous.db";
  raw_sql(path_, "CREATE TABLE t(a)");
  EXPECT_THAT(refusal_that_leaves_no_trace(), HasSubstr("database of another program"));
  EXPECT_THAT(refusal_that_leaves_no_trace(true), HasSubstr("database of another program"));
}

TEST_F(Open, RefusesNewerSchema) {
  open();
  raw_sql(path_, fmt::format("PRAGMA user_version = {}", schema_version + 1));
  EXPECT_THAT(
      refusal_that_leaves_no_trace(),
      AllOf(HasSubstr(fmt::format("written by a newer plumbline (schema {}, this one knows {})",
                                  schema_version + 1, schema_version)),
            HasSubstr("upgrade")));
  EXPECT_THAT(refusal_that_leaves_no_trace(true), HasSubstr("written by a newer plumbline"));
}

// Schemas 1 to 9 were never released.
TEST_F(Open, RefusesUnreleasedSchemas) {
  store_run(*open(), run_info(1), {passing()});
  for (const int earlier : {1, 9}) {
    raw_sql(path_, fmt::format("PRAGMA user_version = {}; PRAGMA journal_mode = delete", earlier));
    for (const bool read_only : {false, true}) {
      EXPECT_THAT(refusal_that_leaves_no_trace(read_only),
                  AllOf(HasSubstr(path_.string()),
                        HasSubstr(fmt::format(
                            "written by an earlier plumbline (schema {}, this one knows", earlier)),
                        HasSubstr("measure again into another file")));
    }
  }
}

TEST_F(Open, RefusesDamage) {
  store_run(*open(), run_info(1), {passing()});
  std::string bytes = read_file(path_);
  // Damage the file after the header, which holds the application id.
  std::fill(bytes.begin() + 100, bytes.end(), '\x5a');
  write(bytes);
  const std::string message = refusal();
  EXPECT_THAT(message, AllOf(HasSubstr("malformed"), HasSubstr("restore it from a backup"),
                             HasSubstr(".recover")));
  EXPECT_EQ(read_file(path_), bytes);
}

TEST_F(Open, RefusesMissingDirectory) {
  path_ = directory_ / "no" / "such" / "runs.db";
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("directory " + path_.parent_path().string() + " does not exist"),
                    HasSubstr("mkdir -p")));
  EXPECT_FALSE(std::filesystem::exists(path_.parent_path()));
  path_ = directory_;
  EXPECT_THAT(refusal(), HasSubstr("is a directory"));
}

TEST_F(Open, ReadOnlyNeedsDatabase) {
  EXPECT_THAT(refusal(true), HasSubstr("there is no database of runs here"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  write("");
  EXPECT_THAT(refusal_that_leaves_no_trace(true), HasSubstr("there is no database of runs here"));
}

TEST_F(Open, ReadOnlyStoreRefusesWrites) {
  store_run(*open(), run_info(1), {passing()});
  const auto store = open(true);
  const std::string run_id = run_info(1).run_id;
  EXPECT_THAT(error_of(store->begin_run(run_info(2))), HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->add(run_id, passing())), HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->add(run_id, StoredDiff{})), HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->add_suite_scores(run_id, {})), HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->finish_run(run_id, 0, true)), HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->accept(run_id, "*", "me", "why")),
              HasSubstr("opened for reading only"));
  EXPECT_THAT(error_of(store->update_judgement(run_id, "smoke", passing().outcome.case_id, {})),
              HasSubstr("opened for reading only"));
  EXPECT_EQ(value_of(store->outcomes(run_id)).size(), 1u);
}

// Permissions do not bind root, so as root these tests run as another user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() {
    if (geteuid() == 0) changed_ = seteuid(65534) == 0;
  }
  ~AsOrdinaryUser() {
    if (changed_ && seteuid(0) != 0) std::abort();
  }

 private:
  bool changed_ = false;
};

TEST_F(Open, NamesMissingPermissions) {
  store_run(*open(), run_info(1), {passing()});
  chmod(directory_.c_str(), 0755);
  chmod(path_.c_str(), 0444);
  {
    const AsOrdinaryUser user;
    EXPECT_THAT(refusal(), HasSubstr("no permission to write"));
  }
  chmod(path_.c_str(), 0000);
  {
    const AsOrdinaryUser user;
    EXPECT_THAT(refusal(), HasSubstr("no permission to read"));
  }
  path_ = directory_ / "new.db";
  chmod(directory_.c_str(), 0555);
  {
    const AsOrdinaryUser user;
    EXPECT_THAT(refusal(), HasSubstr("unable to open database file"));
  }
  chmod(directory_.c_str(), 0755);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Open, ReadsInReadOnlyDirectory) {
  path_ = directory_ / "100% of #1?.db";
  store_run(*open(), run_info(1), {passing()});
  chmod(path_.c_str(), 0444);
  chmod(directory_.c_str(), 0555);
  {
    const AsOrdinaryUser user;
    const auto store = open(true);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(value_of(store->outcomes(run_info(1).run_id)).size(), 1u);
    EXPECT_EQ(value_of(store->query("SELECT count(*) FROM v_latest")).rows.at(0).at(0), "1");
  }
  chmod(directory_.c_str(), 0755);
}

}  // namespace
}  // namespace plumbline
