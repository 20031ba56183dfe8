// Renders failures as GitHub Actions workflow commands. GitHub shows them next to lines of suites
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "harness/report/report.h"
#include "harness/suite/plan.h"

namespace plumbline {

struct SuitePlace {
  std::string file;
  int line = 0;  // 0: unknown
};
// Key: suite, and case id or name of a diff.
using SuitePlaces = std::map<std::pair<std::string, std::string>, SuitePlace>;

// Returns the places of cases and diffs; paths are relative to `root`, the repository's folder.
SuitePlaces places_of(const Plan& plan, const std::filesystem::path& root);

// Returns one line per issue except improvements, at the place of its worst case:
// "::error file=cases/x.toml,line=12,title=…::…". Open cases and lost coverage are warnings. GitHub
// shows ten errors and ten warnings per step; final notices count the rest.
std::string render_annotations(const RunReport& report, const SuitePlaces& places);

}  // namespace plumbline
