// The options of our CUDA kernels: their keys and allowed values.
#include "kernels/attention/options.h"

#include <array>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::attention {
namespace {

using provider::set_choice;
using provider::set_number;

bool set_tile(Options& o, std::string_view text) {
  const std::size_t by = text.find('x');
  return by != text.npos && set_number(o.tile_q, text.substr(0, by), 1, 256) &&
         set_number(o.tile_kv, text.substr(by + 1), 1, 256);
}

bool set_schedule(Options& o, std::string_view text) {
  using Schedule = Options::Schedule;
  return set_choice(o.schedule, text,
                    {{"alternating", Schedule::alternating},
                     {"in_order", Schedule::in_order},
                     {"reversed", Schedule::reversed},
                     {"random", Schedule::random}});
}

using Rule = provider::Option<Options>;
constexpr std::array known{
    Rule{"tile", "ROWSxKEYS, for example 64x32", set_tile},
    Rule{"splits", "0 (by length) to 64",
         [](Options& o, std::string_view t) { return set_number(o.splits, t, 0, 64); }},
    Rule{"p_dtype", "fp32, fp16 or bf16",
         [](Options& o, std::string_view t) {
           return set_choice<std::uint32_t>(
               o.p_dtype, t,
               {{"fp32", PLUMBLINE_F32}, {"fp16", PLUMBLINE_F16}, {"bf16", PLUMBLINE_BF16}});
         }},
    Rule{"accumulator", "fp32 or fp16",
         [](Options& o, std::string_view t) {
           return set_choice<std::uint32_t>(o.accumulator, t,
                                            {{"fp32", PLUMBLINE_F32}, {"fp16", PLUMBLINE_F16}});
         }},
    Rule{"schedule", "alternating, in_order, reversed or random", set_schedule},
    Rule{
        "seed", "a whole number",
        [](Options& o, std::string_view t) { return set_number(o.seed, t, 0, ~std::uint64_t{0}); }},
};

}  // namespace

std::string parse_options(std::string_view text, Options& options) {
  options = {};
  options.text = text;
  return provider::read_options(text, known, options);
}

}  // namespace plumbline::attention
