// TOML files as a small tree with line numbers. Only config.cc includes toml++ (3.7 s per
// translation unit).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"

namespace plumbline {

// A value of a TOML file. Tables keep the order of their keys in the file.
struct ConfigNode {
  struct Member;
  enum class Kind { table, array, string, integer, real, boolean, date };
  Kind kind = Kind::table;
  int line = 0;
  std::string file;
  // A string's value, otherwise the canonical spelling ("true", "128", "0.5", "2027-01-31").
  std::string text;
  double number = 0;  // integer and real
  bool boolean = false;
  std::vector<Member> members;    // table
  std::vector<ConfigNode> items;  // array (also arrays of tables)

  const ConfigNode* find(std::string_view key) const;  // table member or nullptr
  // Dates are not scalars, because no field accepts one.
  bool is_scalar() const {
    return kind != Kind::table && kind != Kind::array && kind != Kind::date;
  }
  // Returns an error at this node.
  Error error(std::string message, std::string remedy = "") const {
    return {file, line, std::move(message), std::move(remedy)};
  }
};

struct ConfigNode::Member {
  std::string key;
  ConfigNode value;
};

// Parse a file or a text. A syntax error has its file, its line and the message of toml++. The
// error of an unreadable file has its path.
Result<ConfigNode> read_config(const std::filesystem::path& path);
Result<ConfigNode> parse_config(std::string_view text, const std::string& file_name);

// Appends an error for each member of `table` that is not in `known`, with the nearest known name
// as remedy.
void reject_unknown_keys(const ConfigNode& table, std::span<const std::string_view> known,
                         Errors& errors);

}  // namespace plumbline
