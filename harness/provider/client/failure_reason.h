// Explains how a worker ended, and so why its request failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "harness/provider/client/process.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// The reason for a request without a reply.
struct FailureReason {
  Status status = Status::error;
  std::string reason;
  std::string remedy;
  bool is_options_error = false;  // the provider rejects the options
};

// Returns the text of a crash message ("SIGSEGV in run: write 4096 bytes before out"), or nothing
// if the line is not one.
std::optional<std::string> crash_text(const std::string& line);

// Explains the end of a worker without a pending request; "" for SIGKILL, which the system sends.
std::string explain_idle_end(const WorkerExit& worker_exit);

// `log` is the worker's output; the reason quotes its end.
FailureReason explain(const WorkerExit& worker_exit, const std::string& log,
                      std::chrono::milliseconds timeout);

}  // namespace plumbline
