// plumbline-worker: loads one provider and serves the requests of its parent process.
// docs/worker-protocol.md describes them.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/json.h"
#include "harness/provider/child/call.h"
#include "harness/provider/child/crash_report.h"
#include "harness/provider/child/execute.h"
#include "harness/provider/child/library.h"
#include "harness/provider/child/process_state.h"
#include "harness/provider/pages.h"
#include "harness/provider/protocol.h"

namespace plumbline {
namespace {

// A worker that still computes this long after its deadline has lost its parent, which would have
// killed it.
constexpr double orphan_grace_s = 5;

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit current{};
  if (getrlimit(resource, &current) != 0) return;
  current.rlim_cur = std::min(value, current.rlim_max);
  setrlimit(resource, &current);
}

// Limits only further memory: sanitizers and GPU toolkits have already mapped much that they never
// touch.
void limit_memory(std::uint64_t bytes) {
  if (bytes == 0) return;
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;  // pages
  if (statm >> total >> resident >> shared >> text >> library >> data)
    limit(RLIMIT_DATA, data * page_bytes + bytes);
}

void set_up_process() {
  limit(RLIMIT_CORE, 0);
  // While a worker lives, orphaned processes become its children; afterwards plumbline's.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // If memory runs out, the system should kill the worker, not the run.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  // Processes of the provider must neither read requests nor hold the reply channel open.
  for (const int descriptor :
       {protocol::request_descriptor, protocol::reply_descriptor, protocol::arena_descriptor}) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash must not lose earlier output
  install_crash_report(protocol::reply_descriptor);
}

class Deadline {
 public:
  explicit Deadline(double timeout_s) { arm(timeout_s > 0 ? timeout_s + orphan_grace_s : 0); }
  ~Deadline() { arm(0); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  static void arm(double seconds) {
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(seconds) + (seconds > 0 ? 1 : 0);
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

// Returns the next line without its '\n', or nothing at the end of input.
std::optional<std::string> read_line() {
  static std::string buffer;
  for (;;) {
    if (const std::size_t end = buffer.find('\n'); end != std::string::npos) {
      std::string line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return line;
    }
    char chunk[1 << 16];
    const ssize_t n = read(protocol::request_descriptor, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    buffer.append(chunk, static_cast<std::size_t>(n));
  }
}

void write_line(const std::string& line) {
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(protocol::reply_descriptor, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

// Restores the state that loading a library changed, except environment and handlers. A library
// linked with -ffast-math flushes subnormals from then on.
class StateRestorer {
 public:
  StateRestorer() = default;
  ~StateRestorer() { before_.restore(Allowance::everything); }
  StateRestorer(const StateRestorer&) = delete;
  StateRestorer& operator=(const StateRestorer&) = delete;

 private:
  ProcessState before_;
};

protocol::HelloReply greet(const protocol::HelloRequest& request, ProviderLibrary& library) {
  const Deadline deadline(request.timeout_s);
  protocol::HelloReply reply;
  reply.id = request.id;
  if (request.protocol != protocol::protocol_version || request.abi != PLUMBLINE_ABI_VERSION) {
    reply.error = fmt::format(
        "plumbline-worker speaks protocol {} and ABI {}, plumbline protocol {} and ABI {}",
        protocol::protocol_version, PLUMBLINE_ABI_VERSION, request.protocol, request.abi);
    reply.remedy = "use the plumbline-worker that was built with this plumbline";
    return reply;
  }
  limit_memory(request.memory_limit_bytes);
  try {
    const StateRestorer state;
    library = load_provider(request.provider, request.options);
  } catch (const WrongOptions& wrong) {
    reply.error = wrong.reason;
    reply.options_refused = true;
    return reply;
  } catch (const Stop& stop) {
    reply.error = stop.reason;
    reply.remedy = stop.remedy;
    return reply;
  }
  reply.abi = library.provider->abi_version;
  reply.provider = library.name;
  reply.version = library.version;
  reply.kernels = library.kernels;
  reply.tensor_cores = library.tensor_cores;
  reply.questions = library.questions;
  if (std::any_of(library.outputs.begin(), library.outputs.end(),
                  [](const auto& outputs) { return !outputs.empty(); }))
    reply.outputs = library.outputs;
  reply.devices = library.devices;
  reply.no_device = library.no_device;
  return reply;
}

// Fails a successful call that changed state it must leave unchanged.
protocol::RunReply fail_if_state_changed(protocol::RunReply reply, const ProcessState& before,
                                         const std::string& kernel, KernelsCalled& called) {
  const bool refused = reply.status == name(Status::unsupported);
  const std::string changes = before.restore(refused ? Allowance::everything : called.add(kernel));
  if (changes.empty() || reply.status != name(Status::ok)) return reply;
  protocol::RunReply failed;
  failed.device = reply.device;
  failed.reason = reason_of_changes(changes);
  return failed;
}

protocol::RunReply serve(protocol::RunRequest request, const ProviderLibrary& library,
                         KeptMemory& kept, KernelsCalled& called) {
  const Deadline deadline(request.timeout_s);
  const std::uint64_t id = request.id;
  const std::string kernel = kept.kernel = request.kernel;
  const ProcessState before;
  protocol::RunReply reply =
      fail_if_state_changed(execute(library, kept, std::move(request)), before, kernel, called);
  reply.id = id;
  return reply;
}

protocol::RunReply serve_again(const protocol::AgainRequest& request, KeptMemory& kept,
                               KernelsCalled& called) {
  const Deadline deadline(request.timeout_s);
  const ProcessState before;
  protocol::RunReply reply =
      fail_if_state_changed(execute_again(kept, request), before, kept.kernel, called);
  reply.id = request.id;
  return reply;
}

int serve_all() {
  ProviderLibrary library;
  KeptMemory kept;
  KernelsCalled called;
  while (const auto line = read_line()) {
    const nlohmann::json message = parse_json(*line);
    const std::string request = message.at("request");
    if (request == "quit") break;
    set_crash_request(message.at("id"));
    if (request == "hello") {
      write_line(protocol::to_line(
          greet(protocol::read_message<protocol::HelloRequest>(message), library)));
    } else if (request == "run") {
      write_line(protocol::to_line(
          serve(protocol::read_message<protocol::RunRequest>(message), library, kept, called)));
    } else if (request == "again") {
      write_line(protocol::to_line(
          serve_again(protocol::read_message<protocol::AgainRequest>(message), kept, called)));
    } else {
      fmt::print(stderr, "plumbline-worker: no request is called \"{}\"\n", request);
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plumbline

int main() {
  if (fcntl(plumbline::protocol::request_descriptor, F_GETFD) < 0 ||
      fcntl(plumbline::protocol::reply_descriptor, F_GETFD) < 0) {
    fmt::print(stderr,
               "plumbline-worker is started by plumbline, with requests on descriptor 3 and "
               "replies on 4.\n");
    return 2;
  }
  plumbline::set_up_process();
  try {
    return plumbline::serve_all();
  } catch (const nlohmann::json::exception& e) {
    fmt::print(stderr, "plumbline-worker: a request cannot be read: {}\n", e.what());
    return 2;
  }
}
