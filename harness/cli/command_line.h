// Commands and their options, on CLI11. Its headers cost ten seconds a unit: command_line.cc alone
// includes them.
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

// What is wrong with a text that was given, or "".
using Check = std::function<std::string(const std::string& text)>;

// An option or a flag. It belongs to the CommandLine, as a Command does: both are copied freely.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option type_name(const std::string& name) const;  // --help says it behind the option's name
  Option group(const std::string& heading) const;   // --help lists the option under it
  Option capture_default_str() const;               // --help says the value of now
  Option required() const;
  Option allow_extra_args(bool allowed) const;  // more than one value behind one name
  // Options that were added before this one.
  Option excludes(const std::string& option) const;
  Option needs(const std::string& option) const;
  Option check(const Check& error_of) const;
  Option one_of(const std::vector<std::string>& words) const;
  // --help and completions offer these words, and the command looks at what it is given.
  Option offers(const std::vector<std::string>& words) const;

 private:
  CLI::Option* option_;
};

// What a command line says of itself: completions and manual pages are made from it.
struct OptionFacts {
  std::vector<std::string> names;  // "--jobs", "-j"; of a positional one its word: "suites"
  bool is_positional = false, takes_value = false, is_repeated = false, is_required = false;
  std::string value;               // what stands for the value: "FILE"; "" for a flag
  std::vector<std::string> words;  // values that are offered; empty where any text may be meant
  std::string help, standard;      // what it does; its value where it is not given
  // Belongs to the program, and may stand behind every command (CommandLine::add_global).
  bool is_global = false;
};
struct CommandFacts {
  std::string name;  // "plumbline baseline accept"
  std::string help, footer;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// Values for options that nobody gave, from the environment and from plumbline.toml.
struct GivenBySetting {
  std::string option;               // "--db", or the word of a positional one
  std::vector<std::string> values;  // a flag has one, "true"
  std::vector<std::string> unless;  // options, one of which makes it meaningless
  Error at;                         // file and line, or the variable, for what is said of the value
};

// What is passed as `value` must live until the command line is parsed.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& help) const;
  void require_subcommand(int count) const;

  // For the types of which command_line.cc has an instance.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& help = "") const;
  // `type` stands for the value in --help: "FILE".
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
  // A flag in whose place a text is printed, and nothing is run.
  void add_text_flag(const std::string& names, const std::function<Result<std::string>()>& text,
                     const std::string& help) const;

  void footer(const std::string& text) const;  // behind the options in --help
  // Called where the command was named and its options are read.
  void callback(const std::function<void()>& function) const;

  bool has(const std::string& option) const;
  // The text that was given for an option of one value, by the command line or by a setting.
  std::optional<std::string> given(const std::string& option) const;
  // Whether the command line itself gave it.
  bool is_typed(const std::string& option) const;
  // Gives the option its values where the command line gave it none, and none that it excludes.
  // Answers whether it did; false too where the command has no such option. Errors: values that the
  // option does not take.
  Result<bool> give(const GivenBySetting& setting) const;

  std::string name() const;  // "plumbline baseline accept"
  CommandFacts facts() const;

 private:
  CLI::App* app_;
};

// The command that is the program itself.
class CommandLine : public Command {
 public:
  // `name`: "" for that of the executable file.
  explicit CommandLine(const std::string& description, const std::string& name = "");
  ~CommandLine();

  // Options behind `add` may also stand behind every command. Before any command is added.
  void add_global(const std::function<void(Command)>& add) const;

  // Called for the command that is named, before it is called back. An error ends the parsing.
  void before_callbacks(const std::function<Result<void>(Command)>& function) const;

  // Sets the remedy of errors about an unknown command or option.
  void remedy_of_unknown_words(const std::string& remedy) const;

  // Reads the words and calls back the command that they name. Answers what is to be printed
  // instead where they ask for help or the version, else "". Errors: words that are wrong, and what
  // they were probably meant to be.
  Result<std::string> parse(int argc, const char* const* argv) const;

 private:
  explicit CommandLine(std::unique_ptr<CLI::App> app);
  std::unique_ptr<CLI::App> app_;
};

}  // namespace plumbline::cli
