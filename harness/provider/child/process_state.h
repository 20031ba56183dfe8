// Process-wide state that a call must leave unchanged: floating-point state, working directory,
// umask, signal mask, environment and signal handlers.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "harness/base/floating_point_state.h"

namespace plumbline {

// The allowed changes of environment and handlers. Frameworks set some on first use, so the first
// call of a process may change any of them. The first call of a kernel may add a variable, or a
// handler for a signal without one. If that call replaces a handler, the old handler is restored
// without an error: the LLVM in NVRTC and cuDNN replaces those of SIGINT and SIGXFSZ. Other state
// must never change.
enum class Allowance { none, additions, everything };

// Determines the allowance of a call from the kernels that the process has called.
class KernelsCalled {
 public:
  // Returns the allowance for the call of `kernel` that just ended.
  Allowance add(const std::string& kernel);

 private:
  std::set<std::string> kernels_;
};

class ProcessState {
 public:
  // Records the current state, for this thread.
  ProcessState();

  // Restores changed state, for this thread. Returns the forbidden changes in words, "the rounding
  // mode (upward), the working directory (/tmp)", or "".
  std::string restore(Allowance allowance) const;

 private:
  // Indexed by signal number, 0 unused. Real-time signals are ignored: only their senders give them
  // a meaning.
  static constexpr int signals = 32;
  using Handlers = std::array<struct sigaction, signals>;

  static Handlers handlers_now();
  std::vector<std::string> restore_floating_point() const;
  std::vector<std::string> restore_directory() const;
  std::vector<std::string> restore_umask() const;
  std::vector<std::string> restore_signal_mask() const;
  std::vector<std::string> restore_environment(Allowance allowance) const;
  std::vector<std::string> restore_handlers(Allowance allowance) const;

  FloatingPointWords floating_point_;
  std::string directory_;  // "" if unknown
  mode_t umask_;
  sigset_t signal_mask_;
  std::string environment_;  // "NAME=VALUE", each terminated by NUL, in the order of environ
  Handlers handlers_;
};

// Returns the reason for failing a call that made `changes`.
std::string reason_of_changes(const std::string& changes);

}  // namespace plumbline
