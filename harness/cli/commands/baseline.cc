// plumbline baseline: accepts or pins the outcomes that later runs are compared with, and
// acknowledges regressions. Each decision is a row of its own: who, when, why.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/store/queries/nights.h"

namespace plumbline::cli {
namespace {

struct DecisionOptions {
  DatabaseOption database;
  std::string run = "latest", cases = "*", who, why, until, format = "text";
};

// Opens the database, finds the run, and passes both to `decide`, which returns a text to print.
template <class Decide>
int decided(const DecisionOptions& options, Decide&& decide) {
  if (options.why.empty())
    end_command(exit_usage, "--why must not be empty", "say why this is decided");
  if (options.who.empty()) {
    end_command(exit_usage, "no user name: $USER is empty", "add --who NAME");
  }
  auto store = need(options.database.open_existing());
  auto run = need(store->resolve_run(options.run), exit_usage);
  const std::string done = decide(*store, run);
  if (options.format == "json") {
    print_json(json_text({{"decided", done},
                          {"run_id", run},
                          JSON_FIELDS(options, cases, who, why),
                          {"until", options.until.empty() ? Json() : Json(options.until)}}));
  } else {
    fmt::print("{}, run {}: {} ({})\n", done, run.substr(0, 8), options.why, options.who);
  }
  return exit_fine;
}

std::string counted(int count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

int accept(const DecisionOptions& options) {
  return decided(options, [&](Store& store, const std::string& run) {
    const Accepted accepted =
        need(store.accept(run, options.cases, options.who, options.why), exit_usage);
    std::string text = fmt::format("accepted {} ({}", options.cases,
                                   counted(accepted.outcomes, "outcome", "outcomes"));
    if (accepted.refused > 0)
      text += fmt::format(", {}", counted(accepted.refused, "refusal", "refusals"));
    if (accepted.vanished > 0)
      text += fmt::format(", {}", counted(accepted.vanished, "vanished case", "vanished cases"));
    return text + ")";
  });
}

int pin(const DecisionOptions& options) {
  return decided(options, [&](Store& store, const std::string& run) {
    const int pinned = need(store.pin(run, options.cases, options.who, options.why), exit_usage);
    return fmt::format("pinned {} ({})", options.cases, counted(pinned, "outcome", "outcomes"));
  });
}

// Returns the error message for a date, or "" if it is valid.
std::string day_error(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0;
  char rest = 0;
  const bool is_day = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                      std::sscanf(text.c_str(), "%4d-%2u-%2u%c", &year, &month, &day, &rest) == 3 &&
                      std::chrono::year_month_day{std::chrono::year{year},
                                                  std::chrono::month{month}, std::chrono::day{day}}
                          .ok();
  return is_day
             ? ""
             : fmt::format("\"{}\" is not a date; expected YYYY-MM-DD, such as 2027-01-31", text);
}

int acknowledge(const DecisionOptions& options) {
  if (!options.until.empty() && options.until <= today()) {
    end_command(exit_usage,
                fmt::format("--until {} has come, so the acknowledgement would expire at once",
                            options.until),
                "name a day after today, or omit --until");
  }
  return decided(options, [&](Store& store, const std::string& run) {
    const int seen = need(
        store.acknowledge(run, options.cases, options.who, options.why, options.until), exit_usage);
    return fmt::format("acknowledged {} ({}){}", options.cases, counted(seen, "case", "cases"),
                       options.until.empty() ? "" : " until " + options.until);
  });
}

// Formats each decision: a line, its reason, its cases (if more than three, their number and glob).
std::string decisions_as_text(const Store::Table& table, const Style& style) {
  if (table.rows.empty()) return "nothing was accepted, pinned or acknowledged\n";
  std::string text;
  for (std::size_t i = 0; i < table.rows.size();) {
    const auto& first = table.rows[i];
    const auto cell = [&](std::size_t row, std::size_t column) {
      return table.rows[row][column].value_or("");
    };
    std::size_t end = i + 1;
    const auto is_the_same = [&](std::size_t row) {
      for (const std::size_t column : {0, 1, 2, 3, 4, 5, 6})
        if (table.rows[row][column] != first[column]) return false;
      return true;
    };
    while (end < table.rows.size() && is_the_same(end)) ++end;
    const std::string until = cell(i, 6);
    text += fmt::format("{} {}  {}, run {}{}\n", cell(i, 1).substr(0, 10), cell(i, 0), cell(i, 2),
                        cell(i, 4).substr(0, 8), until.empty() ? "" : ", until " + until);
    text += "  " + wrapped(cell(i, 3), 2, style) + "\n";
    const std::size_t cases = end - i;
    if (cases > 3) {
      text += "  " + wrapped(fmt::format("{} cases of {}", cases, cell(i, 5)), 2, style) + "\n";
    } else {
      for (std::size_t row = i; row < end; ++row) text += "  " + cell(row, 7) + "\n";
    }
    i = end;
  }
  return text;
}

constexpr std::array table_formats{Format<Store::Table>{"text", decisions_as_text},
                                   Format<Store::Table>{"json", nullptr, json_of_table}};

int list_decisions(const DecisionOptions& options) {
  auto store = need(options.database.open(true));
  auto table = need(list_of_decisions(*store));
  write_as(table_formats, options.format, table);
  return exit_fine;
}

struct Verb {
  const char* name;
  const char* help;
  const char* why;  // help of --why
  const char* example;
  int (*decide)(const DecisionOptions&);
  bool has_expiry = false;
};

constexpr std::array verbs{
    Verb{"accept", "Later runs are compared with these outcomes", "Why these outcomes are right",
         "plumbline baseline accept latest --cases 'cpu/flash/*' --why 'reviewed in #12'", accept},
    Verb{"pin", "Later runs are measured against these outcomes for as long as they are pinned",
         "Why these outcomes are right", "plumbline baseline pin latest --why 'release 1.4'", pin},
    Verb{"acknowledge",
         "These regressions are known and fail no run until they get worse or expire",
         "Why the regressions stay for now",
         "plumbline baseline acknowledge latest --cases 'cuda/*' --why 'waits for driver 600, #31' "
         "--until 2027-02-01",
         acknowledge, true}};

void add_decision(Command baseline, const Verb& verb, int& exit_code) {
  auto [command, options] = add_verb(baseline, exit_code, verb.decide, verb.name, verb.help);
  options.who = environment_text("USER");
  command.add_option("run", options.run, "Run id, unique prefix, latest or latest~N")
      .capture_default_str();
  command.add_option("--cases", options.cases, "Glob over case ids").capture_default_str();
  command.add_option("--who", options.who, "Name of the person who decides (default: $USER)");
  command.add_option("--why", options.why, verb.why).required();
  if (verb.has_expiry) {
    command
        .add_option("--until", options.until, "YYYY-MM-DD",
                    "First day (UTC) on which the regression fails runs again; default: never")
        .check(day_error);
  }
  options.database.add_to(command);
  add_format(command, options.format, {"text", "json"}, "text or json");
  command.footer(std::string("Example:\n  ") + verb.example);
}

}  // namespace

void add_baseline(Command app, int& exit_code) {
  const Command command = app.add_subcommand("baseline",
                                             "Accept outcomes as the new baseline, pin them, "
                                             "acknowledge regressions, or list these decisions");
  command.require_subcommand(1);
  command.footer(
      "accept       the next run is compared with these outcomes; cases listed as vanished or "
      "refused no longer fail runs\n"
      "pin          all later runs are also compared with these outcomes, so that small steps "
      "do not add up unnoticed; the newest pin of a case counts\n"
      "acknowledge  a regression that is known: it stays listed, and fails no run until it gets "
      "worse by more than noise or --until comes; it is no baseline\n"
      "Each decision is added to the earlier ones, and none is ever changed.\n"
      "Examples:\n  plumbline baseline accept latest --cases 'cpu/flash/*' --why 'tile order "
      "changed, reviewed in #12'\n"
      "  plumbline baseline pin latest --why 'release 1.4'\n"
      "  plumbline baseline acknowledge latest --cases 'cuda/*' --why 'waits for driver 600, #31' "
      "--until 2027-02-01\n  plumbline baseline list");
  for (const Verb& verb : verbs) add_decision(command, verb, exit_code);

  auto [list_command, options] =
      add_verb(command, exit_code, list_decisions, "list",
               "Accepted, pinned and acknowledged outcomes, newest first");
  options.database.add_to(list_command);
  add_format(list_command, options.format, table_formats);
  list_command.footer("Example:\n  plumbline baseline list --format json");
}

}  // namespace plumbline::cli
