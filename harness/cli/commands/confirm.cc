// plumbline confirm: measures a night's open cases again, in fresh processes on a machine of their
// class. `plumbline merge --judge` concludes from the stored results.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/run/open_cases.h"
#include "harness/run/runner.h"
#include "harness/store/machine.h"

namespace plumbline::cli {
namespace {

struct ConfirmOptions {
  std::filesystem::path file, past;
  DatabaseOption database;
  std::vector<std::string> providers;  // replace those of the runs
  std::filesystem::path baselines;     // replaces that of the runs
  std::vector<std::string> pass_env;
  std::string format = "text";
  bool quiet = false;
};

// A case and the outcomes of its fresh processes.
struct RerunCase {
  const OpenCase* open = nullptr;
  std::vector<StoredOutcome> fresh;
  std::string left_out;  // why the case was not measured, a sentence; "" if it was
};

// Runs of one shard set that were measured with the same options. Their cases are measured again
// with these options.
struct Batch {
  MeasureSetup measured;
  std::string commit;
  std::vector<std::string> judged_runs;  // all runs of the shard set
  std::vector<RerunCase> cases;
};

std::vector<Batch> batches_of(const OpenCases& open) {
  std::vector<Batch> batches;
  for (const OpenRun& run : open.runs) {
    std::vector<std::string> whole;
    for (const OpenRun& other : open.runs) {
      if (other.judged_with == run.judged_with) whole.push_back(other.run_id);
    }
    auto at = std::ranges::find_if(batches, [&](const Batch& batch) {
      return batch.measured == run.measured_with && batch.judged_runs == whole;
    });
    if (at == batches.end()) {
      batches.push_back({run.measured_with, run.commit, whole, {}});
      at = std::prev(batches.end());
    }
    for (const OpenCase& c : open.cases) {
      if (c.run_id == run.run_id) at->cases.push_back({&c, {}, ""});
    }
  }
  std::erase_if(batches, [](const Batch& batch) { return batch.cases.empty(); });
  return batches;
}

MeasureOptions measure_options(const MeasureSetup& measured, const ProviderOptions& providers) {
  MeasureOptions options;
  providers.use_in(options);
  if (measured.timeout_ms) options.timeout = std::chrono::milliseconds(*measured.timeout_ms);
  options.memory_limit_bytes = measured.memory_limit_mib << 20;
  options.reference_cost_limit = measured.reference_cost;
  options.row_seed = measured.row_seed;
  options.time_repetitions = measured.repetitions;
  options.extra_time_rounds = extra_rounds_of_night;
  return options;
}

// Fills in the GPU that a crashed worker could not report: the one of the open case.
void fill_in_device(const OpenCase& open, Outcome& outcome) {
  if (!outcome.c.device.starts_with("cuda") || !outcome.device.model.empty()) return;
  outcome.device.model = open.machine.model;
  outcome.device.memory_bytes = open.machine.memory_bytes;
  if (outcome.description.device_arch.empty()) outcome.description.device_arch = open.machine.arch;
}

// Measures each case in one process per round, so that a temporary disturbance of the machine
// affects each case only once.
class Confirmation {
 public:
  Confirmation(const ConfirmOptions& options, Store& store, Store& past, Batch& batch)
      : options_(options), store_(store), past_(past), batch_(batch) {}

  void run() {
    ProviderOptions providers;
    providers.providers =
        options_.providers.empty() ? batch_.measured.providers : options_.providers;
    providers.no_default_provider = batch_.measured.no_default_provider;
    providers.baselines = options_.baselines;
    providers.pass_env = options_.pass_env;
    if (providers.baselines.empty()) providers.baselines = batch_.measured.baselines;
    auto text = need(providers.reviewed_text());
    const MeasureOptions measure = measure_options(batch_.measured, providers);
    auto known = need(discover(measure), exit_infrastructure);
    const Runner runner{measure, known, text.contracts, 1, &stop_, {}};
    reproduce_ = providers.command_line();
    int rounds = 0;
    for (const RerunCase& asked : batch_.cases) rounds = std::max(rounds, asked.open->processes);
    for (int round = 0; round < rounds; ++round) confirm_round(round, runner, text);
  }

 private:
  void confirm_round(int round, const Runner& runner, const ReviewedText& text) {
    RunInfo run = this_run("confirm", "", reproduce_, {});
    run.command_line = command_line();
    // This run is not part of the night, because its cases would count twice there. It names the
    // runs that it confirms.
    if (run.commit.empty()) run.commit = batch_.commit;
    run.versions_json = with_confirmed_runs(run.versions_json, batch_.judged_runs);
    need(store_.begin_run(run));
    const auto kernels = offered_kernels(runner.providers);
    for (RerunCase& asked : batch_.cases) {
      if (stop_) {
        end_command(exit_infrastructure, "stopped by a signal: not all cases were measured again",
                    "confirm them again, into another file");
      }
      if (round >= asked.open->processes || !asked.left_out.empty()) continue;
      ask(asked, run, runner, kernels, text);
      if (!asked.left_out.empty()) continue;
      need(store_.add(run.run_id, asked.fresh.back()));
      if (!options_.quiet && !envelope().is_requested())
        fmt::print(stderr, "process {} of {}: {}\n", round + 1, asked.open->processes,
                   asked.open->case_id);
    }
    need(store_.finish_run(run.run_id, exit_fine, false));
  }

  void ask(RerunCase& asked, const RunInfo& run, const Runner& runner,
           const std::vector<OfferedKernel>& kernels, const ReviewedText& text) {
    const OpenCase& open = *asked.open;
    const bool is_on_gpu = open.machine.device_kind == "cuda";
    if (!is_on_gpu && run.machine != open.machine) {
      asked.left_out = fmt::format("it was measured on {}, and this machine is {}",
                                   describe(open.machine), describe(run.machine));
      return;
    }
    auto planned = need(plan_of_id(open.case_id, kernels, open.timed));
    planned.suite = open.suite;
    planned.group = open.group;
    planned.tier = parse<Tier>(open.tier).value_or(Tier::smoke);
    planned.expected = open.expected;
    StoredOutcome fresh{runner.run_fresh(planned), {}};
    fill_in_device(open, fresh.outcome);
    if (is_lacking(fresh.outcome)) {
      asked.left_out = fmt::format("its provider cannot measure here: {}", fresh.outcome.reason);
      return;
    }
    const SeriesName series = series_of(fresh.outcome, run.machine);
    if (series.machine != open.machine) {
      asked.left_out = fmt::format("it was measured on {}, and this machine is {}",
                                   describe(open.machine), describe(series.machine));
      return;
    }
    if (series.provider_options != open.provider_options) {
      asked.left_out = fmt::format("its provider had the options \"{}\", and has \"{}\" now",
                                   open.provider_options, series.provider_options);
      return;
    }
    const auto past = need(past_.past(series, open.run_id, false));
    fresh.judgement = judge(inputs_of(fresh.outcome, past, text.contracts, text.support,
                                      std::string_view(run.started_at).substr(0, 10)));
    asked.fresh.push_back(std::move(fresh));
  }

  const ConfirmOptions& options_;
  Store& store_;
  Store& past_;
  Batch& batch_;
  std::string reproduce_;
  const std::atomic<bool>& stop_ = stop_on_signals();
};

std::string answer(const StoredOutcome& fresh) {
  std::string text(name(fresh.judgement.verdict));
  if (fresh.outcome.timed) text += fmt::format(", time ratio {:.4g}", fresh.outcome.time_ratio);
  return text;
}

void print(const std::vector<Batch>& batches) {
  for (const Batch& batch : batches) {
    for (const RerunCase& asked : batch.cases) {
      fmt::print("{}/{}\n  found: {}\n", asked.open->suite, asked.open->case_id, asked.open->text);
      if (!asked.left_out.empty()) fmt::print("  not measured again: {}\n", asked.left_out);
      for (const StoredOutcome& fresh : asked.fresh)
        fmt::print("  a fresh process: {}\n", answer(fresh));
    }
  }
}

std::string as_json(const std::vector<Batch>& batches) {
  const auto answer_json = [](const StoredOutcome& answer) -> Json {
    return {JSON_FIELDS(answer, judgement.verdict, outcome.output_digest, outcome.time_ratio)};
  };
  Json cases = Json::array();
  for (const Batch& batch : batches) {
    for (const RerunCase& asked : batch.cases) {
      cases.push_back(
          {JSON_FIELDS(asked, open->suite, open->case_id, open->run_id, open->statistic),
           JSON_FIELDS_BY(list_of(answer_json), asked, fresh), JSON_FIELDS(asked, left_out)});
    }
  }
  return json_text({{"cases", std::move(cases)}});
}

int confirm(const ConfirmOptions& options) {
  auto open = need(read_open_cases(options.file), exit_usage);
  auto past = need(Store::open(options.past, true));
  std::error_code ignored;
  if (std::filesystem::equivalent(options.past, options.database.path, ignored)) {
    end_command(exit_usage, {options.past.string(), 0, "is named by both --past and --db",
                             "name another file with --db; plumbline merge joins the two"});
  }
  auto store = need(options.database.open(false));
  auto batches = batches_of(open);
  for (Batch& batch : batches) Confirmation(options, *store, *past, batch).run();
  std::size_t asked = 0, left_out = 0;
  for (const Batch& batch : batches) {
    for (const RerunCase& c : batch.cases) ++(c.left_out.empty() ? asked : left_out);
  }
  if (options.format == "json") {
    print_json(as_json(batches));
  } else {
    print(batches);
    fmt::print("{} measured again, {} not; next: plumbline merge {} {} --judge\n",
               plural(static_cast<std::size_t>(asked), "case"), left_out, options.past.string(),
               options.database.path.string());
  }
  return left_out > 0 ? exit_ambiguous : exit_fine;
}

}  // namespace

void add_confirm(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, confirm, "confirm",
               "Measure the open cases of a merged night again, in fresh processes");
  command
      .add_option("file", options.file, "FILE",
                  "Open cases, as plumbline merge --judge writes them")
      .required();
  options.database.add_to(command);
  command
      .add_option("--past", options.past, "FILE",
                  "Database that the night was merged into; the cases are compared with it, and it "
                  "is only read")
      .required();
  command.add_option(
      "--provider", options.providers, "FILE",
      "Provider, FILE[:OPTIONS], instead of those that the night's runs named; repeat for more");
  command.add_option("--pass-env", options.pass_env, "NAME",
                     "Let kernels see this variable, as `plumbline run --pass-env` does");
  command.add_option("--baselines", options.baselines, "DIR",
                     "Directory with contracts.toml and support.toml, instead of the night's");
  add_format(command, options.format, {"text", "json"});
  command.add_flag("--quiet,-q", options.quiet, "No progress");
  command.footer(
      "`plumbline merge --judge` then decides about the cases. Exit code 5 if a case could not be "
      "measured on this machine, for example because it belongs to another machine class.\n"
      "Examples:\n"
      "  plumbline merge history.db shard-*.db --judge --confirmations open.json\n"
      "  plumbline confirm open.json --db confirm.db --past history.db\n"
      "  plumbline merge history.db confirm.db --judge");
}

}  // namespace plumbline::cli
