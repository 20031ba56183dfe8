// One function a subcommand; each registers its options and, when chosen, sets `exit_code`.
#pragma once

#include "harness/cli/command_line.h"
#include "harness/judge/exit_code.h"

namespace plumbline::cli {

void add_init(Command app, int& exit_code);
void add_list(Command app, int& exit_code);
void add_run(Command app, int& exit_code);
void add_check(Command app, int& exit_code);
void add_audit(Command app, int& exit_code);
void add_judge(Command app, int& exit_code);
void add_merge(Command app, int& exit_code);
void add_confirm(Command app, int& exit_code);
void add_prune(Command app, int& exit_code);
void add_report(Command app, int& exit_code);
void add_serve(Command app, int& exit_code);
void add_show(Command app, int& exit_code);
void add_compare(Command app, int& exit_code);
void add_matrix(Command app, int& exit_code);
void add_night(Command app, int& exit_code);
void add_reduce(Command app, int& exit_code);
void add_diff(Command app, int& exit_code);
void add_history(Command app, int& exit_code);
void add_bisect(Command app, int& exit_code);
void add_export(Command app, int& exit_code);
void add_baseline(Command app, int& exit_code);
void add_support(Command app, int& exit_code);
void add_resources(Command app, int& exit_code);
void add_query(Command app, int& exit_code);
void add_datasette_metadata(Command app, int& exit_code);
void add_doctor(Command app, int& exit_code);
void add_completion(Command app, int& exit_code);
void add_manual(Command app, int& exit_code);

}  // namespace plumbline::cli
