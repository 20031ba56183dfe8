// plumbline completion: scripts for bash, zsh and fish, from what the command line says of itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/cli/commands/commands.h"
#include "harness/cli/formats.h"

namespace plumbline::cli {
namespace {

// What completes a value: words that are known, files or folders, or an answer of the program.
enum class Source { none, words, files, folders, suites, kernels };

Source source_of(const OptionFacts& option) {
  if (!option.words.empty()) return Source::words;
  if (option.value == "KERNEL") return Source::kernels;
  if (option.value == "SUITE.toml") return Source::suites;
  if (option.value == "DIR") return Source::folders;
  for (const char* file : {"FILE", ".db", ".csv", "DUMP"})
    if (option.value.find(file) != std::string::npos) return Source::files;
  return Source::none;
}

// How the scripts ask the program, in some 20 ms.
constexpr const char* ask_suites = "plumbline list --suites 2>/dev/null";
constexpr const char* ask_kernels = "plumbline list --kernels 2>/dev/null | sed 's/ .*//'";

// "run" and "baseline accept" of "plumbline …"; "" for the program itself.
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

// With those of the program that may stand behind every command.
std::vector<OptionFacts> options_of(const CommandFacts& command, const CommandFacts& program) {
  std::vector<OptionFacts> options = command.options;
  if (&command == &program) return options;
  std::ranges::copy_if(program.options, std::back_inserter(options), &OptionFacts::is_global);
  return options;
}

// One word for a shell: within single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The first sentence of a help text: what fits beside an option.
std::string short_help(const OptionFacts& option) {
  const std::string& help = option.help;
  const std::size_t end =
      std::min({help.find(": "), help.find("; "), help.find(" ("), help.find(". "), help.size()});
  return help.substr(0, end);
}

// ---- bash ----

std::string bash_source(const OptionFacts& option) {
  switch (source_of(option)) {
    case Source::words:
      return fmt::format("words {}", fmt::join(option.words, " "));
    case Source::files:
      return "files";
    case Source::folders:
      return "folders";
    case Source::suites:
      return "suites";
    case Source::kernels:
      return "kernels";
    case Source::none:
      break;
  }
  return "none";
}

constexpr const char* bash_frame = R"bash(
# A command line is cut at = and :, which stand within words of plumbline's.
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

# Fills COMPREPLY with what begins with $2, from a source.
_plumbline_from() {
  local IFS=$' \t\n'
  case $1 in
    words*) COMPREPLY=($(compgen -W "${1#words}" -- "$2")) ;;
    files) IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
    folders) IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
    suites) IFS=$'\n'; compopt -o filenames 2>/dev/null
      COMPREPLY=($({ compgen -f -X '!*.toml' -- "$2"; compgen -d -- "$2"
        compgen -W "$(@SUITES@)" -- "$2"; } | sort -u)) ;;
    kernels) COMPREPLY=($(compgen -W "$(@KERNELS@)" -- "$2")) ;;
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
  # Readline replaces what stands behind the last = or : only.
  for i in = :; do
    [[ $COMP_WORDBREAKS == *$i* && $current == *$i* ]] || continue
    option=${current%"${current##*$i}"}
    COMPREPLY=("${COMPREPLY[@]#"$option"}")
  done
}
complete -F _plumbline plumbline
)bash";

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  return text.replace(text.find(word), word.size(), by);
}

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
          fmt::format("    {}) source={} ;;\n", fmt::join(cases, "|"), quoted(bash_source(option)));
    }
    options += fmt::format("    {}) echo {} ;;\n", quoted(path),
                           quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  std::string frame = replaced(bash_frame, "@SUITES@", ask_suites);
  frame = replaced(frame, "@KERNELS@", ask_kernels);
  return "# bash completion of plumbline: source <(plumbline completion bash)\n\n"
         "# Commands below a command, options of a command, and where the value of an option "
         "comes\n"
         "# from; that of a positional one behind a comma alone.\n"
         "_plumbline_commands() {\n  case $1 in\n" +
         commands +
         "  esac\n}\n"
         "_plumbline_options() {\n  case $1 in\n" +
         options +
         "  esac\n}\n"
         "_plumbline_value() {\n  case \"$1,$2\" in\n" +
         values + "    *) return 1 ;;\n  esac\n}\n" + frame;
}

// ---- zsh ----

std::string zsh_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_action(const OptionFacts& option) {
  switch (source_of(option)) {
    case Source::words:
      return fmt::format("({})", fmt::join(option.words, " "));
    case Source::files:
      return "_files";
    case Source::folders:
      return "_files -/";
    case Source::suites:
      return "_plumbline_suites";
    case Source::kernels:
      return "_plumbline_kernels";
    case Source::none:
      break;
  }
  return " ";
}

std::string zsh_argument(const OptionFacts& option) {
  const std::string value =
      option.takes_value ? fmt::format(":{}:{}", zsh_escaped(option.value), zsh_action(option))
                         : "";
  if (option.is_positional)
    return "    " + quoted((option.is_repeated ? "*" : "") + value) + " \\\n";
  std::string lines;
  const std::string others = fmt::format("({})", fmt::join(option.names, " "));
  for (const std::string& name : option.names) {
    const std::string equals = option.takes_value && name.starts_with("--") ? "=" : "";
    lines += "    " +
             quoted((option.is_repeated ? "*" : others) + name + equals + "[" +
                    zsh_escaped(short_help(option)) + "]" + value) +
             " \\\n";
  }
  return lines;
}

std::string function_name(const CommandFacts& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '_');
  return "_" + name + (command.name == "plumbline" ? "_command" : "");
}

std::string zsh_function(const CommandFacts& command, const CommandFacts& program) {
  std::string text = function_name(command) + "() {\n";
  if (!command.commands.empty())
    text += "  local context state state_descr line\n  typeset -A opt_args\n";
  text += command.commands.empty() ? "  _arguments -s \\\n" : "  _arguments -s -C \\\n";
  for (const OptionFacts& option : options_of(command, program)) text += zsh_argument(option);
  if (command.commands.empty()) return text + "    && return\n}\n";
  text +=
      "    '1: :->command' '*:: :->arguments' && return\n  case $state in\n    command)\n"
      "      local -a commands=(\n";
  std::string branches;
  for (const CommandFacts& below : command.commands) {
    const std::string word = below.name.substr(command.name.size() + 1);
    text += "        " + quoted(word + ":" + zsh_escaped(below.help)) + "\n";
    branches += fmt::format("        {}) {} ;;\n", word, function_name(below));
  }
  return text +
         "      )\n      _describe command commands ;;\n    arguments)\n"
         "      case $line[1] in\n" +
         branches + "      esac ;;\n  esac\n}\n";
}

std::string zsh_script(const CommandFacts& program) {
  std::string text = fmt::format(
      "#compdef plumbline\n# zsh completion of plumbline: source <(plumbline completion zsh), or "
      "as "
      "_plumbline in $fpath\n\n"
      "_plumbline_suites() {{\n  local -a suites=(${{(f)\"$({})\"}})\n  compadd -a suites\n"
      "  _files -g '*.toml'\n}}\n"
      "_plumbline_kernels() {{\n  local -a kernels=(${{(f)\"$({})\"}})\n  compadd -a kernels\n}}\n",
      ask_suites, ask_kernels);
  for (const CommandFacts* command : all_commands(program)) text += zsh_function(*command, program);
  return text +
         "_plumbline() { _plumbline_command \"$@\" }\n"
         "if [[ $funcstack[1] == _plumbline ]]; then\n  _plumbline \"$@\"\nelse\n"
         "  compdef _plumbline plumbline\nfi\n";
}

// ---- fish ----

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_source(const OptionFacts& option) {
  switch (source_of(option)) {
    case Source::words:
      return "-x -a " + fish_quoted(fmt::format("{}", fmt::join(option.words, " ")));
    case Source::files:
      return "-r -F";
    case Source::folders:
      return "-x -a '(__fish_complete_directories)'";
    case Source::suites:
      return fmt::format("-x -a '({}; __fish_complete_suffix .toml)'", ask_suites);
    case Source::kernels:
      return fmt::format("-x -a \"({})\"", ask_kernels);
    case Source::none:
      break;
  }
  return "-x";
}

std::string fish_option(const std::string& at, const OptionFacts& option) {
  std::string line = "complete -c plumbline -n " + fish_quoted("__plumbline_at " + fish_quoted(at));
  if (option.is_positional) {
    std::string source = fish_source(option);
    if (source == "-x") return "";
    if (source == "-r -F") source = "-F";
    if (source.starts_with("-x ")) source = source.substr(3);
    return line + " " + source + "\n";
  }
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) line += " " + fish_source(option);
  return line + " -d " + fish_quoted(short_help(option)) + "\n";
}

std::string fish_script(const CommandFacts& program) {
  std::string known, text;
  for (const CommandFacts* command : all_commands(program)) {
    const std::string path = path_of(*command);
    if (!path.empty()) known += " " + fish_quoted(path);
    for (const CommandFacts& below : command->commands) {
      text += "complete -c plumbline -n " + fish_quoted("__plumbline_at " + fish_quoted(path)) +
              " -a " + below.name.substr(command->name.size() + 1) + " -d " +
              fish_quoted(below.help) + "\n";
    }
    for (const OptionFacts& option : options_of(*command, program))
      text += fish_option(path, option);
  }
  return "# fish completion of plumbline: plumbline completion fish | source\n\n"
         "# Whether the words so far name this command; '' is the program alone.\n"
         "function __plumbline_at\n  set -l path ''\n  set -l known" +
         known +
         "\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    set -l next (string trim -- \"$path $word\")\n"
         "    contains -- $next $known; and set path $next\n  end\n"
         "  test \"$path\" = \"$argv[1]\"\nend\n\ncomplete -c plumbline -f\n" +
         text;
}

struct Shell {
  const char* name;
  std::string (*script)(const CommandFacts& program);
};
constexpr std::array shells{Shell{"bash", bash_script}, Shell{"zsh", zsh_script},
                            Shell{"fish", fish_script}};

}  // namespace

void add_completion(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("completion", "Print what completes this command in bash, zsh or fish");
  auto chosen = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& shell : shells) names.emplace_back(shell.name);
  command.add_option("shell", *chosen, "Whose script").one_of(names).required();
  command.footer(
      "An installed plumbline has these files where the shells look for them, under share/.\n"
      "Examples:\n"
      "  source <(plumbline completion bash)      # in ~/.bashrc\n"
      "  source <(plumbline completion zsh)       # in ~/.zshrc, behind compinit\n"
      "  plumbline completion fish | source       # in ~/.config/fish/config.fish");
  command.callback([app, chosen, &exit_code] {
    const Shell& shell = *std::ranges::find(shells, *chosen, &Shell::name);
    fmt::print("{}", shell.script(app.facts()));
    exit_code = exit_fine;
  });
}

}  // namespace plumbline::cli
