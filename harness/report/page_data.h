// Writes the JSON for the page of a run or night. page/src/data.ts documents every field.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/judge/verdict.h"
#include "harness/report/issues.h"

namespace plumbline {

// An event of a night: opened, closed, suspect, measured again or set aside.
struct PageEvent {
  std::string kind, at, who, detail;
};

// A night, or a run outside of nights.
struct PageNight {
  std::string name = {}, started_at = {}, commit = {};
  std::vector<std::string> run_ids = {};
  RunState state = RunState::fine;  // the state of its worst run
  std::size_t fine = 0, failures = 0, open = 0, unmeasured = 0;
  bool suspect = false;
  double shift = 0;                    // common change of all times, 0.01 = 1 %
  std::string why = {};                // why it is suspect
  std::vector<PageEvent> events = {};  // by time
};

// A user's decision about cases.
struct PageDecision {
  std::string kind;  // accept, pin, acknowledge
  std::string run_id, glob, who, why, at;
};

// One night in a case's history.
struct PagePoint {
  std::string run_id, verdict;
  Standing standing = Standing::unmeasured;
  std::optional<double> percent, rms, ratio, level, limit;
  bool is_set_aside = false;  // the time is not judged: the night or the case was disturbed
};

// The run, night or commit that the report is compared with.
struct PageOther {
  const RunReport* report = nullptr;
  std::string label;
  std::vector<std::string> machine_of;  // per outcome, in words
};

struct PageInput {
  const RunReport* report = nullptr;
  std::string kind = "run";  // run, night, commit
  std::string label;
  std::vector<std::string> run_ids;
  std::vector<std::string> machine_of;  // per outcome, in words
  // The start of each outcome's reproduce line, since the runs of a night may have different
  // providers. Empty: the report's start applies to all.
  std::vector<std::string> reproduce_of = {};
  std::vector<Issue> news;
  std::vector<PageNight> nights;  // oldest first
  std::vector<PageDecision> decisions;
  // The points of each outcome shown in detail, by its index; oldest first
  std::map<std::size_t, std::vector<PagePoint>> history;
  std::optional<PageOther> other = {};  // if the user named one
  std::string audit = {};               // result of audit_for_page(); "" = none
  std::string made_at, database;
  bool live = false;  // a server can give further details
};

// Returns the indices of the outcomes that the page shows in full, ascending. These are at most 500
// failing, open or tolerated ones, and the 200 others nearest to their limit.
std::vector<std::size_t> outcomes_in_detail(const std::vector<StoredOutcome>& outcomes);

// Extracts the page's data from `text`, the output of `plumbline audit --format json` in `file`.
// Returns an error if it is not such a document.
Result<std::string> audit_for_page(const std::string& text, const std::filesystem::path& file);

std::string json_of_page(const PageInput& input);
// Returns the details of one outcome.
std::string json_of_page_case(const PageInput& input, std::size_t row);

}  // namespace plumbline
