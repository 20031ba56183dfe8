// The processor's treatment of denormal numbers.
#pragma once

#ifdef __SSE__
#include <immintrin.h>
#endif

namespace plumbline::emulator {

// During its lifetime, this OS thread treats denormal operands and results as zeros of their sign
// (DAZ and FTZ of MXCSR), or keeps them.
class Denormals {
 public:
#ifdef __SSE__
  explicit Denormals(bool flushed) : before_(_mm_getcsr()) {
    const unsigned wanted = flushed ? before_ | both : before_ & ~both;
    if (wanted != before_) _mm_setcsr(wanted);
    changed_ = wanted != before_;
  }
  ~Denormals() {
    if (changed_) _mm_setcsr(before_);
  }
  static constexpr bool can_flush = true;

 private:
  static constexpr unsigned both = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;
  unsigned before_;
  bool changed_;
#else
  explicit Denormals(bool) {}
  static constexpr bool can_flush = false;
#endif
  Denormals(const Denormals&) = delete;
  Denormals& operator=(const Denormals&) = delete;
};

}  // namespace plumbline::emulator
