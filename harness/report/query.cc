// Renders the rows of an SQL query as a text table, CSV and JSON.
#include <charconv>

#include "harness/report/json_value.h"
#include "harness/report/report.h"

namespace plumbline {
namespace {

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\r\n";
}

std::vector<std::vector<std::string>> rows_with(const Store::Table& table,
                                                const std::string& null_text) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    auto& cells = rows.emplace_back();
    for (const auto& cell : row) cells.push_back(cell.value_or(null_text));
  }
  return rows;
}

}  // namespace

std::string render_query(const Store::Table& table, const Style& style) {
  return render_table(table.columns, rows_with(table, ""), style);
}

namespace {

Json cell_json(const std::string& text, Store::CellType type) {
  const char *begin = text.data(), *end = begin + text.size();
  if (type == Store::CellType::integer) {
    std::int64_t value = 0;
    if (std::from_chars(begin, end, value).ptr == end) return value;
  } else if (type == Store::CellType::real) {
    double value = 0;
    // Text that is not a JSON number, such as "Inf", becomes null.
    return std::from_chars(begin, end, value).ptr == end ? Json(value) : Json();
  }
  return text;
}

}  // namespace

std::string json_of_table(const Store::Table& table) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto& cell = table.rows[r][i];
      object[table.columns[i]] = cell ? cell_json(*cell, table.types[r][i]) : Json(nullptr);
    }
    rows.push_back(std::move(object));
  }
  return json_text({{"rows", std::move(rows)}});
}

std::string render_query_csv(const Store::Table& table) {
  std::string text = csv_line(table.columns);
  for (const auto& row : rows_with(table, "")) text += csv_line(row);
  return text;
}

}  // namespace plumbline
