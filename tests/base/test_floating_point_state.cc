// The judge's floating-point state holds in its scope and in every thread of a loop there, but not
// afterwards.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>

#include "harness/base/floating_point_state.h"
#include "harness/base/parallel.h"

namespace plumbline {
namespace {

constexpr std::uint32_t flush_all = 0x8040;

TEST(FloatingPointState, RestoredAfterScope) {
  const FloatingPointWords before = FloatingPointWords::now();
  std::fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | flush_all);
  const FloatingPointWords set = FloatingPointWords::now();
  {
    const UsualFloatingPoint usual;
    EXPECT_EQ(FloatingPointWords::now(), usual_floating_point);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(FloatingPointWords::now(), set);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  before.set();
}

TEST(FloatingPointState, SetInAllLoopThreads) {
  _mm_setcsr(_mm_getcsr() | flush_all);
  std::atomic<int> others{0};
  parallel_for(1000, [&](std::int64_t) {
    if (FloatingPointWords::now() != usual_floating_point) ++others;
  });
  _mm_setcsr(_mm_getcsr() & ~flush_all);
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace plumbline
