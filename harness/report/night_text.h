// A night for a terminal, as Markdown and as JSON.
#pragma once

#include <string>

#include "harness/report/report.h"

namespace plumbline {

struct NightSummary;

// What happened, the alerts in groups with a lead, and what chance alone would have given.
std::string render_night(const NightSummary& summary, const Style& style);
std::string render_night_markdown(const NightSummary& summary);
std::string json_of_night(const NightSummary& summary);

}  // namespace plumbline
