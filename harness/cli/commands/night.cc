// plumbline night: opens, closes, lists and shows nights. A night has all runs with one id, on
// all machines.
#include "harness/run/night.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
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
    Format<NightSummary>{"markdown", unstyled<render_night_markdown>}};

std::string now() { return iso_time(std::chrono::system_clock::now()); }

std::string user_at_host() {
  const std::string user = environment_text("USER");
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}@{}", user.empty() ? "unknown" : user, host.data());
}

// Returns the day in UTC, "2026-11-22", or "2026-11-22.2" if the day has a night already.
std::string free_id(const std::vector<std::string>& taken) {
  const std::string day = today();
  const auto is_taken = [&](const std::string& id) {
    return std::ranges::find(taken, id) != taken.end();
  };
  std::string id = day;
  for (int number = 2; is_taken(id); ++number) id = fmt::format("{}.{}", day, number);
  return id;
}

std::string open_night(const NightOptions& options, Store& store) {
  auto taken = need(store.nights(0), exit_usage);
  const std::string id = options.id.empty() ? free_id(taken) : options.id;
  if (std::ranges::find(taken, id) != taken.end()) {
    end_command(exit_usage, fmt::format("there is a night '{}' already", id),
                "leave --id out to get a free id, or add runs with `plumbline run --night`");
  }
  need(store.add(NightEvent{id, NightEventKind::opened, now(), options.who, options.note}),
       exit_usage);
  return id;
}

int open_command(const NightOptions& options) {
  auto store = need(options.database.open(false));
  const auto id = open_night(options, *store);
  options.format == "json" ? print_json(json_text({{"night_id", id}})) : fmt::print("{}\n", id);
  return exit_fine;
}

// Prints the summary and, with `close`, stores the closing event. A night whose runs are not all
// finished stays open.
int show_night(const NightOptions& options, bool close) {
  auto store = need(close ? options.database.open_existing() : options.database.open(true));
  const auto id = need(store->resolve_night(options.night), exit_usage);
  auto summary = need(summarise_night(*store, id));
  if (close && summary.state == RunState::incomplete) {
    end_command(exit_infrastructure,
                {options.database.path.string(), 0,
                 fmt::format("night {} is incomplete: {}; it stays open", id,
                             missing_text(summary.incomplete)),
                 "finish its runs with `plumbline run … --resume`; `plumbline night show` lists "
                 "them"});
  }
  if (close) {
    const NightEvent event{id, NightEventKind::closed, now(), options.who,
                           options.note.empty()
                               ? fmt::format("exit code {}", exit_code_of(summary.state))
                               : options.note};
    need(store->add(event));
    summary.night.events.push_back(event);
  }
  write_as(night_formats, options.format, summary);
  if (close) return exit_code_of(summary.state);
  return summary.state == RunState::incomplete ? exit_infrastructure : exit_fine;
}

int close_command(const NightOptions& options) { return show_night(options, true); }
int show_command(const NightOptions& options) { return show_night(options, false); }

int list_command(const NightOptions& options) {
  auto store = need(options.database.open(true));
  auto table = need(list_of_nights(*store, options.limit));
  constexpr std::array table_formats{Format<Store::Table>{"text", render_query},
                                     Format<Store::Table>{"json", nullptr, json_of_table}};
  write_as(table_formats, options.format, table);
  return exit_fine;
}

void add_night_id(Command command, NightOptions& options) {
  command.add_option("night", options.night, "Id of a night, latest or latest~N")
      .capture_default_str();
}

void add_author_options(Command command, NightOptions& options) {
  options.who = user_at_host();
  command.add_option("--who", options.who, "Who opens or closes the night").capture_default_str();
  command.add_option("--note", options.note, "A sentence to store with the opening or closing");
}

}  // namespace

void add_night(Command app, int& exit_code) {
  const Command night = app.add_subcommand(
      "night", "Nights: all runs of one night over all machines; open, close, list or show one");
  night.require_subcommand(1);
  night.footer(
      "Several runs together are a night: open one, give its id to each run and each shard, on "
      "every machine, merge, and close it. The exit code of close is that of the night: 0, 1 (it "
      "fails), 3 (a run is incomplete: the night stays open), 5 (something is unconfirmed, "
      "ambiguous or suspect, or a case of the night before is missing).\n"
      "Examples:\n"
      "  night=$(plumbline night open --db history.db)\n"
      "  plumbline run cases/nightly.toml --night \"$night\" --purpose nightly --db history.db\n"
      "  plumbline night close \"$night\" --db history.db\n"
      "  plumbline night show latest~1 --db history.db --format markdown");

  auto [open, opened] =
      add_verb(night, exit_code, open_command, "open", "Begin a night, and print its id");
  open.add_option("--id", opened.id,
                  "Night id (default: the date in UTC, with a number if it is taken)");
  add_author_options(open, opened);
  add_format(open, opened.format, {"text", "json"});
  opened.database.add_to(open);
  auto [close, closed] =
      add_verb(night, exit_code, close_command, "close",
               "Close a night whose runs are all stored; the exit code is the night's");
  add_night_id(close, closed);
  add_author_options(close, closed);
  add_format(close, closed.format, night_formats);
  closed.database.add_to(close);
  auto [show, shown] = add_verb(
      night, exit_code, show_command, "show",
      "The result of a night: its runs, and its alerts in groups with the worst case first");
  add_night_id(show, shown);
  add_format(show, shown.format, night_formats);
  shown.database.add_to(show);
  auto [list, listed] = add_verb(night, exit_code, list_command, "list", "Nights, newest first");
  list.add_option("--limit", listed.limit, "How many nights")
      .capture_default_str()
      .check(from_to(1, 1e6));
  add_format(list, listed.format, {"text", "json"});
  listed.database.add_to(list);
}

}  // namespace plumbline::cli
