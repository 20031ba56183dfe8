// The five reports that plumbline grew out of (cases/stories), beside what a run of their suites
// says: what was reported then, and the same figure here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

struct StoryFigure {
  std::string what;
  std::string theirs;  // as reported
  std::string ours;    // "" = not measured by this run
};

struct StoryFigures {
  std::string_view id, title, source;  // "S1"; where the figures were reported
  std::vector<StoryFigure> figures;
  std::vector<std::size_t> cases;  // places in the report's outcomes
  std::vector<std::size_t> diffs;  // places in its diffs
};

// S1 to S5, each also where the run has none of its cases. Where a run has a story on CPU kernels
// and on a GPU, the figures are those of the kernels that the story is about.
std::vector<StoryFigures> stories_of(const RunReport& report);

}  // namespace plumbline
