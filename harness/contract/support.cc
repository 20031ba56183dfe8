// Reads baselines/support.toml and looks up which problems a kernel is known to refuse.
#include "harness/contract/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "harness/base/glob.h"
#include "harness/base/table_reader.h"
#include "harness/base/text.h"
#include "harness/contract/contract.h"
#include "harness/contract/reviewed_file.h"
#include "harness/problem/problem.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 5> support_keys{"kernel", "device", "arch", "where",
                                                       "reason"};

using Condition = SupportTable::Condition;

// Fields that a problem does not have itself. square: seq_q equals seq_kv, on which the masks of
// some kernels depend. group: the query heads per key head.
constexpr std::string_view square = "square", group = "group";

bool has(const Problem& problem, const std::string& field, const std::string& value) {
  if (field == square) return (problem.seq_q == problem.seq_kv) == (value == "true");
  if (field == group) return std::to_string(problem.group()) == value;
  return has_field(problem, field, value);
}

class EntryReader {
 public:
  EntryReader(const ConfigNode& table, Errors& errors) : table_(table), errors_(errors) {}

  SupportTable::Entry read() {
    reject_unknown_keys(table_, support_keys, errors_);
    TableReader reader(table_, errors_);
    SupportTable::Entry entry;
    entry.file = table_.file;
    entry.line = table_.line;
    entry.kernels = kernel_globs(table_, errors_);
    entry.devices = device_globs(table_, errors_);
    entry.archs = gpu_archs(table_, errors_);
    entry.reason = reader.text("reason", true);
    // Without `where` the kernel accepts nothing.
    if (const ConfigNode* where = sub_table(table_, "where", errors_))
      entry.where = conditions(*where);
    return entry;
  }

 private:
  std::vector<Condition> conditions(const ConfigNode& where) {
    std::vector<std::string_view> known{square, group};
    for (const std::string_view name : field_names()) known.push_back(name);
    reject_unknown_keys(where, known, errors_);
    std::vector<Condition> result;
    for (const auto& [field, node] : where.members) {
      if (std::find(known.begin(), known.end(), field) == known.end()) continue;
      constexpr std::array<std::string_view, 1> excluded_keys{"not"};
      const ConfigNode* excluded = node.find("not");
      if (excluded != nullptr) reject_unknown_keys(node, excluded_keys, errors_);
      result.push_back(
          {field, values(field, excluded == nullptr ? node : *excluded), excluded != nullptr});
    }
    return result;
  }

  std::vector<std::string> values(const std::string& field, const ConfigNode& node) {
    if (node.kind != ConfigNode::Kind::array) return values(field, std::span(&node, 1));
    if (node.items.empty())
      errors_.push_back(node.error(fmt::format("{} = [] matches nothing", field),
                                   "list at least one value, or remove the field"));
    return values(field, node.items);
  }

  std::vector<std::string> values(const std::string& field, std::span<const ConfigNode> nodes) {
    std::vector<std::string> result;
    for (const ConfigNode& node : nodes) {
      if (const auto error = wrong_value(field, node))
        errors_.push_back(*error);
      else
        result.push_back(node.text);
    }
    return result;
  }

  static std::optional<Error> wrong_value(const std::string& field, const ConfigNode& node) {
    if (field == square) {
      if (node.text == "true" || node.text == "false") return std::nullopt;
      return node.error(fmt::format("{}: \"{}\" is neither true nor false", field, node.text),
                        "write square = true or square = false");
    }
    if (field == group) {
      const auto number = parse_integer(node.text);
      if (number && *number >= 1) return std::nullopt;
      return node.error(fmt::format("{}: \"{}\" is not a number of query heads", field, node.text),
                        "write the query heads per key head, such as group = 1");
    }
    if (!node.is_scalar()) {
      return node.error(fmt::format("{} is not a value or a list of values", field),
                        fmt::format("write {0} = value or {0} = [value, value]", field));
    }
    Problem problem;
    if (const auto complaint = set_field(problem, field, node.text))
      return node.error(*complaint, "write an allowed value");
    return std::nullopt;
  }

  const ConfigNode& table_;
  Errors& errors_;
};

bool concerns(const SupportTable::Entry& entry, std::string_view kernel, const RunTarget& place) {
  if (!applies_to(entry.devices, entry.archs, place)) return false;
  return std::any_of(entry.kernels.begin(), entry.kernels.end(),
                     [&](const std::string& glob) { return glob_match(glob, kernel); });
}

}  // namespace

Result<SupportTable> SupportTable::read(const std::filesystem::path& path) {
  const auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  SupportTable result;
  Errors errors;
  for (const ConfigNode* table : reviewed_tables(*file, "unsupported", errors)) {
    result.entries.push_back(EntryReader(*table, errors).read());
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

bool SupportTable::covers(std::string_view kernel, const RunTarget& place) const {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return concerns(entry, kernel, place); });
}

const SupportTable::Entry* SupportTable::entry_for(std::string_view kernel, const Problem& problem,
                                                   const RunTarget& place) const {
  const auto holds = [&](const Condition& condition) {
    const auto& values = condition.values;
    const bool is_one = std::any_of(values.begin(), values.end(), [&](const auto& value) {
      return has(problem, condition.field, value);
    });
    return is_one != condition.is_negated;
  };
  for (const Entry& entry : entries) {
    if (concerns(entry, kernel, place) &&
        std::all_of(entry.where.begin(), entry.where.end(), holds))
      return &entry;
  }
  return nullptr;
}

std::optional<std::string> SupportTable::unsupported(std::string_view kernel,
                                                     const Problem& problem,
                                                     const RunTarget& place) const {
  const Entry* entry = entry_for(kernel, problem, place);
  return entry != nullptr ? std::optional(entry->reason) : std::nullopt;
}

}  // namespace plumbline
