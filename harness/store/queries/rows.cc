// Writes SQL literals, and reads the numbers that SQLite prints.
#include "harness/store/queries/rows.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace plumbline {

std::string sql_literal(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string sql_array(const std::vector<std::string>& texts) {
  return sql_literal(
      nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string text_at(const TextRow& row, std::size_t column) { return row[column].value_or(""); }

std::optional<double> number_at(const TextRow& row, std::size_t column) {
  if (!row[column]) return std::nullopt;
  return std::strtod(row[column]->c_str(), nullptr);
}

bool is_one_at(const TextRow& row, std::size_t column) { return row[column] == "1"; }

}  // namespace plumbline
