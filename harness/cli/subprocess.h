// Programs that a command asks, such as a Python interpreter.
#pragma once

#include <optional>
#include <string>

namespace plumbline::cli {

struct Said {
  std::string text;      // what it wrote to stdout, without line breaks at the end
  bool is_well = false;  // it ended with 0
};

// Runs a command of the shell to its end; what it writes to stderr goes where ours goes. nullopt:
// no process can be started.
std::optional<Said> output_of(const std::string& command);

}  // namespace plumbline::cli
