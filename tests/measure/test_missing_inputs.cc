// If a case's recorded inputs are missing, only that case gets an error.
#include <gmock/gmock.h>

#include <type_traits>

#include "harness/contract/contract.h"
#include "harness/measure/invariance.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"

namespace plumbline {
namespace {

// A measurer refers to its options, so temporary ones would dangle.
template <class T, class Options>
constexpr bool takes =
    std::is_constructible_v<T, Options, const std::vector<ProviderInfo>&, const Contracts&>;
static_assert(takes<Measurer, const MeasureOptions&> && !takes<Measurer, MeasureOptions>);
static_assert(takes<InvarianceMeasurer, const MeasureOptions&> &&
              !takes<InvarianceMeasurer, MeasureOptions>);

TEST(MissingInputs, FailOneCase) {
  const MeasureOptions options;
  const Contracts contracts;
  const std::vector<ProviderInfo> providers;
  Measurer measurer(options, providers, contracts);
  PlannedCase planned;
  planned.c = {"cpu/flash", "cpu", {}};
  planned.c.problem.inputs = "gone.safetensors@01234567";
  std::vector<Outcome> outcomes;
  measurer.measure({&planned, &planned},
                   [&](Measurement m) { outcomes.push_back(std::move(m.outcome)); });
  ASSERT_EQ(outcomes.size(), 2U);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, Status::error);
    EXPECT_THAT(outcome.reason, testing::HasSubstr("there is no file \"gone.safetensors\""));
  }
}

}  // namespace
}  // namespace plumbline
