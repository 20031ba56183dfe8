// Errors on their way out of several functions, within one that answers a Result.
#pragma once

#include <type_traits>
#include <utility>

#include "harness/base/error.h"

namespace plumbline {

// Thrown by unwrap(), within attempt() alone.
struct UnwrapFailed {
  Errors errors;
};

// Returns what the result holds. Its errors become those of the attempt() around the call.
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw UnwrapFailed{std::move(result.error())};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns what `body` returns, or the errors of what it needed.
template <class Body>
auto attempt(Body body) -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (UnwrapFailed& failed) {
    return tl::unexpected(std::move(failed.errors));
  }
}

}  // namespace plumbline
