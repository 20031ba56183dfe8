// plumbline report: writes a stored run or night as one HTML file.
#include <fmt/format.h>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/page_source.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"
#include "harness/report/page_file.h"
#include "harness/report/summary.h"

namespace plumbline::cli {
namespace {

struct ReportOptions {
  DatabaseOption database;
  std::string run, format = "text";
  std::filesystem::path output;
  PageExtras extras;
  bool data = false;  // writes the page's data instead of the page
  // Returns the file to write, by default in the current folder.
  std::filesystem::path place() const {
    if (!output.empty()) return output;
    return data ? "report.json" : "report.html";
  }
};

struct Content {
  std::string text;     // the page or its data
  std::string summary;  // about incomplete runs; "" if all of them finished
};
Content content_of(const ReportOptions& options, const RunSelection& selection, Store& store) {
  const auto source = read_page_source(store, selection, options.database.path);
  add_extras(*source, store, options.extras);
  std::string json = json_of_page(source->input);
  const RunReport& report = source->report;
  const std::string summary =
      report.state() == RunState::incomplete ? incomplete_sentence(report) : "";
  if (options.data) return Content{std::move(json), summary};
  const auto page_template = read_template();
  auto page = need(page_with_data(page_template, json));
  return Content{std::move(page), summary};
}

int report(const ReportOptions& options) {
  const std::filesystem::path place = options.place();
  end_on_errors(unusable_outputs({{"--output", place}}), exit_usage);
  auto store = need(options.database.open(true));
  const auto selection = need(page_subject(*store, options.run), exit_usage);
  const auto content = content_of(options, selection, *store);
  need(write_text(place, content.text));
  const std::size_t bytes = content.text.size();
  if (options.format == "json") {
    print_json(json_text({{"file", place.string()}, {"of", selection.label}, {"bytes", bytes}}));
  } else {
    fmt::print("{}: {}, {:.2f} MB\n", place.string(), selection.label,
               static_cast<double>(bytes) / 1e6);
    if (!content.summary.empty()) fmt::print("{}.\n", content.summary);
  }
  return content.summary.empty() ? exit_fine : exit_infrastructure;
}

}  // namespace

void add_report(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, report, "report", "Write a stored run or night as one HTML file");
  command.add_option("run", options.run,
                     "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, "
                     "night:ID; commit:SHA. Default: newest night; without nights, newest run");
  command.add_option("-o,--output", options.output, "FILE",
                     "File to write (default: report.html; with --data report.json)");
  command.add_flag("--data", options.data,
                   "Write the page's data as JSON "
                   "(page/src/data.ts)");
  command.add_option(
      "--against", options.extras.against, "RUN",
      "Add a second run, night or commit, named likewise: B of the panel \"A and B\"");
  command.add_option("--audit", options.extras.audit, "FILE",
                     "Add the result of `plumbline audit --format json`");
  options.database.add_to(command);
  add_format(command, options.format, {"text", "json"}, "What goes to stdout");
  command.footer(
      "The file needs no server and no network: open it in a browser.\n"
      "Examples:\n"
      "  plumbline report\n"
      "  plumbline report latest -o out/report.html\n"
      "  plumbline report night:2027-01-30 --db history.db -o night.html\n"
      "  plumbline report latest --against commit:0123abc\n"
      "  plumbline report --data -o night.json");
}

}  // namespace plumbline::cli
