// Data for the page of a run or night, as JSON. page/src/data.ts names every field; the page is
// built from that folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/judge/verdict.h"
#include "harness/report/news.h"

namespace plumbline {

// What happened to a night: opened, closed, suspect, measured again, set aside.
struct PageEvent {
  std::string kind, at, who, detail;
};

// A night, or a run that is part of none.
struct PageNight {
  std::string name = {}, started_at = {}, commit = {};
  std::vector<std::string> run_ids = {};
  RunState state = RunState::fine;  // the worst of its runs
  std::size_t fine = 0, failures = 0, open = 0, unmeasured = 0;
  bool suspect = false;
  double shift = 0;                    // of all times together, 0.01 = 1 %
  std::string why = {};                // it is suspect
  std::vector<PageEvent> events = {};  // in the order of time
};

// What somebody decided about cases.
struct PageDecision {
  std::string kind;  // accept, pin, acknowledge
  std::string run_id, glob, who, why, at;
};

// One night of one case.
struct PagePoint {
  std::string run_id, verdict;
  Standing standing = Standing::unmeasured;
  std::optional<double> percent, rms, ratio, level, limit;
  bool is_set_aside = false;  // its time, which is not judged: the night or the case was disturbed
};

// Another run, night or commit that the subject is compared with.
struct PageOther {
  const RunReport* report = nullptr;
  std::string label;
  std::vector<std::string> machine_of;  // of each of its outcomes, in words
};

struct PageInput {
  const RunReport* report = nullptr;
  std::string kind = "run";  // run, night, commit
  std::string label;
  std::vector<std::string> run_ids;
  std::vector<std::string> machine_of;  // of each outcome, in words
  // Of each outcome, how its reproduce line begins (each run of a night has its own providers);
  // empty: as the report says.
  std::vector<std::string> reproduce_of = {};
  std::vector<News> news;
  std::vector<PageNight> nights;  // the oldest first
  std::vector<PageDecision> decisions;
  std::map<std::size_t, std::vector<PagePoint>> history;  // of outcomes in detail, oldest first
  std::optional<PageOther> other = {};                    // nothing: none was named
  std::string audit = {};  // what audit_for_page() gave; "" = none was named
  std::string made_at, database;
  bool live = false;  // whether details that are not here can be asked for
};

// Places of the outcomes that are shown in full: those that are not fine, at most 500, and the 200
// nearest to their limit. Ascending.
std::vector<std::size_t> outcomes_in_detail(const std::vector<StoredOutcome>& outcomes);

// What the page shows of an audit, out of what `plumbline audit --format json` printed (`text`, of
// `file`). Fails where it is no such document.
Result<std::string> audit_for_page(const std::string& text, const std::filesystem::path& file);

std::string json_of_page(const PageInput& input);
// Of one outcome, as the page shows it in full.
std::string json_of_page_case(const PageInput& input, std::size_t row);

}  // namespace plumbline
