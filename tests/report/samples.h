// Sample outcomes of each kind, as the judge would store them.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/report/report.h"
#include "harness/store/stored.h"

namespace plumbline {

inline StoredOutcome passing_outcome() {
  StoredOutcome stored;
  Outcome& outcome = stored.outcome;
  outcome.suite = "smoke";
  outcome.group = "causal";
  outcome.tier = "smoke";
  outcome.c.kernel = "cpu/flash";
  outcome.c.problem.heads_q = outcome.c.problem.heads_kv = 4;
  outcome.c.problem.seq_q = outcome.c.problem.seq_kv = 128;
  outcome.c.problem.mask = Mask::causal_top_left;
  outcome.case_id = "cpu/flash/bf16/b1-h4-s128-d64/mask=causal_top_left";
  outcome.status = Status::ok;
  outcome.description.launched = "flash<64, 64>";
  outcome.description.build_id = "0123abcd";
  outcome.errors.elements = 32768;
  outcome.errors.peak = 4.03;
  outcome.errors.beyond_output = 2.5;
  outcome.errors.rms = 0.9712;
  outcome.errors.max_abs = 0.00390625;
  outcome.errors.mean_abs = 0.000412;
  outcome.errors.max_ulp = 0.71;
  outcome.errors.has_lse = true;
  outcome.errors.lse_z = 1.2;
  outcome.reference_rows = outcome.rows_total = 512;
  outcome.wall_ms = 12.5;
  stored.judgement.verdict = Verdict::pass;
  stored.judgement.percent_of_limit = 62;
  stored.judgement.nearest_statistic = "peak";
  return stored;
}

inline StoredOutcome failing_outcome() {
  StoredOutcome stored = passing_outcome();
  Outcome& outcome = stored.outcome;
  outcome.c.kernel = "mutants/bf16_accumulator";
  outcome.case_id = "mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left";
  outcome.errors.peak = 9.3;
  outcome.worst_statistic = "peak";
  WorstElement worst;
  worst.element = {0, 3, 17, 5};
  worst.got = 0.515625;
  worst.expected = 0.5;
  worst.sigma = 0.00168;
  worst.ulp = 0.00390625;
  worst.share[static_cast<std::size_t>(Rounding::p)] = 0.25;
  worst.share[static_cast<std::size_t>(Rounding::logit)] = 0.005;
  worst.share[static_cast<std::size_t>(Rounding::output)] = 0.745;
  worst.visible_keys = 18;
  outcome.worst = worst;
  outcome.location = {LocationKind::head, "head: head 3 carries 81 % of the excess", 12};
  outcome.cause = "the sums are kept in bf16";
  outcome.looser_rung = "PyTorch math: S to bf16 and P to bf16 after normalisation";
  outcome.widening = 1.5;
  outcome.saved_to = "failures/0001.safetensors";
  outcome.wall_ms = 7.5;
  stored.judgement.verdict = Verdict::fail;
  stored.judgement.percent_of_limit = 143.1;
  stored.judgement.findings = {{FindingKind::peak, 9.3, 6.5, "peak is 9.3, its limit 6.5"}};
  stored.judgement.notes = {"sigma is 1.5 times that of the strict spec (p_dtype=bf16)"};
  return stored;
}

inline StoredOutcome expected_outcome() {
  StoredOutcome stored = failing_outcome();
  stored.outcome.expected =
      ExpectedFailure{"https://example.com/7", "2027-01-31", "rounds | twice", "", 0};
  stored.judgement.verdict = Verdict::expected_failure;
  return stored;
}

inline StoredOutcome unsupported_outcome() {
  StoredOutcome stored;
  Outcome& outcome = stored.outcome;
  outcome.suite = "stories";
  outcome.group = "S5";
  outcome.c.kernel = "cpu/flash";
  outcome.c.problem.dtype = DType::f32;
  outcome.case_id = "cpu/flash/fp32/b1-h1-s1-d64";
  outcome.status = Status::unsupported;
  outcome.reason = "only fp16 and bf16 are supported";
  outcome.wall_ms = 0.25;
  stored.judgement.verdict = Verdict::unsupported;
  stored.judgement.notes = {"unsupported: only fp16 and bf16 are supported"};
  return stored;
}

inline StoredOutcome crashed_outcome() {
  StoredOutcome stored = unsupported_outcome();
  stored.outcome.status = Status::crashed;
  stored.outcome.reason = "signal 11 (segmentation fault)";
  stored.judgement = {};
  stored.judgement.verdict = Verdict::crashed;
  stored.judgement.findings = {{FindingKind::status, 0, 0, "signal 11 (segmentation fault)"}};
  return stored;
}

// The diff of story S4: paged decode with and without tensor cores.
inline StoredDiff explained_diff() {
  StoredDiff stored;
  DiffOutcome& diff = stored.outcome;
  diff.suite = "stories";
  diff.name = "S4";
  diff.expect = "rounding";
  diff.case_a = "cpu/split_kv/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd";
  diff.case_b = "cpu/flash/fp16/b57-h32x8-s1x8192-d128/layout=paged_nhd";
  diff.status = Status::ok;
  diff.rows = 1824;
  diff.elements = 233472;
  diff.max_abs = 6.104e-05;
  diff.mean_abs = 4.1e-06;
  diff.max_rel = 1.579;
  diff.mean_rel = 0.0022;
  diff.max_sigma = 4.25;
  diff.max_ulp = 2;
  diff.max_rel_expected = 1.9e-07;
  diff.rms_output = 0.0181;
  diff.max_abs_element = {3, 7, 0, 90};
  diff.bit_equal_share = 0.71;
  diff.heads = 1824;
  diff.heads_bit_equal = 2;
  diff.rms_a = 4e-06;
  diff.rms_b = 2e-06;
  diff.time_ns_a = 1.276e6;
  diff.time_ns_b = 1.595e6;
  stored.judgement.verdict = Verdict::pass;
  stored.judgement.notes = {"the difference is explained by what both declare"};
  return stored;
}

// A run that owns what its report points to.
struct SampleRun {
  RunInfo run;
  std::vector<StoredOutcome> outcomes;
  std::vector<StoredDiff> diffs;
  std::vector<SuiteScore> scores;

  SampleRun() {
    run.run_id = "7d3f0a52-0000-4000-8000-000000000001";
    run.started_at = "2030-01-02T03:04:05Z";
    run.machine.arch = "x86-64-v3";
    run.machine.model = "Some CPU";
    run.commit = "abc1234";
    run.host = "builder";
  }
  RunReport report(int exit_code) const {
    return {&run, &outcomes, &diffs, &scores, exit_code, "plumbline run"};
  }
};

inline SampleRun mixed_run() {
  SampleRun sample;
  sample.outcomes = {passing_outcome(), failing_outcome(), unsupported_outcome()};
  sample.diffs = {explained_diff()};
  sample.scores = {{"smoke", "cpu/flash", "bf16", "shrink", 12, 1.25, 3.5, "pass"}};
  return sample;
}

}  // namespace plumbline
