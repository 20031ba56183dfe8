// The name of a signal, for plumbline and its worker.
#pragma once

#include <signal.h>

#include <string>

namespace plumbline {

// Returns a name such as "SIGINT" for common signals; otherwise "signal 40". (sigabbrev_np, since
// glibc 2.32, knows all signals.)
inline std::string name_of_signal(int number) {
  switch (number) {
#define PLUMBLINE_SIGNAL(NAME) \
  case NAME:                   \
    return #NAME
    PLUMBLINE_SIGNAL(SIGABRT);
    PLUMBLINE_SIGNAL(SIGALRM);
    PLUMBLINE_SIGNAL(SIGBUS);
    PLUMBLINE_SIGNAL(SIGCHLD);
    PLUMBLINE_SIGNAL(SIGFPE);
    PLUMBLINE_SIGNAL(SIGHUP);
    PLUMBLINE_SIGNAL(SIGILL);
    PLUMBLINE_SIGNAL(SIGINT);
    PLUMBLINE_SIGNAL(SIGKILL);
    PLUMBLINE_SIGNAL(SIGPIPE);
    PLUMBLINE_SIGNAL(SIGPROF);
    PLUMBLINE_SIGNAL(SIGQUIT);
    PLUMBLINE_SIGNAL(SIGSEGV);
    PLUMBLINE_SIGNAL(SIGSYS);
    PLUMBLINE_SIGNAL(SIGTERM);
    PLUMBLINE_SIGNAL(SIGTRAP);
    PLUMBLINE_SIGNAL(SIGUSR1);
    PLUMBLINE_SIGNAL(SIGUSR2);
    PLUMBLINE_SIGNAL(SIGXCPU);
    PLUMBLINE_SIGNAL(SIGXFSZ);
#undef PLUMBLINE_SIGNAL
    default:
      return "signal " + std::to_string(number);
  }
}

}  // namespace plumbline
