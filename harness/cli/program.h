// The frame of each program in this folder: global options, parsing, errors, the envelope.
#pragma once

#include <functional>
#include <string>

#include "harness/cli/command_line.h"

namespace plumbline::cli {

struct ProgramText {
  std::string description, footer;  // of --help
  std::string version;              // of --version
};

// Adds the global options and the commands of `add`, runs the command that the arguments name, and
// prints its errors and, with --format json, the envelope. Returns the exit code, which commands
// store in the variable that `add` receives. Never throws.
int run_program(int argc, const char* const* argv, const ProgramText& text,
                const std::function<void(const CommandLine& app, int& exit_code)>& add);

// Returns `code` for the end of main(). If address space is limited, ends the process instead: an
// OpenBLAS thread without memory retries forever, and a normal exit would wait for it.
int end_program(int code);

}  // namespace plumbline::cli
