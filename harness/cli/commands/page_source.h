// The contents of the page of a run or night, read from the database, and the page's template.
#pragma once

#include <memory>

#include "harness/cli/commands/stored_runs.h"
#include "harness/report/page_data.h"

namespace plumbline::cli {

// Returns the page without its data. Ends the command if plumbline was built without the page.
std::string read_template();

// Returns the runs that `words` name; for "", the newest night, or the newest run if there is none.
Result<RunSelection> page_subject(Store& store, const std::string& words);

// Optional contents of a page, in addition to its runs.
struct PageExtras {
  std::string against;          // run, night or commit to compare with; "" for none
  std::filesystem::path audit;  // result of `plumbline audit --format json`; "" for none
};

// A snapshot of the database. It cannot be moved, because `input` points into it.
struct PageSource {
  PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;

  StoredRuns stored;
  RunReport report;
  StoredRuns other_stored;  // the runs of PageExtras::against
  RunReport other_report;
  PageInput input;
};
std::unique_ptr<PageSource> read_page_source(Store& store, const RunSelection& selection,
                                             const std::filesystem::path& database);
void add_extras(PageSource& source, Store& store, const PageExtras& extras);

}  // namespace plumbline::cli
