// Failures as GitHub Actions workflow commands, which it shows next to the lines of a suite file
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

// Returns file paths relative to `root`, the repository's folder.
SuitePlaces places_of(const Plan& plan, const std::filesystem::path& root);

// Returns one line per issue, at the place of its worst case: "::error
// file=cases/x.toml,line=12,title=…::…". Open cases and lost coverage are warnings. GitHub shows
// ten errors and ten warnings per step; a final notice counts the rest.
std::string render_annotations(const RunReport& report, const SuitePlaces& places);

}  // namespace plumbline
