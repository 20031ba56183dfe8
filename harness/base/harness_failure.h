// A failure that ends a run because plumbline itself cannot continue: it lacks descriptors,
// processes or memory, or has a bug. It is thrown from deep within the measurement of a case,
// because an error value would become the case's outcome and blame its kernel.
#pragma once

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "harness/base/error.h"

namespace plumbline {

class HarnessFailure : public std::runtime_error {
 public:
  explicit HarnessFailure(Error error);
  Errors errors() const { return {error_}; }

 private:
  Error error_;
};

// Returns true for the errors of a process at its limits: EMFILE, ENFILE, ENOMEM, EAGAIN.
bool is_shortage(int error);
// Throws HarnessFailure if `error`, an errno, is a shortage. The message is "what: Too many open
// files", with `remedy` or a default remedy.
void end_if_short_of(int error, const std::string& what, const std::string& remedy = "");
// Returns the error of a process at its limits, with a remedy, if `exception` is std::bad_alloc or
// carries such an errno.
std::optional<Error> shortage_of(const std::exception& exception);
// Always throws HarnessFailure: a thread could not be started, or memory ran out.
[[noreturn]] void end_for_memory(const std::string& what);

}  // namespace plumbline
