// The frame of every program in this folder: global options, parsing, errors, the envelope.
#pragma once

#include <functional>
#include <string>

#include "harness/cli/command_line.h"

namespace plumbline::cli {

struct ProgramText {
  std::string description, footer;  // of --help
  std::string version;              // of --version
};

// Adds the global options and what `add` adds, calls back the command that the words name, and
// prints errors and, with --format json, the envelope. Answers the exit code, which `add` hands to
// each command. No exception leaves it.
int run_program(int argc, const char* const* argv, const ProgramText& text,
                const std::function<void(const CommandLine& app, int& exit_code)>& add);

// For the end of main(): answers the code. Under a limit on address space the process ends here: a
// thread of OpenBLAS that finds no memory asks for it for ever, and an exit would wait for it.
int end_program(int code);

}  // namespace plumbline::cli
