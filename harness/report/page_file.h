// Builds the page: one HTML file with its data.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

// Inserts `json` into the page's template, as base64 of gzip. Returns an error if the template has
// no placeholder.
Result<std::string> page_with_data(std::string_view page_template, std::string_view json);

}  // namespace plumbline
