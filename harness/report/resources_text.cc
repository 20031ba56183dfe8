// Writes compiled resources beside the approved ones as text, as Markdown and as JSON.
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

// Calls `show` with the heading and the rows of each source, kernel and launch, in order; `begin`
// with the first row of each source.
template <class Begin, class Show>
void for_each_kernel(const ResourceComparison& comparison, Begin begin, Show show) {
  const auto& rows = comparison.rows;
  for (std::size_t first = 0; first < rows.size();) {
    if (first == 0 || rows[first].source != rows[first - 1].source) begin(rows[first]);
    std::vector<std::vector<std::string>> lines;
    std::size_t end = first;
    const auto same = [&](const JudgedResources& row) {
      return row.source == rows[first].source && row.kernel == rows[first].kernel &&
             row.launch == rows[first].launch;
    };
    for (; end < rows.size() && same(rows[end]); ++end) lines.push_back(cells(rows[end]));
    show(heading(rows[first]), lines);
    first = end;
  }
}

// A line for each row that is neither as approved nor silently new.
std::vector<std::string> worth_a_line(const ResourceComparison& comparison) {
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

Json optional_json(bool known, const Json& value) { return known ? value : Json(nullptr); }

Json row_json(const JudgedResources& row) {
  const bool built = row.now.has_value();
  const Resources now = row.now.value_or(Resources{});
  const LaunchFacts facts = now.facts.value_or(LaunchFacts{});
  const Occupancy occupancy = now.occupancy.value_or(Occupancy{0, 1, ""});
  const Prediction prediction = now.prediction.value_or(Prediction{});
  return {{"source", row.source},
          {"kernel", row.kernel},
          {"launch", row.launch},
          {"arch", row.arch},
          {"toolkit", row.toolkit},
          {"verdict", name(row.verdict)},
          {"why", row.why},
          {"threads", optional_json(now.facts.has_value(), facts.threads)},
          {"tensor_cores", optional_json(now.facts.has_value(), facts.tensor_cores)},
          {"registers", optional_json(now.usage.registers >= 0, now.usage.registers)},
          {"stack_bytes", optional_json(built, now.usage.stack_bytes)},
          {"spill_store_bytes", optional_json(built, now.usage.spill_store_bytes)},
          {"spill_load_bytes", optional_json(built, now.usage.spill_load_bytes)},
          {"shared_bytes", optional_json(built, now.shared_bytes())},
          {"barriers", optional_json(built, now.usage.barriers)},
          {"constant_bytes", optional_json(built, now.usage.constant_bytes)},
          {"occupancy", optional_json(now.occupancy.has_value(), occupancy.share())},
          {"limited_by", optional_json(now.occupancy.has_value(), occupancy.limited_by)},
          {"predicted_registers", optional_json(now.prediction.has_value(), prediction.registers)},
          {"predicted_shared_bytes",
           optional_json(now.prediction.has_value(), prediction.shared_bytes)}};
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
  std::string text;
  const Style table_style{style.colour, style.width > 2 ? style.width - 2 : style.width};
  for_each_kernel(
      comparison,
      [&](const JudgedResources& row) {
        text += fmt::format("{} ({})\n\n", row.source, row.toolkit);
      },
      [&](const std::string& title, const auto& rows) {
        text += title + "\n" + indented(render_table(columns, rows, table_style)) + "\n";
      });
  for (const std::string& line : worth_a_line(comparison)) text += line + "\n";
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  return text + resource_totals(comparison) + "\n";
}

std::string render_resources_markdown(const ResourceComparison& comparison) {
  std::string text = "### Resources of compiled kernels\n\n" + resource_totals(comparison) + "\n\n";
  for (const std::string& line : worth_a_line(comparison)) text += "- `" + line + "`\n";
  for (const std::string& note : comparison.notes) text += "- " + note + "\n";
  text += "\n<details><summary>registers, stack, spills, shared memory, occupancy</summary>\n\n";
  for_each_kernel(
      comparison,
      [&](const JudgedResources& row) {
        text += fmt::format("{} ({})\n\n", row.source, row.toolkit);
      },
      [&](const std::string& title, const auto& rows) {
        text += "`" + title + "`\n\n" + markdown_line(columns) +
                "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n";
        for (const auto& row : rows) text += markdown_line(row);
        text += "\n";
      });
  return text + "</details>\n";
}

std::string json_of_resources(const ResourceComparison& comparison) {
  Json rows = Json::array();
  for (const JudgedResources& row : comparison.rows) rows.push_back(row_json(row));
  return json_text({{"rows", rows}, {"notes", comparison.notes}});
}

}  // namespace plumbline
