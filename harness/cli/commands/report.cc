// plumbline report: a stored run or night as one HTML file.
#include <fmt/format.h>

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
  bool data = false;  // what the page is made from, in place of the page
  // Where nothing is said.
  std::filesystem::path place() const {
    if (!output.empty()) return output;
    return data ? "report.json" : "report.html";
  }
};

struct Content {
  std::string text;     // the page, or what it is made from
  std::string summary;  // of the runs, "" if all of them finished
};
Result<Content> content_of(const ReportOptions& options, const RunSelection& selection,
                           Store& store) {
  const auto source = read_page_source(store, selection, options.database.path);
  if (!source) return tl::unexpected(source.error());
  if (auto added = add_extras(**source, store, options.extras); !added)
    return tl::unexpected(added.error());
  std::string json = json_of_page((*source)->input);
  const RunReport& report = (*source)->report;
  const std::string summary =
      report.state() == RunState::incomplete ? incomplete_sentence(report) : "";
  if (options.data) return Content{std::move(json), summary};
  const auto page_template = read_template();
  if (!page_template) return tl::unexpected(page_template.error());
  auto page = page_with_data(*page_template, json);
  if (!page) return tl::unexpected(page.error());
  return Content{std::move(*page), summary};
}

int report(const ReportOptions& options) {
  const std::filesystem::path place = options.place();
  if (const Errors unusable = unusable_outputs({{"--output", place}}); !unusable.empty())
    return report_errors(unusable, exit_usage);
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto selection = page_subject(**store, options.run);
  if (!selection) return report_errors(selection.error(), exit_usage);
  const auto content = content_of(options, *selection, **store);
  if (!content) return report_errors(content.error(), exit_infrastructure);
  if (auto written = write_text(place, content->text); !written)
    return report_errors(written.error(), exit_infrastructure);
  const std::size_t bytes = content->text.size();
  if (options.format == "json") {
    print_json(json_text({{"file", place.string()}, {"of", selection->label}, {"bytes", bytes}}));
  } else {
    fmt::print("{}: {}, {:.2f} MB\n", place.string(), selection->label,
               static_cast<double>(bytes) / 1e6);
    if (!content->summary.empty()) fmt::print("{}.\n", content->summary);
  }
  return content->summary.empty() ? exit_fine : exit_infrastructure;
}

}  // namespace

void add_report(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("report", "Write a stored run or night as one HTML file");
  auto options = std::make_shared<ReportOptions>();
  command.add_option("run", options->run,
                     "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, "
                     "night:ID; commit:SHA. Without it the newest night, else the newest run");
  command
      .add_option("-o,--output", options->output,
                  "File to write (default: report.html; with --data report.json)")
      .type_name("FILE");
  command.add_flag("--data", options->data,
                   "Write what the page is made from, as JSON "
                   "(page/src/data.ts)");
  command
      .add_option("--against", options->extras.against,
                  "Also another run, night or commit, named likewise: B of the panel \"A and B\"")
      .type_name("RUN");
  command
      .add_option("--audit", options->extras.audit,
                  "Also the result of `plumbline audit --format json`")
      .type_name("FILE");
  options->database.add_to(command);
  add_format(command, options->format, {"text", "json"}, "What goes to stdout");
  command.footer(
      "The file needs no server and no network: open it in a browser.\n"
      "Examples:\n"
      "  plumbline report\n"
      "  plumbline report latest -o out/report.html\n"
      "  plumbline report night:2027-01-30 --db history.db -o night.html\n"
      "  plumbline report latest --against commit:0123abc\n"
      "  plumbline report --data -o night.json");
  command.callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace plumbline::cli
