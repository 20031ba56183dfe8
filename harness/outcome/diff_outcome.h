// Two cases compared row by row, and the distance between their outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/outcome/error_statistics.h"
#include "harness/provider/status.h"

namespace plumbline {

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
  double rms_output = 0;        // rms of the reference, to compare max_rel_expected with
  ElementId max_abs_element, max_rel_element;
  double bit_equal_share = 0;  // of elements
  std::int64_t heads = 0, heads_bit_equal = 0;
  std::vector<DiffHead> per_head;  // the first 4096, for the record
  double rms_a = 0, rms_b = 0;  // rms error of each side against fp64 of side a's inputs, absolute
  double time_ns_a = 0, time_ns_b = 0;  // 0 unless timed
};

}  // namespace plumbline
