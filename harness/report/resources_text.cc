// Renders compiled and predicted resources and their verdicts, as text, Markdown and JSON.
#include "harness/report/resources_text.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline {
namespace {

const std::vector<std::string> columns{"arch",   "registers", "predicted", "stack",      "spilled",
                                       "shared", "predicted", "occupancy", "limited by", "verdict"};

std::string heading(const JudgedResources& row) {
  std::string text = row.kernel;
  if (!row.launch.empty()) text += ", " + row.launch;
  if (!row.now || !row.now->facts) return text;
  const LaunchFacts& facts = *row.now->facts;
  text += fmt::format(": {} threads", facts.threads);
  if (facts.tensor_cores) text += ", tensor cores";
  if (facts.tiles)
    text += fmt::format(", tile {} x {}, {} of K and V", facts.tiles->tile_q, facts.tiles->tile_kv,
                        plural(static_cast<std::size_t>(facts.tiles->stages), "stage"));
  return text;
}

std::vector<std::string> cells(const JudgedResources& row) {
  const std::string verdict(in_words(row.verdict));
  if (!row.now) return {row.arch, "", "", "", "", "", "", "", "", verdict};
  const Resources& now = *row.now;
  const KernelUsage& usage = now.usage;
  return {row.arch,
          usage.registers < 0 ? "" : fmt::format("{}", usage.registers),
          now.prediction ? number(now.prediction->registers) : "",
          fmt::format("{}", usage.stack_bytes),
          fmt::format("{}", now.spill_bytes()),
          fmt::format("{}", now.shared_bytes()),
          now.prediction ? fmt::format("{}", now.prediction->shared_bytes) : "",
          now.occupancy ? percent(100 * now.occupancy->share()) : "",
          now.occupancy ? now.occupancy->limited_by : "",
          verdict};
}

// Lists the sources and, below each, show(heading, rows) for every kernel and launch, in order.
template <class Show>
std::string by_kernel(const ResourceComparison& comparison, Show show) {
  std::string text;
  const auto& rows = comparison.rows;
  for (std::size_t first = 0; first < rows.size();) {
    if (first == 0 || rows[first].source != rows[first - 1].source)
      text += fmt::format("{} ({})\n\n", rows[first].source, rows[first].toolkit);
    std::vector<std::vector<std::string>> lines;
    std::size_t end = first;
    const auto same = [&](const JudgedResources& row) {
      return row.source == rows[first].source && row.kernel == rows[first].kernel &&
             row.launch == rows[first].launch;
    };
    for (; end < rows.size() && same(rows[end]); ++end) lines.push_back(cells(rows[end]));
    text += show(heading(rows[first]), lines);
    first = end;
  }
  return text;
}

// Returns one line for each row whose verdict has a reason.
std::vector<std::string> notable_rows(const ResourceComparison& comparison) {
  std::vector<std::string> lines;
  for (const JudgedResources& row : comparison.rows) {
    if (row.why.empty()) continue;
    const std::string launch = row.launch.empty() ? "" : ", " + row.launch;
    lines.push_back(fmt::format("{}: {}{} on {}: {}", in_words(row.verdict), row.kernel, launch,
                                row.arch, row.why));
  }
  return lines;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "  " + line + "\n";
  return result;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

Json row_json(const JudgedResources& row) {
  const Resources now = row.now.value_or(Resources{});
  const LaunchFacts facts = now.facts.value_or(LaunchFacts{});
  const Occupancy occupancy = now.occupancy.value_or(Occupancy{0, 1, ""});
  const Prediction prediction = now.prediction.value_or(Prediction{});
  const auto if_known = [](bool known) {
    return [known](const auto& value) { return known ? Json(value) : Json(nullptr); };
  };
  const auto if_built = if_known(row.now.has_value()),
             if_launched = if_known(now.facts.has_value()),
             if_counted = if_known(now.usage.registers >= 0),
             if_resident = if_known(now.occupancy.has_value()),
             if_predicted = if_known(now.prediction.has_value());
  return {
      JSON_FIELDS(row, source, kernel, launch, arch, toolkit, verdict, why),
      JSON_FIELDS_BY(if_launched, facts, threads, tensor_cores),
      JSON_FIELDS_BY(if_counted, now.usage, registers),
      JSON_FIELDS_BY(if_built, now, usage.stack_bytes, usage.spill_store_bytes,
                     usage.spill_load_bytes, shared_bytes(), usage.barriers, usage.constant_bytes),
      {"occupancy", if_resident(occupancy.share())},
      JSON_FIELDS_BY(if_resident, occupancy, limited_by),
      {"predicted_registers", if_predicted(prediction.registers)},
      {"predicted_shared_bytes", if_predicted(prediction.shared_bytes)}};
}

}  // namespace

std::string resource_totals(const ResourceComparison& comparison) {
  std::map<ResourceVerdict, std::size_t> counts;
  for (const JudgedResources& row : comparison.rows) ++counts[row.verdict];
  std::string text = plural(comparison.rows.size(), "row");
  const char* separator = ": ";
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{}{} {}", separator, count, in_words(verdict));
    separator = ", ";
  }
  return text;
}

std::string render_resources(const ResourceComparison& comparison, const Style& style) {
  const Style table_style{style.colour, style.width > 2 ? style.width - 2 : style.width};
  std::string text = by_kernel(comparison, [&](const std::string& title, const auto& rows) {
    return title + "\n" + indented(render_table(columns, rows, table_style)) + "\n";
  });
  for (const std::string& line : notable_rows(comparison)) text += line + "\n";
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  return text + resource_totals(comparison) + "\n";
}

std::string render_resources_markdown(const ResourceComparison& comparison) {
  std::string text = "### Resources of compiled kernels\n\n" + resource_totals(comparison) + "\n\n";
  for (const std::string& line : notable_rows(comparison)) text += "- `" + line + "`\n";
  for (const std::string& note : comparison.notes) text += "- " + note + "\n";
  text += "\n<details><summary>registers, stack, spills, shared memory, occupancy</summary>\n\n";
  text += by_kernel(comparison, [](const std::string& title, const auto& rows) {
    std::string table = "`" + title + "`\n\n" + markdown_line(columns) +
                        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n";
    for (const auto& row : rows) table += markdown_line(row);
    return table + "\n";
  });
  return text + "</details>\n";
}

std::string json_of_resources(const ResourceComparison& comparison) {
  Json rows = Json::array();
  for (const JudgedResources& row : comparison.rows) rows.push_back(row_json(row));
  return json_text({{"rows", rows}, JSON_FIELDS(comparison, notes)});
}

}  // namespace plumbline
