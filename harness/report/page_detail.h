// What the page shows of one outcome in full. A source that includes it pays for the JSON library.
#pragma once

#include "harness/report/json_value.h"
#include "harness/report/page_data.h"

namespace plumbline {

Json page_detail(const PageInput& input, std::size_t row);
// Of the run among the nights; -1 = in none of them.
std::ptrdiff_t place_of_night(const PageInput& input, const std::string& run_id);

}  // namespace plumbline
