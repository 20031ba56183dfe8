// What the kernels of one process share and a call must leave as it found it: floating-point state,
// working directory, umask, mask of signals, environment and handlers of signals.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "harness/base/floating_point_state.h"

namespace plumbline {

// The changes of environment and handlers that are allowed. Frameworks set some when they are first
// used: the first call of a process may change all, and the first call of a kernel may add a
// variable, or a handler where there was none. A handler that the first call of a kernel replaces
// is put back and is no error: the LLVM in NVRTC and cuDNN replaces those of SIGINT and SIGXFSZ.
// No other state may change.
enum class Allowance { none, additions, everything };

// By the kernels that a process has called.
class KernelsCalled {
 public:
  // Of the call of `kernel` that just ended.
  Allowance add(const std::string& kernel);

 private:
  std::set<std::string> kernels_;
};

class ProcessState {
 public:
  // As it is now, in this thread.
  ProcessState();

  // Puts back what differs, in this thread. Returns what that was, in words: "the rounding mode
  // (upward), the working directory (/tmp)"; "" where nothing was changed that must not be.
  std::string restore(Allowance allowance) const;

 private:
  // By number, 0 unused. Nobody but its sender gives a real-time signal a meaning.
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
  std::string directory_;  // "": it has none
  mode_t umask_;
  sigset_t signal_mask_;
  std::string environment_;  // "NAME=VALUE", each ended by NUL, in the order of environ
  Handlers handlers_;
};

// Why a call that left `changes` behind fails.
std::string reason_of_changes(const std::string& changes);

}  // namespace plumbline
