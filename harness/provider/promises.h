// A kernel's declarations about its results: the policy for padded rows, and its promises.
#pragma once

#include <array>
#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

// Equal to the ABI's enums.
enum class PaddingPolicy { zeros = 0, untouched = 1, attended = 2, anything = 3 };
enum class Promise { none = 0, rounding = 1, bitwise = 2 };
struct Promises {
  Promise run_to_run = Promise::none, batch = Promise::none, layout = Promise::none,
          page = Promise::none, split = Promise::none, prefill_decode = Promise::none,
          lse = Promise::none, survives_hidden_nan = Promise::none;
  bool operator==(const Promises&) const = default;
};

// The promises' names in contracts, reports and databases.
struct PromiseField {
  std::string_view name;
  Promise Promises::*promise;
  bool of_contracts_only = false;  // a kernel cannot declare it
};
inline constexpr std::array promise_fields{
    PromiseField{"run_to_run", &Promises::run_to_run},
    PromiseField{"batch", &Promises::batch},
    PromiseField{"layout", &Promises::layout},
    PromiseField{"page", &Promises::page},
    PromiseField{"split", &Promises::split},
    PromiseField{"prefill_decode", &Promises::prefill_decode},
    PromiseField{"lse", &Promises::lse},
    PromiseField{"survives_hidden_nan", &Promises::survives_hidden_nan, true},
};

}  // namespace plumbline
