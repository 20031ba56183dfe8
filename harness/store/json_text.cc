// Writes the lists inside a row as JSON text, and parses them.
#include "harness/store/json_text.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "harness/base/json.h"
#include "harness/base/json_fields.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double number_of_word(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return text == "Infinity" ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity();
}

double parse_number(const json& value) {
  return value.is_number() ? value.get<double>() : number_of_word(value.get<std::string>());
}

// json.get would convert 1e300 to an arbitrary integer.
std::int64_t whole_number(const json& value) {
  if (!value.is_number_integer())
    throw json::type_error::create(302, "a whole number is expected, not " + write_json(value),
                                   &value);
  return value.get<std::int64_t>();
}

// Keys and members of a round, for both directions.
constexpr std::pair<std::string_view, std::vector<double> TimeRound::*> round_samples[] = {
    {"kernel_ns", &TimeRound::kernel_ns},
    {"sentinel_ns", &TimeRound::sentinel_ns},
    {"kernel_cpu_ns", &TimeRound::kernel_cpu_ns},
    {"sentinel_cpu_ns", &TimeRound::sentinel_cpu_ns},
    {"hot_ns", &TimeRound::hot_ns},
    {"kernel_mhz", &TimeRound::kernel_mhz},
    {"hot_mhz", &TimeRound::hot_mhz},
    {"kernel_throttle", &TimeRound::kernel_throttle},
    {"hot_throttle", &TimeRound::hot_throttle}};
constexpr std::pair<std::string_view, double TimeRound::*> round_numbers[] = {
    {"load", &TimeRound::load},
    {"mhz", &TimeRound::mhz},
    {"plan_ns", &TimeRound::plan_ns},
    {"quiet", &TimeRound::quiet},
    {"ratio", &TimeRound::ratio}};

// Fills rounds while parsing: a tree of JSON values takes four times as long, and `judge` reads the
// rounds of ten thousand outcomes.
class RoundReader : public nlohmann::json_sax<json> {
 public:
  explicit RoundReader(const std::string& text) : text_(text) {}
  std::vector<TimeRound> take() { return std::move(rounds_); }

  bool start_object(std::size_t) override {
    rounds_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    samples_ = nullptr;
    number_ = nullptr;
    is_throttled_ = name == "throttled";
    for (const auto& [known, member] : round_samples)
      if (name == known) samples_ = &(rounds_.back().*member);
    for (const auto& [known, member] : round_numbers)
      if (name == known) number_ = &(rounds_.back().*member);
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return take_number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return take_number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return take_number(value); }
  bool string(string_t& value) override {
    if (is_throttled_) {
      rounds_.back().throttled = value;
      return true;
    }
    return take_number(number_of_word(value));
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool end_object() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    // Throws the exception that json::parse throws for this text.
    [[maybe_unused]] const json thrown = json::parse(text_);
    return false;
  }

 private:
  bool take_number(double value) {
    if (samples_ != nullptr)
      samples_->push_back(value);
    else if (number_ != nullptr)
      *number_ = value;
    return true;
  }

  const std::string& text_;
  std::vector<TimeRound> rounds_;
  std::vector<double>* samples_ = nullptr;  // the member of the last key; null: unknown
  double* number_ = nullptr;
  bool is_throttled_ = false;
};

}  // namespace

std::string findings_text(const std::vector<Finding>& findings) {
  if (findings.empty()) return "[]";  // the usual case
  json list = json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"statistic", name(finding.kind)},
                    JSON_FIELDS_BY(number, finding, value, limit),
                    JSON_FIELDS_BY(storable_text, finding, text)});
  }
  return write_json(list);
}

std::vector<Finding> parse_findings(const std::string& text) {
  std::vector<Finding> findings;
  for (const json& item : parse_json(text)) {
    findings.push_back({finding_kind(item.at("statistic").get<std::string>()),
                        parse_number(item.at("value")), parse_number(item.at("limit")),
                        item.at("text").get<std::string>()});
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

std::string numbers_text(const std::vector<double>& numbers) {
  if (numbers.empty()) return "[]";
  json list = json::array();
  for (const double value : numbers) list.push_back(number(value));
  return write_json(list);
}

std::vector<double> parse_numbers(const std::string& text) {
  if (text == "[]") return {};
  std::vector<double> numbers;
  for (const json& value : json::parse(text)) numbers.push_back(parse_number(value));
  return numbers;
}

std::string rounds_text(const std::vector<TimeRound>& rounds) {
  if (rounds.empty()) return "[]";
  json list = json::array();
  for (const TimeRound& round : rounds) {
    json object = json::object();
    for (const auto& [key, member] : round_samples) {
      if ((round.*member).empty()) continue;
      json& samples = object[std::string(key)] = json::array();
      for (const double ns : round.*member) samples.push_back(number(ns));
    }
    for (const auto& [key, member] : round_numbers)
      if (round.*member != 0) object[std::string(key)] = number(round.*member);
    if (!round.throttled.empty()) object["throttled"] = storable_text(round.throttled);
    list.push_back(std::move(object));
  }
  return write_json(list);
}

std::vector<TimeRound> parse_rounds(const std::string& text) {
  if (text == "[]") return {};
  RoundReader reader(text);
  json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace plumbline
