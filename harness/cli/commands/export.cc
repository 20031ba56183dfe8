// plumbline export: the database's rows as Parquet, written by a Python script with pyarrow.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/session.h"
#include "harness/cli/subprocess.h"
#include "harness/provider/client/launch.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct ExportOptions {
  DatabaseOption database;
  std::string parquet, nights, night, run, since, format = "text";
};

// Runs a program that prints one line of JSON. Its stderr is the stderr of this process.
nlohmann::json json_of(const std::string& command) {
  const auto said = output_of(command);
  if (!said) end_command(exit_infrastructure, "no process can be started", "see `ulimit -u`");
  auto answer = parse_json_if_valid(said->text);
  if (!answer.is_object())
    end_command(exit_infrastructure, fmt::format("{} printed no result", command),
                "see its messages above");
  return answer;
}

// Returns an error message unless `text` is a time such as "2027-01-31T12:00:00Z", or the beginning
// of one, at least the year.
std::string since_error(const std::string& text) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  bool fits = text.size() >= 4 && text.size() <= form.size();
  for (std::size_t i = 0; fits && i < text.size(); ++i)
    fits = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  return fits ? ""
              : fmt::format("\"{}\" is not a date; expected YYYY-MM-DD, such as 2027-01-31", text);
}

std::string command_for(const ExportOptions& options, Store& store) {
  const auto python = need(find_python(), exit_usage);
  const auto script = home_directory() / "baselines" / "export_parquet.py";
  // exec replaces the shell by the script. The script ends if its caller has ended.
  std::string command =
      fmt::format("exec {} {} --db {} --parquet {} --caller {}", shell_quoted(python.string()),
                  shell_quoted(script.string()),
                  shell_quoted(std::filesystem::absolute(options.database.path).string()),
                  shell_quoted(options.parquet), ::getpid());
  if (!options.nights.empty()) command += " --nights " + shell_quoted(options.nights);
  const std::string word = options.night.empty()               ? options.run
                           : options.night.find("latest") == 0 ? options.night
                                                               : "night:" + options.night;
  if (!word.empty()) {
    const auto runs = need(store.resolve_runs(word), exit_usage);
    command += fmt::format(" --runs {}", fmt::join(runs.run_ids, ","));
  }
  if (!options.since.empty()) command += " --since " + options.since;
  return command;
}

int export_command(const ExportOptions& options) {
  end_on_errors(unusable_outputs({{"--parquet", options.parquet}, {"--nights", options.nights}}),
                exit_usage);
  auto store = need(options.database.open(true));
  const auto command = command_for(options, *store);
  const auto answer = json_of(command);
  if (answer.contains("error"))
    end_command(exit_infrastructure, answer.value("error", ""), answer.value("remedy", ""));
  const auto rows = answer.value("rows", std::size_t{0}),
             runs = answer.value("runs", std::size_t{0});
  const auto bytes = answer.value("bytes", std::size_t{0});
  if (options.format == "json") {
    print_json(json_text(
        {{"file", options.parquet}, {"outcomes", rows}, {"runs", runs}, {"bytes", bytes}}));
  } else {
    fmt::print("{}: {} of {}, {:.1f} kB\n", options.parquet, plumbline::plural(rows, "outcome"),
               plumbline::plural(runs, "run"), static_cast<double>(bytes) / 1e3);
  }
  return exit_fine;
}

}  // namespace

void add_export(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, export_command, "export",
               "Write outcomes as Parquet, for DuckDB, Spark, ClickHouse or pandas");
  command.add_option("--parquet", options.parquet, "FILE", "The rows of the view v_history")
      .required();
  command.add_option("--nights", options.nights, "FILE",
                     "Also the rows of v_night_times: the common shift of each run's times");
  options.database.add_to(command);
  command.add_option("--night", options.night, "ID",
                     "Only this night: its id, a unique prefix, latest-night or latest-night~N");
  command
      .add_option("--run", options.run, "ID", "Only this run: its id, a unique prefix, latest, …")
      .excludes("--night");
  command
      .add_option("--since", options.since, "DATE",
                  "Only runs that began on this day (UTC) or later")
      .check(since_error)
      .excludes("--night")
      .excludes("--run");
  add_format(command, options.format, {"text", "json"}, "What goes to stdout");
  command.footer(
      "Needs Python with pyarrow (pip install pyarrow; PLUMBLINE_PYTHON names another Python). "
      "An existing file is replaced as a whole, or not at all.\n"
      "Examples:\n  plumbline export --db history.db --night latest-night --parquet night.parquet\n"
      "  plumbline export --db history.db --since 2027-01 --parquet 2027.parquet\n"
      "  duckdb -c \"SELECT kernel, count(*) FROM 'night.parquet' GROUP BY 1\"");
}

}  // namespace plumbline::cli
