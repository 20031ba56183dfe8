// The floating-point state that the judge computes in: round to nearest, subnormals kept, no traps.
// A caller may have changed it (torch.set_flush_denormal, a library linked with -ffast-math,
// fesetround). The judge could then call a correct output a BUG, and zeros ROUNDING.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

namespace plumbline {

// The control words of a thread, without the exception flags that computations set.
struct FloatingPointWords {
  std::uint32_t mxcsr = 0;  // for SSE and AVX
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
// The state at the start of a process by the System V ABI.
inline constexpr FloatingPointWords usual_floating_point{0x1F80, 0x037F};

// Sets the usual state in this thread while the object lives, then restores the previous one.
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
