// Parses the provider's options, and applies them to the switches of one kernel.
#include "kernels/cpu/variants.h"

#include <array>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::cpu {
namespace {

using provider::set_choice;
using provider::set_flag;
using provider::set_number;

bool set_tile_q(Variant& v, std::string_view text) { return set_number(v.tile_q, text, 1, 256); }
bool set_tile_kv(Variant& v, std::string_view text) {
  std::int64_t keys = 0;
  if (!set_number(keys, text, 8, 1024) || keys % 8 != 0) return false;
  v.tile_kv = keys;
  return true;
}
bool set_tile(Variant& v, std::string_view text) {
  const std::size_t by = text.find('x');
  return by != text.npos && set_tile_q(v, text.substr(0, by)) &&
         set_tile_kv(v, text.substr(by + 1));
}
bool set_p_dtype(Variant& v, std::string_view text) {
  return set_choice<std::uint32_t>(v.p_dtype, text,
                                   {{"fp32", PLUMBLINE_F32},
                                    {"fp16", PLUMBLINE_F16},
                                    {"bf16", PLUMBLINE_BF16},
                                    {"e4m3", PLUMBLINE_E4M3},
                                    {"e5m2", PLUMBLINE_E5M2}});
}
bool set_padded(Variant& v, std::string_view text) {
  return set_choice(v.padded_rows, text,
                    {{"zeros", PLUMBLINE_PADDED_ROWS_ZEROS},
                     {"untouched", PLUMBLINE_PADDED_ROWS_UNTOUCHED},
                     {"attended", PLUMBLINE_PADDED_ROWS_ATTENDED},
                     {"anything", PLUMBLINE_PADDED_ROWS_ANYTHING}});
}
bool set_mask(Variant& v, std::string_view text) {
  return set_choice<std::int64_t>(v.extra_keys, text, {{"off_by_one", 1}, {"one_key_few", -1}});
}

using Rule = provider::Option<Variant>;
constexpr std::array known{
    Rule{"tile", "ROWSxKEYS, for example 32x64", set_tile},
    Rule{"tile_q", "1 to 256", set_tile_q},
    Rule{"tile_kv", "8 to 1024, a multiple of 8", set_tile_kv},
    Rule{"splits", "0 (by length) to 64",
         [](Variant& v, std::string_view t) { return set_number(v.splits, t, 0, 64); }},
    Rule{"reverse", "0 or 1", set_flag<&Variant::reverse>},
    Rule{"lazy", "0 or 1", set_flag<&Variant::lazy_rescale>},
    Rule{"p_dtype", "fp32, fp16, bf16, e4m3 or e5m2", set_p_dtype},
    Rule{
        "denominator", "exact or rounded",
        [](Variant& v, std::string_view t) {
          return set_choice(v.denominator_from_rounded_p, t, {{"exact", false}, {"rounded", true}});
        }},
    Rule{"partials", "16 or 32",
         [](Variant& v, std::string_view t) {
           return set_choice(v.partials_in_16_bits, t, {{"32", false}, {"16", true}});
         }},
    Rule{"lse", "e or 2",
         [](Variant& v, std::string_view t) {
           return set_choice(v.lse_in_log2, t, {{"e", false}, {"2", true}});
         }},
    Rule{"max_logit", "0, 1 or bf16",
         [](Variant& v, std::string_view t) {
           return set_choice<std::uint32_t>(
               v.max_logit, t,
               {{"0", PLUMBLINE_DTYPE_NONE}, {"1", PLUMBLINE_F32}, {"bf16", PLUMBLINE_BF16}});
         }},
    Rule{"padded", "zeros, untouched, attended or anything", set_padded},
    Rule{"scale", "a positive factor",
         [](Variant& v, std::string_view t) { return set_number(v.scale_factor, t, 1e-6, 1e6); }},
    Rule{"mask", "off_by_one or one_key_few", set_mask},
    Rule{"drop_last_key", "0 or 1", set_flag<&Variant::drop_last_key>},
    Rule{"double_round_p", "0 or 1", set_flag<&Variant::double_round_p>},
    Rule{"double_row", "the number of a row, from 0",
         [](Variant& v, std::string_view t) {
           return set_number(v.doubled_row, t, 0, std::int64_t{1} << 40);
         }},
    Rule{"slow", "1 to 1000",
         [](Variant& v, std::string_view t) { return set_number(v.repeats, t, 1, 1000); }},
    Rule{"undeclared", "0 or 1", set_flag<&Variant::undeclared>},
};

}  // namespace

std::uint32_t partial_dtype(const plumbline_problem& problem) {
  for (const std::uint32_t dtype : {problem.dtype_out, problem.dtype_q}) {
    if (provider::is_16_bit(dtype)) return dtype;
  }
  return PLUMBLINE_F32;
}

std::string wrong_options(std::string_view options) {
  Variant scratch;
  return provider::read_options(options, known, scratch, "of the cpu provider");
}

Variant apply(Variant variant, std::string_view options) {
  provider::read_options(options, known, variant);
  return variant;
}

}  // namespace plumbline::cpu
