// Writes findings, notes and figures by head as JSON text, and parses them back.
#include "harness/store/json_text.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/json.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double parse_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return text == "Infinity" ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity();
}

// json.get would make any integer of 1e300.
std::int64_t whole_number(const json& value) {
  if (!value.is_number_integer())
    throw json::type_error::create(302, "a whole number is expected, not " + write_json(value),
                                   &value);
  return value.get<std::int64_t>();
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings) {
  if (findings.empty()) return "[]";  // as most are
  json list = json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"statistic", storable_text(finding.statistic)},
                    {"value", number(finding.value)},
                    {"limit", number(finding.limit)},
                    {"text", storable_text(finding.text)}});
  }
  return write_json(list);
}

std::vector<Finding> parse_findings(const std::string& text) {
  std::vector<Finding> findings;
  for (const json& item : parse_json(text)) {
    findings.push_back({item.at("statistic").get<std::string>(), parse_number(item.at("value")),
                        parse_number(item.at("limit")), item.at("text").get<std::string>()});
  }
  return findings;
}

std::string notes_text(const std::vector<std::string>& notes) {
  if (notes.empty()) return "[]";
  json list = json::array();
  for (const std::string& note : notes) list.push_back(storable_text(note));
  return write_json(list);
}

std::vector<std::string> parse_notes(const std::string& text) {
  return parse_json(text).get<std::vector<std::string>>();
}

std::string per_head_text(const std::vector<DiffHead>& heads) {
  json list = json::array();
  for (const DiffHead& head : heads) {
    list.push_back(json::array(
        {head.sample, head.head, number(head.mean_abs), number(head.max_abs), head.bit_equal}));
  }
  return write_json(list);
}

std::vector<DiffHead> parse_per_head(const std::string& text) {
  std::vector<DiffHead> heads;
  for (const json& item : parse_json(text)) {
    heads.push_back({whole_number(item.at(0)), whole_number(item.at(1)), parse_number(item.at(2)),
                     parse_number(item.at(3)), item.at(4).get<bool>()});
  }
  return heads;
}

}  // namespace plumbline
