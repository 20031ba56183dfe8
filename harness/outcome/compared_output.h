// What comparing one output with the reference says: of a case, of a dump, of one side of a diff.
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
  std::optional<WorstElement> worst;  // of the statistic nearest to its limit
  std::string worst_statistic;        // "peak", "beyond output rounding", "lse"
  Location location;
  // of a failure, one sentence for people (causes.h); "" where none is known or looked for
  std::string cause;
  // of a failure: the rung of the ladder that permits more and would explain all of it, and what it
  // rounds; "" if none does or none was tried
  std::string looser_rung;
  std::vector<float> head_rms;  // rms of e/sigma per (sample, head), for at most 4096 of them
  ErrorPicture picture;
  std::int64_t reference_rows = 0, rows_total = 0;
  std::int64_t row_seed = 0;  // of the rows that change from night to night; 0: none were compared
  double widening = 1;        // rms ratio of the judging spec's sigma to the strict spec's
  std::string spec_judged;    // spec_text of the pinned or strict spec that sigma was made from
};

}  // namespace plumbline
