// In every transformed call each row sees the same keys as in the case, wherever they are in
// memory.
#include <gmock/gmock.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "harness/measure/invariance.h"
#include "harness/measure/variants.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Problem problem_of(const std::string& id) {
  auto problem = parse_problem_id(id);
  EXPECT_TRUE(problem.has_value()) << id;
  return *problem;
}

std::vector<Invariance> all_invariances() { return parse_invariances("all").value(); }

const char* const problems[] = {
    "bf16/b3-h4x2-s70-d64/mask=causal_bottom_right/lengths=random",
    "bf16/b3-h4x2-s70-d64/mask=causal_top_left/lengths=random/padding=left",
    "fp16/b4-h2-s9x90-d64/mask=causal_bottom_right/layout=paged_nhd/lengths=with_zero",
    "fp16/b5-h8x2-s1x300-d64/layout=paged_hnd/lengths=random/page=1",
    "fp16/b6-h2-s40x60-d64/window=8,0/mask=causal_bottom_right/layout=ragged/lengths=random",
    "fp16/b2-h2-s40x60-d64/window=8,3/layout=ragged/lengths=third",
    "fp32/b1-h1-s30x20-d64/mask=causal_bottom_right",
    "bf16/b2-h2x1-s33-d64x32/layout=padded_bhsd",
};

void expect_same_question(const Geometry& base, const VariantCall& call) {
  const Geometry& geometry = *call.geometry;
  ASSERT_EQ(call.samples.size(), static_cast<std::size_t>(geometry.problem().batch)) << call.words;
  std::set<std::pair<std::int64_t, std::int64_t>> rows;
  for (std::size_t i = 0; i < call.samples.size(); ++i) {
    const auto sample = static_cast<std::int64_t>(i);
    const SampleSource& source = call.samples[i];
    EXPECT_LE(geometry.length_q(sample), geometry.problem().seq_q) << call.words;
    EXPECT_LE(geometry.length_kv(sample), geometry.problem().seq_kv) << call.words;
    if (source.sample < 0) continue;
    ASSERT_LE(geometry.length_kv(sample), base.length_kv(source.sample)) << call.words;
    for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
      ASSERT_LT(source.first_row + row, base.length_q(source.sample)) << call.words;
      EXPECT_EQ(geometry.visible_keys(sample, row),
                base.visible_keys(source.sample, source.first_row + row))
          << call.words << ", sample " << sample << " row " << row;
      EXPECT_TRUE(rows.insert({source.sample, source.first_row + row}).second)
          << call.words << ": a row stands twice";
    }
  }
}

// Elements of a tensor do not overlap and lie within the allocation.
void expect_places_of_their_own(const VariantCall& call) {
  const Geometry& g = *call.geometry;
  const Problem& p = g.problem();
  std::set<std::int64_t> keys, values, queries, outputs;
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    for (std::int64_t key = 0; key < g.length_kv(sample); ++key) {
      for (std::int64_t head = 0; head < p.heads_kv; ++head) {
        EXPECT_TRUE(keys.insert(g.k_offset(sample, key, head)).second) << call.words;
        EXPECT_TRUE(values.insert(g.v_offset(sample, key, head)).second) << call.words;
      }
    }
    for (std::int64_t row = 0; row < g.length_q(sample); ++row) {
      for (std::int64_t head = 0; head < p.heads_q; ++head) {
        EXPECT_TRUE(queries.insert(g.q_offset(sample, row, head)).second) << call.words;
        EXPECT_TRUE(outputs.insert(g.out_offset(sample, row, head)).second) << call.words;
      }
    }
  }
  const auto expect_apart = [&](const std::set<std::int64_t>& offsets, std::int64_t dims,
                                const TensorShape& shape) {
    std::int64_t end = 0;
    for (const std::int64_t offset : offsets) {
      EXPECT_GE(offset, end) << call.words;
      end = offset + dims;
    }
    EXPECT_LE(end, shape.elements) << call.words;
  };
  expect_apart(keys, p.head_dim_qk, g.k);
  expect_apart(values, p.head_dim_vo, g.v);
  expect_apart(queries, p.head_dim_qk, g.q);
  expect_apart(outputs, p.head_dim_vo, g.out);
}

TEST(Variants, RowsSeeSameKeys) {
  std::set<Invariance> exercised;
  for (const char* id : problems) {
    const Geometry base(problem_of(id));
    for (const Invariance invariance : all_invariances()) {
      SCOPED_TRACE(std::string(id) + " " + std::string(name(invariance)));
      const Variants result = variants(invariance, base, "splits");
      EXPECT_EQ(result.calls.empty(), !result.missing.empty());
      for (const VariantCall& call : result.calls) {
        expect_same_question(base, call);
        expect_places_of_their_own(call);
        exercised.insert(invariance);
      }
    }
  }
  EXPECT_THAT(exercised, SizeIs(names_of<Invariance>.size()));
}

TEST(Variants, CallsMatchInvariance) {
  const Geometry padded(problem_of(problems[0])), paged(problem_of(problems[2])),
      decode(problem_of(problems[3]));
  const auto calls = [](Invariance invariance, const Geometry& base) {
    return variants(invariance, base, "splits").calls;
  };
  EXPECT_THAT(calls(Invariance::solo, padded), SizeIs(3));
  for (const VariantCall& call : calls(Invariance::solo, decode))
    EXPECT_EQ(call.geometry->problem().batch, 1);
  EXPECT_THAT(calls(Invariance::solo, decode), SizeIs(4)) << "of five";
  EXPECT_EQ(calls(Invariance::position, padded)[0].samples[0].sample, 2);
  EXPECT_TRUE(calls(Invariance::neighbour, padded)[1].samples[0].nan ||
              calls(Invariance::neighbour, padded)[1].samples[1].nan);
  EXPECT_EQ(calls(Invariance::page_size, paged)[0].geometry->problem().page_size, 32);
  for (const VariantCall& call : calls(Invariance::page_order, paged))
    EXPECT_NE(call.geometry->page_table, paged.page_table);
  EXPECT_THAT(calls(Invariance::layout, padded), SizeIs(5));
  EXPECT_GT(calls(Invariance::capacity, padded)[0].geometry->k.extent[1], padded.k.extent[1]);
  EXPECT_GT(calls(Invariance::capacity, paged)[0].geometry->page_count(), paged.page_count());
  for (const VariantCall& call : calls(Invariance::strides, paged))
    EXPECT_GT(call.geometry->k.stride[0], paged.k.stride[0]);
  EXPECT_FALSE(calls(Invariance::lse, padded)[0].geometry->problem().lse);
  EXPECT_EQ(calls(Invariance::split, padded)[2].provider_option, "splits=3");
  const auto scales = calls(Invariance::two_scales, padded);
  EXPECT_TRUE(scales[0].own_process);
  EXPECT_NE(scales[0].before->geometry->problem().softmax_scale(),
            scales[0].geometry->problem().softmax_scale());
  EXPECT_NE(calls(Invariance::run_to_run, padded)[1].before, nullptr);
}

TEST(Variants, ReportMissingFeature) {
  const auto missing = [](Invariance invariance, const char* id, const char* split_option = "") {
    return variants(invariance, Geometry(problem_of(id)), split_option).missing;
  };
  EXPECT_THAT(missing(Invariance::page_order, problems[0]), HasSubstr("no pages"));
  EXPECT_THAT(missing(Invariance::page_size, problems[0]), HasSubstr("no pages"));
  EXPECT_THAT(missing(Invariance::solo, problems[6]), HasSubstr("one sample"));
  EXPECT_THAT(missing(Invariance::split, problems[0]), HasSubstr("no provider option"));
  EXPECT_THAT(missing(Invariance::padding, problems[7]), HasSubstr("no tensor has padding"));
  EXPECT_THAT(missing(Invariance::prefill_decode, problems[3]), HasSubstr("this is a decode"));
  EXPECT_THAT(missing(Invariance::chunked_prefill, problems[1]), HasSubstr("top-left"));
  EXPECT_THAT(missing(Invariance::chunked_prefill, problems[5]), HasSubstr("window"));
  EXPECT_THAT(missing(Invariance::chunked_prefill, "bf16/b1-h2-s12x20-d16/alibi=standard"),
              HasSubstr("ALiBi"));
}

// A kernel divides an fp8 output by its scale, so another scale would give other bits.
TEST(Variants, KeepScaleOfOutput) {
  const Geometry base(
      problem_of("bf16/b3-h4x2-s70-d64/out=e4m3/mask=causal_bottom_right/lengths=random"));
  ASSERT_THAT(base.side.out_scale, SizeIs(1));
  EXPECT_EQ(own_call(base).geometry->side, base.side);
  for (const Invariance invariance : all_invariances()) {
    for (const VariantCall& call : variants(invariance, base, "splits").calls)
      EXPECT_EQ(call.geometry->side, base.side) << name(invariance) << ": " << call.words;
  }
}

TEST(Variants, HiddenKeysKeepMaskAndSideInputs) {
  for (const char* id :
       {"bf16/b2-h2-s1x90-d64/mask=custom",
        "bf16/b2-h2-s4x40-d64/mask=causal_bottom_right/window=8,0/alibi=random/sinks=normal",
        "bf16/b2-h2-s4x40-d64/kv=e4m3/mask=causal_bottom_right/window=8,0/kv_scales=token"}) {
    SCOPED_TRACE(id);
    const Geometry base(problem_of(id));
    Variants result = variants(Invariance::hidden_keys, base, "");
    ASSERT_THAT(result.calls, SizeIs(2)) << result.missing;
    result.calls.push_back(own_call(base));
    for (const VariantCall& call : result.calls) {
      EXPECT_EQ(call.geometry->side, base.side) << call.words;
      EXPECT_EQ(call.geometry->mask_bits, base.mask_bits) << call.words;
    }
  }
}

TEST(SeenKeys, EqualUnionOverRows) {
  std::vector<std::string> ids(std::begin(problems), std::end(problems));
  for (const char* mask : {"prefix_lm", "block_diagonal", "custom"})
    ids.push_back(std::string("bf16/b2-h2-s5x90-d64/mask=") + mask);
  for (const std::string& id : ids) {
    SCOPED_TRACE(id);
    const Geometry geometry(problem_of(id));
    for (std::int64_t sample = 0; sample < geometry.problem().batch; ++sample) {
      std::vector<bool> expected(static_cast<std::size_t>(geometry.length_kv(sample)));
      for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
        for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
          if (geometry.sees(sample, row, key)) expected[static_cast<std::size_t>(key)] = true;
        }
      }
      EXPECT_EQ(seen_keys(geometry, sample), expected) << "sample " << sample;
    }
  }
}

TEST(ParseInvariances, CommaListOrAll) {
  EXPECT_THAT(parse_invariances("all").value(), SizeIs(17));
  EXPECT_EQ(parse_invariances("lse,solo").value(),
            (std::vector{Invariance::lse, Invariance::solo}));
  for (const char* wrong : {"", "lse,", "LSE", "solo;lse"})
    EXPECT_FALSE(parse_invariances(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace plumbline
