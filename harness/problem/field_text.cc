// Writes each field of a problem as the text that set_field reads, and a problem as a suite group.
#include "harness/problem/field_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "harness/base/text.h"
#include "harness/problem/problem_fields.h"

namespace plumbline {
namespace {

// Writes doubles as the shortest text that parses back to the same number.
template <class T>
std::string value_text(const Problem& problem, const ProblemField<T>& field) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name(problem.*field.member));
  } else {
    return fmt::format("{}", problem.*field.member);
  }
}

std::string value_text(const Problem& problem, const FieldPair& fields) {
  const auto first = problem.*fields.first.member, second = problem.*fields.second.member;
  if (!fields.segment.empty()) return fmt::format("{},{}", first, second);
  return first == second ? std::to_string(first) : "";
}

}  // namespace

// JSON strings are TOML basic strings, except for DEL, which JSON does not escape.
std::string toml_string(std::string_view text) {
  std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = json.find('\x7F', at)) != std::string::npos;)
    json.replace(at, 1, "\\u007F");
  return json;
}

// Fields whose default is a number or truth value have no quotes, except for a seed beyond TOML's
// 64-bit integers.
std::string toml_value(std::string_view key, const std::string& text) {
  const std::string usual = field_text(Problem{}, key);
  const bool is_bare =
      parse_boolean(usual) || (parse_real(usual) && (key != "seed" || parse_integer(text)));
  return is_bare ? text : toml_string(text);
}

std::string field_text(const Problem& problem, std::string_view key) {
  std::string text;
  for_each_field([&](const auto& field) {
    if (field.key == key) text = value_text(problem, field);
  });
  return text;
}

std::vector<std::pair<std::string_view, std::string>> fields_to_set(const Problem& problem) {
  Problem unset;  // the problem without the fields that follow
  std::vector<std::pair<std::string_view, std::string>> fields;
  for_each_field([&](const auto& field) {
    if (!field.written) return;
    const std::string text = value_text(problem, field);
    // Always writes the dtype and a sample's shape, so that a reader needs no defaults.
    const bool always = field.role != FieldRole::feature && field.key != "batch";
    if (!always && text == value_text(unset, field)) return;
    if (field.key == "inputs") [[maybe_unused]]
      const auto unreadable = set_field(unset, field.key, text);
    fields.emplace_back(field.key, text);
  });
  return fields;
}

std::string group_text(const Case& c, std::string_view group_name, std::string_view reason) {
  std::string fields;
  for (const auto& [key, text] : fields_to_set(c.problem)) {
    fields += fmt::format("{}{} = {}", fields.empty() ? "" : ", ", key, toml_value(key, text));
  }
  std::string text =
      fmt::format("[[group]]\nname = {}\nreason = {}\nkernels = [{}]\n", toml_string(group_name),
                  toml_string(reason), toml_string(c.kernel));
  if (c.device != "cpu") text += fmt::format("devices = [{}]\n", toml_string(c.device));
  return text + fmt::format("set = {{ {} }}\n", fields);
}

}  // namespace plumbline
