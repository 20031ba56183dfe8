// plumbline judge --replay: runs the time gate over a series of another program.
#include "harness/cli/commands/replay.h"

#include <fmt/format.h>

#include "harness/cli/command_end.h"
#include "harness/cli/envelope.h"
#include "harness/cli/session.h"
#include "harness/judge/exit_code.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/timing/replay.h"

namespace plumbline::cli {
namespace {

void print(const std::string& file, const ReplaySeries& series,
           const std::vector<ReplayAlert>& alerts) {
  for (const ReplayAlert& alert : alerts) {
    fmt::print("point {:>5}  {:<6}  from {} to {} ({:+.1f} %), since point {}\n", alert.point,
               alert.worse ? "worse" : "better", number(alert.from), number(alert.to),
               100 * alert.change(), alert.begin);
  }
  fmt::print("{}: {} in {} of column \"{}\"\n", file, plural(alerts.size(), "alert"),
             plural(series.values.size(), "point"), series.column);
}

std::string as_json(const std::string& file, bool higher_is_better, const ReplaySeries& series,
                    const std::vector<ReplayAlert>& alerts) {
  const auto alert_json = [](const ReplayAlert& alert) -> Json {
    return {JSON_FIELDS(alert, point, begin, from, to, change(), worse)};
  };
  return json_text({{"file", file},
                    JSON_FIELDS(series, column),
                    {"points", series.values.size()},
                    {"higher_is_better", higher_is_better},
                    {"alerts", json_list(alerts, alert_json)}});
}

}  // namespace

int replay_command(const std::string& file, bool higher_is_better, const std::string& format) {
  if (format != "text" && format != "json") {
    end_command(exit_usage, fmt::format("--replay has no --format {}", format),
                "use --format text or json");
  }
  const auto series = need(read_series(file), exit_usage);
  const auto alerts = replay(series.values, higher_is_better);
  if (format == "json")
    print_json(as_json(file, higher_is_better, series, alerts));
  else
    print(file, series, alerts);
  return exit_fine;
}

}  // namespace plumbline::cli
