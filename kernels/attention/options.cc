// Parses each option of the providers, and says which keys and values there are when it fails.
#include "kernels/attention/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace plumbline::attention {
namespace {

template <class Number>
bool set_number(Number& field, std::string_view text, Number lowest, Number highest) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < lowest || value > highest)
    return false;
  field = value;
  return true;
}

bool set_tile(Options& o, std::string_view text) {
  const std::size_t by = text.find('x');
  return by != text.npos && set_number(o.tile_q, text.substr(0, by), 1, 256) &&
         set_number(o.tile_kv, text.substr(by + 1), 1, 256);
}

bool set_dtype(std::uint32_t& field, std::string_view text, bool with_bf16) {
  if (text == "fp32") field = PLUMBLINE_F32;
  if (text == "fp16") field = PLUMBLINE_F16;
  if (text == "bf16" && with_bf16) field = PLUMBLINE_BF16;
  return text == "fp32" || text == "fp16" || (text == "bf16" && with_bf16);
}

bool set_schedule(Options& o, std::string_view text) {
  using Schedule = Options::Schedule;
  constexpr std::array<std::pair<std::string_view, Schedule>, 4> names{
      {{"alternating", Schedule::alternating},
       {"in_order", Schedule::in_order},
       {"reversed", Schedule::reversed},
       {"random", Schedule::random}}};
  const auto* found = std::find_if(names.begin(), names.end(),
                                   [&](const auto& name) { return name.first == text; });
  if (found == names.end()) return false;
  o.schedule = found->second;
  return true;
}

struct Rule {
  std::string_view key, allowed;
  bool (*set)(Options&, std::string_view);
};
constexpr std::array rules{
    Rule{"tile", "ROWSxKEYS, for example 64x32", set_tile},
    Rule{"splits", "0 (by length) to 64",
         [](Options& o, std::string_view t) { return set_number(o.splits, t, 0, 64); }},
    Rule{"p_dtype", "fp32, fp16 or bf16",
         [](Options& o, std::string_view t) { return set_dtype(o.p_dtype, t, true); }},
    Rule{"accumulator", "fp32 or fp16",
         [](Options& o, std::string_view t) { return set_dtype(o.accumulator, t, false); }},
    Rule{"schedule", "alternating, in_order, reversed or random", set_schedule},
    Rule{"seed", "a number",
         [](Options& o, std::string_view t) {
           return set_number(o.seed, t, std::uint64_t{0}, ~std::uint64_t{0});
         }},
};

std::string apply(Options& options, std::string_view key, std::string_view value) {
  const auto* rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.key == key; });
  if (rule == rules.end()) {
    std::string known;
    for (const Rule& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.key);
    return "unknown option '" + std::string(key) + "' (known: " + known + ")";
  }
  if (rule->set(options, value)) return "";
  return "option " + std::string(key) + "=" + std::string(value) + ": expected " +
         std::string(rule->allowed);
}

}  // namespace

Options parse_options(std::string_view text) {
  Options options;
  options.text = text;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    std::string error =
        apply(options, item.substr(0, equals), item.substr(std::min(item.size(), equals + 1)));
    if (options.error.empty()) options.error = std::move(error);
  }
  return options;
}

}  // namespace plumbline::attention
