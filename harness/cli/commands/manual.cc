// plumbline manual: a manual page (roff) for the program and for each command, made from the
// description of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/build_info.h"
#include "harness/base/text.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/outputs.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

// Returns the code point that begins at text[at], and moves `at` to its last byte.
unsigned code_point(const std::string& text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  unsigned code = first & (0x3FU >> static_cast<unsigned>(more));
  for (int i = 0; i < more && at + 1 < text.size(); ++i)
    code = code << 6U | (static_cast<unsigned char>(text[++at]) & 0x3FU);
  return code;
}

// Escapes a line so that roff prints every character of it literally.
std::string roff(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      result += fmt::format("\\[u{:04X}]", code_point(text, i));
    } else if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else if (c == '`') {
      result += "\\(ga";
    } else if (c == '~') {
      result += "\\(ti";
    } else if (c == '^') {
      result += "\\(ha";
    } else {
      if (c == '.' && i == 0) result += "\\&";
      result += c;
    }
  }
  return result;
}

// Adds the full stop that help texts leave out.
std::string sentence(const std::string& text) {
  return roff(text) + (text.ends_with('.') || text.ends_with('?') ? "\n" : ".\n");
}

std::string page_of(const std::string& command) {
  std::string page = command;
  std::ranges::replace(page, ' ', '-');
  return page;
}

std::string value_of(const OptionFacts& option) {
  return option.words.empty() ? option.value : fmt::format("{}", fmt::join(option.words, "|"));
}

std::string option_text(const OptionFacts& option) {
  std::vector<std::string> names;
  const std::string value = option.takes_value ? " \\fI" + roff(value_of(option)) + "\\fR" : "";
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string text = fmt::format(".TP\n{}{}\n", fmt::join(names, ", "), value);
  text += option.help.empty() ? "\\&\n" : sentence(option.help);
  if (!option.standard.empty() && option.takes_value)
    text += roff("Default: " + option.standard + ".") + "\n";
  return text;
}

// Formats prose as paragraphs, and keeps indented lines as they are.
std::string footer_text(const std::string& footer) {
  std::string text;
  bool shown = false;
  for (const std::string_view view : split(footer, '\n')) {
    const std::string line(view);
    const bool indented = line.starts_with("  ");
    if (shown && !indented) text += ".RE\n.fi\n";
    if (indented) {
      if (!shown) text += ".nf\n.RS 2\n";
      text += roff(line.substr(2)) + "\n";
    } else if (line == "Examples:" || line == "Example:") {
      text += ".SH EXAMPLES\n";
    } else if (line.starts_with("Exit codes: ")) {
      text += ".SH \"EXIT STATUS\"\n" + roff(line.substr(12)) + "\n";
    } else if (!line.empty()) {
      text += (shown || text.empty() ? ".PP\n" : "") + roff(line) + "\n";
    }
    shown = indented;
  }
  return text + (shown ? ".RE\n.fi\n" : "");
}

std::string synopsis(const CommandFacts& command) {
  std::string text = ".B " + roff(command.name) + "\n";
  if (!command.commands.empty()) return text + ".I COMMAND\n";
  text += "[\\fIOPTIONS\\fR]\n";
  for (const OptionFacts& option : command.options) {
    if (!option.is_positional) continue;
    const std::string word =
        "\\fI" + roff(value_of(option)) + "\\fR" + (option.is_repeated ? "\\[u2026]" : "");
    text += (option.is_required ? word : "[" + word + "]") + "\n";
  }
  return text;
}

// `parent`: the command above; null for the program.
std::string page(const CommandFacts& command, const CommandFacts* parent) {
  std::string upper = page_of(command.name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::string first = command.help.substr(0, command.help.find('\n'));
  const std::string what = parent == nullptr ? first.substr(first.find(": ") + 2) : first;
  std::string text = fmt::format(
      ".\\\" Written by plumbline manual.\n.TH {} 1 \"\" \"plumbline {}\" \"plumbline\"\n",
      roff(upper), build::version);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", roff(page_of(command.name)),
                      roff(what), synopsis(command));
  std::string description = command.help;
  std::ranges::replace(description, '\n', ' ');
  text += ".SH DESCRIPTION\n" + sentence(description);
  if (!command.options.empty()) text += ".SH OPTIONS\n";
  for (const OptionFacts& option : command.options) text += option_text(option);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandFacts& below : command.commands)
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}", roff(page_of(below.name)), sentence(below.help));
  text += footer_text(command.footer);
  if (parent == nullptr) return text;
  return text + fmt::format(".SH \"SEE ALSO\"\n\\fB{}\\fR(1)\n", roff(page_of(parent->name)));
}

Errors write_pages(const CommandFacts& command, const CommandFacts* parent,
                   const std::filesystem::path& folder) {
  Errors errors;
  if (auto written = write_text(folder / (page_of(command.name) + ".1"), page(command, parent));
      !written)
    errors = written.error();
  for (const CommandFacts& below : command.commands) {
    const Errors more = write_pages(below, &command, folder);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  return errors;
}

}  // namespace

void add_manual(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("manual", "Write the manual pages of this command into a folder");
  auto folder = std::make_shared<std::filesystem::path>();
  command
      .add_option("folder", *folder, "DIR",
                  "Target folder for plumbline.1, plumbline-run.1 and so on")
      .required();
  command.footer(
      "An installed plumbline has them under share/man: man plumbline-run.\n"
      "Example:\n  plumbline manual out/man1 && man -l out/man1/plumbline-run.1");
  command.callback([app, folder, &exit_code] {
    const Errors errors = write_pages(app.facts(), nullptr, *folder);
    exit_code = errors.empty() ? exit_fine : report_errors(errors, exit_infrastructure);
  });
}

}  // namespace plumbline::cli
