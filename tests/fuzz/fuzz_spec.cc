// Fuzz target: the text of a rounding spec parses back to the same spec; errors give the reason.
#include "harness/contract/spec_fields.h"
#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void spec(std::string_view input) {
  if (const auto parsed = parse_spec_text(input)) {
    const std::string text = spec_text(*parsed);
    const auto back = parse_spec_text(text);
    require(back.has_value() && *back == *parsed && spec_text(*back) == text,
            "the text of a spec gives the spec: " + text);
    require(!describe(*parsed, Problem{}).empty(), "a spec can be described");
  } else {
    require(!parsed.error().empty(), "a refusal names an error");
  }
  for (const std::string_view field : spec_field_names()) {
    RoundingSpec changed;
    const auto complaint = set_spec_field(changed, field, input, Problem{}, "sm_90");
    require(!complaint || !complaint->empty(), "a refusal says why");
    needs_proof(field, input);
  }
}

}  // namespace plumbline::fuzz
