// The calls of a case. One plan is called twice, on an emulated device with threads in order and
// then reversed, and a new plan once more, reversed; a timed case is timed between. What a call
// leaves is judged unless an earlier one left the same bits, whatever the kernel promises.
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
  RunRequest request;         // of an untimed call
  int timed_repetitions = 0;  // 0: the case is not timed
  std::chrono::milliseconds timed_timeout{0};
  double load = 0;  // of the host, as rounds of times note it
  // Where the second call takes longer, there is no third one, and the outcome says so.
  std::chrono::milliseconds longest_second{2000};
  // Compares what lies in the arena with the reference, and fills in what an outcome says of it.
  std::function<void(const RunRequest&, Measurement&)> judge;
};

// Makes them and fills in the outcome: what the first call left or, where that is fine, the first
// that is not.
void make_calls(const CaseCalls& calls, Worker& worker, Measurement& measurement);

// XXH3-128 of the whole out and lse storage (poison included, which is the same in every call).
std::string output_digest(const Arena& arena, const RunRequest& request);

// "the second call gave nan where the first gave 0.25, at sample 0, head 0, row 2, column 5; 1 of
// 64 elements has other bits": NaN before numbers, then the largest difference. `call` is what the
// sentence begins with.
std::string difference_in_words(const Geometry& geometry, const OutputView& first,
                                const OutputView& later, std::string_view call);

}  // namespace plumbline
