// What failed, as GitHub Actions shows it beside the lines of a suite: workflow commands
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
  int line = 0;  // 0: not known
};
// Of cases by suite and id, and of diffs by suite and name.
using SuitePlaces = std::map<std::pair<std::string, std::string>, SuitePlace>;

// Files as seen from `root`, the folder of the repository.
SuitePlaces places_of(const Plan& plan, const std::filesystem::path& root);

// One line for each piece of news, at the place of its lead: "::error file=cases/x.toml,line=12,
// title=…::…". GitHub shows ten errors and ten warnings of a step; a last notice counts the rest.
// What is open is a warning, and lost coverage too.
std::string render_annotations(const RunReport& report, const SuitePlaces& places);

}  // namespace plumbline
