// Visits the fields of a rounding spec as the provider ABI stores them.
#pragma once

#include <type_traits>

#include "harness/problem/rounding_spec_fields.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// Calls visit(name, kind, accessor) for each field of for_each_spec_field that Struct has. Struct
// is plumbline_rounding_spec or plumbline_more_roundings.
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
