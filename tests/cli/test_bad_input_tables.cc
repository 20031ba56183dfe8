// Tables of user errors, tests/cli/bad_inputs/*.tsv. A row is a shell command, its exit code, and
// what the message must say about the cause and the next step. The rows are errors that new users
// once found unclear, and similar ones.
//
//   COMMAND <tab> EXIT CODE <tab> WHAT HAPPENED <tab> WHAT TO DO NEXT
//
// `plumbline` is on the PATH. A command runs in a folder with good.db and the files that
// bad_files.h writes. $SOURCE is the source tree and $BUILD the build tree. Lines that begin with
// '#' are comments.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/cli/bad_files.h"
#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Row {
  std::string command;
  int code = 0;
  std::string what, next;
  std::string place;  // "command.tsv:12"
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, '\t');) cells.push_back(cell);
  return cells;
}

std::vector<Row> read_table(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string place = path.filename().string() + ":" + std::to_string(++number);
    if (line.empty() || line.starts_with("#")) continue;
    const auto cells = cells_of(line);
    if (cells.size() != 4) {
      ADD_FAILURE() << place << ": " << cells.size() << " cells, 4 are needed";
      continue;
    }
    rows.push_back({cells[0], std::atoi(cells[1].c_str()), cells[2], cells[3], place});
    EXPECT_GT(rows.back().code, 0) << place << ": a bad input is no success";
  }
  return rows;
}

std::vector<std::filesystem::path> tables() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_directory / "tests" /
                                                               "cli" / "bad_inputs")) {
    if (entry.path().extension() == ".tsv") paths.push_back(entry.path());
  }
  return paths;
}

class BadInputTables : public test::CommandTest,
                       public testing::WithParamInterface<std::filesystem::path> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    bad::write_files(directory_);
    const auto run = plumbline("run s.toml --db good.db -q");
    ASSERT_EQ(run.code, 0) << run.text;
  }

  test::CommandResult in_shell(const std::string& command) const {
    return shell("export SOURCE='" + test::source_directory.string() + "' BUILD='" +
                 test::build_directory.string() + "' PATH='" + program().parent_path().string() +
                 "':\"$PATH\"; " + command);
  }
};

TEST_P(BadInputTables, MessageHasCauseAndRemedy) {
  const auto rows = read_table(GetParam());
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.place + ": " + row.command);
    const auto result = in_shell(row.command);
    EXPECT_EQ(result.code, row.code) << result.text;
    EXPECT_THAT(result.text, HasSubstr(row.what));
    EXPECT_THAT(result.text, HasSubstr(row.next));
    EXPECT_THAT(result.text, Not(HasSubstr("internal error")));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, BadInputTables, testing::ValuesIn(tables()),
                         [](const auto& of) { return of.param.stem().string(); });

TEST(BadInputTable, TableFilesHaveFiftyRows) {
  std::size_t rows = 0;
  for (const auto& table : tables()) rows += read_table(table).size();
  EXPECT_GE(rows, 50U);
}

}  // namespace
}  // namespace plumbline
