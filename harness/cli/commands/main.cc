// plumbline: two attention kernels disagree; is it rounding, or is it a bug?
#include "harness/cli/commands/commands.h"
#include "harness/cli/places.h"
#include "harness/cli/program.h"

int main(int argc, char** argv) {
  using namespace plumbline::cli;
  const ProgramText text{
      "plumbline: numerical conformance of attention kernels.\n"
      "Runs kernels over a matrix of cases, judges each output against an fp64\n"
      "reference in units of the rounding error the kernel is allowed to make, stores\n"
      "every result and flags regressions.",
      "Examples:\n"
      "  plumbline run cases/smoke.toml\n"
      "  plumbline run cases/smoke.toml --provider ./libmine.so --junit out/junit.xml\n"
      "  plumbline show latest\n"
      "  plumbline init mine && cd mine && plumbline run\n"
      "Exit codes: 0 fine, 1 failure or regression, 2 usage, 3 infrastructure,\n"
      "4 nothing measured, 5 open (ambiguous, unconfirmed, ...), 6 not comparable.",
      version_line()};
  return end_program(run_program(argc, argv, text, [](const CommandLine& app, int& exit_code) {
    add_folder_flags(app);
    add_init(app, exit_code);
    add_list(app, exit_code);
    add_run(app, exit_code);
    add_check(app, exit_code);
    add_audit(app, exit_code);
    add_judge(app, exit_code);
    add_merge(app, exit_code);
    add_confirm(app, exit_code);
    add_prune(app, exit_code);
    add_report(app, exit_code);
    add_serve(app, exit_code);
    add_show(app, exit_code);
    add_compare(app, exit_code);
    add_matrix(app, exit_code);
    add_night(app, exit_code);
    add_reduce(app, exit_code);
    add_diff(app, exit_code);
    add_history(app, exit_code);
    add_bisect(app, exit_code);
    add_export(app, exit_code);
    add_baseline(app, exit_code);
    add_support(app, exit_code);
    add_resources(app, exit_code);
    add_query(app, exit_code);
    add_datasette_metadata(app, exit_code);
    add_doctor(app, exit_code);
    add_completion(app, exit_code);
    add_manual(app, exit_code);
  }));
}
