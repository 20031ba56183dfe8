// Renderers of `plumbline resources`. They return strings and judge nothing.
#pragma once

#include <string>

#include "harness/report/report.h"
#include "harness/resources/compare.h"

namespace plumbline {

// Returns terminal text: a table per kernel and launch, with predicted resources next to ptxas's;
// then notable rows, notes and totals.
std::string render_resources(const ResourceComparison& comparison, const Style& style);
// Returns Markdown for a CI job's summary: totals and notable rows, with folded tables.
std::string render_resources_markdown(const ResourceComparison& comparison);
// Returns {"rows": […], "notes": […]}; unknown figures are null.
std::string json_of_resources(const ResourceComparison& comparison);

// Returns "63 rows: 62 pass, 1 regressed", in the order of the enumerators.
std::string resource_totals(const ResourceComparison& comparison);

}  // namespace plumbline
