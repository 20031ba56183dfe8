// plumbline support suggest: prints entries for support.toml that explain a run's refusals.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/glob.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/contract/contract.h"
#include "harness/contract/reviewed_text.h"
#include "harness/contract/suggest_support.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct SuggestOptions {
  ProviderOptions providers;
  DatabaseOption database;
  std::string run = "latest", format = "text";
  std::vector<std::string> kernels;  // globs; empty: kernels with a contract or an entry
};

// An entry that cases contradict, because they ran.
struct ContradictedEntry {
  SupportTable::Entry entry;
  std::size_t cases = 0;
  std::string example;
};

struct Suggestion {
  std::string run_id;
  std::filesystem::path table;  // the support.toml to append to
  SuggestedSupport suggested;
  std::vector<ContradictedEntry> contradicted;
  std::size_t refusals = 0;    // unexplained refusals of the chosen kernels
  std::size_t unreviewed = 0;  // refusals of other kernels: unsupported, not a mismatch
  bool is_complete() const { return suggested.inseparable.empty() && contradicted.empty(); }
};

bool is_chosen(const SuggestOptions& options, const std::string& kernel) {
  return std::ranges::any_of(options.kernels,
                             [&](const std::string& glob) { return glob_match(glob, kernel); });
}

// Returns true if the outcome is a refusal that needs an entry, and counts refusals.
bool needs_an_entry(const SuggestOptions& options, const Outcome& outcome, const ReviewedText& text,
                    Suggestion& suggestion) {
  const std::string& kernel = outcome.c.kernel;
  const bool is_unexplained =
      outcome.status == Status::unsupported && !is_lacking(outcome) &&
      text.support.entry_for(kernel, outcome.c.problem, target_of(outcome)) == nullptr;
  const bool is_wanted = options.kernels.empty()
                             ? is_unexplained_refusal(outcome, text.contracts, text.support)
                             : is_unexplained && is_chosen(options, kernel);
  suggestion.refusals += is_wanted;
  suggestion.unreviewed += is_unexplained && options.kernels.empty() && !is_wanted;
  return is_wanted;
}

void contradict(const Outcome& outcome, const SupportTable& table,
                std::vector<ContradictedEntry>& found) {
  const auto* entry = table.entry_for(outcome.c.kernel, outcome.c.problem, target_of(outcome));
  if (entry == nullptr) return;
  auto at = std::ranges::find_if(found, [&](const ContradictedEntry& c) {
    return c.entry.file == entry->file && c.entry.line == entry->line;
  });
  if (at == found.end()) at = found.insert(at, {*entry, 0, outcome.case_id});
  ++at->cases;
}

Suggestion suggestion_for(const SuggestOptions& options, const std::vector<StoredOutcome>& outcomes,
                          const ReviewedText& text) {
  Suggestion suggestion;
  std::vector<TriedProblem> asked;
  for (const StoredOutcome& stored : outcomes) {
    const Outcome& o = stored.outcome;
    if (!options.kernels.empty() && !is_chosen(options, o.c.kernel)) continue;
    if (o.status == Status::ok) contradict(o, text.support, suggestion.contradicted);
    const bool refused = needs_an_entry(options, o, text, suggestion);
    if (!refused && o.status == Status::unsupported) continue;  // explained, or not reviewed
    asked.push_back({o.c.kernel, o.c.problem, target_of(o), o.case_id, refused, o.reason});
  }
  suggestion.suggested = suggest_support(asked);
  return suggestion;
}

std::string entry_with_comment(const SuggestedEntry& suggested) {
  std::string text = fmt::format("\n# explains {}, for example\n#   {}\n",
                                 plural(suggested.refusals, "refusal"), suggested.example);
  if (suggested.nothing_ran) {
    text +=
        "# The kernel refused every problem of the run, so this entry refuses everything: run more "
        "cases.\n";
  }
  return text + entry_text(suggested.entry);
}

// Returns TOML to append to the table. Everything but entries is a comment.
std::string as_toml(const Suggestion& suggestion, const Style&) {
  const auto& [entries, inseparable] = suggestion.suggested;
  std::string text =
      fmt::format("# Run {}: {} that no entry explains. Review, then append to\n# {}\n",
                  suggestion.run_id.substr(0, 8), plural(suggestion.refusals, "refusal"),
                  suggestion.table.string());
  if (suggestion.unreviewed > 0) {
    text += fmt::format(
        "# {} of kernels that have neither a contract nor an entry count as unsupported and need "
        "no entry;\n# --kernel writes entries for these kernels, too.\n",
        plural(suggestion.unreviewed, "more refusal"));
  }
  for (const SuggestedEntry& entry : entries) text += entry_with_comment(entry);
  for (const auto& [refused, ran] : inseparable) {
    text += fmt::format(
        "\n# No entry can separate two cases with equal fields. The kernel refused\n#   {}\n# and "
        "ran\n#   {}\n",
        refused, ran);
  }
  for (const ContradictedEntry& c : suggestion.contradicted) {
    text += fmt::format(
        "\n# {}:{} says that {} refuses this, and it ran in {}: narrow that entry. For example\n"
        "#   {}\n",
        c.entry.file, c.entry.line, c.entry.kernels.front(), plural(c.cases, "case"), c.example);
  }
  return text;
}

std::string as_json(const Suggestion& suggestion) {
  const auto entry_json = [](const SuggestedEntry& suggested) -> Json {
    Json where = Json::object();
    for (const auto& condition : suggested.entry.where)
      where[condition.field]["any"] = condition.values;
    return {{"kernel", suggested.entry.kernels},
            {"where", std::move(where)},
            {"device", suggested.entry.devices},
            JSON_FIELDS(suggested, entry.reason, refusals, example, nothing_ran)};
  };
  const auto pair_json = [](const auto& pair) -> Json {
    return {{"refused", pair.first}, {"ran", pair.second}};
  };
  const auto contradicted_json = [](const ContradictedEntry& c) -> Json {
    return {JSON_FIELDS(c, entry.file, entry.line, cases, example)};
  };
  return json_text({JSON_FIELDS(suggestion, run_id),
                    {"table", suggestion.table.string()},
                    JSON_FIELDS(suggestion, refusals, unreviewed),
                    JSON_FIELDS_BY(list_of(entry_json), suggestion.suggested, entries),
                    JSON_FIELDS_BY(list_of(pair_json), suggestion.suggested, inseparable),
                    JSON_FIELDS_BY(list_of(contradicted_json), suggestion, contradicted)});
}

constexpr std::array support_formats{Format<Suggestion>{"text", as_toml},
                                     Format<Suggestion>{"json", nullptr, as_json}};

int suggest(const SuggestOptions& options) {
  auto text = need(options.providers.reviewed_text(), exit_usage);
  auto store = need(options.database.open(true));
  auto run_id = need(store->resolve_run(options.run), exit_usage);
  auto outcomes = need(store->outcomes(run_id));
  for (const std::string& glob : options.kernels) {
    const bool is_there = std::ranges::any_of(outcomes, [&](const StoredOutcome& stored) {
      return glob_match(glob, stored.outcome.c.kernel);
    });
    if (is_there) continue;
    end_command(
        exit_usage,
        fmt::format("--kernel \"{}\": run {} has no such kernel", glob, run_id.substr(0, 8)),
        "see `plumbline show`");
  }
  Suggestion suggestion = suggestion_for(options, outcomes, text);
  suggestion.run_id = run_id;
  suggestion.table = options.providers.reviewed_directory() / "support.toml";
  write_as(support_formats, options.format, suggestion);
  return suggestion.is_complete() ? exit_fine : exit_failure;
}

}  // namespace

void add_support(Command app, int& exit_code) {
  const Command command = app.add_subcommand(
      "support", "Write entries of baselines/support.toml, which lists what kernels refuse");
  command.require_subcommand(1);
  command.footer(
      "Example:\n  plumbline support suggest >> baselines/support.toml   # then review it");
  auto [suggest_command, options] =
      add_verb(command, exit_code, suggest, "suggest",
               "Entries that explain a run's refusals: by kernel, with the fields that set "
               "them apart");
  suggest_command.add_option("run", options.run, "Run id, unique prefix, latest or latest~N")
      .capture_default_str();
  options.database.add_to(suggest_command);
  suggest_command.add_option(
      "--baselines", options.providers.baselines, "DIR",
      "Directory with contracts.toml and support.toml (default: plumbline's own)");
  suggest_command.add_option(
      "--kernel", options.kernels,
      "Only these kernels (glob), also those that have neither a contract nor an entry yet; repeat "
      "for more");
  add_format(suggest_command, options.format, support_formats);
  suggest_command.footer(
      "If a kernel that has a contract or an entry refuses a problem, an entry must explain it; "
      "otherwise the case is a support_mismatch. The printed entries cover no case that ran.\n"
      "Exit 1 if a mismatch remains; comments name it and the reason.\n"
      "Examples:\n"
      "  plumbline support suggest --baselines mine --db runs.db >> mine/support.toml\n"
      "  plumbline support suggest latest~1 --kernel 'mine/*'\n"
      "  plumbline judge latest --baselines mine   # with the entries, without measuring again");
}

}  // namespace plumbline::cli
