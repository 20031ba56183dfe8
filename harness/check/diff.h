// plumbline diff: decides if the roundings that two sides declare explain their difference.
#pragma once

#include <string>
#include <vector>

#include "harness/check/amplification.h"
#include "harness/check/check.h"
#include "harness/outcome/diff_outcome.h"

namespace plumbline {

// The part of one side that a report keeps.
struct DiffSide {
  std::string label, spec_name;
  DType out_dtype = DType::none;
  ComparedOutput outcome;
  Judgement judgement;
  Answer answer = Answer::undecided;
  std::string why;
  std::vector<std::string> unused_tensors = {};  // Dump::unused_tensors
};

// One element of both outputs. `element.row` is the row of side a.
struct DiffElement {
  ElementId element;
  double a = 0, b = 0, expected = 0;  // expected: fp64, by side a's spec
  // sigma: hypot(sigma_a, sigma_b), the standard deviation of a - b.
  double sigma_a = 0, sigma_b = 0, sigma = 0;
  double ulp = 0;  // ulp of side a's output dtype at `expected`
  // Shares of sigma_a^2, by Rounding; filled for the largest absolute difference only.
  std::array<double, rounding_count> share{};
};

// A (sample, head) of the map.
struct DiffCell {
  std::int64_t sample = 0, head = 0;
  // Largest |a - b|, less declared differences, in units of DiffElement::sigma; NaN if there is a
  // NaN.
  double max_sigma = 0;
  bool bit_equal = true;
};

struct DiffReport {
  std::string name;  // the problem's id, or "a.safetensors and b.safetensors"
  Answer answer = Answer::undecided;
  std::string sentence;
  DiffSide a, b;
  // The status is ok only if both sides have an output; otherwise the members `limit` to
  // `rows_total` are not set.
  DiffOutcome outcome;
  double limit = 0;  // of outcome.max_sigma
  DiffElement largest_abs, largest_rel, largest_sigma;
  std::vector<DiffCell> map;  // ordered by (sample, head)
  Amplification softmax;
  // Rows that correspond; outcome.rows of them were compared with fp64.
  std::int64_t rows_total = 0;
  // Parts of both dumps: rows without a counterpart, rows that see no key, and what `check` does
  // not judge. They do not count as equal bits.
  std::vector<NotJudged> not_judged;
  std::string command;  // prints the full report; "" = `plumbline diff` with both labels
};

// Compares two dumps whose q, k and v have the same bits. Scale, softcap, visible keys, biases and
// sinks must also be the same; otherwise returns an error. Layouts may differ. Rows correspond by
// (sample, head, position from the end of the sample's queries), so a prefill can be compared with
// a decode. Each side's sigma is by its stated spec, or by the likeliest rounding model that
// explains it. Outputs are compared with each other in all rows. If the reference samples rows, it
// always includes the row of each head in which the outputs differ most. UNDECIDED if a dump has
// gradients or dropout (Dump::open).
Result<DiffReport> diff(const Dump& a, const Dump& b, const CheckOptions& options = {});

}  // namespace plumbline
