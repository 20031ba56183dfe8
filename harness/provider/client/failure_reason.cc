// Turns a worker's exit code, signal, timeout or last words into the case's status and reason.
#include "harness/provider/client/failure_reason.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/provider/protocol.h"

namespace plumbline {

namespace {

// The end of a log in one line, to be put behind a reason.
std::string quote(const std::string& log) {
  constexpr std::size_t longest = 300;
  std::string line;
  for (const char c : log.substr(log.size() - std::min(log.size(), longest))) {
    if (static_cast<unsigned char>(c) >= ' ') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.empty() ? "" : fmt::format("; it last wrote: {}", line);
}

// Those that end a process and that a kernel, the system or a person sends (sigabbrev_np knows all
// of them, from glibc 2.32 on).
std::string signal_text(int number) {
  switch (number) {
#define PLUMBLINE_SIGNAL(NAME) \
  case NAME:                   \
    return #NAME
    PLUMBLINE_SIGNAL(SIGABRT);
    PLUMBLINE_SIGNAL(SIGALRM);
    PLUMBLINE_SIGNAL(SIGBUS);
    PLUMBLINE_SIGNAL(SIGFPE);
    PLUMBLINE_SIGNAL(SIGHUP);
    PLUMBLINE_SIGNAL(SIGILL);
    PLUMBLINE_SIGNAL(SIGINT);
    PLUMBLINE_SIGNAL(SIGKILL);
    PLUMBLINE_SIGNAL(SIGPIPE);
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
      return fmt::format("signal {}", number);
  }
}

}  // namespace

std::optional<std::string> crash_text(const std::string& line) {
  // the usual reply is not parsed twice
  if (line.find("\"crash\"") == std::string::npos) return std::nullopt;
  const nlohmann::json json = parse_json_if_valid(line);
  if (!json.is_object() || json.value("reply", nlohmann::json()) != "crash") return std::nullopt;
  try {
    const auto crash = protocol::read_message<protocol::CrashReply>(json);
    return fmt::format("{} in {}{}{}", crash.signal, crash.phase, crash.where.empty() ? "" : ": ",
                       crash.where);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

FailureReason explain(const WorkerExit& worker_exit, const std::string& log,
                      std::chrono::milliseconds timeout) {
  const std::string said = quote(log);
  if (worker_exit.deadline)
    return {Status::timeout, fmt::format("no answer within {} ms{}", timeout.count(), said), ""};
  if (const auto crash = crash_text(worker_exit.last_words))
    return {Status::crashed, *crash + said, ""};
  if (worker_exit.mute)
    return {Status::crashed, fmt::format("closed its reply channel{}", said), ""};
  if (!worker_exit.by_signal) {
    return {Status::crashed,
            fmt::format("ended itself with exit status {} in the middle of a request{}",
                        worker_exit.code, said),
            ""};
  }
  // We did not send it, so the system did.
  if (worker_exit.code == SIGKILL)
    return {Status::out_of_memory,
            fmt::format("killed by SIGKILL, as the system does when memory runs out{}", said), ""};
  return {Status::crashed, fmt::format("killed by {}{}", signal_text(worker_exit.code), said), ""};
}

}  // namespace plumbline
