#include "harness/judge/table_reader.h"

#include <array>
#include <cmath>

namespace plumbline {

void TableReader::complain(const ConfigNode& at, std::string_view message, std::string remedy) {
  errors_.push_back(at.error(fmt::format("{}: {}", what_, message), std::move(remedy)));
}

std::string TableReader::required_text(std::string_view key, std::string_view example) {
  if (table_.find(key) == nullptr) {
    complain(table_, fmt::format("{} is missing", key), fmt::format("{} = \"{}\"", key, example));
    return "";
  }
  std::string text = optional_text(key);
  if (text.empty() && table_.find(key)->kind == ConfigNode::Kind::string) complain(*table_.find(key), fmt::format("{} is empty", key));
  return text;
}

std::string TableReader::optional_text(std::string_view key) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr) return "";
  if (node->kind == ConfigNode::Kind::string) return node->text;
  complain(*node, fmt::format("{} must be a string", key));
  return "";
}

const ConfigNode* TableReader::optional_table(std::string_view key) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr || node->kind == ConfigNode::Kind::table) return node;
  complain(*node, fmt::format("{} must be a table", key), fmt::format("{} = {{ … }}", key));
  return nullptr;
}

std::optional<double> TableReader::optional_positive(std::string_view key) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr) return std::nullopt;
  const bool is_number = node->kind == ConfigNode::Kind::integer || node->kind == ConfigNode::Kind::real;
  if (is_number && node->number > 0 && std::isfinite(node->number)) return node->number;
  complain(*node, fmt::format("{}: \"{}\" is not a finite number above 0", key, node->text));
  return std::nullopt;
}

void for_each_table(const ConfigNode& file, std::string_view key, Errors& errors, const std::function<void(const ConfigNode&)>& read) {
  reject_unknown_keys(file, std::array<std::string_view, 2>{"schema", key}, errors);
  const ConfigNode* schema = file.find("schema");
  if (schema != nullptr && !(schema->kind == ConfigNode::Kind::integer && schema->number == 1)) {
    errors.push_back(schema->error(fmt::format("schema {} is not known", schema->text), "this version reads schema = 1"));
  }
  const ConfigNode* tables = file.find(key);
  if (tables == nullptr) return;
  const std::string remedy = fmt::format("write [[{}]]", key);
  if (tables->kind != ConfigNode::Kind::array) {
    errors.push_back(tables->error(fmt::format("{} must be an array of tables", key), remedy));
    return;
  }
  for (const ConfigNode& table : tables->items) {
    if (table.kind == ConfigNode::Kind::table) {
      read(table);
    } else {
      errors.push_back(table.error(fmt::format("{} must be an array of tables", key), remedy));
    }
  }
}

}  // namespace plumbline
