// plumbline diff: do the roundings that two sides declare explain how their outputs differ?
#pragma once

#include <string>
#include <vector>

#include "harness/check/amplification.h"
#include "harness/check/check.h"
#include "harness/outcome/diff_outcome.h"

namespace plumbline {

// Of one output, what a report keeps.
struct DiffSide {
  std::string label, spec_name;
  DType out_dtype = DType::none;
  ComparedOutput outcome;
  Judgement judgement;
  Answer answer = Answer::undecided;
  std::string why;
  std::vector<std::string> tensors_without_a_part = {};  // of a dump
};

// One element of both outputs. `element.row` is the row of side a.
struct DiffElement {
  ElementId element;
  double a = 0, b = 0, expected = 0;  // expected: fp64, by side a's spec
  // sigma: hypot of the two, the standard deviation of a - b
  double sigma_a = 0, sigma_b = 0, sigma = 0;
  double ulp = 0;  // of side a's output dtype at expected
  // of sigma_a^2, by Rounding; filled for the largest absolute difference only
  std::array<double, rounding_count> share{};
};

// A cell of the map.
struct DiffCell {
  std::int64_t sample = 0, head = 0;
  // largest |a - b| in units of its standard deviation; NaN if there is a NaN
  double max_sigma = 0;
  bool bit_equal = true;
};

struct DiffReport {
  std::string name;  // the problem's id, or "a.safetensors and b.safetensors"
  Answer answer = Answer::undecided;
  std::string sentence;
  DiffSide a, b;
  // status ok only if both sides have an output; all below is undefined otherwise
  DiffOutcome outcome;
  double limit = 0;  // of outcome.max_sigma
  DiffElement largest_abs, largest_rel, largest_sigma;
  std::vector<DiffCell> map;  // ordered by (sample, head)
  Amplification softmax;
  // rows that correspond; outcome.rows of them were compared with fp64
  std::int64_t rows_total = 0;
  // Of both dumps: rows without a counterpart, rows that see no key, and what check leaves out.
  // None of it counts as equal bits.
  std::vector<NotJudged> not_judged;
  std::string command;  // that shows all of it; "": the two dumps by their names
};

// Two dumps with the same q, k and v, bit by bit, that ask the same (scale, softcap, visible keys,
// biases, sinks); layouts may differ. Rows correspond by (sample, head, position from the end of
// the sample's queries), so that a prefill meets a decode. Each side's sigma is by its stated spec,
// or by the tightest rung of the ladder that explains it. Where the reference samples rows, the row
// of each head in which the outputs differ most is always among them, and bits are compared in all
// rows. UNDECIDED where a dump asks what nothing judges yet (Dump::open).
Result<DiffReport> diff(const Dump& a, const Dump& b, const CheckOptions& options = {});

}  // namespace plumbline
