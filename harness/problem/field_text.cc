// Writes each field of a problem as the text that set_field reads, and a problem as a suite group.
#include "harness/problem/field_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <nlohmann/json.hpp>

#include "harness/base/text.h"

namespace plumbline {
namespace {

// Always written, so that a reader sees the shape without knowing the defaults.
constexpr std::array<std::string_view, 7> always_written{
    "dtype", "heads_q", "heads_kv", "seq_q", "seq_kv", "head_dim_qk", "head_dim_vo"};
// Keys whose members other keys name.
constexpr std::array<std::string_view, 5> compound{"heads", "seq", "head_dim", "window_left",
                                                   "window_right"};

template <class Names>
bool contains(const Names& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

// JSON's strings are TOML's basic strings, DEL excepted, which JSON leaves as it is.
std::string toml_string(std::string_view text) {
  std::string json = nlohmann::json(text).dump();
  for (std::size_t at = 0; (at = json.find('\x7F', at)) != std::string::npos;)
    json.replace(at, 1, "\\u007F");
  return json;
}

// A field whose default is a number or a truth value is written without quotes, but for a seed
// beyond TOML's 64-bit integers.
std::string toml_value(std::string_view key, const std::string& text) {
  const std::string usual = field_text(Problem{}, key);
  const bool is_bare =
      parse_boolean(usual) || (parse_real(usual) && (key != "seed" || parse_integer(text)));
  return is_bare ? text : toml_string(text);
}

}  // namespace

std::string field_text(const Problem& p, std::string_view key) {
  const auto both = [](std::int64_t first, std::int64_t second) {
    return first == second ? std::to_string(first) : std::string();
  };
  // Doubles as the shortest text that parses back to the same one.
  if (key == "inputs") return p.inputs;
  if (key == "dtype") return std::string(name(p.dtype));
  if (key == "kv_dtype") return std::string(name(p.kv_dtype));
  if (key == "out_dtype") return std::string(name(p.out_dtype));
  if (key == "batch") return std::to_string(p.batch);
  if (key == "heads") return both(p.heads_q, p.heads_kv);
  if (key == "heads_q") return std::to_string(p.heads_q);
  if (key == "heads_kv") return std::to_string(p.heads_kv);
  if (key == "seq") return both(p.seq_q, p.seq_kv);
  if (key == "seq_q") return std::to_string(p.seq_q);
  if (key == "seq_kv") return std::to_string(p.seq_kv);
  if (key == "head_dim") return both(p.head_dim_qk, p.head_dim_vo);
  if (key == "head_dim_qk") return std::to_string(p.head_dim_qk);
  if (key == "head_dim_vo") return std::to_string(p.head_dim_vo);
  if (key == "mask") return std::string(name(p.mask));
  if (key == "window") return fmt::format("{},{}", p.window_left, p.window_right);
  if (key == "window_left") return std::to_string(p.window_left);
  if (key == "window_right") return std::to_string(p.window_right);
  if (key == "layout") return std::string(name(p.layout));
  if (key == "lengths") return std::string(name(p.lengths));
  if (key == "padding") return std::string(name(p.padding));
  if (key == "page_size") return std::to_string(p.page_size);
  if (key == "fill") return std::string(name(p.fill));
  if (key == "law") return std::string(name(p.law));
  if (key == "v_law") return std::string(name(p.v_law));
  if (key == "k_scale") return fmt::format("{}", p.k_scale);
  if (key == "v_scale") return fmt::format("{}", p.v_scale);
  if (key == "scale") return fmt::format("{}", p.scale);
  if (key == "softcap") return fmt::format("{}", p.softcap);
  if (key == "alibi") return std::string(name(p.alibi));
  if (key == "sinks") return std::string(name(p.sinks));
  if (key == "kv_scales") return std::string(name(p.kv_scales));
  if (key == "view") return std::string(name(p.view));
  if (key == "lse") return p.lse ? "true" : "false";
  assert(key == "seed");
  return std::to_string(p.seed);
}

std::vector<std::pair<std::string_view, std::string>> fields_to_set(const Problem& problem) {
  Problem unset;  // what the problem would be without the fields that follow
  std::vector<std::pair<std::string_view, std::string>> fields;
  for (const std::string_view key : field_names()) {
    if (contains(compound, key)) continue;
    const std::string text = field_text(problem, key);
    if (!contains(always_written, key) && text == field_text(unset, key)) continue;
    if (key == "inputs") [[maybe_unused]]
      const auto unreadable = set_field(unset, key, text);
    fields.emplace_back(key, text);
  }
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
