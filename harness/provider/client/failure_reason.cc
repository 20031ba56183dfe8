// Converts a worker's exit code, signal, timeout or crash message into the case's status and
// reason.
#include "harness/provider/client/failure_reason.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/provider/protocol.h"
#include "harness/provider/signal_name.h"

namespace plumbline {

namespace {

// Returns the end of a log in one line, as a suffix of a reason.
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

}  // namespace

std::optional<std::string> crash_text(const std::string& line) {
  // avoids parsing ordinary replies twice
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

std::string explain_idle_end(const WorkerExit& worker_exit) {
  if (const auto crash = crash_text(worker_exit.last_words)) return *crash;
  if (!worker_exit.by_signal)
    return fmt::format("ended itself with exit status {} after its last request", worker_exit.code);
  if (worker_exit.code == SIGKILL) return "";
  return fmt::format("killed by {} after its last request", name_of_signal(worker_exit.code));
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
  // plumbline did not send this SIGKILL, so the system did.
  if (worker_exit.code == SIGKILL)
    return {Status::out_of_memory,
            fmt::format("killed by SIGKILL, as the system does when memory runs out{}", said), ""};
  const std::string signal = name_of_signal(worker_exit.code);
  return {Status::crashed, fmt::format("killed by {}{}", signal, said), ""};
}

}  // namespace plumbline
