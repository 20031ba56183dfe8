// The details of one outcome for the page. Include this only in sources: it includes the JSON
// library.
#pragma once

#include "harness/report/json_value.h"
#include "harness/report/page_data.h"

namespace plumbline {

Json page_detail(const PageInput& input, std::size_t row);
// Returns the index of the run's night in `input.nights`; -1 if there is none.
std::ptrdiff_t place_of_night(const PageInput& input, const std::string& run_id);

}  // namespace plumbline
