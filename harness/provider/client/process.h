// A worker process, started with posix_spawn: lines with a deadline, a log, and a cause of its end.
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
  bool deadline = false;   // we killed it because it did not reply in time
  bool mute = false;       // we killed it because it closed its reply channel
  std::string last_words;  // the line that it wrote before it ended, "" if none
};

class WorkerProcess {
 public:
  // Starts `command`: the path of the program, then its arguments. Its environment is ours without
  // variables that look secret, unless `pass_env` names them (environment.h). Throws HarnessFailure
  // if plumbline runs out of descriptors, processes or memory.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                      int arena_descriptor,
                                                      const std::vector<std::string>& pass_env);
  // Asks the process to quit, waits for a second, then kills it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a line (with its '\n') and returns the next line received, or how the process ended.
  // Kills a process that does not reply in time. After a WorkerExit, only log_tail() and the
  // destructor may be called.
  tl::expected<std::string, WorkerExit> exchange(const std::string& line,
                                                 std::chrono::milliseconds timeout);
  // Waits for a process that is about to end, and kills it after a second.
  WorkerExit wait_for_end();
  bool alive() const;
  // Returns true if one of its threads runs, waits for a processor or waits for the disk.
  bool has_running_threads() const;
  // Returns its last output to stdout and stderr: at most 4 KiB.
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
  std::thread waiter_;       // without a pidfd, closes a pipe when the process ends
  int channel_ = -1;         // one socket: requests out, replies in
  int log_descriptor_ = -1;
  bool reaped_ = false;
  std::string received_;
  std::string log_;
};

}  // namespace plumbline
