// The floating-point state that the judge computes in: round to nearest, subnormals as they are, no
// traps. Who calls the judge may have another one (torch.set_flush_denormal, a library linked with
// -ffast-math, fesetround), in which a right output is a BUG and zeros are ROUNDING.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

namespace plumbline {

// The control words of a thread; what computing sets by itself (exception flags) is left out.
struct FloatingPointWords {
  std::uint32_t mxcsr = 0;  // of SSE and AVX
  std::uint16_t x87 = 0;
  bool operator==(const FloatingPointWords&) const = default;

  static FloatingPointWords now() {
    FloatingPointWords words;
    words.mxcsr = _mm_getcsr() & ~flags;
    asm volatile("fnstcw %0" : "=m"(words.x87));
    return words;
  }
  void set() const {
    _mm_setcsr(mxcsr);
    asm volatile("fldcw %0" : : "m"(x87));
  }

  static constexpr std::uint32_t flags = 0x3F;
};
// As the System V ABI has it when a process starts.
inline constexpr FloatingPointWords usual_floating_point{0x1F80, 0x037F};

// Sets the usual state while it lives, in this thread; then the one that was there.
class UsualFloatingPoint {
 public:
  UsualFloatingPoint() : before_(FloatingPointWords::now()) {
    if (before_ != usual_floating_point) usual_floating_point.set();
  }
  ~UsualFloatingPoint() {
    if (before_ != usual_floating_point) before_.set();
  }
  UsualFloatingPoint(const UsualFloatingPoint&) = delete;
  UsualFloatingPoint& operator=(const UsualFloatingPoint&) = delete;

 private:
  FloatingPointWords before_;
};

}  // namespace plumbline
