// What the end of a worker means for the case that it was serving.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "harness/provider/client/process.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// Why a request has no answer.
struct FailureReason {
  Status status = Status::error;
  std::string reason;
  std::string remedy;
  bool is_of_options = false;  // the provider takes no such options
};

// What a crash message says ("SIGSEGV in run: write 4096 bytes behind out"), or nothing if the line
// is none.
std::optional<std::string> crash_text(const std::string& line);

// Of a worker that ended with no request under way; "" for SIGKILL, which is the system's.
std::string explain_idle_end(const WorkerExit& worker_exit);

// `log` is what the worker printed; its end is quoted in the reason.
FailureReason explain(const WorkerExit& worker_exit, const std::string& log,
                      std::chrono::milliseconds timeout);

}  // namespace plumbline
