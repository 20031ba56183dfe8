// What the page of a run or night is made from, out of the database, and the page's template.
#pragma once

#include <memory>

#include "harness/cli/commands/stored_runs.h"
#include "harness/report/page_data.h"

namespace plumbline::cli {

// The page that page bundles; its data are not in it yet. An error where plumbline
// was built without it.
std::string read_template();

// What `words` name; without them the newest night where there is one, else the newest run.
Result<RunSelection> page_subject(Store& store, const std::string& words);

// What a page shows that the database does not say by itself.
struct PageExtras {
  std::string against;          // another run, night or commit, in words; "" = none
  std::filesystem::path audit;  // result of `plumbline audit --format json`; "" = none
};

// One moment of the database. It stays where it is: `input` points into it.
struct PageSource {
  PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;

  StoredRuns stored;
  RunReport report;
  StoredRuns other_stored;  // of PageExtras::against
  RunReport other_report;
  PageInput input;
};
std::unique_ptr<PageSource> read_page_source(Store& store, const RunSelection& selection,
                                             const std::filesystem::path& database);
void add_extras(PageSource& source, Store& store, const PageExtras& extras);

}  // namespace plumbline::cli
