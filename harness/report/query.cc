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

std::vector<std::vector<std::string>> rows_with(const Store::Table& table, const std::string& null_text) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    auto& cells = rows.emplace_back();
    for (const auto& cell : row) cells.push_back(cell.value_or(null_text));
  }
  return rows;
}

}  // namespace

std::string render_query(const Store::Table& table, const Style& style) { return render_table(table.columns, rows_with(table, ""), style); }

std::string render_query_json(const Store::Table& table) {
  Json list = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i]] = row[i] ? Json(*row[i]) : nullptr;
    list.push_back(std::move(object));
  }
  return json_text(list);
}

std::string render_query_csv(const Store::Table& table) {
  std::string text = csv_line(table.columns);
  for (const auto& row : rows_with(table, "")) text += csv_line(row);
  return text;
}

}  // namespace plumbline
