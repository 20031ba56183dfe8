// Checks how invariances of a kernel are counted by result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/report/invariance_text.h"
#include "harness/store/stored_invariance.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

// A kernel without the promise returns NaN, and nothing judges it.
StoredInvariance not_judged() {
  StoredInvariance stored;
  stored.outcome.c.kernel = "cpu/naive";
  stored.outcome.c.device = "cpu";
  stored.outcome.invariance = Invariance::hidden_keys;
  stored.outcome.status = Status::ok;
  stored.outcome.calls = 1;
  stored.outcome.elements = 64;
  stored.outcome.other_bits = 8;
  stored.outcome.sigmas = std::numeric_limits<double>::infinity();
  stored.judgement.verdict = Verdict::unsupported;
  return stored;
}

TEST(InvarianceTallies, NotJudgedIsNotWithinRounding) {
  const std::vector<InvarianceTally> found = tallies({not_judged()});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].not_judged, 1);
  EXPECT_EQ(found[0].nothing, 0);
  EXPECT_EQ(found[0].rounding, 0);
  EXPECT_EQ(found[0].sigmas, 0);
  EXPECT_THAT(render_invariances_markdown({not_judged()}), HasSubstr("| cpu/naive | ? |"));
}

// The kernel refused the call, or there was nothing to transform.
TEST(InvarianceTallies, RefusedCallCountsAsNothing) {
  StoredInvariance unmeasured = not_judged();
  unmeasured.outcome.status = Status::unsupported;
  const std::vector<InvarianceTally> found = tallies({unmeasured, not_judged()});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].not_judged, 1);
  EXPECT_EQ(found[0].nothing, 1);
  EXPECT_THAT(render_invariances_markdown({unmeasured}), HasSubstr("| cpu/naive | · |"));
}

TEST(InvarianceTallies, JudgedDifferenceCountsOnce) {
  StoredInvariance within = not_judged(), broken = not_judged();
  within.judgement.verdict = Verdict::pass;
  within.outcome.sigmas = 2;
  broken.judgement.verdict = Verdict::fail;
  const std::vector<InvarianceTally> found = tallies({within, not_judged(), broken});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].rounding, 1);
  EXPECT_EQ(found[0].violated, 1);
  EXPECT_EQ(found[0].not_judged, 1);
  EXPECT_EQ(found[0].sigmas, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace plumbline
