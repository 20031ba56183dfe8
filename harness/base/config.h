// TOML files as a small tree with line numbers. The only place that includes toml++ is config.cc
// (3.7 s a translation unit).
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

// One value of a TOML file. Tables keep the order in which their keys stand in the file.
struct ConfigNode {
  struct Member;
  enum class Kind { table, array, string, integer, real, boolean, date };
  Kind kind = Kind::table;
  int line = 0;
  std::string file;
  std::string
      text;  // string value; else the canonical spelling ("true", "128", "0.5", "2027-01-31")
  double number = 0;  // integer and real
  bool boolean = false;
  std::vector<Member> members;    // table
  std::vector<ConfigNode> items;  // array (also arrays of tables)

  const ConfigNode* find(std::string_view key) const;  // table member or nullptr
  // Dates stand apart: no field takes one.
  bool is_scalar() const {
    return kind != Kind::table && kind != Kind::array && kind != Kind::date;
  }
  // An error at this node.
  Error error(std::string message, std::string remedy = "") const {
    return {file, line, std::move(message), std::move(remedy)};
  }
};

struct ConfigNode::Member {
  std::string key;
  ConfigNode value;
};

// Parses a file. A syntax error names file, line and what toml++ says; a missing file names the
// path.
Result<ConfigNode> read_config(const std::filesystem::path& path);
Result<ConfigNode> parse_config(std::string_view text, const std::string& file_name);

// Appends an error for each member of `table` that is not among `known`, with the nearest known
// name as remedy.
void reject_unknown_keys(const ConfigNode& table, std::span<const std::string_view> known,
                         Errors& errors);

}  // namespace plumbline
