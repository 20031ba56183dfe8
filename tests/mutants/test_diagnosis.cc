// Tests the diagnosis of mutants and legal variants: the location, the cause and the looser rung.
#include <gmock/gmock.h>

#include <cstring>

#include "harness/diagnose/causes.h"
#include "harness/diagnose/locate.h"
#include "harness/diagnose/looser_rung.h"
#include "tests/mutants/answers.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Library& mutants_library() {
  static const Library library(PLUMBLINE_MUTANTS_LIBRARY);
  return library;
}

struct Diagnosis {
  bool fails = false;
  Location location;
  std::string cause;  // the first sentence
  std::string looser_rung;
};

// The output and LSE of an answer, in the layout of the problem.
struct Stored {
  Stored(const Geometry& geometry, const Answer& answer)
      : out(geometry.out.bytes()), lse(geometry.lse.bytes()) {
    const Problem& problem = geometry.problem();
    const RowIndex index(geometry);
    const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
    std::vector<float> row(columns);
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      for (std::int64_t h = 0; h < problem.heads_q; ++h) {
        for (std::int64_t i = 0; i < geometry.length_q(b); ++i) {
          const std::size_t at = index.row(b, h, i);
          for (std::size_t j = 0; j < columns; ++j)
            row[j] = static_cast<float>(answer.out[at * columns + j]);
          encode(problem.out(), row,
                 out.data() + static_cast<std::size_t>(geometry.out_offset(b, i, h)) *
                                  size_in_bytes(problem.out()));
          if (answer.lse.empty()) continue;
          const auto of_row = static_cast<float>(answer.lse[at]);
          std::memcpy(lse.data() + static_cast<std::size_t>(geometry.lse_offset(b, i, h)) * 4,
                      &of_row, 4);
        }
      }
    }
  }
  std::vector<std::byte> out, lse;
};

// Calls the kernel with the problem `asked`, and diagnoses its output as an answer to `problem`. If
// `asked` lacks a feature of `problem`, the kernel seems to omit the feature. The strict spec
// judges, as in a run without a contract.
Diagnosis diagnose(const std::string& kernel, const Problem& problem, const Problem& asked) {
  const Filled filled(problem);
  const Geometry& geometry = filled.geometry;
  const Geometry unmodified(asked);
  Inputs given = filled.inputs;
  given.side = unmodified.side;
  const Answer answer = call(kernel, unmodified, given, {.library = &mutants_library()});
  EXPECT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
  const Stored stored(geometry, answer);
  const InputView inputs{filled.inputs.q.data(), filled.inputs.k.data(), filled.inputs.v.data()};
  const OutputView outputs{stored.out.data(), answer.lse.empty() ? nullptr : stored.lse.data(), 0};
  const RoundingSpec spec = strict_spec(problem);
  const Reference reference =
      compute_reference(geometry, inputs, spec, select_rows(geometry, 1e12));
  const Comparison comparison = compare(geometry, outputs, reference);
  const Limits limits = default_limits(spec, problem, comparison.statistics.elements);
  const Faults faults;
  Diagnosis diagnosis;
  diagnosis.fails = !within_limits(comparison.statistics, limits);
  diagnosis.location = locate({&geometry, inputs, &spec, &reference, &comparison, limits});
  const FailingOutput failing{&geometry, inputs,     outputs,
                              &spec,     &reference, &comparison,
                              limits,    &faults,    &diagnosis.location};
  // A run calls first_cause(), whose time limit would make the cause depend on the machine's speed.
  // causes() has no time limit.
  if (const auto sentences = causes(failing); diagnosis.fails && !sentences.empty())
    diagnosis.cause = sentences.front();
  if (const auto rung = looser_rung(failing); diagnosis.fails && rung)
    diagnosis.looser_rung = rung->name;
  return diagnosis;
}

Diagnosis diagnose(const std::string& kernel, const Problem& problem) {
  return diagnose(kernel, problem, problem);
}

Problem prefill(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.seq_q = 33;
  problem.seq_kv = 130;
  return problem;
}

Problem peaky(DType dtype) {
  Problem problem = prefill(dtype);
  problem.law = Law::peaky;
  problem.v_law = VLaw::uniform;
  return problem;
}

Problem with_scale(DType dtype) {
  Problem problem = prefill(dtype);
  problem.scale = 0.15;
  return problem;
}

Problem paged(DType dtype) {
  Problem problem = prefill(dtype);
  problem.batch = 3;
  problem.heads_q = 4;
  problem.seq_q = 5;
  problem.seq_kv = 90;
  problem.layout = Layout::paged_hnd;
  problem.lengths = Lengths::random;
  problem.page_size = 8;
  return problem;
}

Problem capped(DType dtype) {
  Problem problem = prefill(dtype);
  problem.law = Law::peaky;
  problem.softcap = 3;
  problem.alibi = Alibi::random;
  return problem;
}

// The output is fp32, so most of sigma comes from the rounding of P.
Problem unrounded(DType dtype, Law law, VLaw v_law) {
  Problem problem = prefill(dtype);
  problem.out_dtype = DType::f32;
  problem.law = law;
  problem.v_law = v_law;
  return problem;
}

struct Named {
  const char* mutant;
  Problem problem;
  const char* sentence;
};

TEST(Diagnosis, NamesRoundingOrReadOfMutant) {
  const Named expected[] = {
      {"precision_scores_rounded", prefill(DType::bf16),
       "S is rounded to bf16 after the softmax scale and log2(e)"},
      {"precision_scores_rounded", prefill(DType::f16),
       "S is rounded to fp16 after the softmax scale and log2(e)"},
      {"precision_raw_scores_rounded", with_scale(DType::bf16),
       "S is rounded to bf16 before the softmax scale"},
      {"precision_raw_scores_rounded", with_scale(DType::f16),
       "S is rounded to fp16 before the softmax scale"},
      {"precision_p_rounded_twice", unrounded(DType::bf16, Law::normal, VLaw::large_mean),
       "P is rounded to bf16 twice"},
      {"precision_p_rounded_twice", unrounded(DType::bf16, Law::uniform, VLaw::normal),
       "P is rounded to bf16 twice"},
      {"precision_output_accumulates_in_fp16", prefill(DType::f16), "P V is accumulated in fp16"},
      {"precision_output_accumulates_in_fp16", prefill(DType::f32), "P V is accumulated in fp16"},
      {"index_v_of_next_key", prefill(DType::bf16), "multiplied by V of the next key"},
      {"head_v_of_first", prefill(DType::bf16), "every query head reads V of key head 0"},
      {"index_v_pages_swapped", paged(DType::bf16),
       "a wrong page is read: V of pages that are exchanged in pairs"},
      {"index_page_row_stride", paged(DType::bf16),
       "a wrong page is read: K and V of the page of a page table whose rows are only as long"},
      {"index_one_page_wrong", paged(DType::bf16),
       "a wrong page is read: K and V of page 1 of sample 0 from page 0 of sample 0"},
      {"softcap_after_alibi", capped(DType::f16),
       "the softcap is in the wrong place: ALiBi's bias is added before it"},
      {"softcap_without_division", capped(DType::bf16),
       "the softcap is in the wrong place: logits are not divided by the cap"},
      {"softcap_before_scale", capped(DType::bf16),
       "softcap were applied before the softmax scale"},
  };
  for (const auto& [mutant, problem, sentence] : expected) {
    const Diagnosis diagnosis = diagnose(mutant, problem);
    EXPECT_TRUE(diagnosis.fails) << mutant << " " << problem_id(problem);
    EXPECT_THAT(diagnosis.cause, HasSubstr(sentence))
        << mutant << " " << problem_id(problem) << "\n"
        << diagnosis.location.description;
  }
}

// The first cause of other bugs must be none of the sentences below, which name roundings, wrong
// pages, V of a neighbouring key, or a misplaced softcap.
TEST(Diagnosis, OtherBugsAreNotMisnamed) {
  const Problem plain = prefill(DType::bf16), in_fp16 = prefill(DType::f16);
  const std::pair<const char*, Problem> others[] = {
      {"mask_drops_last_key", plain},
      {"softmax_sum_misses_last_tile", plain},
      {"precision_scale_one_percent", plain},
      {"head_modulo", plain},
      {"precision_output_truncated", peaky(DType::bf16)},
      {"softmax_log2e_missing", in_fp16},
      {"softcap_ignored", capped(DType::bf16)}};
  for (const auto& [mutant, problem] : others) {
    const Diagnosis diagnosis = diagnose(mutant, problem);
    EXPECT_TRUE(diagnosis.fails) << mutant;
    for (const char* sentence : {"S is rounded", "P is rounded", "P V is accumulated",
                                 "Q K^T is accumulated", "a wrong page", "V of the next key",
                                 "V of the previous key", "in the wrong place", "O is rounded"})
      EXPECT_THAT(diagnosis.cause, Not(HasSubstr(sentence))) << mutant;
    // Truncation shifts the output by half an ulp on average. A rounding model that rounds S may
    // also permit such an error, so looser_rung() may name that model.
    if (mutant != std::string_view("precision_output_truncated")) {
      EXPECT_EQ(diagnosis.looser_rung, "") << mutant;
    }
  }
}

TEST(Diagnosis, RoundingHasNoLocation) {
  for (const char* mutant : {"precision_scores_rounded", "precision_raw_scores_rounded",
                             "precision_scores_accumulate_in_16_bits", "precision_p_e4m3"}) {
    const Diagnosis diagnosis = diagnose(mutant, prefill(DType::bf16));
    EXPECT_THAT(diagnosis.location.description, StartsWith("no location: ")) << mutant;
  }
  const Diagnosis of_lse = diagnose("epilogue_lse_base_two", prefill(DType::bf16));
  EXPECT_EQ(of_lse.location.description, "no location: only the LSE is beyond its limit");
}

TEST(Diagnosis, LegalKernelsPass) {
  for (const char* kernel : {"legal_baseline", "legal_tile_16", "legal_reversed",
                             "legal_seven_splits", "legal_tensor_core_sm_90"}) {
    for (const Law law : {Law::normal, Law::peaky, Law::needle, Law::near_ties}) {
      Problem problem = prefill(DType::bf16);
      problem.law = law;
      const Diagnosis diagnosis = diagnose(kernel, problem);
      EXPECT_FALSE(diagnosis.fails) << kernel << " " << name(law);
      EXPECT_EQ(diagnosis.location.kind, LocationKind::none)
          << kernel << " " << name(law) << " " << diagnosis.location.description;
    }
  }
}

TEST(Diagnosis, NamesOmittedFeature) {
  Problem with_alibi = prefill(DType::bf16), with_sinks = with_alibi;
  with_alibi.alibi = Alibi::standard;
  with_sinks.sinks = Sinks::large;
  EXPECT_EQ(diagnose("legal_baseline", with_alibi, prefill(DType::bf16)).cause,
            "would be explained if ALiBi were not applied");
  EXPECT_EQ(diagnose("legal_baseline", with_sinks, prefill(DType::bf16)).cause,
            "would be explained if the attention sinks were left out");
}

TEST(Diagnosis, NamesLooserRung) {
  EXPECT_EQ(diagnose("precision_scores_rounded", peaky(DType::bf16)).looser_rung, "PyTorch math");
  EXPECT_EQ(diagnose("precision_sum_of_rounded_p", prefill(DType::bf16)).looser_rung,
            "FlashInfer prefill");
}

}  // namespace
}  // namespace plumbline::testing
