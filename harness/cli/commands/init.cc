// plumbline init: writes a starter project: a suite, a kernel, its contract and plumbline.toml.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/program_folders.h"
#include "harness/cli/session.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

// A language of kernels: its template folder, the provider in plumbline.toml, and the three
// commands to run next, in which `plumbline` stands for this program.
struct Language {
  const char* name;
  const char* provider;
  std::array<const char*, 3> next;
};
constexpr const char* configure =
    "cmake -S . -B build -Dplumbline_DIR=\"$(plumbline --cmake-dir)\"";
constexpr std::array languages{
    Language{"python", "mine.py", {"plumbline list", "plumbline run", "plumbline show latest"}},
    Language{"torch", "mine.py", {"plumbline list", "plumbline run", "plumbline show latest"}},
    Language{"cpp", "build/mine.so", {configure, "cmake --build build", "plumbline run"}},
    Language{"c", "build/mine.so", {configure, "cmake --build build", "plumbline run"}},
};

struct InitOptions {
  fs::path folder = ".";
  std::string language = "python", format = "text";
  bool torch = false;
};

struct Template {
  fs::path from, to;  // `to` is relative to the project's folder
};

std::vector<Template> templates_of(const Language& language) {
  std::vector<Template> all;
  for (const char* part : {"common", language.name}) {
    const fs::path folder = template_directory() / part;
    std::error_code missing;
    for (const auto& entry : fs::recursive_directory_iterator(folder, missing))
      if (entry.is_regular_file())
        all.push_back({entry.path(), entry.path().lexically_relative(folder)});
    if (missing) {
      end_command(exit_infrastructure,
                  Error{folder.string(), 0, "the templates of `init` are missing",
                        "install plumbline again: cmake --install BUILD --prefix DIR"});
    }
  }
  std::ranges::sort(all, {}, &Template::to);
  return all;
}

std::string with_replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

// Returns this program as a command that works in any folder.
std::string absolute_program() {
  const std::string name = program_name();
  return name.find('/') == std::string::npos ? name : shell_quoted(fs::absolute(name).string());
}

Errors find_conflicts(const std::vector<Template>& files, const fs::path& folder) {
  std::vector<std::string> there;
  std::error_code ignored;
  for (const Template& file : files)
    if (fs::exists(fs::symlink_status(folder / file.to, ignored)))
      there.push_back(file.to.string());
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored))
    return {{folder.string(), 0, "is not a folder", "name a folder, or one that is not there yet"}};
  if (there.empty()) return {};
  return {{folder.string(), 0,
           fmt::format("nothing was written: {} {} there already", fmt::join(there, ", "),
                       there.size() == 1 ? "is" : "are"),
           "name another folder: plumbline init DIR"}};
}

int init(const InitOptions& options) {
  const Language& language =
      *std::ranges::find(languages, options.torch ? "torch" : options.language, &Language::name);
  const auto files = templates_of(language);
  end_on_errors(find_conflicts(files, options.folder), exit_usage);
  std::vector<std::string> written, next;
  for (const Template& file : files) {
    std::ifstream stream(file.from);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const fs::path to = options.folder / file.to;
    need(write_text(to, with_replaced(text, "@PROVIDER@", language.provider)));
    written.push_back(to.lexically_normal().string());
  }
  for (const char* command : language.next)
    next.push_back(with_replaced(command, "plumbline ", absolute_program() + " "));
  if (options.folder.lexically_normal() != ".")
    next.front() = fmt::format("cd {} && {}", shell_quoted(options.folder.string()), next.front());
  if (options.format == "json") {
    print_json(json_text({{"files", written}, {"next", next}}));
  } else {
    fmt::print("wrote {}\nnext:\n  {}\n", fmt::join(written, "\nwrote "), fmt::join(next, "\n  "));
  }
  return exit_fine;
}

}  // namespace

void add_init(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, init, "init",
               "Write a starter project: kernel, suite, contract and plumbline.toml");
  command.add_option("folder", options.folder, "DIR", "Target folder; created if missing")
      .capture_default_str();
  std::vector<std::string> names;
  for (const Language& language : languages) names.emplace_back(language.name);
  command
      .add_option("--provider", options.language,
                  "Language of the kernel; torch: in Python, on tensors of PyTorch")
      .one_of(names)
      .capture_default_str();
  command.add_flag("--torch", options.torch, "The same as --provider torch").excludes("--provider");
  add_format(command, options.format, {"text", "json"});
  command.footer(
      "Writes nothing if one of its files already exists (exit 2). Prints the three commands "
      "that lead to a verdict.\n"
      "Examples:\n  plumbline init mine\n  plumbline init --torch mine\n  plumbline init mine "
      "--provider cpp");
}

}  // namespace plumbline::cli
