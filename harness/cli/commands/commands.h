// One function for each command. It registers the options and, if the command is chosen, sets
// `exit_code`.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/cli/command_line.h"
#include "harness/judge/exit_code.h"

namespace plumbline::cli {

using AddCommand = void(Command app, int& exit_code);
AddCommand add_audit, add_baseline, add_bisect, add_check, add_compare, add_completion, add_confirm,
    add_datasette_metadata, add_diff, add_doctor, add_export, add_history, add_init, add_judge,
    add_list, add_manual, add_matrix, add_merge, add_night, add_prune, add_query, add_reduce,
    add_report, add_resources, add_run, add_serve, add_show, add_support;

// Adds a command that runs `run` with options of its own. They live as long as the command line.
template <class Options>
std::pair<Command, std::remove_const_t<Options>&> add_verb(Command app, int& exit_code,
                                                           int (*run)(Options&),
                                                           const std::string& name,
                                                           const std::string& help) {
  const Command command = app.add_subcommand(name, help);
  const auto options = std::make_shared<std::remove_const_t<Options>>();
  command.callback([options, run, &exit_code] { exit_code = run(*options); });
  return {command, *options};
}

}  // namespace plumbline::cli
