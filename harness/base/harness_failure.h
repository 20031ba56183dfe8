// What ends a run because plumbline itself cannot go on: it lacks descriptors, processes or memory,
// or it has a bug. Thrown from deep within the measuring of a case, where an error value would
// become that case's outcome and blame its kernel.
#pragma once

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

// True for what a process gets when it may have no more: EMFILE, ENFILE, ENOMEM, EAGAIN.
bool is_shortage(int error);
// "what: Too many open files", with what to do about it unless `remedy` says so. Throws
// HarnessFailure where `error`, an errno, is a shortage; else returns.
void end_if_short_of(int error, const std::string& what, const std::string& remedy = "");
// A thread could not be started, or memory ran out. Always throws.
[[noreturn]] void end_for_memory(const std::string& what);

}  // namespace plumbline
