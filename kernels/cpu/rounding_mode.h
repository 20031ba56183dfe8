// The processor's rounding, which the bits of an output depend on.
#pragma once

#include <immintrin.h>

namespace plumbline::cpu {

// While it lives: round to nearest, subnormal numbers kept, whatever the process has set.
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
