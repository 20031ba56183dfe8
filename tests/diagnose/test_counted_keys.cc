// Tests that hidden keys with one logit are named, in sums of whole tiles of keys.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/diagnose/causes.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using test::value_of;

// Writes the output and LSE of a kernel that counts hidden keys with `logit`: all hidden keys of
// the tiles of 16 keys that a row sees, and keys after the last one, whose V is 0. `has_values`: P
// V includes the hidden keys.
void count_hidden(FilledProblem& filled, double logit, bool has_values) {
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const RowId& id = filled.reference.selection.rows[r];
    const KeyRange seen = filled.geometry.visible_keys(id.sample, id.row, id.head);
    const double lse = filled.reference.lse[r], weight = std::exp(logit - lse);
    std::vector<double> o(static_cast<std::size_t>(filled.reference.columns));
    for (std::size_t j = 0; j < o.size(); ++j) o[j] = filled.expected(r, j);
    double sum = 1;
    for (std::int64_t key = seen.end; key < (seen.end + 15) / 16 * 16; ++key) {
      sum += weight;
      if (!has_values || key >= filled.geometry.length_kv(id.sample)) continue;
      const std::vector<double> value = value_of(filled, id, key);
      for (std::size_t j = 0; j < o.size(); ++j) o[j] += weight * value[j];
    }
    for (std::size_t j = 0; j < o.size(); ++j)
      filled.set(id, static_cast<std::int64_t>(j), o[j] / sum);
    filled.set_lse(id, lse + std::log(sum));
  }
}

std::string cause_of_hidden(double logit, bool has_values = true) {
  Problem problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  problem.softcap = 3;
  FilledProblem filled(problem);
  count_hidden(filled, logit, has_values);
  const FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  const auto sentences = causes(failing.output);
  return sentences.empty() ? "" : sentences.front();
}

TEST(CountedHiddenKeys, LogitTellsCause) {
  const std::string begin =
      "the softmax denominator is too large: it counts hidden keys with a logit of ";
  EXPECT_EQ(cause_of_hidden(-3), begin + "-3, as if the softcap were applied after the mask");
  EXPECT_EQ(cause_of_hidden(0), begin + "0, as if the mask set it to 0");
  EXPECT_EQ(cause_of_hidden(0, false), begin + "0, which P V leaves out");
}

}  // namespace
}  // namespace plumbline
