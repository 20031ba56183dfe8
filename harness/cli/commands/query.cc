// plumbline query: read-only SQL over the views, or one of the reviewed example queries by name.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

struct QueryOptions {
  DatabaseOption database;
  std::string sql, format = "text";
  bool list = false;
};

std::vector<std::filesystem::path> example_queries() {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(home_directory() / "baselines" / "queries", error)) {
    if (entry.path().extension() == ".sql") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Returns "worst-percent" for "03-worst-percent.sql".
std::string query_name(const std::filesystem::path& file) {
  const auto stem = file.stem().string();
  const auto dash = stem.find('-');
  return dash == std::string::npos ? stem : stem.substr(dash + 1);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int list_queries() {
  for (const auto& file : example_queries()) {
    const auto text = read_file(file);
    fmt::print("{:24} {}\n", query_name(file), text.substr(0, text.find('\n')));
  }
  return exit_fine;
}

Error no_such_query(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& file : example_queries()) names.push_back(query_name(file));
  return {"", 0, fmt::format("there is no example query \"{}\", and it is no SELECT", word),
          did_you_mean(word, names) + "`plumbline query --list` names them"};
}

constexpr std::array query_formats{Format<Store::Table>{"text", render_query},
                                   Format<Store::Table>{"csv", unstyled<render_query_csv>},
                                   Format<Store::Table>{"json", nullptr, json_of_table}};

int query(const QueryOptions& options) {
  if (options.list) return list_queries();
  if (options.sql.empty()) {
    end_command(exit_usage, "give SQL or the name of an example query",
                "`plumbline query --list` names them");
  }
  std::string sql = options.sql;
  for (const auto& file : example_queries()) {
    if (query_name(file) == options.sql) sql = read_file(file);
  }
  if (sql == options.sql && sql.find_first_of(" \t\n") == std::string::npos)
    end_command(exit_usage, no_such_query(sql));
  auto store = need(options.database.open(true));
  auto table = store->query(sql);
  // Only an error of the database names a file; an error of the query does not.
  const bool is_of_query = !table && table.error().front().file.empty();
  write_as(query_formats, options.format,
           need(std::move(table), is_of_query ? exit_usage : exit_infrastructure));
  return exit_fine;
}

}  // namespace

void add_query(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, query, "query",
                                     "Read-only SQL over the views of a database of runs");
  command.add_option("sql", options.sql, "One SELECT, or the name of an example query");
  command.add_flag("--list", options.list, "List the example queries");
  options.database.add_to(command);
  add_format(command, options.format, query_formats);
  command.footer(
      "Examples:\n  plumbline query \"SELECT verdict, count(*) FROM v_latest GROUP BY verdict\"\n  "
      "plumbline query --list");
}

}  // namespace plumbline::cli
