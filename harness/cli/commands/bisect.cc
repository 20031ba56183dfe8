// plumbline bisect: writes a script that finds the commit of a regression.
#include <fmt/format.h>

#include <cmath>

#include "harness/base/json.h"
#include "harness/base/median.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/judge/finding_kind.h"
#include "harness/judge/verdict.h"
#include "harness/report/bisect_script.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/store/queries/case_history.h"
#include "harness/timing/level_changes.h"

namespace plumbline::cli {
namespace {

struct BisectOptions {
  DatabaseOption database;
  ProviderOptions providers;
  std::string case_id, good, bad, build, by, format = "text";
  double limit = 0;
};

// Returns true for an open or acknowledged regression, which does not fail its night.
bool is_unsettled_regression(Verdict verdict) {
  return is_open(verdict) || verdict == Verdict::acknowledged;
}

using Night = CaseNight;

// Returns true for a failure and for a regression that does not fail its night.
bool is_bad(const Night& night) {
  const auto verdict = parse<Verdict>(night.verdict);
  return night.is_failure || (verdict && is_unsettled_regression(*verdict));
}

// Returns the criterion for a bad commit: time or rms if a regression's findings concern it,
// otherwise the verdict.
BisectBy by_findings(const Night& night) {
  const auto verdict = parse<Verdict>(night.verdict);
  if (!verdict || (*verdict != Verdict::regressed && !is_unsettled_regression(*verdict)))
    return BisectBy::verdict;
  const auto findings = parse_json_if_valid(night.findings);
  bool about_rms = false;
  if (findings.is_array()) {
    for (const auto& finding : findings) {
      const FindingKind kind = finding_kind(finding.value("statistic", ""));
      if (is_timing_finding(kind)) return BisectBy::time;
      about_rms = about_rms || is_drift_finding(kind);
    }
  }
  return about_rms ? BisectBy::rms : BisectBy::verdict;
}

// Returns the index of the last night before the newest rise of the time's level. The gate finds a
// time regression only some nights after the rise. `nights`: newest first. Returns nights.size() if
// the time never rose.
std::size_t last_night_before_rise(const std::vector<Night>& nights) {
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (std::size_t i = nights.size(); i > 0; --i) {
    if (!(nights[i - 1].time_ratio > 0)) continue;
    values.push_back(std::log(nights[i - 1].time_ratio));
    places.push_back(i - 1);
  }
  const auto changes = level_changes(values);
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto at = static_cast<std::ptrdiff_t>(*change);
    const double before = median({values.begin(), values.begin() + at});
    if (median({values.begin() + at, values.end()}) > before) return places[*change - 1];
  }
  return nights.size();
}

struct Range {
  std::size_t good = 0, bad = 0;  // indices of nights
};

// Returns the last accepted night before the newest failures, and the first failure after it. A
// time regression began some nights before it was found, so `good` is before the rise.
Range find_range(const std::vector<Night>& nights) {
  const std::string name_them =
      "name the commits: --good COMMIT --bad COMMIT, and --by time, rms "
      "or verdict";
  if (!is_bad(nights.front())) {
    end_command(exit_usage,
                fmt::format("the newest run of the case ({}) is fine: {}",
                            nights.front().run_id.substr(0, 8), nights.front().verdict),
                name_them);
  }
  std::size_t good = 0;
  while (good < nights.size() && !nights[good].accepted) ++good;
  if (good == 0)
    end_command(
        exit_usage,
        fmt::format("the newest run of the case ({}) fails and was accepted, so no later run "
                    "is bad",
                    nights.front().run_id.substr(0, 8)),
        name_them);
  if (good == nights.size())
    end_command(exit_usage, "no run of the case in this database was accepted before it failed",
                name_them);
  std::size_t bad = good - 1;
  while (!is_bad(nights[bad])) --bad;
  if (by_findings(nights[bad]) == BisectBy::time) {
    if (const std::size_t before = last_night_before_rise(nights);
        before < nights.size() && before > good)
      good = before;
  }
  for (const std::size_t i : {good, bad}) {
    if (!nights[i].commit.empty()) continue;
    end_command(exit_usage,
                fmt::format("run {} was stored without a commit", nights[i].run_id.substr(0, 8)),
                "run later nights with `plumbline run --commit SHA`; now " + name_them);
  }
  if (nights[good].commit == nights[bad].commit) {
    end_command(
        exit_usage,
        fmt::format("the last good run ({}) and the first bad one ({}) are both of commit {}: "
                    "something other than the code changed",
                    nights[good].run_id.substr(0, 8), nights[bad].run_id.substr(0, 8),
                    nights[bad].commit),
        "look at the machine, its driver and its libraries: `plumbline compare`");
  }
  return Range{good, bad};
}

double value_of(const Night& night, BisectBy by) {
  return by == BisectBy::time ? night.time_ratio : night.rms;
}

// Returns the median of up to five nights that are not bad, from `good` backwards; 0 if there is
// none.
double good_value(const std::vector<Night>& nights, std::size_t good, BisectBy by) {
  std::vector<double> values;
  for (std::size_t i = good; i < nights.size() && values.size() < 5; ++i)
    if (value_of(nights[i], by) > 0 && !is_bad(nights[i]))
      values.push_back(value_of(nights[i], by));
  return values.empty() ? 0 : median(std::move(values));
}

std::optional<std::size_t> night_of_commit(const std::vector<Night>& nights,
                                           const std::string& commit) {
  for (std::size_t i = 0; i < nights.size(); ++i)
    if (!nights[i].commit.empty() &&
        (nights[i].commit.starts_with(commit) || commit.starts_with(nights[i].commit)))
      return i;
  return std::nullopt;
}

// Takes each end from the options, otherwise from the history.
void fill_range(const BisectOptions& options, const std::vector<Night>& nights, BisectPlan& plan) {
  std::optional<std::size_t> good, bad;
  if (options.good.empty() || options.bad.empty()) {
    const Range range = find_range(nights);
    good = range.good, bad = range.bad;
  }
  if (!options.good.empty()) good = night_of_commit(nights, options.good);
  if (!options.bad.empty()) bad = night_of_commit(nights, options.bad);
  plan.good = options.good.empty() ? nights[*good].commit : options.good;
  plan.bad = options.bad.empty() ? nights[*bad].commit : options.bad;
  plan.by =
      parse<BisectBy>(options.by).value_or(bad ? by_findings(nights[*bad]) : BisectBy::verdict);
  if (plan.by == BisectBy::verdict) return;
  if (good) plan.good_value = good_value(nights, *good, plan.by);
  if (bad) plan.bad_value = value_of(nights[*bad], plan.by);
  plan.limit = options.limit > 0 ? options.limit : std::sqrt(plan.good_value * plan.bad_value);
  if (plan.limit > 0 && std::isfinite(plan.limit)) return;
  end_command(exit_usage,
              fmt::format("the database lacks the {} of the case at one or both commits",
                          plan.by == BisectBy::time ? "time" : "error"),
              "give the value above which a commit is bad: --limit VALUE");
}

// Returns the ARGUMENTS of "plumbline run ARGUMENTS".
std::string arguments_of(const std::string& command) {
  const auto at = command.find(" run");
  return at == std::string::npos ? "" : command.substr(at + 4);
}

std::string as_json(const BisectPlan& plan) {
  const auto if_known = [](double value) { return value > 0 ? Json(value) : Json(); };
  return json_text({{"case", plan.case_id},
                    JSON_FIELDS(plan, good, bad, by),
                    JSON_FIELDS_BY(if_known, plan, limit),
                    {"value_good", if_known(plan.good_value)},
                    {"value_bad", if_known(plan.bad_value)},
                    {"script", bisect_script(plan)}});
}

constexpr std::array bisect_formats{Format<BisectPlan>{"text", unstyled<bisect_script>},
                                    Format<BisectPlan>{"json", nullptr, as_json}};

int bisect(const BisectOptions& options) {
  auto store = need(options.database.open(true));
  const auto nights = need(nights_of_case(*store, options.case_id));
  if (nights.empty()) {
    end_command(exit_nothing, fmt::format("no run has the case \"{}\"", options.case_id),
                "give a whole case id; `plumbline history GLOB` finds it");
  }
  BisectPlan plan;
  plan.case_id = options.case_id;
  plan.build = options.build;
  fill_range(options, nights, plan);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  plan.program = error ? program_name() : program.string();
  const auto run = need(store->run(nights.front().run_id));
  const bool providers_given = !options.providers.providers.empty() ||
                               options.providers.no_default_provider ||
                               !options.providers.baselines.empty();
  plan.arguments = arguments_of(providers_given ? options.providers.command_line()
                                                : reproduce_command(run.info));
  write_as(bisect_formats, options.format, plan);
  return exit_fine;
}

}  // namespace

void add_bisect(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, bisect, "bisect",
               "Write a script that finds the commit of a regression with git bisect");
  command.add_option("--case", options.case_id, "The case id that regressed").required();
  command
      .add_option("--build", options.build, "COMMAND",
                  "Builds the checkout, in a shell in the repository's top folder; commits that it "
                  "cannot build are skipped")
      .required();
  options.database.add_to(command);
  command.add_option("--good", options.good, "COMMIT",
                     "Commit at which the case was fine (default: of the last accepted run)");
  command.add_option("--bad", options.bad, "COMMIT",
                     "Commit at which the case is bad (default: of the first failure after "
                     "--good)");
  command
      .add_option("--by", options.by,
                  "Criterion for a bad commit (default: that of the first failure)")
      .one_of({"time", "rms", "verdict"});
  command
      .add_option("--limit", options.limit,
                  "Time ratio or rms above which a commit is bad (default: the geometric mean of "
                  "the stored values at --good and --bad)")
      .check(above_zero("a ratio or an rms"));
  options.providers.add_to(command);
  add_format(command, options.format, bisect_formats, "What goes to stdout; text is the script");
  command.footer(
      "The script is bash. In a clean checkout it measures both ends first, and stops with a "
      "message if the bad commit is fine or the good one is not. Then it runs git bisect and "
      "names the first bad commit. It exits with 0 if it found one, 1 if the regression is not "
      "there, 2 on wrong usage, 3 if it cannot build or measure. `bash SCRIPT step` is one step "
      "for `git bisect run`.\n"
      "Cases are measured by the plumbline that wrote the script, with the providers of the stored "
      "run or those that are named here; relative files are looked for in the repository's top "
      "folder.\n"
      "Examples:\n  plumbline bisect --db history.db --case 'mine/flash/bf16/b1-h4-s128-d64' "
      "--build 'make -s' --provider ./libmine.so > find.sh\n"
      "  (cd ~/mine && bash ~/find.sh)");
}

}  // namespace plumbline::cli
