// The table of a rounding spec's fields. Its texts, the words of contracts, the comparison with a
// contract, and the form of the provider ABI walk it.
#pragma once

#include <optional>
#include <string_view>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

// What a field is. Whoever walks the table has one function for each kind that he tells apart; a
// kind that is a special case of another is derived from it.
namespace spec_kind {
struct Format {};                // a dtype, of what is rounded in any case
struct FormatOfP : Format {};    // …, compared together with p_prescale
struct FormatOfOut : Format {};  // …, which the problem states, so that no contract pins it
struct Step {};                  // the dtype of a rounding that none leaves out
struct StepOfInputs : Step {};   // …, of Q, K and V
struct PowerOfTwo {};            // double
struct Flag {};                  // bool
struct DenominatorOfRoundedP : Flag {};
struct OtherModel : Flag {};  // neither of its values is looser than the other, of a rounding
struct ModelOfP : OtherModel {};
struct ModelOfQ : OtherModel {};
struct Maximum {};                 // MaximumOfP
struct Sums {};                    // Accumulator
struct RelativeError {};           // double in [0, 1)
struct LseBase {};                 // int: 0 = e, 2
struct LseIncludesSink : Flag {};  // in the ABI its contrary, lse_excludes_sink
}  // namespace spec_kind

// Calls visit(name, kind, of) for each field in the order of spec_text(); of(spec) is the field of
// a RoundingSpec, or of any struct that has one of this name.
template <class Visit>
constexpr void for_each_spec_field(Visit&& visit) {
#define PLUMBLINE_FIELD(member) \
#member, [](auto& spec) -> decltype((spec.member)) { return spec.member; }
  const auto field = [&](const char* name, auto of, auto kind) { visit(name, kind, of); };
  field(PLUMBLINE_FIELD(p_dtype), spec_kind::FormatOfP{});
  field(PLUMBLINE_FIELD(p_prescale), spec_kind::PowerOfTwo{});
  field(PLUMBLINE_FIELD(p_normalized), spec_kind::ModelOfP{});
  field(PLUMBLINE_FIELD(p_max), spec_kind::Maximum{});
  field(PLUMBLINE_FIELD(p_toward_zero), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(denominator_from_rounded_p), spec_kind::DenominatorOfRoundedP{});
  field(PLUMBLINE_FIELD(s_rounded), spec_kind::Step{});
  field(PLUMBLINE_FIELD(s_rounded_twice), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(q_prescaled), spec_kind::Step{});
  field(PLUMBLINE_FIELD(q_prescaled_without_log2e), spec_kind::ModelOfQ{});
  field(PLUMBLINE_FIELD(split_partial_dtype), spec_kind::Format{});
  field(PLUMBLINE_FIELD(o_between_tiles), spec_kind::Step{});
  field(PLUMBLINE_FIELD(qk_accumulator), spec_kind::Sums{});
  field(PLUMBLINE_FIELD(pv_accumulator), spec_kind::Sums{});
  field(PLUMBLINE_FIELD(exp2_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(tanh_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(reciprocal_rel_error), spec_kind::RelativeError{});
  field(PLUMBLINE_FIELD(kv_dequantized_to), spec_kind::StepOfInputs{});
  field(PLUMBLINE_FIELD(out_dtype), spec_kind::FormatOfOut{});
  field(PLUMBLINE_FIELD(out_toward_zero), spec_kind::Flag{});
  field(PLUMBLINE_FIELD(lse_dtype), spec_kind::Step{});
  field(PLUMBLINE_FIELD(lse_base), spec_kind::LseBase{});
  field(PLUMBLINE_FIELD(lse_includes_sink), spec_kind::LseIncludesSink{});
#undef PLUMBLINE_FIELD
}

// "fp32/toward_zero/24/8", as spec_text() has accumulators.
std::optional<Accumulator> parse_accumulator(std::string_view text);

}  // namespace plumbline
