// Instantiates the parser and the writer of nlohmann.
#include "harness/base/json.h"

#include <nlohmann/json.hpp>

namespace plumbline {

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text); }

nlohmann::json parse_json_if_valid(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string write_json(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plumbline
