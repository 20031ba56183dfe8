// The result of comparing one output with the reference, for a case, a dump or one side of a diff.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/outcome/error_picture.h"
#include "harness/outcome/error_statistics.h"
#include "harness/outcome/faults.h"
#include "harness/provider/status.h"

namespace plumbline {

struct ComparedOutput {
  Status status = Status::error;
  std::string reason;
  ErrorStatistics errors;
  Faults faults;
  std::optional<WorstElement> worst;  // for the statistic nearest to its limit
  std::string worst_statistic;        // "peak", "beyond output rounding", "lse"
  Location location;
  // a failure's likely cause in one sentence (causes.h); "" if none is known or looked for
  std::string cause;
  // for a failure: a looser rounding model by which the output would pass, and its roundings; "" if
  // there is none or none was tried
  std::string looser_rung;
  std::vector<float> head_rms;  // rms of e/sigma per (sample, head), for the first 4096
  ErrorPicture picture;
  std::int64_t reference_rows = 0, rows_total = 0;
  std::int64_t row_seed = 0;  // selects the rows that change every night; 0: no such rows
  double widening = 1;        // rms of sigma over the rms of the strict spec's sigma
  std::string spec_judged;    // spec_text of the spec that sigma follows from: pinned or strict
};

}  // namespace plumbline
