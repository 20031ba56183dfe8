// Errors caused by a user or a disk: values with a place, a message and a remedy. Functions return
// all of them at once, as tl::expected.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline {

struct Error {
  std::string file;     // "" if no file is involved
  int line = 0;         // 1-based; 0 if no line is known
  std::string message;  // what is wrong, with the offending value
  std::string remedy;   // what the user can do; may be ""

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

// Joins the errors' texts by newlines, in order.
std::string to_string(const Errors& errors);

}  // namespace plumbline
