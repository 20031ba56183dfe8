// Errors that a user or a disk can cause: values with a place, a message and a remedy. They are
// returned as tl::expected, and come all at once.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline {

struct Error {
  std::string file;     // "" where no file is involved
  int line = 0;         // 1-based; 0 where no line is known
  std::string message;  // what is wrong, naming the offending value
  std::string remedy;   // what to do about it; may be ""

  // "file:line: message\n  remedy: ..."
  std::string to_string() const;
};

using Errors = std::vector<Error>;
template <class T>
using Result = tl::expected<T, Errors>;

inline tl::unexpected<Errors> fail(Error error) {
  return tl::unexpected<Errors>(Errors{std::move(error)});
}
inline tl::unexpected<Errors> fail(std::string message, std::string remedy = "") {
  return fail(Error{"", 0, std::move(message), std::move(remedy)});
}

// One error a line, in order.
std::string to_string(const Errors& errors);

}  // namespace plumbline
