// plumbline completion: a script for bash, made from the description of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/cli/commands/commands.h"

namespace plumbline::cli {
namespace {

// Returns "run" or "baseline accept" of "plumbline …"; "" for the program itself.
std::string path_of(const CommandFacts& command) {
  return command.name.size() > 10 ? command.name.substr(10) : "";
}

std::vector<const CommandFacts*> all_commands(const CommandFacts& program) {
  std::vector<const CommandFacts*> all{&program};
  for (const CommandFacts& command : program.commands) {
    const auto below = all_commands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// Returns the command's options and the program's options that every command accepts.
std::vector<OptionFacts> options_of(const CommandFacts& command, const CommandFacts& program) {
  std::vector<OptionFacts> options = command.options;
  if (&command == &program) return options;
  std::ranges::copy_if(program.options, std::back_inserter(options), &OptionFacts::is_global);
  return options;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Returns the argument of _plumbline_from that completes a value: known words, paths, or the output
// of `plumbline list`, which takes about 20 ms.
std::string source_of(const OptionFacts& option) {
  if (!option.words.empty()) return fmt::format("words {}", fmt::join(option.words, " "));
  if (option.value == "KERNEL") return "kernels";
  if (option.value == "SUITE.toml") return "suites";
  if (option.value == "DIR") return "folders";
  for (const char* file : {"FILE", ".db", ".csv", "DUMP"})
    if (option.value.find(file) != std::string::npos) return "files";
  return "none";
}

constexpr const char* bash_frame = R"bash(
# Bash splits a command line at = and :, which occur within plumbline's words.
_plumbline_words() {
  local i word joins=0
  words=()
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && { ((joins)) || [[ $word == [=:]* ]]; }; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    joins=0
    [[ $word == [=:] ]] && joins=1
  done
}

# Fills COMPREPLY with the words of source $1 that begin with $2.
_plumbline_from() {
  local IFS=$' \t\n'
  case $1 in
    words*) COMPREPLY=($(compgen -W "${1#words}" -- "$2")) ;;
    files) IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
    folders) IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
    suites) IFS=$'\n'; compopt -o filenames 2>/dev/null
      COMPREPLY=($({ compgen -f -X '!*.toml' -- "$2"; compgen -d -- "$2"
        compgen -W "$(plumbline list --suites 2>/dev/null)" -- "$2"; } | sort -u)) ;;
    kernels) COMPREPLY=($(compgen -W "$(plumbline list --kernels 2>/dev/null | sed 's/ .*//')" -- "$2")) ;;
  esac
}

_plumbline() {
  local -a words
  local path='' current option source reply i value=0
  _plumbline_words
  current=${words[${#words[@]}-1]}
  COMPREPLY=()
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    if ((value)); then value=0; continue; fi
    case ${words[i]} in
      -*=*) ;;
      -*) _plumbline_value "$path" "${words[i]}" && value=1 ;;
      *) reply=$(_plumbline_commands "$path")
        [[ " $reply " == *" ${words[i]} "* ]] && path="${path:+$path }${words[i]}" ;;
    esac
  done
  if ((value)); then
    _plumbline_value "$path" "${words[i-1]}"
    _plumbline_from "$source" "$current"
  elif [[ $current == --*=* ]]; then
    option=${current%%=*}
    _plumbline_value "$path" "$option" || return 0
    _plumbline_from "$source" "${current#*=}"
    COMPREPLY=("${COMPREPLY[@]/#/$option=}")
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_plumbline_options "$path")" -- "$current"))
  else
    reply=$(_plumbline_commands "$path")
    if [[ -n $reply ]]; then
      COMPREPLY=($(compgen -W "$reply" -- "$current"))
    else
      _plumbline_value "$path" '' && _plumbline_from "$source" "$current"
    fi
  fi
  # Readline replaces only the text after the last = or :.
  for i in = :; do
    [[ $COMP_WORDBREAKS == *$i* && $current == *$i* ]] || continue
    option=${current%"${current##*$i}"}
    COMPREPLY=("${COMPREPLY[@]#"$option"}")
  done
}
complete -F _plumbline plumbline
)bash";

std::string bash_script(const CommandFacts& program) {
  std::string commands, options, values;
  for (const CommandFacts* command : all_commands(program)) {
    const std::string path = path_of(*command);
    std::vector<std::string> names;
    for (const CommandFacts& below : command->commands)
      names.push_back(path_of(below).substr(path.empty() ? 0 : path.size() + 1));
    if (!names.empty())
      commands += fmt::format("    {}) echo {} ;;\n", quoted(path),
                              quoted(fmt::format("{}", fmt::join(names, " "))));
    std::vector<std::string> words;
    for (const OptionFacts& option : options_of(*command, program)) {
      if (!option.is_positional)
        words.insert(words.end(), option.names.begin(), option.names.end());
      if (!option.takes_value) continue;
      std::vector<std::string> cases;
      for (const std::string& name : option.names)
        cases.push_back(quoted(path + "," + (option.is_positional ? "" : name)));
      values +=
          fmt::format("    {}) source={} ;;\n", fmt::join(cases, "|"), quoted(source_of(option)));
    }
    options += fmt::format("    {}) echo {} ;;\n", quoted(path),
                           quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return "# bash completion of plumbline: source <(plumbline completion bash)\n\n"
         "# The subcommands and options of a command, and the source of an option's value. A\n"
         "# positional argument has no name after the comma.\n"
         "_plumbline_commands() {\n  case $1 in\n" +
         commands +
         "  esac\n}\n"
         "_plumbline_options() {\n  case $1 in\n" +
         options +
         "  esac\n}\n"
         "_plumbline_value() {\n  case \"$1,$2\" in\n" +
         values + "    *) return 1 ;;\n  esac\n}\n" + bash_frame;
}

}  // namespace

void add_completion(Command app, int& exit_code) {
  const Command command = app.add_subcommand("completion", "Print the completion script for bash");
  auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "Shell of the script").one_of({"bash"}).required();
  command.footer(
      "An installed plumbline has this file where bash looks for it, under share/. zsh reads it\n"
      "after `autoload -U bashcompinit && bashcompinit`.\n"
      "Example:\n"
      "  source <(plumbline completion bash)      # in ~/.bashrc");
  command.callback([app, shell, &exit_code] {  // the parser writes to *shell
    fmt::print("{}", bash_script(app.facts()));
    exit_code = exit_fine;
  });
}

}  // namespace plumbline::cli
