// plumbline run: measures suites or single cases, judges, stores and reports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/run_end.h"
#include "harness/cli/commands/shards.h"
#include "harness/cli/devices.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/progress.h"
#include "harness/cli/session.h"
#include "harness/cli/settings.h"
#include "harness/contract/reviewed_text.h"
#include "harness/diagnose/causes.h"
#include "harness/measure/invariance.h"
#include "harness/report/annotations.h"
#include "harness/report/invariance_text.h"
#include "harness/run/open_cases.h"
#include "harness/run/resume.h"
#include "harness/run/run_session.h"

namespace plumbline::cli {
namespace {

// The budget of the search for causes, for all cases of a run together, because a broken kernel
// fails hundreds of cases for one reason. 235 failing smoke cases took 46 s of processor time
// without the search, and 50 to 52 s with it (on two cores, 22 November 2026).
constexpr std::chrono::seconds time_for_causes{20};

struct RunOptions {
  ProviderOptions providers;
  CaseOptions cases;
  DatabaseOption database;
  MeasureOptions measure;
  ReferenceOption reference;
  std::vector<std::string> case_ids;
  bool timed = false, no_store = false, quiet = false, resume = false, annotations = false;
  bool verbose = false;
  int jobs = 0;  // 0: default_jobs()
  std::uint64_t memory_limit_mib = 8192;
  double cause_seconds = std::chrono::duration<double>(CauseBudget::default_per_case).count();
  std::string purpose = "run", format = "text", night;
  std::string invariances;  // "" for none
  std::filesystem::path junit, markdown;
  std::filesystem::path past;   // "" for none
  std::filesystem::path costs;  // "": `past`
  std::string commit;           // "": from the environment
  std::string reproduce;        // start of the commands that repeat a case
  bool database_given = false;
};

// Plans the ids of `--case`: each becomes a case of the suite "case".
Plan plan_of_ids(const std::vector<std::string>& ids, const std::vector<OfferedKernel>& kernels,
                 bool timed) {
  Plan plan;
  plan.partial = true;
  Errors errors;
  for (const auto& id : ids) {
    if (auto planned = plan_of_id(id, kernels, timed)) {
      plan.cases.push_back(std::move(*planned));
    } else {
      errors.insert(errors.end(), planned.error().begin(), planned.error().end());
    }
  }
  end_on_errors(errors, exit_usage);
  return plan;
}

Plan make_plan(RunOptions& options, const std::vector<ProviderInfo>& providers) {
  const auto kernels = offered_kernels(providers);
  if (!options.case_ids.empty()) {
    auto plan = plan_of_ids(options.case_ids, kernels, options.timed);
    std::vector<std::string> devices;
    for (const PlannedCase& c : plan.cases) devices.push_back(c.c.device);
    end_on_errors(unknown_devices(devices, providers, "the case's device"), exit_usage);
    return plan;
  }
  const auto suites = need(options.cases.read(providers), exit_usage);
  return need(
      plumbline::make_plan(suites, kernels, options.cases.filter, run_environment(providers)),
      exit_usage);
}

// Returns the program as it was called, with the options that affect a verdict; reproduce_line()
// adds a case's --row-seed unless it is 0. Paths stay relative to the same directory.
std::string reproduce_command(Command command, const RunOptions& options) {
  std::string text = options.providers.command_line();
  for (const char* option : {"--timeout", "--memory-limit", "--reference-cost", "--repetitions"}) {
    if (const auto given = command.given(option)) text += fmt::format(" {} {}", option, *given);
  }
  if (options.measure.row_seed == 0) text += " --row-seed 0";
  return text;
}

std::string markdown_for_stdout(const RunReport& content, const Style&) {
  const bool is_table = content.invariances != nullptr && content.state() != RunState::incomplete;
  return is_table ? render_invariances_markdown(*content.invariances) : render_markdown(content);
}

// The formats of any run. With --invariances, markdown of a complete run is only their table.
constexpr auto run_command_formats = [] {
  auto all = run_formats;
  for (auto& format : all)
    if (format.name == "markdown") format.text = markdown_for_stdout;
  return all;
}();

int report(const RunOptions& options, const Plan& plan, const RunSession& session) {
  Errors errors;
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    if (auto written = write_text(path, text); !written)
      errors.insert(errors.end(), written.error().begin(), written.error().end());
  };
  const RunReport content{&session.info(),
                          &session.outcomes(),
                          &session.diffs(),
                          &session.scores(),
                          session.exit_code(),
                          options.reproduce,
                          options.invariances.empty() ? nullptr : &session.invariances(),
                          &session.changes(),
                          absent_lines(plan.absent),
                          &session.night_times(),
                          unsettled_of({session.info()}),
                          session.incomplete()};
  if (!options.junit.empty()) write(options.junit, render_junit(content));
  if (!options.markdown.empty()) write(options.markdown, render_markdown(content));
  if (options.annotations) {
    const std::string root = environment_text("GITHUB_WORKSPACE");
    fmt::print(stderr, "{}",
               render_annotations(content, places_of(plan, root.empty() ? "." : root)));
  }
  write_as(run_command_formats, options.format, content, options.verbose);
  return errors.empty() ? session.exit_code() : report_errors(errors, exit_infrastructure);
}

// The run to measure, and the databases that it uses.
struct Session {
  std::unique_ptr<Store> store;
  std::unique_ptr<Store> past;  // read-only
  RunInfo run;
  std::unique_ptr<RunLock> owner;
  StoredPart stored;  // results of a resumed run
};

void resume_run(Session& session, const RunFacts& facts) {
  session.run = need(run_to_resume(*session.store, facts));
  session.owner = need(RunLock::claim(session.run.run_id));
  const auto still = need(session.store->run(session.run.run_id));
  if (still.finished)
    end_command(exit_infrastructure,
                fmt::format("run {} was finished by another process just now",
                            session.run.run_id.substr(0, 8)),
                "");
  session.stored = need(read_part(*session.store, session.run.run_id));
}

// Returns the text that a run stores about its selection of cases. The text of a nightly run
// omits providers, kernels and devices, so a case that is lost with one of them counts as vanished.
std::string selection_of(const RunOptions& options) {
  std::string text =
      fmt::format("tier={}", options.cases.tier.empty() ? "default" : options.cases.tier);
  if (!options.invariances.empty()) text += " invariances=" + options.invariances;
  if (!options.cases.seed.empty()) text += " seed=" + options.cases.seed;
  if (options.purpose == "nightly") return text;
  for (const auto& provider : options.providers.providers) text += " provider=" + provider;
  if (options.providers.no_default_provider) text += " no-default-provider";
  for (const auto& kernel : options.cases.kernels) text += " kernel=" + kernel;
  for (const auto& device : options.cases.devices) text += " device=" + device;
  return text;
}

Session open_session(const RunOptions& options, const Plan& plan, const Runner& runner,
                     const ShardInfo& shard) {
  Session session{
      nullptr,
      nullptr,
      this_run(options.purpose, options.cases.shard, options.reproduce, options.cases.suites),
      nullptr,
      {}};
  session.run.command_line = command_line();
  session.run.selection = selection_of(options);
  session.run.versions_json = add_measure_setup(session.run.versions_json,
                                                measured_with(options.providers, options.measure));
  if (!shard.partition.empty())
    session.run.versions_json = add_shard_info(session.run.versions_json, shard);
  session.run.night_id = options.night;
  if (!options.commit.empty()) session.run.commit = options.commit;
  if (!options.past.empty()) session.past = need(Store::open(options.past, true));
  if (options.no_store || (!options.case_ids.empty() && !options.database_given)) return session;
  if (options.resume && !std::filesystem::exists(options.database.path)) {
    end_command(exit_infrastructure,
                Error{options.database.path.string(), 0,
                      "there is no run to resume: the file does not exist",
                      "name the database of the run, or leave --resume out to begin a run"});
  }
  session.store = need(options.database.open(false));
  session.run.clock_behind_s = need(session.store->seconds_behind_newest(session.run.started_at));
  const auto facts = run_facts(session.run, plan, runner, options.providers.reviewed_directory());
  store_facts(session.run, facts);
  if (options.resume) {
    resume_run(session, facts);
    return session;
  }
  session.owner = need(RunLock::claim(session.run.run_id));
  return session;
}

// Prints how many refusals no entry of support.toml explains, and the command that prints the
// missing entries.
void print_unexplained_refusals(const RunOptions& options, const RunSession& session,
                                const ReviewedText& text, bool is_stored) {
  const auto& outcomes = session.outcomes();
  const auto count = std::ranges::count_if(outcomes, [&](const StoredOutcome& o) {
    return is_unexplained_refusal(o.outcome, text.contracts, text.support);
  });
  if (count == 0) return;
  std::string command = program_name() + " support suggest";
  if (is_stored) {
    command += fmt::format(" {} --db {}", session.info().run_id.substr(0, 8),
                           options.database.path.string());
  }
  if (const auto& directory = options.providers.baselines; !directory.empty())
    command += fmt::format(" --baselines {}", directory.string());
  fmt::print("{} {} no entry of support.toml says so. {} prints the entries:\n  {}\n", count,
             count == 1 ? "case was refused, and" : "cases were refused, and",
             is_stored ? "This" : "For a stored run (--db) this", command);
}

int measure(const RunOptions& options, const Plan& plan, const Runner& runner,
            const ReviewedText& text, Session into) {
  RunSession session(into.run, runner, text, into.store.get(), into.past.get());
  Plan rest = plan;
  if (options.resume) {
    rest = remaining(plan, into.stored, runner.invariances);
    if (!options.quiet) {
      fmt::print(stderr, "resuming run {}: {} of {} cases and diffs are left\n",
                 into.run.run_id.substr(0, 8), rest.size(), plan.size());
    }
    session.resume(std::move(into.stored.outcomes), std::move(into.stored.diffs),
                   std::move(into.stored.invariances), plan);
  }
  Result<void> done;
  {
    Progress progress(remaining_time(rest, options.measure.time_repetitions), options.quiet);
    session.on_more([&progress](const std::string& what) { progress.tell(what); });
    done = session.execute(rest, !plan.partial && options.case_ids.empty(),
                           [&progress] { step_unless_stdout_closed(progress); });
  }
  const bool is_stored = into.store != nullptr;
  into.store.reset();
  if (is_stored && done) done = check_stored(options.database.path, session);
  const int code = report(options, plan, session);
  if (session.finished() && options.format == "text") {
    if (is_stored) fmt::print("stored in {}\n", options.database.path.string());
    print_unexplained_refusals(options, session, text, is_stored);
  }
  print_cpu_references(options.measure.reference_library.get());
  print_ended_orphans();
  const auto remedy = [&] {
    return is_stored ? resume_remedy(session, options.database.path) : std::string("run it again");
  };
  if (!done) {
    Errors errors = done.error();
    const char* const why = session.harness_failed() ? "" : ": it could not be stored";
    if (session.interrupted())
      errors.push_back({"", 0, fmt::format("the run is incomplete{}", why), remedy()});
    return report_errors(errors, exit_infrastructure);
  }
  if (session.finished()) return code;
  end_command(exit_infrastructure, "stopped by a signal: the run is incomplete", remedy());
}

// Prints the cases that this run cannot measure, unless the output is JSON.
void print_absent_cases(const Plan& plan) {
  if (envelope().is_requested()) return;
  for (const std::string& line : absent_lines(plan.absent)) fmt::print(stderr, "{}\n", line);
}

int run(RunOptions& options) {
  if (options.case_ids.empty() == options.cases.suites.empty()) {
    end_command(exit_usage, "name suite files or --case ids, one or the other",
                "for example plumbline run cases/smoke.toml");
  }
  end_on_errors(unusable_outputs({{"--junit", options.junit},
                                  {"--markdown", options.markdown},
                                  {"--save-failures", options.measure.save_failures, true},
                                  {"--reference-cache", options.measure.reference_cache, true}}),
                exit_usage);
  std::vector<Invariance> invariances;
  if (!options.invariances.empty())
    invariances = need(parse_invariances(options.invariances), exit_usage);
  auto text = need(options.providers.reviewed_text(), exit_usage);
  options.providers.use_in(options.measure);
  options.measure.memory_limit_bytes = options.memory_limit_mib << 20;
  options.measure.reference_library = need(options.reference.open(), exit_usage);
  options.measure.causes = std::make_shared<CauseBudget>(
      time_for_causes, std::chrono::duration_cast<std::chrono::microseconds>(
                           std::chrono::duration<double>(options.cause_seconds)));
  const auto providers = need(discover(options.measure));
  auto plan = make_plan(options, providers);
  const bool has_planned_cases = plan.size() > 0;
  const auto shard =
      restrict_to_shard(options.cases.filter, options.costs.empty() ? options.past : options.costs,
                        options.measure.time_repetitions, plan);
  if (options.jobs == 0) options.jobs = default_jobs(plan);
  if (options.purpose == "nightly" || !options.night.empty())
    options.measure.extra_time_rounds = extra_rounds_of_night;
  const Runner runner{options.measure, providers,          text.contracts,
                      options.jobs,    &stop_on_signals(), invariances};
  if (plan.size() == 0 && has_planned_cases) {
    auto session = open_session(options, plan, runner, shard);
    return finish_empty_shard(session.store.get(), session.run);
  }
  if (plan.size() == 0) {
    if (!plan.absent.empty()) {
      end_command(exit_nothing,
                  fmt::format("nothing measured: {}", fmt::join(absent_lines(plan.absent), "; ")),
                  "run it on a machine with the device, or name the provider with --provider");
    }
    const std::string by_tier =
        plan.partial
            ? ""
            : fmt::format("--tier {} leaves no case: all are of higher tiers", options.cases.tier);
    end_command(exit_nothing, by_tier.empty() ? "the filters leave no case" : by_tier,
                "plumbline list SUITE prints the cases, with --format json also tiers");
  }
  if (!options.quiet && !envelope().is_requested()) print_settings_in_use();
  print_absent_cases(plan);
  auto session = open_session(options, plan, runner, shard);
  return measure(options, plan, runner, text, std::move(session));
}

void add_measuring(Command command, RunOptions& options) {
  command
      .add_option("--jobs,-j", options.jobs,
                  "Cases measured at once (timed cases always run alone); default: one per "
                  "processor, at most 4 if any is on cuda")
      .check(from_to(1, 256));
  add_timeout(command, options.measure);
  command
      .add_option("--memory-limit", options.memory_limit_mib,
                  "MiB a worker may allocate; 0 = no limit")
      .capture_default_str()
      .check(from_to(0, 1e9));
  command
      .add_option(
          "--repetitions", options.measure.time_repetitions,
          "Repetitions of a timed case, over all its rounds (seven on the CPU, three on a GPU); a "
          "slow kernel gets fewer")
      .capture_default_str()
      .check(from_to(3, 1000));
  add_reference_cost(command, options.measure.reference_cost_limit);
  options.measure.row_seed = row_seed_of_today();
  add_row_seed(command, options.measure.row_seed);
  options.reference.add_to(command);
  command.add_option(
      "--reference-cache", options.measure.reference_cache, "DIR",
      "Keep fp64 references in this directory, except those whose rows change with --row-seed");
  command
      .add_option("--cause-seconds", options.cause_seconds, "SECONDS",
                  "Processor time of the search for one failure's cause")
      .capture_default_str()
      .check(above_zero("a number of seconds"));
  command.add_option("--save-failures", options.measure.save_failures, "DIR",
                     "Write tensors of each failure as safetensors");
  command.add_option("--save-outputs", options.measure.save_outputs, "DIR",
                     "Write tensors of every case, passed or not, as safetensors");
}

}  // namespace

void add_run(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("run", "Run suites or single cases: measure, judge, store, report");
  auto options = std::make_shared<RunOptions>();
  options->cases.add_to(command);
  options->cases.add_seed_to(command);
  options->providers.add_to(command);
  options->database.add_to(command);
  const Option case_option =
      command.add_option("--case", options->case_ids,
                         "Run this case id (as printed after 'reproduce:'); stored only with --db");
  for (const char* filter :
       {"--match", "--exclude", "--tier", "--shard", "--kernel", "--device", "--seed"})
    case_option.excludes(filter);
  command.add_flag("--timed", options->timed, "With --case: also time it");
  command.add_flag("--no-store", options->no_store,
                   "Store nothing, and compare with nothing but --past");
  command.add_option("--past", options->past, "FILE",
                     "Also compare with the runs of this database, which is only read; for a shard "
                     "that stores into another file");
  command.add_option("--costs", options->costs, "FILE",
                     "With --shard: balance the shards by the times of the cases in this database, "
                     "which is only read; all shards of a night must name the same one (default: "
                     "--past, otherwise an estimate)");
  command.add_option("--commit", options->commit, "SHA",
                     "Commit of the code under test, stored with the run (default: "
                     "PLUMBLINE_COMMIT, then GITHUB_SHA)");
  command
      .add_flag("--resume", options->resume,
                "Measure the cases that the newest unfinished run with the same plan, programs and "
                "options lacks")
      .excludes("--no-store")
      .excludes("--case");
  add_measuring(command, *options);
  command.add_option("--junit", options->junit, "FILE", "Write JUnit XML");
  command.add_option("--markdown", options->markdown, "FILE", "Write a Markdown summary");
  command.add_flag("--annotations", options->annotations,
                   "Annotate failures for GitHub Actions on stderr, with the suites' lines");
  command.add_flag("--invariances{all}", options->invariances,
                   "Also compute the same rows in other ways and compare: in all ways of "
                   "docs/judging-comparisons.md, or in =NAME[,NAME]");
  add_format(
      command, options->format, run_command_formats,
      "What goes to stdout; markdown of a complete run with --invariances: only their table");
  command.add_option("--purpose", options->purpose, "Stored with the run")
      .one_of({"run", "nightly", "confirm", "test", "gpu"})
      .capture_default_str();
  options->night = environment_text("PLUMBLINE_NIGHT");
  command.add_option("--night", options->night, "ID",
                     "Night id from `plumbline night open`, the same on all machines of the night "
                     "(default: PLUMBLINE_NIGHT)");
  command.add_flag("--quiet,-q", options->quiet, "No progress");
  command.add_flag("--verbose,-v", options->verbose,
                   "Print up to 20 failures in full, not only one for each cause");
  command.footer(
      "Examples:\n"
      "  plumbline run cases/smoke.toml\n"
      "  plumbline run cases/smoke.toml --provider ./libmine.so --kernel 'mine/*'\n"
      "  plumbline run cases/pr.toml --device emulated:sm_80 --device emulated:sm_90\n"
      "  plumbline run cases/smoke.toml --seed 20261123   # the same problems, other inputs\n"
      "  plumbline run cases/nightly.toml --match '*bf16*' --junit out/junit.xml --save-failures "
      "out/failures\n"
      "  plumbline run cases/invariances.toml --invariances\n"
      "  plumbline run cases/nightly.toml --db night.db --resume   # after a crash, with the "
      "same arguments\n"
      "  plumbline run cases/nightly.toml --night $(plumbline night open)   # several runs, one "
      "night\n"
      "  plumbline run cases/nightly.toml --shard 1/4 --db shard-1.db --past history.db   # then "
      "plumbline merge, plumbline judge\n"
      "  plumbline run --case 'cpu/flash/bf16/b2-h4-s128-d64/mask=causal_top_left'");
  command.callback([command, options, &exit_code] {
    options->database_given = command.is_typed("--db");
    options->reproduce = reproduce_command(command, *options);
    exit_code = run(*options);
  });
}

}  // namespace plumbline::cli
