// Hands commands and options on to CLI11, and words the mistakes of a command line.
#include "harness/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "harness/base/text.h"
#include "harness/cli/errors.h"

namespace plumbline::cli {
namespace {

using Words = std::vector<std::string>;

// The command that was named, its own command too, and the app itself where none was.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

Words names_of_commands(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Words long_options(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string meant(const std::string& word, const Words& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto near = nearest_word(word, views);
  return near ? fmt::format("did you mean {}? ", *near) : "";
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

Error unknown_word(const CLI::App& command, const std::string& word) {
  const std::string help = fmt::format("`{} --help` lists what there is", full_name(command));
  if (word.starts_with("-")) {
    const std::string option = word.substr(0, word.find('='));
    return {"", 0, fmt::format("{}: there is no option {}", full_name(command), option),
            meant(option, long_options(command)) + help};
  }
  const Words commands = names_of_commands(command);
  if (!commands.empty()) {
    return {"", 0, fmt::format("{}: there is no command {}", full_name(command), word),
            meant(word, commands) + help};
  }
  return {"", 0, fmt::format("{} does not take the word \"{}\"", full_name(command), word), help};
}

Errors usage_errors(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  Errors errors;
  const bool lacks_command =
      !names_of_commands(command).empty() && command.get_subcommands().empty();
  if (lacks_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    for (const std::string& word : app.remaining(true)) {
      if (word != "--") errors.push_back(unknown_word(command, word));
      if (lacks_command && !errors.empty()) break;
    }
  }
  if (!errors.empty()) return errors;
  const std::string help = fmt::format("`{} --help` lists what there is", full_name(command));
  if (lacks_command) return {{"", 0, fmt::format("{}: name a command", full_name(command)), help}};
  return {{"", 0, fmt::format("{}: {}", full_name(command), error.what()),
           fmt::format("`{} --help` says what it takes", full_name(command))}};
}

}  // namespace

Option Option::type_name(const std::string& name) const {
  return Option(*option_->type_name(name));
}
Option Option::group(const std::string& heading) const { return Option(*option_->group(heading)); }
Option Option::capture_default_str() const { return Option(*option_->capture_default_str()); }
Option Option::required() const { return Option(*option_->required()); }
Option Option::allow_extra_args(bool allowed) const {
  return Option(*option_->allow_extra_args(allowed));
}
Option Option::excludes(const std::string& option) const {
  return Option(*option_->excludes(option));
}
Option Option::needs(const std::string& option) const { return Option(*option_->needs(option)); }
Option Option::check(const Check& error_of) const { return Option(*option_->check(error_of)); }
Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(*option_->check(CLI::IsMember(words)));
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(*app_->add_subcommand(name, help));
}
void Command::require_subcommand(int count) const { app_->require_subcommand(count); }

template <class Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& help) const {
  return Option(*app_->add_option(names, value, help));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::filesystem::path&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::filesystem::path>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;

template <class Value>
Option Command::add_flag(const std::string& names, Value& value, const std::string& help) const {
  return Option(*app_->add_flag(names, value, help));
}
template Option Command::add_flag(const std::string&, bool&, const std::string&) const;
template Option Command::add_flag(const std::string&, std::string&, const std::string&) const;

Option Command::add_option_function(const std::string& names,
                                    const std::function<void(double)>& function,
                                    const std::string& help) const {
  return Option(*app_->add_option_function<double>(names, function, help));
}
void Command::set_version_flag(const std::string& names, const std::string& version) const {
  app_->set_version_flag(names, version);
}
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::callback(const std::function<void()>& function) const { app_->callback(function); }

std::optional<std::string> Command::given(const std::string& option) const {
  if (app_->count(option) == 0) return std::nullopt;
  return app_->get_option(option)->as<std::string>();
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : CommandLine(std::make_unique<CLI::App>(description, name)) {}
CommandLine::CommandLine(std::unique_ptr<CLI::App> app) : Command(*app), app_(std::move(app)) {}
CommandLine::~CommandLine() = default;

Result<std::string> CommandLine::parse(int argc, const char* const* argv) const {
  try {
    app_->parse(argc, argv);
    return "";
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app_->exit(success, text);
    return wrapped_help(text.str(), 80);
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(usage_errors(*app_, error));
  }
}

}  // namespace plumbline::cli
