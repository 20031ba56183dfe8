// The table of a rounding spec's fields as the provider ABI has them, in plumbline_rounding_spec.
#pragma once

#include <type_traits>

#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {

// As for_each_spec_field, with the names of plumbline_rounding_spec.
template <class Visit>
constexpr void for_each_abi_spec_field(Visit&& visit) {
  for_each_spec_field([&]<class Kind>(const char* name, Kind kind, auto of) {
    if constexpr (std::is_same_v<Kind, spec_kind::LseIncludesSink>) {
      visit(
          "lse_excludes_sink", kind, [](auto& spec) -> auto& { return spec.lse_excludes_sink; });
    } else {
      visit(name, kind, of);
    }
  });
}

}  // namespace plumbline
