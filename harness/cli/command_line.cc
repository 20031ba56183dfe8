// Adapts commands and options to CLI11, and writes the messages of usage errors.
#include "harness/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/errors.h"

namespace plumbline::cli {
namespace {

using Words = std::vector<std::string>;

// Returns the innermost command that the command line names, or `app` if it names none.
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
  if (command.get_parent() != nullptr) names = long_options(*command.get_parent());
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

// The app of a CommandLine, and the state that CLI11 does not keep.
struct Program : CLI::App {
  using CLI::App::App;
  std::set<const CLI::Option*> global, set_by_setting;
  std::function<Result<void>(Command)> before_callbacks;
  std::string remedy_of_unknown_words;
};
const Program& program_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? static_cast<const Program&>(app) : program_of(*parent);
}
Program& program_of(CLI::App& app) {
  CLI::App* const parent = app.get_parent();
  return parent == nullptr ? static_cast<Program&>(app) : program_of(*parent);
}

Error unknown_word(const CLI::App& command, const std::string& word) {
  std::string help = fmt::format("`{} --help` lists commands and options", full_name(command));
  if (const std::string& other = program_of(command).remedy_of_unknown_words; !other.empty())
    help += "; for other commands and options: " + other;
  if (word.starts_with("-")) {
    const std::string option = word.substr(0, word.find('='));
    return {"", 0, fmt::format("{}: there is no option {}", full_name(command), option),
            did_you_mean(option, long_options(command)) + help};
  }
  const Words commands = names_of_commands(command);
  if (!commands.empty()) {
    return {"", 0, fmt::format("{}: there is no command {}", full_name(command), word),
            did_you_mean(word, commands) + help};
  }
  return {"", 0, fmt::format("{} does not take the word \"{}\"", full_name(command), word), help};
}

// Returns the first example of a command, from its --help or the help of a command above it; "" if
// there is none.
std::string first_example(const CLI::App& command) {
  const std::string start = full_name(command) + " ";
  for (const CLI::App* of = &command; of != nullptr; of = of->get_parent()) {
    const std::string footer = of->get_footer();
    for (const std::string_view line : split(footer, '\n')) {
      const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      if (text.starts_with(start)) return std::string(text.substr(0, text.find("  #")));
    }
  }
  return "";
}

// Returns an error about the first required argument that is missing, with its help text.
std::optional<Error> missing_argument(const CLI::App& command) {
  const auto required = command.get_options([](const CLI::Option* option) {
    return option->get_required() &&
           option->count() < static_cast<std::size_t>(option->get_items_expected_min());
  });
  if (required.empty()) return std::nullopt;
  const CLI::Option& option = *required.front();
  const std::string name =
      option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
  const std::string example = first_example(command);
  return Error{
      "", 0,
      fmt::format("{}: {} is missing: {}", full_name(command), name, option.get_description()),
      fmt::format("{}`{} --help` describes its arguments",
                  example.empty() ? "" : fmt::format("for example `{}`; ", example),
                  full_name(command))};
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
  const std::string help = fmt::format("`{} --help` lists the commands", full_name(command));
  if (lacks_command) return {{"", 0, fmt::format("{}: name a command", full_name(command)), help}};
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (auto missing = missing_argument(command)) return {std::move(*missing)};
  }
  return {{"", 0, fmt::format("{}: {}", full_name(command), error.what()),
           fmt::format("`{} --help` describes its arguments", full_name(command))}};
}

std::string set_of(const Words& words) { return fmt::format("{{{}}}", fmt::join(words, ",")); }

// Parses "TEXT:{text,json}": CLI11's type name, then the words that its validators accept.
void read_type(const std::string& type, OptionFacts& facts) {
  const std::size_t begin = type.find(":{"), end = type.find('}');
  facts.value = type.substr(0, begin);
  if (begin == std::string::npos || end == std::string::npos) return;
  const std::string words = type.substr(begin + 2, end - begin - 2);
  for (const std::string_view word : split(words, ',')) facts.words.emplace_back(word);
}

OptionFacts facts_of(const CLI::Option& option, const Program& known) {
  OptionFacts facts;
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  facts.is_positional = facts.names.empty();
  if (facts.is_positional) facts.names = {option.get_name()};
  facts.takes_value = option.get_items_expected_max() != 0;  // 0 for a flag
  facts.is_repeated = option.get_items_expected_max() > 1;
  facts.is_required = option.get_required();
  if (facts.takes_value) read_type(option.get_type_name(), facts);
  facts.help = option.get_description();
  facts.standard = option.get_default_str();
  facts.is_global = known.global.contains(&option);
  return facts;
}

CommandFacts facts_of(const CLI::App& app) {
  CommandFacts facts{full_name(app), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    facts.options.push_back(facts_of(*option, program_of(app)));
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
    facts.commands.push_back(facts_of(*command));
  return facts;
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
Option Option::offers(const std::vector<std::string>& words) const {
  const auto accepts_all = [](std::string&) { return std::string(); };
  return Option(*option_->check(CLI::Validator(accepts_all, set_of(words))));
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
void Command::add_text_flag(const std::string& names,
                            const std::function<Result<std::string>()>& text,
                            const std::string& help) const {
  const auto print = [text] { throw CLI::CallForVersion(need(text(), exit_usage), 0); };
  app_->add_flag_callback(names, print, help);
}
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::callback(const std::function<void()>& function) const {
  app_->callback([command = *this, function] {
    if (const auto& before = program_of(*command.app_).before_callbacks)
      need(before(command), exit_usage);
    function();
  });
}

bool Command::has(const std::string& option) const {
  return app_->get_option_no_throw(option) != nullptr;
}
std::optional<std::string> Command::given(const std::string& option) const {
  if (app_->count(option) == 0) return std::nullopt;
  return app_->get_option(option)->as<std::string>();
}
bool Command::is_typed(const std::string& option) const {
  const CLI::Option* const known = app_->get_option(option);
  return known->count() > 0 && !program_of(*app_).set_by_setting.contains(known);
}

Result<bool> Command::give(const SettingValue& setting) const {
  CLI::Option* const option = app_->get_option_no_throw(setting.option);
  if (option == nullptr || option->count() > 0) return false;
  const auto is_given = [](const CLI::Option* other) { return other->count() > 0; };
  if (std::ranges::any_of(option->get_excludes(), is_given)) return false;
  for (const std::string& other : setting.unless) {
    const CLI::Option* const known = app_->get_option_no_throw(other);
    if (known != nullptr && is_given(known)) return false;
  }
  try {
    for (const std::string& value : setting.values) option->add_result(value);
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    Error said = setting.at;
    said.message = error.what();
    said.remedy = fmt::format("`{} --help` describes {}", full_name(*app_), setting.option);
    return fail(said);
  }
  program_of(*app_).set_by_setting.insert(option);
  return true;
}

std::string Command::name() const { return full_name(*app_); }
CommandFacts Command::facts() const { return facts_of(program_of(*app_)); }

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : CommandLine(std::make_unique<Program>(description, name)) {}
CommandLine::CommandLine(std::unique_ptr<CLI::App> app) : Command(*app), app_(std::move(app)) {}
CommandLine::~CommandLine() = default;

void CommandLine::add_global(const std::function<void(Command)>& add) const {
  const auto had = app_->get_options();
  add(*this);
  for (const CLI::Option* option : app_->get_options()) {
    if (std::ranges::find(had, option) == had.end()) program_of(*app_).global.insert(option);
  }
  app_->fallthrough();  // inherited by commands that are added after this call
}
void CommandLine::before_callbacks(const std::function<Result<void>(Command)>& function) const {
  program_of(*app_).before_callbacks = function;
}
void CommandLine::remedy_of_unknown_words(const std::string& remedy) const {
  program_of(*app_).remedy_of_unknown_words = remedy;
}

Result<std::string> CommandLine::parse(int argc, const char* const* argv) const {
  try {
    app_->parse(argc, argv);
    return "";
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app_->exit(success, text);
    // the output of --version and of flags that print paths must not be wrapped
    const bool is_help = dynamic_cast<const CLI::CallForVersion*>(&success) == nullptr;
    return is_help ? wrapped_help(text.str(), 80) : text.str();
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(usage_errors(*app_, error));
  }
}

}  // namespace plumbline::cli
