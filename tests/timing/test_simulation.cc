// A small simulation; plumbline_gate_simulation prints the figures of evidence/nights.md.
#include <gtest/gtest.h>

#include "simulation.h"

namespace plumbline::testing {
namespace {

TEST(Simulation, HasFewFalseAlerts) {
  SimulationOptions options;
  options.series = 300;
  options.nights = 60;
  options.fresh = 3;
  for (const Noise noise : all<Noise>()) {
    const FalseAlerts alerts = false_alerts(noise, options);
    // 300 of 10,000 series: at most 0.003 alerts a night are expected, and 0.15 in 50 nights.
    EXPECT_LE(alerts.confirmed(), 3.0 / 50) << name(noise);
    EXPECT_EQ(alerts.suspect_nights > 0, noise == Noise::drift) << name(noise);
  }
}

TEST(Simulation, FindsStepsOfWhiteNoise) {
  SimulationOptions options;
  options.series = 200;
  options.fresh = 3;
  EXPECT_GE(power(Noise::white, 10, options).found[0], 0.98);
  EXPECT_GE(power(Noise::white, 5, options).found[0], 0.8);
  EXPECT_GE(power(Noise::white, 3, options).found[6], 0.8);
  EXPECT_GE(power(Noise::white, 2, options).found[13], 0.6);
}

}  // namespace
}  // namespace plumbline::testing
