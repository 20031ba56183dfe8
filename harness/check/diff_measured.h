// Compares two measured outputs, of kernels or of dumps.
#pragma once

#include <string>

#include "harness/check/diff.h"
#include "harness/measure/measurement.h"

namespace plumbline {

// One output with what is known of it.
struct MeasuredSide {
  std::string label;      // "cpu/flash", "a.safetensors"
  std::string spec_name;  // "FlashAttention-2", "strict", …
  RoundingSpec spec;      // what the reference's sigma was made from
  Measurement measurement;
  Judgement judgement;  // against fp64
  // rounding: keeps its limits against fp64; bug: does not; undecided: as check says
  Answer answer = Answer::undecided;
  std::string why;  // of a dump: the sentence of check; "" for a kernel
  std::vector<std::string> tensors_without_a_part = {};  // of a dump
  std::vector<NotJudged> not_judged = {};                // of a dump; each says of which
};

// rounding: both sides keep their limits against fp64, and |a - b| is everywhere within `limit` of
// sqrt(sigma_a^2 + sigma_b^2). bug: a side does not keep its limits: the sentence says which.
// undecided: anything else.
//
// a - b is taken after each side's own fp64 answer is subtracted: the two answers differ where one
// side declares to round the pre-scaled Q, and that difference is declared, too. `limit` is the
// larger of the two sides' own limits of the peak (6.5; 8 where S is rounded), as one side's sigma
// may be negligible beside the other's. `inputs` are those of side a.
DiffReport diff_measured(const std::string& name, const MeasuredSide& a, const MeasuredSide& b,
                         const InputView& inputs);

// What a kernel's judgement against fp64 says for a diff: a limit exceeded, a fault or a crash is a
// bug.
Answer answer_of(const Outcome& outcome, const Judgement& judgement);

}  // namespace plumbline
