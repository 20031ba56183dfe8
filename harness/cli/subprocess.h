// Runs other programs, such as a Python interpreter.
#pragma once

#include <optional>
#include <string>

namespace plumbline::cli {

struct ProgramOutput {
  std::string text;         // its stdout, without line breaks at the end
  bool is_success = false;  // its exit status was 0
};

// Runs a shell command to its end; its stderr is the stderr of this process. nullopt: no process
// could be started.
std::optional<ProgramOutput> output_of(const std::string& command);

}  // namespace plumbline::cli
