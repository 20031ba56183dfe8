// The program on a full disk, with a lost folder, with a damaged database or one of another
// program, and with merged databases.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Rows = std::vector<std::vector<std::string>>;

const char* const suite_text = R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "quick"
kernels = ["cpu/flash", "cpu/flash_p32"]
set = { heads_q = 4, heads_kv = 2, head_dim = 32 }
product = { dtype = ["fp16", "bf16"], seq = [3, 9, 16, 33], mask = ["none", "causal_top_left"] }
)";

class Database : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", suite_text);
  }
  test::CommandResult run(const std::string& arguments) const {
    return plumbline("run s.toml -q --no-default-provider --provider '" + test::cpu_provider() +
                     "' " + arguments);
  }
  std::string run_command(const std::string& arguments) const {
    return "'" + program().string() + "' run s.toml -q --no-default-provider --provider '" +
           test::cpu_provider() + "' " + arguments;
  }
  std::filesystem::path path(const std::string& name) const { return directory_ / name; }
};

// A small tmpfs is filled (tests/store uses RLIMIT_FSIZE, which needs no permission). Earlier runs
// can be read on the full disk, and the run is resumed once there is room.
TEST_F(Database, FullDiskEndsRunWithResume) {
  const auto disk = path("disk");
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "no permission to mount a file system";
  struct Unmount {
    std::filesystem::path disk;
    ~Unmount() { ::umount(disk.c_str()); }
  } const unmount{disk};
  ASSERT_EQ(run("--db disk/d.db").code, 0);
  shell("dd if=/dev/zero of=disk/filler bs=4096 count=600; truncate -s -120K disk/filler");
  const auto full = run("--db disk/d.db -j1");
  EXPECT_EQ(full.code, 3) << full.text;
  EXPECT_THAT(full.text, AllOf(HasSubstr((disk / "d.db").string()), HasSubstr("full"),
                               HasSubstr("check space")));
  EXPECT_THAT(full.text,
              HasSubstr("cases are stored; the same command with --resume measures the rest"));
  EXPECT_THAT(full.text, AllOf(HasSubstr("Incomplete: "), HasSubstr("exit code 3"),
                               Not(HasSubstr("exit code 0")), Not(HasSubstr("stored in"))));
  shell("dd if=/dev/zero of=disk/filler-2 bs=4096 count=600");
  const auto shown = plumbline("show latest --db disk/d.db");
  EXPECT_EQ(shown.code, 3) << shown.text;
  EXPECT_THAT(shown.text, HasSubstr("Incomplete: "));
  EXPECT_EQ(plumbline("show latest~1 --db disk/d.db").code, 0);
  const auto rows = plumbline(
                        "query --db disk/d.db \"SELECT outcomes, finished FROM v_runs ORDER BY "
                        "run_order\" --format csv")
                        .text;
  EXPECT_THAT(rows, HasSubstr("outcomes,finished\r\n32,1\r\n")) << "the run before, whole";
  EXPECT_THAT(rows, HasSubstr(",0\r\n")) << "and what was stored of this one";
  shell("rm disk/filler*");
  const auto resumed = run("--db disk/d.db -j1 --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_EQ(raw_sql(disk / "d.db", "SELECT outcomes, finished FROM v_runs"),
            (Rows{{"32", "1"}, {"32", "1"}}));
  EXPECT_EQ(raw_sql(disk / "d.db", "PRAGMA integrity_check")[0][0], "ok");
}

// The directory is deleted during the run: SQLite would continue to write to deleted files.
TEST_F(Database, DeletedDirectoryEndsRun) {
  write("slow.toml", R"(
schema = 1
name = "slow"
[[group]]
name = "g"
reason = "long enough to lose its directory"
kernels = ["cpu/naive", "cpu/flash"]
set = { heads_q = 8, head_dim = 64 }
product = { dtype = ["fp32", "bf16"], seq = [700, 701, 702, 703, 704, 705, 706, 707] }
)");
  std::filesystem::create_directory(path("gone"));
  const auto result =
      shell("'" + program().string() +
            "' run slow.toml -q -j1 --db gone/d.db >/dev/null 2>err.txt & pid=$!; " +
            "for i in $(seq 400); do [ \"$(sqlite3 gone/d.db 'SELECT count(*) > 0 FROM outcome' "
            "2>&1)\" = 1 ] && break; " +
            "sleep 0.05; done; rm -rf gone; wait $pid; echo code $?; cat err.txt");
  EXPECT_THAT(result.text, HasSubstr("code 3"));
  EXPECT_THAT(result.text, AllOf(HasSubstr(path("gone/d.db").string()),
                                 HasSubstr("was deleted or replaced while it was open")));
}

TEST_F(Database, ReadOnlyFileIsNamed) {
  ASSERT_EQ(run("--db d.db").code, 0);
  ::chmod(path("d.db").c_str(), 0444);
  ::chmod(directory_.c_str(), 0755);
  // Root ignores permissions.
  const auto refused = ::geteuid() == 0
                           ? shell("setpriv --reuid 65534 --regid 65534 --clear-groups -- " +
                                   run_command("--db d.db"))
                           : run("--db d.db");
  EXPECT_EQ(refused.code, 3) << refused.text;
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr(path("d.db").string()), HasSubstr("no permission to write the file"),
                    HasSubstr("remedy")));
  EXPECT_EQ(plumbline("show --db d.db").code, 0);
}

// Flipped bytes in the header, flipped bytes in the middle, and a truncated file. If SQLite detects
// the damage, every command names the file and the remedy.
TEST_F(Database, DamagedFileIsNamed) {
  ASSERT_EQ(run("--db sound.db").code, 0);
  const std::string sound = read_file(path("sound.db"));
  const auto damaged = [&](const std::string& name,
                           const std::function<void(std::string&)>& damage) {
    std::string bytes = sound;
    damage(bytes);
    write(name, bytes);
    for (const std::string command : {"run", "merge", "query"}) {
      SCOPED_TRACE(name + " " + command);
      const auto result = command == "run" ? run("--db " + name)
                          : command == "merge"
                              ? plumbline("merge out.db sound.db " + name)
                              : plumbline("query --db " + name + " \"SELECT * FROM v_history\"");
      EXPECT_NE(result.code, 0);
      EXPECT_THAT(result.text, AllOf(HasSubstr(path(name).string()), HasSubstr("remedy")));
      EXPECT_EQ(result.code, 3) << result.text;
    }
    EXPECT_FALSE(std::filesystem::exists(path("out.db")))
        << "nothing is merged if one file is refused";
  };
  const auto flip = [](std::string& bytes, std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 0xFF);
  };
  damaged("magic.db", [&](std::string& bytes) { flip(bytes, 0, 16); });
  damaged("page-size.db", [&](std::string& bytes) { flip(bytes, 16, 2); });
  damaged("schema.db", [&](std::string& bytes) { flip(bytes, 100, 400); });
  damaged("middle.db", [&](std::string& bytes) { flip(bytes, 4096, bytes.size() - 8192); });
  damaged("truncated.db",
          [&](std::string& bytes) { bytes.resize(bytes.size() / 2 / 4096 * 4096); });
  EXPECT_EQ(plumbline("show --db sound.db").code, 0);
}

TEST_F(Database, OtherProgramsAndVersionsAreRefused) {
  ASSERT_EQ(run("--db ours.db").code, 0);
  raw_sql(path("theirs.db"), "PRAGMA application_id = 1196444487; CREATE TABLE t(a)");
  raw_sql(path("newer.db"),
          "PRAGMA application_id = 1886154082; PRAGMA user_version = 999; CREATE TABLE t(a)");
  raw_sql(path("earlier.db"),
          "PRAGMA application_id = 1886154082; PRAGMA user_version = 9; CREATE TABLE t(a)");
  for (const auto& [name, message] :
       {std::pair<std::string, std::string>{"theirs.db", "belongs to another program"},
        {"earlier.db", "written by an earlier plumbline (schema 9"},
        {"newer.db", "written by a newer plumbline (schema 999"}}) {
    const auto before = read_file(path(name));
    for (const std::string& command :
         {"show --db " + name, "judge --db " + name, "merge out.db ours.db " + name,
          "merge " + name + " ours.db"}) {
      const auto refused = plumbline(command);
      EXPECT_EQ(refused.code, 3) << command;
      EXPECT_THAT(refused.text,
                  AllOf(HasSubstr(path(name).string()), HasSubstr(message), HasSubstr("remedy")))
          << command;
    }
    EXPECT_EQ(run("--db " + name).code, 3);
    EXPECT_EQ(read_file(path(name)), before);
    EXPECT_FALSE(std::filesystem::exists(path("out.db")));
  }
}

// Shards measured separately, then merged and judged together, have the verdicts of an unsharded
// run.
TEST_F(Database, MergedShardsAreJudgedTogether) {
  ASSERT_EQ(run("--db whole.db").code, 0);
  for (const char* shard : {"1", "2", "3"})
    ASSERT_EQ(run(std::string("--shard ") + shard + "/3 --db " + shard + ".db").code, 0);
  const auto merged = plumbline("merge all.db 3.db 1.db 2.db");
  EXPECT_EQ(merged.code, 0) << merged.text;
  EXPECT_THAT(merged.text, AllOf(HasSubstr("3 runs added"), HasSubstr("32 in all"),
                                 HasSubstr("judged together: plumbline judge ")));
  EXPECT_EQ(plumbline("judge latest~2 latest latest~1 --db all.db").code, 0);
  const char* const scores =
      "SELECT DISTINCT suite, kernel, dtype, statistic, cases, value, status FROM v_suite_scores "
      "ORDER BY 1, 2, 3, 4";
  const auto whole = raw_sql(path("whole.db"), scores);
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(raw_sql(path("all.db"), scores), whole);
  const char* const verdicts =
      "SELECT suite, case_id, verdict, output_digest, findings FROM v_history ORDER BY 1, 2";
  EXPECT_EQ(raw_sql(path("all.db"), verdicts), raw_sql(path("whole.db"), verdicts));
  // The database was judged later than the shard files, which add nothing.
  EXPECT_THAT(
      plumbline("merge all.db 1.db 2.db 3.db").text,
      AllOf(HasSubstr("0 runs added, 0 replaced, 3 already there"), HasSubstr("0 more outcomes")));
  EXPECT_EQ(raw_sql(path("all.db"), scores), whole);
  EXPECT_EQ(plumbline("merge all.db").code, 2);
  EXPECT_EQ(plumbline("merge all.db none.db").code, 3);
}

// Judging a run again changes few outcomes, so only changed outcomes are written.
TEST_F(Database, RejudgingWritesOnlyChanges) {
  ASSERT_EQ(run("--db d.db").code, 0);
  ASSERT_EQ(run("--db d.db").code, 0);
  raw_sql(path("d.db"),
          "CREATE TABLE written(case_key); CREATE TRIGGER writes AFTER UPDATE ON outcome BEGIN "
          "INSERT INTO written VALUES (new.case_key); END");
  ASSERT_EQ(plumbline("judge latest --db d.db").code, 0);
  EXPECT_EQ(raw_sql(path("d.db"), "SELECT count(*) FROM written"), (Rows{{"0"}}));
  raw_sql(path("d.db"),
          "UPDATE outcome SET notes = '[]', percent_of_limit = 7 WHERE rowid = (SELECT max(rowid) "
          "FROM outcome); DELETE FROM written");
  ASSERT_EQ(plumbline("judge latest --db d.db").code, 0);
  EXPECT_EQ(raw_sql(path("d.db"), "SELECT count(*) FROM written"), (Rows{{"1"}}));
  EXPECT_EQ(raw_sql(path("d.db"), "SELECT count(*) FROM outcome WHERE percent_of_limit = 7"),
            (Rows{{"0"}}));
}

TEST_F(Database, TooLongFileNamesAreErrors) {
  const std::string name(300, 'a');
  for (const std::string& command :
       {"doctor --db " + name, "resources --reports " + name, "audit --provider " + name + ".so"}) {
    const auto result = plumbline(command);
    EXPECT_EQ(result.code, 3) << result.text;
    EXPECT_THAT(result.text, AllOf(HasSubstr("File name too long"), HasSubstr("remedy: ")));
  }
}

}  // namespace
}  // namespace plumbline
