// Makes the calls of a case. The first two use one plan, the third a new plan. On an emulated
// device the second and third call run threads in reverse order. The timed calls of a timed case
// follow the second call. An output is judged unless an earlier call left the same bits.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "harness/compare/outputs.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

struct Measurement;

struct CaseCalls {
  RunRequest request;         // an untimed call
  int timed_repetitions = 0;  // 0 if the case is not timed
  std::chrono::milliseconds timed_timeout{0};
  double load = 0;  // the host's load average
  // If the second call takes longer, the third is skipped (Outcome::calls is then 2).
  std::chrono::milliseconds longest_second{2000};
  // Compares the outputs in the arena with the reference and fills in the outcome's comparison.
  std::function<void(const RunRequest&, Measurement&)> judge;
};

// Makes the calls. Fills in the outcome of the first call that fails, or of the first call if none
// does.
void make_calls(const CaseCalls& calls, Worker& worker, Measurement& measurement);

// Returns the XXH3-128 of the whole storage of all outputs. Unwritten bytes hold poison, which is
// the same in every call.
std::string output_digest(const Arena& arena, const RunRequest& request);

// Returns "the second call gave nan where the first gave 0.25, at sample 0, head 0, row 2, column
// 5; 1 of 64 elements has other bits". The element named is the first with a NaN or infinity,
// otherwise the one with the largest difference. `call` begins the sentence.
std::string difference_in_words(const Geometry& geometry, const OutputView& first,
                                const OutputView& later, std::string_view call);

}  // namespace plumbline
