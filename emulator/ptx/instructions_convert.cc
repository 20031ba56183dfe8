// mov, cvt, setp, selp. Chapters 9.7.6, 9.7.7 and 9.7.9 of the PTX ISA.
#include <fmt/format.h>

#include "emulator/ptx/translator.h"

namespace plumbline::ptx {

std::string Translator::move(const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  const int bits = 8 * bytes_of(type);
  if (a.size() != 2) refuse("operands");
  for (const std::string& operand : a) {
    const auto count = static_cast<int>(elements(operand).size());
    if (count > 1 && (bits % (8 * count) != 0 || count > 8)) refuse("parts of this size");
  }
  if (a.at(0).starts_with('{')) {  // splits a word into its parts, from the low bits
    const Parts to = elements(a.at(0));
    const int width = bits / static_cast<int>(to.size());
    std::string code =
        fmt::format("{{ const auto word_ = {}; ", value(a.at(1), fmt::format("b{}", bits)));
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == "_") continue;
      code +=
          assign(to[i], fmt::format("u{}(word_ >> {})", width, width * static_cast<int>(i))) + " ";
    }
    return code + "}";
  }
  if (a.at(1).starts_with('{')) {
    const Parts from = elements(a.at(1));
    const int width = bits / static_cast<int>(from.size());
    std::string word;
    for (std::size_t i = 0; i < from.size(); ++i)
      word += fmt::format("{}u{}({}) << {}", i == 0 ? "" : " | ", bits,
                          value(from[i], fmt::format("b{}", width)), width * static_cast<int>(i));
    return assign(a.at(0), word);
  }
  if (type == "pred") return assign(a.at(0), predicate(a.at(1)));
  // A literal of mov.f32 may have a decimal point; those of other types are bits.
  if (is_float(type)) return assign(a.at(0), fmt::format("B({})", value(a.at(1), type)));
  return assign(a.at(0), value(a.at(1), type));
}

std::string Translator::select(const Parts& parts, const Parts& a) {
  const std::string bits = fmt::format("b{}", 8 * bytes_of(parts.back()));
  if (parts.front() == "slct") {
    if (parts.back() != "s32") refuse("slct by a floating-point number");
    const std::string chosen = fmt::format("b{}", 8 * bytes_of(parts.at(parts.size() - 2)));
    return assign(a.at(0), fmt::format("{} >= 0 ? {} : {}", value(a.at(3), "s32"),
                                       value(a.at(1), chosen), value(a.at(2), chosen)));
  }
  // Returns the operand's bits, also for a floating-point literal.
  const auto x = [&](const std::string& operand) {
    return is_float(parts.back()) ? fmt::format("B({})", value(operand, parts.back()))
                                  : value(operand, bits);
  };
  return assign(a.at(0), fmt::format("{} ? {} : {}", predicate(a.at(3)), x(a.at(1)), x(a.at(2))));
}

// setp.lt.and.ftz.f32 p|q, a, b, c
std::string Translator::compare(const Parts& parts, const Parts& a) {
  if (parts.front() == "set") refuse("set");
  std::string type = parts.back();
  std::string relation = parts.at(1);
  const bool half = type == "f16" || type == "bf16";
  if (type.ends_with("x2")) refuse("comparison of pairs");
  static const std::map<std::string_view, std::string_view> unsigned_names{
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  if (const auto found = unsigned_names.find(relation); found != unsigned_names.end()) {
    relation = found->second;
    type = fmt::format("u{}", 8 * bytes_of(type));
  }
  const auto operand = [&](const std::string& text) {
    if (half) return fmt::format("{}({})", type == "f16" ? "half" : "brain", value(text, type));
    if (type == "f32" && has(parts, "ftz"))
      return fmt::format("computed<true>({})", value(text, type));
    return value(text, type);
  };
  const std::string x = operand(a.at(1)), y = operand(a.at(2));
  const bool floating = half || is_float(type);
  static const std::map<std::string_view, std::string_view> ordered{
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
  // Each is also true if an operand is NaN, so the code negates the opposite relation, listed here.
  static const std::map<std::string_view, std::string_view> unordered{
      {"equ", "{0} < {1} || {0} > {1}"},
      {"neu", "{0} == {1}"},
      {"ltu", "{0} >= {1}"},
      {"leu", "{0} > {1}"},
      {"gtu", "{0} <= {1}"},
      {"geu", "{0} < {1}"}};
  std::string result;
  if (floating && relation == "ne") {
    result = fmt::format("({0} < {1} || {0} > {1})", x, y);
  } else if (const auto found = ordered.find(relation); found != ordered.end()) {
    result = fmt::format("({} {} {})", x, found->second, y);
  } else if (const auto opposite = unordered.find(relation); opposite != unordered.end()) {
    result = fmt::format("!({})", fmt::format(fmt::runtime(opposite->second), x, y));
  } else if (relation == "nan") {
    result = fmt::format("({0} != {0} || {1} != {1})", x, y);
  } else if (relation == "num") {
    result = fmt::format("({0} == {0} && {1} == {1})", x, y);
  } else {
    refuse(fmt::format("comparison {}", relation));
  }
  std::string negated = fmt::format("!{}", result);
  for (const auto& [name, sign] : {std::pair{"and", "&&"}, {"or", "||"}, {"xor", "!="}}) {
    if (!has(parts, name)) continue;
    const std::string other = predicate(a.at(3));
    result = fmt::format("{} {} {}", result, sign, other);
    negated = fmt::format("{} {} {}", negated, sign, other);
  }
  const auto [first, second] = two_results(a.at(0));
  if (second.empty()) return assign(first, result);
  return fmt::format("{{ const bool first_ = {}, second_ = {}; {} {} }}", result, negated,
                     assign(first, "first_"), assign(second, "second_"));
}

// Packs two numbers of 16 or 8 bits into a word; the first operand becomes the high half.
std::string Translator::pack_conversion(const Parts& parts, const Parts& a) {
  const std::string& to = parts[parts.size() - 2];
  const std::string& from = parts.back();
  const bool relu = has(parts, "relu"), chopped = has(parts, "rz");
  if (relu) refuse("relu");
  if (from == "f32" && (to == "bf16x2" || to == "f16x2")) {
    if (has(parts, "satfinite")) refuse("satfinite");
    const std::string call =
        fmt::format("{}{}", to == "bf16x2" ? "to_bf16" : "to_f16", chopped ? "_chopped" : "");
    return assign(a.at(0), fmt::format("u32({}({})) << 16 | {}({})", call, value(a.at(1), "f32"),
                                       call, value(a.at(2), "f32")));
  }
  const auto mantissa = [](std::string_view type) { return type == "e4m3x2" ? 3 : 2; };
  if (to == "e4m3x2" || to == "e5m2x2") {
    if (from == "f32")
      return assign(a.at(0),
                    fmt::format("u16(to_f8<{0}>({1})) << 8 | to_f8<{0}>({2})", mantissa(to),
                                value(a.at(1), "f32"), value(a.at(2), "f32")));
    if (from == "f16x2")
      return assign(a.at(0), fmt::format("u16(to_f8<{0}>(f32(half(u16({1} >> 16))))) << 8 | "
                                         "to_f8<{0}>(f32(half(u16({1}))))",
                                         mantissa(to), value(a.at(1), "b32")));
  }
  if (to == "f16x2" && (from == "e4m3x2" || from == "e5m2x2"))
    return assign(a.at(0), fmt::format("u32(to_f16(from_f8<{0}>(u8({1} >> 8)))) << 16 | "
                                       "to_f16(from_f8<{0}>(u8({1})))",
                                       mantissa(from), value(a.at(1), "b16")));
  refuse("conversion of pairs");
}

std::string Translator::convert(const Parts& parts, const Parts& a) {
  if (parts.size() < 3) refuse("types");
  const std::string& to = parts[parts.size() - 2];
  const std::string& from = parts.back();
  if (to.ends_with("x2") || from.ends_with("x2")) return pack_conversion(parts, a);
  if (has(parts, "relu")) refuse("relu");
  const bool flush = has(parts, "ftz"), saturate = has(parts, "sat");
  const std::string x = value(a.at(1), from);
  // The rounding to an integer.
  const std::string_view whole = has(parts, "rni")   ? "rint"
                                 : has(parts, "rzi") ? "trunc"
                                 : has(parts, "rmi") ? "floor"
                                 : has(parts, "rpi") ? "ceil"
                                                     : "";
  if (is_integer(to) && is_integer(from)) {
    if (!saturate) return assign(a.at(0), fmt::format("{}({})", cpp_type(to), x));
    return assign(a.at(0), fmt::format("clamp_integer<{}>({})", cpp_type(to), x));
  }
  const bool half = from == "f16" || from == "bf16";
  const std::string number = half ? fmt::format("{}({})", from == "f16" ? "half" : "brain", x)
                             : flush && from == "f32" ? fmt::format("flush<true>({})", x)
                                                      : x;
  if (is_integer(to)) {
    if (!half && !is_float(from)) refuse("conversion");
    if (whole.empty()) refuse("an integer without its rounding");
    return assign(a.at(0), fmt::format("{}(to_integer<{}>(__builtin_{}(f64({}))))",
                                       unsigned_type(to), cpp_type(to), whole, number));
  }
  if (has(parts, "rm") || has(parts, "rp")) refuse("rounding up or down");
  const bool chopped = has(parts, "rz");
  if (to == "f32" || to == "f64") {
    if (chopped) refuse("rounding toward zero");
    std::string result = fmt::format("{}({})", to, number);
    if (!whole.empty())
      result = fmt::format("__builtin_{}{}({})", whole, to == "f32" ? "f" : "", result);
    if (flush && to == "f32" && from == "f64") result = fmt::format("flush<true>({})", result);
    result = fmt::format("B({})", result);
    return assign(a.at(0), saturate && to == "f32" ? fmt::format("saturate({})", result) : result);
  }
  if (to == "f16" || to == "bf16") {
    if (saturate || has(parts, "satfinite")) refuse("clamping of 16-bit numbers");
    const std::string name = to == "f16" ? "to_f16" : "to_bf16";
    if (from == "f32")
      return assign(a.at(0), fmt::format("{}{}({})", name, chopped ? "_chopped" : "", number));
    if (chopped || !whole.empty() || from == "f64" || half) refuse("conversion");
    if (is_integer(from) && bytes_of(from) <= 4)  // through f64, which holds 32 bits exactly
      return assign(a.at(0),
                    fmt::format("{}(f64({}))", to == "f16" ? "to_half" : "to_brain", number));
  }
  if (to == "tf32" && from == "f32") {
    if (has(parts, "satfinite")) refuse("satfinite");
    return assign(a.at(0),
                  fmt::format("{}({})", has(parts, "rna") ? "to_tf32" : "to_tf32_even", number));
  }
  refuse("conversion");
}

}  // namespace plumbline::ptx
