// Finds and reads plumbline.toml, and gives its values to options that the command line leaves out.
#include "harness/cli/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <array>

#include "harness/base/table_reader.h"
#include "harness/base/text.h"

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

// suite, provider: a path if the file exists, otherwise a name that comes with plumbline.
enum class Kind { text, number, flag, path, suite, provider };

// Every setting. docs/configuration.md has the same table for users, and a test compares them.
struct Setting {
  std::string_view table;  // "": the top level of the file, for every command that has the option
  std::string_view key, option;
  Kind kind = Kind::text;
  bool is_list = false;
  const char* variable = nullptr;          // environment variable; ';' separates entries
  std::array<const char*, 3> unless = {};  // options that override the setting
};
constexpr std::array settings{
    Setting{"", "providers", "--provider", Kind::provider, true, "PLUMBLINE_PROVIDERS"},
    Setting{"", "no_default_provider", "--no-default-provider", Kind::flag},
    Setting{
        "", "suites", "suites", Kind::suite, true, nullptr, {"--case", "--kernels", "--suites"}},
    Setting{"", "db", "--db", Kind::path, false, "PLUMBLINE_DB"},
    Setting{"", "baselines", "--baselines", Kind::path, false, "PLUMBLINE_BASELINES"},
    Setting{"run", "jobs", "--jobs", Kind::number, false, "PLUMBLINE_JOBS"},
    Setting{"run", "timeout", "--timeout", Kind::number},
    Setting{"run", "memory_limit", "--memory-limit", Kind::number},
    Setting{"run", "repetitions", "--repetitions", Kind::number},
    Setting{"run", "tier", "--tier"},
    Setting{"run", "kernels", "--kernel", Kind::text, true},
    Setting{"run", "devices", "--device", Kind::text, true},
    Setting{"run", "seed", "--seed", Kind::number},
    Setting{"run", "reference_cache", "--reference-cache", Kind::path},
    Setting{"run", "save_failures", "--save-failures", Kind::path},
    Setting{"report", "junit", "--junit", Kind::path},
    Setting{"report", "markdown", "--markdown", Kind::path},
};
// The tables of the file. Both apply to `plumbline run`; the top level applies to every command.
constexpr std::array<std::string_view, 2> tables{"run", "report"};
constexpr std::string_view command_of_tables = "plumbline run";
// Commands without settings, because their --provider, --db or suites have another meaning or none.
constexpr std::array<std::string_view, 4> commands_without_settings{
    "plumbline init", "plumbline audit", "plumbline confirm", "plumbline resources"};

std::vector<std::string_view> keys_of(std::string_view table) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : settings)
    if (setting.table == table) keys.push_back(setting.key);
  if (table.empty()) keys.insert(keys.end(), tables.begin(), tables.end());
  return keys;
}

Result<fs::path> find_file(const SettingsOptions& options) {
  if (options.none) return fs::path();
  const std::string variable = environment_text("PLUMBLINE_CONFIG");
  const fs::path named = options.file.empty() ? fs::path(variable) : options.file;
  std::error_code ignored;
  if (!named.empty()) {
    if (fs::exists(named, ignored)) return named;
    return fail(Error{named.string(), 0,
                      fmt::format("{} names a file that is not there",
                                  options.file.empty() ? "PLUMBLINE_CONFIG" : "--config"),
                      "correct it, or run without a file: --no-config"});
  }
  const fs::path here = fs::current_path(ignored);
  for (fs::path folder = here; !folder.empty(); folder = folder.parent_path()) {
    if (const fs::path file = folder / settings_file_name; fs::is_regular_file(file, ignored))
      return file.lexically_relative(here);
    if (folder == folder.root_path()) break;
  }
  return fs::path();
}

bool names_files(const fs::path& pattern) {
  glob_t found{};
  const bool any = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
  ::globfree(&found);
  return any;
}

// Returns a value of the file as it would be typed on the command line.
std::string typed(const Setting& setting, const std::string& value, const fs::path& folder) {
  const fs::path here = (folder / value).lexically_normal();
  switch (setting.kind) {
    case Kind::path:
      return here.string();
    case Kind::suite:
      return names_files(here) ? here.string() : value;
    case Kind::provider: {
      const std::size_t options = std::min(value.find(':'), value.size());
      const fs::path file = (folder / value.substr(0, options)).lexically_normal();
      // a path may also name a library that is not built yet
      const bool is_path = fs::exists(file) || value.find('/') < options;
      return is_path ? file.string() + value.substr(options) : value;
    }
    default:
      return value;
  }
}

void add_value(const Setting& setting, const ConfigNode& node, const fs::path& folder,
               SettingValue& given, Errors& errors) {
  const bool good =
      setting.kind == Kind::number
          ? node.kind == ConfigNode::Kind::integer || node.kind == ConfigNode::Kind::real
      : setting.kind == Kind::flag ? node.kind == ConfigNode::Kind::boolean
                                   : node.kind == ConfigNode::Kind::string && !node.text.empty();
  if (good) {
    if (setting.kind != Kind::flag || node.boolean)
      given.values.push_back(typed(setting, node.text, folder));
    return;
  }
  const auto [what, example] = setting.kind == Kind::number ? std::pair{"a number", "8"}
                               : setting.kind == Kind::flag ? std::pair{"true or false", "true"}
                                                            : std::pair{"a text", "\"…\""};
  const std::string whole = setting.is_list ? fmt::format("[{}]", example) : example;
  errors.push_back(node.error(fmt::format("{} is not {}", setting.key, what),
                              fmt::format("write {} = {}", setting.key, whole)));
}

std::optional<SettingValue> value_of_file(const Setting& setting, const ConfigNode& table,
                                          const fs::path& folder, Errors& errors) {
  const ConfigNode* const node = table.find(setting.key);
  if (node == nullptr) return std::nullopt;
  SettingValue given{std::string(setting.option), {}, {}, node->error("")};
  if (setting.is_list) {
    for (const ConfigNode* item : TableReader(table, errors).texts(setting.key))
      add_value(setting, *item, folder, given, errors);
  } else {
    add_value(setting, *node, folder, given, errors);
  }
  return given;
}

std::optional<SettingValue> value_of_environment(const Setting& setting) {
  if (setting.variable == nullptr) return std::nullopt;
  const std::string text = environment_text(setting.variable);
  if (text.empty()) return std::nullopt;
  SettingValue given{std::string(setting.option), {text}, {}, {}};
  given.at.file = setting.variable;
  if (!setting.is_list) return given;
  given.values.clear();
  for (const std::string_view part : split(text, ';'))
    if (!part.empty()) given.values.emplace_back(part);
  return given;
}

// The file's values, in the order of `settings`. An absent table counts as empty.
using Values = std::array<std::optional<SettingValue>, settings.size()>;

Result<Values> read_file(const fs::path& path) {
  Values values;
  const auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  reject_unknown_keys(*file, keys_of(""), errors);
  for (const std::string_view name : tables) {
    const ConfigNode* const table = file->find(name);
    if (table == nullptr) continue;
    if (table->kind != ConfigNode::Kind::table)
      errors.push_back(table->error(fmt::format("{} is not a table", name),
                                    fmt::format("write [{}], and its keys below", name)));
    reject_unknown_keys(*table, keys_of(name), errors);
  }
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    const ConfigNode* const table = setting.table.empty() ? &*file : file->find(setting.table);
    if (table != nullptr) values[i] = value_of_file(setting, *table, path.parent_path(), errors);
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return values;
}

bool concerns(const Setting& setting, const Command& command) {
  return setting.table.empty() || command.name() == command_of_tables;
}

}  // namespace

void SettingsOptions::add_to(Command program) {
  program.add_option("--config", file, "FILE",
                     "File of settings (default: PLUMBLINE_CONFIG, otherwise the nearest "
                     "plumbline.toml in this folder or above)");
  program.add_flag("--no-config", none, "Read no file of settings").excludes("--config");
}

std::string SettingsInUse::sentence() const {
  if (changed.empty()) return "";
  return fmt::format("settings of {}: {}", file.empty() ? "the environment" : file.string(),
                     fmt::join(changed, ", "));
}

SettingsInUse& settings_in_use() {
  static SettingsInUse of_this_process;
  return of_this_process;
}

void print_settings_in_use() {
  const std::string sentence = settings_in_use().sentence();
  if (!sentence.empty()) fmt::print(stderr, "{}\n", sentence);
}

Result<void> apply_settings(Command command, const SettingsOptions& options) {
  const std::string name = command.name();
  if (std::ranges::find(commands_without_settings, name) != commands_without_settings.end())
    return {};
  const bool any = std::ranges::any_of(settings, [&](const Setting& setting) {
    return concerns(setting, command) && command.has(std::string(setting.option));
  });
  if (!any) return {};
  SettingsInUse& in_use = settings_in_use();
  const auto file = find_file(options);
  if (!file) return tl::unexpected(file.error());
  in_use.file = *file;
  Values values;
  if (!file->empty()) {
    auto read = read_file(*file);
    if (!read) return tl::unexpected(read.error());
    values = std::move(*read);
  }
  Errors errors;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (!concerns(settings[i], command)) continue;
    const auto variable = value_of_environment(settings[i]);
    auto given = variable ? variable : values[i];
    if (!given || given->values.empty()) continue;
    for (const char* other : settings[i].unless)
      if (other != nullptr) given->unless.emplace_back(other);
    const auto done = command.give(*given);
    if (!done) errors.insert(errors.end(), done.error().begin(), done.error().end());
    if (!done || !*done) continue;
    const std::string value =
        settings[i].kind == Kind::flag ? "" : fmt::format(" {}", fmt::join(given->values, " "));
    in_use.changed.push_back(given->option + value +
                             (variable ? fmt::format(" ({})", settings[i].variable) : ""));
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return {};
}

}  // namespace plumbline::cli
