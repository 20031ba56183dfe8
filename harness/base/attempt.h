// Lets nested calls pass their errors to an enclosing function that returns a Result.
#pragma once

#include <type_traits>
#include <utility>

#include "harness/base/error.h"

namespace plumbline {

// Thrown by unwrap(). Allowed only within attempt().
struct UnwrapFailed {
  Errors errors;
};

// Returns the value of the result. Its errors become those of the enclosing attempt().
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw UnwrapFailed{std::move(result.error())};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns the value of `body`, or the errors of an unwrap() in it.
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
