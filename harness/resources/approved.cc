// Reads approved figures from TOML, and writes them in the form in which they are reviewed.
#include "harness/resources/approved.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "harness/base/config.h"
#include "harness/base/table_reader.h"

namespace plumbline {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 5> file_keys{"schema", "source", "toolkit", "accepted",
                                                    "kernel"};
constexpr std::array<std::string_view, 3> accepted_keys{"who", "when", "why"};
constexpr std::array<std::string_view, 6> figure_keys{"registers",   "stack",  "spill_stores",
                                                      "spill_loads", "shared", "warps"};

class ApprovedReader {
 public:
  ApprovedReader(const ConfigNode& file, Errors& errors) : file_(file), errors_(errors) {}

  ApprovedSource read() {
    reject_unknown_keys(file_, file_keys, errors_);
    const ConfigNode* schema = file_.find("schema");
    if (schema == nullptr || schema->kind != Kind::integer || schema->number != 1) {
      errors_.push_back(
          (schema == nullptr ? file_ : *schema).error("the schema is not 1", "write schema = 1"));
    }
    TableReader reader(file_, errors_);
    ApprovedSource result;
    result.source = reader.text("source", true);
    result.toolkit = reader.text("toolkit", true);
    result.accepted = acceptance();
    for (const ConfigNode* kernel : reader.tables("kernel")) read_kernel(*kernel, result.kernels);
    return result;
  }

 private:
  Acceptance acceptance() {
    const ConfigNode* table = file_.find("accepted");
    if (table == nullptr || table->kind != Kind::table) {
      errors_.push_back(file_.error("accepted is missing",
                                    "add accepted = { who = \"…\", when = \"…\", why = \"…\" }"));
      return {};
    }
    reject_unknown_keys(*table, accepted_keys, errors_);
    TableReader reader(*table, errors_);
    return {reader.text("who", true), reader.text("when", true), reader.text("why", true)};
  }

  void read_kernel(const ConfigNode& table, std::vector<ApprovedResources>& rows) {
    TableReader reader(table, errors_);
    const std::string kernel = reader.text("name", true), launch = reader.text("launch");
    for (const auto& [key, figures] : table.members) {
      if (key == "name" || key == "launch") continue;
      if (!key.starts_with("sm_") || arch_number(key) == 0 || figures.kind != Kind::table) {
        errors_.push_back(figures.error(
            fmt::format("{} is neither name, launch nor an architecture's figures", key),
            "write sm_90 = { registers = …, … }"));
        continue;
      }
      if (!seen_.emplace(kernel, launch, key).second) {
        errors_.push_back(figures.error(
            fmt::format("{} {} on {} stands twice", kernel, launch, key), "remove one"));
      }
      rows.push_back(read_figures(kernel, launch, key, figures));
    }
  }

  ApprovedResources read_figures(const std::string& kernel, const std::string& launch,
                                 const std::string& arch, const ConfigNode& table) {
    reject_unknown_keys(table, figure_keys, errors_);
    ApprovedResources row;
    row.kernel = kernel;
    row.launch = launch;
    row.arch = arch;
    row.registers = table.find("registers") == nullptr ? -1 : whole(table, "registers");
    row.stack_bytes = whole(table, "stack");
    row.spill_store_bytes = whole(table, "spill_stores");
    row.spill_load_bytes = whole(table, "spill_loads");
    row.shared_bytes = whole(table, "shared");
    if (table.find("warps") != nullptr) row.warps = whole(table, "warps");
    return row;
  }

  int whole(const ConfigNode& table, std::string_view key) {
    const ConfigNode* node = table.find(key);
    if (node != nullptr && node->kind == Kind::integer && node->number >= 0 &&
        node->number < (1 << 30))
      return static_cast<int>(node->number);
    errors_.push_back((node == nullptr ? table : *node)
                          .error(fmt::format("{} is not a whole number", key), "write 0 or more"));
    return 0;
  }

  const ConfigNode& file_;
  Errors& errors_;
  // kernel, launch, architecture
  std::set<std::tuple<std::string, std::string, std::string>> seen_;
};

Result<ApprovedSource> approved_of(const Result<ConfigNode>& file) {
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  ApprovedSource result = ApprovedReader(*file, errors).read();
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

// A TOML basic string.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string figures(const ApprovedResources& row) {
  std::string text = row.registers < 0 ? "" : fmt::format("registers = {:3}, ", row.registers);
  text +=
      fmt::format("stack = {}, spill_stores = {}, spill_loads = {}, shared = {}", row.stack_bytes,
                  row.spill_store_bytes, row.spill_load_bytes, row.shared_bytes);
  if (row.warps) text += fmt::format(", warps = {}", *row.warps);
  return text;
}

}  // namespace

ApprovedResources approved_form(const Resources& row) {
  ApprovedResources result{row.usage.kernel,
                           row.launch,
                           row.usage.arch,
                           row.usage.registers,
                           row.usage.stack_bytes,
                           row.usage.spill_store_bytes,
                           row.usage.spill_load_bytes,
                           row.shared_bytes(),
                           std::nullopt};
  if (row.occupancy) result.warps = row.occupancy->active_warps;
  return result;
}

Result<ApprovedSource> parse_approved(std::string_view text, const std::string& file) {
  return approved_of(parse_config(text, file));
}

Result<std::vector<ApprovedSource>> read_approved(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<ApprovedSource> sources;
  Errors errors;
  for (const auto& file : files) {
    auto source = approved_of(read_config(file));
    if (source) {
      source->name = file.stem().string();
      sources.push_back(std::move(*source));
    } else {
      errors.insert(errors.end(), source.error().begin(), source.error().end());
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return sources;
}

std::string approved_text(const CompiledSource& source, const Acceptance& accepted) {
  std::string text = fmt::format(
      "# Approved resources of {}: what later builds are compared with.\n"
      "# Bytes; registers and spills per thread, shared memory (static and dynamic) per block; "
      "warps\n# resident on a multiprocessor. Written by `plumbline resources --accept`.\n"
      "schema = 1\nsource = {}\ntoolkit = {}\n"
      "accepted.who = {}\naccepted.when = {}\naccepted.why = {}\n",
      source.source, quoted(source.source), quoted(source.toolkit), quoted(accepted.who),
      quoted(accepted.when), quoted(accepted.why));
  const Resources* previous = nullptr;
  for (const Resources& row : source.kernels) {
    if (previous == nullptr || previous->usage.kernel != row.usage.kernel ||
        previous->launch != row.launch) {
      text += fmt::format("\n[[kernel]]\nname = {}\n", quoted(row.usage.kernel));
      if (!row.launch.empty()) text += fmt::format("launch = {}\n", quoted(row.launch));
    }
    text += fmt::format("{:7} = {{ {} }}\n", row.usage.arch, figures(approved_form(row)));
    previous = &row;
  }
  return text;
}

}  // namespace plumbline
