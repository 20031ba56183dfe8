// A worker process as its parent sees it: lines with a deadline, a log, an end with a cause. It is
// started with posix_spawn.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/error.h"

namespace plumbline {

// How a process ended: by exit(code) or by a signal.
struct WorkerExit {
  bool by_signal = false;
  int code = 0;            // exit status or signal number
  bool deadline = false;   // we killed it because it did not answer in time
  bool mute = false;       // we killed it because it closed its reply channel
  std::string last_words;  // the line it wrote before it ended, "" if none
};

class WorkerProcess {
 public:
  // `command`: the path of the program, then its arguments. Its environment is ours, without what
  // looks like a secret and is not named in `pass_env` (environment.h). Throws HarnessFailure where
  // plumbline may have no more descriptors, processes or memory.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                      int arena_descriptor,
                                                      const std::vector<std::string>& pass_env);
  // Asks the process to quit, waits for a second, then kills it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a line (with its '\n') and returns the next line received, or how the process ended
  // instead. A process that does not answer in time is killed. After a WorkerExit only the
  // destructor may be called.
  tl::expected<std::string, WorkerExit> exchange(const std::string& line,
                                                 std::chrono::milliseconds timeout);
  // Waits for a process that is about to end, and kills it after a second.
  WorkerExit wait_for_end();
  bool alive() const;
  // What it last wrote to stdout and stderr: at most 4 KiB.
  const std::string& log_tail() const { return log_; }

 private:
  WorkerProcess() = default;
  void send(const std::string& text);
  bool receive_reply();  // false at the end of the stream
  void receive_log();
  void kill_group() const;
  int open_end();
  WorkerExit reap();

  pid_t pid_ = -1;
  int end_descriptor_ = -1;  // becomes readable when the process ends
  std::thread waiter_;       // makes it so where the kernel does not
  int channel_ = -1;         // one socket: requests out, replies in
  int log_descriptor_ = -1;
  bool reaped_ = false;
  std::string received_;
  std::string log_;
};

}  // namespace plumbline
