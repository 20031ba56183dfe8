// plumbline diff for two kernels on the problems of suites.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/check/diff_measured.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/diff.h"
#include "harness/cli/progress.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/judge/judge.h"
#include "harness/measure/measurer.h"
#include "harness/problem/inputs.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

class KernelsOnSuites : public KernelDiff {
 public:
  void add_options_to(Command command) override;
  int run(const DiffArguments& question) override;

 private:
  // Returns the command line without --case: "plumbline diff cpu/flash mine/flash smoke.toml
  // --provider ./libmine.so".
  std::string typed(const DiffArguments& question) const;

  CaseOptions cases_;
  ProviderOptions providers_;
  MeasureOptions measure_;
  ReferenceOption reference_;
  bool quiet_ = false;
};

// Returns the problems of all groups, each once per device.
std::vector<SuiteCase> problems(const std::vector<Suite>& suites, const CaseFilter& filter) {
  std::set<std::pair<std::string, std::string>> seen;  // device, problem
  std::vector<SuiteCase> chosen;
  for (const Suite& suite : suites) {
    for (const SuiteCase& c : suite.cases) {
      const std::string id = problem_id(c.problem);
      if (!selects_tier(filter, c.tier) ||
          !selects_name(filter, {c.suite + "/" + c.group + "/" + id, id}))
        continue;
      if (seen.insert({c.device, id}).second) chosen.push_back(c);
    }
  }
  return chosen;
}

MeasuredSide side(Measurement measurement, const ReviewedText& text) {
  const Case c = measurement.outcome.c;
  const RunTarget place = target_of(measurement.outcome);
  const RoundingSpec spec = text.contracts.pinned_spec(c.kernel, c.problem, place);
  const Judgement judgement =
      judge({.outcome = &measurement.outcome, .contracts = &text.contracts});
  const Answer answer = answer_of(measurement.outcome, judgement);
  const std::string spec_name = describe(spec, c.problem, place.arch);
  return {c.kernel,  spec_name == "strict" ? "the strict spec" : spec_name,
          spec,      std::move(measurement),
          judgement, answer,
          ""};
}

DiffReport diff_kernels_on(const SuiteCase& problem, Measurer& measurer, const ReviewedText& text,
                           const DiffArguments& question) {
  PlannedCase a = planned(problem, {question.a}), b = planned(problem, {question.b});
  a.timed = b.timed = false;
  std::vector<MeasuredSide> sides;
  measurer.measure({&a, &b}, [&](Measurement measurement) {
    sides.push_back(side(std::move(measurement), text));
  });
  const Geometry& geometry = *sides.front().measurement.geometry;
  std::vector<std::byte> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
  const auto ran = [](const MeasuredSide& s) { return s.measurement.outcome.status == Status::ok; };
  if (std::ranges::all_of(sides, ran)) fill_inputs(geometry, q.data(), k.data(), v.data());
  return diff_measured(problem_id(problem.problem), sides[0], sides[1],
                       {q.data(), k.data(), v.data()});
}

void require_known_kernels(const DiffArguments& question,
                           const std::vector<OfferedKernel>& kernels) {
  Errors errors;
  for (const std::string& kernel : {question.a, question.b}) {
    if (std::ranges::any_of(kernels, [&](const OfferedKernel& k) { return k.name == kernel; }))
      continue;
    errors.push_back({"", 0, fmt::format("there is no kernel {}", kernel),
                      missing_kernel_remedy(kernel, kernels)});
  }
  end_on_errors(errors, exit_usage);
}

void KernelsOnSuites::add_options_to(Command command) {
  command.add_option(
      "--case", cases_.filter.match, "GLOB",
      "Only problems that match this glob, on 'suite/group/problem id' or the problem id; repeat "
      "for more");
  command.add_option("--tier", cases_.tier,
                     "Only problems of this tier and lower ones: smoke, pr, nightly, full");
  providers_.add_to(command);
  add_timeout(command, measure_);
  reference_.add_to(command);
  command.add_flag("--quiet,-q", quiet_, "No progress");
}

std::string KernelsOnSuites::typed(const DiffArguments& question) const {
  std::string text = fmt::format("{} diff {} {}", program_name(), question.a, question.b);
  for (const auto& suite : question.suites) text += " " + shell_word(suite);
  for (const auto& provider : providers_.providers) text += " --provider " + shell_quoted(provider);
  if (providers_.no_default_provider) text += " --no-default-provider";
  if (const auto& baselines = providers_.baselines; !baselines.empty())
    text += " --baselines " + shell_quoted(baselines.string());
  for (const auto& name : providers_.pass_env) text += " --pass-env " + shell_word(name);
  return text;
}

int KernelsOnSuites::run(const DiffArguments& question) {
  cases_.suites = question.suites;
  measure_.reference_cost_limit = question.reference_cost_limit;
  auto text = need(providers_.reviewed_text(), exit_usage);
  providers_.use_in(measure_);
  measure_.reference_library = need(reference_.open(), exit_usage);
  const auto providers = need(discover(measure_));
  auto suites = need(cases_.read(providers), exit_usage);
  require_known_kernels(question, offered_kernels(providers));
  const auto chosen = problems(suites, cases_.filter);
  if (chosen.empty())
    end_command(exit_nothing, "the filters leave no problem",
                "see `plumbline list` for what there is");

  Measurer measurer(measure_, providers, text.contracts);
  std::vector<DiffReport> reports;
  {
    Progress progress(chosen.size(), quiet_);
    for (const SuiteCase& problem : chosen) {
      reports.push_back(diff_kernels_on(problem, measurer, text, question));
      reports.back().command = fmt::format("{} --case {} -v", typed(question),
                                           shell_quoted(problem_id(problem.problem)));
      progress.step();
    }
  }
  return write_diffs(reports, question);
}

}  // namespace

void add_diff(Command app, int& exit_code) {
  add_diff(app, exit_code, std::make_shared<KernelsOnSuites>());
}

}  // namespace plumbline::cli
