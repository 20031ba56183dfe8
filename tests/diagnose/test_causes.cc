// Tests that a kernel whose second call differs is called not deterministic, before any other
// cause.
#include <gmock/gmock.h>

#include <limits>

#include "harness/diagnose/causes.h"
#include "harness/reference/reference.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

// The reference is 0 with sigma 0.5.
std::string cause(const std::vector<double>& first, const std::vector<double>& second) {
  Reference reference;
  reference.o.assign(first.size(), 0.0);
  reference.sigma.assign(first.size(), 0.5F);
  return cause_of_change(reference, first, second);
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(CauseOfChange, NamedFromHalfTheError) {
  EXPECT_THAT(cause({0, 8}, {0, 4}),
              HasSubstr("the kernel is not deterministic: two calls with the same inputs differ by "
                        "up to 8 sigma, and the error is 16 sigma"));
  EXPECT_NE(cause({8, 0}, {8, -4}), "") << "elsewhere than the largest error";
  EXPECT_EQ(cause({0, 8}, {0, 4.001}), "");
  EXPECT_EQ(cause({0, 8}, {0, 8}), "");
  EXPECT_EQ(cause({0, 0}, {0, 0}), "");
}

TEST(CauseOfChange, DetectsNan) {
  for (const double odd : {nan, infinity, -infinity}) {
    EXPECT_THAT(cause({1, odd}, {1, 2}), HasSubstr("that is finite in only one of them"));
    EXPECT_THAT(cause({1, 2}, {1, odd}), HasSubstr("that is finite in only one of them"));
    EXPECT_EQ(cause({1, odd}, {1, odd}), "");
    EXPECT_EQ(cause({1, odd}, {2, odd}), "") << "the infinite error is the same in both";
  }
}

}  // namespace
}  // namespace plumbline
