// The support table: the problems and devices that an entry covers, and errors in the file.
#include "harness/contract/support.h"
#include "tests/judge/files.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<SupportTable> read(const std::string& text) {
  return SupportTable::read(TemporaryFile(text).path());
}

TEST(Support, MatchesAllFieldsAndAnyValue) {
  const auto table = read(R"(
[[unsupported]]
kernel = "mine/*"
where = { dtype = ["fp16", "bf16"], head_dim_qk = 64, window = "8,0" }
reason = "first"
[[unsupported]]
kernel = "mine/none"
reason = "nothing at all"
)");
  ASSERT_TRUE(table) << to_string(table.error());
  Problem problem;
  problem.window_left = 8;
  problem.window_right = 0;
  EXPECT_EQ(table->unsupported("mine/k", problem), "first");
  problem.dtype = DType::f16;
  EXPECT_EQ(table->unsupported("mine/k", problem), "first");
  EXPECT_EQ(table->unsupported("yours/k", problem), std::nullopt);
  Problem other = problem;
  other.dtype = DType::f32;
  EXPECT_EQ(table->unsupported("mine/k", other), std::nullopt);
  EXPECT_EQ(table->unsupported("mine/none", other), "nothing at all");
  other = problem;
  other.head_dim_qk = 128;
  EXPECT_EQ(table->unsupported("mine/k", other), std::nullopt);
  other = problem;
  other.window_right = 1;
  EXPECT_EQ(table->unsupported("mine/k", other), std::nullopt);
}

TEST(Support, DtypesFollowQ) {
  const auto table =
      read("[[unsupported]]\nkernel = \"k\"\nreason = \"r\"\nwhere = { out_dtype = \"fp32\" }\n");
  ASSERT_TRUE(table) << to_string(table.error());
  Problem problem;
  EXPECT_FALSE(table->unsupported("k", problem));
  problem.out_dtype = DType::f32;
  EXPECT_TRUE(table->unsupported("k", problem));
  problem.dtype = DType::f32;
  problem.out_dtype = DType::none;
  EXPECT_TRUE(table->unsupported("k", problem));
}

TEST(Support, TakesKernelListsAndExcludedValues) {
  const auto table = read(
      "[[unsupported]]\nkernel = [\"a/*\", \"b/one\"]\nreason = \"r\"\nwhere = { softcap = { not = "
      "0 }, head_dim = { not = [64, 128] } "
      "}\n");
  ASSERT_TRUE(table) << to_string(table.error());
  Problem capped;
  capped.softcap = 30;
  capped.head_dim_qk = capped.head_dim_vo = 96;
  for (const char* kernel : {"a/x", "b/one"})
    EXPECT_TRUE(table->unsupported(kernel, capped)) << kernel;
  EXPECT_FALSE(table->unsupported("b/two", capped));
  Problem usual = capped, plain = capped;
  usual.head_dim_qk = usual.head_dim_vo = 128;
  plain.softcap = 0;
  EXPECT_FALSE(table->unsupported("a/x", usual));
  EXPECT_FALSE(table->unsupported("a/x", plain));
}

TEST(Support, GroupIsHeadsPerKeyHead) {
  const auto table = read(
      "[[unsupported]]\nkernel = \"k\"\nreason = \"no GQA\"\nwhere = { group = { not = 1 } }\n");
  ASSERT_TRUE(table) << to_string(table.error());
  Problem problem;
  problem.heads_q = problem.heads_kv = 7;
  EXPECT_FALSE(table->unsupported("k", problem));
  problem.heads_kv = 1;
  EXPECT_TRUE(table->unsupported("k", problem));
  EXPECT_EQ(table->entry_for("k", problem)->line, 1);
  const auto wrong =
      read("[[unsupported]]\nkernel = \"k\"\nreason = \"r\"\nwhere = { group = 0 }\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("\"0\" is not a number of query heads"));
}

TEST(Support, ReportsAllErrors) {
  const auto table = read(R"([[unsupported]]
kernel = "k"
where = { dtype = ["fp32", "fp31"], layout = [], dtyp = "fp16", seq_q = { from = 3 } }
[[unsupported]]
reason = "r"
where = 7
wher = {}
)");
  ASSERT_FALSE(table);
  EXPECT_THAT(lines_and_messages(table.error()),
              testing::UnorderedElementsAre(
                  "1: reason is missing", HasSubstr("fp31"), "3: layout = [] matches nothing",
                  HasSubstr("dtyp"), "3: seq_q is not a value or a list of values",
                  "4: kernel is missing", "6: where is not a table", HasSubstr("wher")));
}

TEST(Support, EntryMayNameDeviceAndArch) {
  const auto table = read(R"(
[[unsupported]]
kernel = "mine/k"
device = "cpu"
reason = "on the CPU"
[[unsupported]]
kernel = "mine/k"
device = ["cuda:*"]
arch = ["sm_80"]
where = { dtype = "bf16" }
reason = "on Ampere"
)");
  ASSERT_TRUE(table) << to_string(table.error());
  const Problem bf16;
  EXPECT_EQ(table->unsupported("mine/k", bf16, {"cpu", ""}), "on the CPU");
  EXPECT_EQ(table->unsupported("mine/k", bf16, {"cuda:1", "sm_80"}), "on Ampere");
  EXPECT_EQ(table->unsupported("mine/k", bf16, {"cuda:1", "sm_90"}), std::nullopt);
  EXPECT_EQ(table->unsupported("mine/k", bf16), std::nullopt);
  EXPECT_TRUE(table->covers("mine/k", {"cpu", ""}));
  EXPECT_FALSE(table->covers("mine/k", {"cuda:0", "sm_90"}));
}

TEST(ReviewedSupport, CoversCpuKernels) {
  const auto table =
      SupportTable::read(std::filesystem::path(PLUMBLINE_SOURCE_DIR) / "baselines/support.toml");
  ASSERT_TRUE(table) << to_string(table.error());
  Problem fp32, bf16, ragged;
  fp32.dtype = DType::f32;
  ragged.layout = Layout::ragged;
  for (const char* kernel : {"cpu/naive", "cpu/flash", "cpu/flash_unpad", "cpu/flash_attended",
                             "cpu/flash_denominator", "cpu/split_kv_16", "cpu/flash_tile32",
                             "cpu/flash_tile128", "cpu/flash_lazy", "cpu/flash_lse2"}) {
    EXPECT_TRUE(table->unsupported(kernel, fp32)) << kernel;
    EXPECT_FALSE(table->unsupported(kernel, bf16)) << kernel;
  }
  EXPECT_FALSE(table->unsupported("cpu/flash_p32", fp32));
  EXPECT_FALSE(table->unsupported("cpu/split_kv", fp32));
  EXPECT_EQ(table->unsupported("cpu/flash", fp32), "FlashAttention only supports fp16 and bf16");
  for (const char* kernel : {"cpu/naive", "cpu/flash", "cpu/flash_p32", "cpu/split_kv",
                             "cpu/split_kv_16", "cpu/flash_denominator", "cpu/flash_attended"}) {
    EXPECT_FALSE(table->unsupported(kernel, ragged)) << kernel;
  }
  EXPECT_TRUE(table->unsupported("cpu/flash_unpad", ragged));
}

}  // namespace
}  // namespace plumbline
