// Ends a command before its work is done, by an exception that run_program() reports. Only the
// command's own thread may throw it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "harness/base/error.h"
#include "harness/judge/exit_code.h"

namespace plumbline::cli {

struct CommandEnd {
  Errors errors;
  int exit_code;
};

[[noreturn]] inline void end_command(int exit_code, Error error) {
  throw CommandEnd{{std::move(error)}, exit_code};
}
[[noreturn]] inline void end_command(int exit_code, std::string message, std::string remedy) {
  end_command(exit_code, Error{"", 0, std::move(message), std::move(remedy)});
}
// Ends the command if there are errors.
inline void end_on_errors(Errors errors, int exit_code) {
  if (!errors.empty()) throw CommandEnd{std::move(errors), exit_code};
}
// Returns the value of `result`; its errors end the command.
template <class T, class ErrorType>
T need(tl::expected<T, ErrorType> result, int exit_code = exit_infrastructure) {
  if (!result) throw CommandEnd{std::move(result.error()), exit_code};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns what `body` returns. If `body` ends the command, returns its errors.
template <class Body>
auto as_result(Body body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (CommandEnd& end) {
    return tl::unexpected(std::move(end.errors));
  }
}

}  // namespace plumbline::cli
