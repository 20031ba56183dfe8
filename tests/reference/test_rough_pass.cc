// One wrong row is found wherever it is, and correct rows are not reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/reference/rough_pass.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

Problem long_prefill() {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = problem.seq_kv = 300;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

// An output whose rows all could come from a legal kernel, except for one.
class Output {
 public:
  explicit Output(const Problem& problem) : Output(problem, strict_spec(problem)) {}
  Output(const Problem& problem, const RoundingSpec& spec)
      : filled_(problem),
        spec_(spec),
        all_(compute_reference(filled_.geometry, filled_.view(), spec_, filled_.all_rows())) {}

  // Returns rows with errors of four standard deviations, with a sign for each row and column. Row
  // `wrong` is multiplied by `factor`.
  RowReader rows(std::size_t wrong, double factor, double lse_error = 0) const {
    const auto read = [=, this](const RowId& id, std::span<double> output) {
      const auto& rows = all_.selection.rows;
      const auto at =
          static_cast<std::size_t>(std::find(rows.begin(), rows.end(), id) - rows.begin());
      for (std::size_t j = 0; j < output.size(); ++j) {
        const std::size_t i = at * output.size() + j;
        const double sign = (at + j) % 2 == 0 ? 4 : -4;
        output[j] = (all_.o[i] + sign * double{all_.sigma[i]}) * (at == wrong ? factor : 1);
      }
      return all_.lse[at] + 4 * double{all_.lse_sigma[at]} + (at == wrong ? lse_error : 0);
    };
    return {read, true};
  }

  // Every 50th row has a reference.
  RoughPass look(const RowReader& output, double cost_limit = 2e12,
                 std::int64_t rotation = 0) const {
    RowSelection some = filled_.all_rows();
    some.rows.clear();
    some.rotation = rotation;
    for (std::size_t i = 0; i < all_.selection.rows.size(); i += 50)
      some.rows.push_back(all_.selection.rows[i]);
    const Reference reference = compute_reference(filled_.geometry, filled_.view(), spec_, some);
    return compare_unreferenced_rows(filled_.geometry, filled_.view(), spec_, reference, output,
                                     cost_limit);
  }

  const Reference& all() const { return all_; }

 private:
  FilledProblem filled_;
  RoundingSpec spec_;
  Reference all_;
};

constexpr std::size_t none = static_cast<std::size_t>(-1);

TEST(RoughPass, LegalRowsStayWithinLimit) {
  for (const Law law : {Law::normal, Law::near_uniform, Law::peaky, Law::llm}) {
    for (const VLaw v_law : {VLaw::normal, VLaw::large_mean, VLaw::band}) {
      Problem problem = long_prefill();
      problem.law = law;
      problem.v_law = v_law;
      const RoughPass pass = Output(problem).look(Output(problem).rows(none, 1));
      EXPECT_LT(pass.largest, 8) << name(law) << ' ' << name(v_law);
      EXPECT_EQ(pass.rows, 2 * 4 * 300 - 48);
    }
  }
}

TEST(RoughPass, FindsOneDoubledRow) {
  const Output output(long_prefill());
  const auto& rows = output.all().selection.rows;
  for (const std::size_t wrong : {std::size_t{1}, std::size_t{777}, rows.size() - 1}) {
    const RoughPass pass = output.look(output.rows(wrong, 2));
    EXPECT_GT(pass.largest, 24);
    EXPECT_EQ(pass.row, rows[wrong]);
    EXPECT_GE(pass.column, 0);
    EXPECT_NEAR(pass.got, 2 * pass.expected, 0.2 * std::abs(pass.expected));
  }
}

TEST(RoughPass, FindsWrongLseAndNan) {
  const Output output(long_prefill());
  const auto& rows = output.all().selection.rows;
  const RoughPass of_lse = output.look(output.rows(1234, 1, 0.01));
  EXPECT_GT(of_lse.largest, 24);
  EXPECT_EQ(of_lse.row, rows[1234]);
  EXPECT_EQ(of_lse.column, -1);
  const RoughPass of_nan = output.look(output.rows(1234, std::nan("")));
  EXPECT_TRUE(std::isnan(of_nan.largest));
  EXPECT_EQ(of_nan.row, rows[1234]);
}

// Takes every second row, and always the rows with a reference, which give the scale. Their indices
// are even, so that rotation 1 takes none of them by itself.
TEST(RoughPass, SparseRowsKeepScale) {
  const Output output(long_prefill());
  const double cost = 2 * 4 * (300 * 301 / 2) * 64.0;
  const auto look = [&](std::size_t wrong, std::int64_t rotation) {
    return output.look(output.rows(wrong, 2), 0.6 * cost, rotation);
  };
  EXPECT_EQ(look(none, 0).rows, 1200 - 48);
  EXPECT_EQ(look(none, 1).rows, 1200);
  EXPECT_LT(look(none, 0).largest, 8);
  EXPECT_LT(look(none, 1).largest, 8);
  EXPECT_LT(look(777, 0).largest, 8) << "left out";
  EXPECT_GT(look(777, 1).largest, 24);
}

TEST(RoughPass, LseLacksRowBias) {
  Problem problem = long_prefill();
  problem.alibi = Alibi::standard;
  RoundingSpec spec = strict_spec(problem);
  spec.lse_without_row_bias = true;
  const Output output(problem, spec);
  EXPECT_LT(output.look(output.rows(none, 1)).largest, 8);
  const RoughPass pass = output.look(Output(problem).rows(none, 1));
  EXPECT_GT(pass.largest, 24);
  EXPECT_EQ(pass.column, -1);
}

}  // namespace
}  // namespace plumbline
