// What happened to one case, without its tensors: what judge, store and reports need.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/client/worker.h"
#include "harness/reference/rounding.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {

// One element, named so that a person can find it.
struct ElementId {
  std::int64_t sample = 0, head = 0, row = 0, column = 0;  // row: valid row of the sample
  bool operator==(const ElementId&) const = default;
};

// The worst element of one statistic, explained.
struct WorstElement {
  ElementId element;
  double got = 0, expected = 0;
  double sigma = 0;                            // legal standard deviation there
  double ulp = 0;                              // of the output dtype at expected
  std::array<double, rounding_count> share{};  // of sigma^2, by Rounding
  std::int64_t visible_keys = 0;
};

// Error statistics over the reference's rows. Undefined (zero) unless status is ok.
struct ErrorStatistics {
  std::int64_t elements = 0;  // compared with the reference
  double peak = 0;            // max |e| / sigma
  double beyond_output = 0;   // max (|e| - ulp_O / 2)+ / spre
  double rms = 0;             // sqrt(mean (e / sigma)^2)
  double bound = 0;           // max |e| / worst-case bound
  double max_abs = 0, max_rel = 0, mean_abs = 0;
  double max_ulp = 0;  // max |e| / ulp_O(expected)
  bool has_lse = false;
  double lse_z = 0;  // max |lse - ref| / lse_sigma
  double lse_max_abs = 0;
  bool has_suite_scores = false;
  double shrink_z = 0, temperature_z = 0;  // signed, clipped to +-6 only when summed
  // Fixed tolerances in use elsewhere, for the record (never decide): share of elements outside.
  double outside_allclose_1e3 = 0, outside_allclose_1e2 = 0;  // rtol = atol
};

// Faults that need no limit. Counts over all elements, also where the reference samples rows.
struct Faults {
  std::int64_t nan = 0;           // NaN where the reference is finite
  std::int64_t inf = 0;           // Inf where the reference is finite
  std::int64_t unwritten = 0;     // still poison (every bit set)
  std::int64_t out_of_range = 0;  // outside the range of the key head's v, plus its rounding
  std::int64_t padded_rows = 0;   // padded rows against the policy (elements)
  std::int64_t empty_rows =
      0;                     // rows without visible key: not exactly 0, or LSE not -inf or the sink
  std::int64_t inexact = 0;  // elements != reference where the law demands equality
  std::int64_t fence_bytes = 0;  // changed bytes around out, lse or workspace
  std::string detail;            // first of them in words, with the element
  std::int64_t total() const {
    return nan + inf + unwritten + out_of_range + padded_rows + empty_rows + inexact + fence_bytes;
  }
};

// Where a fault sits: diagnosis only. The strongest of the structure statistics.
struct Location {
  std::string kind;         // "head", "row", "column", "key", "edge", "scale", "denominator" or ""
  std::string description;  // "edge: the last visible key weighs too little (z = 57)"
  double z = 0;
};

struct Outcome {
  // identity
  std::string suite, group, tier;
  Case c;
  std::string case_id;
  std::string problem_digest;
  // what happened
  Status status = Status::error;
  std::string reason;
  Description description;
  DeviceFacts device;  // of the GPU it ran on; empty on the CPU and the emulator
  std::uint64_t workspace_bytes = 0;
  ErrorStatistics errors;
  Faults faults;
  std::optional<WorstElement> worst;  // of the statistic nearest to its limit
  std::string worst_statistic;        // "peak", "beyond output rounding", "lse"
  Location location;
  std::string
      // of a failure, one sentence for people (causes.h); "" where none is known or none was looked
      // for
      cause;
  std::vector<float> head_rms;  // rms of e/sigma per (sample, head), for at most 4096 of them
  std::int64_t reference_rows = 0, rows_total = 0;
  double widening = 1;        // rms ratio of the judging spec's sigma to the strict spec's
  std::string spec_judged;    // spec_text of the pinned or strict spec that sigma was made from
  std::string output_digest;  // XXH3-128 of out and lse, 32 hex digits; "" unless ok
  // a second run into freshly poisoned outputs gave the same bits
  bool repeat_checked = false, repeat_equal = false;
  // timing, only for timed cases
  bool timed = false;
  double time_ns = 0;      // median over repetitions; on a GPU with a flushed L2
  double time_hot_ns = 0;  // likewise with what the call before left in the L2; 0 = not a GPU
  double time_mad_ns = 0;
  double time_ratio = 0;  // median kernel / median sentinel
  // by which the worker's resident memory rose during one call, workspace included; -1 = unknown
  std::int64_t peak_memory_bytes = -1;
  double wall_ms = 0;    // of the whole measurement
  std::string saved_to;  // file of --save-failures, "" if none
  // Case id of the same kernel and problem on another architecture whose outcome this is: not
  // measured again, because the kernel uses no tensor cores. "" where the case itself was measured.
  std::string reused_from;
  std::optional<ExpectedFailure> expected = std::nullopt;  // what its suite says of it
};

// The architecture a case ran for, "sm_90": an emulated device names it, any other kernel may
// describe it, and a GPU says it of itself; "" = on the CPU the machine's own, elsewhere not known.
inline std::string arch_of(const Outcome& outcome) {
  constexpr std::string_view emulated = "emulated:";
  if (outcome.c.device.starts_with(emulated)) return outcome.c.device.substr(emulated.size());
  return outcome.description.device_arch.empty() ? outcome.device.arch
                                                 : outcome.description.device_arch;
}

// What must not matter to a row's result. docs/judging.md, "Invariances", says what each
// transforms.
enum class Invariance {
  run_to_run,
  solo,
  position,
  neighbour,
  chunked_prefill,
  prefill_decode,
  split,
  page_order,
  page_size,
  layout,
  padding,
  workspace,
  capacity,
  strides,
  lse,
  two_scales
};

// Which of the ABI's promises speaks of it.
inline Promise promise_of(const Promises& promises, Invariance invariance) {
  static constexpr std::array<Promise Promises::*, names_of<Invariance>.size()> fields{
      &Promises::run_to_run, &Promises::batch,          &Promises::batch,
      &Promises::batch,      &Promises::prefill_decode, &Promises::prefill_decode,
      &Promises::split,      &Promises::page,           &Promises::page,
      &Promises::layout,     &Promises::run_to_run,     &Promises::run_to_run,
      &Promises::layout,     &Promises::layout,         &Promises::lse,
      &Promises::run_to_run};
  return promises.*fields[static_cast<std::size_t>(invariance)];
}

// The same rows asked for in several ways: what became of one invariance of one case.
struct InvarianceOutcome {
  std::string suite, tier;
  Case c;
  std::string case_id;
  Invariance invariance = Invariance::run_to_run;
  Promise promise = Promise::none;  // the stronger of the pinned and the declared one
  // Of the first call that did not end well; `unsupported` where no transformed call was taken.
  // Also that where there is nothing to transform: `reason` says what is missing and `calls` is 0.
  Status status = Status::error;
  std::string reason;
  int calls = 0;          // transformed calls that were compared with the case's own
  int calls_refused = 0;  // that the kernel does not take
  // of outputs and LSE: compared; with other bits, NaN included
  std::int64_t elements = 0, other_bits = 0;
  // The difference that is nearest to its limit, or beyond it: in standard deviations of two legal
  // answers, infinite for NaN.
  std::string statistic;           // "out" or "lse"; "" where all bits are the same
  ElementId element{0, 0, 0, -1};  // of the case; column -1: the LSE
  double value_a = 0, value_b = 0;
  double sigmas = 0, limit = 0, ulps = 0;
  std::string problem_a, problem_b;  // how the two asked, in words
  double wall_ms = 0;
};

// Two cases compared row by row.
struct DiffHead {
  std::int64_t sample = 0, head = 0;
  double mean_abs = 0, max_abs = 0;
  bool bit_equal = false;
};
struct DiffOutcome {
  std::string suite, name, tier, expect;  // expect: rounding, bitwise, report
  std::string case_a, case_b;
  Status status = Status::error;  // ok if both ran
  std::string reason;
  std::int64_t rows = 0, elements = 0;
  double max_abs = 0, mean_abs = 0, max_rel = 0, mean_rel = 0;
  double max_sigma = 0;  // max |a - b| / sqrt(sigma_a^2 + sigma_b^2)
  double max_ulp = 0;
  double max_rel_expected = 0;  // |reference| at the element of max_rel
  double rms_output = 0;        // rms of the reference, the scale to see max_rel_expected against
  ElementId max_abs_element, max_rel_element;
  double bit_equal_share = 0;  // of elements
  std::int64_t heads = 0, heads_bit_equal = 0;
  std::vector<DiffHead> per_head;  // at most 4096, for the record
  double rms_a = 0, rms_b = 0;  // each side's rms error against fp64 of side a's inputs, absolute
  double time_ns_a = 0, time_ns_b = 0;  // 0 unless timed
};

}  // namespace plumbline
