// plumbline night: opens, closes, lists and shows nights: all runs of one night over all machines.
#include "harness/run/night.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>

#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"
#include "harness/report/night_text.h"
#include "harness/report/summary.h"
#include "harness/store/queries/nights.h"
#include "harness/store/text.h"

namespace plumbline::cli {
namespace {

struct NightOptions {
  DatabaseOption database;
  std::string night = "latest";
  std::string id, who, note;
  std::string format = "text";
  int limit = 30;
};

constexpr std::array night_formats{
    Format<NightSummary>{"text", render_night},
    Format<NightSummary>{"json", nullptr, json_of_night},
    Format<NightSummary>{"markdown", [](const NightSummary& summary, const Style&) {
                           return render_night_markdown(summary);
                         }}};

std::string now() { return iso_time(std::chrono::system_clock::now()); }

std::string user_at_host() {
  const char* user = std::getenv("USER");
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}@{}", user != nullptr && *user != 0 ? user : "unknown", host.data());
}

// The day in UTC, "2026-11-22"; another night of the same day is "2026-11-22.2".
std::string free_id(const std::vector<std::string>& taken) {
  const std::string day = today();
  const auto is_taken = [&](const std::string& id) {
    return std::find(taken.begin(), taken.end(), id) != taken.end();
  };
  std::string id = day;
  for (int number = 2; is_taken(id); ++number) id = fmt::format("{}.{}", day, number);
  return id;
}

Result<std::string> open_night(const NightOptions& options, Store& store) {
  auto taken = store.nights(0);
  if (!taken) return tl::unexpected(taken.error());
  const std::string id = options.id.empty() ? free_id(*taken) : options.id;
  if (std::find(taken->begin(), taken->end(), id) != taken->end()) {
    return fail(fmt::format("there is a night '{}' already", id),
                "leave --id out for a free one, or go on with `plumbline run --night`");
  }
  auto added = store.add(NightEvent{id, NightEventKind::opened, now(), options.who, options.note});
  if (!added) return tl::unexpected(added.error());
  return id;
}

int open_command(const NightOptions& options) {
  auto store = options.database.open(false);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto id = open_night(options, **store);
  if (!id) return report_errors(id.error(), exit_usage);
  options.format == "json" ? print_json(json_text({{"night_id", *id}})) : fmt::print("{}\n", *id);
  return exit_fine;
}

// The summary, and with `close` the event that says so. A night whose runs are not all finished
// stays open.
int show_command(const NightOptions& options, bool close) {
  auto store = close ? options.database.open_existing() : options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto id = (*store)->resolve_night(options.night);
  if (!id) return report_errors(id.error(), exit_usage);
  auto summary = summarise_night(**store, *id);
  if (!summary) return report_errors(summary.error(), exit_infrastructure);
  if (close && summary->state == RunState::incomplete) {
    return report_errors(
        {{options.database.path.string(), 0,
          fmt::format("night {} is incomplete: {}; it stays open", *id,
                      missing_text(summary->incomplete)),
          "finish it with `plumbline run … --resume`; `plumbline night show` names it"}},
        exit_infrastructure);
  }
  if (close) {
    const NightEvent event{*id, NightEventKind::closed, now(), options.who,
                           options.note.empty()
                               ? fmt::format("exit code {}", exit_code_of(summary->state))
                               : options.note};
    if (auto added = (*store)->add(event); !added)
      return report_errors(added.error(), exit_infrastructure);
    summary->night.events.push_back(event);
  }
  write_as(night_formats, options.format, *summary);
  if (close) return exit_code_of(summary->state);
  return summary->state == RunState::incomplete ? exit_infrastructure : exit_fine;
}

int list_command(const NightOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = list_of_nights(**store, options.limit);
  if (!table) return report_errors(table.error(), exit_infrastructure);
  constexpr std::array table_formats{Format<Store::Table>{"text", render_query},
                                     Format<Store::Table>{"json", nullptr, json_of_table}};
  write_as(table_formats, options.format, *table);
  return exit_fine;
}

void add_night_id(Command command, NightOptions& options) {
  command.add_option("night", options.night, "Id of a night, latest or latest~N")
      .capture_default_str();
}

void add_who(Command command, NightOptions& options) {
  options.who = user_at_host();
  command.add_option("--who", options.who, "Who does this").capture_default_str();
  command.add_option("--note", options.note, "A sentence that is stored with it");
}

}  // namespace

void add_night(Command app, int& exit_code) {
  const Command night = app.add_subcommand(
      "night", "Nights: all runs of one night over all machines; open, close, list or show one");
  night.require_subcommand(1);
  night.footer(
      "A night is what several runs share: open one, give its id to each run and each shard, on "
      "every machine, merge, and close it. The exit code of close is that of the night: 0, 1 (it "
      "fails), 3 (a run is incomplete: the night stays open), 5 (something is unconfirmed, "
      "ambiguous or suspect, or a case of the night before is missing).\n"
      "Examples:\n"
      "  night=$(plumbline night open --db history.db)\n"
      "  plumbline run cases/nightly.toml --night \"$night\" --purpose nightly --db history.db\n"
      "  plumbline night close \"$night\" --db history.db\n"
      "  plumbline night show latest~1 --db history.db --format markdown");

  const auto add = [&](const char* name, const char* help, auto configure, auto act) {
    const Command command = night.add_subcommand(name, help);
    auto options = std::make_shared<NightOptions>();
    configure(command, *options);
    options->database.add_to(command);
    command.callback([options, act, &exit_code] { exit_code = act(*options); });
  };
  add(
      "open", "Begin a night, and print its id",
      [](Command command, NightOptions& options) {
        command.add_option("--id", options.id,
                           "Its id (default: the day in UTC, with a number where it is taken)");
        add_who(command, options);
        add_format(command, options.format, {"text", "json"});
      },
      open_command);
  add(
      "close", "Say that all runs of a night are there; its exit code is the night's",
      [](Command command, NightOptions& options) {
        add_night_id(command, options);
        add_who(command, options);
        add_format(command, options.format, night_formats);
      },
      [](const NightOptions& options) { return show_command(options, true); });
  add(
      "show", "What a night came to: its runs, and its alerts in groups with a lead",
      [](Command command, NightOptions& options) {
        add_night_id(command, options);
        add_format(command, options.format, night_formats);
      },
      [](const NightOptions& options) { return show_command(options, false); });
  add(
      "list", "Nights, newest first",
      [](Command command, NightOptions& options) {
        command.add_option("--limit", options.limit, "How many")
            .capture_default_str()
            .check(from_to(1, 1e6));
        add_format(command, options.format, {"text", "json"});
      },
      list_command);
}

}  // namespace plumbline::cli
