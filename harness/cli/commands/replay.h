// plumbline judge --replay: the time gate over a series of somebody else.
#pragma once

#include <string>

namespace plumbline::cli {

// Prints the alerts of a CSV file; returns the exit code. `format`: text or json.
int replay_command(const std::string& file, bool higher_is_better, const std::string& format);

}  // namespace plumbline::cli
