// plumbline.toml: what the commands of a project would otherwise be told each time
// (docs/configuration.md). The command line wins over the environment, which wins over the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

inline constexpr const char* settings_file_name = "plumbline.toml";

// --config and --no-config, which every command takes.
struct SettingsOptions {
  std::filesystem::path file;  // "": of PLUMBLINE_CONFIG, else the nearest one from here upwards
  bool none = false;           // no file; the environment still counts
  void add_to(Command program);
};

// Where settings came from, and what they changed.
struct SettingsInUse {
  std::filesystem::path file;        // "" where there is none
  std::vector<std::string> changed;  // "--db runs.db (PLUMBLINE_DB)", of this command
  // "settings of plumbline.toml: --provider mine.py, --db runs.db"; "" where nothing was changed.
  std::string sentence() const;
};
// Of this process, as apply_settings left them.
SettingsInUse& settings_in_use();

// Says the sentence on stderr, where there is one: what a run does that nobody typed.
void tell_settings();

// Gives the options of a command what the environment and the file say of them. Paths of the file
// are relative to its folder. Errors: a file that is not there or not TOML, a key that is none, a
// value of the wrong kind or one that the option does not take, with file, line and remedy.
Result<void> apply_settings(Command command, const SettingsOptions& options);

}  // namespace plumbline::cli
