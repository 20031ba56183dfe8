// plumbline judge --replay: runs the time gate over a series of another program.
#pragma once

#include <string>

namespace plumbline::cli {

// Prints the alerts for a CSV file, and returns the exit code. `format`: text or json.
int replay_command(const std::string& file, bool higher_is_better, const std::string& format);

}  // namespace plumbline::cli
