// Commands and their options, on top of CLI11. Only command_line.cc includes CLI11's headers, which
// add ten seconds to a compilation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plumbline::cli {

// Returns the error message for a value, or "" if the value is valid.
using Check = std::function<std::string(const std::string& text)>;

// A reference to an option or flag, which the CommandLine owns. Copies refer to the same option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option type_name(const std::string& name) const;  // shown after the option's name in --help
  Option group(const std::string& heading) const;   // the option's heading in --help
  Option capture_default_str() const;               // shows the current value in --help
  Option required() const;
  Option allow_extra_args(bool allowed) const;  // several values after one name
  // `option` must have been added before this one.
  Option excludes(const std::string& option) const;
  Option needs(const std::string& option) const;
  Option check(const Check& error_of) const;
  Option one_of(const std::vector<std::string>& words) const;
  // Suggests these words in --help and completions. The command validates the value itself.
  Option offers(const std::vector<std::string>& words) const;

 private:
  CLI::Option* option_;
};

// A description of an option, from which completions and manual pages are made.
struct OptionFacts {
  std::vector<std::string> names;  // "--jobs", "-j"; a positional argument has its word: "suites"
  bool is_positional = false, takes_value = false, is_repeated = false, is_required = false;
  std::string value;               // placeholder of the value: "FILE"; "" for a flag
  std::vector<std::string> words;  // accepted or suggested values; empty if any text may be given
  std::string help, standard;      // its effect; its default value
  // True if the option belongs to the program and may follow any command (CommandLine::add_global).
  bool is_global = false;
};
struct CommandFacts {
  std::string name;  // "plumbline baseline accept"
  std::string help, footer;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// Values from the environment or plumbline.toml, for an option that the command line leaves out.
struct SettingValue {
  std::string option;               // "--db", or the word of a positional argument
  std::vector<std::string> values;  // a flag has one, "true"
  std::vector<std::string> unless;  // options that override the setting if any is given
  Error at;                         // file and line, or the variable, for error messages
};

// A reference to a command. A variable that is passed as `value` must outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& help) const;
  void require_subcommand(int count) const;

  // `Value` must be a type that command_line.cc instantiates.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& help = "") const;
  // `type` is the placeholder of the value in --help: "FILE".
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& type,
                    const std::string& help) const {
    return add_option(names, value, help).type_name(type);
  }
  template <class Value>
  Option add_flag(const std::string& names, Value& value, const std::string& help) const;
  Option add_option_function(const std::string& names, const std::function<void(double)>& function,
                             const std::string& help) const;
  void set_version_flag(const std::string& names, const std::string& version) const;
  // Adds a flag that prints a text instead of running a command.
  void add_text_flag(const std::string& names, const std::function<Result<std::string>()>& text,
                     const std::string& help) const;

  void footer(const std::string& text) const;  // shown after the options in --help
  // Sets the function that runs after parsing if the command line names this command.
  void callback(const std::function<void()>& function) const;

  bool has(const std::string& option) const;
  // Returns the text given for an option of one value, by the command line or by a setting.
  std::optional<std::string> given(const std::string& option) const;
  // Returns true if the command line itself gave the option.
  bool is_typed(const std::string& option) const;
  // Gives the option the setting's values, unless the command line has this option or one that
  // overrides the setting. Returns true if the option got them, false also if the command has no
  // such option. Errors: values that the option does not accept.
  Result<bool> give(const SettingValue& setting) const;

  std::string name() const;  // "plumbline baseline accept"
  CommandFacts facts() const;

 private:
  CLI::App* app_;
};

// The program itself as a command.
class CommandLine : public Command {
 public:
  // `name`: "" stands for the name of the executable file.
  explicit CommandLine(const std::string& description, const std::string& name = "");
  ~CommandLine();

  // The options that `add` adds may also follow any command. Must be called before commands are
  // added.
  void add_global(const std::function<void(Command)>& add) const;

  // Sets a function that runs before the callback of the named command. Its error ends the parsing.
  void before_callbacks(const std::function<Result<void>(Command)>& function) const;

  // Sets the remedy of errors about an unknown command or option.
  void remedy_of_unknown_words(const std::string& remedy) const;

  // Parses the arguments and runs the callback of the command that they name. Returns the text to
  // print if they request help or the version, otherwise "". Errors: wrong words, with the nearest
  // known ones.
  Result<std::string> parse(int argc, const char* const* argv) const;

 private:
  explicit CommandLine(std::unique_ptr<CLI::App> app);
  std::unique_ptr<CLI::App> app_;
};

}  // namespace plumbline::cli
