// What every provider of ours does at the C ABI: gives reasons, and lets no exception across. Free
// of instructions that an older CPU lacks.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "harness/provider/plumbline_provider.h"

namespace plumbline {

inline plumbline_status answer(plumbline_status status, const std::string& text, char* reason,
                               std::size_t reason_bytes) {
  if (reason != nullptr && reason_bytes > 0)
    std::snprintf(reason, reason_bytes, "%s", text.c_str());
  return status;
}

// Runs the body of an ABI function; no exception crosses the interface.
template <class Body>
plumbline_status guarded(char* reason, std::size_t reason_bytes, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return answer(PLUMBLINE_OUT_OF_MEMORY, "out of host memory", reason, reason_bytes);
  } catch (const std::exception& error) {
    return answer(PLUMBLINE_ERROR, error.what(), reason, reason_bytes);
  }
}

}  // namespace plumbline
