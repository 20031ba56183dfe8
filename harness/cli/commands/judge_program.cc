// Registers the commands that judge dumps.
#include "harness/cli/commands/judge_program.h"

#include <fmt/format.h>

#include "harness/base/build_info.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/diff.h"
#include "harness/cli/commit.h"
#include "harness/cli/harness_package.h"
#include "harness/cli/program.h"
#include "harness/judge/judge.h"
#include "harness/reference/version.h"

namespace plumbline::cli {
namespace {

std::string judge_version_line() {
  const std::string commit = build_commit;
  return fmt::format("plumbline {} (judge {}, reference {}){}", build::version, judge_version,
                     reference_version, commit.empty() ? "" : " commit " + commit);
}

}  // namespace

int run_judge(int argc, const char* const* argv) {
  const ProgramText text{
      "plumbline: numerical conformance of attention kernels.\n"
      "Judges dumped outputs against an fp64 reference in units of the rounding error\n"
      "that the kernel is allowed to make.",
      fmt::format("Examples:\n"
                  "  plumbline check dump.safetensors\n"
                  "  plumbline diff prefill.safetensors decode.safetensors\n"
                  "Exit codes: 0 fine, 1 failure, 2 usage, 3 infrastructure, 5 ambiguous.\n"
                  "Every other command: {}.",
                  harness_package_remedy),
      judge_version_line()};
  return run_program(argc, argv, text, [](const CommandLine& app, int& exit_code) {
    app.remedy_of_unknown_words(harness_package_remedy);
    add_check(app, exit_code);
    add_diff(app, exit_code, nullptr);
  });
}

}  // namespace plumbline::cli
