// Every statistic, fault and invariance has a kind of finding, by its name.
#include <gtest/gtest.h>

#include "harness/judge/finding_kind.h"
#include "harness/outcome/faults.h"
#include "harness/outcome/invariance.h"
#include "harness/outcome/statistics_table.h"

namespace plumbline {
namespace {

TEST(FindingKind, NamesEveryStatisticFaultAndInvariance) {
  for (const Statistic& statistic : deciding_statistics)
    EXPECT_TRUE(parse<FindingKind>(statistic.name)) << statistic.name;
  for (const FaultKind& kind : fault_kinds) EXPECT_TRUE(parse<FindingKind>(kind.name)) << kind.name;
  for (const Invariance invariance : all<Invariance>())
    EXPECT_TRUE(parse<FindingKind>(name(invariance))) << name(invariance);
}

TEST(FindingKind, NamesParseBack) {
  for (const FindingKind kind : all<FindingKind>()) EXPECT_EQ(finding_kind(name(kind)), kind);
  EXPECT_EQ(finding_kind("of a later version"), FindingKind::other);
}

TEST(FindingKind, SeparatesTimesAndDrifts) {
  EXPECT_TRUE(is_timing_finding(FindingKind::time_from_pin));
  EXPECT_TRUE(is_drift_finding(FindingKind::drift_from_pin));
  EXPECT_FALSE(is_timing_finding(FindingKind::drift));
  EXPECT_FALSE(is_drift_finding(FindingKind::time));
}

}  // namespace
}  // namespace plumbline
