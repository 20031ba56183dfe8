// The table of a rounding spec's fields as the provider ABI has them.
#pragma once

#include <type_traits>

#include "harness/problem/rounding_spec_fields.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// As for_each_spec_field, for the fields that a struct of the ABI has: plumbline_rounding_spec or
// plumbline_more_roundings.
template <class Struct, class Visit>
constexpr void for_each_abi_spec_field(Visit&& visit) {
  for_each_spec_field([&]<class Kind, class Of>(const char* name, Kind kind, Of of) {
    if constexpr (std::is_invocable_v<Of, Struct&>) {
      visit(name, kind, of);
    } else if constexpr (std::is_same_v<Kind, spec_kind::LseIncludesSink> &&
                         std::is_same_v<Struct, plumbline_rounding_spec>) {
      visit("lse_excludes_sink", kind,
            [](auto& abi) -> decltype((abi.lse_excludes_sink)) { return abi.lse_excludes_sink; });
    }
  });
}

}  // namespace plumbline
