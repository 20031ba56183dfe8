// The processor's rounding mode, which affects the bits of an output.
#pragma once

#include <immintrin.h>

namespace plumbline::cpu {

// During its lifetime: round to nearest and keep subnormal numbers, regardless of the process's
// mode.
class DefaultRounding {
 public:
  DefaultRounding() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultRounding() { _mm_setcsr(saved_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  unsigned saved_;
};

}  // namespace plumbline::cpu
