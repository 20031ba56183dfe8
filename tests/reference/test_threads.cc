// Results have the same bits for every thread count, and the same numbers for every selection of
// rows.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "harness/reference/blas_threads.h"
#include "tests/reference/filled_problem.h"
#include "tests/reference/same_reference.h"

namespace plumbline {
namespace {

Problem several_blocks() {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.batch = 3;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 100;
  problem.seq_kv = 150;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  problem.mask = Mask::causal_bottom_right;
  problem.layout = Layout::ragged;
  problem.lengths = Lengths::random;
  return problem;
}

Reference compute_with(int threads, const FilledProblem& filled, const RoundingSpec& spec) {
  tbb::global_control enough(tbb::global_control::max_allowed_parallelism, 4);
  tbb::task_arena arena(threads);
  Reference reference;
  arena.execute([&] {
    reference = compute_reference(filled.geometry, filled.view(), spec, filled.all_rows(),
                                  {.suite_scores = true});
  });
  return reference;
}

TEST(Threads, CountDoesNotChangeBits) {
  const FilledProblem filled(several_blocks());
  RoundingSpec spec = strict_spec(several_blocks());
  spec.s_rounded = DType::bf16;
  spec.exp2_rel_error = 9e-5;
  spec.denominator_from_rounded_p = true;
  const Reference one = compute_with(1, filled, spec);
  ASSERT_GT(one.selection.rows.size(), 200U);
  for (int repeat = 0; repeat < 3; ++repeat) expect_same(one, compute_with(4, filled, spec));
}

TEST(Threads, RowSubsetGivesEqualResults) {
  const FilledProblem filled(several_blocks());
  const RoundingSpec spec = strict_spec(several_blocks());
  const Reference all = compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  RowSelection some{{}, true, all.selection.rows_total};
  std::vector<std::size_t> index;
  // in reverse order, because any order of rows is allowed
  for (std::size_t r = all.selection.rows.size(); r-- > 0;) {
    if (r % 11 == 0) some.rows.push_back(all.selection.rows[r]), index.push_back(r);
  }
  const Reference few = compute_reference(filled.geometry, filled.view(), spec, some);
  for (std::size_t i = 0; i < index.size(); ++i) {
    EXPECT_EQ(few.visible[i], all.visible[index[i]]);
    if (all.visible[index[i]] == 0) continue;
    EXPECT_NEAR(few.lse[i], all.lse[index[i]], 1e-13);
    for (std::int64_t j = 0; j < all.columns; ++j) {
      const std::size_t at =
          i * static_cast<std::size_t>(all.columns) + static_cast<std::size_t>(j);
      const std::size_t in_all =
          index[i] * static_cast<std::size_t>(all.columns) + static_cast<std::size_t>(j);
      EXPECT_NEAR(few.o[at], all.o[in_all], 1e-14);
      EXPECT_NEAR(few.sigma[at], all.sigma[in_all], 1e-5 * all.sigma[in_all]);
    }
  }
}

TEST(Threads, RowsWithoutKeys) {
  Problem problem = several_blocks();
  problem.lengths = Lengths::full;
  problem.seq_q = 5;
  problem.seq_kv = 3;
  const FilledProblem filled(problem);
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), strict_spec(problem), filled.all_rows(),
                        {.suite_scores = true});
  const std::int64_t columns = reference.columns;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const bool blind = reference.selection.rows[r].row < 2;
    EXPECT_EQ(reference.visible[r] == 0, blind);
    const auto row = static_cast<std::ptrdiff_t>(r) * columns;
    const auto zeros = [&](const auto& matrix) {
      return std::count(matrix.begin() + row, matrix.begin() + row + columns, 0);
    };
    EXPECT_EQ(zeros(reference.o), blind ? columns : 0);
    EXPECT_EQ(zeros(reference.sigma), blind ? columns : 0);
    EXPECT_EQ(zeros(reference.bound), blind ? columns : 0);
    EXPECT_EQ(reference.shrink_variance[r] == 0, blind);
    EXPECT_EQ(reference.lse[r] == -std::numeric_limits<double>::infinity(), blind);
  }
}

// Runs in its own process, in which oneTBB has no threads yet.
TEST(BlasThreads, EndOnRequest) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a thread, beside which end_blas_threads() ends none";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
    return std::distance(tasks, end);
  };
  EXPECT_EXIT((end_blas_threads(), std::exit(threads() == 1 ? 0 : 1)), testing::ExitedWithCode(0),
              "");
}

}  // namespace
}  // namespace plumbline
