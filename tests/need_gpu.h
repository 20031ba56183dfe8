// Skips or fails a test that needs a GPU on a machine without one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace plumbline::test {

// ci/gpu.sh sets PLUMBLINE_REQUIRE_GPU=1, so that a missing GPU is a failure.
inline bool gpu_is_required() {
  const char* value = std::getenv("PLUMBLINE_REQUIRE_GPU");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace plumbline::test

// Skips the test, or fails it if a GPU is required. `why_none` is the reason that no GPU was found.
#define PLUMBLINE_SKIP_WITHOUT_GPU(why_none)                                              \
  do {                                                                                    \
    if (::plumbline::test::gpu_is_required())                                             \
      GTEST_FAIL() << "no GPU, and PLUMBLINE_REQUIRE_GPU=1 asks for one: " << (why_none); \
    GTEST_SKIP() << "no GPU: " << (why_none);                                             \
  } while (false)
