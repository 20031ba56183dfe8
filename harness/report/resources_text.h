// Renderers of `plumbline resources`. They return strings and decide nothing.
#pragma once

#include <string>

#include "harness/report/report.h"
#include "harness/resources/compare.h"

namespace plumbline {

// For a terminal: a table a kernel and launch, with what its tiles predict beside what ptxas says;
// then what is worth a line; then totals.
std::string render_resources(const ResourceComparison& comparison, const Style& style);
// For the summary page of a CI job: totals and what is worth a line, the tables folded away.
std::string render_resources_markdown(const ResourceComparison& comparison);
// {"rows": […], "notes": […]}; unknown figures are null.
std::string json_of_resources(const ResourceComparison& comparison);

// "63 launches of kernels: 62 pass, 1 regressed", in the order of the enumerators.
std::string resource_totals(const ResourceComparison& comparison);

}  // namespace plumbline
