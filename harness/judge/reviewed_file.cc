#include "harness/judge/reviewed_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "harness/problem/table_reader.h"

namespace plumbline {

using Kind = ConfigNode::Kind;

std::vector<const ConfigNode*> reviewed_tables(const ConfigNode& file, std::string_view key, Errors& errors) {
  reject_unknown_keys(file, std::array<std::string_view, 2>{"schema", key}, errors);
  const ConfigNode* schema = file.find("schema");
  if (schema != nullptr && !(schema->kind == Kind::integer && schema->number == 1)) {
    errors.push_back(schema->error(fmt::format("schema {} is not known", schema->text), "this version reads schema = 1"));
  }
  return TableReader(file, errors).tables(key);
}

std::vector<std::string> kernel_globs(const ConfigNode& table, Errors& errors) {
  TableReader reader(table, errors);
  const ConfigNode* kernel = table.find("kernel");
  std::vector<std::string> globs;
  if (kernel != nullptr && kernel->kind == ConfigNode::Kind::array) {
    for (const ConfigNode* glob : reader.texts("kernel")) globs.push_back(glob->text);
  } else if (const std::string glob = reader.text("kernel", true); !glob.empty()) {
    globs.push_back(glob);
  }
  return globs;
}

const ConfigNode* sub_table(const ConfigNode& table, std::string_view key, Errors& errors) {
  const ConfigNode* node = table.find(key);
  if (node == nullptr || node->kind == Kind::table) return node;
  errors.push_back(node->error(fmt::format("{} is not a table", key), fmt::format("write {} = {{ … }}", key)));
  return nullptr;
}

std::optional<double> positive_number(const ConfigNode& table, std::string_view key, Errors& errors) {
  const ConfigNode* node = table.find(key);
  if (node == nullptr) return std::nullopt;
  const bool is_number = node->kind == Kind::integer || node->kind == Kind::real;
  if (is_number && node->number > 0 && std::isfinite(node->number)) return node->number;
  errors.push_back(node->error(fmt::format("{}: \"{}\" is not a finite number above 0", key, node->text),
                               fmt::format("write {} = 6.5, without quotes", key)));
  return std::nullopt;
}

}  // namespace plumbline
