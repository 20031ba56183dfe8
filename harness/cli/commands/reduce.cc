// plumbline reduce: finds the smallest case that still fails in the same way.
#include "harness/run/reduce.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/diagnose/causes.h"
#include "harness/judge/judge.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"
#include "harness/outcome/statistics_table.h"
#include "harness/problem/field_text.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct ReduceOptions {
  ProviderOptions providers;
  MeasureOptions measure;
  std::string case_id, format = "text";
  bool quiet = false;
};

// The kind and cause of a failure. A smaller case must fail with the same kind and cause.
struct Failure {
  std::string kind;   // "" if the case does not fail
  std::string cause;  // the sentence of its cause; "" if unknown or not looked for
};

// Returns the kind of a failure, "" for none. All statistics of error count as one kind.
std::string kind_of(const Judgement& judgement) {
  if (!is_failure(judgement.verdict)) return "";
  std::string kind(name(judgement.verdict));
  if (judgement.verdict != Verdict::fail || judgement.findings.empty()) return kind;
  const FindingKind first = judgement.findings.front().kind;
  const bool of_error =
      find_statistic(name(first)) != nullptr || first == FindingKind::out_of_range;
  return kind + ": " + std::string(of_error ? "error beyond its limit" : name(first));
}

// `from` is the case before its problem was reduced.
std::string as_json(const ReduceOptions& options, const Reduced& reduced, const Case& from,
                    const Failure& failure, bool stopped) {
  Case smallest = from;
  smallest.problem = reduced.problem;
  const Json steps = json_list(reduced.steps, [](const ReduceStep& step) { return step.what; });
  return json_text({{"case", options.case_id},
                    {"reduced", case_id(smallest)},
                    {"failure", failure.kind},
                    JSON_FIELDS(failure, cause),
                    JSON_FIELDS(reduced, tried),
                    {"steps", steps},
                    {"stopped", stopped},
                    {"suite", group_text(smallest, "reduced", failure.kind)},
                    {"reproduce", fmt::format("{} --case '{}'", options.providers.command_line(),
                                              case_id(smallest))}});
}

// Measures and judges problems with one kernel.
class Judged {
 public:
  Judged(const ReduceOptions& options, const std::vector<ProviderInfo>& providers,
         const ReviewedText& text, const PlannedCase& planned)
      : planned_(planned),
        text_(text),
        causes_(looking_for_causes(options.measure)),
        without_cause_(options.measure, providers, text.contracts),
        with_cause_(causes_, providers, text.contracts) {}

  Failure failure(const Problem& problem) { return measured(problem, with_cause_); }

  // Looks for a cause only if the kind is the same, because the search takes seconds.
  bool fails_as(const Failure& first, const Problem& problem) {
    if (measured(problem, without_cause_).kind != first.kind) return false;
    if (keeps_cause(first.cause, "")) return true;
    return keeps_cause(first.cause, measured(problem, with_cause_).cause);
  }

 private:
  static MeasureOptions looking_for_causes(MeasureOptions options) {
    // The cause must not depend on the machine's speed.
    constexpr std::chrono::hours enough(1);
    options.causes = std::make_shared<CauseBudget>(enough, enough);
    return options;
  }

  Failure measured(const Problem& problem, Measurer& measurer) {
    PlannedCase planned = planned_;
    planned.c.problem = problem;
    planned.case_id = case_id(planned.c);
    Failure failure;
    measurer.measure({&planned}, [&](const Measurement& m) {
      failure.kind = kind_of(
          judge({.outcome = &m.outcome, .contracts = &text_.contracts, .support = &text_.support}));
      failure.cause = m.outcome.cause;
    });
    return failure;
  }

  const PlannedCase planned_;
  const ReviewedText& text_;
  const MeasureOptions causes_;  // before with_cause_, which keeps a reference
  Measurer without_cause_, with_cause_;
};

int run(ReduceOptions& options) {
  auto text = need(options.providers.reviewed_text(), exit_usage);
  options.providers.use_in(options.measure);
  const auto providers = need(discover(options.measure));
  auto planned = need(plan_of_id(options.case_id, offered_kernels(providers), false), exit_usage);
  Case& c = planned.c;

  Judged judged(options, providers, text, planned);
  Failure failure = judged.failure(c.problem);
  if (failure.kind.empty()) {
    end_command(exit_nothing,
                fmt::format("{} does not fail: there is nothing to reduce", options.case_id),
                "name a case that `plumbline run` fails, with the same --provider options");
  }
  std::atomic<bool>& stop_requested = stop_on_signals();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  int tried = 0;
  const auto fails = [&](const Problem& problem) {
    if (!options.quiet && terminal) fmt::print(stderr, "\r[{} problems tried]", ++tried);
    return judged.fails_as(failure, problem);
  };
  const Reduced reduced = reduce(c.problem, fails, [&] { return stop_requested.load(); });
  if (!options.quiet && terminal) fmt::print(stderr, "\r\033[K");
  if (!reduced.steps.empty()) failure = judged.failure(reduced.problem);  // other numbers

  if (options.format == "json") {
    print_json(as_json(options, reduced, c, failure, stop_requested));
    return exit_fine;
  }
  for (const ReduceStep& step : reduced.steps) fmt::print("{}\n", step.what);
  c.problem = reduced.problem;
  fmt::print("{}{} tried, {} kept{}\n\n{}{}\nreproduce: {} --case '{}'\n",
             reduced.steps.empty() ? "" : "\n",
             plural(static_cast<std::size_t>(reduced.tried), "problem"),
             plural(reduced.steps.size(), "step"),
             stop_requested ? " (stopped by a signal: the case may shrink further)" : "",
             failure.cause.empty() ? "" : fmt::format("cause: {}\n\n", failure.cause),
             group_text(c, "reduced", failure.kind), options.providers.command_line(), case_id(c));
  return exit_fine;
}

}  // namespace

void add_reduce(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, run, "reduce", "Shrink a failing case while it keeps failing");
  command.add_option("case", options.case_id, "Case id, as printed after 'reproduce:'")
      .required()
      .type_name("CASE");
  options.providers.add_to(command);
  add_timeout(command, options.measure);
  add_row_seed(command, options.measure.row_seed);
  command.add_flag("--quiet,-q", options.quiet, "No progress");
  command.add_option("--format", options.format).one_of({"text", "json"}).capture_default_str();
  command.footer(
      "Batch, heads, lengths, head dimension and features shrink one after another as long as the "
      "case fails in the same way, with the same cause if one was found.\n"
      "Prints the kept steps, the smallest case as a group of a suite, and the line that repeats "
      "it. Exit 4: the case does not fail.\n"
      "Example:\n"
      "  plumbline reduce --provider ./libmine.so "
      "'mine/flash/bf16/b4-h8x2-s128x3000-d128/mask=causal_bottom_right'");
}

}  // namespace plumbline::cli
