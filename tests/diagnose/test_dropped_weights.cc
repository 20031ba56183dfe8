// Tests that dropout is named, and that other errors of each weight are not called so.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "harness/diagnose/dropped_weights.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using test::value_of;

// Returns the cause if each weight is multiplied by a number of its own.
std::string cause_of_factors(const std::function<double()>& factor, bool has_lse = true) {
  Problem problem = small_problem();
  problem.seq_q = 24;
  problem.seq_kv = 40;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  FilledProblem filled(problem);
  for (const RowId& id : filled.reference.selection.rows) {
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    std::vector<double> o(detail.o.size(), 0.0);
    for (std::size_t n = 0; n < detail.p.size(); ++n) {
      const double weight = detail.p[n] * factor();
      const auto value = value_of(filled, id, detail.keys.begin + static_cast<std::int64_t>(n));
      for (std::size_t j = 0; j < o.size(); ++j) o[j] += weight * value[j];
    }
    for (std::size_t j = 0; j < o.size(); ++j) filled.set(id, static_cast<std::int64_t>(j), o[j]);
  }
  FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  EXPECT_EQ(failing.location.kind, LocationKind::none) << failing.location.description;
  if (!has_lse) failing.output.outputs.lse = nullptr;
  return dropped_weights(failing.output);
}

TEST(DroppedWeights, TwoFactorsAreDropout) {
  for (const double probability : {0.1, 0.3}) {
    std::mt19937_64 random(1);
    std::bernoulli_distribution keeps(1 - probability);
    const auto factor = [&] { return keeps(random) ? 1 / (1 - probability) : 0.0; };
    EXPECT_EQ(cause_of_factors(factor),
              "each weight is dropped or multiplied by one number, and the LSE is right: dropout");
    EXPECT_EQ(cause_of_factors(factor, false),
              "each weight is dropped or multiplied by one number: dropout");
  }
}

// The squared error is that of dropout with a probability of 0.14.
TEST(DroppedWeights, OtherErrorsOfWeightsAreNone) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(1, 0.4);
  EXPECT_EQ(cause_of_factors([&] { return normal(random); }), "");
}

}  // namespace
}  // namespace plumbline
