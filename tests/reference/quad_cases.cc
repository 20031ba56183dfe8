// Builds the problems, one mask, layout, law or feature at a time, and their specs.
#include "tests/reference/quad_cases.h"

#include <functional>

#include "harness/problem/problem.h"

namespace plumbline {
namespace {

Problem small() {
  Problem problem;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 17;
  problem.seq_kv = 33;
  problem.head_dim_qk = 24;
  problem.head_dim_vo = 40;
  problem.page_size = 8;
  return problem;
}

Problem with(const std::function<void(Problem&)>& change) {
  Problem problem = small();
  change(problem);
  return problem;
}

void add_masks(std::vector<Problem>& problems) {
  for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
    for (const auto& [seq_q, seq_kv] : {std::pair{9, 40}, std::pair{24, 24}, std::pair{40, 9}}) {
      problems.push_back(with([&, q = seq_q, kv = seq_kv](Problem& p) {
        p.mask = mask, p.seq_q = q, p.seq_kv = kv, p.batch = 1;
      }));
    }
  }
  problems.push_back(with([](Problem& p) { p.window_left = 5, p.window_right = 3; }));
  problems.push_back(with([](Problem& p) { p.window_left = 0, p.window_right = 0, p.seq_q = 33; }));
  problems.push_back(with(
      [](Problem& p) { p.mask = Mask::causal_bottom_right, p.window_left = 6, p.seq_q = 50; }));
}

void add_layouts(std::vector<Problem>& problems) {
  for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                              Layout::paged_nhd, Layout::paged_hnd}) {
    problems.push_back(with([&](Problem& p) {
      p.layout = layout, p.lengths = Lengths::with_zero, p.batch = 3,
      p.mask = Mask::causal_bottom_right, p.dtype = DType::f16;
    }));
  }
  problems.push_back(with([](Problem& p) {
    p.padding = Padding::left, p.lengths = Lengths::random, p.fill = Fill::nan;
  }));
  problems.push_back(with([](Problem& p) {
    p.layout = Layout::paged_nhd, p.lengths = Lengths::random, p.seq_q = 1, p.fill = Fill::nan;
  }));
}

void add_laws(std::vector<Problem>& problems) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Law law : all<Law>()) {
      if (law == Law::normal) continue;
      problems.push_back(with([&](Problem& p) {
        p.dtype = dtype, p.law = law, p.batch = 1, p.seq_q = 6, p.seq_kv = 70;
      }));
    }
    for (const VLaw v_law : {VLaw::uniform, VLaw::large_mean, VLaw::constant, VLaw::grid,
                             VLaw::band, VLaw::tiny_output}) {
      problems.push_back(with([&](Problem& p) {
        p.dtype = dtype, p.v_law = v_law, p.batch = 1, p.seq_q = 6, p.seq_kv = 70;
      }));
    }
    problems.push_back(
        with([&](Problem& p) { p.dtype = dtype, p.k_scale = 0, p.out_dtype = DType::f32; }));
    problems.push_back(with([&](Problem& p) {
      p.dtype = dtype, p.v_scale = 0x1p-13, p.seq_kv = 1, p.head_dim_vo = 8;
    }));
  }
}

void use_all_features(Problem& p) {
  p.softcap = 2, p.alibi = Alibi::standard, p.sinks = Sinks::normal, p.kv_dtype = DType::e4m3,
  p.kv_scales = KvScales::batch_head;
  p.mask = Mask::custom;
}

// fp8 Q with fp8 K and V, and scales of tokens and of blocks, the last of which is not full.
void add_fp8_queries(std::vector<Problem>& problems) {
  const std::vector<std::function<void(Problem&)>> features{
      [](Problem& p) { p.dtype = DType::e4m3; },
      [](Problem& p) {
        p.dtype = DType::e5m2, p.kv_scales = KvScales::head, p.out_dtype = DType::f16;
      },
      [](Problem& p) {
        p.dtype = DType::e4m3, p.kv_dtype = DType::e5m2, p.kv_scales = KvScales::batch_head,
        p.out_dtype = DType::f32, p.mask = Mask::causal_bottom_right;
      },
      [](Problem& p) {
        p.dtype = DType::e4m3, p.kv_scales = KvScales::token, p.law = Law::near_uniform,
        p.lengths = Lengths::random, p.layout = Layout::ragged;
      },
      [](Problem& p) {
        p.dtype = DType::e4m3, p.kv_scales = KvScales::block, p.scale_block = 16,
        p.law = Law::near_ties, p.v_law = VLaw::constant, p.seq_kv = 70;
      },
      [](Problem& p) {
        p.dtype = DType::e4m3, p.kv_scales = KvScales::block, p.scale_block = 5,
        p.layout = Layout::paged_nhd, p.lengths = Lengths::with_zero, p.batch = 3,
        p.sinks = Sinks::normal, p.softcap = 3, p.out_dtype = DType::f32;
      },
      [](Problem& p) { p.kv_dtype = DType::e4m3, p.kv_scales = KvScales::token; },
      [](Problem& p) { p.dtype = p.out_dtype = DType::e4m3; },
      [](Problem& p) { p.out_dtype = DType::e5m2, p.law = Law::llm; },
      [](Problem& p) {
        p.dtype = DType::f16, p.kv_dtype = DType::e5m2, p.kv_scales = KvScales::block,
        p.scale_block = 12, p.law = Law::near_uniform, p.v_law = VLaw::band;
      },
  };
  for (const auto& feature : features) problems.push_back(with(feature));
}

void add_features(std::vector<Problem>& problems) {
  const std::vector<std::function<void(Problem&)>> features{
      [](Problem& p) { p.softcap = 1.5; },
      [](Problem& p) { p.softcap = 30, p.law = Law::peaky, p.dtype = DType::f16; },
      [](Problem& p) { p.alibi = Alibi::standard, p.heads_q = 6; },
      [](Problem& p) {
        p.alibi = Alibi::random, p.mask = Mask::causal_bottom_right, p.dtype = DType::f32;
      },
      [](Problem& p) { p.sinks = Sinks::normal; },
      [](Problem& p) {
        p.sinks = Sinks::large, p.mask = Mask::causal_bottom_right, p.seq_q = 40,
        p.dtype = DType::f16;
      },
      [](Problem& p) { p.sinks = Sinks::large, p.law = Law::exact, p.heads_q = 8; },
      [](Problem& p) { p.sinks = Sinks::normal, p.k_scale = 0; },
      [](Problem& p) { p.kv_dtype = DType::e4m3; },
      [](Problem& p) {
        p.kv_dtype = DType::e5m2, p.kv_scales = KvScales::head, p.dtype = DType::f16,
        p.layout = Layout::paged_hnd;
      },
      [](Problem& p) {
        p.kv_dtype = DType::e4m3, p.kv_scales = KvScales::batch_head, p.out_dtype = DType::f32;
      },
      [](Problem& p) { p.mask = Mask::prefix_lm, p.lengths = Lengths::random; },
      [](Problem& p) {
        p.mask = Mask::block_diagonal, p.layout = Layout::ragged, p.lengths = Lengths::random;
      },
      [](Problem& p) { p.mask = Mask::custom, p.seq_kv = 70; },
      [](Problem& p) {
        p.mask = Mask::custom, p.lengths = Lengths::with_zero, p.batch = 3, p.law = Law::sink,
        p.dtype = DType::f16;
      },
      [](Problem& p) { p.view = View::strided; },
      [](Problem& p) {
        p.view = View::packed_qkv, p.seq_q = p.seq_kv = 33, p.head_dim_vo = p.head_dim_qk;
      },
      [](Problem& p) {
        p.view = View::packed_kv, p.head_dim_vo = p.head_dim_qk, p.layout = Layout::ragged,
        p.lengths = Lengths::random;
      },
      [](Problem& p) { p.view = View::v_in_k, p.head_dim_vo = 16; },
      [](Problem& p) { p.softcap = 5, p.law = Law::negative_logits, p.v_law = VLaw::constant; },
      [](Problem& p) {
        p.softcap = 5, p.law = Law::extreme, p.v_law = VLaw::tiny_output, p.dtype = DType::f32;
      },
      [](Problem& p) { p.alibi = Alibi::standard, p.law = Law::exact, p.dtype = DType::f16; },
      [](Problem& p) { p.sinks = Sinks::large, p.law = Law::near_ties, p.mask = Mask::prefix_lm; },
      [](Problem& p) {
        p.kv_dtype = DType::e4m3, p.law = Law::ramp, p.mask = Mask::block_diagonal, p.heads_q = 6;
      },
      use_all_features,
      [](Problem& p) {
        use_all_features(p), p.dtype = DType::f16, p.sinks = Sinks::large, p.alibi = Alibi::random,
                             p.seq_q = 40;
      },
      [](Problem& p) {
        use_all_features(p), p.law = Law::llm, p.v_law = VLaw::large_mean, p.out_dtype = DType::f32;
      },
      [](Problem& p) {
        use_all_features(p), p.law = Law::near_uniform, p.kv_dtype = DType::e5m2,
                             p.mask = Mask::prefix_lm;
      },
  };
  for (const auto& feature : features) problems.push_back(with(feature));
}

Problem merge(const std::function<void(Problem&)>& change = [](Problem&) {}) {
  return with([&](Problem& p) {
    p.merge = Merge::natural, p.batch = 21, p.heads_q = p.heads_kv = 2;
    p.seq_q = 1, p.seq_kv = 5, p.head_dim_qk = 1;
    change(p);
  });
}

void add_merges(std::vector<Problem>& problems) {
  for (const Law law : all<Law>()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      problems.push_back(merge([&](Problem& p) {
        p.law = law, p.dtype = dtype, p.seq_kv = dtype == DType::f16 ? 2 : 7;
        if (dtype == DType::bf16) p.merge = Merge::base_2;
        if (dtype == DType::f32) p.out_dtype = DType::bf16;
      }));
    }
  }
  for (const VLaw v_law : {VLaw::large_mean, VLaw::constant, VLaw::grid, VLaw::tiny_output})
    problems.push_back(merge([&](Problem& p) { p.v_law = v_law, p.out_dtype = DType::f32; }));
  for (const Fill fill : {Fill::garbage, Fill::nan}) {
    problems.push_back(merge([&](Problem& p) {
      p.mask = Mask::custom, p.fill = fill, p.batch = 40, p.dtype = DType::f16;
    }));
  }
  problems.push_back(merge([](Problem& p) {
    p.layout = Layout::ragged, p.lengths = Lengths::random, p.merge = Merge::base_2, p.seq_kv = 12,
    p.mask = Mask::custom, p.dtype = DType::f32;
  }));
  problems.push_back(merge([](Problem& p) {
    p.layout = Layout::padded_bhsd, p.view = View::strided, p.k_scale = 0, p.fill = Fill::nan;
  }));
  // in some columns both parts are 0
  problems.push_back(merge(
      [](Problem& p) { p.v_law = VLaw::grid, p.dtype = DType::f32, p.seq_kv = 2, p.batch = 64; }));
  problems.push_back(merge([](Problem& p) { p.seq_kv = 500, p.batch = 1; }));
}

}  // namespace

std::vector<Problem> quad_problems() {
  std::vector<Problem> problems;
  add_masks(problems);
  add_layouts(problems);
  add_laws(problems);
  add_features(problems);
  add_fp8_queries(problems);
  add_merges(problems);
  return problems;
}

std::vector<NamedSpec> quad_specs(const Problem& problem) {
  const RoundingSpec strict = strict_spec(problem);
  std::vector<NamedSpec> specs{{"strict", strict}};
  const auto add = [&](std::string name, const std::function<void(RoundingSpec&)>& change) {
    specs.push_back({std::move(name), strict});
    change(specs.back().spec);
  };
  add("denominator", [](RoundingSpec& s) { s.denominator_from_rounded_p = true; });
  add("s_fp16", [](RoundingSpec& s) { s.s_rounded = DType::f16; });
  add("s_bf16_split_bf16",
      [](RoundingSpec& s) { s.s_rounded = DType::bf16, s.split_partial_dtype = DType::bf16; });
  add("split_fp16", [](RoundingSpec& s) { s.split_partial_dtype = DType::f16; });
  add("exp2", [](RoundingSpec& s) { s.exp2_rel_error = 9e-5; });
  add("q_prescaled", [](RoundingSpec& s) { s.q_prescaled = DType::f16; });
  add("p_fp32_nearest", [](RoundingSpec& s) {
    s.p_dtype = DType::f32, s.qk_accumulator = s.pv_accumulator = fma_accumulator;
  });
  add("p_e4m3", [](RoundingSpec& s) { s.p_dtype = DType::e4m3, s.p_prescale = 256; });
  add("p_e4m3_denominator_short", [](RoundingSpec& s) {
    s.p_dtype = DType::e4m3, s.denominator_from_rounded_p = true;
    s.qk_accumulator = s.pv_accumulator = {DType::f32, true, 13, 32};
  });
  add("accumulate_fp16", [](RoundingSpec& s) {
    s.qk_accumulator = s.pv_accumulator = {DType::f16, true, 24, 8};
  });
  add("p_fp16_truncating", [](RoundingSpec& s) {
    s.p_dtype = DType::f16;
    s.qk_accumulator = s.pv_accumulator = {DType::f32, true, 25, 16};
  });
  add("tf32", [](RoundingSpec& s) {
    s.kv_dequantized_to = s.p_dtype = DType::tf32;
    s.qk_accumulator = s.pv_accumulator = {DType::f32, true, 24, 4};
  });
  add("p_normalized", [](RoundingSpec& s) { s.p_normalized = true; });
  add("p_normalized_s_bf16", [](RoundingSpec& s) {
    s.p_normalized = s.s_rounded_twice = true, s.s_rounded = DType::bf16;
  });
  add("p_normalized_e4m3_truncated", [](RoundingSpec& s) {
    s.p_normalized = s.p_toward_zero = true, s.p_dtype = DType::e4m3, s.p_prescale = 256;
  });
  add("p_max_one", [](RoundingSpec& s) { s.p_max = MaximumOfP::one; });
  add("p_max_one_denominator",
      [](RoundingSpec& s) { s.p_max = MaximumOfP::one, s.denominator_from_rounded_p = true; });
  add("p_max_ceil2", [](RoundingSpec& s) { s.p_max = MaximumOfP::ceil2; });
  add("p_max_bf16_fp16",
      [](RoundingSpec& s) { s.p_max = MaximumOfP::bf16, s.p_dtype = DType::f16; });
  add("p_max_free", [](RoundingSpec& s) { s.p_max = MaximumOfP::free; });
  add("p_truncated", [](RoundingSpec& s) { s.p_toward_zero = true; });
  add("p_truncated_denominator",
      [](RoundingSpec& s) { s.p_toward_zero = s.denominator_from_rounded_p = true; });
  add("q_prescaled_without_log2e",
      [](RoundingSpec& s) { s.q_prescaled = DType::bf16, s.q_prescaled_without_log2e = true; });
  add("q_prescaled_fp16", [](RoundingSpec& s) { s.q_prescaled = DType::f16; });
  add("s_before_bias",
      [](RoundingSpec& s) { s.s_rounded = DType::bf16, s.s_rounded_before_bias = true; });
  add("s_before_softcap",
      [](RoundingSpec& s) { s.s_rounded = DType::f16, s.s_rounded_before_softcap = true; });
  add("s_before_softcap_p_normalized", [](RoundingSpec& s) {
    s.s_rounded = DType::bf16, s.s_rounded_before_softcap = s.p_normalized = true;
  });
  add("tf32_truncated", [](RoundingSpec& s) {
    s.kv_dequantized_to = s.p_dtype = DType::tf32, s.inputs_toward_zero = s.p_toward_zero = true;
  });
  add("stochastic",
      [](RoundingSpec& s) { s.p_stochastic = s.out_stochastic = true, s.p_dtype = DType::bf16; });
  add("three_products", [](RoundingSpec& s) { s.product_rel_error = 0x1p-16; });
  add("skipped", [](RoundingSpec& s) { s.skipped_below = 0.01; });
  add("lse_without_row_bias", [](RoundingSpec& s) { s.lse_without_row_bias = true; });
  add("ring_update", [](RoundingSpec& s) { s.ring_update = true; });
  add("13_bits_p_fp32", [](RoundingSpec& s) {
    s.p_dtype = DType::f32;
    s.qk_accumulator = s.pv_accumulator = {DType::f32, true, 13, 16};
  });
  add("o_between_tiles", [](RoundingSpec& s) { s.o_between_tiles = DType::f16; });
  add("reciprocal", [](RoundingSpec& s) { s.reciprocal_rel_error = 3e-4; });
  add("out_truncated", [](RoundingSpec& s) { s.out_toward_zero = true; });
  add("lse_bf16", [](RoundingSpec& s) { s.lse_dtype = DType::bf16; });
  add("lse_fp16_base_2", [](RoundingSpec& s) { s.lse_dtype = DType::f16, s.lse_base = 2; });
  if (problem.softcap > 0) {
    add("tanh", [](RoundingSpec& s) { s.tanh_rel_error = 0x1p-11; });
    add("tanh_s_exp2", [](RoundingSpec& s) {
      s.tanh_rel_error = 1e-3, s.s_rounded = DType::bf16, s.exp2_rel_error = 1e-4;
    });
  }
  if (problem.sinks != Sinks::none) {
    add("lse_without_sink", [](RoundingSpec& s) { s.lse_includes_sink = false; });
    add("lse_without_sink_all", [](RoundingSpec& s) {
      s.lse_includes_sink = false, s.denominator_from_rounded_p = true, s.s_rounded = DType::f16,
      s.exp2_rel_error = 9e-5;
      s.tanh_rel_error = 1e-4, s.p_dtype = DType::e4m3;
    });
  }
  if (problem.has_fp8_kv()) {
    add("dequantized_to_bf16", [](RoundingSpec& s) { s.kv_dequantized_to = DType::bf16; });
    add("dequantized_to_fp16", [](RoundingSpec& s) { s.kv_dequantized_to = DType::f16; });
  }
  return specs;
}

std::vector<QuadPair> quad_pairs() {
  std::vector<QuadPair> pairs;
  const auto add = [&](std::string name, const Problem& problem,
                       const std::function<void(RoundingSpec&)>& change) {
    pairs.push_back({std::move(name), problem, strict_spec(problem)});
    change(pairs.back().spec);
  };
  add("lse_16_bits_without_row_bias",
      with([](Problem& p) { p.alibi = Alibi::random, p.mask = Mask::causal_bottom_right; }),
      [](RoundingSpec& s) { s.lse_without_row_bias = true, s.lse_dtype = DType::bf16; });
  add("lse_with_row_bias_beside_window", with([](Problem& p) {
        p.alibi = Alibi::random, p.mask = Mask::causal_bottom_right, p.window_left = 12;
      }),
      [](RoundingSpec& s) { s.lse_without_row_bias = true; });
  // bf16 does not hold 257, so P of 1 has an error.
  add("p_max_one_inexact_prescale", small(),
      [](RoundingSpec& s) { s.p_max = MaximumOfP::one, s.p_prescale = 257; });
  // V is so small that the smallest number of the accumulator matters.
  add("fp16_sums_of_prescaled_p",
      with([](Problem& p) { p.dtype = DType::f16, p.out_dtype = DType::f32, p.v_scale = 0x1p-13; }),
      [](RoundingSpec& s) {
        s.p_prescale = 256, s.pv_accumulator = {DType::f16, true, 24, 8};
      });
  add("fp16_sums_of_fp8_output", with([](Problem& p) {
        p.dtype = DType::f16, p.out_dtype = DType::e4m3, p.v_scale = 0x1p-13;
      }),
      [](RoundingSpec& s) {
        s.pv_accumulator = {DType::f16, true, 24, 8};
      });
  // P is so small that the smallest number of the accumulator matters.
  add("fp16_sums_of_scaled_v", with([](Problem& p) {
        p.dtype = p.out_dtype = DType::f16, p.kv_dtype = DType::e4m3, p.kv_scales = KvScales::head;
      }),
      [](RoundingSpec& s) {
        s.p_dtype = DType::f32, s.p_prescale = 0x1p-13;
        s.pv_accumulator = {DType::f16, true, 24, 8};
      });
  add("p_normalized_denominator", small(),
      [](RoundingSpec& s) { s.p_normalized = s.denominator_from_rounded_p = true; });
  add("p_normalized_stochastic", small(), [](RoundingSpec& s) {
    s.p_dtype = DType::e4m3, s.p_prescale = 256;
    s.p_normalized = s.p_stochastic = s.denominator_from_rounded_p = true;
  });
  add("p_stochastic_near_zero", with([](Problem& p) { p.law = Law::llm; }), [](RoundingSpec& s) {
    s.p_dtype = DType::e4m3, s.p_stochastic = s.denominator_from_rounded_p = true;
  });
  // All P are equal. A kernel may start at the sink.
  add("p_stochastic_from_sink",
      with([](Problem& p) { p.sinks = Sinks::large, p.k_scale = 0, p.seq_kv = 70; }),
      [](RoundingSpec& s) { s.p_stochastic = true; });
  add("p_stochastic_free", with([](Problem& p) { p.k_scale = 0; }),
      [](RoundingSpec& s) { s.p_stochastic = true, s.p_max = MaximumOfP::free; });
  add("p_stochastic_normalized_alike", with([](Problem& p) { p.k_scale = 0; }),
      [](RoundingSpec& s) { s.p_stochastic = s.p_normalized = true; });
  // All keys are at least 31 positions away, and the largest slope is 1/4.
  add("tanh_below_alibi", with([](Problem& p) {
        p.softcap = 1, p.alibi = Alibi::standard, p.mask = Mask::causal_top_left;
        p.batch = 1, p.seq_q = 9, p.seq_kv = 40;
      }),
      [](RoundingSpec& s) { s.tanh_rel_error = 0x1p-11; });
  // Half of the weights are 0, the others equal.
  add("exact_constant_v", with([](Problem& p) {
        p.dtype = DType::f32, p.law = Law::exact, p.v_law = VLaw::constant;
        p.batch = 1, p.seq_q = 6, p.seq_kv = 64;
      }),
      [](RoundingSpec&) {});
  // The slope is 2^-8. Of all maxima, the running one over tiles of 160 keys gives the largest sum
  // of errors, 2 % more than smaller tiles do.
  add("flat_alibi_in_large_tiles", with([](Problem& p) {
        p.alibi = Alibi::standard, p.k_scale = 0;
        p.batch = p.heads_q = p.heads_kv = p.seq_q = 1, p.seq_kv = 324;
      }),
      [](RoundingSpec& s) {
        s.p_dtype = DType::e4m3, s.p_prescale = 256;
        s.p_toward_zero = s.denominator_from_rounded_p = true;
      });
  return pairs;
}

}  // namespace plumbline
