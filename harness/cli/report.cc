// plumbline report: a stored run or night as one HTML file.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/page_past.h"
#include "harness/cli/session.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/report/page_file.h"
#include "harness/store/machine.h"
#include "harness/store/text.h"

namespace plumbline::cli {
namespace {

struct ReportOptions {
  DatabaseOption database;
  std::string run, format = "text";
  std::filesystem::path output;
  bool data = false;  // what the page is made from, in place of the page
  // Where nothing is said.
  std::filesystem::path place() const {
    if (!output.empty()) return output;
    return data ? "report.json" : "report.html";
  }
};

std::filesystem::path template_path() {
  return library_directory().parent_path().parent_path() / "share" / "plumbline" / "page.html";
}

Result<std::string> read_template() {
  const auto path = template_path();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && !text.empty()) return text;
  return fail(Error{path.string(), 0, "the page is not there: this plumbline was built without it",
                    "install node and the page's packages with `ci/setup.sh --page`, and build "
                    "again"});
}

// The newest night where there is one, else the newest run.
Result<RunSelection> selection_of(const ReportOptions& options, Store& store) {
  if (!options.run.empty()) return store.resolve_runs(options.run);
  if (auto night = store.resolve_runs("latest-night")) return night;
  return store.resolve_runs("latest");
}

std::string kind_of(const std::string& label) {
  if (label.starts_with("night ")) return "night";
  return label.starts_with("commit ") ? "commit" : "run";
}

Result<std::string> json_of(Store& store, const RunSelection& selection,
                            const std::filesystem::path& database) {
  const auto stored = read_runs(store, selection);
  if (!stored) return tl::unexpected(stored.error());
  const RunReport content = stored->report();
  PageInput input;
  input.report = &content;
  input.kind = kind_of(selection.label);
  input.label = selection.label;
  input.run_ids = selection.run_ids;
  for (std::size_t i = 0; i < stored->outcomes.size(); ++i) {
    const RunInfo& run = stored->runs[stored->run_of[i]];
    input.machine_of.push_back(describe(class_of(stored->outcomes[i].outcome, run.machine)));
  }
  const auto past = past_commits(store, *stored);
  if (!past) return tl::unexpected(past.error());
  input.news = news_of(content, *past);
  auto nights = nights_before(store, *stored);
  if (!nights) return tl::unexpected(nights.error());
  input.nights = std::move(*nights);
  auto decisions = decisions_about(store, input.nights);
  if (!decisions) return tl::unexpected(decisions.error());
  input.decisions = std::move(*decisions);
  auto histories = histories_of(store, *stored, outcomes_in_detail(stored->outcomes), input.nights);
  if (!histories) return tl::unexpected(histories.error());
  input.history = std::move(*histories);
  input.made_at = iso_time(std::chrono::system_clock::now());
  input.database = database.filename().string();
  return json_of_page(input);
}

// The page, or what it is made from.
Result<std::string> content_of(const ReportOptions& options, const RunSelection& selection,
                               Store& store) {
  auto json = json_of(store, selection, options.database.path);
  if (!json || options.data) return json;
  const auto page_template = read_template();
  if (!page_template) return tl::unexpected(page_template.error());
  return page_with_data(*page_template, *json);
}

int report(const ReportOptions& options) {
  const std::filesystem::path place = options.place();
  if (const Errors unusable = unusable_outputs({{"--output", place}}); !unusable.empty())
    return report_errors(unusable, exit_usage);
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto selection = selection_of(options, **store);
  if (!selection) return report_errors(selection.error(), exit_usage);
  const auto content = content_of(options, *selection, **store);
  if (!content) return report_errors(content.error(), exit_infrastructure);
  if (auto written = write_text(place, *content); !written)
    return report_errors(written.error(), exit_infrastructure);
  const std::size_t bytes = content->size();
  if (options.format == "json") {
    print_json(json_text({{"file", place.string()}, {"of", selection->label}, {"bytes", bytes}}));
  } else {
    fmt::print("{}: {}, {:.2f} MB\n", place.string(), selection->label,
               static_cast<double>(bytes) / 1e6);
  }
  return exit_fine;
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
                   "(harness/report/page/src/data.ts)");
  options->database.add_to(command);
  add_format(command, options->format, {"text", "json"}, "What goes to stdout");
  command.footer(
      "The file needs no server and no network: open it in a browser.\n"
      "Examples:\n"
      "  plumbline report\n"
      "  plumbline report latest -o out/report.html\n"
      "  plumbline report night:2027-01-30 --db history.db -o night.html\n"
      "  plumbline report --data -o night.json");
  command.callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace plumbline::cli
