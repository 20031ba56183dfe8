// Compares two measured outputs, of kernels or of dumps.
#pragma once

#include <string>

#include "harness/check/diff.h"
#include "harness/measure/measurement.h"

namespace plumbline {

// A measured output with its judgement.
struct MeasuredSide {
  std::string label;      // "cpu/flash", "a.safetensors"
  std::string spec_name;  // "FlashAttention-2", "strict", …
  RoundingSpec spec;      // the spec of the reference's sigma
  Measurement measurement;
  Judgement judgement;  // against fp64
  // rounding: within its limits against fp64; bug: beyond them; undecided: as in check.
  Answer answer = Answer::undecided;
  std::string why;  // the sentence of check for a dump; "" for a kernel
  std::vector<std::string> unused_tensors = {};  // of a dump
  std::vector<NotJudged> not_judged = {};        // of a dump
};

// rounding: both sides are within their limits against fp64, and |a - b| is everywhere within
// `limit` times sqrt(sigma_a^2 + sigma_b^2).
// bug: a side is beyond its limits; the sentence names it.
// undecided: anything else.
//
// Each side's own fp64 result is subtracted first. The two results differ only if a side's spec
// rounds the pre-scaled Q or the inputs, so the specs declare this difference. `limit` is the
// larger peak limit of the two sides (6.5; 8 if S is rounded), because one sigma may be negligible
// next to the other. `inputs` are side a's.
DiffReport diff_measured(const std::string& name, const MeasuredSide& a, const MeasuredSide& b,
                         const InputView& inputs);

// Classifies a kernel's judgement against fp64 for a diff: a limit exceeded, a fault or a crash is
// a bug.
Answer answer_of(const Outcome& outcome, const Judgement& judgement);

}  // namespace plumbline
