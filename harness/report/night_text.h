// Renders a night as terminal text, Markdown and JSON.
#pragma once

#include <string>

#include "harness/report/report.h"

namespace plumbline {

struct NightSummary;

// Returns the events, the alerts by group, and how many false alerts chance would give.
std::string render_night(const NightSummary& summary, const Style& style);
std::string render_night_markdown(const NightSummary& summary);
std::string json_of_night(const NightSummary& summary);

}  // namespace plumbline
