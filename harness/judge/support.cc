// baselines/support.toml: what kernels are known not to take.
#include <algorithm>
#include <array>

#include "harness/judge/contract.h"
#include "harness/judge/table_reader.h"
#include "harness/problem/suite.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 3> support_keys{"kernel", "where", "reason"};

using Condition = std::pair<std::string, std::vector<std::string>>;

Condition read_condition(const std::string& field, const ConfigNode& node, TableReader& reader) {
  Condition condition{field, {}};
  const auto add = [&](const ConfigNode& value) {
    Problem problem;
    if (!value.is_scalar()) {
      reader.complain(value, fmt::format("{} must be a value or a list of values", field));
    } else if (const auto complaint = set_field(problem, field, value.text)) {
      reader.complain(value, *complaint);
    } else {
      condition.second.push_back(value.text);
    }
  };
  if (node.kind != ConfigNode::Kind::array) {
    add(node);
    return condition;
  }
  if (node.items.empty()) reader.complain(node, fmt::format("{} = [] matches nothing", field));
  for (const ConfigNode& value : node.items) add(value);
  return condition;
}

SupportTable::Entry read_entry(const ConfigNode& table, Errors& errors) {
  reject_unknown_keys(table, support_keys, errors);
  TableReader reader(table, "unsupported", errors);
  SupportTable::Entry entry;
  entry.file = table.file;
  entry.line = table.line;
  entry.kernel = reader.required_text("kernel", "provider/kernel");
  entry.reason = reader.required_text("reason", "what the kernel does not take, as its user would say it");
  const ConfigNode* where = reader.optional_table("where");
  if (where == nullptr) return entry;  // without `where` the kernel takes nothing
  reject_unknown_keys(*where, field_names(), errors);
  TableReader where_reader(*where, "where of " + entry.kernel, errors);
  for (const auto& [field, node] : where->members) {
    const auto known = field_names();
    if (std::find(known.begin(), known.end(), field) != known.end()) entry.where.push_back(read_condition(field, node, where_reader));
  }
  return entry;
}

}  // namespace

Result<SupportTable> SupportTable::read(const std::filesystem::path& path) {
  const auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  SupportTable result;
  Errors errors;
  for_each_table(*file, "unsupported", errors, [&](const ConfigNode& table) { result.entries.push_back(read_entry(table, errors)); });
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

std::optional<std::string> SupportTable::unsupported(std::string_view kernel, const Problem& problem) const {
  const auto holds = [&](const Condition& condition) {
    const auto& [field, values] = condition;
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) { return has_field(problem, field, value); });
  };
  for (const Entry& entry : entries) {
    if (glob_match(entry.kernel, kernel) && std::all_of(entry.where.begin(), entry.where.end(), holds)) return entry.reason;
  }
  return std::nullopt;
}

}  // namespace plumbline
