// The five upstream issues that led to plumbline (cases/stories): their figures next to a run's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

struct StoryFigure {
  std::string what;
  std::string theirs;  // from the original report
  std::string ours;    // "" = this run did not measure it
};

struct StoryFigures {
  std::string_view id, title, source;  // id: "S1"; source: where the figures were reported
  std::vector<StoryFigure> figures;
  std::vector<std::size_t> cases;  // indices of the report's outcomes
  std::vector<std::size_t> diffs;  // indices of its diffs
};

// Returns S1 to S5, even stories without cases in the run. If a run has a story's diffs on both CPU
// and GPU kernels, the figures come from the kernels that the story is about.
std::vector<StoryFigures> stories_of(const RunReport& report);

}  // namespace plumbline
