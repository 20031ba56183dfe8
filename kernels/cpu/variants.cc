// Parses the provider's options, and applies them to the switches of one kernel.
#include "kernels/cpu/variants.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace plumbline::cpu {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text, Number lowest, Number highest) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= lowest && value <= highest)) return std::nullopt;
  return value;
}

template <class Field, class Number>
bool set(Field& field, std::optional<Number> value) {
  if (!value) return false;
  field = static_cast<Field>(*value);
  return true;
}

bool set_flag(bool& field, std::string_view text) { return set(field, number<int>(text, 0, 1)); }

bool set_tile_q(Variant& v, std::string_view text) {
  return set(v.tile_q, number<std::int64_t>(text, 1, 256));
}
bool set_tile_kv(Variant& v, std::string_view text) {
  const auto value = number<std::int64_t>(text, 8, 1024);
  return value && *value % 8 == 0 && set(v.tile_kv, value);
}
bool set_tile(Variant& v, std::string_view text) {
  const std::size_t by = text.find('x');
  return by != text.npos && set_tile_q(v, text.substr(0, by)) &&
         set_tile_kv(v, text.substr(by + 1));
}

// Sets `field` to the value that stands beside `text`.
template <class Field, std::size_t Count>
bool choose(Field& field, std::string_view text,
            const std::array<std::pair<std::string_view, Field>, Count>& choices) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const auto& choice) { return choice.first == text; });
  if (found == choices.end()) return false;
  field = found->second;
  return true;
}

bool set_p_dtype(Variant& v, std::string_view text) {
  return choose<std::uint32_t, 5>(v.p_dtype, text,
                                  {{{"fp32", PLUMBLINE_F32},
                                    {"fp16", PLUMBLINE_F16},
                                    {"bf16", PLUMBLINE_BF16},
                                    {"e4m3", PLUMBLINE_E4M3},
                                    {"e5m2", PLUMBLINE_E5M2}}});
}
bool set_padded(Variant& v, std::string_view text) {
  return choose<plumbline_padding_policy, 3>(v.padded_rows, text,
                                             {{{"zeros", PLUMBLINE_PADDED_ROWS_ZEROS},
                                               {"untouched", PLUMBLINE_PADDED_ROWS_UNTOUCHED},
                                               {"attended", PLUMBLINE_PADDED_ROWS_ATTENDED}}});
}
bool set_mask(Variant& v, std::string_view text) {
  return choose<std::int64_t, 2>(v.extra_keys, text, {{{"off_by_one", 1}, {"one_key_few", -1}}});
}

struct Rule {
  std::string_view key;
  std::string_view allowed;
  bool (*set)(Variant&, std::string_view);
};
constexpr std::array rules{
    Rule{"tile", "ROWSxKEYS, for example 32x64", set_tile},
    Rule{"tile_q", "1 to 256", set_tile_q},
    Rule{"tile_kv", "8 to 1024, a multiple of 8", set_tile_kv},
    Rule{"splits", "0 (by length) to 64",
         [](Variant& v, std::string_view t) {
           return set(v.splits, number<std::int64_t>(t, 0, 64));
         }},
    Rule{"reverse", "0 or 1",
         [](Variant& v, std::string_view t) { return set_flag(v.reverse, t); }},
    Rule{"lazy", "0 or 1",
         [](Variant& v, std::string_view t) { return set_flag(v.lazy_rescale, t); }},
    Rule{"p_dtype", "fp32, fp16, bf16, e4m3 or e5m2", set_p_dtype},
    Rule{"denominator", "exact or rounded",
         [](Variant& v, std::string_view t) {
           return choose<bool, 2>(v.denominator_from_rounded_p, t,
                                  {{{"exact", false}, {"rounded", true}}});
         }},
    Rule{"partials", "16 or 32",
         [](Variant& v, std::string_view t) {
           return choose<bool, 2>(v.partials_in_16_bits, t, {{{"32", false}, {"16", true}}});
         }},
    Rule{"lse", "e or 2",
         [](Variant& v, std::string_view t) {
           return choose<bool, 2>(v.lse_in_log2, t, {{{"e", false}, {"2", true}}});
         }},
    Rule{"padded", "zeros, untouched or attended", set_padded},
    Rule{"scale", "a positive factor",
         [](Variant& v, std::string_view t) {
           return set(v.scale_factor, number<double>(t, 1e-6, 1e6));
         }},
    Rule{"mask", "off_by_one or one_key_few", set_mask},
    Rule{"drop_last_key", "0 or 1",
         [](Variant& v, std::string_view t) { return set_flag(v.drop_last_key, t); }},
    Rule{"double_round_p", "0 or 1",
         [](Variant& v, std::string_view t) { return set_flag(v.double_round_p, t); }},
    Rule{"slow", "1 to 1000",
         [](Variant& v, std::string_view t) { return set(v.repeats, number<int>(t, 1, 1000)); }},
    Rule{"undeclared", "0 or 1",
         [](Variant& v, std::string_view t) { return set_flag(v.undeclared, t); }},
};

const Rule* find_rule(std::string_view key) {
  const auto* found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.key == key; });
  return found == rules.end() ? nullptr : found;
}

std::string known_keys() {
  std::string keys;
  for (const Rule& rule : rules) keys += (keys.empty() ? "" : ", ") + std::string(rule.key);
  return keys;
}

// What is wrong with one `key=value`; empty if nothing is.
std::string check(const Option& option) {
  const Rule* rule = find_rule(option.key);
  if (rule == nullptr)
    return "unknown option '" + option.key + "' of the cpu provider (known: " + known_keys() + ")";
  Variant scratch;
  if (rule->set(scratch, option.value)) return "";
  return "option " + option.key + "=" + option.value + " of the cpu provider: expected " +
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
    Option option{std::string(item.substr(0, equals)),
                  std::string(item.substr(std::min(item.size(), equals + 1)))};
    if (options.error.empty()) options.error = check(option);
    options.items.push_back(std::move(option));
  }
  return options;
}

Variant apply(Variant variant, const Options& options) {
  for (const Option& option : options.items) {
    if (const Rule* rule = find_rule(option.key)) rule->set(variant, option.value);
  }
  return variant;
}

}  // namespace plumbline::cpu
