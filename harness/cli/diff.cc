// plumbline diff: two kernels on the problems of suites, or two dumps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/check/diff_measured.h"
#include "harness/cli/commands.h"
#include "harness/cli/dump_options.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/progress.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/judge/judge.h"
#include "harness/measure/measurer.h"
#include "harness/problem/inputs.h"
#include "harness/report/diff_text.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  CaseOptions cases;
  ProviderOptions providers;
  MeasureOptions measure;
  ReferenceOption reference;
  AttributeOptions attributes;  // of both dumps
  std::string command;          // that compares two kernels, as it was typed but for --case
  std::string format = "text";
  bool quiet = false, verbose = false;
};

int exit_code_of(Answer answer) {
  return answer == Answer::rounding ? exit_fine
         : answer == Answer::bug    ? exit_failure
                                    : exit_ambiguous;
}

constexpr std::array diff_formats{
    Format<std::vector<DiffReport>>{"text", render_diffs},
    Format<std::vector<DiffReport>>{"json", nullptr, [](const std::vector<DiffReport>& reports) {
                                      return json_of_diffs(reports, overall_answer(reports));
                                    }}};

int finish(const std::vector<DiffReport>& reports, const DiffOptions& options) {
  const Answer answer = overall_answer(reports);
  write_as(diff_formats, options.format, reports, options.verbose);
  return compared(reports) == 0 ? exit_nothing : exit_code_of(answer);
}

int diff_dumps(const DiffOptions& options) {
  const Attributes stated = options.attributes.stated();
  auto a = read_dump(options.a, stated), b = read_dump(options.b, stated);
  Errors errors;
  if (!a) errors = a.error();
  if (!b) errors.insert(errors.end(), b.error().begin(), b.error().end());
  if (!errors.empty()) return report_errors(errors, exit_usage);
  CheckOptions check;
  check.reference_cost_limit = options.measure.reference_cost_limit;
  auto report = diff(*a, *b, check);
  if (!report) return report_errors(report.error(), exit_usage);
  if (!stated.empty()) {
    report->command = fmt::format("plumbline diff {} {}{} -v", shell_word(options.a),
                                  shell_word(options.b), options.attributes.as_typed());
  }
  return finish({std::move(*report)}, options);
}

// The problems of all groups, once each, with the device they are asked on.
std::vector<SuiteCase> problems(const std::vector<Suite>& suites, const DiffOptions& options) {
  std::set<std::pair<std::string, std::string>> seen;  // device, problem
  std::vector<SuiteCase> chosen;
  for (const Suite& suite : suites) {
    for (const SuiteCase& c : suite.cases) {
      const std::string id = problem_id(c.problem);
      if (!selects_tier(options.cases.filter, c.tier) ||
          !selects_name(options.cases.filter, {c.suite + "/" + c.group + "/" + id, id}))
        continue;
      if (seen.insert({c.device, id}).second) chosen.push_back(c);
    }
  }
  return chosen;
}

MeasuredSide side(Measurement measurement, const ReviewedText& text) {
  const Case c = measurement.outcome.c;
  const RoundingSpec spec =
      text.contracts.pinned_spec(c.kernel, c.problem, place_of(measurement.outcome));
  const Judgement judgement =
      judge({.outcome = &measurement.outcome, .contracts = &text.contracts});
  const Answer answer = answer_of(measurement.outcome, judgement);
  const std::string spec_name = describe(spec, c.problem);
  return {c.kernel,  spec_name == "strict" ? "the strict spec" : spec_name,
          spec,      std::move(measurement),
          judgement, answer,
          ""};
}

DiffReport diff_kernels_on(const SuiteCase& problem, Measurer& measurer, const ReviewedText& text,
                           const DiffOptions& options) {
  PlannedCase a = planned(problem, {options.a}), b = planned(problem, {options.b});
  a.timed = b.timed = false;
  std::vector<MeasuredSide> sides;
  measurer.measure({&a, &b}, [&](Measurement measurement) {
    sides.push_back(side(std::move(measurement), text));
  });
  const Geometry& geometry = *sides.front().measurement.geometry;
  std::vector<std::byte> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
  const auto ran = [](const MeasuredSide& s) { return s.measurement.outcome.status == Status::ok; };
  if (std::all_of(sides.begin(), sides.end(), ran))
    fill_inputs(geometry, q.data(), k.data(), v.data());
  return diff_measured(problem_id(problem.problem), sides[0], sides[1],
                       {q.data(), k.data(), v.data()});
}

Result<void> are_known(const DiffOptions& options, const std::vector<OfferedKernel>& kernels) {
  Errors errors;
  for (const std::string& kernel : {options.a, options.b}) {
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const OfferedKernel& k) { return k.name == kernel; }))
      continue;
    errors.push_back({"", 0, fmt::format("there is no kernel {}", kernel),
                      missing_kernel_remedy(kernel, kernels)});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return {};
}

// The comparison as it was typed, but for --case: "plumbline diff cpu/flash mine/flash smoke.toml
// --provider ./libmine.so".
std::string kernels_command(const DiffOptions& options) {
  std::string text = fmt::format("{} diff {} {}", program_name(), options.a, options.b);
  for (const auto& suite : options.cases.suites) text += " " + shell_word(suite);
  for (const auto& provider : options.providers.providers)
    text += " --provider " + shell_quoted(provider);
  if (options.providers.no_default_provider) text += " --no-default-provider";
  if (const auto& baselines = options.providers.baselines; !baselines.empty())
    text += " --baselines " + shell_quoted(baselines.string());
  return text;
}

int diff_kernels(DiffOptions& options) {
  options.command = kernels_command(options);
  auto text = options.providers.reviewed_text();
  if (!text) return report_errors(text.error(), exit_usage);
  options.measure.providers = options.providers.libraries();
  auto reference = options.reference.open();
  if (!reference) return report_errors(reference.error(), exit_usage);
  options.measure.reference_library = std::move(*reference);
  auto providers = discover(options.measure);
  if (!providers) return report_errors(providers.error(), exit_infrastructure);
  auto suites = options.cases.read(*providers);
  if (!suites) return report_errors(suites.error(), exit_usage);
  if (auto known = are_known(options, offered_kernels(*providers)); !known)
    return report_errors(known.error(), exit_usage);
  const auto chosen = problems(*suites, options);
  if (chosen.empty())
    return report_errors(
        {{"", 0, "the filters leave no problem", "see `plumbline list` for what there is"}},
        exit_nothing);

  Measurer measurer(options.measure, *providers, text->contracts);
  std::vector<DiffReport> reports;
  {
    Progress progress(chosen.size(), options.quiet);
    for (const SuiteCase& problem : chosen) {
      reports.push_back(diff_kernels_on(problem, measurer, *text, options));
      reports.back().command = fmt::format("{} --case {} -v", options.command,
                                           shell_quoted(problem_id(problem.problem)));
      progress.step();
    }
  }
  return finish(reports, options);
}

bool is_file_name(const std::string& name) { return name.ends_with(".safetensors"); }

int run_diff(DiffOptions& options) {
  const bool dumps = is_file_name(options.a) && is_file_name(options.b);
  if (dumps && options.cases.suites.empty()) return diff_dumps(options);
  if (is_file_name(options.a) || is_file_name(options.b) || options.cases.suites.empty()) {
    return report_errors({{"", 0, "name two dumps (.safetensors), or two kernels and suite files",
                           "for example plumbline diff a.safetensors b.safetensors, or plumbline "
                           "diff cpu/flash cpu/split_kv cases/smoke.toml"}},
                         exit_usage);
  }
  if (!options.attributes.stated().empty()) {
    return report_errors(
        {{"", 0, "options that state what a dump leaves out do not apply to suites",
          "a suite's problems state it all"}},
        exit_usage);
  }
  return diff_kernels(options);
}

}  // namespace

void add_diff(Command app, int& exit_code) {
  const Command command = app.add_subcommand(
      "diff",
      "Compare two dumps, or two kernels on the problems of suites: is the difference rounding?");
  auto options = std::make_shared<DiffOptions>();
  command.add_option("a", options->a, "A dump (.safetensors) or a kernel (provider/name)")
      .required();
  command.add_option("b", options->b, "The other one").required();
  command
      .add_option(
          "suites", options->cases.suites,
          "Suite files (TOML), for two kernels: the problems of all their groups, once each")
      .type_name("SUITE.toml");
  command
      .add_option("--case", options->cases.filter.match,
                  "Only problems that match this glob, on 'suite/group/problem'; repeat for more")
      .type_name("GLOB");
  command.add_option("--tier", options->cases.tier,
                     "Only problems of this tier and lower ones: smoke, pr, nightly, full");
  options->providers.add_to(command);
  add_timeout(command, options->measure);
  options->attributes.add_to(command, "What both dumps leave unstated");
  add_reference_cost(command, options->measure.reference_cost_limit);
  options->reference.add_to(command);
  add_format(command, options->format, diff_formats);
  command.add_flag("--quiet,-q", options->quiet, "No progress");
  command.add_flag("--verbose,-v", options->verbose,
                   "Everything of each comparison: also the map of heads and the softmax's kappa");
  command.footer(
      "Examples:\n"
      "  plumbline diff prefill.safetensors decode.safetensors\n"
      "  plumbline diff cpu/flash cpu/split_kv cases/smoke.toml\n"
      "  plumbline diff cpu/flash mine/flash cases/smoke.toml --provider ./libmine.so --case "
      "'*bf16*'\n"
      "Exit codes: 0 ROUNDING (both keep their limits against fp64, and what both declare explains "
      "the difference), 1 BUG (it says which\n"
      "of the two is wrong), 5 UNDECIDED, 4 nothing compared, 2 the two do not ask the same.");
  command.callback([options, &exit_code] { exit_code = run_diff(*options); });
}

}  // namespace plumbline::cli
