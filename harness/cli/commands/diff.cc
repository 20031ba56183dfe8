// plumbline diff: compares two dumps, or the outputs of two kernels on the problems of suites.
#include "harness/cli/commands/diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/dump_options.h"
#include "harness/cli/formats.h"
#include "harness/cli/harness_package.h"
#include "harness/judge/exit_code.h"
#include "harness/measure/providers.h"
#include "harness/report/diff_text.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

bool is_file_name(const std::string& name) { return name.ends_with(".safetensors"); }

struct DiffOptions {
  DiffArguments question;
  AttributeOptions attributes;  // apply to both dumps
  std::shared_ptr<KernelDiff> kernels;

  bool are_dumps() const { return is_file_name(question.a) && is_file_name(question.b); }
  // Drops the suites that a project's plumbline.toml lists for kernels: dumps need none.
  void forget_suites_of_dumps() {
    if (are_dumps()) question.suites.clear();
  }
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

int diff_dumps(const DiffOptions& options) {
  const DiffArguments& question = options.question;
  const Attributes stated = options.attributes.stated();
  auto a = read_dump(question.a, stated), b = read_dump(question.b, stated);
  Errors errors;
  if (!a) errors = a.error();
  if (!b) errors.insert(errors.end(), b.error().begin(), b.error().end());
  end_on_errors(std::move(errors), exit_usage);
  CheckOptions check;
  check.reference_cost_limit = question.reference_cost_limit;
  auto report = need(diff(*a, *b, check), exit_usage);
  if (!stated.empty()) {
    report.command = fmt::format("plumbline diff {} {}{} -v", shell_word(question.a),
                                 shell_word(question.b), options.attributes.as_typed());
  }
  return write_diffs({std::move(report)}, question);
}

int run_diff(const DiffOptions& options) {
  const DiffArguments& question = options.question;
  if (options.are_dumps() && question.suites.empty()) return diff_dumps(options);
  if (is_file_name(question.a) || is_file_name(question.b) || question.suites.empty()) {
    end_command(exit_usage, "name two dumps (.safetensors), or two kernels and suite files",
                "for example plumbline diff a.safetensors b.safetensors, or plumbline "
                "diff cpu/flash cpu/split_kv cases/smoke.toml");
  }
  if (!options.attributes.stated().empty()) {
    end_command(exit_usage, "options that state what a dump leaves out do not apply to suites",
                "leave them out: a suite's problems state these values");
  }
  if (options.kernels == nullptr)
    end_command(exit_usage, "plumbline diff: this program cannot run kernels",
                harness_package_remedy);
  return options.kernels->run(question);
}

}  // namespace

int write_diffs(const std::vector<DiffReport>& reports, const DiffArguments& question) {
  write_as(diff_formats, question.format, reports, question.verbose);
  return compared(reports) == 0 ? exit_nothing : exit_code_of(overall_answer(reports));
}

void add_diff(Command app, int& exit_code, std::shared_ptr<KernelDiff> kernels) {
  const Command command = app.add_subcommand(
      "diff",
      "Compare two dumps, or two kernels on the problems of suites: is the difference rounding?");
  auto options = std::make_shared<DiffOptions>();
  DiffArguments& question = options->question;
  question.reference_cost_limit = MeasureOptions().reference_cost_limit;
  options->kernels = std::move(kernels);
  command.add_option("a", question.a, "A dump (.safetensors) or a kernel (provider/name)")
      .required();
  command.add_option("b", question.b, "The other dump or kernel").required();
  command.add_option(
      "suites", question.suites, "SUITE.toml",
      "Suite files (TOML), for two kernels: the problems of all their groups, once each");
  if (options->kernels != nullptr) options->kernels->add_options_to(command);
  options->attributes.add_to(command, "Attributes that the dumps do not state");
  add_reference_cost(command, question.reference_cost_limit);
  add_format(command, question.format, diff_formats);
  command.add_flag("--verbose,-v", question.verbose,
                   "Each comparison in full, with the map of heads and the softmax's kappa");
  command.footer(
      "Examples:\n"
      "  plumbline diff prefill.safetensors decode.safetensors\n"
      "  plumbline diff cpu/flash cpu/split_kv cases/smoke.toml\n"
      "  plumbline diff cpu/flash mine/flash cases/smoke.toml --provider ./libmine.so --case "
      "'*bf16*'\n"
      "Exit codes: 0 ROUNDING (both keep their limits against fp64, and their rounding specs "
      "explain the difference), 1 BUG (the report names the wrong one), 5 UNDECIDED, 4 nothing "
      "compared, 2 usage, or the two solve different problems.");
  command.callback([command, options, &exit_code] {
    if (!command.is_typed("suites")) options->forget_suites_of_dumps();
    exit_code = run_diff(*options);
  });
}

}  // namespace plumbline::cli
