// Calls a provider's function, and converts exceptions and error codes into a status and a reason.
#include "harness/provider/child/call.h"

#include <fmt/core.h>

#include <array>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "harness/provider/child/crash_report.h"

namespace plumbline {

namespace {

// Only these phases may report a missing device: after a plan, the device is known to exist.
bool may_lack_device(std::string_view phase) { return phase == "query" || phase == "prepare"; }

Status to_status(const char* phase, int status) {
  switch (status) {
    case PLUMBLINE_OK:
      return Status::ok;
    case PLUMBLINE_UNSUPPORTED:
      return Status::unsupported;
    case PLUMBLINE_OUT_OF_MEMORY:
      return Status::out_of_memory;
    case PLUMBLINE_NO_DEVICE:
      return may_lack_device(phase) ? Status::unsupported : Status::error;
    case PLUMBLINE_ERROR:
      return Status::error;
    default:
      throw Stop{Status::error,
                 fmt::format("{} returned {}, which is not a plumbline_status", phase, status)};
  }
}

// If an exception crosses the C interface, it fails the case, not the worker.
int call_without_exceptions(const char* phase, const ReasonedCall& call, char* reason,
                            std::size_t reason_bytes) {
  try {
    return call(reason, reason_bytes);
  } catch (const std::bad_alloc&) {
    throw Stop{Status::out_of_memory, fmt::format("std::bad_alloc left {}", phase)};
  } catch (const std::exception& e) {
    throw Stop{Status::error, fmt::format("an exception left {}: {}", phase, e.what())};
  } catch (...) {
    throw Stop{Status::error, fmt::format("an exception of unknown type left {}", phase)};
  }
}

}  // namespace

void call_provider(const char* phase, const ReasonedCall& call) {
  std::array<char, 1024> reason;
  // Clears only the first byte, because this function is also on the timed path.
  reason.front() = '\0';
  const CrashPhase in_phase(phase);
  const int answer = call_without_exceptions(phase, call, reason.data(), reason.size());
  const Status status = to_status(phase, answer);
  if (status == Status::ok) return;
  reason.back() = '\0';
  std::string text = reason.data();
  if (text.empty()) text = fmt::format("{} gave no reason", phase);
  // The prefix marks a missing device or package, which is not a refusal by the kernel.
  if (answer == PLUMBLINE_NO_DEVICE && status == Status::unsupported)
    text = "not measured: " + text;
  throw Stop{status, std::move(text)};
}

}  // namespace plumbline
