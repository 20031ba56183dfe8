// The table of a rounding spec's fields. The code that writes spec texts, reads contracts, compares
// a spec with a contract, or converts specs of the provider ABI walks this table.
#pragma once

#include <optional>
#include <string_view>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Kinds of fields. Code that walks the table has a function for each kind that it distinguishes. A
// special case of a kind is derived from it.
namespace spec_kind {
struct Format {};                // a dtype of something that is always rounded
struct FormatOfP : Format {};    // … that is compared together with p_prescale
struct FormatOfOut : Format {};  // … that the problem states, so that no contract pins it
struct Step {};                  // the dtype of a rounding; none = not made
struct StepOfInputs : Step {};   // … of Q, K and V, although the field is kv_dequantized_to
struct Factor {};                // positive double
struct Flag {};                  // bool
struct DenominatorOfRoundedP : Flag {};
struct OtherModel : Flag {};  // a way of rounding; neither value is looser
struct ModelOfP : OtherModel {};
struct ModelOfQ : OtherModel {};
struct ModelOfS : OtherModel {};
struct Maximum {};                 // MaximumOfP
struct Sums {};                    // Accumulator
struct RelativeError {};           // double in [0, 1)
struct LseBase {};                 // int: 0 for e, or 2
struct LseIncludesSink : Flag {};  // lse_excludes_sink in the ABI
}  // namespace spec_kind

// Calls visit(name, kind, of) for each field, in the order of spec_text(). of(spec) returns the
// field of a RoundingSpec, or of any struct with a field of this name.
template <class Visit>
constexpr void for_each_spec_field(Visit&& visit) {
#define PLUMBLINE_FIELD(member) \
#member, [](auto& spec) -> decltype((spec.member)) { return spec.member; }
  const auto field = [&](const char* name, auto of, auto kind) { visit(name, kind, of); };
  field(PLUMBLINE_FIELD(p_dtype), spec_kind::FormatOfP{});
  field(PLUMBLINE_FIELD(p_prescale), spec_kind::Factor{});
  field(PLUMBLINE_FIELD(p_normalized), spec_kind::ModelOfP{});
  field(PLUMBLINE_FIELD(p_max), spec_kind::Maximum{});
  field(PLUMBLINE_FIELD(p_toward_zero), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(p_stochastic), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(denominator_from_rounded_p), spec_kind::DenominatorOfRoundedP{});
  field(PLUMBLINE_FIELD(s_rounded), spec_kind::Step{});
  field(PLUMBLINE_FIELD(s_rounded_twice), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(s_rounded_before_bias), spec_kind::ModelOfS{});
  field(PLUMBLINE_FIELD(s_rounded_before_softcap), spec_kind::ModelOfS{});
  field(PLUMBLINE_FIELD(q_prescaled), spec_kind::Step{});
  field(PLUMBLINE_FIELD(q_prescaled_without_log2e), spec_kind::ModelOfQ{});
  field(PLUMBLINE_FIELD(split_partial_dtype), spec_kind::Format{});
  field(PLUMBLINE_FIELD(o_between_tiles), spec_kind::Step{});
  field(PLUMBLINE_FIELD(ring_update), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(qk_accumulator), spec_kind::Sums{});
  field(PLUMBLINE_FIELD(pv_accumulator), spec_kind::Sums{});
  field(PLUMBLINE_FIELD(exp2_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(tanh_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(reciprocal_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(product_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(skipped_below), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(kv_dequantized_to), spec_kind::StepOfInputs{});
  field(PLUMBLINE_FIELD(inputs_toward_zero), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(out_dtype), spec_kind::FormatOfOut{});
  field(PLUMBLINE_FIELD(out_toward_zero), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(out_stochastic), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(lse_dtype), spec_kind::Step{});
  field(PLUMBLINE_FIELD(lse_base), spec_kind::LseBase{});
  field(PLUMBLINE_FIELD(lse_includes_sink), spec_kind::LseIncludesSink{});
  field(PLUMBLINE_FIELD(lse_without_row_bias), spec_kind::OtherModel{});
#undef PLUMBLINE_FIELD
}

// Fields that were added after runs with the schemas in tests/store/releases/ were stored. A text
// may lack these fields, but no others. Add new fields here.
inline constexpr std::string_view later_spec_fields[] = {
    "p_stochastic",       "s_rounded_before_bias", "s_rounded_before_softcap",
    "ring_update",        "product_rel_error",     "skipped_below",
    "inputs_toward_zero", "out_stochastic",        "lse_without_row_bias"};

// Parses "fp32/toward_zero/24/8", as in spec_text().
std::optional<Accumulator> parse_accumulator(std::string_view text);

}  // namespace plumbline
