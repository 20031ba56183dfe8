// Reads one typed member of a TOML table at a time, and adds an error with a remedy if it is wrong.
#include "harness/base/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/text.h"

namespace plumbline {

using Kind = ConfigNode::Kind;

std::string TableReader::text(std::string_view key, bool required) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr) {
    if (required)
      errors_.push_back(
          table_.error(fmt::format("{} is missing", key), fmt::format("add {} = \"…\"", key)));
    return "";
  }
  const bool blank = node->text.find_first_not_of(" \t\n") == std::string::npos;
  if (node->kind != Kind::string || (required && blank)) {
    errors_.push_back(
        node->error(fmt::format("{} is not a text", key), fmt::format("write {} = \"…\"", key)));
    return "";
  }
  return node->text;
}

std::string TableReader::plain_name(std::string_view key) {
  std::string chosen = text(key, true);
  if (!chosen.empty() && !is_plain_name(chosen)) {
    errors_.push_back(table_.find(key)->error(fmt::format("\"{}\" is not a name", chosen),
                                              "use letters, digits, _ and -"));
  }
  return chosen;
}

std::size_t TableReader::word(std::string_view key, std::span<const std::string_view> words,
                              std::size_t otherwise) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr) return otherwise;
  const auto found = std::ranges::find(words, node->text);
  if (node->kind == Kind::string && found != words.end())
    return static_cast<std::size_t>(found - words.begin());
  errors_.push_back(node->error(
      fmt::format("{}: \"{}\" is not one of {}", key, node->text, fmt::join(words, ", ")),
      suggestion(node->text, words)));
  return otherwise;
}

bool TableReader::boolean(std::string_view key) {
  const ConfigNode* node = table_.find(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::boolean) {
    errors_.push_back(node->error(fmt::format("{} is not true or false", key),
                                  fmt::format("write {} = true, without quotes", key)));
  }
  return node->boolean;
}

std::vector<const ConfigNode*> TableReader::texts(std::string_view key, bool required) {
  const ConfigNode* list = table_.find(key);
  std::vector<const ConfigNode*> nodes;
  if (list == nullptr) {
    if (required)
      errors_.push_back(
          table_.error(fmt::format("{} is missing", key), fmt::format("add {} = [\"…\"]", key)));
    return nodes;
  }
  if (list->kind != Kind::array || list->items.empty()) {
    errors_.push_back(list->error(fmt::format("{} is not a list of texts", key),
                                  fmt::format("write {} = [\"…\"]", key)));
    return nodes;
  }
  for (const ConfigNode& item : list->items) {
    if (item.kind == Kind::string) {
      nodes.push_back(&item);
    } else {
      errors_.push_back(
          item.error(fmt::format("{} has an entry that is not text", key), "put it in quotes"));
    }
  }
  return nodes;
}

std::vector<const ConfigNode*> TableReader::tables(std::string_view key) {
  const ConfigNode* list = table_.find(key);
  std::vector<const ConfigNode*> nodes;
  if (list == nullptr) return nodes;
  for (const ConfigNode& item : list->items) {
    if (item.kind == Kind::table) nodes.push_back(&item);
  }
  if (list->kind != Kind::array || nodes.size() != list->items.size()) {
    errors_.push_back(list->error(fmt::format("{} is not a list of tables", key),
                                  fmt::format("write [[{}]]", key)));
  }
  return nodes;
}

}  // namespace plumbline
