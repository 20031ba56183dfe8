// One HTML file that holds the page and what it shows.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

// Puts `json` into the page's template (page), compressed by gzip and as base64. An
// error where the template has no place for it.
Result<std::string> page_with_data(std::string_view page_template, std::string_view json);

}  // namespace plumbline
