// Writes problems and cases as readable ids and parses them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/base/text.h"
#include "harness/problem/field_text.h"
#include "harness/problem/problem_fields.h"

namespace plumbline {
namespace {

// A segment's key in an id, and the suite key of its field. `segments` has the order of an id.
struct Segment {
  std::string_view key;
  std::string_view field;
};
constexpr auto segments = [] {
  constexpr std::size_t count = [] {
    std::size_t keys = 0;
    for_each_field([&](const auto& field) { keys += field.segment.empty() ? 0u : 1u; });
    return keys;
  }();
  std::array<Segment, count> list;
  std::size_t next = 0;
  for_each_field([&](const auto& field) {
    if (!field.segment.empty()) list[next++] = {field.segment, field.key};
  });
  // The order of the fields, except that the output comes before K and V, and a recording before
  // the laws that it replaces.
  const auto at = [&](std::string_view key) {
    return std::ranges::find_if(list, [&](const Segment& s) { return s.key == key; });
  };
  std::rotate(at("kv"), at("out"), at("out") + 1);
  std::rotate(at("inputs"), at("inputs") + 1, at("law"));
  return list;
}();

bool is_plain_byte(char c) { return is_plain_name({&c, 1}) || c == '.' || c == '@'; }

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text)
    encoded += is_plain_byte(c) ? std::string(1, c)
                                : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return encoded;
}

// Returns nullopt unless `text` is what percent_encode writes, so that a text has one id.
std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr !=
          digits.data() + 2)
        return std::nullopt;
      i += 2;
    }
    decoded += static_cast<char>(code);
  }
  return percent_encode(decoded) == text ? std::optional(decoded) : std::nullopt;
}

std::string segment_value(const Problem& problem, const Segment& segment) {
  const std::string text = field_text(problem, segment.field);
  return segment.key == "inputs" ? percent_encode(text) : text;
}

// "h8" for equal values, "h8x2" for a pair.
std::string extent_text(char letter, std::int64_t first, std::int64_t second) {
  return first == second ? fmt::format("{}{}", letter, first)
                         : fmt::format("{}{}x{}", letter, first, second);
}

struct ShapePart {
  char letter;
  std::string_view first, second;  // field names; equal if the part is one number
};
constexpr std::array<ShapePart, 4> shape_parts{{{'b', "batch", "batch"},
                                                {'h', "heads_q", "heads_kv"},
                                                {'s', "seq_q", "seq_kv"},
                                                {'d', "head_dim_qk", "head_dim_vo"}}};

// Reads one of "b2", "h8x2", "s128x512", "d64". Returns nullopt, or a message on failure.
std::optional<std::string> parse_shape_part(Problem& problem, const ShapePart& part,
                                            std::string_view text) {
  if (text.empty() || text.front() != part.letter) {
    return fmt::format("\"{}\" is given, \"{}<{}>\" is expected", text, part.letter, part.first);
  }
  const auto numbers = split(text.substr(1), 'x');
  if (numbers.size() > (part.first == part.second ? 1u : 2u))
    return fmt::format("\"{}\" has too many numbers", text);
  if (auto message = set_field(problem, part.first, numbers.front())) return message;
  return set_field(problem, part.second, numbers.back());
}

void parse_shape(Problem& problem, std::string_view text, Errors& errors) {
  const auto parts = split(text, '-');
  if (parts.size() != shape_parts.size()) {
    errors.push_back(
        {"", 0, fmt::format("\"{}\" is not a shape", text), "write it as b2-h8x2-s128x512-d64"});
    return;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (const auto message = parse_shape_part(problem, shape_parts[i], parts[i])) {
      errors.push_back({"", 0, fmt::format("in shape \"{}\": {}", text, *message),
                        "write it as b2-h8x2-s128x512-d64"});
    }
  }
}

std::string segment_suggestion(std::string_view key) {
  std::array<std::string_view, segments.size()> keys;
  for (std::size_t i = 0; i < segments.size(); ++i) keys[i] = segments[i].key;
  return suggestion(key, keys);
}

// Sets only the name: the id already has the file's properties, and the file may be missing.
std::optional<std::string> set_inputs_name(Problem& problem, std::string_view text) {
  const auto decoded = percent_decode(text);
  if (!decoded || decoded->empty())
    return fmt::format(
        "inputs: \"{}\" is not a percent-encoded file name; write %2F for a slash, for example",
        text);
  problem.inputs = *decoded;
  return std::nullopt;
}

void parse_segment(Problem& problem, std::string_view text, std::vector<std::string_view>& seen,
                   Errors& errors) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  if (equals == std::string_view::npos) {
    errors.push_back(
        {"", 0, fmt::format("\"{}\" is not key=value", text), segment_suggestion(key)});
    return;
  }
  for (const Segment& segment : segments) {
    if (segment.key != key) continue;
    for (const std::string_view earlier : seen) {
      if (earlier == key)
        errors.push_back({"", 0, fmt::format("\"{}\" is given twice", key), "keep one"});
    }
    seen.push_back(key);
    const std::string_view value = text.substr(equals + 1);
    const auto message = key == "inputs" ? set_inputs_name(problem, value)
                                         : set_field(problem, segment.field, value);
    if (message) errors.push_back({"", 0, *message, ""});
    return;
  }
  errors.push_back(
      {"", 0, fmt::format("unknown key \"{}\" in \"{}\"", key, text), segment_suggestion(key)});
}

}  // namespace

std::string problem_id(const Problem& problem) {
  const Problem p = canonical(problem), defaults;
  std::string id = fmt::format(
      "{}/b{}-{}-{}-{}", name(p.dtype), p.batch, extent_text('h', p.heads_q, p.heads_kv),
      extent_text('s', p.seq_q, p.seq_kv), extent_text('d', p.head_dim_qk, p.head_dim_vo));
  for (const Segment& segment : segments) {
    const std::string value = segment_value(p, segment);
    if (value != segment_value(defaults, segment)) id += fmt::format("/{}={}", segment.key, value);
  }
  return id;
}

Result<Problem> parse_problem_id(std::string_view id) {
  const auto parts = split(id, '/');
  if (parts.size() < 2) {
    return fail(fmt::format("\"{}\" is not a problem id", id),
                "write it as bf16/b1-h8x2-s128-d64/mask=causal_bottom_right");
  }
  Problem problem;
  Errors errors;
  if (const auto message = set_field(problem, "dtype", parts[0]))
    errors.push_back({"", 0, *message, ""});
  parse_shape(problem, parts[1], errors);
  std::vector<std::string_view> seen;
  for (std::size_t i = 2; i < parts.size(); ++i) parse_segment(problem, parts[i], seen, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return canonical(problem);
}

std::string case_id(const Case& c) {
  const std::string id = fmt::format("{}/{}", c.kernel, problem_id(c.problem));
  return c.device == "cpu" ? id : fmt::format("{}/device={}", id, c.device);
}

Result<Case> parse_case_id(std::string_view id) {
  constexpr std::string_view device_segment = "/device=";
  Case result;
  std::string_view rest = id;
  if (const std::size_t at = rest.rfind(device_segment); at != std::string_view::npos) {
    result.device = rest.substr(at + device_segment.size());
    rest = rest.substr(0, at);
  }
  const std::size_t provider = rest.find('/');
  const std::size_t kernel =
      provider == std::string_view::npos ? provider : rest.find('/', provider + 1);
  if (kernel == std::string_view::npos || provider == 0 || kernel == provider + 1) {
    return fail(fmt::format("\"{}\" is not a case id", id),
                "write it as provider/kernel/bf16/b1-h8-s128-d64");
  }
  if (result.device.empty() || result.device.find('/') != std::string::npos) {
    return fail(fmt::format("\"{}\" names no device after \"/device=\"", id),
                "devices are cpu, cuda:0, emulated:sm_90; device= comes last");
  }
  result.kernel = rest.substr(0, kernel);
  const auto problem = parse_problem_id(rest.substr(kernel + 1));
  if (!problem) return tl::unexpected(problem.error());
  result.problem = *problem;
  return result;
}

}  // namespace plumbline
