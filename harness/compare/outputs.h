// The outputs of one kernel run, as they lie in memory.
#pragma once

#include "harness/problem/geometry.h"

namespace plumbline {

struct OutputView {
  const void* out = nullptr;
  const void* lse = nullptr;  // nullptr: the kernel was not asked for LSE
  int lse_base = 0;           // 0 = e, 2
};

}  // namespace plumbline
