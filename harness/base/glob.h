// Patterns for case ids and kernel names: * and ? match any characters, including '/'.
#pragma once

#include <string_view>

namespace plumbline {

bool glob_match(std::string_view pattern, std::string_view text);
// Returns true if some text matches both patterns.
bool globs_overlap(std::string_view a, std::string_view b);

}  // namespace plumbline
