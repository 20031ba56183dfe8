// plumbline check: is the output of a dump explained by rounding?
#include "harness/check/check.h"

#include <fmt/format.h>

#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/dump_options.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/check_text.h"
#include "harness/report/format.h"

namespace plumbline::cli {
namespace {

struct DumpOptions {
  std::vector<std::string> files;
  AttributeOptions attributes;
  bool verbose = false;
  CheckOptions check;
  std::string format = "text";
};

// Returns the report. Its command repeats the options that describe the dump.
std::string report_text(const CheckReport& report, const std::string& file,
                        const DumpOptions& options) {
  Style style = output_style();
  style.verbose = options.verbose;
  OutputReport text = report_of(report, style);
  if (!style.verbose) {
    text.command_label = "in full";
    text.command = "plumbline check " + shell_word(file) + options.attributes.as_typed() + " -v";
  }
  return render(text, style);
}

int check_files(const DumpOptions& options) {
  const Attributes stated = options.attributes.stated();
  std::vector<CheckReport> reports;
  Errors errors;
  bool bug = false, undecided = false;
  for (const std::string& file : options.files) {
    auto dump = read_dump(file, stated);
    if (!dump && (file == "true" || file == "false") && !std::filesystem::exists(file)) {
      dump = fail(fmt::format("\"{}\" is taken for a dump: --causal takes no value", file),
                  "write --causal alone, or leave it out");
    }
    auto report = dump ? check(*dump, options.check) : tl::unexpected(dump.error());
    if (!report) {
      errors.insert(errors.end(), report.error().begin(), report.error().end());
      continue;
    }
    bug = bug || report->answer == Answer::bug;
    undecided = undecided || report->answer == Answer::undecided;
    if (options.format == "text") fmt::print("{}", report_text(*report, file, options));
    reports.push_back(std::move(*report));
  }
  if (options.format == "json") print_json(json_of_checks(reports));
  if (!errors.empty()) report_errors(errors, exit_usage);
  if (bug) return exit_failure;
  if (!errors.empty()) return exit_usage;
  return undecided ? exit_ambiguous : exit_fine;
}

}  // namespace

void add_check(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, check_files, "check",
                                     "Judge dumped outputs of any framework: rounding or bug?");
  command
      .add_option("files", options.files,
                  "Dumps (safetensors): q, k, v, out, optionally lse, lengths, page_table, mask")
      .required()
      .type_name("FILE");
  options.attributes.add_to(command);
  add_reference_cost(command, options.check.reference_cost_limit);
  command.add_flag("--whole-ladder", options.check.whole_ladder,
                   "Try every rounding model, also those looser than the first that explains the "
                   "output");
  command.add_flag("--verbose,-v", options.verbose,
                   "Print everything, also for an explained output: the ladder, all findings, the "
                   "five worst elements");
  add_format(command, options.format, {"text", "json"});
  command.footer(
      "Examples:\n"
      "  plumbline check dump.safetensors\n"
      "  plumbline check dump.safetensors --layout padded_bhsd --mask causal_top_left\n"
      "  plumbline check dump.safetensors --spec FlashAttention-2 --lse-base 2\n"
      "  plumbline check a.safetensors b.safetensors --format json\n"
      "Without --spec, check tries the rounding models of known kernels, and names the likeliest "
      "that explains the output.\n"
      "docs/dump-format.md describes dumps. Exit codes: 0 ROUNDING, 1 BUG, 2 a file cannot be "
      "judged, 5 UNDECIDED.");
}

}  // namespace plumbline::cli
