// plumbline datasette-metadata: runs a script that prints Datasette's metadata for a database of
// runs.
#include <fmt/format.h>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/session.h"
#include "harness/cli/subprocess.h"
#include "harness/provider/client/launch.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

int print_metadata(const std::filesystem::path& database) {
  need(Store::open(database, true));
  const auto python = need(find_python());
  const auto script = home_directory() / "baselines" / "datasette_metadata.py";
  const auto said =
      output_of(fmt::format("{} {} {}", shell_quoted(python.string()),
                            shell_quoted(script.string()), shell_quoted(database.string())));
  if (!said || !said->is_success) {
    end_command(exit_infrastructure,
                {script.string(), 0, fmt::format("failed under {}", python.string()),
                 "read its messages above, or set PLUMBLINE_PYTHON to another interpreter"});
  }
  fmt::print("{}\n", said->text);
  return exit_fine;
}

}  // namespace

void add_datasette_metadata(Command app, int& exit_code) {
  auto [command, database] =
      add_verb(app, exit_code, print_metadata, "datasette-metadata",
               "Print what Datasette shows of a database: its queries and its views");
  command.add_option("database", database, "FILE", "Database of runs").required();
  command.footer(
      "Examples:\n  plumbline datasette-metadata history.db > metadata.json\n"
      "  datasette serve history.db --metadata metadata.json --setting sql_time_limit_ms 20000");
}

}  // namespace plumbline::cli
