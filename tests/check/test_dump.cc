// Tests which dumps are read (layouts, lengths, aliases and dtypes), and as which problem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/check/dump.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::DumpTensors;
using test::run_emulated;
using testing::HasSubstr;

Problem small(Layout layout) {
  Problem problem;
  problem.layout = layout;
  problem.batch = 3;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 6;
  problem.seq_kv = 20;
  problem.head_dim_qk = 16;
  problem.head_dim_vo = 8;
  problem.page_size = 5;
  problem.lengths = layout == Layout::padded_bshd || layout == Layout::padded_bhsd
                        ? Lengths::full
                        : Lengths::random;
  return problem;
}

Dump read(const DumpTensors& tensors, const Attributes& attributes = {}) {
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  return dump ? *dump : Dump{};
}

// Compares everything that a reference and a comparison use.
void expect_same_geometry(const Geometry& a, const Geometry& b) {
  EXPECT_EQ(a.problem().layout, b.problem().layout);
  EXPECT_EQ(a.seqlens_q, b.seqlens_q);
  EXPECT_EQ(a.seqlens_kv, b.seqlens_kv);
  for (std::int64_t sample = 0; sample < a.problem().batch; ++sample) {
    for (std::int64_t row = 0; row < a.length_q(sample); ++row) {
      EXPECT_EQ(a.visible_keys(sample, row), b.visible_keys(sample, row));
      EXPECT_EQ(a.q_offset(sample, row, 1), b.q_offset(sample, row, 1));
      EXPECT_EQ(a.out_offset(sample, row, 1), b.out_offset(sample, row, 1));
    }
    for (std::int64_t key = 0; key < a.length_kv(sample); ++key)
      EXPECT_EQ(a.k_offset(sample, key, 1), b.k_offset(sample, key, 1));
  }
}

class LayoutOfDump : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, LayoutOfDump,
                         testing::Values(Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                                         Layout::paged_nhd, Layout::paged_hnd));

TEST_P(LayoutOfDump, FoundFromTensors) {
  Problem problem = small(GetParam());
  problem.mask = Mask::causal_bottom_right;
  const DumpTensors tensors = run_emulated(problem, {});
  const Dump dump = read(tensors, {{"mask", "causal_bottom_right"}});
  ASSERT_NE(dump.geometry, nullptr);
  EXPECT_EQ(dump.problem().layout, GetParam());
  EXPECT_EQ(dump.problem().head_dim_vo, 8);
  expect_same_geometry(*dump.geometry, Geometry(problem));
  EXPECT_EQ(dump.q, DumpTensors(tensors).data("q"));
}

TEST_P(LayoutOfDump, AcceptsInt64IndexTensors) {
  const Problem problem = small(GetParam());
  DumpTensors tensors = run_emulated(problem, {});
  for (const char* name : {"cu_seqlens_q", "cu_seqlens_kv", "seqlens_kv", "page_table"}) {
    if (!tensors.contains(name)) continue;
    std::vector<std::int32_t> narrow(tensors.data(name).size() / 4);
    std::memcpy(narrow.data(), tensors.data(name).data(), tensors.data(name).size());
    const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    std::vector<std::byte> bytes(wide.size() * 8);
    std::memcpy(bytes.data(), wide.data(), bytes.size());
    tensors.set(name, "I64", tensors.shape(name), bytes);
  }
  expect_same_geometry(*read(tensors).geometry, Geometry(problem));
}

TEST_P(LayoutOfDump, FoundInFile) {
  const Problem problem = small(GetParam());
  const DumpTensors tensors = run_emulated(problem, {});
  auto file = parse_safetensors("file", tensors.file(attributes_of(problem)));
  ASSERT_TRUE(file) << to_string(file.error());
  const auto dump = make_dump("file", file->tensors, file->metadata);
  ASSERT_TRUE(dump) << to_string(dump.error());
  expect_same_geometry(*dump->geometry, Geometry(problem));
}

TEST(Dump, AmbiguousPaddedLayoutMustBeStated) {
  Problem problem = small(Layout::padded_bhsd);
  problem.heads_kv = problem.heads_q;
  problem.seq_kv = problem.seq_q;
  const DumpTensors tensors = run_emulated(problem, {});
  const auto dump = make_dump("dump", tensors.view(), {});
  ASSERT_FALSE(dump);
  EXPECT_THAT(to_string(dump.error()),
              HasSubstr("state layout = padded_bshd or padded_bhsd: "
                        "PyTorch's scaled_dot_product_attention takes padded_bhsd"));
  EXPECT_EQ(
      read(tensors, {{"layout", "padded_bhsd"}, {"lse_layout", "heads_last"}}).problem().layout,
      Layout::padded_bhsd);
}

TEST(Dump, MissingBatchOrHeadsMeansOne) {
  Problem problem = small(Layout::padded_bshd);
  problem.batch = 1;
  DumpTensors tensors = run_emulated(problem, {});
  for (const char* name : {"q", "k", "v", "out", "lse"})
    tensors.shape(name).erase(tensors.shape(name).begin());
  expect_same_geometry(*read(tensors).geometry, Geometry(problem));

  problem.heads_q = problem.heads_kv = 1;
  tensors = run_emulated(problem, {});
  for (const char* name : {"q", "k", "v", "out"}) {
    auto& shape = tensors.shape(name);
    shape = {shape[1], shape[3]};
  }
  tensors.shape("lse") = {problem.seq_q};
  const Dump dump = read(tensors);
  EXPECT_EQ(dump.problem().heads_q, 1);
  EXPECT_EQ(dump.problem().seq_kv, 20);
  EXPECT_EQ(dump.lse, tensors.data("lse"));
}

TEST(Dump, AcceptsOtherTensorNames) {
  Problem problem = small(Layout::ragged);
  DumpTensors tensors = run_emulated(problem, {});
  DumpTensors renamed;
  for (const auto& [from, to] :
       std::map<std::string, std::string>{{"q", "query"},
                                          {"k", "key"},
                                          {"v", "value"},
                                          {"out", "output"},
                                          {"lse", "softmax_lse"},
                                          {"cu_seqlens_q", "cu_seqlens_q"},
                                          {"cu_seqlens_kv", "cu_seqlens_k"}}) {
    renamed.set(to, tensors.dtype(from), tensors.shape(from), tensors.data(from));
  }
  expect_same_geometry(*read(renamed).geometry, Geometry(problem));
}

TEST(Dump, CuSeqlensServesQueriesAndKeys) {
  Problem problem = small(Layout::ragged);
  problem.seq_q = problem.seq_kv;  // so that queries and keys have equal lengths
  DumpTensors tensors = run_emulated(problem, {});
  tensors.set("cu_seqlens", "I32", tensors.shape("cu_seqlens_q"), tensors.data("cu_seqlens_q"));
  tensors.erase("cu_seqlens_q");
  tensors.erase("cu_seqlens_kv");
  expect_same_geometry(*read(tensors).geometry, Geometry(problem));
}

TEST(Dump, TransposesLseWithHeadsFirst) {
  const Problem problem = small(Layout::padded_bshd);
  DumpTensors tensors = run_emulated(problem, {});
  const std::vector<std::byte> last = tensors.data("lse");
  std::vector<std::byte> first(last.size());
  for (std::int64_t b = 0; b < 3; ++b) {
    for (std::int64_t s = 0; s < 6; ++s) {
      for (std::int64_t h = 0; h < 4; ++h) {
        std::memcpy(&first[static_cast<std::size_t>((b * 4 + h) * 6 + s) * 4],
                    &last[static_cast<std::size_t>((b * 6 + s) * 4 + h) * 4], 4);
      }
    }
  }
  tensors.set("lse", "F32", {3, 4, 6}, first);
  EXPECT_EQ(read(tensors).lse, last);
}

TEST(Dump, PagedDecodeNeedsNoQueryLengths) {
  Problem problem = small(Layout::paged_nhd);
  problem.seq_q = 1;
  problem.lengths = Lengths::random;
  DumpTensors tensors = run_emulated(problem, {});
  tensors.erase("cu_seqlens_q");
  expect_same_geometry(*read(tensors).geometry, Geometry(problem));
  // The shape of q in FlashAttention's flash_attn_with_kvcache: [batch, 1, heads, dim].
  for (const char* name : {"q", "out"})
    tensors.shape(name).insert(tensors.shape(name).begin() + 1, 1);
  expect_same_geometry(*read(tensors).geometry, Geometry(problem));
}

TEST(Dump, CausalSufficesIfCornersAgree) {
  Problem problem = small(Layout::padded_bshd);
  const DumpTensors unequal = run_emulated(problem, {});
  const auto dump =
      make_dump("dump", unequal.view(), {{"causal", "true"}, {"layout", "padded_bshd"}});
  ASSERT_FALSE(dump);
  EXPECT_THAT(to_string(dump.error()), HasSubstr("causal_top_left"));
  EXPECT_THAT(to_string(dump.error()), HasSubstr("causal_bottom_right"));

  problem.seq_q = problem.seq_kv;
  const Dump equal =
      read(run_emulated(problem, {}), {{"causal", "true"}, {"layout", "padded_bshd"}});
  EXPECT_EQ(equal.geometry->visible_keys(0, 3), (KeyRange{0, 4}));
}

TEST(Dump, AppliesStatedAttributes) {
  const Problem problem = small(Layout::padded_bshd);
  const Dump dump = read(run_emulated(problem, {}), {{"scale", "0.5"},
                                                     {"window", "3,1"},
                                                     {"lse_base", "2"},
                                                     {"spec", "FlashAttention-2"},
                                                     {"padded_rows", "zeros"},
                                                     {"softcap", "0"},
                                                     {"format", "pt"},
                                                     {"whatever", "else"}});
  EXPECT_EQ(dump.problem().scale, 0.5);
  EXPECT_EQ(dump.problem().window_left, 3);
  EXPECT_EQ(dump.problem().window_right, 1);
  EXPECT_EQ(dump.lse_base, 2);
  EXPECT_EQ(dump.spec, "FlashAttention-2");
  EXPECT_EQ(dump.padded_rows, "zeros");
}

TEST(Dump, StatedAttributesOverrideMetadata) {
  const Problem problem = small(Layout::padded_bshd);
  const auto bytes =
      run_emulated(problem, {}).file({{"scale", "0.25"}, {"mask", "causal_top_left"}});
  const auto path = std::filesystem::temp_directory_path() /
                    ("plumbline_dump_" + std::to_string(::getpid()) + ".safetensors");
  {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  const auto dump = read_dump(path, {{"scale", "0.5"}});
  std::filesystem::remove(path);
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_EQ(dump->problem().scale, 0.5);
  EXPECT_EQ(dump->problem().mask, Mask::causal_top_left);
}

TEST(Dump, LeftPaddingPutsValidRowsLast) {
  Problem problem = small(Layout::padded_bshd);
  problem.lengths = Lengths::random;
  problem.padding = Padding::left;
  expect_same_geometry(*read(run_emulated(problem, {}), {{"padding", "left"}}).geometry,
                       Geometry(problem));
}

TEST(Dump, WideOutputsStayFp32) {
  Problem problem = small(Layout::padded_bshd);
  problem.out_dtype = DType::f32;
  EXPECT_EQ(read(run_emulated(problem, {})).problem().out(), DType::f32);
}

}  // namespace
}  // namespace plumbline
