// plumbline query: read-only SQL over the views, or one of the reviewed example queries by name.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/base/text.h"
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
  std::sort(files.begin(), files.end());
  return files;
}

// "03-worst-percent.sql" is called "worst-percent".
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

Errors no_such_query(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& file : example_queries()) names.push_back(query_name(file));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto near = nearest_word(word, known);
  return {{"", 0, fmt::format("there is no example query \"{}\", and it is no SELECT", word),
           fmt::format("{}`plumbline query --list` names them",
                       near ? fmt::format("did you mean {}? ", *near) : "")}};
}

constexpr std::array query_formats{
    Format<Store::Table>{"text", render_query},
    Format<Store::Table>{
        "csv", [](const Store::Table& table, const Style&) { return render_query_csv(table); }},
    Format<Store::Table>{"json", nullptr, json_of_table}};

int query(const QueryOptions& options) {
  if (options.list) return list_queries();
  if (options.sql.empty()) {
    return report_errors({{"", 0, "give SQL or the name of an example query",
                           "`plumbline query --list` names them"}},
                         exit_usage);
  }
  std::string sql = options.sql;
  for (const auto& file : example_queries()) {
    if (query_name(file) == options.sql) sql = read_file(file);
  }
  if (sql == options.sql && sql.find_first_of(" \t\n") == std::string::npos)
    return report_errors(no_such_query(sql), exit_usage);
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = (*store)->query(sql);
  // An error of the file names it; one of the query does not.
  if (!table)
    return report_errors(table.error(),
                         table.error().front().file.empty() ? exit_usage : exit_infrastructure);
  write_as(query_formats, options.format, *table);
  return exit_fine;
}

}  // namespace

void add_query(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("query", "Read-only SQL over the views of a database of runs");
  auto options = std::make_shared<QueryOptions>();
  command.add_option("sql", options->sql, "One SELECT, or the name of an example query");
  command.add_flag("--list", options->list, "List the example queries");
  options->database.add_to(command);
  add_format(command, options->format, query_formats);
  command.footer(
      "Examples:\n  plumbline query \"SELECT verdict, count(*) FROM v_latest GROUP BY verdict\"\n  "
      "plumbline query --list");
  command.callback([options, &exit_code] { exit_code = query(*options); });
}

}  // namespace plumbline::cli
