// Patterns over case ids and kernel names: * and ? match any characters, '/' included.
#pragma once

#include <string_view>

namespace plumbline {

bool glob_match(std::string_view pattern, std::string_view text);
// Whether some text matches both patterns.
bool globs_overlap(std::string_view a, std::string_view b);

}  // namespace plumbline
