// Reads the runs and the nights before them, and finds the new issues.
#include "harness/cli/commands/page_source.h"

#include <chrono>
#include <fstream>
#include <iterator>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/page_history.h"
#include "harness/cli/session.h"
#include "harness/store/machine.h"
#include "harness/store/text.h"

namespace plumbline::cli {
namespace {

std::filesystem::path template_path() {
  return library_directory().parent_path().parent_path() / "share" / "plumbline" / "page.html";
}

std::string kind_of(const std::string& label) {
  if (label.starts_with("night ")) return "night";
  return label.starts_with("commit ") ? "commit" : "run";
}

std::vector<std::string> machines_of(const StoredRuns& stored) {
  std::vector<std::string> machines;
  for (std::size_t i = 0; i < stored.outcomes.size(); ++i) {
    const RunInfo& run = stored.runs[stored.run_of[i]];
    machines.push_back(describe(class_of(stored.outcomes[i].outcome, run.machine)));
  }
  return machines;
}

}  // namespace

std::string read_template() {
  const auto path = template_path();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && !text.empty()) return text;
  end_command(exit_infrastructure,
              {path.string(), 0, "the page is not there: this plumbline was built without it",
               "install node and the page's packages with `ci/setup.sh --page`, and build "
               "again"});
}

Result<RunSelection> page_subject(Store& store, const std::string& words) {
  if (!words.empty()) return store.resolve_runs(words);
  if (auto night = store.resolve_runs("latest-night")) return night;
  return store.resolve_runs("latest");
}

std::unique_ptr<PageSource> read_page_source(Store& store, const RunSelection& selection,
                                             const std::filesystem::path& database) {
  auto source = std::make_unique<PageSource>();
  const StoredRuns& stored = source->stored = read_runs(store, selection);
  source->report = stored.report();
  PageInput& input = source->input;
  input.report = &source->report;
  input.kind = kind_of(selection.label);
  input.label = selection.label;
  input.run_ids = selection.run_ids;
  input.machine_of = machines_of(stored);
  for (const std::size_t run : stored.run_of)
    input.reproduce_of.push_back(reproduce_command(stored.runs[run]));
  input.news = find_issues(source->report, past_commits(store, stored));
  input.nights = nights_before(store, stored);
  input.decisions = decisions_about(store, input.nights);
  input.history = histories_of(store, stored, outcomes_in_detail(stored.outcomes), input.nights);
  input.made_at = iso_time(std::chrono::system_clock::now());
  input.database = database.filename().string();
  return source;
}

void add_extras(PageSource& source, Store& store, const PageExtras& extras) {
  if (!extras.against.empty()) {
    const auto selection = need(store.resolve_runs(extras.against));
    source.other_stored = read_runs(store, selection);
    source.other_report = source.other_stored.report();
    source.input.other =
        PageOther{&source.other_report, selection.label, machines_of(source.other_stored)};
  }
  if (!extras.audit.empty()) {
    std::ifstream file(extras.audit, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
      end_command(exit_infrastructure, {extras.audit.string(), 0, "the file cannot be read",
                                        "name the output of `plumbline audit --format json`"});
    source.input.audit = need(audit_for_page(text, extras.audit));
  }
}

}  // namespace plumbline::cli
