// The matrix of architectures as text, Markdown and JSON.
#include <fmt/format.h>

#include "harness/report/arch_matrix.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/report/markdown_table.h"

namespace plumbline {
namespace {

struct ArchTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

std::string column_title(const ArchMatrix::Column& column) {
  const bool says_arch = column.arch.empty() || column.device.ends_with(":" + column.arch);
  return says_arch ? column.device : fmt::format("{} ({})", column.device, column.arch);
}

std::string cell_text(const std::optional<ArchMatrix::Cell>& cell) {
  if (!cell) return "";
  std::string text = cell->ran == 0 ? "did not run" : percent(cell->worst_percent);
  if (cell->failures > 0) text += fmt::format(", {}", plural(cell->failures, "failure"));
  return text;
}

ArchTable limits_table(const ArchMatrix& matrix) {
  ArchTable table{{"kernel", "dtype", "tensor cores", "cases"}, {}};
  for (const auto& column : matrix.columns) table.columns.push_back(column_title(column));
  for (const auto& row : matrix.rows) {
    auto& cells = table.rows.emplace_back(std::vector<std::string>{
        row.kernel, row.dtype, row.tensor_cores, std::to_string(row.cases)});
    for (const auto& cell : row.cells) cells.push_back(cell_text(cell));
  }
  return table;
}

ArchTable bits_table(const ArchMatrix& matrix) {
  ArchTable table{{"a", "b", "tensor cores", "cases", "equal bits"}, {}};
  for (const auto& bits : matrix.bits) {
    table.rows.push_back({bits.a, bits.b, bits.tensor_cores, std::to_string(bits.common),
                          std::to_string(bits.equal)});
  }
  return table;
}

std::vector<std::string> notes(const ArchMatrix& matrix) {
  std::vector<std::string> lines;
  if (matrix.left_out > 0) {
    lines.push_back(fmt::format("{} missing on a device of their row: left out",
                                plural(matrix.left_out, "case")));
  }
  if (matrix.reused > 0) {
    lines.push_back(
        fmt::format("{} reused from another architecture: without tensor cores the bits are "
                    "equal, as a second architecture showed",
                    plural(matrix.reused, "outcome")));
  }
  return lines;
}

std::string first_differences(const ArchMatrix& matrix, const std::string& reproduce_command) {
  std::string text;
  for (const auto& bits : matrix.bits) {
    if (!bits.first_case_b.empty()) text += first_difference(bits, reproduce_command);
  }
  return text;
}

}  // namespace

std::string reproduce_line(const ArchMatrix::Bits& bits, const std::string& reproduce_command) {
  return fmt::format("{} --format json --case {} --case {}", reproduce_command,
                     shell_quoted(bits.first_case_a), shell_quoted(bits.first_case_b));
}

std::string first_difference(const ArchMatrix::Bits& bits, const std::string& reproduce_command) {
  const std::string mode =
      bits.tensor_cores.empty() ? "" : fmt::format(", tensor cores {}", bits.tensor_cores);
  return fmt::format("{} and {}{}: {} of {} differ, first {}\nreproduce: {}\n", bits.a, bits.b,
                     mode, bits.common - bits.equal, plural(bits.common, "case"), bits.first_case_b,
                     reproduce_line(bits, reproduce_command));
}

std::string render_matrix(const ArchMatrix& matrix, const std::string& reproduce_command,
                          const Style& style) {
  const ArchTable limits = limits_table(matrix), bits = bits_table(matrix);
  std::string text =
      "worst percent of a limit\n" + render_table(limits.columns, limits.rows, style);
  for (const std::string& note : notes(matrix)) text += wrapped(note, 0, style) + "\n";
  if (!bits.rows.empty()) text += "\noutput bits\n" + render_table(bits.columns, bits.rows, style);
  const std::string differences = first_differences(matrix, reproduce_command);
  return differences.empty() ? text : text + "\n" + differences;
}

std::string render_matrix_markdown(const ArchMatrix& matrix, const std::string& reproduce_command) {
  const ArchTable limits = limits_table(matrix), bits = bits_table(matrix);
  std::string text =
      "Worst percent of a limit:\n\n" + markdown_table(limits.columns, limits.rows, 3);
  for (const std::string& note : notes(matrix)) text += note + ".\n\n";
  if (!bits.rows.empty()) text += "Output bits:\n\n" + markdown_table(bits.columns, bits.rows, 3);
  const std::string lines = first_differences(matrix, reproduce_command);
  return lines.empty() ? text : text + markdown_fenced(lines) + "\n";
}

std::string json_of_matrix(const ArchMatrix& matrix, const std::string& reproduce_command) {
  const auto device_json = [](const ArchMatrix::Column& column) -> Json {
    return {JSON_FIELDS(column, device, arch)};
  };
  const auto row_json = [&](const ArchMatrix::Row& row) -> Json {
    Json cells = Json::object();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i]) continue;
      const auto& cell = *row.cells[i];
      cells[matrix.columns[i].device] = {JSON_FIELDS(cell, ran, failures, worst_percent)};
    }
    return {JSON_FIELDS(row, kernel, dtype, tensor_cores, cases), {"cells", std::move(cells)}};
  };
  const auto bits_json = [&](const ArchMatrix::Bits& bits) {
    Json object = {JSON_FIELDS(bits, a, b, tensor_cores, common, equal)};
    if (!bits.first_case_b.empty()) {
      object["first_different"] = {{"a", bits.first_case_a},
                                   {"b", bits.first_case_b},
                                   {"reproduce", reproduce_line(bits, reproduce_command)}};
    }
    return object;
  };
  return json_text({{"devices", json_list(matrix.columns, device_json)},
                    JSON_FIELDS_BY(list_of(row_json), matrix, rows),
                    JSON_FIELDS_BY(list_of(bits_json), matrix, bits),
                    JSON_FIELDS(matrix, left_out, reused)});
}

}  // namespace plumbline
