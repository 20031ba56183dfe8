// plumbline.toml: settings that a project would otherwise repeat on each command line
// (docs/configuration.md). The command line overrides the environment, which overrides the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

inline constexpr const char* settings_file_name = "plumbline.toml";

// --config and --no-config, which every command accepts.
struct SettingsOptions {
  std::filesystem::path file;  // "": PLUMBLINE_CONFIG, otherwise the nearest plumbline.toml upwards
  bool none = false;           // reads no file; the environment still counts
  void add_to(Command program);
};

// The source of the settings, and the options that they changed.
struct SettingsInUse {
  std::filesystem::path file;        // "" if there is none
  std::vector<std::string> changed;  // options of this command: "--db runs.db (PLUMBLINE_DB)"
  // Returns "settings of plumbline.toml: --provider mine.py, --db runs.db"; "" if nothing changed.
  std::string sentence() const;
};
// The settings of this process, as apply_settings() left them.
SettingsInUse& settings_in_use();

// Prints the sentence, if any, to stderr, because the user did not type these options.
void print_settings_in_use();

// Gives the options of a command the values of the environment and the file. Paths in the file are
// relative to its folder. Errors have file, line and remedy: a missing file, invalid TOML, an
// unknown key, a value of the wrong kind, or one that the option does not accept.
Result<void> apply_settings(Command command, const SettingsOptions& options);

}  // namespace plumbline::cli
