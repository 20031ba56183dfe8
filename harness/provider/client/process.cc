// Starts the worker, exchanges lines with it before a deadline, keeps its log, kills and reaps it.
#include "harness/provider/client/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/harness_failure.h"
#include "harness/provider/client/environment.h"
#include "harness/provider/client/isolation.h"
#include "harness/provider/protocol.h"

namespace plumbline {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t log_bytes = 4096;
constexpr std::size_t max_reply_bytes = std::size_t{64} << 20;
constexpr std::chrono::milliseconds patience{1000};  // for a process that should be exiting

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

// Copies a descriptor to a number above all descriptors of the worker, so that no move overwrites
// the source of another.
Descriptor lifted(int descriptor) {
  constexpr int above = 10;
  return Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, above));
}

// Sanitizer options that leave signals to the worker's handler, and failed allocations to the
// kernel under test. Without atexit_sleep_ms=0, ThreadSanitizer delays the end of a process by a
// second.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::string_view sanitizer_variable = "ASAN_OPTIONS=";
#elif defined(__SANITIZE_THREAD__)
constexpr std::string_view sanitizer_variable = "TSAN_OPTIONS=";
#else
constexpr std::string_view sanitizer_variable = "";
#endif
constexpr std::string_view sanitizer_options =
    "handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:allocator_may_"
    "return_null=1:detect_leaks=0"
#ifdef __SANITIZE_THREAD__
    ":atexit_sleep_ms=0"
#endif
    ;

// Returns the worker's environment: ours without secrets. Sanitizer options follow the user's,
// because the last one counts.
std::vector<std::string> worker_environment(const std::vector<std::string>& pass_env) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (reaches_workers(*variable, pass_env)) variables.emplace_back(*variable);
  }
  if (sanitizer_variable.empty()) return variables;
  const auto set = std::ranges::find_if(
      variables, [](const auto& v) { return v.starts_with(sanitizer_variable); });
  if (set == variables.end()) {
    variables.push_back(fmt::format("{}{}", sanitizer_variable, sanitizer_options));
  } else {
    *set += fmt::format(":{}", sanitizer_options);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Uses posix_spawn instead of fork, because the parent may run threads. `channel` becomes
// descriptors 3 and 4, `log` stdout and stderr, `arena` descriptor 5.
int spawn(const std::vector<std::string>& command, int channel, int log, int arena,
          const std::vector<std::string>& pass_env, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const std::array<std::pair<int, int>, 5> moves{{{log, STDOUT_FILENO},
                                                  {log, STDERR_FILENO},
                                                  {channel, protocol::request_descriptor},
                                                  {channel, protocol::reply_descriptor},
                                                  {arena, protocol::arena_descriptor}}};
  for (const auto& [from, to] : moves) posix_spawn_file_actions_adddup2(&actions, from, to);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // The worker gets its own process group: what it starts dies with it, and Ctrl-C reaches only
  // plumbline.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = worker_environment(pass_env);
  const int error = posix_spawn(&pid, command.front().c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(
    const std::vector<std::string>& command, int arena_descriptor,
    const std::vector<std::string>& pass_env) {
  const auto failed = [&](const char* what, int error) {
    end_if_short_of(error, fmt::format("{} cannot be started: {}", command.front(), what));
    return fail(
        fmt::format("{} cannot be started: {}: {}", command.front(), what, std::strerror(error)));
  };
  std::array<int, 2> sockets{}, pipes{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return failed("socketpair", errno);
  Descriptor channel(sockets[0]), channel_end(sockets[1]);
  if (pipe2(pipes.data(), O_CLOEXEC) != 0) return failed("pipe", errno);
  Descriptor log(pipes[0]), log_end(pipes[1]);
  fcntl(log.get(), F_SETFL, O_NONBLOCK);
  const Descriptor channel_source = lifted(channel_end.get()), log_source = lifted(log_end.get()),
                   arena_source = lifted(arena_descriptor);
  // EINVAL means that the descriptor limit is below the requested minimum.
  if (channel_source.get() < 0 || log_source.get() < 0 || arena_source.get() < 0)
    return failed("fcntl", errno == EINVAL ? EMFILE : errno);

  std::unique_ptr<WorkerProcess> process(new WorkerProcess);
  const int error = start_isolated(
      [&](pid_t& pid) {
        return spawn(command, channel_source.get(), log_source.get(), arena_source.get(), pass_env,
                     pid);
      },
      process->pid_);
  if (error != 0) {
    process->pid_ = -1;
    return failed("posix_spawn", error);
  }
  process->channel_ = channel.release();
  process->log_descriptor_ = log.release();
  if (const int end_error = process->open_end(); end_error != 0)
    return failed("pidfd_open", end_error);
  return process;
}

// Gets a descriptor that becomes readable when the process ends: a pidfd, or a pipe that a thread
// closes if a sandbox refuses pidfds. The thread leaves the process a zombie, so that its id stays
// ours until reap, as with a pidfd. Returns an errno or 0.
int WorkerProcess::open_end() {
  // Calls pidfd_open by number, because its declaration in glibc 2.36 lacks extern "C".
  end_descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (end_descriptor_ >= 0) return 0;
  if (errno != ENOSYS && errno != EPERM) return errno;
  std::array<int, 2> pipes{};
  if (pipe2(pipes.data(), O_CLOEXEC) != 0) return errno;
  end_descriptor_ = pipes[0];
  // Signals are blocked in the new thread, so that the existing threads get them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    waiter_ = std::thread([pid = pid_, end = pipes[1]] {
      siginfo_t info{};
      while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 &&
             errno == EINTR) {
      }
      close(end);
    });
  } catch (const std::system_error& refused) {
    close(pipes[1]);
    error = refused.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0 && !reaped_) {
    send(protocol::to_line(protocol::QuitRequest{}));
    shutdown(channel_, SHUT_WR);
    wait_for_end();
  }
  for (const int descriptor : {channel_, log_descriptor_, end_descriptor_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

bool WorkerProcess::alive() const {
  pollfd waiting{end_descriptor_, POLLIN, 0};
  return !reaped_ && poll(&waiting, 1, 0) == 0;
}

// Errors are ignored: a dead process shows at the next poll.
void WorkerProcess::send(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(channel_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

bool WorkerProcess::receive_reply() {
  std::array<char, 1 << 16> chunk;
  const ssize_t n = recv(channel_, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  received_.append(chunk.data(), static_cast<std::size_t>(n));
  return n > 0 && received_.size() <= max_reply_bytes;
}

void WorkerProcess::receive_log() {
  std::array<char, 1 << 16> chunk;
  // Bounded, so that a worker that prints without end cannot keep us beyond its deadline.
  for (int i = 0; i < 16; ++i) {
    const ssize_t n = read(log_descriptor_, chunk.data(), chunk.size());
    if (n <= 0) return;
    log_.append(chunk.data(), static_cast<std::size_t>(n));
    if (log_.size() > log_bytes) log_.erase(0, log_.size() - log_bytes);
  }
}

tl::expected<std::string, WorkerExit> WorkerProcess::exchange(const std::string& line,
                                                              std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  received_.clear();
  log_.clear();
  send(line);
  for (;;) {
    std::array<pollfd, 3> waiting{
        {{channel_, POLLIN, 0}, {log_descriptor_, POLLIN, 0}, {end_descriptor_, POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (waiting[1].revents != 0) receive_log();
    // The worker closed stdout and stderr.
    if (waiting[1].revents == POLLHUP) close(std::exchange(log_descriptor_, -1));
    const bool open = waiting[0].revents == 0 || receive_reply();
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      receive_log();
      std::string reply = received_.substr(0, end);
      received_.erase(0, end + 1);  // later text is a crash message
      return reply;
    }
    if (waiting[2].revents != 0) return tl::unexpected(reap());
    if (!open) return tl::unexpected(wait_for_end());
    if (Clock::now() >= deadline) {
      kill_group();
      WorkerExit worker_exit = reap();
      worker_exit.deadline = true;
      return tl::unexpected(std::move(worker_exit));
    }
  }
}

WorkerExit WorkerProcess::wait_for_end() {
  const Clock::time_point deadline = Clock::now() + patience;
  pollfd waiting{end_descriptor_, POLLIN, 0};
  int ready = 0;
  // A worker that blocks on a full log pipe could not exit.
  while (ready == 0 && Clock::now() < deadline) {
    receive_log();
    ready = poll(&waiting, 1, std::min(milliseconds_until(deadline), 10));
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  if (ready == 0) kill_group();
  WorkerExit worker_exit = reap();
  worker_exit.mute = ready == 0;
  return worker_exit;
}

bool WorkerProcess::has_running_threads() const {
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid_);
  std::error_code error;
  for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
       task.increment(error)) {
    std::string line;
    std::getline(std::ifstream(task->path() / "stat"), line);
    // The state follows the name, which may have parentheses of its own.
    const auto state = line.rfind(')') + 2;
    if (state < line.size() && (line[state] == 'R' || line[state] == 'D')) return true;
  }
  return false;
}

void WorkerProcess::kill_group() const {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // in case it left its group
}

WorkerExit WorkerProcess::reap() {
  WorkerExit worker_exit;
  siginfo_t info{};
  kill(-pid_, SIGKILL);                    // before waitid frees the group's id
  if (waiter_.joinable()) waiter_.join();  // before the id is freed
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  reaped_ = true;
  end_orphans_of(pid_);
  receive_log();
  while (received_.find('\n') == std::string::npos) {
    const std::size_t before = received_.size();
    if (!receive_reply() || received_.size() == before) break;
  }
  worker_exit.by_signal = info.si_code != CLD_EXITED;
  worker_exit.code = info.si_status;
  worker_exit.last_words = received_.substr(0, received_.find('\n'));
  return worker_exit;
}

}  // namespace plumbline
