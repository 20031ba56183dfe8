// plumbline datasette-metadata: what Datasette shows of a database of runs, by a script that comes
// with plumbline.
#include <fmt/format.h>

#include "harness/cli/commands/commands.h"
#include "harness/cli/session.h"
#include "harness/cli/subprocess.h"
#include "harness/provider/client/launch.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

int print_metadata(const std::filesystem::path& database) {
  if (auto store = Store::open(database, true); !store)
    return report_errors(store.error(), exit_infrastructure);
  const auto python = find_python();
  if (!python) return report_errors(python.error(), exit_infrastructure);
  const auto script = home_directory() / "baselines" / "datasette_metadata.py";
  const auto said =
      output_of(fmt::format("{} {} {}", shell_quoted(python->string()),
                            shell_quoted(script.string()), shell_quoted(database.string())));
  if (!said || !said->is_well) {
    return report_errors({{script.string(), 0, fmt::format("{} did not run it", python->string()),
                           "see what it wrote above; PLUMBLINE_PYTHON names another interpreter"}},
                         exit_infrastructure);
  }
  fmt::print("{}\n", said->text);
  return exit_fine;
}

}  // namespace

void add_datasette_metadata(Command app, int& exit_code) {
  const Command command = app.add_subcommand(
      "datasette-metadata", "Print what Datasette shows of a database: its queries and its views");
  auto database = std::make_shared<std::filesystem::path>();
  command.add_option("database", *database, "Database of runs").type_name("FILE").required();
  command.footer(
      "Examples:\n  plumbline datasette-metadata history.db > metadata.json\n"
      "  datasette serve history.db --metadata metadata.json --setting sql_time_limit_ms 20000");
  command.callback([=, &exit_code] { exit_code = print_metadata(*database); });
}

}  // namespace plumbline::cli
