// Reads the members of one TOML table of a reviewed file; every complaint becomes an error with its line.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "harness/problem/config.h"

namespace plumbline {

class TableReader {
 public:
  // `what` names the table in messages: "contract", "spec of cpu/naive".
  TableReader(const ConfigNode& table, std::string what, Errors& errors) : table_(table), what_(std::move(what)), errors_(errors) {}

  // A string that must be there and not be empty; "" after an error.
  std::string required_text(std::string_view key, std::string_view example);
  std::string optional_text(std::string_view key);
  // A member that must be a table if it is there; nullptr if it is not.
  const ConfigNode* optional_table(std::string_view key);
  // A finite number above 0.
  std::optional<double> optional_positive(std::string_view key);
  // One of the enumerators `values`, by its name().
  template <class Enum>
  std::optional<Enum> optional_word(std::string_view key, std::initializer_list<Enum> values) {
    const ConfigNode* node = table_.find(key);
    if (node == nullptr) return std::nullopt;
    std::string allowed;
    for (const Enum value : values) {
      if (node->kind == ConfigNode::Kind::string && node->text == name(value)) return value;
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name(value));
    }
    complain(*node, fmt::format("{}: \"{}\" is not one of {}", key, node->text, allowed));
    return std::nullopt;
  }

  void complain(const ConfigNode& at, std::string_view message, std::string remedy = "");

 private:
  const ConfigNode& table_;
  std::string what_;
  Errors& errors_;
};

// Calls `read` for each [[key]] table of a file that holds nothing else (besides `schema = 1`). Complains where it is no array of tables.
void for_each_table(const ConfigNode& file, std::string_view key, Errors& errors, const std::function<void(const ConfigNode&)>& read);

}  // namespace plumbline
