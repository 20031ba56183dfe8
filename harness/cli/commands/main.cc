// The program plumbline: registers every command.
#include "harness/cli/commands/commands.h"
#include "harness/cli/program.h"
#include "harness/cli/program_folders.h"

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
    for (AddCommand* const add :
         {add_init,     add_list,       add_run,       add_check,  add_audit,
          add_judge,    add_merge,      add_confirm,   add_prune,  add_report,
          add_serve,    add_show,       add_compare,   add_matrix, add_night,
          add_reduce,   add_diff,       add_history,   add_bisect, add_export,
          add_baseline, add_support,    add_resources, add_query,  add_datasette_metadata,
          add_doctor,   add_completion, add_manual})
      add(app, exit_code);
  }));
}
