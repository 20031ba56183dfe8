// A reference library gets no problem that its requests cannot express.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "harness/reference/reference_library.h"
#include "tests/built_library.h"
#include "tests/reference/filled_problem.h"
#include "tests/reference/same_reference.h"

namespace plumbline {
namespace {

std::shared_ptr<const ReferenceLibrary> stub() {
  const auto opened = ReferenceLibrary::open(test::built_library(PLUMBLINE_STUB_REFERENCE));
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  return *opened;
}

TEST(StubLibrary, BiasIsLeftToCpu) {
  Problem problem;
  problem.seq_q = problem.seq_kv = 9;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  FilledProblem filled(problem);
  const RoundingSpec spec = strict_spec(problem);
  const auto library = stub();
  const auto ask = [&] {
    return library->compute(filled.geometry, filled.view(), spec, filled.all_rows());
  };
  ASSERT_TRUE(ask().has_value()) << "the stub takes a problem without a bias";
  const auto bias = std::make_shared<LogitBias>();
  bias->values.assign(9, 0.5F);  // of all rows
  filled.geometry.bias = bias;
  const auto refused = ask();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("not for this problem"));
  const auto compute = [&](const ReferenceOptions& options) {
    return compute_reference(filled.geometry, filled.view(), spec, filled.all_rows(), options);
  };
  expect_same(compute({.library = library.get()}), compute({}));
}

// A request has no scale of an fp8 output, so the library would compute O without it.
TEST(StubLibrary, Fp8OutputIsLeftToCpu) {
  Problem problem;
  problem.seq_q = problem.seq_kv = 9;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.out_dtype = DType::e4m3;
  const FilledProblem filled(problem);
  const RoundingSpec spec = strict_spec(problem);
  const auto library = stub();
  EXPECT_FALSE(
      library->compute(filled.geometry, filled.view(), spec, filled.all_rows()).has_value());
  const auto compute = [&](const ReferenceOptions& options) {
    return compute_reference(filled.geometry, filled.view(), spec, filled.all_rows(), options);
  };
  expect_same(compute({.library = library.get()}), compute({}));
}

}  // namespace
}  // namespace plumbline
