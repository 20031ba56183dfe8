// Distinguishes a shortage of the harness from other errors, and names its remedy.
#include "harness/base/harness_failure.h"

#include <cerrno>
#include <cstring>
#include <new>

namespace plumbline {
namespace {

const char* remedy_of(int error) {
  switch (error) {
    case EMFILE:
      return "allow more open files (ulimit -n)";
    case ENFILE:
      return "allow the system more open files (sysctl fs.file-max), or close programs";
    case EAGAIN:
      return "allow more processes (ulimit -u), or use fewer --jobs";
    default:
      return "free memory, remove the limit on it (ulimit -v), or use fewer --jobs";
  }
}

}  // namespace

HarnessFailure::HarnessFailure(Error error)
    : std::runtime_error(error.message), error_(std::move(error)) {}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

void end_if_short_of(int error, const std::string& what, const std::string& remedy) {
  if (!is_shortage(error)) return;
  throw HarnessFailure(
      {"", 0, what + ": " + std::strerror(error), remedy.empty() ? remedy_of(error) : remedy});
}

std::optional<Error> shortage_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
    return Error{"", 0, "plumbline ran out of memory", remedy_of(ENOMEM)};
  const auto* error = dynamic_cast<const std::system_error*>(&exception);
  if (error == nullptr || !is_shortage(error->code().value())) return std::nullopt;
  return Error{"", 0, error->what(), remedy_of(error->code().value())};
}

void end_for_memory(const std::string& what) {
  throw HarnessFailure({"", 0, what, remedy_of(ENOMEM)});
}

}  // namespace plumbline
