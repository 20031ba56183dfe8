// One function a subcommand; each registers its options and, when chosen, sets `exit_code`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline::cli {

inline constexpr int exit_fine = 0, exit_failure = 1, exit_usage = 2, exit_infrastructure = 3,
                     exit_nothing = 4, exit_ambiguous = 5, exit_not_comparable = 6;

void add_list(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_judge(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_matrix(CLI::App& app, int& exit_code);
void add_reduce(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_history(CLI::App& app, int& exit_code);
void add_baseline(CLI::App& app, int& exit_code);
void add_resources(CLI::App& app, int& exit_code);
void add_query(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);

}  // namespace plumbline::cli
