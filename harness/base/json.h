// Parses and writes JSON, compiled once: compiling it in every source takes a tenth of a build.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plumbline {

// Throws nlohmann::json::parse_error.
nlohmann::json parse_json(std::string_view text);
// Returns a value that is_discarded() if the text is not JSON.
nlohmann::json parse_json_if_valid(std::string_view text);
// Writes one line. Bytes that are not UTF-8 become U+FFFD.
std::string write_json(const nlohmann::json& json);

}  // namespace plumbline
