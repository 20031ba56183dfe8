// Reads approved figures from TOML, and writes them in the form in which they are reviewed.
#include "harness/resources/approved.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "harness/base/config.h"
#include "harness/base/table_reader.h"
#include "harness/problem/field_text.h"
#include "harness/resources/files.h"

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
    require_schema(file_, errors_);
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
            fmt::format("{} {} on {} is listed twice", kernel, launch, key), "remove one"));
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
    errors_.push_back(
        (node == nullptr ? table : *node)
            .error(fmt::format("{} is {}", key, node == nullptr ? "missing" : "not a whole number"),
                   "write 0 or more"));
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
  return read_all<ApprovedSource>(directory, ".toml", [&](const std::string& name) {
    auto source = approved_of(read_config(directory / (name + ".toml")));
    if (source) source->name = name;
    return source;
  });
}

std::string approved_text(const CompiledSource& source, const Acceptance& accepted) {
  std::string text = fmt::format(
      "# Approved resources of {}: what later builds are compared with.\n"
      "# Bytes; registers and spills per thread, shared memory (static and dynamic) per block; "
      "warps\n# resident on a multiprocessor. Written by `plumbline resources --accept`.\n"
      "schema = 1\nsource = {}\ntoolkit = {}\n"
      "accepted.who = {}\naccepted.when = {}\naccepted.why = {}\n",
      source.source, toml_string(source.source), toml_string(source.toolkit),
      toml_string(accepted.who), toml_string(accepted.when), toml_string(accepted.why));
  const Resources* previous = nullptr;
  for (const Resources& row : source.kernels) {
    if (previous == nullptr || previous->usage.kernel != row.usage.kernel ||
        previous->launch != row.launch) {
      text += fmt::format("\n[[kernel]]\nname = {}\n", toml_string(row.usage.kernel));
      if (!row.launch.empty()) text += fmt::format("launch = {}\n", toml_string(row.launch));
    }
    text += fmt::format("{:7} = {{ {} }}\n", row.usage.arch, figures(approved_form(row)));
    previous = &row;
  }
  return text;
}

}  // namespace plumbline
